"""Repairs messages as the hooks of a wrapped model do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.langchain.call_facts import facts_of
from chatmend.langchain.message_repair import repair_for_destination

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

    from chatmend.langchain.message_repair import RepairResult
    from chatmend.langchain.partners import Destination
    from chatmend.langchain.settings import RepairSettings


def repaired(
    messages: list[BaseMessage], destination: Destination, settings: RepairSettings, **options: Any
) -> RepairResult:
    """Repair messages; ``options`` are those of ``facts_of``, such as ``tools``."""
    return repair_for_destination(messages, facts_of(destination, settings, **options), settings)
