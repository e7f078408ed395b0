"""OpenAI Responses: a list of items. Reasoning, calls, results and messages are entries of their own.

One item is one message: what the model made (reasoning, calls, its words) is the assistant's, a call's output is a
result, and the rest belongs to whom its role names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from chatmend import jsontext
from chatmend.dialects import foreign
from chatmend.dialects.content import read_content, reasoning_text, write_content
from chatmend.dialects.entries import SHAPES
from chatmend.dialects.roles import ALIASES, role_of
from chatmend.dialects.traits import Traits, expect, kind_of, with_system
from chatmend.transcript import Media, Message, Opaque, Part, Role, Text, Thinking, ToolCall, ToolResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmend.sketch import Sketch
    from chatmend.transcript import Native
    from chatmend.windows import Memory

NAME = "openai_responses"
TRAITS = Traits(
    messages_key="input", system_keys=("instructions",), content_keys=("content", "output"),
    thinking_keys=("reasoning",), stored_keys=("previous_response_id", "conversation", "prompt"), types_by_role=True,
    image_shapes=SHAPES, items=True,
)  # fmt: skip
__all__ = [
    "NAME",
    "TRAITS",
    "expect",
    "key",
    "kind_of",
    "read",
    "sketch",
    "with_system",
    "write",
]


class Pair(NamedTuple):
    """A type of call with the type of its output."""

    kind: str
    arguments: str
    output: str
    id_key: str = "call_id"
    """Where the output names its call."""


CALLS = {
    "function_call": Pair("function", "arguments", "function_call_output"),
    "custom_tool_call": Pair("custom", "input", "custom_tool_call_output"),
    "computer_call": Pair("computer", "action", "computer_call_output"),
    "local_shell_call": Pair("local_shell", "action", "local_shell_call_output", "id"),
    "shell_call": Pair("shell", "action", "shell_call_output"),
    "apply_patch_call": Pair("apply_patch", "operation", "apply_patch_call_output"),
}
OUTPUTS = {pair.output: pair for pair in CALLS.values()}
_OF_KIND = {pair.kind: (name, pair) for name, pair in CALLS.items()}
_OTHERS = frozenset(
    {
        "mcp_approval_response", "tool_search_output", "program_output", "multi_agent_call_output",
        "additional_tools", "compaction_trigger",
    }
)  # fmt: skip
"""Items that nobody reads here and that do not come from the model."""
_MADE = frozenset(
    {
        "web_search_call", "file_search_call", "image_generation_call", "code_interpreter_call", "mcp_call",
        "mcp_list_tools", "mcp_approval_request", "tool_search_call", "program", "multi_agent_call", "compaction",
        "agent_message", "item_reference",
    }
)  # fmt: skip
"""Items that the model, or a tool of the provider, made: carried, not looked into."""
ITEMS = frozenset({*CALLS, *OUTPUTS, *_OTHERS, *_MADE, "reasoning"})
_PARTS = ("input_text", "input_image", "input_file", "output_text")
_ITEM_KEYS = frozenset(
    {"type", "call_id", "output", "id", "status", "name", "arguments", "input", "action", "operation", "summary"}
)


def speaks(native: dict[str, object]) -> bool:
    """Whether an entry is one that only this dialect has."""
    kind = native.get("type")
    if isinstance(kind, str) and kind in ITEMS:
        return True
    return kind == "message" and leans(native)


def leans(native: dict[str, object]) -> bool:
    """Whether a message holds parts that only this dialect has."""
    content = native.get("content")
    parts = content if isinstance(content, list) else []
    return any(isinstance(part, dict) and part.get("type") in _PARTS for part in parts)


def key() -> str:
    """What was learnt of one chat holds for all."""
    return NAME


def sketch(native: Native, look: Sketch) -> object:
    """What items of the usual forms share; None: another form."""
    if native.__class__ is not dict:
        return None
    kind, size, id_class, call_class = native.get("type"), len(native), None, None
    if kind == "function_call":
        if size == 5:  # noqa: PLR2004 - with an id of its own
            id_class = look.class_of_id(native.get("id"))
        call_class = look.class_of_id(native.get("call_id"))
        usual = size in (4, 5) and look.is_name(native.get("name")) and look.is_arguments(native.get("arguments"))
    elif kind == "function_call_output":
        call_class = look.class_of_id(native.get("call_id"))
        usual = size == 3 and look.is_text(native.get("output"))  # noqa: PLR2004
    else:
        usual = kind == "reasoning" and size == 4 and native.get("summary") == []  # noqa: PLR2004
        id_class = look.class_of_id(native.get("id"))
        usual = usual and look.is_proof(native.get("encrypted_content"))
    return (kind, size, id_class, call_class) if usual and id_class is not False is not call_class else None


def read(native: Native) -> Message:
    """Read one item. Never raises."""
    if not isinstance(native, dict):
        text = (Text(native),) if isinstance(native, str) else (Opaque(native),)
        return Message(Role.USER, text, native)
    kind = native.get("type")
    if isinstance(kind, str) and kind in ITEMS:
        return _read_item(native, kind)
    if foreign.is_chat(native) or foreign.has_blocks(native):
        return foreign.read(native)
    if native and "role" not in native and "content" not in native:
        return Message(Role.USER, (Opaque(native),), native, Role.USER)
    spelling = native.get("role")
    own = isinstance(spelling, str) and (spelling not in ALIASES or ALIASES[spelling] == spelling)
    own = own and native.get("type", "message") == "message"
    return Message(role_of(native), read_content(native.get("content")), native, spelling if own else None)


def _read_item(native: dict[str, object], kind: str) -> Message:
    if pair := CALLS.get(kind):
        call = ToolCall(
            native.get("call_id"), native.get("name"), native.get(pair.arguments), native=native, kind=pair.kind
        )
        return Message(Role.ASSISTANT, (call,), native, Role.ASSISTANT)
    if pair := OUTPUTS.get(kind):
        result = ToolResult(native.get(pair.id_key), _read_output(native, pair), native=native, kind=pair.kind)
        return Message(Role.TOOL, (result,), native, Role.TOOL)
    if kind == "reasoning":
        proof = native.get("encrypted_content")
        thought = Thinking(
            reasoning_text(native), proof if isinstance(proof, str) else None, place="own", native=native
        )
        return Message(Role.ASSISTANT, (thought,), native, Role.ASSISTANT)
    role = Role.USER if kind in _OTHERS else Role.ASSISTANT
    return Message(role, (Opaque(native),), native, role)


def _read_output(native: dict[str, object], pair: Pair) -> tuple[Part, ...]:
    output = native.get("output")
    if pair.kind in ("function", "custom") or isinstance(output, str):
        return read_content(output)
    if isinstance(output, dict) and "image_url" in output:
        return (Media(output),)
    return () if output is None else (Opaque(output),)


def write(message: Message) -> Native:
    """Write one item: its native object itself when nothing in it changed."""
    return foreign.same_or(message, read, _written)


def _written(message: Message) -> dict[str, object]:
    native = message.native
    base = {k: v for k, v in native.items() if k not in message.without} if isinstance(native, dict) else {}
    only = message.parts[0] if len(message.parts) == 1 else None
    if isinstance(only, ToolCall) and message.is_assistant:
        return _write_call(only, message.without)
    if isinstance(only, ToolResult):
        return _write_result(only, message.without)
    if isinstance(only, Thinking | Opaque) and only.native is native and isinstance(native, dict):
        return base
    kind = base.get("type")
    if isinstance(kind, str) and kind in ITEMS:
        base = {key: value for key, value in base.items() if key not in _ITEM_KEYS}
    elif "type" in base and kind != "message":
        base["type"] = "message"
    role: object = Role.USER if message.role is Role.TOOL else message.role
    if message.spelling not in (None, message.role):
        role = message.spelling
    out: dict[str, object] = {"role": str(role) if isinstance(role, Role) else role}
    out |= {key: value for key, value in base.items() if key != "role"}
    writer = _write_said if message.is_assistant else _write_told
    out["content"] = write_content(message.parts, out.get("content"), writer)
    return out


def _write_said(part: Part) -> Native:
    return _write_part(part, "output_text")


def _write_told(part: Part) -> Native:
    return _write_part(part, "input_text")


def _write_part(part: Part, kind: str) -> Native:
    native = part.native
    match part:
        case Text(text):
            if not isinstance(native, dict):
                return {"type": kind, "text": text}
            same = native.get("text") == text and native.get("type") in ("input_text", "output_text")
            return native if same else {**native, "type": kind, "text": text}
        case Thinking(text, signature):
            return native if native is not None else {"type": "thinking", "thinking": text, "signature": signature}
        case Media() if isinstance(native, dict) and native.get("type") == "computer_screenshot":
            return {**native, "type": "input_image"}
        case ToolResult() | ToolCall():
            return {**foreign.told(part), "type": kind}
        case _:
            return native


def _write_call(call: ToolCall, without: frozenset[str]) -> dict[str, object]:
    name, pair = _OF_KIND.get(call.kind, _OF_KIND["function"])
    native = call.native if isinstance(call.native, dict) and call.native.get("type") == name else {}
    said = {"call_id": call.id} if call.is_hosted else {"call_id": call.id, "name": call.name}
    said |= {} if call.is_hosted else {pair.arguments: call.arguments}
    out = {"type": name, **{k: v for k, v in native.items() if k not in without}}
    return out | {key: value for key, value in said.items() if value is not None or key in native}


def _write_result(result: ToolResult, without: frozenset[str]) -> dict[str, object]:
    _, pair = _OF_KIND.get(result.kind, _OF_KIND["function"])
    native = result.native if isinstance(result.native, dict) and result.native.get("type") in tuple(OUTPUTS) else {}
    out = {**native, "type": pair.output}
    out = {key: value for key, value in out.items() if key not in without}
    if result.call_id is not None or pair.id_key in native:
        out[pair.id_key] = result.call_id
    if not result.is_hosted:
        out["output"] = write_content(result.content, native.get("output"), _write_told)
    return out


def filled(native: dict[str, object]) -> dict[str, object] | None:
    """The item with an empty content, or output, in the place of null or none; None where it wants none or has one.

    The ``content`` of an output, as chat has it, is what it tells: texts as they are, anything else as its JSON.
    """
    kind = native.get("type")
    if kind in ("function_call_output", "custom_tool_call_output"):
        if native.get("output") is not None:
            return None
        content = native.get("content")
        parts = read_content(content)
        plain = all(isinstance(part, Text) and not part.text.startswith("data:") for part in parts)
        told = write_content(parts, None, _write_told) if plain else jsontext.dumps(content)
        return {**{key: value for key, value in native.items() if key != "content"}, "output": told or ""}
    if isinstance(kind, str) and kind in ITEMS:
        return None
    return {**native, "content": ""} if native.get("content") is None else None


def translated(message: Message) -> tuple[Message, ...]:
    """The items that say what a chat message, or one of Anthropic's blocks, says."""
    native = message.native
    if not isinstance(native, dict) or (isinstance(kind := native.get("type"), str) and kind in ITEMS):
        return ()
    if not (foreign.is_chat(native) or foreign.has_blocks(native)):
        return ()
    return tuple(foreign.items(message))


def remember(natives: Sequence[Native], memory: Memory) -> None:
    """Note the ids of items, whether reasoning is sent back, and whether items are stored elsewhere."""
    for native in natives:
        if isinstance(native, dict):
            kind, item_id = native.get("type"), native.get("id")
            if isinstance(item_id, str) and kind != "item_reference":
                memory.item_ids.add(item_id)
            memory.has_reasoning |= kind == "reasoning"
            memory.elsewhere |= kind == "item_reference"
