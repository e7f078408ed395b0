"""ShareGPT: ``conversations`` of turns with ``from`` and ``value``.

A call of a tool is the JSON text of ``{"name", "arguments"}``, or of a list of these, and has no
id. Its result is the next turn from ``observation`` or ``tool``. Turns without a repair stay
unchanged, with the names that the data set uses for its roles.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from chatmend.data.formats.reading import is_list_of_objects
from chatmend.data.rows import QuarantineError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatmend.data.rows import Conversations

NAME = "sharegpt"
LAYOUT = "conversations: [{from, value}]"
_LISTS = ("conversations", "conversation", "messages")
KEYS = (*_LISTS, "system")
_USER, _ASSISTANT = ("human", "user"), ("gpt", "assistant", "chatgpt", "bing", "bard", "model")
_CALL = ("function_call", "function-call", "tool_call")
_RESULT = ("observation", "tool", "function_response", "function-response", "tool_response")
_ROLES = {
    "system": "system",
    **dict.fromkeys(_USER, "user"),
    **dict.fromkeys(_ASSISTANT, "assistant"),
    **dict.fromkeys(_CALL, "call"),
    **dict.fromkeys(_RESULT, "tool"),
}
_DEFAULTS = {"system": "system", "user": "human", "assistant": "gpt", "tool": "observation"}


def _key(row: Mapping[str, Any]) -> str | None:
    for key in _LISTS:
        turns = row.get(key)
        if is_list_of_objects(turns) and any(
            isinstance(turn, dict) and "from" in turn for turn in turns
        ):
            return key
    return None


def matches(row: Mapping[str, Any]) -> bool:
    """Return whether a row has a list of turns with ``from``."""
    return _key(row) is not None


def repair(row: dict[str, Any], conversations: Conversations) -> dict[str, Any]:
    """Repair the turns as messages; turns whose message is unchanged are the same objects."""
    key = _key(row) or _LISTS[0]
    turns = row[key]
    messages = _read(turns)
    done = conversations.repair(messages)
    becomes = turns if done is messages else _write(done, messages, turns)
    return row if becomes is turns else {**row, key: becomes}


def _read(turns: list[Any]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    pending: list[str] = []
    """The ids of the calls that have no result yet."""
    for at, turn in enumerate(turns):
        role = _role(turn, at)
        value = turn.get("value")
        message: dict[str, Any] = {"role": role, "content": value}
        if role == "call":
            calls = _read_calls(value, at)
            pending = [call["id"] for call in calls]
            message = {"role": "assistant", "content": None, "tool_calls": calls}
        elif role == "tool":
            message["tool_call_id"] = pending.pop(0) if pending else f"r{at:08d}"
        messages.append(message)
    return messages


def _role(turn: object, at: int) -> str:
    name = turn.get("from") if isinstance(turn, dict) else None
    role = _ROLES.get(name.strip().lower()) if isinstance(name, str) else None
    if role is None:
        raise QuarantineError(
            f"turn {at} has an unknown role under 'from'; known: {', '.join(_ROLES)}"
        )
    return role


def _read_calls(value: object, at: int) -> list[dict[str, Any]]:
    try:
        parsed = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        parsed = None
    listed = parsed if isinstance(parsed, list) else [parsed]
    if not listed or not all(
        isinstance(c, dict) and isinstance(c.get("name"), str) for c in listed
    ):
        raise QuarantineError(f"turn {at} is not the JSON text of a call with a name")
    return [
        {
            "id": f"c{at:05d}{number:03d}",  # valid for all targets
            "type": "function",
            "function": {"name": call["name"], "arguments": _arguments(call)},
        }
        for number, call in enumerate(listed)
    ]


def _arguments(call: dict[str, Any]) -> str:
    arguments = call.get("arguments", call.get("parameters"))
    if isinstance(arguments, str):
        return arguments
    return json.dumps({} if arguments is None else arguments, ensure_ascii=False)


def _write(
    done: list[dict[str, Any]], messages: list[dict[str, Any]], turns: list[Any]
) -> list[Any]:
    """Return the turns of repaired messages; those of unchanged messages are the same objects."""
    positions = {id(message): at for at, message in enumerate(messages)}
    names = {_role(turn, at): turn["from"] for at, turn in reversed([*enumerate(turns)])}
    out: list[Any] = []
    for at, message in enumerate(done):
        if (known := positions.get(id(message))) is not None:
            out.append(turns[known])
        elif len(done) == len(messages) and _differs_in_text(message, messages[at]):
            out.append({**turns[at], "value": _text(message.get("content"))})
        else:
            out += _write_message(message, names)
    return turns if out == turns else out


def _differs_in_text(message: dict[str, Any], old: dict[str, Any]) -> bool:
    return message["role"] == old["role"] and "tool_calls" not in {**message, **old}


def _write_message(message: dict[str, Any], names: dict[str, str]) -> list[Any]:
    """Return the turns of a message that the repair has written."""
    role, content, calls = message["role"], message.get("content"), message.get("tool_calls")
    out: list[Any] = []
    if content or not calls:
        out.append({"from": names.get(role, _DEFAULTS.get(role, role)), "value": _text(content)})
    if calls:
        written = [_write_call(call) for call in calls]
        value = json.dumps(written[0] if len(written) == 1 else written, ensure_ascii=False)
        out.append({"from": names.get("call", _CALL[0]), "value": value})
    return out


def _write_call(call: dict[str, Any]) -> dict[str, Any]:
    function = call["function"]
    try:
        arguments = json.loads(function["arguments"])
    except (ValueError, RecursionError):
        arguments = function["arguments"]
    return {"name": function["name"], "arguments": arguments}


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(
        isinstance(part, dict) and isinstance(part.get("text"), str) for part in content
    ):
        return "\n\n".join(part["text"] for part in content)
    raise QuarantineError("the repair needs content that a turn cannot hold")
