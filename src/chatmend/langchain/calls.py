"""One tool call of an ``AIMessage`` and the up to six places of the message in which it stands.

``tool_calls``, ``invalid_tool_calls``, ``tool_call_chunks``, blocks of the content, ``additional_kwargs["tool_calls"]``
and the map of Gemini's thought signatures. Partner packages send from several of them: an edit changes all or none.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chatmend import jsontext

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from langchain_core.messages import AIMessage

SIGNATURES = "__gemini_function_call_thought_signatures__"
"""Gemini's thought signatures in ``additional_kwargs``, by call id."""

_BLOCKS = frozenset(
    {
        "custom_tool_call",
        "function_call",
        "invalid_tool_call",
        "tool_call",
        "tool_call_chunk",
        "tool_use",
    }
)
"""Content blocks that are tool calls of ours to answer; a provider's own (``server_tool_use``) are not among them."""
_BY_CALL_ID = frozenset({"custom_tool_call", "function_call"})
"""Blocks of the Responses API: the call's id is ``call_id``, and ``id`` names the item."""
_ARGUMENTS = {"tool_use": "input", "function_call": "arguments", "custom_tool_call": "input"}


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call of a message."""

    id: object
    name: object
    arguments: object
    """JSON text."""
    native: Any
    place: str
    """Where it stands first: ``tool_calls``, ``invalid_tool_calls``, ``content`` or ``additional_kwargs``."""
    signature: object = None

    @property
    def is_plain(self) -> bool:
        """Whether LangChain could read it."""
        return self.place == "tool_calls" and self.signature is None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a call: how it is written now, or nothing."""

    call: dict[str, Any] | None
    """An entry of ``tool_calls`` or ``invalid_tool_calls``."""
    text: str = ""
    """Its arguments as JSON text."""


def is_call(block: Any) -> bool:
    """Whether a content block is a tool call."""
    kind = block.get("type") if block.__class__ is dict else None
    return isinstance(kind, str) and kind in _BLOCKS


def id_of(block: dict[str, Any]) -> object:
    """The call id of a content block."""
    if jsontext.is_one_of(block.get("type"), _BY_CALL_ID):
        return block.get("call_id", block.get("id"))
    return block.get("id")


def without_mirrors(message: AIMessage) -> Any:
    """The content without the blocks that are calls; the very object where it has none."""
    content = message.content
    if content.__class__ is not list or not any(map(is_call, content)):
        return content
    return [block for block in content if not is_call(block)] or ""


def calls_of(message: AIMessage) -> list[Call]:
    """The calls of a message, each once, in the order in which partner packages send them."""
    signatures = message.additional_kwargs.get(SIGNATURES)
    signed = signatures if isinstance(signatures, dict) else {}
    found = [
        Call(
            call.get("id"), call.get("name"), text_of(call.get("args")), call, "tool_calls",
            _signature(signed, call.get("id")),
        )
        for call in listed(message.tool_calls)
    ]  # fmt: skip
    found += [
        Call(call.get("id"), call.get("name"), call.get("args"), call, "invalid_tool_calls")
        for call in listed(message.invalid_tool_calls)
    ]
    found += _only_in_content(message.content, found)
    return found or [_raw(call) for call in listed(message.additional_kwargs.get("tool_calls"))]


def _only_in_content(content: Any, found: Sequence[Call]) -> list[Call]:
    """Calls that stand in the content and nowhere else."""
    if content.__class__ is not list:
        return []
    known = {jsontext.identity(call.id) for call in found}
    blocks = [block for block in content if is_call(block) and jsontext.identity(id_of(block)) not in known]
    return [Call(id_of(block), block.get("name"), _of_block(block), block, "content") for block in blocks]


def _of_block(block: dict[str, Any]) -> object:
    held = block.get(_ARGUMENTS.get(block["type"], "args"))
    if not held and isinstance(block.get("partial_json"), str):
        return block["partial_json"]
    return held if isinstance(held, str) or held is None else text_of(held)


def _raw(call: dict[str, Any]) -> Call:
    function = function_of(call)
    return Call(call.get("id"), function.get("name"), function.get("arguments"), call, "additional_kwargs")


def function_of(call: dict[str, Any]) -> dict[str, Any]:
    """What a call in the shape of OpenAI says of its function: nothing where that is no object."""
    held = call.get("function")
    return held if isinstance(held, dict) else {}


def entries(calls: object) -> Sequence[Any]:
    """What stands where calls stand: LangChain looks at its type when a message is made, and never again."""
    return calls if isinstance(calls, list | tuple) else [calls] if calls else []


def listed(calls: object) -> list[dict[str, Any]]:
    """The calls among it."""
    return [call for call in entries(calls) if isinstance(call, dict)]


def odd_of(message: AIMessage) -> list[Any]:
    """What stands among the calls of a message and is none."""
    held = (*entries(message.tool_calls), *entries(message.invalid_tool_calls))
    return [entry for entry in held if not isinstance(entry, dict)]


def _signature(signed: dict[Any, Any], call_id: object) -> object:
    return signed.get(call_id) if isinstance(call_id, str) else None


def text_of(arguments: object) -> str:
    """Arguments as JSON text."""
    return jsontext.dumps(arguments)


def closed(shown: dict[str, Any], call: Call | None) -> Outcome:
    """A call in the shape of OpenAI as LangChain writes it: an invalid one where the arguments are no JSON object."""
    function = function_of(shown)
    name, text = function.get("name"), function.get("arguments")
    kept = call.native if call is not None and call.place in ("tool_calls", "invalid_tool_calls") else {}
    rest = {key: value for key, value in kept.items() if key not in ("name", "args", "id", "type", "error")}
    args = text
    if isinstance(text, str):
        try:
            args = jsontext.parse(text)
        except ValueError:
            args = None
    said = text if isinstance(text, str) else jsontext.dumps(text)
    call_id = _word(shown.get("id"))
    if isinstance(args, dict) and isinstance(name, str):
        return Outcome({"name": name, "args": args, "id": call_id, "type": "tool_call", **rest}, said)
    broken = {"name": _word(name), "args": said, "id": call_id, "error": kept.get("error"), **rest}
    return Outcome({**broken, "type": "invalid_tool_call"}, said)


def _word(value: object) -> str | None:
    return value if isinstance(value, str | None) else jsontext.dumps(value)


class Mirrors:
    """What becomes of every other place of each call, once it is known what became of the call."""

    def __init__(self, outcomes: Iterable[tuple[Call, Outcome]]) -> None:
        """Remember the outcomes by call id; several calls of one id are told apart by their order."""
        self.outcomes: defaultdict[str, list[Outcome]] = defaultdict(list)
        for call, outcome in outcomes:
            self.outcomes[jsontext.identity(call.id)].append(outcome)

    def over(self, items: Iterable[tuple[object, Any]]) -> list[tuple[Any, Outcome | None]]:
        """Each item of one place, given with its call id, with the outcome of its call; None where no call has it."""
        waiting = {key: deque(outcomes) for key, outcomes in self.outcomes.items()}
        found: list[tuple[Any, Outcome | None]] = []
        for call_id, item in items:
            queue = waiting.get(jsontext.identity(call_id))
            outcome = None if queue is None else queue.popleft() if len(queue) > 1 else queue[0]
            found.append((item, outcome))
        return found

    def blocks(self, content: list[Any]) -> list[Any]:
        """The call blocks of a content, as they are now."""
        pairs = self.over((id_of(block), block) for block in content)
        return [_renewed_block(block, outcome) for block, outcome in pairs if _stays(outcome)]

    def chunks(self, chunks: list[Any]) -> list[Any]:
        """The entries of ``tool_call_chunks``, as they are now."""
        pairs = self.over((chunk.get("id"), chunk) for chunk in chunks)
        return [_renewed_chunk(chunk, outcome) for chunk, outcome in pairs if _stays(outcome)]

    def raw(self, calls: list[Any]) -> list[Any]:
        """The entries of ``additional_kwargs["tool_calls"]``, as they are now."""
        pairs = self.over((call.get("id") if isinstance(call, dict) else None, call) for call in calls)
        return [_renewed_raw(call, outcome) for call, outcome in pairs if _stays(outcome)]


def _stays(outcome: Outcome | None) -> bool:
    return outcome is None or outcome.call is not None


def _renewed_block(block: dict[str, Any], outcome: Outcome | None) -> dict[str, Any]:
    call = outcome.call if outcome is not None else None
    if outcome is None or call is None:
        return block
    id_key = "call_id" if block["type"] in _BY_CALL_ID and "call_id" in block else "id"
    args_key = _ARGUMENTS.get(block["type"], "args")
    args: Any = call["args"]
    if block["type"] in ("function_call", "tool_call_chunk", "invalid_tool_call"):
        args = outcome.text
    changed = {id_key: call["id"], "name": call["name"]}
    if block["type"] != "custom_tool_call":
        changed[args_key] = args
    if block["type"] == "invalid_tool_call" and call["type"] == "tool_call":
        changed |= {"type": "tool_call", "args": call["args"]}
    kept = {key: value for key, value in block.items() if key != "partial_json"}
    return block if all(block.get(key) == value for key, value in changed.items()) else {**kept, **changed}


def _renewed_chunk(chunk: dict[str, Any], outcome: Outcome | None) -> dict[str, Any]:
    call = outcome.call if outcome is not None else None
    if outcome is None or call is None:
        return chunk
    return {**chunk, "id": call["id"], "name": call["name"], "args": outcome.text}


def _renewed_raw(native: Any, outcome: Outcome | None) -> Any:
    call = outcome.call if outcome is not None else None
    if outcome is None or call is None or not isinstance(native, dict):
        return native
    function = {**function_of(native), "name": call["name"], "arguments": outcome.text}
    return {**native, "id": call["id"], "function": function}
