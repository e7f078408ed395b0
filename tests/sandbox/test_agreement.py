"""A finding of the repair and a refusal of the sandbox go together, for every proof pair.

Both describe the providers in tables of their own, and neither is made from the other.
"""

from __future__ import annotations

import base64
from typing import Any

import pytest

import chatmend
from tests.sandbox.proof_pairs import MODELS, PAIRS

DIALECTS = {
    "openai-responses": "openai_responses",
    "anthropic": "anthropic_messages",
    "gemini": "gemini_contents",
    "bedrock": "bedrock_converse",
    "ollama_chat": "ollama_chat",
}
HOSTS = {"openai-responses": "openai", "ollama_chat": "ollama"}
NOT_IN_HISTORY = "a parameter of the request or a declared tool, which the caller sets"
LINK = "the image is a link, which chatmend neither fetches nor removes"
FORGED = "only the provider can verify the signature"
WITHOUT_FINDING = {
    **dict.fromkeys(
        [
            *((host, "bad-tool-name") for host in ("openai", "azure", "mistral", "deepseek")),
            *((host, "bad-tool-name") for host in ("moonshot", "gemini")),
            *((host, "tool-choice-without-tools") for host in ("openai", "azure", "xai")),
            ("openai-responses", "no-input"),
            ("anthropic", "container-missing"), ("anthropic", "container-shape"),
        ],
        NOT_IN_HISTORY,
    ),
    ("ollama", "refused-image"): LINK,
    **dict.fromkeys([("openai-responses", "forged-reasoning"), ("anthropic", "forged-thinking"), ("gemini", "forged-thought-signature")], FORGED),
}  # fmt: skip
"""Refused requests that chatmend does not change, with the reason."""
IDS = "an id of a reasoning model's item goes if its reasoning is missing: reported, and not always"
FOUND = {
    **dict.fromkeys(
        [
            *(("openai-responses", name) for name in ("orphan-tool-result", "unanswered-tool-call")),
            *(("openai-responses", name) for name in ("invalid-item-id", "long-call-id")),
            *(("openai-responses", name) for name in ("unknown-item", "forged-reasoning")),
        ],
        IDS,
    ),
    ("xai", "null-content"): "an empty text without calls: reported as refused",
    ("mistral", "too-many-images"): "the table knows no vision of this model",
    ("gemini", "unknown-role"): "a conversation that begins with the model: reported as refused",
}  # fmt: skip
"""Accepted requests that chatmend changes, with the reason."""
CASES = [(provider, name) for provider, faults in PAIRS.items() for name in faults]


def changes(provider: str, body: dict[str, Any]) -> tuple[chatmend.Change, ...]:
    """The changes of a body, which holds the arguments of an SDK."""
    model = body.get("modelId", body.get("model", MODELS[provider]))
    given = {key: value for key, value in body.items() if key not in ("modelId", "config")}
    target = f"{HOSTS.get(provider, provider)}/{model}"
    dialect = DIALECTS.get(provider, "openai_chat")
    given = encoded(given) if provider == "gemini" else given
    return chatmend.repair_request(given, target, dialect=dialect).changes


def encoded(value: Any) -> Any:
    """A value with base64 text in place of bytes, as google-genai sends it."""
    if isinstance(value, dict):
        return {key: encoded(held) for key, held in value.items()}
    if isinstance(value, list):
        return [encoded(held) for held in value]
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


@pytest.mark.parametrize(("provider", "name"), CASES)
def test_what_the_sandbox_refuses_is_found(provider: str, name: str) -> None:
    found = changes(provider, PAIRS[provider][name][0])
    assert bool(found) is ((provider, name) not in WITHOUT_FINDING), found


@pytest.mark.parametrize(("provider", "name"), CASES)
def test_what_the_sandbox_accepts_stays_unchanged(provider: str, name: str) -> None:
    found = changes(provider, PAIRS[provider][name][1])
    assert bool(found) is ((provider, name) in FOUND), found
