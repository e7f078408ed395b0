"""``chatmend image``: shows what a target would be given for image files, and writes it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from chatmend import Effect, ImageError, Policy, recompress
from chatmend.cli.options import PolicyName, PolicySettings, TargetName, policy_given, target_named
from chatmend.cli.terminal import FAULT, FOUND, say
from chatmend.images import Probe, probe_image, tokens

if TYPE_CHECKING:
    from chatmend.targets import Target

_EXTENSIONS = {"jpeg": ".jpg"}
_LARGEST = 128 << 20


@dataclass(frozen=True, slots=True)
class _Pair:
    """A file before and after."""

    name: str
    before: bytes
    after: bytes
    """The same as before where the policy permits no change."""
    is_left: bool = False
    """Whether something is wrong with it that the policy does not permit to repair."""


def image(  # noqa: PLR0913 - a command's options
    *,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Image files.", show_default=False)],
    target: TargetName = "",
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where the results go; made if missing. Without it nothing is written."),
    ] = None,
    sheet: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw a contact sheet of all files, before and after.")
    ] = None,
    policy: PolicyName = None,
    settings: PolicySettings = None,
    native: Annotated[bool, typer.Option("--native", help="The same as --set images=native.")] = False,
) -> None:
    """Show what becomes of images for a target: size, bytes, tokens; and write the results.

    Of a policy its fields images, rules and allow count.

    Exit status: 0 all are fit to be sent, 1 the policy leaves one as it is, 2 one could not be read or saved, or the
    target is unknown.
    """
    meant = target_named(target)
    chosen = policy_given(policy, [*(settings or ()), *(["images=native"] if native else ())]) or Policy()
    pairs = [pair for path in files if (pair := _recompressed(path, meant, chosen))]
    faults = len(files) - len(pairs)
    faults += not _written(pairs, out) if out else 0
    if sheet and pairs and not _drawn(sheet, pairs):
        faults += 1
    raise typer.Exit(FAULT if faults else FOUND if any(pair.is_left for pair in pairs) else 0)


def _fault(text: str) -> None:
    say(Console(stderr=True), text, "red")


def _recompressed(path: Path, target: Target, policy: Policy) -> _Pair | None:
    limits = target.hygiene if policy.rules == "hygiene" else target.limits
    judged = replace(target, limits=policy.apply(limits))
    try:
        if path.stat().st_size > _LARGEST:
            _fault(f"{path}: larger than {_LARGEST >> 20} MiB")
            return None
        before = path.read_bytes()
        after = recompress(before, judged)
    except OSError as error:
        _fault(f"{path}: could not be read: {error.strerror}")
        return None
    except ImageError as error:
        _fault(f"{path}: {error}")
        return None
    old, new = probe_image(before), probe_image(after)
    was = f"{path}: {old.described}{_cost(old, target)}"
    becomes = "stays as it is" if after is before else f"becomes {new.described}{_cost(new, target)}"
    if is_left := after is not before and policy.allow < Effect.DEGRADES:
        becomes = "is left as it is: the policy permits no such change"
    say(Console(), f"{was}; {becomes}")
    return _Pair(path.name, before, before if is_left else after, is_left)


def _cost(probe: Probe, target: Target) -> str:
    count = tokens(target.limits.images, probe.shown) if probe.width else None
    return "" if count is None else f", about {count} tokens"


def _written(pairs: list[_Pair], out: Path) -> bool:
    """Write the results into a directory, each under its own name; whether all went well."""
    names: set[str] = set()
    for pair in pairs:
        kind = probe_image(pair.after).type
        suffix = Path(pair.name).suffix if pair.after is pair.before else _EXTENSIONS.get(kind, f".{kind}")
        name = f"{Path(pair.name).stem}{suffix}"
        if name in names:
            _fault(f"{out / name}: two files would have this name; the second is not written")
            return False
        names.add(name)
        if not _saved(out / name, pair.after):
            return False
        say(Console(), f"written: {out / name}")
    return True


def _drawn(path: Path, pairs: list[_Pair]) -> bool:
    from chatmend.cli.contact_sheet import contact_sheet  # noqa: PLC0415 - Pillow only where a sheet is drawn

    return _saved(path, contact_sheet([(pair.name, pair.before, pair.after) for pair in pairs]))


def _saved(path: Path, data: bytes) -> bool:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        _fault(f"{path}: could not be written: {error.strerror}")
        return False
    return True
