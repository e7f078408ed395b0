"""Tool calls of an ``AIMessage``, which stores one call in up to six fields.

These are ``tool_calls``, ``invalid_tool_calls``, ``tool_call_chunks``, content blocks,
``additional_kwargs["tool_calls"]`` and Gemini's thought signatures. Partner packages read
several of them, so an edit must change all of them.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chatmend import jsontext
from chatmend.langchain.message_fields import kwargs_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from langchain_core.messages import AIMessage

SIGNATURES = "__gemini_function_call_thought_signatures__"
"""The key of Gemini's thought signatures by call id in ``additional_kwargs``."""

_CALL_TYPES = frozenset(
    {
        "custom_tool_call",
        "function_call",
        "invalid_tool_call",
        "tool_call",
        "tool_call_chunk",
        "tool_use",
    }
)
"""Types of blocks with a call that the caller answers; hosted tools are not among them."""
_RESPONSES_TYPES = frozenset({"custom_tool_call", "function_call"})
"""Blocks of the Responses API: ``call_id`` is the id of the call, ``id`` that of the item."""
_ARGUMENT_KEYS = {"tool_use": "input", "function_call": "arguments", "custom_tool_call": "input"}


@dataclass(frozen=True, slots=True)
class LangChainCall:
    """One tool call of a message."""

    id: object
    name: object
    arguments: object
    """JSON text; an object with a value that JSON lacks is as in the message."""
    native: Any
    location: str
    """The first field with the call.

    ``tool_calls``, ``invalid_tool_calls``, ``content`` or ``additional_kwargs``.
    """
    signature: object = None


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """A call after the repair."""

    call: dict[str, Any] | None
    """An entry of ``tool_calls`` or ``invalid_tool_calls``; None if the call was removed."""
    text: str = ""
    """The arguments as JSON text."""


def is_call(block: Any) -> bool:
    """Return whether a content block is a tool call."""
    kind = block.get("type") if block.__class__ is dict else None
    return isinstance(kind, str) and kind in _CALL_TYPES


def id_of(block: dict[str, Any]) -> object:
    """Return the call id of a content block."""
    if jsontext.is_one_of(block.get("type"), _RESPONSES_TYPES):
        return block.get("call_id", block.get("id"))
    return block.get("id")


def content_without_calls(message: AIMessage) -> Any:
    """Return the content without call blocks; the same object if it has none."""
    content = message.content
    if content.__class__ is not list or not any(map(is_call, content)):
        return content
    return [block for block in content if not is_call(block)] or ""


def calls_of(message: AIMessage, *, reads_raw: bool = True) -> list[LangChainCall]:
    """Return each call of a message once, in the order in which partner packages send them.

    ``reads_raw``: whether the partner package sends the calls in ``additional_kwargs`` of a message
    that has no other calls.
    """
    signatures = kwargs_of(message).get(SIGNATURES)
    signature_by_id = signatures if isinstance(signatures, dict) else {}
    found = [
        LangChainCall(
            call.get("id"), call.get("name"), arguments_of(call.get("args")), call, "tool_calls",
            _signature(signature_by_id, call.get("id")),
        )
        for call in dict_entries(message.tool_calls)
    ]  # fmt: skip
    found += [
        LangChainCall(
            call.get("id"), call.get("name"), call.get("args"), call, "invalid_tool_calls"
        )
        for call in dict_entries(message.invalid_tool_calls)
    ]
    found += _calls_only_in_content(message.content, found)
    if found or not reads_raw:
        return found
    return list(map(_read_raw_call, dict_entries(kwargs_of(message).get("tool_calls"))))


def _calls_only_in_content(content: Any, found: Sequence[LangChainCall]) -> list[LangChainCall]:
    """Return the calls that are in the content and in no other field."""
    if content.__class__ is not list:
        return []
    known = {jsontext.equality_key(call.id) for call in found}
    blocks = [
        block
        for block in content
        if is_call(block) and jsontext.equality_key(id_of(block)) not in known
    ]
    return [
        LangChainCall(id_of(block), block.get("name"), _block_arguments(block), block, "content")
        for block in blocks
    ]


def _block_arguments(block: dict[str, Any]) -> object:
    value = block.get(_ARGUMENT_KEYS.get(block["type"], "args"))
    if not value and isinstance(block.get("partial_json"), str):
        return block["partial_json"]
    return value if isinstance(value, str) or value is None else arguments_of(value)


def _read_raw_call(call: dict[str, Any]) -> LangChainCall:
    function = function_of(call)
    return LangChainCall(
        call.get("id"), function.get("name"), function.get("arguments"), call, "additional_kwargs"
    )


def function_of(call: dict[str, Any]) -> dict[str, Any]:
    """Return the function of an OpenAI call; an empty dict if it is malformed."""
    value = call.get("function")
    return value if isinstance(value, dict) else {}


def as_list(calls: object) -> Sequence[Any]:
    """Return the value of a call field as a list; LangChain validates it only at construction."""
    return calls if isinstance(calls, list | tuple) else [calls] if calls else []


def dict_entries(calls: object) -> list[dict[str, Any]]:
    """Return the entries of a call field that are dicts."""
    return [call for call in as_list(calls) if isinstance(call, dict)]


def malformed_entries(message: AIMessage) -> list[Any]:
    """Return the entries of a message's call fields that are not dicts."""
    value = (*as_list(message.tool_calls), *as_list(message.invalid_tool_calls))
    return [entry for entry in value if not isinstance(entry, dict)]


def _signature(signature_by_id: dict[Any, Any], call_id: object) -> object:
    return signature_by_id.get(call_id) if isinstance(call_id, str) else None


def arguments_of(arguments: object) -> object:
    """Return arguments as JSON text.

    Those with a value that JSON lacks, such as a ``Decimal``, are unchanged: a rule replaces it.
    """
    text = jsontext.dumps_if_json(arguments)
    return arguments if text is None else text


def to_langchain_call(openai_call: dict[str, Any], call: LangChainCall | None) -> CallOutcome:
    """Convert an OpenAI call to a LangChain call.

    The call is invalid unless its arguments are a JSON object.
    """
    function = function_of(openai_call)
    name, text = _as_string(function.get("name")), function.get("arguments")
    kept = (
        call.native
        if call is not None and call.location in ("tool_calls", "invalid_tool_calls")
        else {}
    )
    rest = {
        key: value
        for key, value in kept.items()
        if key not in ("name", "args", "id", "type", "error")
    }
    args = text
    if isinstance(text, str):
        try:
            args = jsontext.parse(text)
        except ValueError:
            args = None
    arguments_text = text if isinstance(text, str) else jsontext.dumps(text)
    call_id = _as_string(openai_call.get("id"))
    if isinstance(args, dict) and name is not None:
        return CallOutcome(
            {"name": name, "args": args, "id": call_id, "type": "tool_call", **rest}, arguments_text
        )
    invalid = {
        "name": name,
        "args": arguments_text,
        "id": call_id,
        "error": kept.get("error"),
        **rest,
    }
    return CallOutcome({**invalid, "type": "invalid_tool_call"}, arguments_text)


def _as_string(value: object) -> str | None:
    return value if isinstance(value, str | None) else jsontext.dumps(value)


class CallCopies:
    """The other fields with a call, which are updated to the outcome of the repair."""

    def __init__(self, outcomes: Iterable[tuple[LangChainCall, CallOutcome]]) -> None:
        """Group the outcomes by call id; calls with the same id are matched in order."""
        self.outcomes: defaultdict[str, list[CallOutcome]] = defaultdict(list)
        for call, outcome in outcomes:
            self.outcomes[jsontext.equality_key(call.id)].append(outcome)

    def pair_with_outcomes(
        self, items: Iterable[tuple[object, Any]]
    ) -> list[tuple[Any, CallOutcome | None]]:
        """Pair each item with the outcome of its call; None if no call has its id.

        ``items`` are pairs of a call id and an item.
        """
        waiting = {key: deque(outcomes) for key, outcomes in self.outcomes.items()}
        found: list[tuple[Any, CallOutcome | None]] = []
        for call_id, item in items:
            queue = waiting.get(jsontext.equality_key(call_id))
            outcome = None if queue is None else queue.popleft() if len(queue) > 1 else queue[0]
            found.append((item, outcome))
        return found

    def update_blocks(self, content: list[Any]) -> list[Any]:
        """Return the call blocks of a content with the outcomes."""
        pairs = self.pair_with_outcomes((id_of(block), block) for block in content)
        return [_updated_block(block, outcome) for block, outcome in pairs if _is_kept(outcome)]

    def update_chunks(self, chunks: list[Any]) -> list[Any]:
        """Return the entries of ``tool_call_chunks`` with the outcomes."""
        pairs = self.pair_with_outcomes((chunk.get("id"), chunk) for chunk in chunks)
        return [_updated_chunk(chunk, outcome) for chunk, outcome in pairs if _is_kept(outcome)]

    def update_raw_calls(self, calls: list[Any]) -> list[Any]:
        """Return the entries of ``additional_kwargs["tool_calls"]`` with the outcomes."""
        pairs = self.pair_with_outcomes(
            (call.get("id") if isinstance(call, dict) else None, call) for call in calls
        )
        return [_updated_raw_call(call, outcome) for call, outcome in pairs if _is_kept(outcome)]


def _is_kept(outcome: CallOutcome | None) -> bool:
    return outcome is None or outcome.call is not None


def _updated_block(block: dict[str, Any], outcome: CallOutcome | None) -> dict[str, Any]:
    call = outcome.call if outcome is not None else None
    if outcome is None or call is None:
        return block
    id_key = "call_id" if block["type"] in _RESPONSES_TYPES and "call_id" in block else "id"
    args_key = _ARGUMENT_KEYS.get(block["type"], "args")
    args: Any = call["args"]
    if block["type"] in ("function_call", "tool_call_chunk", "invalid_tool_call"):
        args = outcome.text
    changed = {id_key: call["id"], "name": call["name"]}
    if block["type"] != "custom_tool_call":
        changed[args_key] = args
    if block["type"] == "invalid_tool_call" and call["type"] == "tool_call":
        changed |= {"type": "tool_call", "args": call["args"]}
    kept = {key: value for key, value in block.items() if key != "partial_json"}
    if block.get(id_key) != call["id"]:
        kept = _without_item_id(kept, id_key)
    return (
        block
        if all(block.get(key) == value for key, value in changed.items())
        else {**kept, **changed}
    )


def _without_item_id(block: dict[str, Any], id_key: str) -> dict[str, Any]:
    """Return a call block without the id of its item, which belongs to the old call id."""
    extras = block.get("extras")
    if isinstance(extras, dict) and "item_id" in extras:
        kept = {key: value for key, value in extras.items() if key != "item_id"}
        block = {**block, "extras": kept}
    return block if id_key == "id" else {k: v for k, v in block.items() if k != "id"}


def _updated_chunk(chunk: dict[str, Any], outcome: CallOutcome | None) -> dict[str, Any]:
    call = outcome.call if outcome is not None else None
    if outcome is None or call is None:
        return chunk
    return {**chunk, "id": call["id"], "name": call["name"], "args": outcome.text}


def _updated_raw_call(native: Any, outcome: CallOutcome | None) -> Any:
    call = outcome.call if outcome is not None else None
    if outcome is None or call is None or not isinstance(native, dict):
        return native
    function = {**function_of(native), "name": call["name"], "arguments": outcome.text}
    return {**native, "id": call["id"], "function": function}
