"""Where a conversation stands in stored JSON that is no bare request: LangChain dumps and logs of requests."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chatmend.sessions.langchain_dumps import from_native, is_dump, to_native

if TYPE_CHECKING:
    from collections.abc import Callable

_ENVELOPES = ("body", "request", "params", "kwargs", "input", "payload", "data", "json", "requestBody", "request_body")
"""Keys under which logs keep a request: OpenAI's batches (``body``), Anthropic's (``params``), gateways, HTTP logs."""
_DEEPEST = 4


@dataclass(frozen=True, slots=True)
class Place:
    """A conversation inside a JSON value, in a form that ``repair`` or ``repair_request`` takes."""

    conversation: list[Any] | dict[str, Any]
    put: Callable[[Any], Any]
    """The whole value with a repaired conversation in place of the old one; what lies beside it is the same object."""


def located(value: object, depth: int = 0) -> Place | None:
    """The conversation in a LangChain dump or in the log of a request; None for anything else, bare requests too."""
    if is_dump(value) and isinstance(value, list):
        return _dumped(value)
    if not isinstance(value, dict) or depth > _DEEPEST:
        return None
    if isinstance(value.get("messages"), list):
        inner = located(value["messages"])
        return None if inner is None else Place(inner.conversation, lambda new: {**value, "messages": inner.put(new)})
    for key in _ENVELOPES:
        if (place := _logged(value, key, depth)) is not None:
            return place
    return None


def _dumped(dump: list[Any]) -> Place:
    native = to_native(dump)

    def put(new: Any) -> Any:  # noqa: ANN401 - the list, or an object with the system prompt beside it
        if isinstance(new, dict):
            return from_native([{"role": "system", "content": new["system"]}, *new["messages"]], native, dump)
        return from_native(new, native, dump)

    return Place(native, put)


def _logged(value: dict[str, Any], key: str, depth: int) -> Place | None:
    """The request under a key of a log's entry, which may be JSON in a string."""
    found = value.get(key)
    inner = _parsed(found) if isinstance(found, str) else found
    if isinstance(inner, dict) and isinstance(inner.get("messages"), list) and not is_dump(inner["messages"]):
        place: Place | None = Place(inner, lambda new: new)
    else:
        place = located(inner, depth + 1)
    if place is None:
        return None
    written = _unparsed if isinstance(found, str) else _same
    return Place(place.conversation, lambda new: {**value, key: written(place.put(new))})


def _same(value: Any) -> Any:  # noqa: ANN401
    return value


def _unparsed(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _parsed(text: str) -> object:
    if not text.lstrip().startswith("{"):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
