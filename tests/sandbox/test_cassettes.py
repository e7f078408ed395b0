"""The proof pairs: each file says what it was recorded against, holds a refusal and an answer, and no credential."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import yaml

from tests.sandbox.proof_pairs import PAIRS, THROUGH_LITELLM

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.sandbox import Sandbox

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
FOLDER = Path(__file__).resolve().parents[2] / "cassettes"
FILES = sorted(FOLDER.rglob("*.yaml"))
PLACES = {**PAIRS, **{f"litellm/{provider}": faults for provider, faults in THROUGH_LITELLM.items()}}


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    """One client for all requests: each new one reads the machine's certificates."""
    with httpx.Client() as client:
        yield client


def test_every_pair_was_recorded_and_nothing_else() -> None:
    recorded = {(path.parent.relative_to(FOLDER).as_posix(), path.stem) for path in FILES}
    assert recorded == {(place, fault) for place, faults in PLACES.items() for fault in faults}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_a_file_tells_its_origin_and_holds_a_refusal_and_an_answer(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# Recorded against ")
    first, second = (int(code) for code in re.findall(r"^      code: (\d+)", text, flags=re.MULTILINE))
    assert first >= 400
    assert second == 200
    assert not re.search("authorization|api-key|127.0.0.1", text, flags=re.IGNORECASE)


@pytest.mark.parametrize("place", PLACES)
def test_the_sandbox_still_answers_what_was_recorded(place: str, sandbox: Sandbox, client: httpx.Client) -> None:
    differs = []
    for path in sorted((FOLDER / place).glob("*.yaml")):
        for recorded in yaml.load(path.read_text(encoding="utf-8"), LOADER)["interactions"]:  # noqa: S506 - a safe loader
            got = _sent(sandbox, client, recorded["request"])
            wanted = recorded["response"]
            rule = wanted["headers"].get("x-sandbox-rule", [got.headers.get("x-sandbox-rule")])[0]
            if (got.status_code, got.headers.get("x-sandbox-rule")) != (wanted["status"]["code"], rule):
                differs.append((path.name, got.status_code, got.headers.get("x-sandbox-rule")))
    assert differs == []


def _sent(sandbox: Sandbox, client: httpx.Client, request: dict[str, Any]) -> httpx.Response:
    headers = {"content-type": "application/json", "authorization": "Bearer k"}
    url = sandbox.url(request["uri"].removeprefix("http://sandbox/"))
    return client.post(url, content=request["body"], headers=headers)
