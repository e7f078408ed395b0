"""OpenAI Responses: a list of items, which are reasoning, calls, outputs and messages.

Each item is read as one message. Items that the model made (reasoning, calls, its text) have the
assistant's role, the output of a call is a tool result, and other items have the role they name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from chatmend import jsontext
from chatmend.dialects import foreign
from chatmend.dialects.content import read_content, reasoning_text, write_content
from chatmend.dialects.entries import SHAPES, call_id_of_output
from chatmend.dialects.formats import ANSWER_PART_KEYS
from chatmend.dialects.roles import ALIASES, role_of
from chatmend.dialects.traits import Traits, kind_of, set_limits, with_system
from chatmend.transcript import (
    LOCAL_SHELL,
    REFERENCE,
    Media,
    Message,
    Opaque,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    kind_of_item,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmend.sketch import Sketch
    from chatmend.transcript import Native
    from chatmend.windows import Memory

NAME = "openai_responses"
__all__ = [
    "NAME",
    "TRAITS",
    "cache_key",
    "kind_of",
    "read",
    "set_limits",
    "sketch",
    "with_system",
    "write",
]


class Pair(NamedTuple):
    """A type of call with the type of its output.

    ``kind`` is ``ToolCall.kind``, ``arguments`` the key of the call that holds its arguments.
    """

    kind: str
    arguments: str
    output: str


CALLS = {
    "function_call": Pair("function", "arguments", "function_call_output"),
    "custom_tool_call": Pair("custom", "input", "custom_tool_call_output"),
    "computer_call": Pair("computer", "action", "computer_call_output"),
    "local_shell_call": Pair(LOCAL_SHELL, "action", "local_shell_call_output"),
    "shell_call": Pair("shell", "action", "shell_call_output"),
    "apply_patch_call": Pair("apply_patch", "operation", "apply_patch_call_output"),
}
OUTPUTS = {pair.output: pair for pair in CALLS.values()}
_CALL_OF_KIND = {pair.kind: (name, pair) for name, pair in CALLS.items()}
_OPAQUE_USER_ITEMS = frozenset(
    {
        "mcp_approval_response", "tool_search_output", "program_output", "multi_agent_call_output",
        "additional_tools", "compaction_trigger", "configuration_update",
    }
)  # fmt: skip
"""Items that do not come from the model and are passed through unread."""
_OPAQUE_MODEL_ITEMS = frozenset(
    {
        "web_search_call", "file_search_call", "image_generation_call", "code_interpreter_call",
        "mcp_call", "mcp_list_tools", "mcp_approval_request", "tool_search_call", "program",
        "multi_agent_call", "compaction", "agent_message", "item_reference",
    }
)  # fmt: skip
"""Items that the model or a hosted tool made and that are passed through unread."""
ITEMS = frozenset({*CALLS, *OUTPUTS, *_OPAQUE_USER_ITEMS, *_OPAQUE_MODEL_ITEMS, "reasoning"})
TRAITS = Traits(
    messages_key="input", system_keys=("instructions",), content_keys=("content", "output"),
    thinking_keys=("reasoning",), stored_keys=("previous_response_id", "conversation", "prompt"),
    types_by_role=True, image_shapes=SHAPES, messages_are_items=True,
    item_types=ITEMS, keys_by_type=ANSWER_PART_KEYS,
)  # fmt: skip
_ITEM_PARTS = ("input_text", "input_image", "input_file", "output_text")
_ITEM_KEYS = frozenset(
    {
        "type",
        "call_id",
        "output",
        "id",
        "status",
        "name",
        "arguments",
        "input",
        "action",
        "operation",
        "summary",
    }
)


def is_item(native: dict[str, object]) -> bool:
    """Return whether an item has a type or parts that only this dialect has."""
    kind = native.get("type")
    if isinstance(kind, str) and kind in ITEMS:
        return True
    return kind == "message" and has_item_parts(native)


def has_item_parts(native: dict[str, object]) -> bool:
    """Return whether a message holds parts that only this dialect has."""
    content = native.get("content")
    parts = content if isinstance(content, list) else []
    return any(isinstance(part, dict) and part.get("type") in _ITEM_PARTS for part in parts)


def cache_key() -> str:
    """Return the name of the dialect: all transcripts share the cache of known structures."""
    return NAME


_OUTPUT = _TEXT = 3
_CALL = _REASONING = _ANSWER = 4
_CALL_WITH_ID = 5
"""Numbers of keys of common items and of a text in them."""


def sketch(native: Native, checker: Sketch) -> object:
    """Return a value shared by items of one common structure; None for any other.

    Common are function calls, their outputs, texts of the model without annotations, and reasoning
    with encrypted content and no summary.
    """
    if not isinstance(native, dict):
        return None
    kind, size = native.get("type"), len(native)
    if kind == "function_call":
        is_usual = _is_usual_call(native, checker)
    elif kind == "function_call_output":
        is_usual = (
            size == _OUTPUT
            and checker.is_id(native.get("call_id"))
            and checker.is_text(native.get("output"))
        )
    elif kind == "reasoning":
        is_usual = (
            size == _REASONING
            and native.get("summary") == []
            and checker.is_id(native.get("id"))
            and checker.is_signature(native.get("encrypted_content"))
        )
    else:
        return _form_of_answer(native, checker) if kind == "message" and size == _ANSWER else None
    return (kind, size) if is_usual else None


def _is_usual_call(item: dict[str, object], checker: Sketch) -> bool:
    if len(item) != _CALL and not (len(item) == _CALL_WITH_ID and checker.is_id(item.get("id"))):
        return False
    return (
        checker.is_id(item.get("call_id"))
        and checker.is_name(item.get("name"))
        and checker.is_arguments(item.get("arguments"))
    )


def _form_of_answer(item: dict[str, object], checker: Sketch) -> object:
    """Return the number of texts of an answer that has an id and no annotations."""
    content = item.get("content")
    if item.get("role") != "assistant" or not isinstance(content, list):
        return None
    for part in content:
        if not isinstance(part, dict) or len(part) != _TEXT or part.get("annotations") != []:
            return None
        if part.get("type") != "output_text" or not checker.is_text(part.get("text")):
            return None
    return ("message", len(content)) if checker.is_id(item.get("id")) else None


def read(native: Native) -> Message:
    """Read one item. Never raises."""
    if not isinstance(native, dict):
        text = (Text(native),) if isinstance(native, str) else (Opaque(native),)
        return Message(Role.USER, text, native)
    kind = kind_of_item(native)
    if isinstance(kind, str) and kind in ITEMS:
        return _read_item(native, kind)
    if foreign.is_chat(native) or foreign.has_blocks(native):
        return foreign.read(native)
    if native and "role" not in native and "content" not in native:
        return Message(Role.USER, (Opaque(native),), native, Role.USER)
    spelling = native.get("role")
    own = isinstance(spelling, str) and (spelling not in ALIASES or ALIASES[spelling] == spelling)
    own = own and native.get("type", "message") == "message"
    return Message(
        role_of(native), read_content(native.get("content")), native, spelling if own else None
    )


def _read_item(native: dict[str, object], kind: str) -> Message:
    if pair := CALLS.get(kind):
        call = ToolCall(
            native.get("call_id"),
            native.get("name"),
            native.get(pair.arguments),
            native=native,
            kind=pair.kind,
        )
        return Message(Role.ASSISTANT, (call,), native, Role.ASSISTANT)
    if pair := OUTPUTS.get(kind):
        call_id = call_id_of_output(native)
        result = ToolResult(call_id, _read_output(native, pair), native=native, kind=pair.kind)
        return Message(Role.TOOL, (result,), native, Role.TOOL)
    if kind == "reasoning":
        encrypted = native.get("encrypted_content")
        thought = Thinking(
            reasoning_text(native),
            encrypted if isinstance(encrypted, str) else None,
            location="own",
            native=native,
        )
        return Message(Role.ASSISTANT, (thought,), native, Role.ASSISTANT)
    role = Role.USER if kind in _OPAQUE_USER_ITEMS else Role.ASSISTANT
    return Message(role, (Opaque(native),), native, role)


def _read_output(native: dict[str, object], pair: Pair) -> tuple[Part, ...]:
    output = native.get("output")
    if pair.kind in ("function", "custom") or isinstance(output, str):
        return read_content(output)
    if isinstance(output, dict) and "image_url" in output:
        return (Media(output),)
    return () if output is None else (Opaque(output),)


def write(message: Message) -> Native:
    """Write one item; an unchanged item returns its native object."""
    return foreign.write_if_changed(message, read, _build_native)


def _build_native(message: Message) -> dict[str, object]:
    native = message.native
    base = message.kept_keys
    only = message.parts[0] if len(message.parts) == 1 else None
    if isinstance(only, ToolCall) and message.is_assistant:
        return _write_call(only, message.omitted_keys)
    if isinstance(only, ToolResult):
        return _write_result(only, message.omitted_keys)
    if isinstance(only, Thinking | Opaque) and only.native is native and isinstance(native, dict):
        return base
    kind = base.get("type")
    if isinstance(kind, str) and kind in ITEMS:
        base = {key: value for key, value in base.items() if key not in _ITEM_KEYS}
    elif "type" in base and kind != "message":
        base["type"] = "message"
    role: object = Role.USER if message.role is Role.TOOL else message.role
    if message.native_role not in (None, message.role):
        role = message.native_role
    out: dict[str, object] = {"role": str(role) if isinstance(role, Role) else role}
    out |= {key: value for key, value in base.items() if key != "role"}
    writer = _write_output_part if message.is_assistant else _write_input_part
    if message.is_generated and not message.is_assistant:
        writer = _write_new_part
    out["content"] = write_content(message.parts, out.get("content"), writer)
    return out


def _write_output_part(part: Part) -> Native:
    return _write_part(part, "output_text")


def _write_input_part(part: Part) -> Native:
    return _write_part(part, "input_text")


def _write_new_part(part: Part) -> Native:
    """Write a part of a new message: an image gets the ``detail`` that the SDK's type requires.

    Servers that check bodies with this type refuse an image without it. An output needs none.
    """
    native = _write_part(part, "input_text")
    if isinstance(native, dict) and native.get("type") == "input_image" and "detail" not in native:
        return {**native, "detail": "auto"}
    return native


def _write_part(part: Part, kind: str) -> Native:
    native = part.native
    match part:
        case Text(text):
            if not isinstance(native, dict):
                return {"type": kind, "text": text}
            same = native.get("text") == text and native.get("type") in (
                "input_text",
                "output_text",
            )
            return native if same else {**native, "type": kind, "text": text}
        case Thinking(text, signature):
            return (
                native
                if native is not None
                else {"type": "thinking", "thinking": text, "signature": signature}
            )
        case Media() if isinstance(native, dict) and native.get("type") == "computer_screenshot":
            return {**native, "type": "input_image"}
        case ToolResult() | ToolCall():
            return {**foreign.as_input_text(part), "type": kind}
        case _:
            return native


def _write_call(call: ToolCall, without: frozenset[str]) -> dict[str, object]:
    name, pair = _CALL_OF_KIND.get(call.kind, _CALL_OF_KIND["function"])
    native = (
        call.native if isinstance(call.native, dict) and call.native.get("type") == name else {}
    )
    fields = {"call_id": call.id} if call.is_hosted else {"call_id": call.id, "name": call.name}
    fields |= {} if call.is_hosted else {pair.arguments: call.arguments}
    out = {"type": name, **{k: v for k, v in native.items() if k not in without}}
    return out | {key: value for key, value in fields.items() if value is not None or key in native}


def _write_result(result: ToolResult, without: frozenset[str]) -> dict[str, object]:
    _, pair = _CALL_OF_KIND.get(result.kind, _CALL_OF_KIND["function"])
    native = (
        result.native
        if isinstance(result.native, dict) and result.native.get("type") in tuple(OUTPUTS)
        else {}
    )
    out = {**native, "type": pair.output}
    out = {key: value for key, value in out.items() if key not in without}
    if result.call_id is not None or "call_id" in native:
        out["call_id"] = result.call_id
    if not result.is_hosted:
        out["output"] = write_content(result.content, native.get("output"), _write_input_part)
    return out


def fill_content(native: dict[str, object]) -> dict[str, object] | None:
    """Return the item with empty content or output if it is null or missing.

    None if the item has one or needs none. If an output has ``content``, as in Chat Completions,
    this becomes its output: texts unchanged, other values as JSON.
    """
    kind = kind_of_item(native)
    if kind in ("function_call_output", "custom_tool_call_output"):
        if native.get("output") is not None:
            return None
        content = native.get("content")
        kept = {key: value for key, value in native.items() if key != "content"}
        return {**kept, "output": _as_output(content) or ""}
    if isinstance(kind, str) and kind in ITEMS:
        return None
    return {**native, "content": ""} if native.get("content") is None else None


def _as_output(content: object) -> object:
    parts = read_content(content)
    texts = [part.text for part in parts if isinstance(part, Text)]
    if len(texts) < len(parts) or any(text.startswith("data:") for text in texts):
        return jsontext.dumps(content)
    if isinstance(content, list):
        return [{"type": "input_text", "text": text} for text in texts]
    return content


def translate_foreign(message: Message) -> tuple[Message, ...]:
    """Convert a chat message or a message of Anthropic's blocks to items; else empty."""
    native = message.native
    if not isinstance(native, dict) or (
        isinstance(kind := native.get("type"), str) and kind in ITEMS
    ):
        return ()
    if not (foreign.has_blocks(native) or foreign.has_chat_parts(message)):
        return ()
    return tuple(foreign.split_items(message))


def remember(natives: Sequence[Native], memory: Memory) -> None:
    """Record item ids, whether there is reasoning and whether the provider stores other items."""
    for native in natives:
        if isinstance(native, dict):
            kind, item_id = kind_of_item(native), native.get("id")
            if isinstance(item_id, str):
                memory.item_ids.add(item_id)
            memory.has_reasoning |= kind == "reasoning"
            memory.has_stored_history |= kind == REFERENCE
