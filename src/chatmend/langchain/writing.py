"""From a dict in OpenAI's shape back to a LangChain message: a copy of the one it was read from, where there is one."""

from __future__ import annotations

from dataclasses import dataclass, field
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
from chatmend.langchain.calls import SIGNATURES, Call, Mirrors, Outcome, calls_of, closed, function_of, is_call
from chatmend.langchain.fields import SOURCE
from chatmend.langchain.reasoning import KEY
from chatmend.transcript import is_unchanged

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


@dataclass(frozen=True, slots=True)
class Source:
    """A message that was read, with the dict that shows it."""

    message: BaseMessage
    fields: dict[str, Any]
    kept: dict[str, Any] = field(default_factory=dict)


def build(shown: dict[str, Any], source: Source | None, objects: Mapping[int, Any]) -> BaseMessage:
    """The message that a dict shows. Everything of the source that the dict does not show is kept."""
    role = str(shown.get("role"))
    wanted = _CLASSES.get(role, ChatMessage)
    origin = source.message if source is not None else None
    same = isinstance(origin, wanted) and (wanted is not SystemMessage or _instructs_as(origin, role))
    update = _common(shown, source if same else None)
    if wanted is AIMessage:
        update |= _answer(shown, source if same else None, objects)
    elif wanted is ToolMessage:
        update["tool_call_id"] = _id(shown.get("tool_call_id"))
    elif wanted is ChatMessage:
        update["role"] = role
    if same and origin is not None:
        return origin.model_copy(update=update)
    if role == "developer":
        update["additional_kwargs"] = {"__openai_role__": "developer"}
    if wanted is FunctionMessage:
        update["name"] = str(update.get("name") or "")
    return wanted(**update)


def _instructs_as(origin: BaseMessage, role: str) -> bool:
    return str(origin.additional_kwargs.get("__openai_role__", "system")) == role


def _id(call_id: object) -> str:
    return call_id if isinstance(call_id, str) else "" if call_id is None else jsontext.dumps(call_id)


def _common(shown: dict[str, Any], source: Source | None) -> dict[str, Any]:
    content = shown.get("content")
    name = shown.get("name")
    update: dict[str, Any] = {"name": name if isinstance(name, str | None) else jsontext.dumps(name)}
    if source is None or content is not source.fields["content"]:
        update["content"] = _content(content)
    return update


def _content(content: Any) -> str | list[Any]:
    """What a message of LangChain can hold: text, or a list of texts and blocks."""
    if isinstance(content, list):
        return [item if isinstance(item, str | dict) else jsontext.dumps(item) for item in content]
    return content if isinstance(content, str) else "" if content is None else jsontext.dumps(content)


def _answer(shown: dict[str, Any], source: Source | None, objects: Mapping[int, Any]) -> dict[str, Any]:
    """The fields of an ``AIMessage`` that hold its calls, all of them edited together."""
    said: list[tuple[Call | None, dict[str, Any]]] = []
    for entry in _entries(shown.get("tool_calls")):
        number = entry.get(SOURCE)
        call = objects.get(number) if isinstance(number, int) else None
        said.append((call if isinstance(call, Call) else None, entry))
    outcomes = [(call, _outcome(call, entry)) for call, entry in said]
    written = [outcome.call for _, outcome in outcomes if outcome.call is not None]
    update: dict[str, Any] = {
        "tool_calls": [call for call in written if _is_valid(call)],
        "invalid_tool_calls": [call for call in written if not _is_valid(call)],
    }
    if source is not None and isinstance(source.message, AIMessage):
        became = {id(call): outcome for call, outcome in outcomes if call is not None}
        own = calls_of_source(source, objects)
        mirrors = Mirrors((call, became.get(id(call), Outcome(None))) for call in own)
        update |= _mirrored(shown, source, mirrors)
        kept = _kept_kwargs(shown, source, mirrors)
        signatures = {entry.get("id"): sign for _, entry in said if (sign := _signature(entry)) is not None}
        if signatures or SIGNATURES in kept:
            kept = {**kept, SIGNATURES: signatures}
        update["additional_kwargs"] = kept
    elif KEY in shown:
        update["additional_kwargs"] = {KEY: shown[KEY]}
    return update


def _is_valid(call: dict[str, Any]) -> bool:
    """Whether a call goes into ``tool_calls``, where arguments are no text."""
    untyped = "invalid_tool_call" if isinstance(call.get("args"), str) else "tool_call"
    return bool(call.get("type", untyped) == "tool_call")


def _entries(listed: object) -> list[dict[str, Any]]:
    """The calls of a dict. One that is no object is shown as one with nothing but its arguments."""
    entries = listed if isinstance(listed, list | tuple) else [] if listed is None else [listed]
    return [one if isinstance(one, dict) else {"function": {"arguments": jsontext.dumps(one)}} for one in entries]


def calls_of_source(source: Source, objects: Mapping[int, Any]) -> list[Call]:
    """The calls that the source was read with: the very objects, so that they can be told apart."""
    shown = source.fields.get("tool_calls", ())
    return [objects[entry[SOURCE]] for entry in shown if isinstance(entry, dict)]


def _outcome(call: Call | None, entry: dict[str, Any]) -> Outcome:
    """How a call is written now: the object it was, where nothing in it changed."""
    function = function_of(entry)
    if call is not None and (call.id, call.name, call.arguments) == (
        entry.get("id"),
        function.get("name"),
        function.get("arguments"),
    ):
        text = call.arguments if isinstance(call.arguments, str) else ""
        if call.place in ("tool_calls", "invalid_tool_calls"):
            return Outcome(call.native, text)
    return closed(entry, call)


def _signature(entry: dict[str, Any]) -> object:
    held = entry.get("provider_specific_fields")
    return held.get("thought_signature") if isinstance(held, dict) else None


def _mirrored(shown: dict[str, Any], source: Source, mirrors: Mirrors) -> dict[str, Any]:
    update: dict[str, Any] = {}
    chunks = getattr(source.message, "tool_call_chunks", None)
    if chunks:
        update["tool_call_chunks"] = mirrors.chunks(chunks)
    content = source.message.content
    if isinstance(content, list) and any(map(is_call, content)):
        update["content"] = _placed(content, shown, source, mirrors)
    return update


def _placed(content: list[Any], shown: dict[str, Any], source: Source, mirrors: Mirrors) -> Any:
    """The content with its call blocks where they stood, or at the end where what they stood between has changed."""
    calls = [block for block in content if is_call(block)]
    renewed = mirrors.blocks(calls)
    visible = shown.get("content")
    if visible is source.fields["content"] and is_unchanged(calls, renewed):
        return content
    said = visible if isinstance(visible, list) else [{"type": "text", "text": visible}] if visible else []
    if len(said) != len(content) - len(calls) or len(renewed) != len(calls):
        return [*said, *renewed]
    others, blocks = iter(said), iter(renewed)
    return [next(blocks if is_call(block) else others) for block in content]


def _kept_kwargs(shown: dict[str, Any], source: Source, mirrors: Mirrors) -> dict[str, Any]:
    kwargs = source.message.additional_kwargs
    raw = kwargs.get("tool_calls")
    changed: dict[str, Any] = {}
    if isinstance(raw, list):
        changed["tool_calls"] = mirrors.raw(raw)
    if isinstance(legacy := shown.get("function_call"), dict):
        changed["function_call"] = legacy
    if isinstance(reasoning := shown.get(KEY), str):
        changed[KEY] = reasoning
    gone = {"tool_calls"} if changed.get("tool_calls") == [] else set()
    gone |= {key for key in ("function_call", "prefix", KEY) if key in source.fields and key not in shown}
    kept = {key: value for key, value in {**kwargs, **changed}.items() if key not in gone}
    return kwargs if kept == kwargs else kept


__all__ = ["Source", "build", "calls_of"]
