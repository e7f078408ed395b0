"""Sends requests to a provider and reads whether it accepts them."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from chatmend.errors import ProbeError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

    import httpx
    import tenacity

    from chatmend.probe.endpoint import Endpoint

_TIMEOUT = 120.0
"""Seconds that one request may take."""
_ATTEMPTS = 6
"""How often a request is sent while the provider is busy."""
_LONGEST_WAIT = 120.0
"""Seconds that are waited at most before the next attempt."""
_NO_ACCESS = {401, 402, 403}
_BUSY = {408, 409, 425, 429, 502, 503, 504, 529}
_FAILED = 500
_MAX_MESSAGE = 400
"""Characters of an error text that the report keeps."""
_MINIMAX_BUSY, _MINIMAX_NO_ACCESS = {1002, 1039, 1041}, {1004, 1008, 2049}
"""Codes in ``base_resp`` of a response with status 200: rate limits; key or balance."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a provider says to a request."""

    verdict: str
    """``accepted``, ``refused`` or ``unknown``."""
    status: int | None
    """The HTTP status; None: no response."""
    message: str
    """The error text, at most 400 characters."""


class Provider:
    """A connection to an endpoint, which waits while the provider is busy."""

    def __init__(self, endpoint: Endpoint, *, sleep: Callable[[float], None] = time.sleep) -> None:
        """Create the connection.

        Args:
            endpoint: where to send the requests.
            sleep: called with the seconds to wait while the provider is busy.

        Raises:
            ProbeError: the environment variable with the key is not set.
        """
        import httpx  # noqa: PLC0415 - an optional dependency
        import tenacity  # noqa: PLC0415 - an optional dependency

        self._endpoint = endpoint
        self._client = httpx.Client(headers=endpoint.headers(), timeout=_TIMEOUT)
        self._retrying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(_ATTEMPTS),
            wait=_wait,
            retry=tenacity.retry_if_result(_is_busy),
            retry_error_callback=_last_result,
            sleep=sleep,
        )

    def __enter__(self) -> Self:
        """Return the provider."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connection."""
        self._client.close()

    def ask(self, body: dict[str, Any]) -> Answer:
        """Send a request; wait and try again while the provider is busy.

        Raises:
            ProbeError: the provider refuses the key, or the account has no credit.
        """
        response = self._retrying(self._send, body)
        if isinstance(response, str):
            return Answer("unknown", None, response)
        message = _error_text(response)
        if response.status_code in _NO_ACCESS or _minimax_code(response) in _MINIMAX_NO_ACCESS:
            text = f"{self._endpoint.url} answers {response.status_code}: {message}"
            raise ProbeError(text)
        if response.status_code in _BUSY or _minimax_code(response) in _MINIMAX_BUSY:
            return Answer("unknown", response.status_code, message)
        return Answer("refused" if message else "accepted", response.status_code, message)

    def _send(self, body: dict[str, Any]) -> httpx.Response | str:
        """Return the response, or the text of an error of the connection."""
        import httpx  # noqa: PLC0415 - an optional dependency

        try:
            return self._client.post(self._endpoint.url, json=body)
        except httpx.HTTPError as error:
            return f"{type(error).__name__}: {error}"


def _is_busy(response: httpx.Response | str) -> bool:
    if isinstance(response, str):
        return True
    busy = response.status_code in _BUSY or response.status_code == _FAILED
    return busy or _minimax_code(response) in _MINIMAX_BUSY


def _wait(state: tenacity.RetryCallState) -> float:
    """Return the seconds that the provider asks to wait; otherwise 1, 2, 4 and so on."""
    response = state.outcome.result() if state.outcome else None
    asked = None if response is None or isinstance(response, str) else _retry_after(response)
    return min(_LONGEST_WAIT, 2.0 ** (state.attempt_number - 1) if asked is None else asked)


def _retry_after(response: httpx.Response) -> float | None:
    """Return the seconds in the header ``retry-after``, which are a number or a date."""
    header = response.headers.get("retry-after", "")
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(header)
        now = parsedate_to_datetime(response.headers["date"])
    except (KeyError, TypeError, ValueError):
        return None
    return max(0.0, (until - now).total_seconds())


def _last_result(state: tenacity.RetryCallState) -> Any:  # noqa: ANN401 - the response
    return state.outcome.result() if state.outcome else None


def _error_text(response: httpx.Response) -> str:
    """Return the error text of a response; empty if the provider accepted the request.

    Some providers answer an error with status 200: OpenRouter under ``error``, MiniMax under
    ``base_resp``.
    """
    body = _body(response)
    if response.is_success and not body.get("error") and not _minimax_code(response):
        return ""
    found = body.get("error") or body.get("base_resp") or body or response.text
    if isinstance(found, dict):
        found = found.get("message") or found.get("status_msg") or found
    text = found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
    return text[:_MAX_MESSAGE] or f"status {response.status_code}"


def _minimax_code(response: httpx.Response) -> int:
    status = _body(response).get("base_resp")
    code = status.get("status_code") if isinstance(status, dict) else 0
    return code if isinstance(code, int) else 0


def _body(response: httpx.Response) -> dict[str, Any]:
    try:
        body = response.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}
