"""Reads the status and the text of a provider's error: a text, a JSON body, or an exception."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from chatmend.refusals.positions import with_paths

_LONGEST = 20_000
_TEXTS = ("message", "body", "text", "response", "details")
"""Attributes of SDK exceptions that may hold the provider's answer."""
_STATUSES = ("status_code", "http_status", "status", "code")
_IN_TEXT = re.compile(
    r"(?i)(?<!upstream )(?:error code|status(?: code)?|http)[:= ]{1,3}([45]\d\d)\b"
)
"""Finds the status of an answer; an upstream status is that of a download by the provider."""
_SERVER_ERROR = 500
_MOST_MESSAGES = 20
_TRANSCRIPT_STATUSES = frozenset({400, 404, 413, 422, 500})
"""Statuses with which providers refuse transcripts; a few servers answer them with 500."""
_NOT_REFUSALS = re.compile(
    r"(?i)rate.?limit|quota|billing|overloaded|unauthori[sz]ed|api.?key|permission|forbidden"
    r"|content.?(?:policy|filter|management)|safety|moderation|timed? ?out|connection"
)
"""Matches errors that no repair of a transcript can avoid."""


class ProviderError(NamedTuple):
    """A provider's error."""

    status: int | None
    """The HTTP status; None if the error does not name it."""
    text: str
    """All texts of the error, one in each line, with the paths of ``with_paths``."""

    @property
    def may_be_refusal(self) -> bool:
        """Whether the error can be about the transcript, judged by its status and words."""
        if self.status is not None and self.status not in _TRANSCRIPT_STATUSES:
            return False
        return self.status != _SERVER_ERROR or _NOT_REFUSALS.search(self.text) is None


def read_error(error: object) -> ProviderError:
    """Read an error as a text, bytes, a JSON body, or an exception of an SDK, LiteLLM or httpx.

    The causes of an exception are read too: frameworks wrap the exception of the SDK.
    """
    texts: list[str] = []
    status: int | None = None
    seen: set[int] = set()
    waiting: list[object] = [error]
    while waiting and len(seen) < len(_STATUSES) * 10:
        one = waiting.pop(0)
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, str | bytes):
            texts.append(_decoded(one))
            waiting += _messages_in(texts[-1])
        elif isinstance(one, dict | list):
            texts.append(_as_json(one))
            status = status or _status_in(one)
        else:
            status = status or _status_of(one)
            texts.append(str(one) if isinstance(one, BaseException) else "")
            waiting += [_attribute(one, name) for name in _TEXTS]
            waiting += [getattr(one, "__cause__", None), getattr(one, "__context__", None)]
    text = with_paths("\n".join(dict.fromkeys(part[:_LONGEST] for part in texts if part)))
    if status is None and (named := _IN_TEXT.search(text)):
        status = int(named.group(1))
    return ProviderError(status, text)


def _messages_in(text: str) -> list[str]:
    """Return the messages of a JSON body in a text, without JSON's escapes."""
    start = text.find("{")
    try:
        body = json.loads(text[start:]) if start >= 0 else None
    except (ValueError, RecursionError):
        return []
    found: list[str] = []
    waiting: list[Any] = [body]
    while waiting and len(found) < _MOST_MESSAGES:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
            found += [
                held for key in ("message", "raw", "msg") if isinstance(held := value.get(key), str)
            ]
        elif isinstance(value, list):
            waiting += value
    return found


def _decoded(text: str | bytes) -> str:
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else text


def _as_json(value: Any) -> str:  # noqa: ANN401 - the body of any provider
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return ""


def _attribute(error: object, name: str) -> object:
    """Return an attribute that may hold the answer; None if it is not a text, a body or an error.

    An unread streaming response of httpx raises when its text is read.
    """
    try:
        value = getattr(error, name, None)
    except Exception:  # noqa: BLE001 - properties of other libraries may raise anything
        return None
    known = isinstance(value, str | bytes | dict | list)
    return value if known or name == "response" else None


def _status_of(error: object) -> int | None:
    for name in _STATUSES:
        value = _attribute_value(error, name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(value, str) and value.isdigit():
            return int(value)
    return None


def _attribute_value(error: object, name: str) -> object:
    try:
        return getattr(error, name, None)
    except Exception:  # noqa: BLE001 - as above
        return None


def _status_in(body: Any) -> int | None:  # noqa: ANN401 - the body of any provider
    """Return the status that a body names: Google's ``error.code``, botocore's metadata."""
    if not isinstance(body, dict):
        return None
    inner, metadata = (
        held if isinstance(held := body.get(key), dict) else {}
        for key in ("error", "ResponseMetadata")
    )
    for value in (inner.get("code"), body.get("status_code"), metadata.get("HTTPStatusCode")):
        if isinstance(value, int) and 400 <= value < 600:  # noqa: PLR2004 - HTTP errors
            return value
    return None
