"""What ``record=`` is given: one call that succeeded, as it was sent and answered."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from chatmend.litellm import notes
from chatmend.litellm.accounts import session_of

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request that was sent, and its answer. It holds content: keep it where content may be kept."""

    session: str | None
    """As the client names it; ``owner`` comes first wherever it is a key."""
    owner: str | None
    """The authenticated team or key of a proxy; ``None`` in the SDK."""
    model: str
    messages: Any
    """As they were sent: repaired. ``input`` of the Responses API and ``contents`` of Gemini, too."""
    response: Any
    """LiteLLM's whole response, put together again where it was streamed."""
    changes: Mapping[str, int] = field(default_factory=dict)
    """What was repaired, by code."""


def exchange(kwargs: Mapping[str, Any], response: Any) -> Exchange:
    """The exchange that a success event of LiteLLM tells of."""
    params = kwargs.get("litellm_params") or {}
    said = {**(params.get("metadata") or {}), **(params.get("litellm_metadata") or {})}
    session, note = session_of(params, said), notes.kept(kwargs)
    owner = said.get("user_api_key_team_id") or said.get("user_api_key_hash") or said.get("user_api_key")
    return Exchange(
        session=str(session) if session else None,
        owner=str(owner) if owner else None,
        model=str(kwargs.get("model") or ""),
        messages=kwargs.get("messages") or kwargs.get("input"),
        response=response,
        changes=note.changes if note is not None else {},
    )
