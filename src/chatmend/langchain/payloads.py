"""What is in the payload that a partner package builds from repaired messages.

A converter may drop what messages can hold. Reasoning that the provider requires is added to the
payload. Items of the Responses API, which one message holds several of, are repaired in it. Every
repair is looked for in it; one that did not arrive is reported as not applied.
"""

from __future__ import annotations

import base64
import inspect
import json
import logging
import re
import weakref
from bisect import bisect_left
from collections import Counter
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from importlib import import_module
from itertools import accumulate, compress
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage

from chatmend.failures import reason_of
from chatmend.langchain.calls import SIGNATURES, calls_of, content_without_calls
from chatmend.langchain.fields import REASONING_KEY, reasoning_of
from chatmend.langchain.message_fields import kwargs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from chatmend.changes import Change
    from chatmend.langchain.partners import Destination

    _Convert = Callable[[list[BaseMessage]], Any]

_log = logging.getLogger("chatmend.langchain")
PAYLOADS = (
    "_get_request_payload",
    "_create_message_dicts",
    "_prepare_request",
    "_chat_params",
    "_prepare_inputs_and_payload",
    "_prepare_request_gemini",
    "_format_params",
)
"""Methods of partner classes that build a request, or its messages as one dict per message."""
_MESSAGES = frozenset({"messages", "input_"})
"""The names of their parameters for the messages."""
_SEARCHED = 50_000_000
"""How many characters are searched at most; what is not searched counts as sent."""
_SHORT, _LONG = 4, 500
"""Shorter texts must be a whole value; of longer texts, only the end is searched."""
_LABELS = frozenset(
    {"type", "id", "call_id", "mime_type", "media_type", "detail", "index", "status", "source_type"}
    | {"extras"}
)
"""Keys of blocks whose values converters translate or omit."""
_ARGUMENTS = frozenset({"args", "arguments", "input"})
"""Keys of blocks that hold the arguments of a call, which may be JSON text."""
_RESULT_ID = "tool_use_id"
"""The key of a result block that holds the id of its call."""


class ArrivedChanges:
    """Changes that were found in an earlier payload of the same model with the same options.

    They are recognised by the messages that they added, which are the same objects if a repair was
    made again.
    """

    __slots__ = ("_known",)

    def __init__(self) -> None:
        """Start with no changes."""
        self._known: dict[tuple[object, ...], list[weakref.ref[Any]]] = {}

    def has(self, change: Change) -> bool:
        """Return whether a change need not be looked for: it was found, or is in no message."""
        if change.where != "messages":
            return True
        added = _different(change.before, change.after)[1]
        references = self._known.get((change.code, *map(id, added)))
        return references is not None and [one() for one in references] == added

    def add(self, change: Change) -> None:
        """Remember a change that was found."""
        added = _different(change.before, change.after)[1]
        if added and all(isinstance(one, BaseMessage) for one in added):
            key = (change.code, *map(id, added))
            forget = partial(self._known.pop, key)
            self._known[key] = [weakref.ref(one, forget) for one in added]


class RepairedMessages(list[BaseMessage]):
    """Repaired messages; a hook that is called by another hook does not repair them again."""

    destination: Destination | None = None
    """Where they are sent, if the payload may be changed."""
    is_verified = False
    """Whether the repairs are looked for in the payload."""
    arrived: ArrivedChanges | None = None
    """The repairs that need not be looked for; None to look for each."""
    payloads: tuple[Any, ...] = ()
    """What methods of the model built from them; the last one is usually the request."""
    repair_items: Callable[[RepairedMessages, Any, _Convert], Any] | None = None
    """Repairs the items of a payload of the Responses API; None if it has no items."""
    item_changes: tuple[Change, ...] = ()
    """What it changed."""

    @classmethod
    def of(cls, messages: list[BaseMessage]) -> RepairedMessages:
        """Return messages whose payload will be searched."""
        new = cls(messages)
        new.is_verified = True
        return new

    def finish(self, payload: Any, convert: _Convert) -> Any:
        """Return the payload to send, with what the converter left out and with repaired items.

        It is kept for a search. ``convert`` builds the payload of other messages.
        """
        if self.destination is not None and self.destination.completes_answers:
            _complete_answers(self, self.destination, payload)
        if self.repair_items is not None:
            payload = self.repair_items(self, payload, convert)
        self.payloads = (*self.payloads, payload)
        return payload

    def positioned(
        self, changes: Iterable[Change], total: int, convert: _Convert, sources: Sequence[int]
    ) -> list[Change]:
        """Return changes of items with the positions of the messages that hold the items.

        ``sources``: for each message its position before the repair. The ``total`` items are
        counted from the last message on: a request that continues a stored response has only the
        last messages.
        """
        ends = list(accumulate(len(convert([message])["input"]) for message in reversed(self)))
        origins = [0, *sources]
        return [
            change
            if change.index is None
            else replace(change, index=origins[-1 - bisect_left(ends, total - change.index)])
            for change in changes
        ]


def _complete_answers(messages: RepairedMessages, destination: Destination, payload: Any) -> None:
    """Add to the answers in a payload what the provider requires and the converter left out.

    That is the reasoning, an empty text in place of null, and thought signatures of calls. Nothing
    is added if messages and payload cannot be matched.
    """
    sent = payload.get("messages") if isinstance(payload, dict) else payload
    sent = sent[0] if isinstance(sent, tuple) and sent else sent
    if not isinstance(sent, list) or len(sent) != len(messages):
        return
    answers = [
        (message, body)
        for message, body in zip(messages, sent, strict=True)
        if isinstance(message, AIMessage)
    ]
    if not all(isinstance(body, dict) and body.get("role") == "assistant" for _, body in answers):
        return
    for message, body in answers:
        if destination.needs_reasoning and (reasoning := reasoning_of(message)):
            body[REASONING_KEY] = reasoning
        if destination.needs_texts and body.get("tool_calls") and body.get("content") is None:
            body["content"] = ""
        if destination.needs_signatures:
            _add_signatures(message, body)


def _add_signatures(message: AIMessage, body: dict[str, Any]) -> None:
    """Add thought signatures to the calls of an answer, as Gemini's OpenAI-compatible API does."""
    signatures = kwargs_of(message).get(SIGNATURES)
    calls = body.get("tool_calls")
    if not isinstance(signatures, dict) or not isinstance(calls, list):
        return
    for call in calls:
        signature = signatures.get(call.get("id")) if isinstance(call, dict) else None
        if signature and "extra_content" not in call:
            call["extra_content"] = {"google": {"thought_signature": signature}}


def mark_unsent(
    changes: Iterable[Change], is_unsent: Callable[[Change], bool]
) -> tuple[Change, ...]:
    """Mark the changes for which a function returns true as not applied."""
    return tuple(_unsent(change) if is_unsent(change) else change for change in changes)


def verify(
    changes: tuple[Change, ...], sent: RepairedMessages, destination: Destination, model: object
) -> tuple[Change, ...]:
    """Mark the changes that are not in the payload as not applied, and log one warning for each.

    The payload is the one that was sent. If no method of the model builds it, or the model was not
    called yet, the partner's converter is called. If the payload cannot be read or does not hold
    the messages, the changes are returned unchanged.
    """
    if not sent.is_verified:
        return changes
    arrived = sent.arrived or ArrivedChanges()
    if not any(change.applied and not arrived.has(change) for change in changes):
        return changes
    kind = type(model).__qualname__
    try:
        payloads = sent.payloads or _convert(sent, destination, model)
        texts = (_PayloadText(payload, sent, destination) for payload in reversed(payloads))
        found = next((text for text in texts if text.holds_messages()), None)
        if found is None:
            return changes
        unsent = [change.applied and not found.contains(change) for change in changes]
        for change, is_unsent in zip(changes, unsent, strict=True):
            if change.applied and not is_unsent:
                arrived.add(change)
    except Exception as error:  # noqa: BLE001 - a failure here must not fail the call
        _warn(kind, f"the payload cannot be searched for the repairs: {reason_of(error)}")
        return changes
    for change in compress(changes, unsent):
        _warn(kind, f"the class does not send the repair {change.code} ({change.rule})")
    verdicts = iter(unsent)
    return mark_unsent(changes, lambda _: next(verdicts))


def _convert(
    messages: RepairedMessages, destination: Destination, model: object
) -> tuple[Any, ...]:
    """Return the payload that the partner's converter builds; nothing without a converter."""
    if destination.converter_function:
        module, _, name = destination.converter_function.partition(":")
        return (getattr(import_module(module), name)(list(messages)),)
    for name in PAYLOADS:
        if (parameter := parameter_of_messages(type(model), name)) is not None:
            given = {parameter: messages, "stop": None}
            return (getattr(model, name)(**given),)
    return ()


def parameter_of_messages(cls: type, attribute: str) -> str | None:
    """Return the parameter for the messages of a method of ``PAYLOADS``.

    None if the class has no such method. Its own attribute with the same name may be anything: a
    property, a coroutine function, or a method that does not take messages.
    """
    method = inspect.getattr_static(cls, attribute, None)
    if not inspect.isfunction(method) or inspect.iscoroutinefunction(method):
        return None
    code = inspect.unwrap(method).__code__
    names: tuple[str, ...] = code.co_varnames
    positional = names[1 : code.co_argcount]
    keyword_only = names[code.co_argcount :][: code.co_kwonlyargcount]
    for name in (*positional[:1], *keyword_only):
        if name in _MESSAGES:
            return name
    return "messages" if not positional and code.co_flags & inspect.CO_VARARGS else None


def _unsent(change: Change) -> Change:
    why = f"{change.why}; the partner package does not send this repair"
    return replace(change, why=why, applied=False) if change.applied else change


@lru_cache(maxsize=256)
def _warn(kind: str, fact: str) -> None:
    _log.warning("%s: %s; the report lists what was not sent as not applied", kind, fact)


class _PayloadText:
    """A payload as JSON text, in which the repairs are searched."""

    def __init__(
        self, payload: Any, messages: Sequence[BaseMessage], destination: Destination
    ) -> None:
        self._text = _as_json(payload)
        self._messages, self._destination = messages, destination
        self._budget = _SEARCHED
        self._unclaimed: dict[str, int] = {}

    def holds_messages(self) -> bool:
        """Return whether the payload has any text of the messages; headers have none."""
        texts = (text for message in self._messages for text in self._evidence(message))
        return any(self._count(self._text, text) for text in texts)

    def contains(self, change: Change) -> bool:
        """Return whether the texts, names, ids and data that a change added were sent.

        Of a change that only removed texts, whether they were not sent.
        """
        if change.where != "messages":
            return True
        before, after = (
            Counter([text for native in natives for text in self._evidence(native)])
            for natives in _different(change.before, change.after)
        )
        added, removed = after - before, before - after
        lost = [text for text in added if not self._claim(text)]
        return not lost and (bool(added) or not any(map(self._is_left, removed)))

    def _claim(self, text: str) -> bool:
        """Return whether the payload has a copy of a text that no earlier change has claimed.

        A text that a later change replaced is in neither the messages nor the payload.
        """
        if text not in self._unclaimed:
            self._unclaimed[text] = self._count(self._text, text)
        self._unclaimed[text] -= 1
        return self._unclaimed[text] >= 0 or (
            self._count(self._message_text, text) <= self._count(self._text, text)
        )

    def _is_left(self, text: str) -> bool:
        return (
            len(text) >= _SHORT
            and self._count(self._text, text) > 0
            and self._count(self._message_text, text) == 0
        )

    @cached_property
    def _message_text(self) -> str:
        return _as_json([list(self._evidence(message)) for message in self._messages])

    def _count(self, whole: str, text: str) -> int:
        """Count a text, also within JSON that is itself a text; of a long text, its end."""
        self._budget -= len(whole)
        if self._budget < 0:
            return len(whole)
        if len(text) < _SHORT:  # each form has its own quotes, so none is part of another
            value = _as_json(text)
            quoted = {value, _as_json(value)[1:-1], _as_json(json.dumps(text))[1:-1]}
            return sum(map(whole.count, quoted))
        end = text[-_LONG:]
        if end.isascii() and end.isprintable() and '"' not in end and "\\" not in end:
            return whole.count(end)  # it needs no escapes
        once = _as_json(end)[1:-1]
        forms = {once, _as_json(once)[1:-1], _as_json(json.dumps(end)[1:-1])[1:-1]}
        return max(map(whole.count, forms))

    def _evidence(self, native: Any) -> Iterator[str]:
        """Yield the texts of a message that a payload should contain."""
        if not isinstance(native, BaseMessage):
            return
        if isinstance(native, AIMessage):
            yield from self._leaves(content_without_calls(native))
            yield from self._evidence_of_answer(native)
            return
        yield from self._leaves(native.content)
        yield from self._sent_id(getattr(native, "tool_call_id", None))

    def _evidence_of_answer(self, message: AIMessage) -> Iterator[str]:
        for call in calls_of(message, reads_raw=self._destination.converter.spare_raw_calls):
            yield from self._leaves([call.name, _parsed(call.arguments)])
            yield from self._sent_id(call.id)
        signatures = kwargs_of(message).get(SIGNATURES)
        yield from self._leaves([reasoning_of(message)])
        yield from self._leaves(list(signatures.values()) if isinstance(signatures, dict) else None)

    def _leaves(self, value: object) -> Iterator[str]:
        stack = [value]
        while stack:
            item = stack.pop()
            if isinstance(item, str) and item:
                yield item.rpartition(";base64,")[2] if item.startswith("data:") else item
            elif isinstance(item, bytes):
                yield base64.b64encode(item).decode()
            elif isinstance(item, dict):
                stack += [
                    _parsed(item[key]) if key in _ARGUMENTS else item[key]
                    for key in item
                    if key not in _LABELS and key != _RESULT_ID
                ]
                stack += self._sent_id(item.get(_RESULT_ID))
            elif isinstance(item, list):
                stack += item

    def _sent_id(self, call_id: object) -> Iterator[str]:
        """Yield the id of a call, if the payload should contain it unchanged."""
        destination = self._destination
        if not (destination.sends_ids and isinstance(call_id, str) and call_id):
            return
        if not destination.id_pattern or re.fullmatch(destination.id_pattern, call_id):
            yield call_id


def _different(before: Sequence[Any], after: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return the messages on each side that are not the same objects on both sides."""
    known, kept = set(map(id, before)), set(map(id, after))
    return (
        [native for native in before if id(native) not in kept],
        [native for native in after if id(native) not in known],
    )


def _plain(value: Any) -> Any:
    """Return bytes as base64, and any other object as its fields."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if (to_dict := getattr(type(value), "to_dict", None)) is not None:  # of proto-plus
        return to_dict(value)
    return getattr(value, "__dict__", None) or str(value)


_as_json = json.JSONEncoder(ensure_ascii=False, default=_plain, skipkeys=True).encode


def _parsed(arguments: object) -> object:
    try:
        return json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        return arguments
