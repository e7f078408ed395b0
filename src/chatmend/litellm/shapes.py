"""Which calls of LiteLLM carry a transcript, where in the call it stands, and in which dialect: a table.

Known from the calls that LiteLLM 1.106.2 makes (``litellm.types.utils.CallTypes``); a call that is not listed, such as
an embedding, is none of our business.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shape:
    """Where a call keeps its transcript, and what stands beside it."""

    field: str
    """The key of the messages."""
    dialect: str
    system: tuple[str, ...] = ()
    """The keys under which the system prompt may stand, where the dialect has it beside the messages."""
    thinking: tuple[str, ...] = ()
    """The keys that may switch thinking on; the first that is set counts."""
    stored: tuple[str, ...] = ()
    """The keys that say that the provider stores what came before."""


CHAT = Shape("messages", "openai_chat", thinking=("thinking", "reasoning_effort"))
MESSAGES = Shape("messages", "anthropic_messages", ("system",), ("thinking",))
RESPONSES = Shape(
    "input",
    "openai_responses",
    ("instructions",),
    ("reasoning",),
    stored=("previous_response_id", "conversation", "prompt"),
)
CONTENTS = Shape("contents", "gemini_contents", ("systemInstruction", "system_instruction"))

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


def shape_of(call_type: object) -> Shape | None:
    """The shape of a call that LiteLLM names by a string or by its ``CallTypes``."""
    return SHAPES.get(name_of(call_type))


def name_of(call_type: object) -> str:
    """The name of a call, which LiteLLM gives as a string or as a member of its ``CallTypes``."""
    # ``_value_`` is the member's own attribute; ``value`` is a descriptor in Python, asked several times a call.
    return str(getattr(call_type, "_value_", call_type))


def shape_of_route(path: str) -> Shape | None:
    """The shape of a pass-through request."""
    return next((shape for end, shape in ROUTES if path.endswith(end)), None)
