"""Compares every repair of this version of chatmend with that of another version.

    python -m tests.equivalence OLD [--seeds N] [--matrix N] [--only PART] [--through DOOR]

``OLD`` is a commit, a wheel, or a directory that contains the package ``chatmend``; also
``make equivalence OLD=...``. Two processes, one for each version, repair the same generated transcripts. The digests of
the messages, of the system prompt, of the tools and of every field of every change must be equal, also when the
transcript or the result is repaired again. Fields of changes that only one version has are left out.

- ``--new``: a third version to compare with, instead of this one;
- ``--seeds``: transcripts by seed, each for one target and policy drawn from the seed;
- ``--matrix``: transcripts by seed, each for all targets and all policies;
- ``--only``: only targets that contain this text;
- ``--ignore``: fields of changes to leave out, such as ``why``, a text for people;
- ``--through langchain``: the same transcripts as LangChain messages;
- ``--through litellm``: the same transcripts through LiteLLM and chatmend's callback; what LiteLLM sends to a local
  server, the outcome and the rules in the report may differ only if the repair differs;
- ``--known``: a list of known differences, such as ``tests/known_differences.toml``.

Differences are listed by class: the rules of which one version has more changes, fewer, or as many with other content.
Exit status 1 if one is not known.
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
from functools import partial
from itertools import zip_longest
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from tests.broken import WIRES, broken, digest, torn, valid
from tests.known_differences import CHANGED, FEWER, MORE, explain, load
from tests.targets import ALL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
_POSITIONS = "positions and order"
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


def account(done: Any, names: list[str]) -> dict[str, Any]:
    """Return digests of everything that a repair returned, and of each change."""
    parts = {
        "messages": digest(done.messages),
        "system": digest(done.system),
        "tools": digest(getattr(done, "tools", None)),
    }
    for part, fields in _groups(names).items():
        rows = [[_plain(getattr(change, name)) for name in fields] for change in done.changes]
        digests = [digest(row) for row in rows]
        parts[part] = digest(digests if part == _POSITIONS else sorted(digests))
    changes = [
        [f"{change.code} {change.rule}", digest([change.effect, change.before, change.after])]
        for change in done.changes
    ]
    return {"parts": parts, "changes": changes}


def _groups(names: list[str]) -> dict[str, list[str]]:
    """Return the fields of changes by the part of a difference that they belong to."""
    own = {"why": "reasons", "invalidates_thinking": "invalidates_thinking"}
    own |= dict.fromkeys(("index", "window", "at"), _POSITIONS)
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(own.get(name, "fields of changes"), []).append(name)
    return groups


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _as_langchain(messages: list[Any]) -> list[Any] | None:
    from langchain_core.messages import convert_to_messages

    try:
        return list(convert_to_messages(messages))
    except Exception:  # noqa: BLE001 - LangChain cannot hold every broken transcript
        return None


def work(given: argparse.Namespace) -> None:
    """Print one line per case: what the installed version does with it."""
    import chatmend

    makers = {"broken": broken, "torn": torn, "refused ids": refused_ids}
    last: tuple[object, ...] = ()
    messages: Any = []
    with _door(given) as repair:
        for kind, seed, dialect, target, policy in cases(given.seeds, given.matrix, given.only):
            if given.through and dialect != "openai_chat":
                continue
            if (kind, seed, dialect) != last:
                last, messages = (kind, seed, dialect), makers[kind](seed, dialect)
                messages = _as_langchain(messages) if given.through == "langchain" else messages
            if messages is None:
                continue
            try:
                chosen = chatmend.Policy(**_OPTIONS) if policy == "every option" else policy
                row = repair(messages, target, chosen, dialect)
            except Exception as error:  # noqa: BLE001 - an exception is a result, too
                row = {"error": f"{type(error).__name__}: {error}"[:200]}
            if row is not None:
                print(json.dumps([[kind, seed, dialect, target, policy], row]), flush=False)


@contextmanager
def _door(given: argparse.Namespace) -> Iterator[Callable[..., Any]]:
    """Yield the function that repairs one transcript and returns its row; None: not possible."""
    if given.through == "litellm":
        from tests.equivalence_litellm import Sender

        with Sender() as sender:
            send = partial(_send, sender, given.fields)
            yield lambda messages, target, policy, _: send(messages, target, policy)
    else:
        yield partial(_repair, given)


def _send(
    sender: Any, names: list[str], messages: Any, target: str, policy: Any
) -> dict[str, Any] | None:
    """Send a transcript through LiteLLM, and repair it without; None if the host needs more."""
    import chatmend
    from tests.equivalence_litellm import is_reachable

    if not is_reachable(target):
        return None
    done = chatmend.repair(messages, target, policy=policy, dialect="openai_chat")
    parts = sender.send(messages, target, policy)
    return {"parts": parts, "changes": sorted(account(done, names)["changes"])}


def _repair(
    given: argparse.Namespace, messages: Any, target: str, policy: Any, dialect: str
) -> dict[str, Any]:
    """Repair a transcript, then the same transcript again, and the result."""
    import chatmend

    langchain, names = given.through == "langchain", given.fields
    options = {"policy": policy} | ({} if langchain else {"dialect": dialect})
    done: Any = chatmend.repair(messages, target, **options)
    repeated: Any = chatmend.repair(messages, target, **options)
    result: Any = chatmend.repair(done.messages, target, **options)
    if langchain:
        done, repeated, result = (_Dumped(one, names) for one in (done, repeated, result))
    row = account(done, names)
    for name, one in (("again", repeated), ("of the result", result)):
        parts = account(one, names)["parts"]
        row["parts"] |= {f"{part} {name}": parts[part] for part in ("messages", "system", "tools")}
    return row


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


def compare(package: Path, other: Path, words: list[str], given: argparse.Namespace) -> int:
    """Print the differences by class; return the number of those that are not known."""
    new_fields = fields_of(other)
    common = [
        name for name in fields_of(package) if name in new_fields and name not in given.ignore
    ]
    words = [*words, "--fields", *common]
    workers = [_start(package, words), _start(other, words)]
    old, new = (worker.stdout for worker in workers)
    assert old is not None
    assert new is not None
    known = load(Path(given.known)) if given.known else []
    counts, explained = Counter[str](), 0
    reasons, classes = Counter[str](), dict[str, list[str]]()
    for before, after in zip_longest(old, new, fillvalue="null"):
        counts["repairs"] += 1
        if before == after:
            counts["errors"] += '"error"' in before
            continue
        case, parts = difference(json.loads(before), json.loads(after))
        if parts == {UNKNOWN_TO_OLD}:
            counts["unknown"] += 1
        elif found := explain(tuple(case[2:]), frozenset(parts), known):
            explained += 1
            reasons.update({entry.reason for entry in found})
        else:
            classes.setdefault(", ".join(sorted(parts)), []).append(" ".join(map(str, case)))
    if any(worker.wait() for worker in workers):
        raise SystemExit("a version failed: see above")
    return report(counts, (explained, reasons), classes)


def report(
    counts: Counter[str], known: tuple[int, Counter[str]], classes: dict[str, list[str]]
) -> int:
    """Print what was found; return the number of differences that are not known."""
    explained, reasons = known
    found = sum(map(len, classes.values()))
    notes = f"{counts['repairs']:,} repairs by each version: {found + explained:,} different"
    if counts["unknown"]:
        notes += f", {counts['unknown']:,} with options unknown to the old version"
    if counts["errors"]:
        notes += f", {counts['errors']:,} with the same exception"
    print(notes)
    if explained:
        print(f"{explained:,} explained by known differences, {found:,} unexplained")
        for reason, count in reasons.most_common():
            print(f"{count:>8,}  {reason}")
    for name, examples in sorted(classes.items(), key=lambda pair: -len(pair[1])):
        print(f"{len(examples):>8,}  {name}")
        for example in examples[:EXAMPLES]:
            print(f"          {example}")
    return found


def difference(before: Any, after: Any) -> tuple[list[Any], set[str]]:
    """Return the case of a difference, and its parts: which rules changed what, or what differs."""
    if before is None or after is None:
        return (after or before)[0], {"one version has more cases"}
    case, old, new = after[0], before[1], after[1]
    if "error" in old or "error" in new:
        one, other = old.get("error", ""), new.get("error", "")
        name = UNKNOWN_TO_OLD if one.startswith(UNKNOWN) else f"exception: {one} | {other}"
        return case, {name}
    if parts := _changed_rules(old["changes"], new["changes"]):
        return case, parts
    return case, {part for part in new["parts"] if old["parts"].get(part) != new["parts"][part]}


def _changed_rules(old: list[list[str]], new: list[list[str]]) -> set[str]:
    """Return the rules with other changes, each with ``more``, ``fewer`` or ``changed``."""
    one, other = (Counter(map(tuple, changes)) for changes in (old, new))
    counts, rules = Counter[str](), set[str]()
    for left, sign in ((one - other, -1), (other - one, 1)):
        for (name, _), count in left.items():
            rules.add(name)
            counts[name] += sign * count
    return {
        f"{name.partition(' ')[0]} {MORE if counts[name] > 0 else FEWER if counts[name] else CHANGED}"
        for name in rules
    }


def main() -> int:
    """Compare the versions, or work for another process that does."""
    parser = argparse.ArgumentParser()
    parser.add_argument("old")
    parser.add_argument("--new", default=str(ROOT))
    parser.add_argument("--seeds", type=int, default=2_000)
    parser.add_argument("--matrix", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--through", choices=("langchain", "litellm"))
    parser.add_argument("--known", default="")
    parser.add_argument("--ignore", nargs="*", default=[])
    parser.add_argument("--work", action="store_true")
    parser.add_argument("--fields", nargs="*", default=[])
    given = parser.parse_args()
    if given.work:
        work(given)
        return 0
    words = ["--seeds", str(given.seeds), "--matrix", str(given.matrix), "--only", given.only]
    words += ["--through", given.through] if given.through else []
    with unpacked(given.old) as old, unpacked(given.new) as new:
        return 1 if compare(old, new, words, given) else 0


if __name__ == "__main__":
    sys.exit(main())
