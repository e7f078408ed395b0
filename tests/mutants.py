"""Mutation testing: small changes to the source, and whether a test fails on each.

    python -m tests.mutants [--record FILE] [--only FILE] [PART-OF-A-PATH...]

cosmic-ray generates the mutants. A fixed sample of them is tested; it stays the same until the source changes. For each
mutant, the tests that execute the changed statement run until one fails: first those that failed on other mutants, then
the fastest. A mutant that no test detects survives and is printed as a diff. Annotations, docstrings and the arguments
of ``@dataclass`` are not mutated, because nothing depends on them at run time.

``--record`` writes the verdicts as JSON every few minutes. ``--only`` reuses the verdicts of such a file and tests only
its survivors and the mutants that are missing there, so an interrupted run can continue.

``accepted_mutants.toml`` lists survivors that behave as the source does, each with the reason. They count as survivors
in the first score and are left out of the second.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import hashlib
import importlib.machinery
import importlib.util
import json
import os
import resource
import signal
import sys
import tempfile
import time
import tomllib
from collections import Counter
from copy import copy
from dataclasses import dataclass, field
from itertools import accumulate, islice
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import coverage
import pytest
from cosmic_ray import plugins
from cosmic_ray.ast import ast_nodes, get_ast

from tests.judges import judge
from tests.scale import IS_NIGHTLY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import CodeType

ROOT = Path(__file__).resolve().parents[1]
ACCEPTED = Path(__file__).with_name("accepted_mutants.toml")
"""The mutants that behave as the source does, each with the reason."""
SOURCE = ROOT / "src"
PATIENCE = 5
"""Seconds of CPU time a test may take on a mutant, beyond ten times its CPU time on the unchanged source."""
IMPORTS = 60
"""Seconds of CPU time for importing and collecting."""
LONGEST = 900
"""Seconds after which a mutant is stopped even if it waits without using CPU time."""
MEMORY = 6 << 30
"""Bytes that a mutant may allocate."""
SURVIVED, KILLED, TIMED_OUT = "survived", "killed", "timed out"
NOT_LOADED = 64
"""The exit status of a process that ran its tests on the unchanged source by mistake."""

CORE = [
    "test_rules",
    "test_cases",
    "test_noop",
    "golden/test_golden",
    "test_items",
    "test_contents",
    "test_policies",
    "test_report",
    "test_resolve",
    "test_scan",
    "test_server_tools",
    "test_overtaken_calls",
    "test_fixpoint",
    "test_undeclared_tools",
    "test_pending_calls",
    "test_parallel_calls",
    "test_stories",
    "test_rule_runs",
    "test_wire_parts",
    "test_repair_parameters",
    "test_renaming",
    "test_known_transcripts",
    "test_session_memory",
    "test_recorded",
    "test_promises",
]
USAGE = [
    f"usage/test_{name}"
    for name in (
        "accounts",
        "objects",
        "tables",
        "recordings",
        "streams",
        "sums",
        "merging",
        "anything",
    )
]
IMAGES = [
    f"images/test_{name}"
    for name in [
        "probe",
        "headers",
        "walks",
        "stories",
        "recompress",
        "accepted",
        "prefix",
        "sizes",
    ]
]
RULES = [
    "missing_tool_result",
    "late_tool_result",
    "invalid_call_id",
    "parallel_calls",
    "undeclared_tools",
]


@dataclass(frozen=True)
class Room:
    """Source files that share their tests, and how many of their mutants are tested."""

    name: str
    files: list[str]
    sample: int
    tests: list[str]


ROOMS = (
    Room("engine", ["engine.py", "scan.py"], 50, CORE),
    Room("repair", ["repair.py"], 50, CORE),
    Room("rules", [f"rules/{name}.py" for name in RULES], 120, CORE),
    Room("dialects", ["dialects/openai_chat.py", "dialects/anthropic_messages.py"], 90, CORE),
    Room("image headers", ["images/headers/*.py"], 45, IMAGES),
    Room("usage", ["usage/normalize.py"], 45, USAGE),
)


ALL_FILES = [pattern for room in ROOMS for pattern in room.files]


@dataclass(frozen=True)
class Mutant:
    """A change to one source file."""

    room: Room
    path: str
    """Relative to ``src``."""
    source: str
    statement: frozenset[int]
    """The lines of the statement that is changed."""
    diff: str

    @property
    def key(self) -> str:
        """Hash of the change, independent of its line number; it decides which mutants are in the sample."""
        changed = [line for line in self.diff.splitlines()[2:] if line[:1] in "+-"]
        return hashlib.sha256("\n".join([self.path, *changed]).encode()).hexdigest()[:16]

    @property
    def change(self) -> tuple[str, str, str]:
        """The path, and the text of the changed lines before and after."""
        lines = self.diff.splitlines()[2:]
        old, new = (
            " ".join(line[1:].strip() for line in lines if line[:1] == mark) for mark in "-+"
        )
        return self.path.removeprefix("chatmend/"), old, new

    @property
    def module(self) -> str:
        return self.path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def sample(room: Room) -> list[Mutant]:
    """Return the sample of mutants of a room."""
    paths = sorted(path for pattern in room.files for path in (SOURCE / "chatmend").glob(pattern))
    made = {mutant.key: mutant for path in paths for mutant in _mutants(room, path)}
    before = {
        path.relative_to(SOURCE).as_posix(): _meaning(path.read_text("utf-8")) for path in paths
    }
    # Only as many as are needed: to compare the meaning takes longer than to make the mutant.
    with_effect = (made[key] for key in sorted(made) if _has_effect(made[key], before))
    return list(islice(with_effect, room.sample))


def _has_effect(mutant: Mutant, before: dict[str, str]) -> bool:
    try:
        return _meaning(mutant.source) != before[mutant.path]
    except SyntaxError:
        return False


def _mutants(room: Room, path: Path) -> Iterator[Mutant]:
    source, where = path.read_text("utf-8"), path.relative_to(SOURCE).as_posix()
    statements, nodes = _statements(source), list(ast_nodes(get_ast(source)))
    offsets = list(accumulate(map(len, source.splitlines(keepends=True)), initial=0))
    for operator in filter(None, map(_operator, plugins.operator_names())):
        for start, old, new in _replacements(nodes, offsets, operator):
            changed = source[:start] + new + source[start + len(old) :]
            if changed != source:
                lines = _changed_lines(source, changed)
                statement = frozenset(line for at in lines for line in statements.get(at, ()))
                yield Mutant(room, where, changed, statement, _diff(where, source, changed))


def _replacements(
    nodes: list[Any], offsets: list[int], operator: Any
) -> Iterator[tuple[int, str, str]]:
    """Yield what an operator can replace: the position in the source, the old and the new text.

    ``offsets`` are the positions of the lines in the source.
    """
    for node in nodes:
        for index, _ in enumerate(operator.mutation_positions(node)):
            line, column = node.get_start_pos_of_prefix()
            changed = operator.mutate(_copy(node), index)
            new = changed.get_code() if changed is not None else ""
            yield offsets[line - 1] + column, node.get_code(), new


def _copy(node: Any) -> Any:
    """Return a copy of a part of a syntax tree; the tree around it is not copied."""
    copied = copy(node)
    if hasattr(node, "children"):
        copied.children = [_copy(child) for child in node.children]
    return copied


def _diff(where: str, source: str, changed: str) -> str:
    lines = difflib.unified_diff(
        source.splitlines(), changed.splitlines(), where, where, lineterm="", n=1
    )
    return "\n".join(lines)


def _operator(name: str) -> Any:
    """Return an operator of cosmic-ray, or None if it needs arguments."""
    try:
        return plugins.get_operator(name)()
    except TypeError:
        return None


def _meaning(source: str) -> str:
    """Return the code without annotations, docstrings and arguments of ``@dataclass``, which have no effect at run time."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
        if isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
        if (
            isinstance(node, ast.If)
            and isinstance(node.test, ast.Name | ast.UnaryOp)
            and "TYPE_CHECKING" in ast.dump(node.test)
        ):
            node.test, node.body = ast.Constant(value=False), [ast.Pass()]
        if isinstance(node, ast.ClassDef):
            for call in node.decorator_list:
                if isinstance(call, ast.Call):
                    call.keywords = []
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value = ast.Constant(None)
    return ast.dump(tree)


def _statements(source: str) -> dict[int, range]:
    """Map each line to the lines of its innermost statement; for a compound statement, to those of its header."""
    found: dict[int, range] = {}
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt)]
    for node in sorted(nodes, key=lambda node: (node.lineno, -(node.end_lineno or 0))):
        body = getattr(node, "body", None)
        last = body[0].lineno - 1 if body else node.end_lineno or node.lineno
        lines = range(node.lineno, max(last, node.lineno) + 1)
        found.update(dict.fromkeys(lines, lines))
    return found


def _changed_lines(source: str, changed: str) -> set[int]:
    """Return the line numbers of ``source`` that differ."""
    matcher = difflib.SequenceMatcher(
        None, source.splitlines(), changed.splitlines(), autojunk=False
    )
    return {
        line + 1
        for tag, start, stop, _, _ in matcher.get_opcodes()
        if tag != "equal"
        for line in range(start, max(stop, start + 1))
    }


@dataclass
class Recording:
    """Durations and executed lines of a room's tests on the unchanged source."""

    seconds: dict[str, float] = field(default_factory=dict)
    """CPU time by test."""
    executed: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    """The numbers of the tests by file and line. -1: the line is executed during the import."""

    def tests_of(self, mutant: Mutant) -> dict[str, float]:
        """Return the tests that execute the changed statement, with their CPU times."""
        by_line = self.executed.get(mutant.path, {})
        numbers = {n for line in mutant.statement for n in by_line.get(str(line), ())}
        return {
            name: seconds
            for number, (name, seconds) in enumerate(self.seconds.items())
            if number in numbers or -1 in numbers
        }


class _Recorder:
    """Records the CPU time of each test, and passes its name to coverage."""

    def __init__(self, measuring: coverage.Coverage) -> None:
        self._measuring = measuring
        self.seconds: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._measuring.switch_context(item.nodeid)
        began = time.process_time()
        result = yield
        self.seconds[item.nodeid] = time.process_time() - began
        self._measuring.switch_context("")
        return result


class _Selected:
    """Runs the given tests in the given order, and writes the failed one to a file."""

    def __init__(self, names: list[str], seconds: dict[str, float], note: Path) -> None:
        self._places = {name: place for place, name in enumerate(names)}
        self._seconds = seconds
        self._note = note

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        kept = [item for item in items if item.nodeid in self._places]
        items[:] = sorted(kept, key=lambda item: self._places[item.nodeid])

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        # The signal ends the process if the mutant loops forever.
        signal.setitimer(signal.ITIMER_PROF, PATIENCE + 10 * self._seconds[item.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._note.write_text(report.nodeid)


class _Mutated(importlib.machinery.SourceFileLoader):
    """Loads a module from mutated source instead of its file."""

    source = ""

    def get_code(self, fullname: str) -> CodeType:
        del fullname
        return compile(self.source, self.path, "exec")


class _Finder:
    """Finds the mutated module before Python finds its file."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(self, name: str, path: object, target: object = None) -> Any:
        del path, target
        if name != self._mutant.module:
            return None
        file = str(SOURCE / self._mutant.path)
        loader = _Mutated(name, file)
        loader.source = self._mutant.source
        return importlib.util.spec_from_file_location(name, file, loader=loader)


def _pytest(files: Iterable[str], plugin: object) -> int:
    present = [path for path in files if (ROOT / path).exists()]
    # Plain assertions: to rewrite them, pytest would load chatmend itself and bypass the mutated module.
    options = [
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--assert=plain",
        "--tb=no",
        "--no-header",
    ]
    return int(pytest.main([*options, *present], plugins=[plugin]))


def _record(room: Room, folder: Path) -> int:
    """Run the tests of a room on the unchanged source, in this process. Return 0 if all passed."""
    measuring = coverage.Coverage(data_file=None, source=[str(SOURCE / "chatmend")], branch=False)
    recorder = _Recorder(measuring)
    measuring.start()
    status = _pytest([f"tests/{name}.py" for name in room.tests], recorder)
    measuring.stop()
    data = measuring.get_data()
    # Numbers instead of names, which would take hundreds of megabytes.
    numbers = {name: number for number, name in enumerate(recorder.seconds)} | {"": -1}
    executed = {
        Path(file).relative_to(SOURCE).as_posix(): {
            line: [numbers[name] for name in names if name in numbers]
            for line, names in data.contexts_by_lineno(file).items()
        }
        for file in data.measured_files()
        if any(Path(file) in (SOURCE / "chatmend").glob(pattern) for pattern in ALL_FILES)
    }
    _file_of(room, folder).write_text(json.dumps([recorder.seconds, executed]))
    return status


def _recording(room: Room, folder: Path) -> Recording:
    return Recording(*json.loads(_file_of(room, folder).read_text()))


def _file_of(room: Room, folder: Path) -> Path:
    return folder / room.tests[0].replace("/", "-")


def _try(mutant: Mutant, names: list[str], seconds: dict[str, float], note: Path) -> int:
    """Run the tests on a mutant, in this process. Return 0 if all passed."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.setitimer(signal.ITIMER_PROF, IMPORTS)
    signal.alarm(LONGEST)
    sys.meta_path.insert(0, _Finder(mutant))  # type: ignore[arg-type]
    status = _pytest(
        dict.fromkeys(name.partition("::")[0] for name in names), _Selected(names, seconds, note)
    )
    loader = getattr(sys.modules.get(mutant.module), "__loader__", None)
    return status if status or isinstance(loader, _Mutated) else NOT_LOADED


def _forked(work: Callable[[], int]) -> int:
    """Start ``work`` in a separate process without output. Return its process id."""
    if pid := os.fork():
        return pid
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    status = 2
    try:
        status = work()
    finally:
        os._exit(status)


def _finished(jobs: dict[int, Any]) -> tuple[Any, int]:
    """Wait for one of the processes. Return its job and its exit status, which is negative for a signal."""
    pid, status = os.wait()
    return jobs.pop(pid), os.waitstatus_to_exitcode(status)


def record(rooms: Iterable[Room], folder: Path) -> dict[str, Recording]:
    """Run the tests of rooms on the unchanged source. Return their durations and the tests that execute each line."""
    by_name = {room.name: room for room in rooms}
    jobs: dict[int, Room] = {}
    for room in {room.tests[0]: room for room in by_name.values()}.values():
        jobs[_forked(lambda room=room: _record(room, folder))] = room  # type: ignore[misc]
    while jobs:
        room, status = _finished(jobs)
        if status:
            raise SystemExit(
                f"the tests of {room.name} do not pass on the unchanged source: pytest exit {status}"
            )
    return {name: _recording(room, folder) for name, room in by_name.items()}


class Court:
    """Tests mutants in parallel processes."""

    def __init__(
        self,
        recordings: dict[str, Recording],
        folder: Path,
        save: Callable[[dict[str, str]], None],
        workers: int,
    ) -> None:
        self._recordings = recordings
        self._workers = workers
        self._save = save
        self._folder = folder
        self._kills: Counter[str] = Counter()
        self._jobs: dict[int, Mutant] = {}
        self._began = time.monotonic()
        self.verdicts: dict[str, str] = {}
        """Verdicts by the mutant's key."""

    def judge(self, mutants: list[Mutant]) -> None:
        """Run the tests on each of the mutants."""
        for mutant in mutants:
            if seconds := self._recordings[mutant.room.name].tests_of(mutant):
                if len(self._jobs) >= self._workers:
                    self._wait(len(mutants))
                self._start(mutant, seconds)
            else:
                self.verdicts[mutant.key] = SURVIVED
        while self._jobs:
            self._wait(len(mutants))

    def _start(self, mutant: Mutant, seconds: dict[str, float]) -> None:
        names = sorted(seconds, key=lambda name: (-self._kills[name], seconds[name]))
        note = self._folder / mutant.key
        self._jobs[_forked(lambda: _try(mutant, names, seconds, note))] = mutant

    def _wait(self, total: int) -> None:
        mutant, status = _finished(self._jobs)
        if status == NOT_LOADED:
            raise SystemExit(f"{mutant.module} was loaded unchanged")
        self.verdicts[mutant.key] = SURVIVED if status == 0 else KILLED if status > 0 else TIMED_OUT
        note = self._folder / mutant.key
        if note.exists():
            self._kills[note.read_text()] += 1
        if len(self.verdicts) % 20 == 0:
            self._save(self.verdicts)
            print(
                f"{len(self.verdicts)} of {total} mutants, {time.monotonic() - self._began:.0f} s",
                flush=True,
            )


def accepted() -> dict[tuple[str, str, str], str]:
    """Return the mutants that no test can detect, with the reason."""
    rows = tomllib.loads(ACCEPTED.read_text("utf-8"))["mutants"]
    return {(row["path"], row["old"], row["new"]): row["reason"] for row in rows}


def report(mutants: list[Mutant], found: dict[str, str]) -> None:
    """Print the survivors, and a table with a row per room."""
    reasons = accepted()
    survivors = [mutant for mutant in mutants if found[mutant.key] == SURVIVED]
    for mutant in survivors:
        reason = reasons.get(mutant.change)
        print(f"\nsurvived {mutant.key}{f' (equivalent: {reason})' if reason else ''}")
        print(mutant.diff)
    equivalent = {mutant.key for mutant in survivors if mutant.change in reasons}
    killed = [m for m in mutants if found[m.key] != SURVIVED and m.change in reasons]
    for mutant in killed:
        print(f"\n{ACCEPTED.name} accepts {mutant.change}, but a test detects it: remove the entry")
    names = ("mutants", "killed", "timed out", "survived", "equivalent", "score", "others")
    print(f"\n{'':16}" + "".join(f"{name:>11}" for name in names))
    for name in [*dict.fromkeys(mutant.room.name for mutant in mutants), "all"]:
        keys = [mutant.key for mutant in mutants if name in (mutant.room.name, "all")]
        counts, same = Counter(map(found.get, keys)), len(equivalent.intersection(keys))
        killed_or_late = counts[KILLED] + counts[TIMED_OUT]
        numbers = (len(keys), counts[KILLED], counts[TIMED_OUT], counts[SURVIVED], same)
        scores = (100 * killed_or_late / max(1, len(keys) - left) for left in (0, same))
        print(f"{name:16}" + "".join(f"{number:11}" for number in numbers), end="")
        print("".join(f"{score:10.1f}%" for score in scores))
    print("\nscore: of all mutants; others: of the mutants that are not equivalent to the source")


def warm_up() -> None:
    """Import the modules that every process needs, except chatmend."""
    hello = [{"role": "user", "content": "Hello"}]
    for dialect, target in (
        ("openai_chat", "openai/gpt-4o"),
        ("anthropic_messages", "anthropic/claude-sonnet-4-5"),
    ):
        judge(dialect, target, hello)
    loaded = [name for name in sys.modules if name.partition(".")[0] == "chatmend"]
    if loaded:
        raise SystemExit(f"imported before the mutants are: {loaded}")


def main() -> int:
    """Test the sample. Return 0 even if mutants survive: the score is only informative."""
    words = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    words.add_argument("parts", nargs="*", help="only files whose path contains one of these")
    words.add_argument(
        "--record", type=Path, metavar="FILE", help="write the verdicts to this file, as JSON"
    )
    words.add_argument(
        "--only",
        type=Path,
        metavar="FILE",
        help="take over the verdicts of this file, except survivors that are not accepted",
    )
    words.add_argument(
        "--workers",
        type=int,
        default=os.cpu_count() or 1,
        metavar="N",
        help="processes at a time; the default is the number of cores",
    )
    given = words.parse_args()
    if IS_NIGHTLY:
        raise SystemExit("CHATMEND_NIGHTLY is set: mutants are tried with the quick tests")
    os.chdir(ROOT)
    warm_up()
    with get_context("fork").Pool(given.workers) as pool:
        mutants = [mutant for made in pool.map(sample, ROOMS, chunksize=1) for mutant in made]
    mutants = [
        mutant
        for mutant in mutants
        if not given.parts or any(part in mutant.path for part in given.parts)
    ]
    known = json.loads(given.only.read_text()) if given.only else {}
    hopeless = {mutant.key for mutant in mutants if mutant.change in accepted()}
    found = {
        key: verdict for key, verdict in known.items() if verdict != SURVIVED or key in hopeless
    }

    def save(verdicts: dict[str, str]) -> None:
        if given.record:
            known_now = found | verdicts
            sampled = {m.key: known_now[m.key] for m in mutants if m.key in known_now}
            given.record.write_text(json.dumps(sampled, indent=1) + "\n")

    untested = [mutant for mutant in mutants if mutant.key not in found]
    with tempfile.TemporaryDirectory() as folder:
        recordings = record((mutant.room for mutant in untested), Path(folder))
        court = Court(recordings, Path(folder), save, given.workers)
        court.judge(untested)
    save(court.verdicts)
    report(mutants, found | court.verdicts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
