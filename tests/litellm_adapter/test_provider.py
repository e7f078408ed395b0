"""The guardrail provider in contrib/litellm works in a copy of the installed LiteLLM."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("fastapi", reason="the dependencies of the proxy are not installed")

import litellm

from tests.litellm_adapter.proxy import ROOT, Proxy
from tests.litellm_adapter.transcripts import CHAT_TOOLS, chat
from tests.scale import nightly

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.showpiece

CONTRIB = ROOT / "contrib/litellm"
INTEGRATIONS = Path("types/guardrails.py")
CLASS = "class SupportedGuardrailIntegrations(Enum):\n"


def link(installed: Path, folder: Path, changed: list[Path]) -> None:
    """Fill a folder with links to the entries of ``installed``.

    Folders to which Python writes or that will hold one of the ``changed`` files are copied.
    """
    folder.mkdir()
    for entry in installed.iterdir():
        new = folder / entry.name
        if entry.is_dir() and (
            entry.name == "__pycache__" or any(path.is_relative_to(new) for path in changed)
        ):
            link(entry, new, changed)
        else:
            new.symlink_to(entry)


@pytest.fixture(scope="module")
def patched(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a PYTHONPATH with LiteLLM and the provider in it; its other files are links."""
    folder = tmp_path_factory.mktemp("patched")
    package, installed = folder / "litellm", Path(litellm.__file__).parent
    added = {
        file.relative_to(CONTRIB / "litellm"): file.read_bytes()
        for file in (CONTRIB / "litellm").rglob("*.py")
    }
    link(installed, package, [package / path for path in (*added, INTEGRATIONS)])
    for path, data in added.items():
        (package / path).parent.mkdir(parents=True, exist_ok=True)
        (package / path).write_bytes(data)
    text = (installed / INTEGRATIONS).read_text("utf-8")
    assert text.count(CLASS) == 1
    (package / INTEGRATIONS).unlink()
    line = '    CHATMEND = "chatmend"\n'
    assert line in (CONTRIB / "README.md").read_text("utf-8")
    (package / INTEGRATIONS).write_text(text.replace(CLASS, CLASS + line), "utf-8")
    return os.pathsep.join([str(folder), str(ROOT)])


@pytest.fixture(scope="module")
def provided(
    sandbox_server: Any, patched: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxy]:
    params = {
        "guardrail": "chatmend",
        "mode": "pre_call",
        "default_on": True,
        "chatmend": {"deny": ["guarded"]},
    }
    with Proxy(
        sandbox_server,
        tmp_path_factory.mktemp("provided"),
        {"PYTHONPATH": patched},
        litellm_settings={},
        guardrails=[{"guardrail_name": "mend", "litellm_params": params}],
    ) as found:
        yield found


@pytest.mark.parametrize(("model", "status"), [("oai", 200), ("ant", 200), ("guarded", 400)])
def test_requests_are_repaired_by_the_provider_as_configured(
    provided: Proxy, sandbox: Any, model: str, status: int
) -> None:
    body = {"model": model, "messages": chat(), "tools": CHAT_TOOLS}
    answer = provided.post("/v1/chat/completions", body)
    assert answer.status_code == status, answer.text
    assert answer.headers.get("x-chatmend-changes") == ("TOOL007=1" if status == 200 else None)


def test_the_proxy_prints_its_options_at_start(provided: Proxy) -> None:
    log = provided.log.read_text()
    assert "chatmend guardrail " in log
    assert "mode repair, policy default, models all except guarded" in log


@nightly
def test_the_unit_tests_of_the_contribution_pass(patched: str) -> None:
    file = next((CONTRIB / "tests").rglob("test_*.py"))
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:warnings", "-o", "asyncio_mode=auto"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--noconftest", "-c", os.devnull, str(file)],
        env={**os.environ, "PYTHONPATH": patched},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 passed" in done.stdout
