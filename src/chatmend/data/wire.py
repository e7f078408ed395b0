"""Converts stored messages to what a request would contain, and back after the repair.

Tables give every message the same keys, and fill those that a message lacks with null. This is no
defect, so nulls are removed before the repair. Training sets store the arguments of tool calls as
objects, because chat templates read them so; requests contain JSON texts. If a chat template reads
the messages, objects are converted before the repair, and back after it. Ids that calls and results
lack are added for the repair only, if the target's template does not read them.
"""

from __future__ import annotations

import json
from typing import Any

from chatmend.data.temporary_ids import TemporaryIds
from chatmend.transcript import is_unchanged

_CALLS = "tool_calls"


class StoredMessages:
    """A list of stored messages with the messages of a request that correspond to them."""

    def __init__(
        self,
        stored: list[Any],
        *,
        has_nulls: bool = True,
        for_template: bool = True,
        needs_ids: bool = True,
    ) -> None:
        """Convert each message, where necessary.

        Args:
            stored: the messages.
            has_nulls: whether keys that are absent may be null.
            for_template: whether a chat template reads the messages. It takes objects as arguments
                and empty lists of calls, which are defects in a request.
            needs_ids: whether calls and results must have ids.
        """
        self.stored = stored
        self.has_object_arguments = False
        """Whether the arguments of a call are an object; then those of new calls must be, too."""
        plain = without_nulls(stored) if has_nulls else stored
        self._temporary = TemporaryIds([] if needs_ids else plain)
        if not needs_ids:
            plain = self._temporary.messages
        self.messages: list[Any] = plain
        if not for_template:
            return
        for at, message in enumerate(plain):
            if message.__class__ is dict and _CALLS in message:
                sent = self._with_sent_calls(message)
                if sent is not message:
                    if self.messages is stored:
                        self.messages = list(plain)
                    self.messages[at] = sent

    def _with_sent_calls(self, message: dict[str, Any]) -> dict[str, Any]:
        calls = message[_CALLS]
        if calls.__class__ is not list:
            return message
        if not calls:
            # Tables and templates treat an empty list of calls like an absent one.
            return {key: value for key, value in message.items() if key != _CALLS}
        for call in calls:
            function = call.get("function") if call.__class__ is dict else None
            if function.__class__ is dict and function.get("arguments").__class__ is dict:
                self.has_object_arguments = True
                return {**message, _CALLS: list(map(_with_text_arguments, calls))}
        return message

    def restore(self, messages: list[Any]) -> list[Any]:
        """Return repaired messages in their stored form; the same list if nothing changed."""
        stored = {id(new): old for new, old in zip(self.messages, self.stored, strict=True)}
        out = [stored.get(id(message), message) for message in messages]
        if self.has_object_arguments:
            given = set(map(id, self.stored))
            out = [m if id(m) in given else _with_object_arguments(m) for m in out]
        out = self._temporary.removed(out, self.stored)
        return self.stored if is_unchanged(out, self.stored) else out


def without_nulls(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return a value without the keys whose value is null; the same object if there are none."""
    if value.__class__ is dict:
        for held in value.values():
            if held.__class__ is not str:
                break
        else:
            return value
        plain = {
            key: held if held.__class__ is str else without_nulls(held)
            for key, held in value.items()
            if held is not None
        }
        same = len(plain) == len(value) and is_unchanged([*plain.values()], [*value.values()])
        return value if same else plain
    if value.__class__ is list:
        items = list(map(without_nulls, value))
        return value if is_unchanged(items, value) else items
    return value


def _with_text_arguments(call: Any) -> Any:  # noqa: ANN401 - calls can be malformed
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("arguments"), dict):
        return call
    text = json.dumps(function["arguments"], ensure_ascii=False)
    return {**call, "function": {**function, "arguments": text}}


def _with_object_arguments(message: Any) -> Any:  # noqa: ANN401 - messages can be malformed
    calls = message.get(_CALLS) if isinstance(message, dict) else None
    if not isinstance(calls, list):
        return message
    return {**message, _CALLS: list(map(_as_object_call, calls))}


def _as_object_call(call: Any) -> Any:  # noqa: ANN401
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("arguments"), str):
        return call
    try:
        arguments = json.loads(function["arguments"])
    except (ValueError, RecursionError):
        return call
    if not isinstance(arguments, dict):
        return call
    return {**call, "function": {**function, "arguments": arguments}}
