"""Reads requests from HTTP logs: HAR files, which browsers export, and ``curl`` commands."""

from __future__ import annotations

import base64
import binascii
import json
import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_BODY_OPTIONS = ("--data", "--data-raw", "--data-binary", "--data-ascii", "--json", "-d")
_OPTIONS_WITH_VALUE = frozenset(
    {"-H", "--header", "-X", "--request", "-u", "--user", "-A", "--user-agent", "-b", "-o"}
    | {"--cookie", "--output", "--max-time", "-m", "--connect-timeout", "-x", "--proxy"}
)
_URL_OPTION = "--url"
_FIRST_ERROR = 400
_PROMPTED = re.compile(r"^\s*(?:\$\s+)?(?=curl(?:\.exe)?\s)")


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    """A request in a log."""

    body: str
    url: str = ""
    error: str = ""
    """The body of the response if its status is an error."""
    description: str = ""
    """Where the request was found, for the user."""


def is_har(value: object) -> bool:
    """Whether a JSON value is a HAR file."""
    return isinstance(value, dict) and isinstance(_dict(value.get("log")).get("entries"), list)


def requests_in_har(value: dict[str, Any], is_chat: Callable[[str], bool]) -> list[LoggedRequest]:
    """Return the requests of a HAR file that have messages.

    Args:
        value: the HAR file.
        is_chat: returns whether a text is the body of a request with messages.
    """
    found = []
    for entry in map(_dict, value["log"]["entries"]):
        request, response = _dict(entry.get("request")), _dict(entry.get("response"))
        text = _dict(request.get("postData")).get("text")
        if not isinstance(text, str) or not is_chat(text):
            continue
        status = response.get("status")
        is_error = isinstance(status, int) and status >= _FIRST_ERROR
        error = _content_of(response) if is_error else ""
        found.append(LoggedRequest(text, str(request.get("url", "")), error, "a HAR file"))
    return found


def har_of(request: LoggedRequest) -> str:
    """Return a HAR file with one request, without its headers."""
    response = {"status": _FIRST_ERROR, "content": {"text": request.error}} if request.error else {}
    sent = {"url": request.url, "postData": {"text": request.body}}
    return json.dumps(
        {"log": {"entries": [{"request": sent, "response": response}]}}, ensure_ascii=False
    )


def _content_of(response: dict[str, Any]) -> str:
    content = _dict(response.get("content"))
    text = content.get("text")
    if not isinstance(text, str):
        return ""
    if content.get("encoding") != "base64":
        return text
    try:
        return base64.b64decode(text).decode("utf-8", "replace")
    except binascii.Error:
        return ""


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def is_curl(text: str) -> bool:
    """Whether a text is a ``curl`` command, also after a prompt."""
    return _PROMPTED.match(text[:64]) is not None


def request_in_curl(text: str) -> LoggedRequest | None:
    """Return the request that a ``curl`` command sends; None if it has no body.

    Headers, which hold keys, are ignored.
    """
    words = _words(_PROMPTED.sub("", text, count=1))
    if words is None:
        return None
    body, url, at = "", "", 1
    while at < len(words):
        word = words[at]
        name, joined, value = word.partition("=")
        following = words[at + 1] if at + 1 < len(words) else ""
        if word in _BODY_OPTIONS or word == _URL_OPTION:
            body, url = (body, following) if word == _URL_OPTION else (following, url)
            at += 1
        elif joined and name in _BODY_OPTIONS:
            body = value
        elif word.startswith("-d") and not word.startswith("--"):
            body = word[2:]
        elif word in _OPTIONS_WITH_VALUE:
            at += 1
        elif not word.startswith("-"):
            url = word
        at += 1
    return LoggedRequest(body, url, "", "the body of a curl command") if body else None


def _words(text: str) -> list[str] | None:
    """Split a command like a shell; also read ``$'...'``, which browsers copy."""
    text = text.replace("\\\r\n", " ").replace("\\\n", " ")
    lexer = shlex.shlex(re.sub(r"\$'((?:[^'\\]|\\.)*)'", _ansi_quoted, text), posix=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:
        return None


_ANSI = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_ANSI_LETTERS = {"n": "\n", "t": "\t", "r": "\r"}


def _ansi_quoted(found: re.Match[str]) -> str:
    def plain(escape: re.Match[str]) -> str:
        word = escape[1]
        if len(word) > 1:
            return chr(int(word[1:], 16))
        return _ANSI_LETTERS.get(word, word)

    return shlex.quote(_ANSI.sub(plain, found[1]))
