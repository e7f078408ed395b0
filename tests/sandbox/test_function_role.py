"""The sandbox refuses the role ``function`` for the models of Gemini that refuse it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import chatmend
from tests.sandbox.posting import post

if TYPE_CHECKING:
    from chatmend.sandbox import Sandbox

CALL = {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "c2lnbmVkIGJ5IGdlbWluaQ=="}
BODY: dict[str, Any] = {
    "contents": [
        {"role": "user", "parts": [{"text": "a"}]},
        {"role": "model", "parts": [CALL]},
        {"role": "function", "parts": [{"functionResponse": {"name": "f", "response": {"r": 1}}}]},
    ],
    "tools": [{"functionDeclarations": [{"name": "f"}]}],
}


def answer(sandbox: Sandbox, model: str, body: dict[str, Any]) -> Any:
    return post(sandbox.url(f"gemini/v1beta/models/{model}:generateContent"), json=body)


@pytest.mark.parametrize("model", ["gemini-2.5-flash", "gemini-3.1-pro-preview"])
def test_older_models_accept_the_role(sandbox: Sandbox, model: str) -> None:
    assert answer(sandbox, model, BODY).status_code == 200


@pytest.mark.parametrize("model", ["gemini-3.5-flash", "gemini-3.6-flash", "gemini-flash-latest"])
def test_newer_models_refuse_it_and_accept_the_repair(sandbox: Sandbox, model: str) -> None:
    refused = answer(sandbox, model, BODY)
    assert refused.status_code == 400
    assert "Role 'function' is not supported" in refused.json()["error"]["message"]
    repaired = chatmend.repair_request(BODY, f"gemini/{model}").body
    assert answer(sandbox, model, repaired).status_code == 200
