"""``python -m tests.package DIST``: looks at what a wheel and an sdist hold. Exit status 1 if something is amiss."""

from __future__ import annotations

import re
import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
STRAY = re.compile(r"(__pycache__|\.pyc$|\.ipynb_checkpoints|(^|/)_build/|\.env$|\.venv)")
EDITOR = "chatmend/inspect/static/codemirror.js"
EXPECTED = {
    "README.md",
    "CHANGELOG.md",
    "LICENSE",
    "SECURITY.md",
    "CONTRIBUTING.md",
    "Makefile",
    "constraints.txt",
}


def main() -> int:
    """Print what is amiss."""
    dist = Path(sys.argv[1])
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as flat, tarfile.open(sdist) as packed:
        amiss = [*in_wheel(flat.namelist()), *in_sdist(packed.getnames())]
    for line in amiss:
        print(line)
    print(
        f"{wheel.name}: {wheel.stat().st_size // 1000:,} KB; {sdist.name}: {sdist.stat().st_size // 1000:,} KB"
    )
    return 1 if amiss else 0


def in_wheel(names: list[str]) -> list[str]:
    """A wheel holds every file of the package, its metadata, and nothing else."""
    source = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src").rglob("*")
        if path.is_file()
    }
    wanted = {name for name in source if not STRAY.search(name)}
    held = {name for name in names if ".dist-info/" not in name}
    licences = [name for name in names if name.endswith("licenses/LICENSE")]
    return [
        *(f"not in the wheel: {name}" for name in sorted(wanted - held)),
        *(f"should not be in the wheel: {name}" for name in sorted(held - wanted)),
        *(
            []
            if EDITOR in held
            else ["the editor of the inspector is not in the wheel; run 'make inspector'"]
        ),
        *([] if licences else ["the wheel has no licence"]),
    ]


def in_sdist(names: list[str]) -> list[str]:
    """An sdist holds what the tests need, and nothing that was built."""
    held = {
        PurePosixPath(name).relative_to(PurePosixPath(name).parts[0]).as_posix() for name in names
    }
    return [
        *(f"not in the sdist: {name}" for name in sorted(EXPECTED - held)),
        *(f"should not be in the sdist: {name}" for name in sorted(held) if STRAY.search(name)),
    ]


if __name__ == "__main__":
    sys.exit(main())
