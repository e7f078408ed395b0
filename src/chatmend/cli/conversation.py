"""One stored conversation: its bytes, what a target would refuse in it, and the bytes that should stand there."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import orjson

from chatmend import SessionFormatError, Target, TranscriptError, repair, repair_request
from chatmend.cli.depth import is_too_deep
from chatmend.cli.difference import difference, text_difference
from chatmend.cli.json_text import Conversation, spliced
from chatmend.dialects import format_of_body
from chatmend.jsontext import parse
from chatmend.report import is_left, line
from chatmend.sessions.places import located
from chatmend.sessions.repairs import is_session, repaired_file

if TYPE_CHECKING:
    from chatmend import Change, Policy


class UnreadableError(Exception):
    """No JSON, nothing that could be a conversation, or one that cannot be written; the text says where and why."""


class NoConversationError(UnreadableError):
    """JSON, but neither a list of messages nor an object that holds one."""


@dataclass(frozen=True, slots=True)
class Order:
    """What a command wants to know of each conversation."""

    target: Target
    policy: Policy | None = None
    """How to repair where there is more than one way; None for the default."""
    repairs: bool = False
    """Whether the repaired text is wanted, not only the findings."""
    differs: bool = False
    """Whether the differences are wanted."""
    jobs: int = 0
    """How many processes work on a big file; 0: as many as there are processors."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding as the account tells it: it holds no word of the conversation, and travels between processes."""

    code: str
    rule: str
    effect: str
    text: str
    left: bool
    """Whether a repair leaves it as it is."""


@dataclass(frozen=True, slots=True)
class Visit:
    """What was found in one conversation."""

    findings: tuple[Finding, ...] = ()
    written: bytes | None = None
    """The repaired text; ``None`` where it would be the same."""
    difference: str = ""


_SOUND = Visit()


def visit(raw: bytes, order: Order) -> Visit:
    """Judge one conversation for a target.

    Args:
        raw: the text.
        order: what is wanted.

    Raises:
        UnreadableError: the text cannot be read; ``line 2, column 3: ...``, counted inside ``raw``.
    """
    if is_session(raw):
        return _visit_session(raw, order)
    value = _conversation(_value(raw, exact=order.repairs))
    try:
        becomes, changes = mended(value, order.target, order.policy)
        if not changes:
            return _SOUND
        if becomes is value or not order.repairs:
            return Visit(_findings(changes, order))
        if order.differs:
            return Visit(_findings(changes, order), difference=difference(value, becomes))
        if isinstance(value, list) and not isinstance(becomes, list):
            raise UnreadableError(
                "line 1, column 1: cannot be repaired: the system prompt must stand beside the messages, for which a "
                'bare list has no place; store it as {"messages": [...]}'
            )
        return Visit(_findings(changes, order), spliced(raw.decode(), value, becomes).encode())
    except TranscriptError as error:
        raise NoConversationError(f"line 1, column 1: could not be read: {error}") from error
    except RecursionError as error:
        raise UnreadableError("line 1, column 1: could not be read: nested too deep") from error


def _visit_session(raw: bytes, order: Order) -> Visit:
    """Judge one of our own sessions.

    Raises:
        UnreadableError: the file was cut, edited or damaged.
    """
    try:
        written, changes = repaired_file(raw, "", order.target, order.policy)
    except SessionFormatError as error:
        raise UnreadableError(f"line {error.line}, column 1: could not be read: {error.fault}") from error
    if written is raw or not order.repairs:
        return Visit(_findings(changes, order))
    if order.differs:
        texts = (raw.decode().split("\n"), written.decode().split("\n"))
        return Visit(_findings(changes, order), difference=text_difference(*texts))
    return Visit(_findings(changes, order), written)


def _findings(changes: tuple[Change, ...], order: Order) -> tuple[Finding, ...]:
    told = sorted(changes, key=lambda change: (change.index is None, change.index or 0))
    if not order.repairs or order.differs:
        told = [replace(change, applied=False) for change in told]
    return tuple(Finding(c.code, c.rule, c.effect.name.lower(), line(c), is_left(c)) for c in told)


def parsed(raw: bytes) -> Conversation:
    """The list of messages, or the object that holds one, that a JSON text says.

    Integers beyond 64 bits are rounded.

    Raises:
        UnreadableError: it says nothing of the kind.
    """
    return _conversation(_value(raw))


def _value(raw: bytes, *, exact: bool = False) -> object:
    """The value of a JSON text; ``exact`` keeps integers beyond 64 bits, because it will be written again."""
    if not exact:
        try:
            return orjson.loads(raw)
        except orjson.JSONDecodeError:  # stricter than the parser below, which also says where and why
            pass
    row, column = 1, 1
    try:
        value = parse(text := raw.decode("utf-8-sig"))
        if not is_too_deep(value, text):
            return value
        fault = "nested too deep"
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode("utf-8", "replace")
        row, column, fault = before.count("\n") + 1, len(before) - before.rfind("\n"), "not UTF-8"
    except json.JSONDecodeError as error:
        row, column, fault = error.lineno, error.colno, error.msg
        if fault == "Extra data":
            fault += "; a file with one conversation per line is named .jsonl"
    except ValueError as error:
        fault = str(error)
    raise UnreadableError(f"line {row}, column {column}: could not be read: {fault}")


def _conversation(value: object) -> Conversation:
    if located(value) is not None and isinstance(value, list | dict):
        return value
    fault = "neither a list of messages nor an object with one under 'messages', 'input' or 'contents'"
    if isinstance(value, list):
        if not value or not all(_is_conversation(item) for item in value):
            return value
        fault = "a list of conversations; write one per line into a .jsonl file"
    elif isinstance(value, dict):
        if messages_of(value) is not None:
            return value
        try:
            format_of_body(value)
        except TranscriptError as error:  # it knows whose layout it is
            fault = str(error)
    raise NoConversationError(f"line 1, column 1: could not be read: {fault}")


def messages_of(value: Conversation) -> list[object] | None:
    """The messages of a conversation: those of a Responses request are its ``input``, of Gemini's its ``contents``."""
    if isinstance(value, list):
        return value
    if isinstance(messages := value.get("messages"), list):
        return messages
    listed = (value.get(key) for key in ("input", "contents"))
    return next(
        (found for found in listed if isinstance(found, list) and all(isinstance(m, dict) for m in found)), None
    )


def _is_conversation(item: object) -> bool:
    return isinstance(item, list) or (isinstance(item, dict) and "messages" in item and "role" not in item)


def mended(
    value: Conversation, target: Target, policy: Policy | None = None
) -> tuple[Conversation, tuple[Change, ...]]:
    """A conversation as it should be sent, and what was changed.

    An object that names its ``model`` or its ``tools`` is a request body: what it does not declare is not there. Any
    other object, and a bare list, is a stored conversation: which tools were declared is not known, so not judged.
    Of a list whose system prompt must stand beside the messages, an object comes back.
    """
    if (place := located(value)) is not None:
        inner, changes = mended(place.conversation, target, policy)
        return (value if inner is place.conversation else place.put(inner)), changes
    if isinstance(value, list):
        done = repair(value, target, policy=policy)
        if done.system is not None:
            return {"system": done.system, "messages": done.messages}, done.changes
        return done.messages, done.changes
    if "model" in value or "tools" in value or "messages" not in value:
        request = repair_request(value, target, policy=policy)
        return request.body, request.changes
    messages, system = value["messages"], value.get("system")
    if not isinstance(messages, list):
        raise TranscriptError("no list under 'messages'")
    dialect = format_of_body(value, target.provider)
    if not isinstance(dialect, str):
        request = repair_request(value, target, policy=policy)
        return value, request.changes
    done = repair(messages, target, system=system, thinking=value.get("thinking"), policy=policy, dialect=dialect)
    new: dict[str, object] = {"messages": done.messages} if done.messages is not messages else {}
    new |= {"system": done.system} if done.system is not system else {}
    return {**value, **new} if new else value, done.changes
