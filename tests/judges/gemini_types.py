"""Checks Gemini ``contents`` with the google-genai types: native ones, and what LiteLLM makes of a chat."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import gemini_facts
from .reading import objects
from .typed_dicts import faults

if TYPE_CHECKING:
    from .request import Json, Request


def native_contents(request: Request) -> list[str]:
    """A native body: its types, what Gemini refuses, and the two roles that there are."""
    refusals = contents_faults(_lent(request.messages), request.system)
    roles = [message.get("role") for message in objects(request.messages)]
    refusals += [
        f"gemini-role-invalid: {role!r}"
        for role in roles
        if role not in ("user", "model", "function")
        and (role is not None or not request.target.startswith("gemini/"))
    ]
    refusals += [] if roles else ["gemini-contents-empty"]
    return refusals + gemini_facts.refusals(request.messages, request.target)


def _lent(contents: Json) -> Json:
    """A single part for a list of one: recorded requests have that (AI Studio)."""
    if not isinstance(contents, list):
        return contents
    return [
        {**turn, "parts": [turn["parts"]]}
        if isinstance(turn, dict) and isinstance(turn.get("parts"), dict)
        else turn
        for turn in contents
    ]


def contents_faults(contents: Json, system_instruction: Json) -> list[str]:
    """Validate what LiteLLM made of a transcript."""
    from google.genai.types import Content

    refusals = faults(list[Content], contents, "contents")
    return (
        refusals
        if system_instruction is None
        else refusals + faults(Content, system_instruction, "systemInstruction")
    )
