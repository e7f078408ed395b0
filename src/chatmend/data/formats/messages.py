"""One conversation per row: TRL's ``messages``, and fine-tuning files of OpenAI and Anthropic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.data.formats.reading import change, is_chat, is_list_of_objects, load

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatmend.data.rows import Conversations

NAME = "messages"
LAYOUT = "messages: [{role, content}]"
_LISTS = ("messages", "conversations", "conversation", "contents")
KEYS = (*_LISTS, "system")


def _key(row: Mapping[str, Any]) -> str | None:
    for key in _LISTS:
        if is_chat(value := load(row.get(key))) or (
            key == "messages" and is_list_of_objects(value)
        ):
            return key
    return None


def matches(row: Mapping[str, Any]) -> bool:
    """Return whether a row has a list of messages."""
    return _key(row) is not None


def repair(row: dict[str, Any], conversations: Conversations) -> dict[str, Any]:
    """Repair the list of messages, with the system prompt next to it, if there is one."""
    key = _key(row) or "messages"
    given = row.get("system")
    system: object = given or None

    def edit(messages: object) -> object:
        nonlocal system
        repaired, system = conversations.repair_with_system(messages, system=system)
        return repaired

    becomes = change(row, key, edit)
    return becomes if system is None or system is given else {**becomes, "system": system}
