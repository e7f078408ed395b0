"""Recorded requests of real providers, where they are at hand: ``$CHATMEND_CORPUS`` or ``../shared/corpus``."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import chatmend.dialects

ROOT = Path(
    os.environ.get("CHATMEND_CORPUS") or Path(__file__).resolve().parents[2] / "shared" / "corpus"
)
DIALECTS = {
    "openai_chat": "openai_chat",
    "mistral_chat": "openai_chat",
    "anthropic": "anthropic_messages",
    "openai_responses": "openai_responses",
    "gemini": "gemini_contents",
}
_PROVIDERS = {
    "google": "gemini",
    "vertex": "vertex_ai",
    "together": "together_ai",
    "bedrock-mantle": "bedrock_mantle",
}


CUT = ("r00605", "r01943")
"""Accepted requests whose images the recording cut short."""


def there(name: str) -> bool:
    """Whether the file of the corpus is here. For marks: they are evaluated whenever a test file is read."""
    return (ROOT / f"{name}.jsonl").exists()


def rows(name: str) -> list[dict[str, Any]]:
    """The rows of one corpus file; none where the corpus is absent."""
    if not there(name):
        return []
    with (ROOT / f"{name}.jsonl").open(encoding="utf-8") as lines:
        return [_whole(json.loads(line)) if PNG in line else json.loads(line) for line in lines]


PNG = "iVBORw0KGgo"
"""How a PNG begins in base64."""
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def _whole(value: Any) -> Any:
    """A row with a whole PNG where the corpus keeps the beginning of one."""
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    head, mark, data = value.rpartition(PNG) if isinstance(value, str) else ("", "", "")
    cut = len(data) < 64 or data.endswith("chars>")
    return head + PIXEL if mark and cut and len(head) < 64 else value


def spoken(name: str) -> list[dict[str, Any]]:
    """The rows in a format that has a dialect."""
    return [
        row
        for row in rows(name)
        if row["format"] in DIALECTS and isinstance(messages_of(row), list)
    ]


def messages_of(row: dict[str, Any]) -> Any:
    """The messages of a recorded body."""
    body: dict[str, Any] = row["body"]
    return body.get(chatmend.dialects.DIALECTS[DIALECTS[row["format"]]].TRAITS.messages_key)


def messages_in(body: dict[str, Any]) -> Any:
    """The messages of a body in any wire format; None if it has none."""
    return next((body[key] for key in ("messages", "input", "contents") if key in body), None)


def target_of(row: dict[str, Any]) -> str:
    """The provider and model that answered, as LiteLLM would name them."""
    invoke = "invoke/" if row.get("api") == "invoke" else ""
    return f"{_PROVIDERS.get(row['provider'], row['provider'])}/{invoke}{row['model']}"
