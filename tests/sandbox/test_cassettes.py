"""The recordings of the proof pairs: each names its origin and has a refusal and an answer."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import vcr
import yaml

from tests.sandbox.doors import DOORS, FILE, PROXY, is_here
from tests.sandbox.proof_pairs import PAIRS, THROUGH_LITELLM
from tests.sandbox.reactions import REACTIONS
from tests.scale import nightly

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.sandbox import Sandbox

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
FOLDER = Path(__file__).resolve().parents[2] / "cassettes"
FILES = sorted(FOLDER.rglob("*.yaml"))
FAULTS = {
    **PAIRS,
    **{f"litellm/{provider}": faults for provider, faults in THROUGH_LITELLM.items()},
    **{folder: [name for at, name in REACTIONS if at == folder] for folder, _ in REACTIONS},
    **{folder: [FILE] for folder in (*DOORS, PROXY)},
}


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    """Create one client for all requests, because each new one reads the system's certificates."""
    with httpx.Client() as client:
        yield client


def test_every_pair_has_a_recording_and_no_other_exists() -> None:
    recorded = {(path.parent.relative_to(FOLDER).as_posix(), path.stem) for path in FILES}
    assert recorded == {(folder, fault) for folder, faults in FAULTS.items() for fault in faults}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_a_recording_has_its_origin_a_refusal_an_answer_and_no_credentials(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# Recorded against ")
    first, second = (
        int(code) for code in re.findall(r"^      code: (\d+)", text, flags=re.MULTILINE)
    )
    assert first >= 400
    assert second == 200
    assert not re.search("authorization|api-key|127.0.0.1", text, flags=re.IGNORECASE)


@pytest.mark.parametrize("folder", FAULTS)
def test_the_sandbox_answers_as_recorded(
    folder: str, sandbox: Sandbox, client: httpx.Client
) -> None:
    differs = []
    for path in sorted((FOLDER / folder).glob("*.yaml")):
        for recorded in yaml.load(path.read_text(encoding="utf-8"), LOADER)["interactions"]:  # noqa: S506 - a safe loader
            got = _sent(sandbox, client, recorded["request"])
            expected = recorded["response"]
            rule = expected["headers"].get("x-sandbox-rule", [got.headers.get("x-sandbox-rule")])[0]
            if (got.status_code, got.headers.get("x-sandbox-rule")) != (
                expected["status"]["code"],
                rule,
            ):
                differs.append((path.name, got.status_code, got.headers.get("x-sandbox-rule")))
    assert differs == []


@pytest.mark.parametrize(("folder", "name"), REACTIONS)
def test_a_framework_reacts_as_recorded(folder: str, name: str) -> None:
    """It sends the recorded requests, the refused one and the repaired one, and nothing else."""
    recorder = vcr.VCR(record_mode="none", match_on=["method", "uri", "body"])
    with recorder.use_cassette(str(FOLDER / folder / f"{name}.yaml")) as cassette:
        REACTIONS[folder, name][1]("http://sandbox")
        assert cassette.all_played


@pytest.mark.parametrize("folder", DOORS)
def test_a_door_sends_the_recorded_requests_without_and_with_chatmend(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_here(folder):
        pytest.skip("this SDK is in the environment of make doors")
    monkeypatch.setenv("CHATMEND_HOSTS", "")  # restored afterwards
    recorder = vcr.VCR(record_mode="none", match_on=["method", "uri", "body"])
    with recorder.use_cassette(str(FOLDER / folder / f"{FILE}.yaml")) as cassette:
        DOORS[folder]("http://sandbox")
        assert cassette.all_played


@nightly
def test_the_proxy_sends_the_recorded_requests() -> None:
    """In another process, because the proxy keeps its configuration for the life of a process."""
    pytest.importorskip("litellm.proxy.proxy_cli")
    command = [sys.executable, "-m", "tests.sandbox.proxy_door", "replay"]
    done = subprocess.run(command, cwd=FOLDER.parent, capture_output=True, text=True, check=False)  # noqa: S603 - our own module
    assert done.returncode == 0, done.stdout + done.stderr


def _sent(sandbox: Sandbox, client: httpx.Client, request: dict[str, Any]) -> httpx.Response:
    headers = {"content-type": "application/json", "authorization": "Bearer k"}
    url = sandbox.url(request["uri"].removeprefix("http://sandbox/"))
    return client.post(url, content=request["body"], headers=headers)
