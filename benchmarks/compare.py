"""Compares chatmend's repair with other libraries on the same broken transcripts.

    python -m benchmarks.compare [COUNT] [--write]

For each library and provider it counts the repaired transcripts that are still refused, lost a
text, or changed an earlier prefix. Every second transcript has one defect, each kind in turn;
``tests.broken`` generates the others with none to five defects, or twenty. Third-party validators,
SDK types, request transformations and recorded errors (``tests.judges``) decide whether a
transcript is accepted. ``--write`` writes the tables to docs/comparison.md.

Exit status 1 if chatmend's repair was refused, silently lost a text, or changed a prefix.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import reduce
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.page_sections import replace_section
from benchmarks.peers import PACKAGES, PEERS, Peer, unrepaired
from tests.broken import broken, digest, expected_tokens
from tests.broken.generate import all_mutations
from tests.judges import judge
from tests.promises import boundaries, unmarked, without_media

import chatmend

ROOT = Path(__file__).resolve().parents[1]
DIALECT = "openai_chat"
TARGETS = {
    "OpenAI": "openai/gpt-4o",
    "Anthropic": "anthropic/claude-sonnet-4-5",
    "Gemini": "gemini/gemini-2.5-flash",
    "Bedrock": "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0",
    "Mistral": "mistral/open-mistral-7b",
    "DeepSeek": "deepseek/deepseek-chat",
    "vLLM, strict template": "strict",
}
NATIVE = {
    "Anthropic, Messages": ("anthropic_messages", "anthropic/claude-sonnet-4-5"),
    "OpenAI, Responses": ("openai_responses", "openai/gpt-5"),
    "Gemini, generateContent": ("gemini_contents", "gemini/gemini-2.5-flash"),
    "Bedrock, Converse": ("bedrock_converse", "bedrock/us.amazon.nova-pro-v1:0"),
    "Ollama, /api/chat": ("ollama_chat", "ollama/llama3.1"),
}
"""The other wire formats, each with a target; no other library repairs them."""
CHATMEND, UNREPAIRED = "chatmend `repair`", "unrepaired"
CONTENT_KEYS = {"content", "tool_calls", "function_call"}
CHUNK = 20


@dataclass
class Score:
    """Counts for one library and one target; ``refused_one`` counts transcripts with one defect."""

    refused: int = 0
    refused_one: int = 0
    raised: int = 0
    lost: int = 0
    moved: int = 0
    examples: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: Score) -> Score:
        """Return the sums."""
        return Score(
            self.refused + other.refused,
            self.refused_one + other.refused_one,
            self.raised + other.raised,
            self.lost + other.lost,
            self.moved + other.moved,
            self.examples + other.examples,
        )


Scores = dict[tuple[str, str], Score]
"""The scores by library and target."""


def transcript(number: int, dialect: str = DIALECT) -> list[Any]:
    """Return the broken transcript of this number."""
    names = all_mutations(dialect)
    return broken(number, dialect, [names[number // 2 % len(names)]] if number % 2 == 0 else None)


def scores_of(number: int) -> Scores:
    """Repair one transcript with every library for every target and judge the results."""
    messages = transcript(number)
    single = number % 2 == 0
    verdicts: dict[tuple[str, Any], list[str]] = {}
    found: Scores = {}
    for peer, run in PEERS.items():
        same: Score | None = None  # other libraries ignore the target
        done: Any = None
        for name, target in TARGETS.items():
            if same is None or peer == CHATMEND:
                done, same = attempt(run, target, messages)
            if same.raised:
                found[peer, name] = replace(same, refused_one=int(single))
                continue
            key = (target, digest(done))
            if key not in verdicts:
                verdicts[key] = judge(DIALECT, target, without_media(done, DIALECT))
            errors = verdicts[key]
            examples = Counter({errors[0][:160]: 1} if errors else {})
            found[peer, name] = replace(
                same,
                refused=int(bool(errors)),
                refused_one=int(single and bool(errors)),
                examples=examples,
            )
    for name, (dialect, target) in NATIVE.items():
        native = transcript(number, dialect)
        for peer, run in ((UNREPAIRED, unrepaired), (CHATMEND, _native_repair(dialect))):
            done, same = attempt(run, target, native, dialect)
            errors = judge(dialect, target, without_media(done, dialect))
            examples = Counter({errors[0][:160]: 1} if errors else {})
            counts = {"refused": int(bool(errors)), "refused_one": int(single and bool(errors))}
            found[peer, name] = replace(same, **counts, examples=examples)
    return found


def _native_repair(dialect: str) -> Peer:
    return lambda messages, target: chatmend.repair(messages, target, dialect=dialect).messages


def attempt(
    run: Peer, target: str, messages: list[Any], dialect: str = DIALECT
) -> tuple[list[Any], Score]:
    """Return what a library would send, and whether it lost a text or changed a prefix."""
    try:
        done = run(messages, target)
    except Exception as error:  # noqa: BLE001 - an error of another library is a result
        return [], Score(
            refused=1, raised=1, examples=Counter({f"raises {type(error).__name__}": 1})
        )
    is_own = run is PEERS[CHATMEND] or (dialect != DIALECT and run is not unrepaired)
    reported = reported_drops(messages, target, dialect) if is_own else []
    missing = lost_tokens(messages, done, reported, dialect)
    moved = changes_prefix(run, target, messages, done, dialect)
    return done, Score(lost=int(bool(missing)), moved=int(moved))


def reported_drops(messages: list[Any], target: str, dialect: str) -> list[Any]:
    """Return the content that chatmend's report lists as dropped, and the system prompt.

    The default policy drops only content that the provider cannot receive in any form. System
    messages of some wire formats become the top-level system prompt, outside the messages.
    """
    done = chatmend.repair(messages, target, dialect=dialect)
    drops = [change for change in done.changes if change.effect is chatmend.Effect.DROPS]
    return [*(list(change.before) for change in drops), done.system]


def lost_tokens(
    messages: list[Any], done: list[Any], reported: list[Any], dialect: str = DIALECT
) -> set[str]:
    """Return the tokens of texts, arguments and results that are neither sent nor reported."""
    content = _content(messages) if dialect == DIALECT else messages
    return expected_tokens(content) - expected_tokens(done) - expected_tokens(reported)


def _content(messages: list[Any]) -> list[Any]:
    """Return the messages with content and calls only.

    This removes thinking, and keys that only some frameworks use.
    """
    return [
        {key: value for key, value in message.items() if key in CONTENT_KEYS}
        if isinstance(message, dict)
        else message
        for message in messages
    ]


def changes_prefix(
    run: Peer, target: str, messages: list[Any], done: list[Any], dialect: str = DIALECT
) -> bool:
    """Whether the request of an earlier turn is not a prefix of the repaired transcript."""
    whole = [_plain(message) for message in done]
    for end in boundaries(messages, dialect):
        try:
            sent = [_plain(message) for message in run(messages[:end], target)]
        except Exception:  # noqa: BLE001, S112 - the library sends nothing
            continue
        if whole[: len(sent)] != sent:
            return True
    return False


def _plain(message: Any) -> Any:  # noqa: ANN401 - broken on purpose
    return digest(unmarked(message))


def chunk(numbers: range) -> Scores:
    """Return the scores of some transcripts."""
    return reduce(_plus, map(scores_of, numbers), {})


def _plus(first: Scores, second: Scores) -> Scores:
    return {key: first.get(key, Score()) + one for key, one in second.items()}


def all_scores(count: int) -> Scores:
    """Return the scores of every library for every target."""
    parts = [range(first, min(first + CHUNK, count)) for first in range(0, count, CHUNK)]
    scores: Scores = {}
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for number, part in enumerate(pool.map(chunk, parts), 1):
            scores = _plus(scores, part)
            print(f"{number * 100 // len(parts)} %", file=sys.stderr, flush=True)
    by_target = [(peer, name) for name in TARGETS for peer in PEERS]
    by_target += [(peer, name) for name in NATIVE for peer in (UNREPAIRED, CHATMEND)]
    return {key: scores[key] for key in by_target}


def summary_table(scores: Scores, count: int) -> str:
    """Return a table with one row per library.

    Lost texts and changed prefixes are those of the provider with the most of them.
    """
    head = [f"of {count:,} refused by", *TARGETS, "texts lost", "prefix changed"]
    rows = []
    for peer in PEERS:
        of_peer = [scores[peer, name] for name in TARGETS]
        numbers = [
            *(one.refused for one in of_peer),
            max(one.lost for one in of_peer),
            max(one.moved for one in of_peer),
        ]
        rows.append([peer, *(f"{number:,}" for number in numbers)])
    return _table(head, rows)


def full_table(scores: Scores, count: int) -> str:
    """Return a table with one row per provider and library."""
    head = [
        "provider",
        "repaired by",
        f"refused, of {count:,}",
        f"of {(count + 1) // 2:,} with one defect",
        "of these raised",
        "texts lost",
        "prefix changed",
    ]
    rows = [
        [
            name,
            peer,
            *(f"{n:,}" for n in (one.refused, one.refused_one, one.raised, one.lost, one.moved)),
        ]
        for (peer, name), one in scores.items()
    ]
    return _table(head, rows)


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [
        head,
        ["---", *("--:" if row.replace(",", "").isdigit() else "---" for row in rows[0][1:])],
        *rows,
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> int:
    """Print the tables; return 1 if chatmend broke a promise."""
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    count = numbers[0] if numbers else 2_000
    scores = all_scores(count)
    peers = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    tables = {
        "compare": f"{summary_table(scores, count)}\n\nWith {peers}.",
        "compare-full": f"{full_table(scores, count)}\n\nWith {peers}.",
    }
    print("\n\n".join(tables.values()))
    if "--write" in sys.argv[1:]:
        for name, text in tables.items():
            replace_section(ROOT / "docs" / "comparison.md", name, text)
    own_scores = [scores[CHATMEND, name] for name in (*TARGETS, *NATIVE)]
    for one in own_scores:
        for example, times in one.examples.most_common(3):
            print(f"chatmend's repair was refused {times} times: {example}", file=sys.stderr)
    return 1 if any(one.refused or one.lost or one.moved for one in own_scores) else 0


if __name__ == "__main__":
    sys.exit(main())
