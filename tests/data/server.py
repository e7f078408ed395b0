"""A PostgreSQL server from the system's packages, with the tables of LiteLLM's proxy."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

_BINARIES = "/usr/lib/postgresql/*/bin/initdb"
"""Where Debian and Ubuntu install the server; it is not in the PATH."""
_USER = "postgres"


def _find_binaries() -> Path:
    found = sorted(Path("/").glob(_BINARIES.lstrip("/")))
    if found:
        return found[-1].parent
    if (initdb := shutil.which("initdb")) is not None:
        return Path(initdb).resolve().parent
    pytest.skip("PostgreSQL's server is not installed: apt-get install postgresql")


def _as_server_user(words: list[str]) -> None:
    """Run a program of the server, which refuses to run as root."""
    owner: dict[str, Any] = {}
    if os.geteuid() == 0:
        owner = {"user": _USER, "group": _USER, "extra_groups": []}
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd="/", **owner)  # noqa: S603 - the server's programs
    assert done.returncode == 0, done.stdout + done.stderr


@contextmanager
def running_server() -> Iterator[str]:
    """Start a server on a socket in a new directory; yields its address."""
    binaries = _find_binaries()
    folder = Path(tempfile.mkdtemp(prefix="chatmend-postgres-"))
    data = folder / "data"
    if os.geteuid() == 0:
        owner = pwd.getpwnam(_USER)
        os.chown(folder, owner.pw_uid, owner.pw_gid)
    try:
        options = ["--auth=trust", f"--username={_USER}", "--no-sync", "--encoding=UTF8"]
        _as_server_user([str(binaries / "initdb"), f"--pgdata={data}", *options])
        control = [str(binaries / "pg_ctl"), f"--pgdata={data}", "-w"]
        server = f"-F -c listen_addresses='' -k {folder}"
        _as_server_user([*control, f"--log={folder / 'log'}", "-o", server, "start"])
        try:
            yield f"postgresql://{_USER}@localhost/postgres?host={folder}"
        finally:
            _as_server_user([*control, "-m", "immediate", "stop"])
    finally:
        shutil.rmtree(folder)


def create_tables(address: str) -> None:
    """Create the tables of LiteLLM's proxy with its own migrations."""
    spec = find_spec("litellm_proxy_extras")
    if spec is None or spec.origin is None:
        pytest.skip("litellm-proxy-extras is not installed")
    migrations = sorted((Path(spec.origin).parent / "migrations").glob("*/migration.sql"))
    with psycopg.connect(address, autocommit=True) as connection:
        for migration in migrations:
            try:
                connection.execute(migration.read_text("utf-8").encode())
            except psycopg.Error as error:  # Prisma splits these into statements
                raise AssertionError(migration.parent.name) from error
