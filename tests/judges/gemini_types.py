"""Checks Gemini ``contents`` with the google-genai types.

Not a judge of its own: transcripts reach Gemini through LiteLLM.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .typed_dicts import faults

if TYPE_CHECKING:
    from .request import Json


def contents_faults(contents: Json, system_instruction: Json) -> list[str]:
    """Validate what LiteLLM made of a transcript."""
    from google.genai.types import Content

    refusals = faults(list[Content], contents, "contents")
    return (
        refusals if system_instruction is None else refusals + faults(Content, system_instruction, "systemInstruction")
    )
