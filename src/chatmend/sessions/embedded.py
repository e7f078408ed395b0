"""Finds the conversation in stored JSON: LangChain dumps, and logs that contain requests."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chatmend.sessions.langchain_dumps import from_native, is_dump, to_native

if TYPE_CHECKING:
    from collections.abc import Callable

_ENVELOPES = (
    "body",
    "request",
    "params",
    "kwargs",
    "input",
    "payload",
    "data",
    "json",
    "requestBody",
    "request_body",
)
"""The keys under which logs store a request.

OpenAI batches use ``body``, Anthropic batches ``params``; the others occur in gateways and HTTP
logs.
"""
_MAX_DEPTH = 4


@dataclass(frozen=True, slots=True)
class EmbeddedConversation:
    """A conversation inside a JSON value, as input for ``repair`` or ``repair_request``."""

    conversation: list[Any] | dict[str, Any]
    replace: Callable[[Any], Any]
    """Returns the whole value with another conversation; all other parts are the same objects."""


def find_conversation(value: object, depth: int = 0) -> EmbeddedConversation | None:
    """Return the conversation in a LangChain dump or in the log of a request.

    None for all other values, including requests that are not embedded in a log.
    """
    if is_dump(value) and isinstance(value, list):
        return _in_dump(value)
    if not isinstance(value, dict) or depth > _MAX_DEPTH:
        return None
    if isinstance(value.get("messages"), list):
        inner = find_conversation(value["messages"])
        return (
            None
            if inner is None
            else EmbeddedConversation(
                inner.conversation, lambda new: {**value, "messages": inner.replace(new)}
            )
        )
    for key in _ENVELOPES:
        if (found := _in_log(value, key, depth)) is not None:
            return found
    return None


def _in_dump(dump: list[Any]) -> EmbeddedConversation:
    native = to_native(dump)

    def replace(new: Any) -> Any:  # noqa: ANN401 - messages, or a dict with a system prompt
        if isinstance(new, dict):
            return from_native(
                [{"role": "system", "content": new["system"]}, *new["messages"]], native, dump
            )
        return from_native(new, native, dump)

    return EmbeddedConversation(native, replace)


def _in_log(value: dict[str, Any], key: str, depth: int) -> EmbeddedConversation | None:
    """Return the request under a key of a log entry, which may be JSON in a string."""
    found = value.get(key)
    inner = _parsed(found) if isinstance(found, str) else found
    if (
        isinstance(inner, dict)
        and isinstance(inner.get("messages"), list)
        and not is_dump(inner["messages"])
    ):
        embedded: EmbeddedConversation | None = EmbeddedConversation(inner, lambda new: new)
    else:
        embedded = find_conversation(inner, depth + 1)
    if embedded is None:
        return None
    serialize = _to_json if isinstance(found, str) else _identity
    return EmbeddedConversation(
        embedded.conversation, lambda new: {**value, key: serialize(embedded.replace(new))}
    )


def _identity(value: Any) -> Any:  # noqa: ANN401
    return value


def _to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _parsed(text: str) -> object:
    if not text.lstrip().startswith("{"):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
