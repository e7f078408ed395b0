"""Reads turns, whose calls of tools have no ids, as messages, and writes repaired messages back.

A call is the JSON text of ``{"name", "arguments"}``, or of a list of these, after the thinking of
the model, if there is any. Turns of calls without a result between them are one message. Their
results are the next turns, in the order of the calls; a single result answers all of them, as in
LLaMA-Factory, which accepts no two results in a row. A result after a text answers a call that the
model wrote into this text, in the syntax of the model's template.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chatmend.data.loss_masks import find_changed_mask
from chatmend.data.open_calls import FIRST_OF_TEXT, OpenCalls, call_in_text
from chatmend.data.rows import QuarantineError
from chatmend.placeholders import CONTINUED

if TYPE_CHECKING:
    from chatmend.data.rows import Conversations

CALL_ROLES = ("function_call", "function-call", "tool_call")
RESULT_ROLES = ("observation", "tool", "function_response", "function-response", "tool_response")
_ROLES = {
    "system": "system",
    **dict.fromkeys(("human", "user"), "user"),
    **dict.fromkeys(("gpt", "assistant", "chatgpt", "bing", "bard", "model"), "assistant"),
    **dict.fromkeys(CALL_ROLES, "call"),
    **dict.fromkeys(RESULT_ROLES, "tool"),
}
_THOUGHT_AND_CALL = re.compile(r"(?s)\s*(?P<thought>(?:<think>.*?</think>)?\s*)(?P<call>.*)")
"""LLaMA-Factory's ``FunctionFormatter`` reads the JSON text after the thinking."""


@dataclass(frozen=True, slots=True)
class TurnKeys:
    """The keys and names that a layout uses for its turns."""

    role: str
    text: str
    user: str
    assistant: str
    call: str
    result: str

    def default_name(self, role: str) -> str:
        """Return the name of a role for a conversation that has no turn of this role."""
        names = {"user": self.user, "assistant": self.assistant, "tool": self.result}
        return {**names, "call": self.call}.get(role, role)


def repair_turns(turns: list[Any], keys: TurnKeys, conversations: Conversations) -> list[Any]:
    """Return the repaired turns; turns whose message is unchanged are the same objects.

    Raises:
        QuarantineError: a turn cannot be read, or the turns cannot hold the repaired messages.
    """
    out = _repair_once(turns, keys, conversations)
    if out is turns:
        return turns
    stable = _repair_once(out, keys, conversations)
    if stable is not out and _repair_once(stable, keys, conversations) is not stable:
        raise QuarantineError("the repaired turns would be read as other messages each time")
    return stable


def _repair_once(turns: list[Any], keys: TurnKeys, conversations: Conversations) -> list[Any]:
    """Repair the messages as which the turns are read.

    The result can be read as other messages: without an empty answer between them, turns of calls
    are one message.
    """
    most = conversations.calls_per_message(lambda most: _Reader(turns, keys, most).messages)
    read = _Reader(turns, keys, most)
    done = conversations.repair(read.messages)
    if done is read.messages:
        return turns
    out = _Writer(read).write(done)
    if out == turns:
        return turns
    if not read.has_thinking_in(out):
        raise QuarantineError("the repair converts a call to text without the thinking before it")
    if (error := find_changed_mask(turns, out, keys.role, keys.text)) is not None:
        raise QuarantineError(error)
    return out


class _Reader:
    """Turns and the messages that they are read as."""

    def __init__(self, turns: list[Any], keys: TurnKeys, most: int) -> None:
        """Read the turns for a target that accepts so many calls in a message.

        Calls of texts and shared results are added only where they do not become visible: without
        tools they become texts, and if calls are separated, each needs its own result.
        """
        self.turns, self.keys, self._takes_tools = turns, keys, most > 0
        self.messages: list[dict[str, Any]] = []
        self.sources: list[list[int]] = []
        """For each message, the numbers of its turns."""
        self.thoughts: dict[int, str] = {}
        """What is before the calls of a turn, by the number of the turn; it is never changed."""
        self.result_turns: dict[str, int] = {}
        """The turn of a result, by the id of its call."""
        self.shared: set[str] = set()
        """The ids of calls whose result is that of the first call of their message."""
        self._calls = OpenCalls()
        for at, turn in enumerate(turns):
            self._read(role_of(turn, at, keys), turn.get(keys.text), at)
        if most > 1:
            self._add_shared_results()

    def has_thinking_in(self, turns: list[Any]) -> bool:
        """Return whether all thinking before calls is in these turns."""
        texts = [turn.get(self.keys.text) for turn in turns]
        return all(
            any(isinstance(text, str) and thought.strip() in text for text in texts)
            for thought in self.thoughts.values()
        )

    def _read(self, role: str, value: object, at: int) -> None:
        if role == "call":
            self._read_call(value, at)
        elif role == "tool":
            call_id = self._call_id_of_result(at)
            self.result_turns[call_id] = at
            self._append({"role": role, "content": value, "tool_call_id": call_id}, at)
        else:
            message = {"role": role, "content": value}
            self._calls.read_text(role, value, message)
            self._append(message, at)

    def _append(self, message: dict[str, Any], at: int) -> None:
        self.messages.append(message)
        self.sources.append([at])

    def _read_call(self, value: object, at: int) -> None:
        thought, calls = _read_calls(value, at)
        self.thoughts[at] = thought
        last = self.messages[-1] if self.messages else {}
        continues = "tool_calls" in last and last["tool_calls"][0]["id"][0] != FIRST_OF_TEXT
        self._calls.add(calls, continues=continues)
        if continues:
            last["tool_calls"] += calls
            self.sources[-1].append(at)
            last["content"] = self._thinking(self.sources[-1])
        else:
            content = self._thinking([at])
            self._append({"role": "assistant", "content": content, "tool_calls": calls}, at)

    def _thinking(self, numbers: list[int]) -> str | None:
        """Return the thinking of turns whose calls become text; None if their turns keep it."""
        thoughts = (self.thoughts[at].strip() for at in numbers if not self._takes_tools)
        return "\n\n".join(filter(None, thoughts)) or None

    def _call_id_of_result(self, at: int) -> str:
        if (call_id := self._calls.answered_by_result()) is not None:
            return call_id
        text: dict[str, Any] | None = self._calls.text
        if text is None or not self._takes_tools:
            return f"r{at:08d}"
        call = call_in_text(at)
        text.setdefault("tool_calls", []).append(call)
        return str(call["id"])

    def _add_shared_results(self) -> None:
        """Add a result for each call that has none because one turn has the results of all."""
        messages, sources = self.messages, self.sources
        self.messages, self.sources = [], []
        for at, message in enumerate(messages):
            self.messages.append(message)
            self.sources.append(sources[at])
            ids = [call["id"] for call in message.get("tool_calls", ())]
            answered = {one.get("tool_call_id") for one in messages[at + 1 : at + 3]}
            is_last = at + 1 == len(messages)
            if len(ids) == 1 or is_last or not answered.isdisjoint(ids[1:]):
                continue
            self.shared |= {*ids[1:]}
            for call_id in ids[1:]:
                self.messages.append({"role": "tool", "tool_call_id": call_id, "content": "-"})
                self.sources.append([])


def role_of(turn: object, at: int, keys: TurnKeys) -> str:
    """Return the role of a turn: that of a message, or ``call``.

    Raises:
        QuarantineError: the turn has none, or one that is not known.
    """
    name = turn.get(keys.role) if isinstance(turn, dict) else None
    role = _ROLES.get(name.strip().lower()) if isinstance(name, str) else None
    if role is None:
        raise QuarantineError(
            f"turn {at} has an unknown role under {keys.role!r}; known: {', '.join(_ROLES)}"
        )
    return role


def _read_calls(value: object, at: int) -> tuple[str, list[dict[str, Any]]]:
    """Return the thinking before the calls of a turn, and the calls."""
    thought, parsed = "", value
    if isinstance(value, str) and (found := _THOUGHT_AND_CALL.fullmatch(value)):
        thought = found["thought"]
        try:
            parsed = json.loads(found["call"])
        except (ValueError, RecursionError):
            parsed = None
    listed = parsed if isinstance(parsed, list) else [parsed]
    if not listed or not all(
        isinstance(c, dict) and isinstance(c.get("name"), str) for c in listed
    ):
        raise QuarantineError(f"turn {at} is not the JSON text of a call with a name")
    ids = (f"c{at:05d}{number:03d}" for number in range(len(listed)))  # valid for all targets
    return thought, [
        _call(call_id, call["name"], _arguments(call))
        for call_id, call in zip(ids, listed, strict=True)
    ]


def _call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def _arguments(call: dict[str, Any]) -> str:
    arguments = call.get("arguments", call.get("parameters"))
    if isinstance(arguments, str):
        return arguments
    return json.dumps({} if arguments is None else arguments, ensure_ascii=False)


class _Writer:
    """Writes repaired messages as turns."""

    def __init__(self, read: _Reader) -> None:
        self._read, self._turns, self._keys = read, read.turns, read.keys
        roles = [role_of(turn, at, self._keys) for at, turn in enumerate(self._turns)]
        self._roles = roles
        pairs = zip(reversed(roles), reversed(self._turns), strict=True)
        self._names = {role: turn[self._keys.role] for role, turn in pairs}

    def write(self, done: list[dict[str, Any]]) -> list[Any]:
        """Return the turns of repaired messages; those of unchanged messages are the same."""
        read = self._read
        positions = {id(message): at for at, message in enumerate(read.messages)}
        out: list[Any] = []
        changed: list[dict[str, Any]] = []
        start = 0
        for message in done:
            at = positions.get(id(message))
            if at is None:
                changed.append(message)
                continue
            out += self._write_changed(changed, start, max(start, at))
            out += [self._turns[number] for number in read.sources[at]]
            start, changed = max(start, at + 1), []
        return out + self._write_changed(changed, start, len(read.messages))

    def _write_changed(self, changed: list[dict[str, Any]], start: int, stop: int) -> list[Any]:
        """Return the turns of messages that replace those from ``start`` to ``stop``."""
        numbers = [source[0] for source in self._read.sources[start:stop] if source]
        changed = [one for one in changed if one.get("tool_call_id") not in self._read.shared]
        pairs: list[int | None] = [*numbers] if len(changed) == len(numbers) else []
        pairs = pairs or [self._first_of_role(message["role"], numbers) for message in changed]
        out: list[Any] = []
        for message, number in zip(changed, pairs, strict=True):
            calls = _groups_by_turn(message)
            if calls:
                text_turn = self._first_of_role("assistant", numbers)
                old = {} if text_turn is None else self._turns[text_turn]
                out += self._write_calls(message, calls, old)
            elif message.get("content") or "tool_calls" not in message:
                out.append(self._write_text(message, self._old_turn(message, number)))
        return out

    def _old_turn(self, message: dict[str, Any], number: int | None) -> dict[str, Any]:
        """Return the turn whose other keys a message keeps; empty for a new message."""
        found = self._read.result_turns.get(message.get("tool_call_id", ""), number)
        if found is None or message.get("content") == CONTINUED:
            return {}
        return self._turns[found]  # type: ignore[no-any-return]

    def _first_of_role(self, role: str, numbers: list[int]) -> int | None:
        """Return the first turn of a role; None for results, which their id identifies."""
        alike = (number for number in numbers if self._roles[number] == role != "tool")
        return next(alike, None)

    def _write_text(self, message: dict[str, Any], old: dict[str, Any]) -> dict[str, Any]:
        """Return the turn of a text or a result with the other keys of its old turn."""
        role, content = message["role"], message.get("content")
        name = old.get(self._keys.role)
        if not isinstance(name, str) or _ROLES.get(name.strip().lower()) != role:
            name = self._name(role)
        is_list = isinstance(old.get(self._keys.text), list) and isinstance(content, list)
        return {
            **old,
            self._keys.role: name,
            self._keys.text: content if is_list else text(content),
        }

    def _name(self, role: str) -> str:
        return str(self._names.get(role, self._keys.default_name(role)))

    def _write_calls(
        self,
        message: dict[str, Any],
        calls: dict[int, list[dict[str, Any]]],
        old: dict[str, Any],
    ) -> list[Any]:
        """Return the turns of a message with calls, by the number of the turn that had them.

        The message may be joined with the text of the turn ``old``.
        """
        out: list[Any] = []
        if message.get("content"):
            out.append(self._write_text({**message, "role": "assistant"}, old))
        for at, listed in calls.items():
            written = [_write_call(call) for call in listed]
            value = json.dumps(written[0] if len(written) == 1 else written, ensure_ascii=False)
            old = self._turns[at] if 0 <= at < len(self._turns) else {}
            name = old.get(self._keys.role, self._name("call"))
            value = f"{self._read.thoughts.get(at, '')}{value}"
            out.append({**old, self._keys.role: name, self._keys.text: value})
        return out


def _groups_by_turn(message: dict[str, Any]) -> dict[int, list[dict[str, Any]]]:
    """Return the calls of a message, without those in its text, by the number of their turn.

    The number is -1 for calls of which no turn is known.
    """
    groups: dict[int, list[dict[str, Any]]] = {}
    for call in message.get("tool_calls", ()):
        found = re.fullmatch(r"(.)(\d{5})\d{3}", str(call.get("id")))
        if found and found[1] == FIRST_OF_TEXT:
            continue
        groups.setdefault(int(found[2]) if found else -1, []).append(call)
    return groups


def _write_call(call: dict[str, Any]) -> dict[str, Any]:
    function = call["function"]
    try:
        arguments = json.loads(function["arguments"])
    except (ValueError, RecursionError):
        arguments = function["arguments"]
    return {"name": function["name"], "arguments": arguments}


def text(content: object) -> str:
    """Return content as the text of a turn.

    Raises:
        QuarantineError: it has a part that is not a text.
    """
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(
        isinstance(part, dict) and isinstance(part.get("text"), str) for part in content
    ):
        return "\n\n".join(part["text"] for part in content)
    raise QuarantineError("the repair needs content that a turn cannot hold")
