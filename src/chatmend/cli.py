"""The command line: ``chatmend check``, ``repair``, ``explain`` and ``rules``.

It reads files, calls the library, and prints the account of it; never what was said in a transcript.
"""

import json
import os
import shutil
import sys
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import IO, Annotated

from chatmend import Change, Target, TargetError, TranscriptError, repair, repair_request, resolve
from chatmend.jsontext import parse
from chatmend.report import line
from chatmend.rules import RULES

try:
    import typer
    from rich.console import Console
    from rich.text import Text

    from chatmend.cli_image import image
except ImportError as error:
    text = f"the command line needs Typer and Rich ({error}); install them: pip install 'chatmend[cli]'"
    raise ImportError(text, name=error.name) from error

FOUND, FAULT = 1, 2
_LINES = frozenset({".jsonl", ".ndjson"})
_UNPRINTABLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_BESIDE = {
    "TOOL014": ("undeclared-tools", "The history holds tool calls, but the request declares no tools."),
    "CACHE001": ("too-many-cache-markers", "More cache markers than the target takes, or one where none may be."),
    "OFF001": ("offline-order", "An order that only a stored transcript may be given, as the policy asked for."),
}
"""What the last pass finds: it looks at the whole request, so no rule's file tells of it."""


class _UnreadableError(Exception):
    """A file, or a line of one, holds no conversation; or it could not be opened."""


@dataclass(slots=True)
class _Run:
    """One command on its way through the files."""

    target: Target
    console: Console
    """Where the account goes: standard output, unless the repaired file goes there."""
    codes: Counter[tuple[str, str]] = field(default_factory=Counter)
    conversations: int = 0
    faulty: int = 0
    left: int = 0
    """Findings that a repair leaves as they are."""
    faults: int = 0
    """Files and lines that could not be read, and files that could not be written."""

    def fault(self, text: str) -> None:
        """Name a fault on standard error, and go on."""
        self.faults += 1
        _print(Console(stderr=True), text, "red")

    def account(self, title: str, changes: tuple[Change, ...]) -> None:
        """Print the findings of one conversation, a line each, and count them."""
        self.conversations += 1
        self.faulty += bool(changes)
        self.left += sum(not change.applied for change in changes)
        if changes:
            _print(self.console, title, "bold")
        for change in changes:
            self.codes[change.code, change.rule] += 1
            _print(self.console, f"  {line(change)}")

    def summarise(self) -> None:
        """Print how often each code was found."""
        _print(self.console, "")
        for (code, rule), count in sorted(self.codes.items()):
            _print(self.console, f"{count:>6}  {code} {rule}")
        total = (
            f"{_count(self.codes.total(), 'finding')} in {self.faulty} of {_count(self.conversations, 'conversation')}"
        )
        text = total if self.codes else f"nothing found in {_count(self.conversations, 'conversation')}"
        _print(self.console, text + (f"; {_count(self.faults, 'fault')}, see above" if self.faults else ""), "bold")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _print(console: Console, text: str, style: str = "") -> None:
    """Print one line as it is: no markup, no control characters, no wrapping."""
    console.print(Text(_printable(text), style), soft_wrap=True)


def _printable(text: str) -> str:
    return "".join(sign for sign in text if unicodedata.category(sign) not in _UNPRINTABLE)


def _conversations(path: Path) -> Iterator[tuple[int, bytes]]:
    """The conversations of a file with the line where each begins; of JSONL no more than one is in memory."""
    try:
        with path.open("rb") as file:
            if _has_lines(path):
                yield from ((number, raw) for number, raw in enumerate(file, 1))
            else:
                yield 1, file.read()
    except OSError as error:
        raise _UnreadableError(f"{path}: could not be read: {error.strerror}") from error


def _has_lines(path: Path) -> bool:
    return path.suffix.lower() in _LINES


def _parsed(path: Path, number: int, raw: bytes) -> object:
    """The value of a JSON text that begins in line ``number`` of a file."""
    row, column = 1, 1
    try:
        return parse(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode("utf-8", "replace")
        row, column, fault = before.count("\n") + 1, len(before) - before.rfind("\n"), "not UTF-8"
    except json.JSONDecodeError as error:
        row, column, fault = error.lineno, error.colno, error.msg
        if fault == "Extra data" and not _has_lines(path):
            fault += "; a file with one conversation per line is named .jsonl"
    except ValueError as error:
        fault = str(error)
    raise _UnreadableError(f"{path}: line {number + row - 1}, column {column}: could not be read: {fault}")


def _mended(value: object, target: Target) -> tuple[object, tuple[Change, ...]]:
    """A list of messages or a request body as it should be sent, and what was changed."""
    if isinstance(value, list):
        if value and all(_is_conversation(item) for item in value):
            raise TranscriptError("a list of conversations; write one per line into a .jsonl file")
        messages = repair(value, target)
        return messages.messages, messages.changes
    if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
        raise TranscriptError("neither a list of messages nor a request body with a list under 'messages'")
    request = repair_request(value, target)
    return request.body, request.changes


def _is_conversation(item: object) -> bool:
    return isinstance(item, list) or (isinstance(item, dict) and "messages" in item and "role" not in item)


def _written(value: object, raw: bytes) -> bytes:
    """A value as JSON in the layout of the text that it came from, with that text's line end."""
    body = raw.rstrip()
    indent = 2 if b"\n" in body else None
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    try:
        encoded = text.encode()
    except UnicodeEncodeError:  # a lone surrogate that the target's rules do not ask about: only an escape can carry it
        encoded = json.dumps(value, indent=indent).encode()
    return encoded + raw[len(body) :]


def _walk(path: Path, run: _Run, sink: IO[bytes] | None = None) -> None:
    """Account for each conversation of a file, and write it repaired to ``sink``; faults are named in passing.

    Raises:
        _UnreadableError: the file could not be opened, or is to be written and could not be read to its end.
    """
    faults = run.faults
    for number, raw in _conversations(path):
        if _has_lines(path) and not raw.strip():
            becomes = raw
        else:
            try:
                becomes = _visit(path, number, raw, run)
            except _UnreadableError as error:
                run.fault(str(error))
                continue
        if sink:
            sink.write(becomes)
    if sink and run.faults > faults:
        raise _UnreadableError(f"{path}: not written; mend or take out what could not be read")


def _visit(path: Path, number: int, raw: bytes, run: _Run) -> bytes:
    """Account for one conversation; its bytes, the same ones where nothing was changed."""
    place = f"{path}: line {number}" if _has_lines(path) else str(path)
    value = _parsed(path, number, raw)
    try:
        becomes, changes = _mended(value, run.target)
        written = raw if becomes is value else _written(becomes, raw)
    except TranscriptError as error:
        raise _UnreadableError(f"{path}: line {number}, column 1: could not be read: {error}") from error
    except RecursionError as error:
        raise _UnreadableError(f"{path}: line {number}, column 1: could not be read: nested too deep") from error
    run.account(place, changes)
    return written


@contextmanager
def _replacing(path: Path, like: Path) -> Iterator[IO[bytes]]:
    """A file that takes the place of ``path``, with the permissions of ``like``, once all of it is on the disk."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".chatmend-", suffix=".tmp")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        shutil.copymode(like, temporary)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def _standard_output() -> Iterator[IO[bytes]]:
    """A file that is copied to standard output when it is complete."""
    with tempfile.TemporaryFile() as file:
        yield file
        file.seek(0)
        shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def _repair_file(path: Path, out: Path | None, run: _Run) -> None:
    """Repair one file; one that could not be read to its end is not written."""
    try:
        with _replacing(out / path.name, path) if out else _standard_output() as sink:
            _walk(path, run, sink)
    except _UnreadableError as error:
        run.fault(str(error))
    except OSError as error:
        run.fault(f"{path}: could not be written: {error.strerror}")
    else:
        if out:
            _print(run.console, f"written: {out / path.name}")


def _stop(text: str) -> typer.Exit:
    """Print why nothing can be done, and the exit that says so."""
    _print(Console(stderr=True), text, "red")
    return typer.Exit(FAULT)


def _target(name: str) -> Target:
    try:
        return resolve(name)
    except TargetError as error:
        raise _stop(str(error)) from error


app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,  # locals are transcripts
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Repair LLM chat transcripts so that strict providers accept them, and say what was changed.",
    epilog="Example: chatmend check chat.json --target anthropic/claude-sonnet-4-5",
)

Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE",
        help="JSON: a list of messages, or a request body with 'messages'. JSONL (.jsonl, .ndjson): one per line.",
        show_default=False,
    ),
]
TargetName = Annotated[
    str,
    typer.Option(
        "--target",
        "-t",
        metavar="T",
        help="Where it will be sent: provider/model, or a provider alone.",
        show_default=False,
    ),
]


@app.command(
    name="check", epilog="Example: chatmend check chat.json archive.jsonl --target mistral/mistral-large-latest"
)
def check_files(files: Files, target: TargetName) -> None:
    """Say what a target would refuse, and change nothing.

    Exit status: 0 nothing found, 1 something found, 2 a file could not be read or the target is unknown.
    """
    run = _Run(_target(target), Console())
    for path in files:
        try:
            _walk(path, run)
        except _UnreadableError as error:
            run.fault(str(error))
    run.summarise()
    raise typer.Exit(FAULT if run.faults else FOUND if run.codes else 0)


@app.command(
    name="repair", epilog="Example: chatmend repair chat.json --target anthropic/claude-sonnet-4-5 --out repaired/"
)
def repair_files(
    files: Files,
    target: TargetName,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where repaired files go, each under its own name; made if missing. Without it one file goes to "
            "standard output, and the account to standard error.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Repair transcripts for a target, and say what was changed.

    What is sound is written as it was, byte for byte. A file that cannot be read is not written.

    Exit status: 0 all repaired, 1 something was found and left as it is, 2 a file could not be read or written or the
    target is unknown.
    """
    run = _Run(_target(target), Console(stderr=out is None))
    names = Counter(path.name for path in files)
    if out is None and len(files) > 1:
        raise _stop("several files do not fit on standard output; name a directory: --out repaired/")
    if out and (double := [name for name, count in names.items() if count > 1]):
        raise _stop(
            f"two files are named {double[0]!r} and would overwrite each other in {out}; repair them one at a time"
        )
    try:
        if out:
            out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _stop(f"{out}: cannot be the directory for the repaired files: {error.strerror}") from error
    for path in files:
        _repair_file(path, out, run)
    run.summarise()
    raise typer.Exit(FAULT if run.faults else FOUND if run.left else 0)


@app.command(epilog="Example: chatmend explain TOOL005")
def explain(
    code: Annotated[str, typer.Argument(metavar="CODE", help="A code or a name: TOOL005, orphan-tool-result.")],
) -> None:
    """Print the manual of one rule: what it finds, why it matters, what the repair does."""
    manuals = {rule.code: (rule.name, rule.manual.strip()) for rule in RULES}
    names = {word.lower(): known for known, (name, _) in {**_BESIDE, **manuals}.items() for word in (known, name)}
    known = names.get(code.strip().lower())
    if known is None:
        near = get_close_matches(code.lower(), names, 1)
        hint = f"did you mean {names[near[0]]}?" if near else "'chatmend rules' lists them all"
        raise _stop(f"no rule {code!r}; {hint}")
    name, manual = {**_BESIDE, **manuals}[known]
    console = Console()
    _print(console, f"{known} {name}", "bold")
    for row in ["", *manual.splitlines()]:
        _print(console, row)


@app.command(epilog="Example: chatmend rules")
def rules() -> None:
    """List every rule: its code, its name, and what it finds."""
    console = Console()
    listed = {rule.code: (rule.name, rule.manual.strip().partition("\n")[0]) for rule in RULES}
    for code, (name, sentence) in sorted({**_BESIDE, **listed}.items()):
        _print(console, f"{code:<9} {name:<26} {sentence}")


app.command(name="image", epilog="Example: chatmend image shot.png --target anthropic --out small/")(image)


def main() -> None:
    """Run the command line, and leave with its exit status."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a name that the terminal cannot show must not end the run
    app(prog_name="chatmend")
