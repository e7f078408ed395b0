"""Judge: the mistralai SDK's message types, one per role."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from .reading import numbered
from .typed_dicts import faults

if TYPE_CHECKING:
    from .request import Request


@cache
def _roles() -> dict[str, Any]:
    from mistralai.client.models import AssistantMessage, SystemMessage, ToolMessage, UserMessage

    return {
        "system": SystemMessage,
        "user": UserMessage,
        "assistant": AssistantMessage,
        "tool": ToolMessage,
    }


def mistral_types(request: Request) -> list[str]:
    """Validate each message against its own role's type."""
    refusals: list[str] = []
    for index, message in numbered(request.messages):
        kind = _roles().get(message["role"]) if isinstance(message.get("role"), str) else None
        where = f"messages[{index}]"
        refusals += (
            [f"{where}.role: missing or unknown"] if kind is None else faults(kind, message, where)
        )
    return refusals
