"""Runs one target with libFuzzer.

    python -m tests.fuzz_bytes TARGET [libFuzzer's options] [FILE]
    python -m tests.fuzz_bytes --list
    python -m tests.fuzz_bytes --seeds DIRECTORY

Inputs that reach new code are kept in build/fuzz/TARGET, where the next run goes on. With a file, only that file is tried.
"""

from __future__ import annotations

import sys
from hashlib import sha256
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["chatmend"]):
    from tests.fuzz_bytes import files, texts, values
    from tests.fuzz_bytes.mutator import mutate_json, parsed

TARGETS = {target.name: target for target in (*files.TARGETS, *texts.TARGETS, *values.TARGETS)}
KEPT = Path("build/fuzz")


def write_seeds(name: str, folder: Path) -> None:
    """Write the seeds of a target; equal ones are written once."""
    folder.mkdir(parents=True, exist_ok=True)
    for seed in TARGETS[name].seeds():
        (folder / sha256(seed).hexdigest()[:16]).write_bytes(seed)


def fuzz(name: str, options: list[str]) -> None:
    """Run libFuzzer; does not return."""
    target = TARGETS[name]
    if not any(Path(option).exists() for option in options):
        write_seeds(name, KEPT / name)
        options = [*options, str(KEPT / name)]
    arguments = [sys.argv[0], "-rss_limit_mb=2048", "-timeout=20", *options]
    if not target.is_json:
        atheris.Setup(arguments, target.examine)
    else:
        atheris.Setup(
            arguments, lambda data: target.examine(_as_json(data)), custom_mutator=mutate_json
        )
    atheris.Fuzz()


def _as_json(data: bytes) -> bytes:
    """An input that is no JSON counts as an empty list: libFuzzer tries a few of its own."""
    return data if parsed(data) is not None else b"[]"


def main() -> None:
    """Read the command line."""
    name, *options = sys.argv[1:] or ["--help"]
    if name in TARGETS:
        fuzz(name, options)
    elif name == "--list":
        print(*TARGETS, sep="\n")
    elif name == "--seeds" and options:
        for target in TARGETS:
            write_seeds(target, Path(options[0]) / target)
    else:
        sys.exit(f"{__doc__}\nTargets: {', '.join(TARGETS)}")


if __name__ == "__main__":
    main()
