"""Keys that client libraries and other providers add to texts and images are removed where they are refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

import chatmend
from chatmend import Effect
from tests.promises import broken_promises

STRICT = ["mistral/mistral-large-latest", "groq/meta-llama/llama-4-scout-17b-16e-instruct"]
PIXEL = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def _part(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, **more}


def _history(*, added: bool) -> list[dict[str, Any]]:
    """Return a history as LangChain and a streamed answer of Claude leave it; or without the added keys."""

    def more(**keys: Any) -> dict[str, Any]:
        return keys if added else {}

    call = {"id": "aaaaaaaaa", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    image = {"type": "image_url", "image_url": {"url": PIXEL}}
    return [
        {"role": "system", "content": [_part("be", **more(cache_control={"type": "ephemeral"}))]},
        {
            "role": "user",
            "content": [_part("look", **more(id="lc_1")), {**image, **more(id="lc_2")}],
        },
        {
            "role": "assistant",
            "content": [_part("I look.", **more(index=0, annotations=[]))],
            "tool_calls": [call],
        },
        {"role": "tool", "tool_call_id": "aaaaaaaaa", "content": [_part("18", **more(id="lc_3"))]},
    ]


@pytest.mark.parametrize("target", [*STRICT, "fireworks_ai/kimi-k2p6", "openai/gpt-4o"])
def test_texts_without_such_keys_are_unchanged(target: str) -> None:
    messages = _history(added=False)
    messages[-1]["content"] = "18"
    assert chatmend.repair(messages, target).messages is messages


@pytest.mark.parametrize("target", STRICT)
def test_the_keys_are_removed_and_no_content(target: str) -> None:
    done = chatmend.repair(_history(added=True), target)
    sent = json.dumps(done.messages)
    assert all(key not in sent for key in ("cache_control", "lc_", "index", "annotations"))
    assert all(text in sent for text in ("be", "look", "I look.", "18", PIXEL, "aaaaaaaaa"))
    assert all(change.effect < Effect.DROPS for change in done.changes)
    assert list(broken_promises(_history(added=True), target, "openai_chat")) == []


def test_a_text_under_such_a_key_is_reported() -> None:
    cited = _part("18 degrees", citations=[{"cited_text": "It was 18 degrees in Oslo."}])
    messages = [{"role": "user", "content": "q"}, {"role": "assistant", "content": [cited]}]
    done = chatmend.repair([*messages, {"role": "user", "content": "r"}], STRICT[0])
    assert done.messages[1]["content"] == [_part("18 degrees")]
    assert [change.effect for change in done.changes] == [Effect.DROPS]


@pytest.mark.parametrize("target", ["openai/gpt-4o", "openai_compatible/some-model"])
def test_keys_that_a_provider_accepts_stay(target: str) -> None:
    """Recorded: OpenAI accepts texts with unknown keys."""
    messages = _history(added=True)[1:]
    messages[-1]["content"] = "18"
    assert chatmend.repair(messages, target).messages is messages
