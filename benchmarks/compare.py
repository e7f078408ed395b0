"""What is still refused, lost or moved after the repair of others and after ours, on the same broken transcripts.

    python -m benchmarks.compare [COUNT] [--write]

Every second transcript has one defect, each kind in turn; the others are as ``tests.broken`` draws them: none to five
defects, or twenty. Whether a transcript is accepted say validators, SDK types, request transformations and recorded
texts that are not ours (``tests.judges``). ``--write`` puts the tables into README.md and docs/comparison.md.

Exit status 1 if ours was refused, lost a text in silence, or changed a prefix.
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

from benchmarks.peers import PACKAGES, PEERS, Peer
from benchmarks.written import write
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
OURS = "chatmend `repair`"
SAID = {"content", "tool_calls", "function_call"}
CHUNK = 20


@dataclass
class Score:
    """What became of the transcripts of one peer and one target; ``one`` counts those with one defect."""

    refused: int = 0
    refused_one: int = 0
    raised: int = 0
    lost: int = 0
    moved: int = 0
    examples: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: Score) -> Score:
        """Both together."""
        return Score(
            self.refused + other.refused,
            self.refused_one + other.refused_one,
            self.raised + other.raised,
            self.lost + other.lost,
            self.moved + other.moved,
            self.examples + other.examples,
        )


Scores = dict[tuple[str, str], Score]
"""By peer and target."""


def transcript(number: int) -> list[Any]:
    """A broken transcript by its number."""
    names = all_mutations(DIALECT)
    return broken(number, DIALECT, [names[number // 2 % len(names)]] if number % 2 == 0 else None)


def scores_of(number: int) -> Scores:
    """One transcript, repaired by every peer for every target, and what the judges think of it."""
    messages = transcript(number)
    single = number % 2 == 0
    verdicts: dict[tuple[str, Any], list[str]] = {}
    found: Scores = {}
    for peer, run in PEERS.items():
        same: Score | None = None  # what others do does not depend on the target, except with ours
        done: Any = None
        for name, target in TARGETS.items():
            if same is None or peer == OURS:
                done, same = attempt(run, target, messages)
            if same.raised:
                found[peer, name] = replace(same, refused_one=int(single))
                continue
            key = (target, digest(done))
            if key not in verdicts:
                verdicts[key] = judge(DIALECT, target, without_media(done))
            said = verdicts[key]
            one = Counter({said[0][:160]: 1} if said else {})
            found[peer, name] = replace(
                same, refused=int(bool(said)), refused_one=int(single and bool(said)), examples=one
            )
    return found


def attempt(run: Peer, target: str, messages: list[Any]) -> tuple[list[Any], Score]:
    """What a peer would send, and what that lost and moved."""
    try:
        done = run(messages, target)
    except Exception as error:  # noqa: BLE001 - that a peer raises is a result
        return [], Score(refused=1, raised=1, examples=Counter({f"raises {type(error).__name__}": 1}))
    reported = told_of(messages, target) if run is PEERS[OURS] else []
    gone = lost(messages, done, reported)
    return done, Score(lost=int(bool(gone)), moved=int(moves(run, target, messages, done)))


def told_of(messages: list[Any], target: str) -> list[Any]:
    """What our report says was dropped: with the default policy, what a provider cannot be given in any form."""
    changes = chatmend.repair(messages, target, dialect=DIALECT).changes
    return [list(change.before) for change in changes if change.effect is chatmend.Effect.DROPS]


def lost(messages: list[Any], done: list[Any], reported: list[Any]) -> set[str]:
    """The texts, arguments and results that are neither sent nor in a report."""
    return expected_tokens(_said(messages)) - expected_tokens(done) - expected_tokens(reported)


def _said(messages: list[Any]) -> list[Any]:
    """What messages say, without keys that only some frameworks know: thinking, and names that somebody made up."""
    return [
        {key: value for key, value in message.items() if key in SAID} if isinstance(message, dict) else message
        for message in messages
    ]


def moves(run: Peer, target: str, messages: list[Any], done: list[Any]) -> bool:
    """Whether what was sent at an earlier turn is not how the repaired transcript begins."""
    whole = [_plain(message) for message in done]
    for at in boundaries(messages, DIALECT):
        try:
            sent = [_plain(message) for message in run(messages[:at], target)]
        except Exception:  # noqa: BLE001, S112 - nothing was sent
            continue
        if whole[: len(sent)] != sent:
            return True
    return False


def _plain(message: Any) -> Any:  # noqa: ANN401 - broken on purpose
    return digest(unmarked(message))


def chunk(numbers: range) -> Scores:
    """Some transcripts."""
    return reduce(_plus, map(scores_of, numbers), {})


def _plus(first: Scores, second: Scores) -> Scores:
    return {key: first.get(key, Score()) + one for key, one in second.items()}


def measured(count: int) -> Scores:
    """The scores of every peer for every target."""
    parts = [range(first, min(first + CHUNK, count)) for first in range(0, count, CHUNK)]
    scores: Scores = {}
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for number, part in enumerate(pool.map(chunk, parts), 1):
            scores = _plus(scores, part)
            print(f"{number * 100 // len(parts)} %", file=sys.stderr, flush=True)
    by_target = [(peer, name) for name in TARGETS for peer in PEERS]
    return {key: scores[key] for key in by_target}


def short(scores: Scores, count: int) -> str:
    """One row a peer: what each provider refuses, and what was lost and moved for the one with most of it."""
    head = [f"of {count:,} refused by", *TARGETS, "texts lost", "prefix changed"]
    rows = []
    for peer in PEERS:
        mine = [scores[peer, name] for name in TARGETS]
        numbers = [*(one.refused for one in mine), max(one.lost for one in mine), max(one.moved for one in mine)]
        rows.append([peer, *(f"{number:,}" for number in numbers)])
    return _table(head, rows)


def full(scores: Scores, count: int) -> str:
    """One row a provider and peer."""
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
        [name, peer, *(f"{n:,}" for n in (one.refused, one.refused_one, one.raised, one.lost, one.moved))]
        for (peer, name), one in scores.items()
    ]
    return _table(head, rows)


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---", *("--:" if row.replace(",", "").isdigit() else "---" for row in rows[0][1:])], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> int:
    """Print the tables; 1 if ours broke a promise."""
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    count = numbers[0] if numbers else 2_000
    scores = measured(count)
    peers = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    tables = {
        "compare": f"{short(scores, count)}\n\nWith {peers}.",
        "compare-full": f"{full(scores, count)}\n\nWith {peers}.",
    }
    print("\n\n".join(tables.values()))
    if "--write" in sys.argv[1:]:
        write(ROOT / "README.md", "compare", tables["compare"])
        write(ROOT / "docs" / "comparison.md", "compare-full", tables["compare-full"])
    ours = [scores[OURS, name] for name in TARGETS]
    for one in ours:
        for example, times in one.examples.most_common(3):
            print(f"ours was refused {times} times: {example}", file=sys.stderr)
    return 1 if any(one.refused or one.lost or one.moved for one in ours) else 0


if __name__ == "__main__":
    sys.exit(main())
