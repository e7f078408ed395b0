"""LiteLLM's database mode: its client for PostgreSQL, with a query engine from npm.

    python -m tests.litellm_adapter.database

generates the client for LiteLLM's tables; the Makefile installs what it needs before.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_PRISMA = Path(__file__).with_name("prisma")
_ENGINE = _PRISMA / "engine.mjs"
_PACKAGES = Path(sys.prefix) / "database"
"""A LiteLLM whose tables are published, and its client."""
_SEARCHED = os.pathsep.join([str(_PACKAGES), str(ROOT)])
_ENGINES = {
    name: str(_ENGINE)
    for name in (
        "PRISMA_QUERY_ENGINE_BINARY",
        "PRISMA_QUERY_ENGINE_LIBRARY",
        "PRISMA_SCHEMA_ENGINE_BINARY",
    )
}
"""Nothing is downloaded where an engine is named; the client uses only the first."""


def environment(address: str) -> dict[str, str]:
    """Return the variables of a proxy that stores keys, teams and spend logs in a database."""
    if not (_PACKAGES / ".ready").exists():
        pytest.skip("LiteLLM's database client is not installed: make check installs it with npm")
    return {
        **_ENGINES,
        "DATABASE_URL": address,
        "DISABLE_SCHEMA_UPDATE": "true",
        "LITELLM_PRISMA_COMMAND_TIMEOUT": "1",  # its comparison of the tables would wait for a missing program
        "PYTHONPATH": _SEARCHED,
    }


def generate() -> None:
    """Write the client's modules for LiteLLM's tables."""
    path = os.pathsep.join([str(_PACKAGES / "bin"), os.environ["PATH"]])
    program = _PRISMA / "node_modules/.bin/prisma"
    schema = _PACKAGES / "litellm/proxy/schema.prisma"
    variables = {"PATH": path, "PYTHONPATH": _SEARCHED, "PRISMA_HIDE_UPDATE_MESSAGE": "1"}
    done = subprocess.run(
        [program, "generate", f"--schema={schema}"],
        env={**os.environ, **_ENGINES, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)


if __name__ == "__main__":
    generate()
