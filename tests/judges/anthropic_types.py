"""Judge: the Anthropic SDK's message types, one per block type."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from .typed_dicts import by_type, faults

if TYPE_CHECKING:
    from .request import Json, Request


@cache
def _block_types() -> dict[str, Any]:
    from anthropic.types import ContentBlockParam
    from anthropic.types.beta import BetaContentBlockParam

    return {
        **by_type(ContentBlockParam),
        **by_type(BetaContentBlockParam),
    }  # beta knows more server tools


def anthropic_types(request: Request) -> list[str]:
    """Validate native blocks and the top-level system."""
    return body_faults(request.messages, request.system)


def body_faults(messages: Json, system: Json) -> list[str]:
    """The same for any Anthropic body, such as what LiteLLM made of a transcript."""
    if not isinstance(messages, list):
        return ["messages: not a list"]
    refusals = _system_faults(system)
    for index, message in enumerate(messages):
        refusals += _message_faults(message, f"messages[{index}]")
    return refusals


def _system_faults(system: Json) -> list[str]:
    from anthropic.types import TextBlockParam

    return [] if system is None else faults(str | list[TextBlockParam], system, "system")


def _message_faults(message: Json, where: str) -> list[str]:
    if not isinstance(message, dict):
        return [f"{where}: not an object"]
    content = message.get("content")
    refusals = (
        []
        if message.get("role") in ("user", "assistant", "system")
        else [f"{where}.role: missing or unknown"]
    )
    if isinstance(content, str):
        return refusals
    if not isinstance(content, list):
        return [*refusals, f"{where}.content: neither text nor a list"]
    for index, block in enumerate(content):
        refusals += _block_faults(block, f"{where}.content[{index}]")
    return refusals


def _block_faults(block: Json, where: str) -> list[str]:
    name = block.get("type") if isinstance(block, dict) else None
    kind = _block_types().get(name) if isinstance(name, str) else None
    if (
        isinstance(block, dict)
        and isinstance(block.get("content"), dict)
        and name == "web_search_tool_result"
    ):
        # Pydantic takes the keys of an object for the items of an ``Iterable``.
        from anthropic.types import WebSearchToolRequestErrorParam

        wrong = faults(WebSearchToolRequestErrorParam, block["content"], where)
        return wrong or faults(kind, {**block, "content": []}, where)
    return [f"{where}: no block of a known type"] if kind is None else faults(kind, block, where)
