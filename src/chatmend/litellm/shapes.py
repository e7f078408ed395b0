"""Which calls of LiteLLM carry a transcript, where in the call it stands, and in which dialect: a table.

Known from the calls that LiteLLM 1.106.2 makes (``litellm.types.utils.CallTypes``); a call that is not listed, such as
an embedding, is none of our business.
"""

from __future__ import annotations

from dataclasses import dataclass

from chatmend.dialects import DIALECTS


@dataclass(frozen=True, slots=True)
class Shape:
    """Where a call keeps its transcript, and in which dialect; what stands beside it the dialect knows."""

    field: str
    """The key of the messages."""
    dialect: str


CHAT, MESSAGES, RESPONSES, CONTENTS = (
    Shape(DIALECTS[name].TRAITS.messages_key, name)
    for name in ("openai_chat", "anthropic_messages", "openai_responses", "gemini_contents")
)

SHAPES: dict[str, Shape] = {
    "completion": CHAT,
    "acompletion": CHAT,
    "anthropic_messages": MESSAGES,
    "responses": RESPONSES,
    "aresponses": RESPONSES,
    "agenerate_content": CONTENTS,
    "agenerate_content_stream": CONTENTS,
}
"""By LiteLLM's name of the call."""

ROUTES: tuple[tuple[str, Shape], ...] = (
    ("/chat/completions", CHAT),
    ("/messages", MESSAGES),
    ("/responses", RESPONSES),
    (":generateContent", CONTENTS),
    (":streamGenerateContent", CONTENTS),
)
"""How the path of a pass-through request ends."""


def name_of(call_type: object) -> str:
    """The name of a call, which LiteLLM gives as a string or as a member of its ``CallTypes``."""
    # ``_value_`` is the member's own attribute; ``value`` is a descriptor in Python, asked several times a call.
    return str(getattr(call_type, "_value_", call_type))


def shape_of_route(path: str) -> Shape | None:
    """The shape of a pass-through request."""
    return next((shape for end, shape in ROUTES if path.endswith(end)), None)
