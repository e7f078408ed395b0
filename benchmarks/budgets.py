"""Measures the CPU time of repairs and checks, and compares each row with its budget.

    python -m benchmarks.budgets

A repair alternates with ``json.dumps`` of the same messages, a check of a row with ``json.loads``
of its text, so that load from other processes affects both; the fastest of several runs counts.
The budgets are multiples of these. The exit status is the number of rows over their budget.

Each group of rows has its own process: a first repair is slower after the other rows (1.5 instead
of 1.4), probably because garbage collection has more to visit. ``python -m benchmarks.budgets
first`` measures one group.
"""

from __future__ import annotations

import functools
import json
import random
import subprocess
import sys
import uuid
from typing import TYPE_CHECKING, Any

from benchmarks import bench_cli
from benchmarks.bench_repair import SMALL, TARGETS, broken, transcript
from benchmarks.bench_shapes import (
    CLAUDE,
    DEEPSEEK,
    FLASH,
    GPT,
    THOUGHT,
    as_anthropic_messages,
    as_gemini_contents,
    as_responses_items,
    with_assistant_keys,
    with_content_lists,
)
from benchmarks.speed import cpu_seconds

import chatmend
from chatmend import known_transcripts, rule_cache
from chatmend.cli.conversation import RunSettings, process_conversation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Messages = list[Any]
Row = tuple[str, str, float, float]
"""The name, the target, the measured multiple and the budget."""
SHORT = 20
TIMES = 9
ROWS = 1_000
MISTRAL = TARGETS["mistral"]


def with_markers(messages: Messages) -> Messages:
    """Set a cache marker on four messages, as lists of text."""
    marker = {"type": "ephemeral"}
    chosen = {0, 1, len(messages) - 3, len(messages) - 1}
    return [
        {**m, "content": [{"type": "text", "text": m["content"], "cache_control": marker}]}
        if at in chosen
        else m
        for at, m in enumerate(messages)
    ]


def with_accents(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Replace a letter of all texts and arguments by one that is not ASCII."""
    if isinstance(value, list):
        return [with_accents(item) for item in value]
    if not isinstance(value, dict):
        return value
    texts = ("arguments", "content", "path", "text")
    return {
        key: item.replace("e", "é")
        if key in texts and isinstance(item, str)
        else with_accents(item)
        for key, item in value.items()
    }


VALID: tuple[tuple[str, Callable[[Messages], Messages], tuple[str, ...], float, float], ...] = (
    ("plain texts", list, (GPT, CLAUDE, FLASH, DEEPSEEK), 0.7, 1.5),
    ("texts with accents", with_accents, (GPT, CLAUDE, FLASH, DEEPSEEK), 0.9, 1.7),
    ("lists of text", with_content_lists, (GPT, CLAUDE), 0.8, 1.5),
    (
        "signed thinking_blocks",
        functools.partial(with_assistant_keys, thinking_blocks=[THOUGHT]),
        (CLAUDE,),
        1.0,
        1.7,
    ),
    ("cache markers", with_markers, (CLAUDE,), 1.3, 1.7),
    ("Anthropic's blocks", as_anthropic_messages, (CLAUDE,), 1.0, 1.7),
    (
        "Anthropic's blocks with accents",
        lambda messages: with_accents(as_anthropic_messages(messages)),
        (CLAUDE,),
        1.2,
        1.8,
    ),
    ("Responses' items", as_responses_items, ("openai/gpt-5",), 1.4, 1.7),
    ("Gemini's contents", as_gemini_contents, (FLASH,), 1.4, 1.7),
)
"""Shapes of valid transcripts, with the budgets for 1,000 messages and for 20."""
EVERY_BROKEN = {"openai": 12, "mistral": 14, "anthropic": 18, "gemini": 17, "strict": 24}
QUARTER_BROKEN = {"openai": 3.6, "mistral": 4.3, "anthropic": 5.4, "gemini": 5.0, "strict": 6.8}
"""Budgets when every exchange, or one in four, is broken: not slower than in version 0.1."""
REFUSED_IDS: tuple[tuple[str, str, float], ...] = (
    (MISTRAL, "call_{:016x}", 4.3),
    (GPT, "call_{:05d}" + "x" * 40, 4.3),
    (CLAUDE, "call.{:05d}/a", 5.3),
)
COLD = 1.3
"""Budget of the first repair of a structure, as a multiple of ``json.dumps``."""
ROW = 2.5
"""Budget of ``chatmend check`` for a row, as a multiple of ``json.loads``."""


def multiple(run: Callable[[], object], unit: Callable[[], object]) -> float:
    """Return the CPU time of a run as a multiple of another; they alternate."""
    pairs = [(cpu_seconds(run), cpu_seconds(unit)) for _ in range(TIMES)]
    return min(first for first, _ in pairs) / min(second for _, second in pairs)


def repair_row(name: str, messages: Messages, target: str, budget: float) -> Row:
    """Measure the repair of a transcript; a short one many times."""
    times = max(1, SMALL // len(messages) // 4)

    def repeated(run: Callable[[], object]) -> None:
        for _ in range(times):
            run()

    run = functools.partial(repeated, functools.partial(chatmend.repair, messages, target))
    unit = functools.partial(repeated, functools.partial(json.dumps, messages))
    return name, target, multiple(run, unit), budget


def repair_rows() -> Iterator[Row]:
    """Measure valid transcripts of 1,000 and of 20 messages, broken ones, and refused ids."""
    for name, convert, targets, budget, short_budget in VALID:
        for target in targets:
            yield repair_row(name, convert(transcript(SMALL)), target, budget)
        short = convert(transcript(SHORT))
        yield repair_row(f"{name}, {SHORT} messages", short, targets[0], short_budget)
    for name, budget in EVERY_BROKEN.items():
        yield repair_row("every exchange broken", broken(SMALL), TARGETS[name], budget)
    for name, budget in QUARTER_BROKEN.items():
        yield repair_row("one exchange in four broken", broken(SMALL, 4), TARGETS[name], budget)
    for target, pattern, budget in REFUSED_IDS:
        yield repair_row("every id refused", transcript(SMALL, pattern.format), target, budget)


def first_rows() -> Iterator[Row]:
    """Measure the first repair of a transcript, when no structure is known."""
    messages = transcript(SMALL)

    def first() -> None:
        rule_cache._CACHES.clear()  # noqa: SLF001 - nothing else forgets
        known_transcripts._SOURCES.clear()  # noqa: SLF001
        chatmend.repair(messages, GPT)

    yield "plain texts, nothing learnt", GPT, multiple(first, lambda: json.dumps(messages)), COLD


def keyed_chat(rng: random.Random) -> dict[str, Any]:
    """Return a chat whose messages have keys as in exports of chat applications."""
    return {
        "messages": [
            {
                "id": str(uuid.UUID(int=rng.getrandbits(128))),
                "created_at": f"2026-11-{rng.randrange(1, 29):02}T12:00:00Z",
                "metadata": {"model": "gpt-4o", "tokens": rng.randrange(900)},
                **message,
            }
            for message in bench_cli.chat(rng)["messages"]
        ]
    }


def check_rows() -> Iterator[Row]:
    """Measure the check of stored chats, from bytes to findings, as the command line does it."""
    kinds = {kind: bench_cli.KINDS[kind] for kind in ("chats of 1 KB", "chats, extra keys")}
    for kind, make in {**kinds, "chats, ids and metadata": keyed_chat}.items():
        rng = random.Random(7)  # noqa: S311 - the same rows in every run
        texts = [json.dumps(make(rng)).encode() for _ in range(ROWS)]
        for target in (GPT, CLAUDE):
            settings = RunSettings(chatmend.resolve(target))

            def check(texts: list[bytes] = texts, settings: RunSettings = settings) -> None:
                for text in texts:
                    process_conversation(text, settings)

            def load(texts: list[bytes] = texts) -> None:
                for text in texts:
                    json.loads(text)

            yield f"check, {kind}", target, multiple(check, load), ROW


GROUPS = {"repairs": repair_rows, "first": first_rows, "checks": check_rows}


def measure_group(group: str) -> int:
    """Print the rows of a group; return the number of rows over their budget."""
    over = 0
    for name, target, measured, budget in GROUPS[group]():
        over += measured > budget
        verdict = "over" if measured > budget else "ok"
        print(f"{name:38}{target:28}{measured:7.2f} x{budget:7.1f} x  {verdict}", flush=True)
    return over


def main() -> int:
    """Print the table; return the number of rows over their budget."""
    print(
        f"{'CPU time ÷ json.dumps; checks: ÷ json.loads':66}{'measured':>9}{'budget':>9}",
        flush=True,
    )
    command = [sys.executable, "-m", "benchmarks.budgets"]
    return sum(subprocess.run([*command, group], check=False).returncode for group in GROUPS)


if __name__ == "__main__":
    if unknown := set(sys.argv[1:]) - set(GROUPS):
        sys.exit(f"unknown: {', '.join(unknown)}; the groups are {', '.join(GROUPS)}")
    sys.exit(sum(map(measure_group, sys.argv[1:])) if sys.argv[1:] else main())
