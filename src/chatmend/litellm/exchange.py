"""The input of a ``record=`` function: one successful call, with its request and its response."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from chatmend.litellm import summaries
from chatmend.litellm.proxy_metadata import team_and_key
from chatmend.litellm.replies import reply_of
from chatmend.litellm.shapes import CONTENTS, SHAPES, Shape, name_of
from chatmend.litellm.usage_records import session_of, usage_of_call

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatmend.usage import Usage

REQUEST_PARAMETERS = frozenset(
    {
        "system", "instructions", "systemInstruction", "tools", "functions", "tool_choice",
        "function_call", "toolConfig", "parallel_tool_calls", "thinking", "reasoning",
        "reasoning_effort", "response_format", "text", "max_tokens", "max_completion_tokens",
        "max_output_tokens", "temperature", "top_p", "top_k", "seed", "stop",
    }
)  # fmt: skip
"""Parameters that are recorded with the messages. API keys, headers and URLs are not recorded."""

_SENT = "chatmend_sent"
"""The key in LiteLLM's record of a call under which chatmend stores the request that it sent."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request that was sent, and its response.

    It contains message content: store it only where content may be stored.
    """

    session: str | None
    """The session that the client names. To identify a session, put ``owner`` before it."""
    owner: str | None
    """The authenticated team or key of a proxy; ``None`` in the SDK."""
    model: str
    messages: Any
    """The messages as sent, after the repair.

    For the Responses API this is ``input``, for Gemini ``contents``.
    """
    response: Any
    """LiteLLM's complete response; for a stream, assembled from its chunks."""
    changes: Mapping[str, int] = field(default_factory=dict)
    """The number of changes for each code."""
    target: str = ""
    """Provider and model: ``anthropic/claude-sonnet-4-5``."""
    dialect: str = ""
    """The wire format of the messages; empty if the call has none, such as an embedding."""
    request_parameters: Mapping[str, Any] = field(default_factory=dict)
    """Other parameters of the request: ``system``, ``tools``, ``thinking``, ..."""
    reply: Any = None
    """The reply in that wire format: a message, or a list of items (Responses API).

    ``None`` if LiteLLM does not keep it in a form that can be sent again.
    """
    usage: Usage | None = None
    """The usage record of the call, with LiteLLM's cost."""
    cached: bool = False
    """Whether the response came from LiteLLM's own cache, so that no request was sent."""


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request as chatmend's hook returned it."""

    shape: Shape
    target: str
    messages: Any
    request_parameters: Mapping[str, Any]

    @classmethod
    def from_call(cls, request: Mapping[str, Any], shape: Shape, target: str) -> SentRequest:
        """Copy the messages and the recorded parameters of a call.

        The list of messages is copied because callers append the reply to theirs while LiteLLM is
        still logging.
        """
        messages = request.get(shape.field)
        request_parameters = {
            key: value
            for key, value in request.items()
            if key in REQUEST_PARAMETERS and value is not None
        }
        return cls(
            shape,
            target,
            list(messages) if isinstance(messages, list | tuple) else messages,
            request_parameters,
        )


def keep_sent(logging_obj: Any, name: str, sent: SentRequest) -> None:
    """Store a request in LiteLLM's record of the call until the call has succeeded.

    A bridged call runs the hook twice, in two wire formats. The first request is kept, because it
    is in the caller's format.
    """
    record = getattr(logging_obj, "model_call_details", None)
    if not isinstance(record, dict):
        return
    known = record.get(_SENT)
    if known is None or known[0] == name:
        record[_SENT] = (name, sent)


def build_exchange(kwargs: Mapping[str, Any], response: Any) -> Exchange:
    """Return the exchange that a success event of LiteLLM describes."""
    params = kwargs.get("litellm_params") or {}
    metadata = {**(params.get("metadata") or {}), **(params.get("litellm_metadata") or {})}
    session, summary = session_of(params, metadata), summaries.last_summary(kwargs)
    team, key = team_and_key(params)
    owner = team or key
    sent = _sent_request(kwargs)
    dialect = sent.shape.dialect if sent else ""
    return Exchange(
        session=str(session) if session else None,
        owner=str(owner) if owner else None,
        model=str(kwargs.get("model") or ""),
        messages=sent.messages if sent else kwargs.get("messages") or kwargs.get("input"),
        response=response,
        changes=summary.changes if summary is not None else {},
        target=sent.target if sent else "",
        dialect=dialect,
        request_parameters=sent.request_parameters if sent else {},
        reply=reply_of(dialect, kwargs, response),
        usage=usage_of_call(kwargs, response),
        cached=bool(kwargs.get("cache_hit")),
    )


def _sent_request(kwargs: Mapping[str, Any]) -> SentRequest | None:
    """Return the request that chatmend's hook stored, or else the one in LiteLLM's record."""
    kept = kwargs.get(_SENT)
    if isinstance(kept, tuple):
        sent: SentRequest = kept[1]
        return sent
    shape = SHAPES.get(name_of(kwargs.get("call_type")))
    if shape is None:
        return None
    messages = (
        kwargs.get("input") if shape is CONTENTS else kwargs.get("messages") or kwargs.get("input")
    )
    target = f"{kwargs.get('custom_llm_provider') or 'other'}/{kwargs.get('model') or ''}"
    return SentRequest.from_call(
        {**(kwargs.get("optional_params") or {}), shape.field: messages}, shape, target
    )
