"""Recognises what somebody pasted: a conversation, an error text, a usage payload, or a log."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from chatmend.dialects import format_of_body
from chatmend.dialects.recognition import NOTHING, format_of
from chatmend.errors import TranscriptError
from chatmend.inspect.http_logs import (
    LoggedRequest,
    har_of,
    is_curl,
    is_har,
    request_in_curl,
    requests_in_har,
)
from chatmend.inspect.rows import REQUESTS, Rows, rows_in_list, rows_in_text
from chatmend.inspect.serialised import from_serialised
from chatmend.jsontext import parse
from chatmend.refusals import search
from chatmend.sessions.embedded import find_conversation
from chatmend.sessions.langchain_dumps import is_dump
from chatmend.sessions.stored import messages_of
from chatmend.usage import usages_in

if TYPE_CHECKING:
    from chatmend.sessions.stored import Conversation
    from chatmend.usage import Usage

_MOST_ERROR_TEXT = 100_000
"""Characters of a text without JSON that can be an error message."""
_NOTHING = "Nothing to inspect yet."
_UNKNOWN = (
    "Not recognised: neither JSON with messages, nor a known error message, nor usage. "
    "Paste the messages or the whole request body as JSON."
)


@dataclass(frozen=True, slots=True)
class Recognised:
    """What a text is."""

    kind: str
    """``nothing``, ``conversation``, ``error``, ``usage`` or ``unknown``."""
    said: str
    """One sentence for the user."""
    conversation: Conversation | None = None
    error: str = ""
    """The provider's error text, if the text contains one."""
    url: str = ""
    """The address to which the request was sent, if a log names it."""
    usages: tuple[Usage, ...] = ()
    rows: Rows | None = None
    """All conversations of the text, if there are several; the other fields belong to one."""


def recognise(text: str, row: int | None = None) -> Recognised:
    """Return what a text is. Never raises.

    Args:
        text: the text.
        row: which of several conversations is read, from 0. By default the first one, and of a HAR
            file the last refused request.
    """
    if not text.strip():
        return Recognised("nothing", _NOTHING)
    try:
        if is_curl(text):
            return _from_log(request_in_curl(text), "A curl command without a request body.")
        return _from_json(text, row)
    except RecursionError:
        return Recognised("unknown", "Not recognised: the JSON is nested too deeply.")


def _from_json(text: str, row: int | None = None) -> Recognised:
    try:
        value = parse(text.lstrip("\ufeff"))
    except ValueError as error:
        return _from_mixed(text, error, row)
    rows = _rows_of(value)
    return _from_value(value, text) if rows is None else _from_row(rows.select(row))


def _rows_of(value: object) -> Rows | None:
    """Return the conversations in a JSON value; None if it is one, or holds none."""
    if isinstance(value, dict) and is_har(value):
        requests = requests_in_har(value, _is_request)
        refused = [at for at, request in enumerate(requests) if request.error]
        at = refused[-1] if refused else len(requests) - 1
        return Rows(REQUESTS, list(map(har_of, requests)), at) if len(requests) > 1 else None
    if isinstance(value, list) and _conversation_in(value)[0] is None:
        return rows_in_list(value, _is_conversation)
    return None


def _from_row(rows: Rows) -> Recognised:
    found = _from_json(rows.texts[rows.at])
    return replace(found, said=f"{rows.description}. {found.said}", rows=rows)


def _from_value(value: object, text: str) -> Recognised:
    """Return what a JSON value is; ``text`` is its text."""
    if isinstance(value, dict) and is_har(value):
        requests = requests_in_har(value, _is_request)
        return _from_log(
            requests[-1] if requests else None, "A HAR file without a request that has messages."
        )
    conversation, why = _conversation_in(value)
    if conversation is not None:
        return Recognised("conversation", _describe(conversation), conversation)
    if isinstance(value, dict) and ("error" in value or value.get("type") == "error"):
        return _error(text)
    usages = _usages(text)
    if usages:
        return _usage(usages)
    if search(text) is not None:
        return _error(text)
    return Recognised("unknown", f"Not recognised: {why}." if why else _UNKNOWN)


def _is_conversation(value: object) -> bool:
    return _conversation_in(value)[0] is not None


def _is_request(text: str) -> bool:
    try:
        return _is_conversation(parse(text))
    except (ValueError, RecursionError):
        return False


def _conversation_in(value: object) -> tuple[Conversation | None, str]:
    """Return the conversation in a JSON value, or None and the reason if it is known."""
    value = from_serialised(value)
    if isinstance(value, list):
        is_chat = bool(value) and all(isinstance(item, dict) for item in value)
        return (value, "") if is_chat and _is_readable(value) else (None, _WHY_NOT[bool(value)])
    if not isinstance(value, dict):
        return None, ""
    if "role" in value and value.keys().isdisjoint(("messages", "usage")):
        return [value], ""
    if find_conversation(value) is not None or messages_of(value) is not None:
        return value, ""
    return None, _fault_of(value)


_WHY_NOT = {True: "", False: "the list is empty"}


def _fault_of(body: dict[str, object]) -> str:
    try:
        format_of_body(body)
    except TranscriptError as error:
        return str(error)
    return ""


def _is_readable(messages: list[object]) -> bool:
    """Whether a list may hold messages; rows of responses with usage have no role or content."""
    if is_dump(messages):
        return True
    try:
        return format_of(messages) is not NOTHING
    except TranscriptError:
        return True  # the repair reports the layout


def _describe(conversation: Conversation) -> str:
    embedded = find_conversation(conversation)
    inner = conversation if embedded is None else embedded.conversation
    messages = messages_of(inner) or []
    counted = f"{len(messages):,} message{'' if len(messages) == 1 else 's'}"
    if is_dump(conversation):
        return f"Messages stored by LangChain: {counted}."
    try:
        found = format_of_body(inner) if isinstance(inner, dict) else format_of(inner)
    except TranscriptError as error:
        return f"{counted}; {error}."
    form = _FORMATS.get(found, found) if isinstance(found, str) else "an unknown format"
    what = "A list of messages" if isinstance(inner, list) else "A request body"
    logged = "" if embedded is None else ", found inside a log or a dump"
    return f"{what} in the format of {form}: {counted}{logged}."


_FORMATS = {
    "openai_chat": "OpenAI Chat Completions",
    "openai_responses": "OpenAI Responses",
    "anthropic_messages": "Anthropic Messages",
    "gemini_contents": "Gemini",
    "bedrock_converse": "Bedrock Converse",
    "ollama_chat": "Ollama",
}


def _from_log(request: LoggedRequest | None, without: str) -> Recognised:
    if request is None:
        return Recognised("unknown", without)
    found = _from_json(request.body)
    said = f"{found.said} Read from {request.description}; headers were ignored."
    return replace(found, said=said, url=request.url, error=request.error or found.error)


def _from_mixed(text: str, fault: ValueError, row: int | None) -> Recognised:
    """Read a text that is not JSON: a conversation and an error, JSON lines, or only an error."""
    start = text.lstrip("\ufeff").lstrip()
    if start[:1] in "[{":
        rows = rows_in_text(start, _is_conversation)
        if rows is not None:
            return _from_row(rows.select(row))
        found = _leading_json(start)
        if found is not None:
            return found
    usages = _usages(text)
    if usages:
        return _usage(usages)
    if len(text) <= _MOST_ERROR_TEXT and (search(text) is not None or _sounds_like_error(text)):
        return _error(text)
    if start[:1] in "[{" and isinstance(fault, json.JSONDecodeError):
        return Recognised(
            "unknown",
            f"The JSON cannot be read: line {fault.lineno}, column {fault.colno}: {fault.msg}.",
        )
    return Recognised("unknown", _UNKNOWN)


def _leading_json(text: str) -> Recognised | None:
    """Return the conversation at the start of a text; None if there is none."""
    try:
        value, end = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return None
    first = _from_value(value, text[:end])
    if first.kind != "conversation":
        return None
    error = text[end:].strip()
    return replace(first, said=f"{first.said} An error text follows it.", error=error)


def _sounds_like_error(text: str) -> bool:
    lowered = text[:2_000].lower()
    words = ("error", "invalid", "must be", "must have", "refused", "bad request", "exception")
    return any(word in lowered for word in words)


def _error(text: str) -> Recognised:
    return Recognised("error", "The error text of a provider.", error=text.strip())


def _usages(text: str) -> tuple[Usage, ...]:
    try:
        found = tuple(usages_in(text))
    except (ValueError, RecursionError):
        return ()
    return tuple(usage for usage in found if usage.input_tokens or usage.output_tokens)


def _usage(usages: tuple[Usage, ...]) -> Recognised:
    counted = "one response" if len(usages) == 1 else f"{len(usages):,} responses"
    return Recognised("usage", f"The usage of {counted}.", usages=usages)
