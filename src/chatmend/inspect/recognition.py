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
    is_curl,
    is_har,
    request_in_curl,
    request_in_har,
)
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


def recognise(text: str) -> Recognised:
    """Return what a text is. Never raises."""
    if not text.strip():
        return Recognised("nothing", _NOTHING)
    try:
        if is_curl(text):
            return _from_log(request_in_curl(text), "A curl command without a request body.")
        return _from_json(text)
    except RecursionError:
        return Recognised("unknown", "Not recognised: the JSON is nested too deeply.")


def _from_json(text: str) -> Recognised:
    try:
        value = parse(text.lstrip("\ufeff"))
    except ValueError as error:
        return _from_mixed(text, error)
    return from_value(value, text)


def from_value(value: object, text: str) -> Recognised:
    """Return what a JSON value is; ``text`` is its text."""
    if is_har(value) and isinstance(value, dict):
        return _from_log(
            request_in_har(value, _is_request), "A HAR file without a request that has messages."
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


def _is_request(text: str) -> bool:
    try:
        return _conversation_in(parse(text))[0] is not None
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


def _from_mixed(text: str, fault: ValueError) -> Recognised:
    """Read a text that is not JSON: a conversation and an error, JSON lines, or only an error."""
    start = text.lstrip("\ufeff").lstrip()
    if start[:1] in "[{":
        found = _leading_json(start, fault)
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


def _leading_json(text: str, fault: ValueError) -> Recognised | None:
    """Return the conversation at the start of a text; None if there is none."""
    try:
        value, end = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return None
    rest = text[end:].strip()
    first = from_value(value, text[:end])
    if first.kind != "conversation":
        return None
    if rest[:1] == "{":
        lines = text.count("\n") + 1
        return replace(first, said=f"{first.said} Line 1 of {lines:,}; the others are ignored.")
    del fault
    return replace(first, said=f"{first.said} An error text follows it.", error=rest)


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
