"""``python -m tests.release DIST``: a release to an index on this machine.

It uploads the files to an index, installs chatmend from there into an empty environment, and runs
``chatmend --version`` and the demo with it. The program ends with status 1 at the first failure.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]


def run(*words: object, **variables: str) -> None:
    """Run a command and print it."""
    command = [str(word) for word in words]
    print("$", " ".join(command).replace(f"{ROOT}/", ""), flush=True)
    subprocess.run(command, check=True, env={**os.environ, **variables})  # noqa: S603


@contextmanager
def index(folder: Path) -> Iterator[str]:
    """Serve an empty index of packages on this machine."""
    port = free_port()
    words = ["run", "--host", "127.0.0.1", "--port", str(port), "-P", ".", "-a", ".", str(folder)]
    command = [sys.executable, "-m", "pypiserver", *words]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as server:  # noqa: S603
        address = f"http://127.0.0.1:{port}"
        try:
            for _ in range(200):
                try:
                    urllib.request.urlopen(f"{address}/simple/").close()  # noqa: S310
                    break
                except OSError:
                    time.sleep(0.1)
            yield address
        finally:
            server.terminate()


def main() -> None:
    """Make the release."""
    dist = [path for path in sorted(Path(sys.argv[1]).iterdir()) if path.suffix in (".whl", ".gz")]
    with tempfile.TemporaryDirectory() as name:
        folder, packages = Path(name), Path(name) / "packages"
        packages.mkdir()
        with index(packages) as address:
            twine = [sys.executable, "-m", "twine", "upload", "--disable-progress-bar"]
            run(*twine, "--repository-url", address, "-u", "a", "-p", "a", *dist)
            for file in dist:
                same = hashlib.sha256((packages / file.name).read_bytes()).digest()
                assert same == hashlib.sha256(file.read_bytes()).digest(), file.name
            environment = folder / "environment"
            run(sys.executable, "-m", "venv", environment)
            python = environment / "bin" / "python"
            install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            run(
                *install,
                "--no-deps",
                "--no-index",
                "--find-links",
                f"{address}/simple/chatmend/",
                "chatmend",
            )
            run(
                *install,
                "-c",
                ROOT / "constraints.txt",
                "--extra-index-url",
                f"{address}/simple/",
                "chatmend[demo]",
            )
            run(environment / "bin" / "chatmend", "--version")
            examples = folder / "examples"
            shutil.copytree(ROOT / "examples", examples)
            os.chdir(folder)
            run(
                python,
                examples / "demo.py",
                PATH=f"{environment / 'bin'}{os.pathsep}{os.environ['PATH']}",
            )
    print("The release works.")


if __name__ == "__main__":
    main()
