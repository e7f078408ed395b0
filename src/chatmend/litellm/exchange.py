"""What ``record=`` is given: one call that succeeded, as it was sent and answered."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from chatmend.litellm import notes
from chatmend.litellm.accounts import account_of_call, session_of
from chatmend.litellm.replies import reply_of
from chatmend.litellm.shapes import CONTENTS, SHAPES, Shape, name_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatmend.usage import Usage

BESIDE = frozenset(
    {
        "system", "instructions", "systemInstruction", "tools", "functions", "tool_choice", "function_call",
        "toolConfig", "parallel_tool_calls", "thinking", "reasoning", "reasoning_effort", "response_format",
        "text", "max_tokens", "max_completion_tokens", "max_output_tokens", "temperature", "top_p", "top_k",
        "seed", "stop",
    }
)  # fmt: skip
"""What belongs to a request beside its messages. Keys, headers and addresses, which are in the call as well, do not."""

_SENT = "chatmend_sent"
"""The key of LiteLLM's record of a call under which we keep what our hook sent."""


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
    target: str = ""
    """Provider and model that it went to: ``anthropic/claude-sonnet-4-5``."""
    dialect: str = ""
    """The wire format of the messages; empty for a call that carries no transcript, such as an embedding."""
    beside: Mapping[str, Any] = field(default_factory=dict)
    """What the request had beside its messages: ``system``, ``tools``, ``thinking``, ..."""
    reply: Any = None
    """What came back, in that dialect: a message, a list of items (Responses API), or ``None`` where LiteLLM does not
    keep it in a form that can be sent again."""
    usage: Usage | None = None
    """The account of the call, with LiteLLM's cost."""
    cached: bool = False
    """Whether the answer came from LiteLLM's own cache, and nothing was sent."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A request as our hook left it."""

    shape: Shape
    target: str
    messages: Any
    beside: Mapping[str, Any]

    @classmethod
    def of(cls, request: Mapping[str, Any], shape: Shape, target: str) -> Sent:
        """What counts of a call. Callers add the reply to their list while LiteLLM still logs: it is another list."""
        messages = request.get(shape.field)
        beside = {key: value for key, value in request.items() if key in BESIDE and value is not None}
        return cls(shape, target, list(messages) if isinstance(messages, list | tuple) else messages, beside)


def keep_sent(logged: Any, name: str, sent: Sent) -> None:
    """Keep a request in LiteLLM's record of the call, until the call has succeeded.

    A bridged call passes by twice, in two dialects; the first is the caller's, and the one that counts.
    """
    record = getattr(logged, "model_call_details", None)
    if not isinstance(record, dict):
        return
    known = record.get(_SENT)
    if known is None or known[0] == name:
        record[_SENT] = (name, sent)


def exchange(kwargs: Mapping[str, Any], response: Any) -> Exchange:
    """The exchange that a success event of LiteLLM tells of."""
    params = kwargs.get("litellm_params") or {}
    said = {**(params.get("metadata") or {}), **(params.get("litellm_metadata") or {})}
    session, note = session_of(params, said), notes.kept(kwargs)
    owner = said.get("user_api_key_team_id") or said.get("user_api_key_hash") or said.get("user_api_key")
    sent = _sent(kwargs)
    dialect = sent.shape.dialect if sent else ""
    return Exchange(
        session=str(session) if session else None,
        owner=str(owner) if owner else None,
        model=str(kwargs.get("model") or ""),
        messages=sent.messages if sent else kwargs.get("messages") or kwargs.get("input"),
        response=response,
        changes=note.changes if note is not None else {},
        target=sent.target if sent else "",
        dialect=dialect,
        beside=sent.beside if sent else {},
        reply=reply_of(dialect, kwargs, response),
        usage=account_of_call(kwargs, response),
        cached=bool(kwargs.get("cache_hit")),
    )


def _sent(kwargs: Mapping[str, Any]) -> Sent | None:
    """The request that was sent: as our hook left it, or where none ran, as LiteLLM's record says."""
    kept = kwargs.get(_SENT)
    if isinstance(kept, tuple):
        sent: Sent = kept[1]
        return sent
    shape = SHAPES.get(name_of(kwargs.get("call_type")))
    if shape is None:
        return None
    told = kwargs.get("input") if shape is CONTENTS else kwargs.get("messages") or kwargs.get("input")
    target = f"{kwargs.get('custom_llm_provider') or 'other'}/{kwargs.get('model') or ''}"
    return Sent.of({**(kwargs.get("optional_params") or {}), shape.field: told}, shape, target)
