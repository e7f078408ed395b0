"""A wire format as one file: a message is ``{"who": ..., "says": ...}``."""

from __future__ import annotations

from chatmend.dialects.traits import (
    Traits,
    fill_content,
    kind_of,
    remember,
    set_limits,
    sketch,
    translate_foreign,
    with_system,
)
from chatmend.transcript import Message, Native, Role, Text

NAME = "pairs"
TRAITS = Traits(content_keys=("says",))
__all__ = [
    "NAME",
    "TRAITS",
    "cache_key",
    "fill_content",
    "kind_of",
    "read",
    "remember",
    "set_limits",
    "sketch",
    "translate_foreign",
    "with_system",
    "write",
]  # fmt: skip
_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}


def cache_key() -> str:
    """What was learnt of one holds for all."""
    return NAME


def read(native: Native) -> Message:
    """Read one message."""
    said = native if isinstance(native, dict) else {}
    role = _ROLES.get(said.get("who"), Role.USER)
    return Message(role, (Text(str(said.get("says", ""))),), native, said.get("who"))


def write(message: Message) -> Native:
    """Write one message."""
    if (
        isinstance(message.native, dict)
        and read(message.native).parts == message.parts
        and not message.omitted_keys
    ):
        return message.native
    who = {role: word for word, role in _ROLES.items()}[message.role]
    kept = {
        key: value
        for key, value in (message.native or {}).items()
        if key not in message.omitted_keys
    }  # type: ignore[attr-defined]
    return {
        **kept,
        "who": who,
        "says": "".join(part.text for part in message.parts if isinstance(part, Text)),
    }
