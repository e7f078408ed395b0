"""Compares the repair of valid transcripts in common shapes with ``json.dumps`` of them.

    python -m benchmarks.bench_shapes

The first table shows CPU time, the best of several runs that alternate with ``json.dumps``. A
transcript that a target accepts is returned as the same list; otherwise the last column shows the
number of changes and the code of the first.

The second table has shapes for which an inefficient repair would take quadratic time: with 4 times
the messages it must take about 4 times as long. ``tests/test_growth.py`` counts the steps of the
interpreter for them; this measurement includes work in C.
"""

from __future__ import annotations

import functools
import json
import sys
from typing import TYPE_CHECKING, Any

from benchmarks.bench_repair import SMALL, transcript
from benchmarks.speed import cpu_seconds, cpu_time_and_ratio
from tests.adversarial import adversarial

import chatmend

if TYPE_CHECKING:
    from collections.abc import Callable

Messages = list[Any]
GPT, CLAUDE, DEEPSEEK = "openai/gpt-4o", "anthropic/claude-sonnet-4-5", "deepseek/deepseek-chat"
FLASH, GEMINI_3 = "gemini/gemini-2.5-flash", "gemini/gemini-3-pro-preview"
SIGNATURE = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="
TIMES = 15


def with_assistant_keys(messages: Messages, **more: object) -> Messages:
    """Add keys to every assistant message."""
    return [{**m, **more} if m["role"] == "assistant" else m for m in messages]


def with_content_lists(messages: Messages) -> Messages:
    """Convert every content to a list with one text part."""
    return [{**m, "content": [{"type": "text", "text": m["content"]}]} for m in messages]


def with_tool_names(messages: Messages) -> Messages:
    """Add the name of the tool to every tool result."""
    return [{**m, "name": "read_file"} if m["role"] == "tool" else m for m in messages]


def as_anthropic_messages(messages: Messages) -> Messages:
    """Convert the messages to Anthropic's native format, with signed thinking."""
    thought = {"type": "thinking", "thinking": "I read it.", "signature": SIGNATURE}
    converted: Messages = []
    for m in messages[1:]:
        text = {"type": "text", "text": m["content"]}
        if m["role"] == "tool":
            block = {
                "type": "tool_result",
                "tool_use_id": m["tool_call_id"],
                "content": m["content"],
            }
            converted.append({"role": "user", "content": [block]})
        elif m["role"] == "assistant":
            calls = [
                {"type": "tool_use", "id": call_id, "name": n, "input": args}
                for call_id, n, args in _calls(m)
            ]
            converted.append({"role": "assistant", "content": [thought, text, *calls]})
        else:
            converted.append({"role": "user", "content": [text]})
    return converted


def as_responses_items(messages: Messages) -> Messages:
    """Convert the messages to input items of OpenAI's Responses API, with reasoning."""
    converted: Messages = []
    for m in messages[1:]:
        if m["role"] == "tool":
            converted.append(
                {
                    "type": "function_call_output",
                    "call_id": m["tool_call_id"],
                    "output": m["content"],
                }
            )
        elif m["role"] == "assistant":
            number = len(converted)
            text = {"type": "output_text", "text": m["content"], "annotations": []}
            converted += [
                {"type": "reasoning", "id": f"rs_{number}", "summary": [],
                 "encrypted_content": "gAAAAabc"},
                {"type": "message", "role": "assistant", "id": f"msg_{number}", "content": [text]},
                *({"type": "function_call", "id": f"fc_{number}", "call_id": call_id, "name": n,
                   "arguments": json.dumps(args)} for call_id, n, args in _calls(m)),
            ]  # fmt: skip
        else:
            converted.append({"role": "user", "content": m["content"]})
    return converted


def as_gemini_contents(messages: Messages) -> Messages:
    """Convert the messages to Gemini's contents, with thought signatures."""
    converted: Messages = []
    for m in messages[1:]:
        if m["role"] == "tool":
            response = {"name": "read_file", "response": {"output": m["content"]}}
            converted.append({"role": "user", "parts": [{"functionResponse": response}]})
        elif m["role"] == "assistant":
            calls = [
                {"functionCall": {"name": n, "args": a}, "thoughtSignature": SIGNATURE}
                for _, n, a in _calls(m)
            ]
            converted.append({"role": "model", "parts": [{"text": m["content"]}, *calls]})
        else:
            converted.append({"role": "user", "parts": [{"text": m["content"]}]})
    return converted


def _calls(message: dict[str, Any]) -> list[tuple[str, str, Any]]:
    calls = message.get("tool_calls", [])
    return [(c["id"], c["function"]["name"], json.loads(c["function"]["arguments"])) for c in calls]


THOUGHT = {"type": "thinking", "thinking": "I read it.", "signature": SIGNATURE}
SHAPES: tuple[tuple[str, Callable[[Messages], Messages], tuple[str, ...]], ...] = (
    ("plain texts", list, (GPT, CLAUDE, FLASH, DEEPSEEK)),
    ("lists of text", with_content_lists, (GPT, CLAUDE, FLASH)),
    (
        "reasoning_content",
        functools.partial(with_assistant_keys, reasoning_content="I read it."),
        (CLAUDE, FLASH, DEEPSEEK),
    ),
    (
        "signed thinking_blocks",
        functools.partial(with_assistant_keys, thinking_blocks=[THOUGHT]),
        (CLAUDE,),
    ),
    (
        "refusal and annotations",
        functools.partial(with_assistant_keys, refusal=None, annotations=[]),
        (GPT, CLAUDE, FLASH),
    ),
    ("named results", with_tool_names, (GPT, FLASH)),
    ("Anthropic's blocks", as_anthropic_messages, (CLAUDE, "anthropic/claude-opus-4-8")),
    ("Responses' items", as_responses_items, ("openai/gpt-5",)),
    ("Gemini's contents", as_gemini_contents, (FLASH, GEMINI_3)),
)
GROWING = (
    "systems and users in turn",
    "orphans",
    "orphans behind many calls",
    "equal ids",
    "equal ids in many messages",
    "calls without results",
    "results in reverse",
    "every other result",
    "answers midway",
    "texts and calls",
    "blank texts",
    "empty systems and users",
)
"""Names of shapes in ``tests.adversarial``."""
LENGTH = 2_000


def growth(shape: str, target: str, policy: str | None) -> tuple[float, float]:
    """Return the seconds for a transcript of a shape, and for one of 4 times the length."""
    took = []
    for length in (LENGTH, 4 * LENGTH):
        messages = adversarial(shape, length, "openai_chat")
        took.append(
            min(
                cpu_seconds(functools.partial(chatmend.repair, messages, target, policy=policy))
                for _ in range(3)
            )
        )
    return took[0], took[1]


def main() -> int:
    """Print the tables."""
    print(f"valid transcripts of {SMALL:,} messages: CPU time, multiples of json.dumps of them\n")
    for name, convert, targets in SHAPES:
        messages = convert(transcript(SMALL))
        for target in targets:
            took, ratio = cpu_time_and_ratio(
                functools.partial(chatmend.repair, messages, target), messages, TIMES
            )
            done = chatmend.repair(messages, target)
            note = (
                "same list"
                if done.messages is messages
                else f"{len(done.changes)} changes, {done.changes[0].code}"
            )
            print(f"{name:26}{target:32}{took:7.2f} ms {ratio:6.2f} x   {note}")
    print(f"\nbroken transcripts of length {LENGTH:,} and of 4 times that: CPU time, ratio\n")
    for shape in GROWING:
        for target, policy in (
            (GPT, "offline"),
            (CLAUDE, None),
            (FLASH, None),
            ("strict", "strict_alternation"),
        ):
            once, fourfold = growth(shape, target, policy)
            print(
                f"{shape:28}{target:32}{policy or 'default':20}"
                f"{once * 1e3:8.1f} ms {fourfold * 1e3:8.1f} ms {fourfold / once:5.1f} x"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
