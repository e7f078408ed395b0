"""Rewrites LangChain messages that a partner package's converter cannot send.

This runs before the repair and treats each message separately. ``partners.toml`` lists what each
converter can send.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
)

from chatmend import jsontext
from chatmend.changes import Change, Effect
from chatmend.langchain.blocks import BlockOrigin, BlockWriter, drop_blank_texts
from chatmend.langchain.calls import (
    LangChainCall,
    calls_of,
    dict_entries,
    is_call,
    to_langchain_call,
)
from chatmend.langchain.converter import Converter
from chatmend.langchain.fields import is_result_block
from chatmend.langchain.items import SentItems, complete_items
from chatmend.langchain.markers import lift_markers
from chatmend.transcript import is_unchanged

if TYPE_CHECKING:
    from collections.abc import Sequence

_WHY = "the partner package cannot send this form"


def reshape(
    messages: list[BaseMessage],
    converter: Converter,
    allow: Effect = Effect.DROPS,
    max_markers: int | None = None,
) -> tuple[list[BaseMessage], tuple[Change, ...]]:
    """Rewrite messages that the converter cannot send; return the same list if there are none.

    ``allow``: the worst effect that the caller permits; content that would need a worse one is
    unchanged and reported. ``max_markers``: how many cache markers the target accepts.
    """
    kept = messages
    changes: list[Change] = []
    if any(isinstance(message, RemoveMessage) for message in messages):
        kept = [message for message in messages if not isinstance(message, RemoveMessage)]
        why = "an instruction for a reducer is not a message"
        changes.append(_change(messages, kept, ("ROLE001", "unknown-role"), why, Effect.RESHAPES))
    if not any(message.content.__class__ is list or message.additional_kwargs for message in kept):
        return kept, tuple(changes)
    writer = BlockWriter(converter, allow)
    sent_items = SentItems() if converter.item_ids else None
    out: list[BaseMessage] = []
    for message in kept:
        message_with_valid_kwargs = (
            _drop_invalid_kwargs(message, writer) if message.additional_kwargs else message
        )
        out += (
            _reshape_message(message_with_valid_kwargs, writer, sent_items)
            if isinstance(message.content, list)
            else (message_with_valid_kwargs,)
        )
    rule = ("PART001", "unknown-part")
    if writer.is_incomplete:
        changes.append(Change(*rule, Effect.DROPS, None, _WHY, (), (), applied=False))
    if converter.extra_markers:
        out = lift_markers(out, max_markers)
    if is_unchanged(out, kept):
        return kept, tuple(changes)
    changes.append(_change(kept, out, rule, _WHY, writer.effect))
    return out, tuple(changes)


def _change(
    before: Sequence[BaseMessage],
    after: Sequence[BaseMessage],
    rule: tuple[str, str],
    why: str,
    effect: Effect,
) -> Change:
    """Return a change of the whole list, made before windows are built: its window is -1."""
    pairs = enumerate(zip(before, after, strict=False))
    first = next((at for at, (old, new) in pairs if old is not new), min(len(before), len(after)))
    return Change(*rule, effect, first, why, tuple(before), tuple(after), None, -1)


def _drop_invalid_kwargs(message: BaseMessage, writer: BlockWriter) -> BaseMessage:
    """Drop ``additional_kwargs`` of another provider on which the converter would raise."""
    kwargs = message.additional_kwargs
    invalid = [
        key
        for key in writer.converter.object_kwargs
        if key in kwargs and not isinstance(kwargs[key], dict)
    ]
    if not invalid or not writer.permit(
        Effect.DROPS if any(kwargs[key] for key in invalid) else Effect.RESHAPES
    ):
        return message
    return message.model_copy(
        update={"additional_kwargs": {key: kwargs[key] for key in kwargs if key not in invalid}}
    )


def _reshape_message(
    message: BaseMessage, writer: BlockWriter, sent_items: SentItems | None
) -> Sequence[BaseMessage]:
    message = _as_user_message(message)
    content: list[Any] = message.content  # type: ignore[assignment]
    converter = writer.converter
    blocks = writer.write_blocks(content, _origin_of(message, converter))
    if isinstance(message, AIMessage):
        if sent_items is not None:
            blocks = complete_items(blocks, writer.as_text, writer.permit)
            blocks = sent_items.remove_repeats(blocks, writer.permit)
        if any(map(is_call, blocks)):
            message, blocks = _arrange_calls(message, blocks, converter)
        blocks = blocks if converter.blank_texts else drop_blank_texts(blocks)
        blocks = writer.drop_trailing_reasoning(
            blocks, calls=bool(message.tool_calls or message.invalid_tool_calls)
        )
    if not is_unchanged(content, blocks):
        message = message.model_copy(update={"content": blocks or ""})
    if (
        _origin_of(message, converter) == "user"
        and not converter.results_inside
        and any(map(is_result_block, blocks))
    ):
        return _split_results(message, blocks)
    return (message,)


def _as_user_message(message: BaseMessage) -> BaseMessage:
    """Convert a tool message that contains only results of other calls to a user message.

    Converters treat it as one.
    """
    content = message.content
    if (
        not isinstance(message, ToolMessage | FunctionMessage)
        or not content
        or not all(map(is_result_block, content))
    ):
        return message
    answered = {block.get("tool_use_id") for block in content if isinstance(block, dict)}
    if isinstance(message, ToolMessage) and answered == {message.tool_call_id}:
        return message
    return HumanMessage(content)


def _arrange_calls(
    message: AIMessage, blocks: list[Any], converter: Converter
) -> tuple[AIMessage, list[Any]]:
    """Put each call into the fields that the converter sends, and only there.

    Calls that would be sent twice and refused are removed from the content.
    """
    if converter.calls_inside is not None:
        message, blocks = _lift_calls(message, blocks, converter.calls_inside)
    if (
        blocks
        and not converter.trailing_thinking
        and _is_thinking(blocks[-1])
        and not _is_standard(message)
    ):
        blocks = [*(block for block in blocks if not is_call(block)), *filter(is_call, blocks)]
    refused = converter.refused_mirrors
    if not refused or _is_standard(message):
        return message, blocks
    return message, [block for block in blocks if not (is_call(block) and block["type"] in refused)]


def _is_thinking(block: Any) -> bool:
    return block.__class__ is dict and block.get("type") in ("thinking", "redacted_thinking")


def _origin_of(message: BaseMessage, converter: Converter) -> BlockOrigin:
    if isinstance(message, AIMessage):
        return (
            "own"
            if message.response_metadata.get("model_provider") in converter.writers
            else "answer"
        )
    return "result" if isinstance(message, ToolMessage) else "user"


def _is_standard(message: AIMessage) -> bool:
    """Return whether the content is in LangChain's standard blocks.

    Converters translate these first.
    """
    return message.response_metadata.get("output_version") == "v1"


def _lift_calls(
    message: AIMessage, blocks: list[Any], call_types: frozenset[str]
) -> tuple[AIMessage, list[Any]]:
    """Copy calls from the content to ``tool_calls`` if the converter would not send them."""
    in_content = [call for call in calls_of(message) if call.location == "content"]
    unsent = {
        jsontext.equality_key(call.id)
        for call in in_content
        if not _is_sent_from_content(call.native, call_types)
    }
    if not unsent:
        return message, blocks
    # All calls with the same id move: one that stayed would be taken for a copy of the others.
    moved = [call for call in in_content if jsontext.equality_key(call.id) in unsent]
    moved_blocks = {id(call.native) for call in moved}
    remaining = [block for block in blocks if id(block) not in moved_blocks]
    written = [to_langchain_call(_to_openai_call(call), None).call or {} for call in moved]
    valid = [
        *dict_entries(message.tool_calls),
        *(call for call in written if call["type"] == "tool_call"),
    ]
    invalid = [
        *dict_entries(message.invalid_tool_calls),
        *(call for call in written if call["type"] != "tool_call"),
    ]
    return message.model_copy(
        update={"tool_calls": valid, "invalid_tool_calls": invalid}
    ), remaining


def _is_sent_from_content(block: dict[str, Any], call_types: frozenset[str]) -> bool:
    """Return whether a call that is only in the content is sent, with readable arguments."""
    return block["type"] in call_types and (
        block["type"] != "tool_use" or isinstance(block.get("input"), dict)
    )


def _to_openai_call(call: LangChainCall) -> dict[str, Any]:
    return {"id": call.id, "function": {"name": call.name, "arguments": call.arguments}}


def _split_results(message: BaseMessage, blocks: list[Any]) -> list[BaseMessage]:
    """Return a message for each tool result, then one with the other blocks."""
    out: list[BaseMessage] = [_tool_message(block) for block in blocks if is_result_block(block)]
    rest = [block for block in blocks if not is_result_block(block)]
    return [*out, message.model_copy(update={"content": rest})] if rest else out


def _tool_message(block: dict[str, Any]) -> ToolMessage:
    call_id, content = block.get("tool_use_id"), block.get("content")
    return ToolMessage(
        content=content if isinstance(content, str | list) else "",
        tool_call_id=call_id if isinstance(call_id, str) else "",
        status="error" if block.get("is_error") else "success",
    )


__all__ = ["Converter", "reshape"]
