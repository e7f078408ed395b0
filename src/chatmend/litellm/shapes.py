"""The LiteLLM calls that contain a transcript: the key of their messages and their dialect.

The names are those of LiteLLM 1.106.2 (``litellm.types.utils.CallTypes``). chatmend does not
process other calls, such as embeddings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chatmend.dialects import DIALECTS

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Shape:
    """The format of a call. The dialect determines the meaning of the other parameters."""

    field: str
    """The key of the messages."""
    dialect: str


CHAT, MESSAGES, RESPONSES, CONTENTS, CONVERSE = (
    Shape(DIALECTS[name].TRAITS.messages_key, name)
    for name in (
        "openai_chat",
        "anthropic_messages",
        "openai_responses",
        "gemini_contents",
        "bedrock_converse",
    )
)

SHAPES: dict[str, Shape] = {
    "completion": CHAT,
    "acompletion": CHAT,
    "anthropic_messages": MESSAGES,
    "responses": RESPONSES,
    "aresponses": RESPONSES,
    "compact_responses": RESPONSES,
    "acompact_responses": RESPONSES,
    "agenerate_content": CONTENTS,
    "agenerate_content_stream": CONTENTS,
}
"""The format of each call type, by LiteLLM's name."""

ROUTES: tuple[tuple[str, Shape], ...] = (
    ("/chat/completions", CHAT),
    ("/messages", MESSAGES),
    ("/messages/count_tokens", MESSAGES),
    ("/responses", RESPONSES),
    ("/responses/input_tokens", RESPONSES),
    ("/responses/compact", RESPONSES),
    (":generateContent", CONTENTS),
    (":streamGenerateContent", CONTENTS),
    (":countTokens", CONTENTS),
    (":computeTokens", CONTENTS),
    ("/converse", CONVERSE),
    ("/converse-stream", CONVERSE),
)
"""The format of pass-through requests, by the end of their path."""


_VERTEX_CLAUDE = "/publishers/anthropic/models/"
"""Vertex serves models of several makers under ``:rawPredict``; Claude's have this path."""

NESTED_BODY_CALL = "allm_passthrough_route"
"""LiteLLM's call type of pass-through requests to Bedrock, whose body is under ``data``."""


def shape_of_nested_body(name: str, kwargs: Mapping[str, Any]) -> Shape | None:
    """Return the format of a pass-through request to Bedrock; None if it has no transcript."""
    is_nested = name == NESTED_BODY_CALL and isinstance(kwargs.get("data"), dict)
    return shape_of_route(str(kwargs.get("endpoint"))) if is_nested else None


def name_of(call_type: object) -> str:
    """Return the name of a call type, given as a string or as LiteLLM's ``CallTypes`` member."""
    # `_value_` is an attribute of the member; `value` is a slow descriptor, and this runs often.
    return str(getattr(call_type, "_value_", call_type))


def shape_of_route(path: str) -> Shape | None:
    """Return the format of a pass-through request; None if it contains no transcript."""
    if _VERTEX_CLAUDE in path and path.endswith((":rawPredict", ":streamRawPredict")):
        return MESSAGES
    return next((shape for end, shape in ROUTES if path.endswith(end)), None)
