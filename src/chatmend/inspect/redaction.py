"""Replaces the content of a conversation by its length, for reports that anybody may read."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from chatmend.report import line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chatmend.changes import Change

_KEPT = frozenset(
    {"role", "type", "detail", "media_type", "mimeType", "mime_type", "format", "status"}
    | {"stop_reason", "finish_reason", "object", "ttl", "model", "modelId", "effort"}
)
"""Keys whose values are words of a wire format."""
_PLAIN = re.compile(r"[A-Za-z0-9_./:+-]{1,80}")
_IDS = frozenset({"id", "tool_call_id", "tool_use_id", "call_id", "toolUseId"})
_CALLER_OBJECTS = frozenset(
    {"arguments", "input", "args", "parameters", "input_schema", "metadata", "properties"}
    | {"json", "response", "json_schema", "schema", "parametersJsonSchema"}
)
"""Keys whose values have keys that the caller chose, unless they hold a list of messages."""
_KEY = re.compile(r"[A-Za-z][A-Za-z_]{0,39}")
_DEEPEST = 60


@dataclass(slots=True)
class _Redaction:
    ids: dict[str, int] = field(default_factory=dict)

    def of(self, value: object, key: str = "", depth: int = 0) -> object:
        if isinstance(value, str):
            return self._text(value, key)
        if depth > _DEEPEST:
            return "…"
        if isinstance(value, list):
            return [self.of(item, key, depth + 1) for item in value]
        if not isinstance(value, dict):
            return value if value is None or isinstance(value, bool) else self._number(value, key)
        if key in _CALLER_OBJECTS:
            return f"<object, {len(json.dumps(value, default=str))} characters>"
        return {
            name if _KEY.fullmatch(name) else f"<key, {len(name)} characters>": self.of(
                item, "" if name == "input" and _is_list_of_items(item) else name, depth + 1
            )
            for name, item in value.items()
        }

    def _text(self, text: str, key: str) -> str:
        if key in _KEPT and _PLAIN.fullmatch(text):
            return text
        if key in _IDS and text:
            number = self.ids.setdefault(text, len(self.ids) + 1)
            return f"<id {number}, {len(text)} characters>"
        if not text.strip():
            return text
        return f"<{len(text)} characters>"

    @staticmethod
    def _number(value: object, key: str) -> object:
        return value if key not in _CALLER_OBJECTS else "<number>"


def _is_list_of_items(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict) for item in value)


def redacted(conversation: object) -> Any:  # noqa: ANN401 - JSON of the same shape
    """Return a conversation with texts, arguments and unknown words replaced by their lengths."""
    return _Redaction().of(conversation)


def redacted_report(
    conversation: object, target: str, changes: Iterable[Change], pages: Iterable[str]
) -> str:
    """Return a report for an issue in Markdown, without content of the conversation.

    Args:
        conversation: the messages or the request body.
        target: the name of the target.
        changes: what the repair changes.
        pages: the rules or topics that the error text belongs to.
    """
    listed = [f"- {line(change)}" for change in changes] or ["- nothing to repair"]
    told = ", ".join(pages)
    shape = json.dumps(redacted(conversation), indent=1, ensure_ascii=False)
    return "\n".join(
        [
            f"chatmend {version('chatmend')}, target `{target}`",
            *([f"The error text belongs to: {told}"] if told else []),
            "",
            *listed,
            "",
            "The request, with texts replaced by their lengths:",
            "",
            "```json",
            shape,
            "```",
            "",
        ]
    )
