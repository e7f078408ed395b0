"""Compares the time of a repair with ``json.dumps`` of the same messages and with other libraries.

    python benchmarks/bench_repair.py

Everything is measured in one run; the best of several repetitions counts. Each ratio is to
``json.dumps`` of the same messages. Times are wall-clock times.
"""

from __future__ import annotations

import copy
import functools
import gc
import importlib
import json
import logging
import os
import subprocess
import sys
import time
import tracemalloc
from typing import TYPE_CHECKING, Any

import chatmend

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
logging.getLogger("LiteLLM").setLevel(logging.ERROR)  # it logs a warning for each repaired message
TARGETS = {
    "openai": "openai/gpt-4o",
    "anthropic": "anthropic/claude-sonnet-4-5",
    "gemini": "gemini/gemini-2.5-flash",
    "mistral": "mistral/open-mistral-7b",
    "strict": "strict",
}
SMALL, LARGE = 1_000, 100_000
Messages = list[Any]
Row = tuple[str, float, float, str]


def exchange(number: int, call_id: str, padding: int) -> Messages:
    """Return a question, a tool call, its result and an answer.

    As in agents, the result has most of the bytes.
    """
    arguments = json.dumps({"path": f"src/file_{number}.py", "lines": [number, number + 80]})
    call = {
        "id": call_id,
        "type": "function",
        "function": {"name": "read_file", "arguments": arguments},
    }
    return [
        {"role": "user", "content": f"Question {number}: what does file {number} do?"},
        {"role": "assistant", "content": "I read it.", "tool_calls": [call]},
        {
            "role": "tool",
            "tool_call_id": call_id,
            "content": f"line {number}: return value\n" * (padding // 24),
        },
        {"role": "assistant", "content": f"File {number} returns a value. " + "It is short. " * 10},
    ]


def transcript(
    count: int, name: Callable[[int], str] = "Call{:05d}".format, padding: int = 1_300
) -> Messages:
    """Return a valid agent transcript of ``count`` messages.

    By default ids are nine letters and digits, which every target accepts.
    """
    turns = [
        message
        for number in range(count // 4 - 1)
        for message in exchange(number, name(number), padding)
    ]
    end = [("user", "Thanks."), ("assistant", "You are welcome."), ("user", "And now?")]
    system = [{"role": "system", "content": "Be brief."}]
    return [*system, *turns, *({"role": role, "content": text} for role, text in end)]


def broken(count: int, every: int = 1) -> Messages:
    """Return a transcript in which one exchange in ``every`` is broken, in ten ways in turn."""
    messages: Messages = []
    for number in range(count // 4):
        turn = exchange(number, f"Call{number:05d}", 1_300)
        messages += turn if number % every else defect(number // every % 10, number, turn)
    return messages


def defect(kind: int, number: int, turn: Messages) -> Messages:
    """Return one exchange with the defect number ``kind``."""
    question, called, result, answer = turn
    call = called["tool_calls"][0]
    truncated = {**call, "function": {"name": "read_file", "arguments": '{"path": "src/fi'}}
    late = {"role": "user", "content": "hurry"}
    ways: tuple[Callable[[], Messages], ...] = (
        lambda: [question, called, late, answer],
        lambda: [question, called, late, result, answer],
        lambda: [question, result, answer, late],
        lambda: [question, called, result, dict(result), answer],
        lambda: [
            question,
            {**called, "tool_calls": [{**call, "id": "call_0"}]},
            {**result, "tool_call_id": "call_0"},
            answer,
        ],
        lambda: [question, {**called, "tool_calls": [truncated]}, result, answer],
        lambda: [question, {"role": "system", "content": f"rule {number}"}, called, result, answer],
        lambda: [
            question,
            {**called, "content": None},
            {**result, "content": "half \ud83d"},
            {**answer, "content": " "},
        ],
        lambda: [question, dict(question), answer, dict(answer)],
        lambda: [{**question, "role": "critic"}, called, answer, result],
    )
    return ways[kind]()


def best(run: Callable[[], object], times: int = 5) -> float:
    """Return the seconds of the fastest of several runs."""
    took = []
    for _ in range(times):
        gc.collect()
        start = time.perf_counter()
        run()
        took.append(time.perf_counter() - start)
    return min(took)


def time_and_ratio(
    run: Callable[[], object], messages: Messages, times: int = 5
) -> tuple[float, float]:
    """Return the seconds of a run and its ratio to ``json.dumps``.

    The runs alternate, so that load from other processes affects both.
    """
    pairs = [(best(run, 1), best(functools.partial(json.dumps, messages), 1)) for _ in range(times)]
    took = min(first for first, _ in pairs)
    return took, took / min(second for _, second in pairs)


def repairs(label: str, messages: Messages) -> Iterator[Row]:
    """Measure the repair for each target."""
    dumps_time = best(functools.partial(json.dumps, messages))
    size = len(json.dumps(messages))
    yield (
        f"json.dumps, {label}",
        dumps_time,
        1.0,
        f"{len(messages):,} messages, {size // 1000:,} KB",
    )
    for name, target in TARGETS.items():
        took, ratio = time_and_ratio(functools.partial(chatmend.repair, messages, target), messages)
        done = chatmend.repair(messages, target)
        note = "same list" if done.messages is messages else f"{len(done.changes):,} changes"
        yield f"repair for {name}, {label}", took, ratio, note


def growth() -> Iterator[Row]:
    """Measure the time per message at two sizes, also with ids that can cause quadratic time."""
    kinds: dict[str, Callable[[int], str]] = {
        "distinct ids": "Call{:05d}".format,
        "one id": lambda _: "call_0",
        "ids that differ in punctuation": lambda number: (
            "call" + "".join(":./"[int(d, 3)] for d in _base3(number))
        ),
    }
    for kind, name in kinds.items():
        for target in ("openai", "anthropic", "mistral"):
            small, large = (transcript(count, name, padding=48) for count in (SMALL, LARGE))
            few = best(functools.partial(chatmend.repair, small, TARGETS[target])) / SMALL
            took, ratio = time_and_ratio(
                functools.partial(chatmend.repair, large, TARGETS[target]), large, 1
            )
            note = (
                f"{took / LARGE * 1e6:.2f} us per message, {few * 1e6:.2f} us with {SMALL:,}: "
                f"x{took / LARGE / few:.2f}"
            )
            yield f"{LARGE:,} messages for {target}, {kind}", took, ratio, note


def _base3(number: int) -> str:
    digits = ""
    for _ in range(10):
        number, digit = divmod(number, 3)
        digits += str(digit)
    return digits


def memory(messages: Messages) -> Iterator[Row]:
    """Measure the peak memory that a repair of a valid transcript allocates."""
    for name, target in TARGETS.items():
        chatmend.repair(messages, target)
        gc.collect()
        tracemalloc.start()
        chatmend.repair(messages, target)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        yield (
            f"memory for {name}, valid",
            0.0,
            0.0,
            f"peak {peak / len(messages):,.0f} bytes per message",
        )


def imports() -> Iterator[Row]:
    """Measure the import of chatmend in a new interpreter, and the start of the interpreter."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    took = {
        code: best(
            functools.partial(subprocess.run, [sys.executable, "-c", code], env=env, check=True), 5
        )
        for code in ("pass", "import json, re, dataclasses", "import chatmend")
    }
    bare = took["pass"]
    for code, seconds in took.items():
        yield (
            f"python -c '{code}'",
            seconds,
            0.0,
            f"{(seconds - bare) * 1e3:.0f} ms more than a bare interpreter",
        )


def _litellm_sanitize() -> Callable[[Messages], object]:
    litellm = importlib.import_module("litellm")
    litellm.modify_params = True
    logging.getLogger("LiteLLM").setLevel(logging.ERROR)
    factory = importlib.import_module("litellm.litellm_core_utils.prompt_templates.factory")
    run: Callable[[Messages], object] = factory.sanitize_messages_for_tool_calling
    return run


def _litellm_anthropic() -> Callable[[Messages], object]:
    litellm = importlib.import_module("litellm")
    litellm.modify_params = True
    logging.getLogger("LiteLLM").setLevel(logging.ERROR)
    factory = importlib.import_module("litellm.litellm_core_utils.prompt_templates.factory")

    def run(messages: Messages) -> object:
        turns = [message for message in messages if message["role"] != "system"]
        return factory.anthropic_messages_pt(turns, "claude-sonnet-4-5", "anthropic")

    return run


def _langchain() -> Callable[[Messages], object]:
    core = importlib.import_module("langchain_core.messages")

    def run(messages: Messages) -> object:
        return core.merge_message_runs(core.convert_to_messages(messages))

    return run


def _turnsafe() -> Callable[[Messages], object]:
    turnsafe = importlib.import_module("turnsafe")
    return functools.partial(turnsafe.repair, provider="openai")


def _pydantic_ai() -> Callable[[Messages], object]:
    pydantic = importlib.import_module("pydantic_ai.messages")

    def convert(message: Any) -> object:  # noqa: ANN401 - a message of any role
        if message["role"] == "tool":
            part = pydantic.ToolReturnPart(
                tool_name="read_file",
                content=message["content"],
                tool_call_id=message["tool_call_id"],
            )
            return pydantic.ModelRequest(parts=[part])
        if message["role"] != "assistant":
            return pydantic.ModelRequest(
                parts=[pydantic.UserPromptPart(content=message["content"])]
            )
        calls = [
            pydantic.ToolCallPart(
                tool_name=c["function"]["name"],
                args=c["function"]["arguments"],
                tool_call_id=c["id"],
            )
            for c in message.get("tool_calls") or ()
        ]
        return pydantic.ModelResponse(
            parts=[pydantic.TextPart(content=message["content"] or ""), *calls]
        )

    def prepare(messages: Messages) -> object:
        history = [convert(message) for message in messages]
        return functools.partial(pydantic.repair_messages, history)

    prepare.prepares = True  # type: ignore[attr-defined]
    return prepare


PEERS = {
    "litellm sanitize_messages_for_tool_calling": _litellm_sanitize,
    "litellm anthropic_messages_pt (converts too)": _litellm_anthropic,
    "langchain_core merge_message_runs (converts too)": _langchain,
    "turnsafe repair (openai)": _turnsafe,
    "pydantic_ai repair_messages (conversion not counted)": _pydantic_ai,
}


def peers(label: str, messages: Messages) -> Iterator[Row]:
    """Measure other libraries on copies of the same messages; copying is not measured."""
    for name, load in PEERS.items():
        try:
            run = load()
            took, ratio = min(_timed(run, messages) for _ in range(3))
        except ImportError as error:
            yield f"{name}, {label}", 0.0, 0.0, f"not importable: {error}"[:70]
        except Exception as error:  # noqa: BLE001 - an error of another library is a result
            yield (
                f"{name}, {label}",
                0.0,
                0.0,
                f"raises {type(error).__name__}: {error}"[:70].replace("\n", " "),
            )
        else:
            yield f"{name}, {label}", took, ratio, ""


def _timed(run: Callable[[Messages], object], messages: Messages) -> tuple[float, float]:
    copied = copy.deepcopy(messages)
    todo: Any = run(copied) if getattr(run, "prepares", False) else functools.partial(run, copied)
    return time_and_ratio(todo, messages, 1)


def table(rows: Iterator[Row]) -> None:
    """Print each row when it is measured."""
    for label, seconds, ratio, note in rows:
        took = f"{seconds * 1e3:10.2f}" if seconds else f"{'-':>10}"
        times = f"{ratio:8.2f}" if ratio else f"{'-':>8}"
        print(f"{label:68}{took}{times}  {note}".rstrip(), flush=True)


def main() -> int:
    """Print the table."""
    valid, bad = transcript(SMALL), broken(SMALL)
    print(f"{'':68}{'ms':>10}{'x dumps':>8}")
    table(repairs("valid", valid))
    table(repairs("broken", bad))
    table(growth())
    table(memory(valid))
    table(imports())
    table(peers("valid", valid))
    table(peers("broken", bad))
    return 0


if __name__ == "__main__":
    sys.exit(main())
