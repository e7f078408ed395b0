"""Gives calls and results without ids temporary ones, so that a repair can pair them.

TRL's format has no ids: chat templates pair calls and results by their order. See "Tool Calling" in
TRL's documentation of dataset formats.
"""

from __future__ import annotations

from typing import Any

from chatmend.data.open_calls import OpenCalls, call_in_text

_CALLS, _RESULT_ID = "tool_calls", "tool_call_id"


class TemporaryIds:
    """The messages of a conversation that has no ids, with ids; these are removed again."""

    def __init__(self, messages: list[Any]) -> None:
        """Pair each result with the call that it answers, as ``OpenCalls`` does."""
        self.messages = messages
        self._ids: set[str] = set()
        self._in_texts: set[str] = set()
        """The ids of calls that are only in a text."""
        self._calls = OpenCalls()
        if any(map(_has_id, messages)) or not any(map(_is_exchange, messages)):
            return
        self.messages = list(messages)
        for at, message in enumerate(messages):
            if isinstance(message, dict):
                self._add(at, message)

    def _add(self, at: int, message: dict[str, Any]) -> None:
        role = message.get("role")
        if message.get(_CALLS):
            calls = [_with_id(call, at, number) for number, call in enumerate(message[_CALLS])]
            self._ids |= {call["id"] for call in calls}
            self.messages[at] = {**message, _CALLS: calls}
            self._calls.add(calls)
        elif role == "tool":
            call_id = self._call_id_for(message, at)
            if call_id is not None:
                self._ids.add(call_id)
                self.messages[at] = {**message, _RESULT_ID: call_id}
        else:
            self._calls.read_text(role, message.get("content"), at)

    def _call_id_for(self, result: dict[str, Any], at: int) -> str | None:
        """Return the id of the call that a result answers; None if there is none."""
        call_id = self._calls.answered_by_result(result.get("name"))
        text: int | None = self._calls.text
        if call_id is not None or text is None:
            return call_id
        call = call_in_text(at)
        self._in_texts.add(call["id"])
        message = self.messages[text]
        self.messages[text] = {**message, _CALLS: [*message.get(_CALLS, ()), call]}
        return str(call["id"])

    def removed(self, messages: list[Any], stored: list[Any]) -> list[Any]:
        """Return repaired messages without temporary ids; ``stored`` if nothing else changed."""
        if not self._ids:
            return messages
        out = [found for one in messages if (found := self._without_ids(one)) is not None]
        return stored if out == stored else out

    def _without_ids(self, message: Any) -> Any:  # noqa: ANN401 - messages can be malformed
        """Return a message without temporary ids; None if it had only calls of a text."""
        if not isinstance(message, dict):
            return message
        if message.get(_RESULT_ID) in self._ids:
            return {key: value for key, value in message.items() if key != _RESULT_ID}
        calls = message.get(_CALLS)
        if not isinstance(calls, list) or self._ids.isdisjoint(map(_id, calls)):
            return message
        kept = [
            {key: value for key, value in call.items() if key != "id"}
            for call in calls
            if call["id"] not in self._in_texts
        ]
        rest = {key: value for key, value in message.items() if key != _CALLS}
        if kept:
            return {**message, _CALLS: kept}
        return rest if rest.get("content") else None


def _has_id(message: object) -> bool:
    """Return whether a message has the id of a call, or calls that cannot get one."""
    if not isinstance(message, dict):
        return False
    calls = message.get(_CALLS)
    if calls and not (isinstance(calls, list) and all(isinstance(call, dict) for call in calls)):
        return True
    return _RESULT_ID in message or any("id" in call for call in calls or ())


def _is_exchange(message: object) -> bool:
    return isinstance(message, dict) and bool(message.get(_CALLS) or message.get("role") == "tool")


def _with_id(call: dict[str, Any], at: int, number: int) -> dict[str, Any]:
    return {"id": f"c{at:05d}{number:03d}", **call}


def _id(call: object) -> str:
    return str(call.get("id")) if isinstance(call, dict) else ""
