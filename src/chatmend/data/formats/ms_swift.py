"""ms-swift: ``messages`` in which a call of a tool is a message of its own, with a role.

A message with the role ``tool_call`` has the JSON text of ``{"name", "arguments"}`` as its content;
its result has the role ``tool_response`` or ``tool``. See "Agent support" in the documentation of
ms-swift. LLaMA-Factory reads the same with the roles ``function_call`` and ``observation``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.data.formats.reading import change, is_list_of_objects, load
from chatmend.data.formats.turns import CALL_ROLES, RESULT_ROLES, TurnKeys, repair_turns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatmend.data.rows import Conversations

NAME = "ms-swift"
LAYOUT = "messages: [{role, content}] with the roles tool_call and tool_response"
_LISTS = ("messages", "conversations", "conversation")
KEYS = (*_LISTS, "system")
_TURNS = TurnKeys("role", "content", "user", "assistant", "tool_call", "tool_response")
_OWN_ROLES = tuple(role for role in (*CALL_ROLES, *RESULT_ROLES) if role != "tool")
"""Roles that no message of a request has."""


def _key(row: Mapping[str, Any]) -> str | None:
    return next((key for key in _LISTS if _has_own_roles(load(row.get(key)))), None)


def _has_own_roles(value: object) -> bool:
    return (
        is_list_of_objects(value)
        and not any(isinstance(one, dict) and one.get("tool_calls") for one in value)
        and any(isinstance(one, dict) and one.get("role") in _OWN_ROLES for one in value)
    )


def matches(row: Mapping[str, Any]) -> bool:
    """Return whether a row has a message that is a call or a result, and no ``tool_calls``."""
    return _key(row) is not None


def repair(row: dict[str, Any], conversations: Conversations) -> dict[str, Any]:
    """Repair the messages; those without a repair are the same objects."""
    key = _key(row) or _LISTS[0]

    def edit(turns: list[Any]) -> list[Any]:
        out = repair_turns(turns, _TURNS, conversations)
        # Without roles of its own the row is a request's messages, which allow fewer keys.
        return out if _has_own_roles(out) else conversations.repair(out)

    return change(row, key, edit)
