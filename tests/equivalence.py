"""Compares every repair of this version of chatmend with that of another version.

    python -m tests.equivalence OLD [--seeds N] [--matrix N] [--only PART] [--langchain]

``OLD`` is a commit, a wheel, or a directory that contains the package ``chatmend``; also
``make equivalence OLD=...``. Two processes, one for each version, repair the same generated transcripts. The digests of
the messages, of the system prompt, of the tools and of every field of every change must be equal, also when the
transcript or the result is repaired again. Fields of changes that only one version has are left out.

- ``--new``: a third version to compare with, instead of this one;
- ``--seeds``: transcripts by seed, each for one target and policy drawn from the seed;
- ``--matrix``: transcripts by seed, each for all targets and all policies;
- ``--only``: only targets that contain this text;
- ``--ignore``: fields of changes to leave out, such as ``why``, a text for people;
- ``--langchain``: the same transcripts as LangChain messages.

Differences are listed by class: the rules that appear in only one of the two lists of changes. Exit status 1 if there is
one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from tests.broken import WIRES, broken, digest, torn, valid
from tests.targets import ALL

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
POLICIES = (
    None,
    "strict_alternation",
    "provider_hygiene",
    "drop_instead_of_note",
    "offline",
    "train",
    "every option",
)
_OPTIONS = {
    "orphans": "drop",
    "turns": "insert",
    "late_results": "move",
    "duplicates": "messages",
    "system": "hoist",
}
"""Options that no predefined policy combines."""
EXAMPLES = 3
UNKNOWN = (
    "PolicyError",
    "TargetError",
    "TranscriptError: unknown dialect",
    "TranscriptError: no dialect",
)
UNKNOWN_TO_OLD = "the old version does not know the target, the policy or the dialect"

Case = tuple[str, int, str, str, str | None]
"""How the transcript is made, its seed, the dialect, the target, and the policy."""


def cases(seeds: int, matrix: int, only: str = "") -> Iterator[Case]:
    """Yield the cases in order: drawn by seed, then the whole matrix."""
    places = [place for place in ALL if only in " ".join(place)]
    for seed in range(seeds):
        rng = Random(f"equivalence:{seed}")
        for kind in ("broken", "torn", "refused ids"):
            yield kind, seed, *rng.choice(places), rng.choice(POLICIES)
    for seed in range(matrix):
        for dialect, target in places:
            for policy in POLICIES:
                yield "torn" if seed % 5 == 4 else "broken", seed, dialect, target, policy


def refused_ids(seed: int, dialect: Any) -> list[Any]:
    """Return a transcript in which many ids are refused by one provider or another."""
    rng = Random(f"ids:{seed}")
    shapes = ("call.{}", "{}" + "x" * rng.choice((30, 60)), "{}", "toolu_{}", "a b {}", "same")
    chosen: dict[str, str] = {}

    def rename(old: str) -> str:
        return chosen.setdefault(old, rng.choice(shapes).format(old[-8:]))

    original = valid(seed, dialect) if dialect in WIRES else broken(seed, dialect)
    return renamed(original, rename)


def renamed(value: Any, rename: Any, depth: int = 0) -> Any:
    """Return a value with another text under each key of ids, except of items and messages."""
    if depth > 8:
        return value
    keys = ("tool_call_id", "tool_use_id", "call_id", "toolUseId")
    if isinstance(value, list):
        return [renamed(item, rename, depth + 1) for item in value]
    if not isinstance(value, dict):
        return value
    is_call = value.get("type") in ("function", "tool_use")
    return {
        key: rename(item)
        if isinstance(item, str) and (key in keys or (key == "id" and is_call))
        else renamed(item, rename, depth + 1)
        for key, item in value.items()
    }


def account(done: Any, names: list[str]) -> list[Any]:
    """Return digests of everything that a repair returned, and the rules that changed something."""
    rows = [[getattr(change, name) for name in names] for change in done.changes]
    plain = [[list(value) if isinstance(value, tuple) else value for value in row] for row in rows]
    rules = Counter(f"{change.code} {change.rule}" for change in done.changes)
    values = [done.messages, done.system, getattr(done, "tools", None), plain]
    return [*map(digest, values), sorted(rules.items())]


def _as_langchain(messages: list[Any]) -> list[Any] | None:
    from langchain_core.messages import convert_to_messages

    try:
        return list(convert_to_messages(messages))
    except Exception:  # noqa: BLE001 - LangChain cannot hold every broken transcript
        return None


def work(seeds: int, matrix: int, only: str, names: list[str], *, langchain: bool) -> None:
    """Print one line per case: what the installed version does with it."""
    import chatmend

    makers = {"broken": broken, "torn": torn, "refused ids": refused_ids}
    last: tuple[object, ...] = ()
    messages: Any = []
    for kind, seed, dialect, target, policy in cases(seeds, matrix, only):
        if (kind, seed, dialect) != last:
            last, messages = (kind, seed, dialect), makers[kind](seed, dialect)
            if langchain:
                messages = _as_langchain(messages) if dialect == "openai_chat" else None
        if messages is None:
            continue
        try:
            chosen = chatmend.Policy(**_OPTIONS) if policy == "every option" else policy
            options = {"policy": chosen} | ({} if langchain else {"dialect": dialect})
            done = chatmend.repair(messages, target, **options)
            again = [chatmend.repair(one, target, **options) for one in (messages, done.messages)]
            if langchain:
                done, again = _Dumped(done, names), [_Dumped(one, names) for one in again]
            row = [
                *account(done, names),
                *(digested for one in again for digested in account(one, names)[:3]),
            ]
        except Exception as error:  # noqa: BLE001 - an exception is a result, too
            row = [f"{type(error).__name__}: {error}"[:200]]
        print(json.dumps([[kind, seed, dialect, target, policy], row]), flush=False)


class _Dumped:
    """A repair of LangChain messages, with each message as a dict."""

    def __init__(self, done: Any, names: list[str]) -> None:
        self.messages, self.system = [*map(_dump, done.messages)], done.system
        self.changes = [
            SimpleNamespace(**{name: _dump(getattr(change, name)) for name in names})
            for change in done.changes
        ]


def _dump(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [*map(_dump, value)]
    if hasattr(value, "model_dump"):
        return {"class": type(value).__name__, **value.model_dump()}
    return value


@contextmanager
def unpacked(old: str) -> Iterator[Path]:
    """Yield a directory that contains the package of the other version."""
    if Path(old).is_dir():
        holder = Path(old)
        yield holder / "src" if (holder / "src" / "chatmend").is_dir() else holder
        return
    with tempfile.TemporaryDirectory() as folder:
        if old.endswith(".whl"):
            zipfile.ZipFile(old).extractall(folder)
            yield Path(folder)
            return
        packed = Path(folder) / "src.tar"
        subprocess.run(["git", "archive", "-o", packed, old, "src"], cwd=ROOT, check=True)
        subprocess.run(["tar", "-xf", packed, "-C", folder], check=True)
        yield Path(folder) / "src"


def _start(package: Path, words: list[str]) -> subprocess.Popen[str]:
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(package), str(ROOT))),
        "PYTHONHASHSEED": "0",
    }
    command = [sys.executable, "-m", "tests.equivalence", "--work", "-", *words]
    return subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True)


def fields_of(package: Path) -> list[str]:
    """Return the names of the fields of a change in a version."""
    code = "import dataclasses, chatmend; print(*[f.name for f in dataclasses.fields(chatmend.Change)])"
    env = {**os.environ, "PYTHONPATH": str(package)}
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, env=env, capture_output=True, text=True, check=True
    ).stdout.split()


def compare(package: Path, other: Path, words: list[str], ignored: list[str]) -> int:
    """Print the differences by class; return their number."""
    new_fields = fields_of(other)
    common = [name for name in fields_of(package) if name in new_fields and name not in ignored]
    words = [*words, "--fields", *common]
    workers = [_start(package, words), _start(other, words)]
    old, new = (worker.stdout for worker in workers)
    assert old is not None
    assert new is not None
    number, classes = 0, dict[str, list[str]]()
    for before, after in zip_longest(old, new, fillvalue="null"):
        number += 1
        if before != after:
            case, name = difference(json.loads(before), json.loads(after))
            classes.setdefault(name, []).append(case)
    if any(worker.wait() for worker in workers):
        raise SystemExit("a version failed: see above")
    unknown = len(classes.pop(UNKNOWN_TO_OLD, ()))
    found = sum(map(len, classes.values()))
    note = f", {unknown:,} with options unknown to the old version" if unknown else ""
    print(f"{number:,} repairs by each version: {found:,} different{note}")
    for name, examples in sorted(classes.items(), key=lambda pair: -len(pair[1])):
        print(f"{len(examples):>8,}  {name}")
        for example in examples[:EXAMPLES]:
            print(f"          {example}")
    return found


def difference(before: Any, after: Any) -> tuple[str, str]:
    """Return the case of a difference, and its class: which rules changed more or fewer."""
    if before is None or after is None:
        return str((after or before)[0]), "one version has more cases"
    case = " ".join(map(str, after[0]))
    old, new = before[1], after[1]
    if len(old) == 1 or len(new) == 1:
        unknown = str(old[0]).startswith(UNKNOWN)
        return case, UNKNOWN_TO_OLD if unknown else f"exception: {old[0]} | {new[0]}"
    rules, more = (dict(row[4]) for row in (old, new))
    changed = [
        f"{name} ({'more' if more.get(name, 0) > rules.get(name, 0) else 'fewer'})"
        for name in sorted({*rules, *more})
        if rules.get(name) != more.get(name)
    ]
    parts = ("messages", "system", "tools", "fields of changes", "rules")
    parts += ("again",) * 3 + ("of the result",) * 3
    return case, ", ".join(changed) or "same rules: " + ", ".join(
        part for part, one, other in zip(parts, old, new, strict=True) if one != other
    )


def main() -> int:
    """Compare the versions, or work for another process that does."""
    parser = argparse.ArgumentParser()
    parser.add_argument("old")
    parser.add_argument("--new", default=str(ROOT))
    parser.add_argument("--seeds", type=int, default=2_000)
    parser.add_argument("--matrix", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--langchain", action="store_true")
    parser.add_argument("--ignore", nargs="*", default=[])
    parser.add_argument("--work", action="store_true")
    parser.add_argument("--fields", nargs="*", default=[])
    given = parser.parse_args()
    if given.work:
        work(given.seeds, given.matrix, given.only, given.fields, langchain=given.langchain)
        return 0
    words = ["--seeds", str(given.seeds), "--matrix", str(given.matrix), "--only", given.only]
    words += ["--langchain"] * given.langchain
    with unpacked(given.old) as old, unpacked(given.new) as new:
        return 1 if compare(old, new, words, given.ignore) else 0


if __name__ == "__main__":
    sys.exit(main())
