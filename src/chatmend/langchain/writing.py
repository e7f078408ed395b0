"""Builds LangChain messages from dicts in OpenAI's format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from chatmend import jsontext
from chatmend.langchain.calls import (
    SIGNATURES,
    CallCopies,
    CallOutcome,
    LangChainCall,
    as_list,
    function_of,
    is_call,
    to_langchain_call,
)
from chatmend.langchain.fields import (
    IS_ERROR,
    MODEL_PROVIDER,
    OUTPUT_VERSION,
    REASONING_KEY,
    ROLES,
    SOURCE,
    STORED_THINKING,
    TOOL_OUTPUTS,
    computer_calls_of,
)
from chatmend.langchain.message_fields import kwargs_of, metadata_of
from chatmend.rules import mirrored_call, unsendable_key
from chatmend.transcript import ANSWER_KEYS, PROVENANCE, is_unchanged

if TYPE_CHECKING:
    from collections.abc import Mapping

_CLASSES: dict[str, type[BaseMessage]] = {
    "assistant": AIMessage,
    "user": HumanMessage,
    "system": SystemMessage,
    "developer": SystemMessage,
    "tool": ToolMessage,
    "function": FunctionMessage,
}


def with_class(message: BaseMessage) -> BaseMessage:
    """Return a bare ``BaseMessage`` as a message of the class that its type names.

    Stores that restore only the base class make such messages, which no partner package can send.
    Any other message is returned unchanged.
    """
    wanted = _CLASSES.get(ROLES.get(message.type, "")) if type(message) is BaseMessage else None
    if wanted is None:
        return message
    fields = {**message.__dict__, **(message.model_extra or {})}
    if wanted is ToolMessage:
        fields["tool_call_id"] = _id_string(fields.get("tool_call_id"))
    elif wanted is FunctionMessage:
        fields["name"] = message.name or ""
    try:
        return wanted(**fields)
    except ValueError:  # a field has a value that the class refuses
        return message


@dataclass(frozen=True, slots=True)
class SourceMessage:
    """A message that was read, with the dict that was made from it."""

    message: BaseMessage
    fields: dict[str, Any]
    is_list: bool = False
    """Whether its content must be a list of blocks."""
    unsent_thinking: str = ""
    """The key of ``additional_kwargs`` with thinking that is not sent: a new message lacks it."""


def build(
    fields: dict[str, Any],
    source: SourceMessage | None,
    objects: Mapping[int, Any],
    *,
    writes_raw_calls: bool = False,
) -> BaseMessage:
    """Build the message of a dict; parts of the source that the dict cannot show are kept."""
    role = str(fields.get("role"))
    wanted = _CLASSES.get(role, ChatMessage)
    origin = source.message if source is not None else None
    same = isinstance(origin, wanted) and (
        wanted is not SystemMessage or _has_instruction_role(origin, role)
    )
    update = _common_fields(fields, source if same else None)
    if wanted is AIMessage:
        update |= _assistant_fields(fields, source if same else None, objects)
        if writes_raw_calls and (raw := _raw_calls(fields)):
            update["additional_kwargs"] = {**update.get("additional_kwargs", {}), "tool_calls": raw}
    elif wanted is ToolMessage:
        update["tool_call_id"] = _id_string(fields.get("tool_call_id"))
        if fields.get(IS_ERROR) is True:
            update["status"] = "error"
    elif wanted is ChatMessage:
        update["role"] = role
    if same and origin is not None:
        return origin.model_copy(update=update)
    if role == "developer":
        update["additional_kwargs"] = {"__openai_role__": "developer"}
    if wanted is FunctionMessage:
        update["name"] = str(update.get("name") or "")
    return wanted(**update)


def _has_instruction_role(origin: BaseMessage, role: str) -> bool:
    return str(kwargs_of(origin).get("__openai_role__", "system")) == role


def _id_string(call_id: object) -> str:
    return (
        call_id if isinstance(call_id, str) else "" if call_id is None else jsontext.dumps(call_id)
    )


def _common_fields(fields: dict[str, Any], source: SourceMessage | None) -> dict[str, Any]:
    content = fields.get("content")
    name = fields.get("name")
    update: dict[str, Any] = {
        "name": name if isinstance(name, str | None) else jsontext.dumps(name)
    }
    if source is None or content is not source.fields["content"]:
        update["content"] = _allowed_content(content)
        if source is not None and source.is_list:
            update["content"] = _as_blocks(update["content"])
    return update


def _as_blocks(content: str | list[Any]) -> list[Any]:
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if content else []


def _allowed_content(content: Any) -> str | list[Any]:
    """Return the content in a form that LangChain accepts: text, or a list of texts and blocks."""
    if isinstance(content, list):
        return [item if isinstance(item, str | dict) else jsontext.dumps(item) for item in content]
    return (
        content if isinstance(content, str) else "" if content is None else jsontext.dumps(content)
    )


def _assistant_fields(
    fields: dict[str, Any], source: SourceMessage | None, objects: Mapping[int, Any]
) -> dict[str, Any]:
    """Return all fields of an ``AIMessage`` that contain its calls."""
    pairs: list[tuple[LangChainCall | None, dict[str, Any]]] = []
    for entry in _call_entries(fields.get("tool_calls")):
        number = entry.get(SOURCE)
        call = objects.get(number) if isinstance(number, int) else None
        pairs.append((call if isinstance(call, LangChainCall) else None, entry))
    outcomes = [(call, _outcome(call, entry)) for call, entry in pairs]
    update = _call_fields(outcomes)
    if source is not None and isinstance(source.message, AIMessage):
        outcome_by_call = {id(call): outcome for call, outcome in outcomes if call is not None}
        source_calls = calls_of_source(source, objects)
        copies = CallCopies(
            (call, outcome_by_call.get(id(call), CallOutcome(None))) for call in source_calls
        )
        update |= _updated_copies(fields, source, copies)
        kept = _kept_kwargs(fields, source, copies)
        signatures = {
            entry.get("id"): sign for _, entry in pairs if (sign := _signature(entry)) is not None
        }
        if signatures or SIGNATURES in kept:
            kept = {**kept, SIGNATURES: signatures}
        update["additional_kwargs"] = kept
        if fields.get(PROVENANCE) != source.fields.get(PROVENANCE):  # of a merged message
            update["response_metadata"] = _metadata_with_provider(fields, source.message)
    elif REASONING_KEY in fields:
        update["additional_kwargs"] = {REASONING_KEY: fields[REASONING_KEY]}
    return update


def _metadata_with_provider(fields: dict[str, Any], message: AIMessage) -> dict[str, Any]:
    """Return the metadata of a message with the provider in the dict that is written."""
    metadata, recorded = metadata_of(message), fields.get(PROVENANCE)
    kept = {key: value for key, value in metadata.items() if key != MODEL_PROVIDER}
    if not recorded:
        return kept
    kept.pop(OUTPUT_VERSION, None)
    keys = (MODEL_PROVIDER, OUTPUT_VERSION)
    return kept | {key: recorded[key] for key in keys if recorded[key] is not None}


def _call_fields(outcomes: list[tuple[LangChainCall | None, CallOutcome]]) -> dict[str, Any]:
    """Return the fields with the valid calls and with the others.

    Partner packages send the valid calls first. So that the calls keep their order, one behind an
    invalid call stays in its field until both are valid.
    """
    valid: list[dict[str, Any]] = []
    others: list[dict[str, Any]] = []
    for call, outcome in outcomes:
        if outcome.call is None:
            continue
        was_invalid = call is not None and call.location == "invalid_tool_calls"
        if others and was_invalid and _is_valid(outcome.call):
            others.append({**outcome.call, "type": "invalid_tool_call", "args": outcome.text})
        else:
            (valid if _is_valid(outcome.call) else others).append(outcome.call)
    return {"tool_calls": valid, "invalid_tool_calls": others}


def _is_valid(call: dict[str, Any]) -> bool:
    """Return whether a call belongs in ``tool_calls``: its arguments are not text."""
    untyped = "invalid_tool_call" if isinstance(call.get("args"), str) else "tool_call"
    return bool(call.get("type", untyped) == "tool_call")


def _call_entries(calls: object) -> list[dict[str, Any]]:
    """Return the calls of a dict; a malformed call becomes the arguments of a call."""
    entries = calls if isinstance(calls, list | tuple) else [] if calls is None else [calls]
    return [
        entry if isinstance(entry, dict) else {"function": {"arguments": jsontext.dumps(entry)}}
        for entry in entries
    ]


def calls_of_source(source: SourceMessage, objects: Mapping[int, Any]) -> list[LangChainCall]:
    """Return the calls with which the source was read, as the same objects."""
    entries = source.fields.get("tool_calls", ())
    return [objects[entry[SOURCE]] for entry in entries if isinstance(entry, dict)]


def _outcome(call: LangChainCall | None, entry: dict[str, Any]) -> CallOutcome:
    """Return the outcome of a call: the original object if nothing changed."""
    function = function_of(entry)
    if call is not None and (call.id, call.name, call.arguments) == (
        entry.get("id"),
        function.get("name"),
        function.get("arguments"),
    ):
        text = call.arguments if isinstance(call.arguments, str) else ""
        if call.location == "tool_calls":
            return CallOutcome(call.native, text)
    return to_langchain_call(entry, call)


def _signature(entry: dict[str, Any]) -> object:
    provider_fields = entry.get("provider_specific_fields")
    return provider_fields.get("thought_signature") if isinstance(provider_fields, dict) else None


def _updated_copies(
    fields: dict[str, Any], source: SourceMessage, copies: CallCopies
) -> dict[str, Any]:
    update: dict[str, Any] = {}
    chunks = getattr(source.message, "tool_call_chunks", None)
    if chunks:
        update["tool_call_chunks"] = copies.update_chunks(chunks)
    content = source.message.content
    if not isinstance(content, list) or not any(map(is_call, content)):
        return update
    if mirrored_call.BLOCKS in fields:
        update["content"] = _content_with_calls(content, fields, source, copies)
    else:
        update["content"] = _allowed_content(fields.get("content"))
    return update


def _content_with_calls(
    content: list[Any], fields: dict[str, Any], source: SourceMessage, copies: CallCopies
) -> Any:
    """Return the content with its call blocks in their old positions, if the other blocks allow it.

    Otherwise the call blocks follow the other blocks.
    """
    calls = [block for block in content if is_call(block)]
    updated = copies.update_blocks(calls)
    visible = fields.get("content")
    if visible is source.fields["content"] and is_unchanged(calls, updated):
        return content
    visible_blocks = (
        visible
        if isinstance(visible, list)
        else [{"type": "text", "text": visible}]
        if visible
        else []
    )
    if len(visible_blocks) != len(content) - len(calls) or len(updated) != len(calls):
        return [*visible_blocks, *updated]
    others, blocks = iter(visible_blocks), iter(updated)
    return [next(blocks if is_call(block) else others) for block in content]


def _kept_kwargs(
    fields: dict[str, Any], source: SourceMessage, copies: CallCopies
) -> dict[str, Any]:
    kwargs = kwargs_of(source.message)
    raw = kwargs.get("tool_calls")
    changed: dict[str, Any] = {}
    if mirrored_call.RAW in source.fields:
        changed["tool_calls"] = _raw_calls(fields)
    elif isinstance(raw, list):
        changed["tool_calls"] = copies.update_raw_calls(raw)
    if fields.get("content") is not source.fields["content"]:
        changed |= _other_tool_outputs(source)
    if isinstance(legacy := fields.get("function_call"), dict):
        changed["function_call"] = legacy
    if isinstance(reasoning := fields.get(REASONING_KEY), str):
        changed[REASONING_KEY] = reasoning
    changed |= {key: fields[key] for key in STORED_THINKING if isinstance(fields.get(key), list)}
    removed = {"tool_calls"} if changed.get("tool_calls") == [] else set()
    gone = source.fields.keys() - fields.keys()
    removed |= gone & {"function_call", "prefix", REASONING_KEY, *ANSWER_KEYS, *STORED_THINKING}
    if source.unsent_thinking:
        removed.add(source.unsent_thinking)
    prefix = unsendable_key.PREFIX
    removed |= {key.removeprefix(prefix) for key in gone if key.startswith(prefix)}
    removed |= {"function_call"} if mirrored_call.LEGACY in gone else set()
    kept = {key: value for key, value in {**kwargs, **changed}.items() if key not in removed}
    return kwargs if kept == kwargs else kept


def _raw_calls(fields: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the calls of a message in OpenAI's format."""
    return [
        {key: entry[key] for key in ("id", "type", "function") if key in entry}
        for entry in _call_entries(fields.get("tool_calls"))
    ]


def _other_tool_outputs(source: SourceMessage) -> dict[str, Any]:
    """Return the field of items without the computer calls, which were read as the content."""
    message = source.message
    calls = computer_calls_of(message) if isinstance(message, AIMessage) else []
    moved = set(map(id, calls)) & set(map(id, as_list(source.fields["content"])))
    if not moved:
        return {}
    items = as_list(kwargs_of(message)[TOOL_OUTPUTS])
    return {TOOL_OUTPUTS: [item for item in items if id(item) not in moved]}
