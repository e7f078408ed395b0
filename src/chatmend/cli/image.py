"""``chatmend image``: shows what a target would be given for image files, and writes it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from chatmend import ImageError, TargetError, recompress, resolve
from chatmend.images import Probe, probe_image, tokens

if TYPE_CHECKING:
    from chatmend.targets import ImageLimits

FAULT = 2
_EXTENSIONS = {"jpeg": ".jpg"}
_LARGEST = 128 << 20


@dataclass(frozen=True, slots=True)
class _Pair:
    """A file before and after."""

    name: str
    before: bytes
    after: bytes


def image(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Image files.", show_default=False)],
    target: Annotated[
        str,
        typer.Option(
            "--target", "-t", metavar="TARGET", help="Where it will be sent: provider/model.", show_default=False
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where the results go; made if missing. Without it nothing is written."),
    ] = None,
    sheet: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw a contact sheet of all files, before and after.")
    ] = None,
    *,
    native: Annotated[bool, typer.Option("--native", help="Give it exactly the size that the model sees.")] = False,
) -> None:
    """Show what becomes of images for a target: size, bytes, tokens; and write the results.

    Exit status: 0 all are fit to be sent, 2 one could not be read or saved, or the target is unknown.
    """
    try:
        limits = resolve(target).limits.images
    except TargetError as error:
        _say(str(error), error=True)
        raise typer.Exit(FAULT) from error
    pairs = [pair for path in files if (pair := _recompressed(path, target, limits, native=native))]
    faults = len(files) - len(pairs)
    faults += not _written(pairs, out) if out else 0
    if sheet and pairs and not _drawn(sheet, pairs):
        faults += 1
    raise typer.Exit(FAULT if faults else 0)


def _say(text: str, *, error: bool = False) -> None:
    printable = "".join(sign if sign.isprintable() else "?" for sign in text)
    Console(stderr=error).print(Text(printable, "red" if error else ""), soft_wrap=True)


def _recompressed(path: Path, target: str, limits: ImageLimits, *, native: bool) -> _Pair | None:
    try:
        if path.stat().st_size > _LARGEST:
            _say(f"{path}: larger than {_LARGEST >> 20} MiB", error=True)
            return None
        before = path.read_bytes()
        after = recompress(before, target, native=native)
    except OSError as error:
        _say(f"{path}: could not be read: {error.strerror}", error=True)
        return None
    except ImageError as error:
        _say(f"{path}: {error}", error=True)
        return None
    old, new = probe_image(before), probe_image(after)
    becomes = "stays as it is" if after is before else f"becomes {new.described}"
    _say(f"{path}: {old.described}{_cost(old, limits)}; {becomes}{_cost(new, limits) if after is not before else ''}")
    return _Pair(path.name, before, after)


def _cost(probe: Probe, limits: ImageLimits) -> str:
    count = tokens(limits, probe.shown) if probe.width else None
    return "" if count is None else f", about {count} tokens"


def _written(pairs: list[_Pair], out: Path) -> bool:
    """Write the results into a directory, each under its own name; whether all went well."""
    names: set[str] = set()
    for pair in pairs:
        kind = probe_image(pair.after).type
        suffix = Path(pair.name).suffix if pair.after is pair.before else _EXTENSIONS.get(kind, f".{kind}")
        name = f"{Path(pair.name).stem}{suffix}"
        if name in names:
            _say(f"{out / name}: two files would have this name; the second is not written", error=True)
            return False
        names.add(name)
        if not _saved(out / name, pair.after):
            return False
        _say(f"written: {out / name}")
    return True


def _drawn(path: Path, pairs: list[_Pair]) -> bool:
    from chatmend.cli.contact_sheet import contact_sheet  # noqa: PLC0415 - Pillow only where a sheet is drawn

    return _saved(path, contact_sheet([(pair.name, pair.before, pair.after) for pair in pairs]))


def _saved(path: Path, data: bytes) -> bool:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        _say(f"{path}: could not be written: {error.strerror}", error=True)
        return False
    return True
