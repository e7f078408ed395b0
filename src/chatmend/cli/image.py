"""``chatmend image``: shows and writes the image files that a target would receive."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from chatmend import Effect, ImageError, Policy, recompress
from chatmend.cli.options import PolicyName, PolicySettings, TargetName, parse_policy, parse_target
from chatmend.cli.terminal import EXIT_ERROR, EXIT_FINDINGS, print_line
from chatmend.images import Probe, diagnose, probe_image, tokens
from chatmend.images.defects import Defect
from chatmend.images.payload import Payload

if TYPE_CHECKING:
    from chatmend.targets import Target

_EXTENSIONS = {"jpeg": ".jpg"}
_MAX_BYTES = 128 << 20
"""Size of the largest image file that is read."""


@dataclass(frozen=True, slots=True)
class _Pair:
    """An image file before and after recompression."""

    name: str
    before: bytes
    after: bytes
    """The same bytes if the policy does not allow the change."""
    is_left: bool = False
    """Whether the image needs a change that the policy does not allow."""


def image(  # noqa: PLR0913 - a command's options
    *,
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="Image files.", show_default=False)
    ],
    target: TargetName = "",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write the results to this directory, which is created if necessary. Without it "
            "nothing is written.",
        ),
    ] = None,
    sheet: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a contact sheet (PNG) that shows all images before and after.",
        ),
    ] = None,
    policy: PolicyName = None,
    settings: PolicySettings = None,
    native: Annotated[
        bool, typer.Option("--native", help="Short for --set images=native.")
    ] = False,
) -> None:
    """Recompress image files for a target; show their sizes, bytes and tokens before and after.

    Only the policy fields images, metadata, rules and allow have an effect. A tall page is scaled;
    only in a message it is cut into tiles.

    Exit status: 0 all images are acceptable, 1 the policy does not allow a necessary change, 2 a
    file could not be read or written or an argument is invalid.
    """
    parsed_target = parse_target(target)
    chosen = (
        parse_policy(policy, [*(settings or ()), *(["images=native"] if native else ())])
        or Policy()
    )
    pairs = [pair for path in files if (pair := _recompress_file(path, parsed_target, chosen))]
    errors = len(files) - len(pairs)
    errors += not _write_all(pairs, out) if out else 0
    if sheet and pairs and not _write_sheet(sheet, pairs):
        errors += 1
    raise typer.Exit(
        EXIT_ERROR if errors else EXIT_FINDINGS if any(pair.is_left for pair in pairs) else 0
    )


def _print_error(text: str) -> None:
    print_line(Console(stderr=True), text, "red")


def _recompress_file(path: Path, target: Target, policy: Policy) -> _Pair | None:
    limits = target.hygiene if policy.rules == "hygiene" else target.limits
    adjusted = replace(target, limits=policy.apply(limits))
    try:
        if path.stat().st_size > _MAX_BYTES:
            _print_error(f"{path}: larger than the limit of {_MAX_BYTES >> 20} MiB")
            return None
        before = path.read_bytes()
        after = recompress(before, adjusted)
    except OSError as error:
        _print_error(f"{path}: could not be read: {error.strerror}")
        return None
    except ImageError as error:
        _print_error(f"{path}: {error}")
        return None
    old, new = probe_image(before), probe_image(after)
    was = f"{path}: {old.description}{_describe_tokens(old, target)}"
    becomes = (
        "unchanged"
        if after is before
        else f"becomes {new.description}{_describe_tokens(new, target)}"
    )
    if is_left := after is not before and policy.allow < Effect.DEGRADES:
        becomes = "left unchanged: the policy does not allow this change"
    print_line(Console(), f"{was}; {becomes}{_describe_tiles(before, old, adjusted)}")
    return _Pair(path.name, before, before if is_left else after, is_left)


def _describe_tiles(data: bytes, probe: Probe, target: Target) -> str:
    """Return a hint if ``repair`` would cut the image into tiles."""
    defect = diagnose(probe, target.limits.images, Payload(data).text_size)
    return "; in a message, repair cuts it into tiles" if defect is Defect.ILLEGIBLE else ""


def _describe_tokens(probe: Probe, target: Target) -> str:
    count = tokens(target.limits.images, probe.display_size) if probe.width else None
    return "" if count is None else f", about {count} tokens"


def _write_all(pairs: list[_Pair], out: Path) -> bool:
    """Write the results into a directory under their names; return whether all were written."""
    names: set[str] = set()
    for pair in pairs:
        kind = probe_image(pair.after).type
        suffix = (
            Path(pair.name).suffix
            if pair.after is pair.before
            else _EXTENSIONS.get(kind, f".{kind}")
        )
        name = f"{Path(pair.name).stem}{suffix}"
        if name in names:
            _print_error(f"{out / name}: two files would have this name; the second is not written")
            return False
        names.add(name)
        if not _write(out / name, pair.after):
            return False
        print_line(Console(), f"written: {out / name}")
    return True


def _write_sheet(path: Path, pairs: list[_Pair]) -> bool:
    # Only contact sheets need the drawing modules of Pillow.
    from chatmend.cli.contact_sheet import contact_sheet  # noqa: PLC0415

    return _write(path, contact_sheet([(pair.name, pair.before, pair.after) for pair in pairs]))


def _write(path: Path, data: bytes) -> bool:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        _print_error(f"{path}: could not be written: {error.strerror}")
        return False
    return True
