"""One HTTP request with a transcript, what is sent in its place, and the report about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chatmend.dialects import DIALECTS
from chatmend.report import Reportable
from chatmend.session_memory import digest_of_json
from chatmend.thinking_parameter import drops_blocks, with_binding_beta
from chatmend.transport.json_bodies import is_exact, write_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatmend.changes import Change
    from chatmend.session_memory import SentTurn
    from chatmend.targets import Target
    from chatmend.transport.endpoints import Endpoint

EXTENSION = "chatmend"
"""The key of the report in ``response.extensions``."""
SIGNED = "AWS4-HMAC-SHA256"
"""The beginning of ``authorization`` if the body is signed, so that it cannot be changed."""
_TENANT_HEADERS = ("authorization", "x-api-key", "api-key", "x-goog-api-key")
"""The headers with API keys. Conversations of different keys are kept apart."""


@dataclass(frozen=True, slots=True)
class RequestReport(Reportable):
    """What happened to one request; ``response.extensions["chatmend"]`` of its response."""

    target: str
    """``provider/model``; empty if the request was not read."""
    changes: tuple[Change, ...] = ()
    reacted: int = 0
    """How often the request was sent again after a refusal."""
    passed: str = ""
    """Why the request was sent unchanged without being checked; empty if it was checked."""

    def report(self) -> str:
        """Return a report for people, without content of the transcript."""
        return f"not checked: {self.passed}" if self.passed else Reportable.report(self)


@dataclass(frozen=True, slots=True)
class PassedCall:
    """A request that is sent unchanged, because chatmend cannot repair it."""

    reason: str

    @property
    def report(self) -> RequestReport:
        """What happened to the request."""
        return RequestReport("", passed=self.reason)


@dataclass(slots=True)
class RepairedCall:
    """One request with a transcript, and what is sent in its place."""

    raw: bytes
    """The original bytes."""
    headers: Mapping[str, str]
    original: dict[str, Any]
    endpoint: Endpoint
    target: Target
    dialect: str
    body: dict[str, Any]
    """The body to send; the same object as ``original`` if it is unchanged."""
    changes: tuple[Change, ...] = ()
    reacted: int = 0
    turn: SentTurn | None = None
    """The request in the memory of its conversation, if it is kept."""

    @property
    def messages(self) -> list[Any]:
        """The messages of the original request."""
        found: list[Any] = self.original[DIALECTS[self.dialect].TRAITS.messages_key]
        return found

    @property
    def tenant(self) -> str:
        """A digest of the API key of the request, or of the name of the key that has signed it."""
        keys = [self.headers.get(name) for name in _TENANT_HEADERS]
        return digest_of_json(
            [key.partition("/")[0] if key and key.startswith(SIGNED) else key for key in keys]
        )

    @property
    def report(self) -> RequestReport:
        """What happened to the request."""
        return RequestReport(self.target.name, self.changes, self.reacted)

    @property
    def is_changed(self) -> bool:
        """Whether other bytes than the original ones are sent."""
        return self.body is not self.original

    @property
    def has_exact_numbers(self) -> bool:
        """Whether no number of the original was rounded when it was read."""
        return is_exact(self.raw)

    def content(self) -> bytes | None:
        """Return the bytes to send; None if the original bytes are sent."""
        return write_json(self.body, self.raw) if self.is_changed else None

    def betas(self, header: str | None) -> str | None:
        """Return a new value of the header ``anthropic-beta``; None if it needs no change."""
        thinking = self.body.get("thinking")
        if thinking is self.original.get("thinking") or not drops_blocks(thinking):
            return None
        return with_binding_beta(header)
