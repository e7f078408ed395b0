"""Checks and repairs one stored conversation: from bytes to findings and repaired bytes."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import orjson

from chatmend import SessionFormatError, Target, TranscriptError
from chatmend.cli.advice import advice_on
from chatmend.cli.depth import exceeds_max_depth
from chatmend.cli.difference import difference, text_difference
from chatmend.cli.json_text import splice
from chatmend.dialects import format_of_body
from chatmend.jsontext import parse
from chatmend.report import is_left, line
from chatmend.sessions.embedded import find_conversation
from chatmend.sessions.repairs import is_session, repair_file
from chatmend.sessions.stored import (
    Conversation,
    is_known_clean,
    messages_of,
    repair_conversation,
)

if TYPE_CHECKING:
    from chatmend import Change, Policy


class UnreadableConversationError(Exception):
    """The text is not a conversation or cannot be written; the message says where and why."""


class NoConversationError(UnreadableConversationError):
    """The text is JSON, but neither a list of messages nor an object that contains one."""


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The options of a command that apply to every conversation."""

    target: Target
    policy: Policy | None = None
    """None means the default policy."""
    wants_repair: bool = False
    """Whether to return the repaired text, not only the findings."""
    wants_diff: bool = False
    """Whether to return the differences instead of the repaired text."""
    jobs: int = 0
    """The number of processes; 0 means one per available processor."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding without content of the conversation; it can be pickled."""

    code: str
    rule: str
    effect: str
    text: str
    left: bool
    """Whether a repair leaves the defect unchanged."""
    index: int | None = None
    """The index of the message; None if the finding is about the whole conversation."""


@dataclass(frozen=True, slots=True)
class ConversationOutcome:
    """The findings in one conversation and its repaired form."""

    findings: tuple[Finding, ...] = ()
    repaired: bytes | None = None
    """The repaired text; ``None`` if it was not requested or is unchanged."""
    difference: str = ""


_CLEAN = ConversationOutcome()


def process_conversation(raw: bytes, settings: RunSettings) -> ConversationOutcome:
    """Check one conversation for a target and repair it if the settings require that.

    Args:
        raw: the conversation as JSON, or the text of a session file.
        settings: the target, the policy and the wanted output.

    Raises:
        UnreadableError: the text cannot be read. The message begins with the position inside
            ``raw``: ``line 2, column 3: ...``.
    """
    if is_session(raw):
        return _process_session(raw, settings)
    parsed = _parse_json(raw, exact=settings.wants_repair)
    if is_known_clean(parsed, settings.target, settings.policy):
        return _CLEAN
    value = _as_conversation(parsed)
    try:
        repaired, changes = repair_conversation(value, settings.target, settings.policy)
        if not changes:
            return _CLEAN
        if repaired is value or not settings.wants_repair:
            return ConversationOutcome(_findings(changes, settings))
        if settings.wants_diff:
            return ConversationOutcome(
                _findings(changes, settings), difference=difference(value, repaired)
            )
        if isinstance(value, list) and not isinstance(repaired, list):
            raise UnreadableConversationError(
                "line 1, column 1: cannot be repaired: this target requires the system prompt "
                "outside of the messages, which a bare list cannot represent; store the "
                'conversation as {"messages": [...]}'
            )
        return ConversationOutcome(
            _findings(changes, settings), splice(raw.decode(), value, repaired).encode()
        )
    except TranscriptError as error:
        raise NoConversationError(f"line 1, column 1: could not be read: {error}") from error
    except RecursionError as error:
        raise UnreadableConversationError(
            "line 1, column 1: could not be read: nested too deeply"
        ) from error


def _process_session(raw: bytes, settings: RunSettings) -> ConversationOutcome:
    """Check and repair a session file of chatmend.

    Raises:
        UnreadableError: the file was truncated, edited or damaged.
    """
    try:
        repaired, changes = repair_file(raw, "", settings.target, settings.policy)
    except SessionFormatError as error:
        raise UnreadableConversationError(
            f"line {error.line}, column 1: could not be read: {error.fault}"
        ) from error
    if repaired is raw or not settings.wants_repair:
        return ConversationOutcome(_findings(changes, settings))
    if settings.wants_diff:
        texts = (raw.decode().split("\n"), repaired.decode().split("\n"))
        return ConversationOutcome(_findings(changes, settings), difference=text_difference(*texts))
    return ConversationOutcome(_findings(changes, settings), repaired)


def _findings(changes: tuple[Change, ...], settings: RunSettings) -> tuple[Finding, ...]:
    ordered = sorted(changes, key=lambda change: (change.index is None, change.index or 0))
    if not settings.wants_repair or settings.wants_diff:
        ordered = [replace(change, applied=False) for change in ordered]
    return tuple(
        Finding(c.code, c.rule, c.effect.name.lower(), line(c), is_left(c), c.index)
        for c in ordered
    )


def parse_conversation(raw: bytes) -> Conversation:
    """Return the conversation in a JSON text: a list of messages or an object with one.

    Integers beyond 64 bits are rounded.

    Raises:
        UnreadableError: the text is not a conversation.
    """
    return _as_conversation(_parse_json(raw))


def conversation_in(raw: bytes) -> Conversation:
    """Return the conversation in a JSON text, without the log entry or dump that encloses it.

    Raises:
        UnreadableError: the text is not a conversation.
    """
    value = parse_conversation(raw)
    embedded = find_conversation(value)
    return value if embedded is None else embedded.conversation


def _parse_json(raw: bytes, *, exact: bool = False) -> object:
    """Return the value of a JSON text.

    With ``exact``, integers beyond 64 bits are kept, because the value will be written again.
    """
    if not exact:
        try:
            return orjson.loads(raw)
        except orjson.JSONDecodeError:
            pass  # the slower parser below accepts more, and reports position and reason
    row, column, text = 1, 1, ""
    try:
        value = parse(text := raw.decode("utf-8-sig"))
        if not exceeds_max_depth(value, text):
            return value
        fault = "nested too deeply"
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode("utf-8", "replace")
        row, column, fault = before.count("\n") + 1, len(before) - before.rfind("\n"), "not UTF-8"
        fault += f"; {advice_on(raw)}" if row == 1 else ""
    except json.JSONDecodeError as error:
        row, column, fault = error.lineno, error.colno, error.msg
        # Only a fault right at the beginning shows that the text is not JSON at all.
        if text.lstrip()[:1] not in ("[", "{") or not text[: error.pos].strip("[{ \n"):
            fault = f"{fault}; {advice_on(raw)}"
        elif fault == "Extra data":
            fault += (
                "; if the file has one conversation per line, name it .jsonl"
                if "\n" in text.rstrip()
                else "; write each conversation on a line of its own, in a .jsonl file"
            )
    except ValueError as error:
        fault = str(error)
    raise UnreadableConversationError(f"line {row}, column {column}: could not be read: {fault}")


def _as_conversation(value: object) -> Conversation:
    if find_conversation(value) is not None and isinstance(value, list | dict):
        return value
    fault = (
        "neither a list of messages nor an object with one under 'messages', 'input' or 'contents'"
    )
    if isinstance(value, list):
        if not value or not all(_is_conversation(item) for item in value):
            return value
        fault = "a list of conversations; store one per line in a .jsonl file"
    elif isinstance(value, dict):
        if messages_of(value) is not None:
            return value
        try:
            format_of_body(value)
        except TranscriptError as error:  # the text can be more specific
            fault = str(error)
    raise NoConversationError(f"line 1, column 1: could not be read: {fault}")


def _is_conversation(item: object) -> bool:
    return isinstance(item, list) or (
        isinstance(item, dict) and "messages" in item and "role" not in item
    )
