"""Repairs what an observability tool logged as the input of a model call.

The input is a request body, a list of messages, or messages that LangChain has serialised, as JSON
values or as JSON texts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.data.formats import langchain_objects
from chatmend.data.formats.reading import is_list_of_objects

if TYPE_CHECKING:
    from chatmend.data.rows import Conversations

_LISTS = ("messages", "input", "contents")


def is_logged_input(value: object) -> bool:
    """Return whether a value holds the messages of a model call."""
    if isinstance(value, dict):
        return any(is_logged_input(value.get(key)) for key in _LISTS)
    return is_list_of_objects(value) or (
        isinstance(value, list) and len(value) == 1 and is_list_of_objects(value[0])
    )


def repair_input(value: Any, conversations: Conversations) -> Any:  # noqa: ANN401 - logged JSON
    """Return a logged input with its messages repaired; the same object if nothing changed."""
    if isinstance(value, dict):
        return _repair_body(value, conversations)
    if langchain_objects.is_serialised(value):
        return langchain_objects.repair(value, conversations)
    if len(value) == 1 and isinstance(value[0], list):  # LangChain logs a batch of one list
        inner = repair_input(value[0], conversations)
        return value if inner is value[0] else [inner]
    return conversations.repair(value)


def _repair_body(body: dict[str, Any], conversations: Conversations) -> dict[str, Any]:
    key = next(key for key in _LISTS if is_logged_input(body.get(key)))
    held = body[key]
    if isinstance(held[0], dict) and not langchain_objects.is_serialised(held):
        # Logs often omit the tools of the request; these are then unknown, and not checked.
        if "model" in body or "tools" in body:
            return conversations.repair_request(body)
        given = body.get("system")
        messages, system = conversations.repair_with_system(held, system=given)
        if messages is held and system is given:
            return body
        return {**body, key: messages, **({} if system is given else {"system": system})}
    inner = repair_input(held, conversations)
    return body if inner is held else {**body, key: inner}
