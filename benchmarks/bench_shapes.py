"""What a repair of a valid transcript costs in the shapes that occur, beside ``json.dumps`` of the same messages.

    python -m benchmarks.bench_shapes

Processor time, in turn with ``json.dumps``, the fastest of several. A transcript that a target takes comes back as the
same list; where it does not, the last column names what was changed.

A second table has shapes that tempt a repair to look at everything for everything: 4 times the messages must cost about
4 times the time. What the interpreter does is counted in ``tests/test_growth.py``; this sees work in C as well.
"""

from __future__ import annotations

import functools
import json
import sys
from typing import TYPE_CHECKING, Any

from benchmarks.bench_repair import SMALL, transcript
from benchmarks.speed import measured, spent
from tests.adversarial import adversarial

import chatmend

if TYPE_CHECKING:
    from collections.abc import Callable

Messages = list[Any]
GPT, CLAUDE, DEEPSEEK = "openai/gpt-4o", "anthropic/claude-sonnet-4-5", "deepseek/deepseek-chat"
FLASH, GEMINI_3 = "gemini/gemini-2.5-flash", "gemini/gemini-3-pro-preview"
SIGNATURE = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="
TIMES = 15


def answers(messages: Messages, **more: object) -> Messages:
    """The same, with more keys on what the model wrote."""
    return [{**m, **more} if m["role"] == "assistant" else m for m in messages]


def listed(messages: Messages) -> Messages:
    """The same, every content a list of one text."""
    return [{**m, "content": [{"type": "text", "text": m["content"]}]} for m in messages]


def named(messages: Messages) -> Messages:
    """The same, every result with its tool's name."""
    return [{**m, "name": "read_file"} if m["role"] == "tool" else m for m in messages]


def blocks(messages: Messages) -> Messages:
    """The same as Anthropic's native messages, with signed thinking."""
    thought = {"type": "thinking", "thinking": "I read it.", "signature": SIGNATURE}
    said: Messages = []
    for m in messages[1:]:
        text = {"type": "text", "text": m["content"]}
        if m["role"] == "tool":
            block = {"type": "tool_result", "tool_use_id": m["tool_call_id"], "content": m["content"]}
            said.append({"role": "user", "content": [block]})
        elif m["role"] == "assistant":
            calls = [{"type": "tool_use", "id": call_id, "name": n, "input": args} for call_id, n, args in _calls(m)]
            said.append({"role": "assistant", "content": [thought, text, *calls]})
        else:
            said.append({"role": "user", "content": [text]})
    return said


def items(messages: Messages) -> Messages:
    """The same as input of OpenAI's Responses, with reasoning."""
    said: Messages = []
    for m in messages[1:]:
        if m["role"] == "tool":
            said.append({"type": "function_call_output", "call_id": m["tool_call_id"], "output": m["content"]})
        elif m["role"] == "assistant":
            number = len(said)
            text = {"type": "output_text", "text": m["content"], "annotations": []}
            said += [
                {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "gAAAAabc"},
                {"type": "message", "role": "assistant", "id": f"msg_{number}", "content": [text]},
                *({"type": "function_call", "id": f"fc_{number}", "call_id": call_id, "name": n,
                   "arguments": json.dumps(args)} for call_id, n, args in _calls(m)),
            ]  # fmt: skip
        else:
            said.append({"role": "user", "content": m["content"]})
    return said


def contents(messages: Messages) -> Messages:
    """The same as Gemini's contents, with thought signatures."""
    said: Messages = []
    for m in messages[1:]:
        if m["role"] == "tool":
            response = {"name": "read_file", "response": {"output": m["content"]}}
            said.append({"role": "user", "parts": [{"functionResponse": response}]})
        elif m["role"] == "assistant":
            calls = [{"functionCall": {"name": n, "args": a}, "thoughtSignature": SIGNATURE} for _, n, a in _calls(m)]
            said.append({"role": "model", "parts": [{"text": m["content"]}, *calls]})
        else:
            said.append({"role": "user", "parts": [{"text": m["content"]}]})
    return said


def _calls(message: dict[str, Any]) -> list[tuple[str, str, Any]]:
    calls = message.get("tool_calls", [])
    return [(c["id"], c["function"]["name"], json.loads(c["function"]["arguments"])) for c in calls]


THOUGHT = {"type": "thinking", "thinking": "I read it.", "signature": SIGNATURE}
SHAPES: tuple[tuple[str, Callable[[Messages], Messages], tuple[str, ...]], ...] = (
    ("plain texts", list, (GPT, CLAUDE, FLASH, DEEPSEEK)),
    ("lists of text", listed, (GPT, CLAUDE, FLASH)),
    ("reasoning_content", functools.partial(answers, reasoning_content="I read it."), (CLAUDE, FLASH, DEEPSEEK)),
    ("signed thinking_blocks", functools.partial(answers, thinking_blocks=[THOUGHT]), (CLAUDE,)),
    ("refusal and annotations", functools.partial(answers, refusal=None, annotations=[]), (GPT, CLAUDE, FLASH)),
    ("named results", named, (GPT, FLASH)),
    ("Anthropic's blocks", blocks, (CLAUDE, "anthropic/claude-opus-4-8")),
    ("Responses' items", items, ("openai/gpt-5",)),
    ("Gemini's contents", contents, (FLASH, GEMINI_3)),
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
"""Shapes of ``tests.adversarial``."""
LENGTH = 2_000


def growth(shape: str, target: str, policy: str | None) -> tuple[float, float]:
    """Seconds for a transcript of a shape, and for one of 4 times the length."""
    took = []
    for length in (LENGTH, 4 * LENGTH):
        messages = adversarial(shape, length, "openai_chat")
        took.append(min(spent(functools.partial(chatmend.repair, messages, target, policy=policy)) for _ in range(3)))
    return took[0], took[1]


def main() -> int:
    """The tables."""
    print(f"valid transcripts of {SMALL:,} messages, times json.dumps of the same\n")
    for name, shaped, targets in SHAPES:
        messages = shaped(transcript(SMALL))
        for target in targets:
            took, ratio = measured(functools.partial(chatmend.repair, messages, target), messages, TIMES)
            done = chatmend.repair(messages, target)
            note = "same list" if done.messages is messages else f"{len(done.changes)} changes, {done.changes[0].code}"
            print(f"{name:26}{target:32}{took:7.2f} ms {ratio:6.2f} x   {note}")
    print(f"\nbroken transcripts of length {LENGTH:,}, and of 4 times that\n")
    for shape in GROWING:
        for target, policy in ((GPT, "offline"), (CLAUDE, None), (FLASH, None), ("strict", "strict_alternation")):
            once, fourfold = growth(shape, target, policy)
            print(
                f"{shape:28}{target:32}{policy or 'default':20}{once * 1e3:8.1f} ms {fourfold * 1e3:8.1f} ms "
                f"{fourfold / once:5.1f} x"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
