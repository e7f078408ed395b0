"""What a judge is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

Json: TypeAlias = Any
"""A parsed JSON value of unknown shape: transcripts under judgement may hold anything."""


@dataclass(frozen=True, slots=True)
class Request:
    """A transcript for a target, with the system prompt and the tools of the request.

    ``tools=None`` means "not told", so no judge asks for tools then; ``[]`` means that the request has none.
    """

    dialect: str
    target: str
    messages: Json
    system: Json = None
    tools: Json = None

    @property
    def provider(self) -> str:
        """The first part of the target: ``"bedrock"`` in ``"bedrock/us.amazon.nova-pro-v1:0"``."""
        return self.target.partition("/")[0]

    @property
    def model(self) -> str:
        """The rest of the target: ``"google/gemini-2.5-pro"`` in ``"openrouter/google/gemini-2.5-pro"``."""
        return self.target.partition("/")[2]


Judge: TypeAlias = Callable[[Request], list[str]]
"""Answers the refusals of one request, in words; an empty list when it is accepted."""
