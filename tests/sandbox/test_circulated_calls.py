"""The sandbox refuses calls of tools that Google runs for models before Gemini 3."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import chatmend
from tests.sandbox.posting import post

if TYPE_CHECKING:
    from chatmend.sandbox import Sandbox

CALL = {"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "id": "a", "args": {"queries": ["Rome"]}}}
BODY: dict[str, Any] = {
    "contents": [
        {"role": "user", "parts": [{"text": "q"}]},
        {"role": "model", "parts": [CALL, {"text": "18 degrees"}]},
        {"role": "user", "parts": [{"text": "n"}]},
    ]
}


def test_only_older_models_refuse_them(sandbox: Sandbox) -> None:
    def answer(model: str, body: dict[str, Any]) -> Any:
        url = sandbox.url(f"gemini/v1beta/models/{model}:generateContent")
        return post(url, json=body)

    refused = answer("gemini-2.5-flash", BODY)
    assert refused.status_code == 400
    assert refused.json()["error"]["message"] == (
        "Tool call context circulation is not enabled for models/gemini-2.5-flash"
    )
    assert answer("gemini-3-flash-preview", BODY).status_code == 200
    repaired = chatmend.repair_request(BODY, "gemini/gemini-2.5-flash").body
    assert answer("gemini-2.5-flash", repaired).status_code == 200
