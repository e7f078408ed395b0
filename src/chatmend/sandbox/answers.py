"""Composes the sandbox's answers; the same request always gets the same answer."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from chatmend.sandbox.memory import Prompt, tokens
from chatmend.sandbox.schemas import sample

if TYPE_CHECKING:
    from collections.abc import Mapping

Body = dict[str, Any]
_MAX_QUOTE_LENGTH = 80
_WORD = re.compile(r"[a-z]+")
_THOUGHT = "The user wants an answer. I look at what was said last, and reply to that."


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a request declares."""

    name: str
    schema: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NormalizedRequest:
    """The contents of a request that determine the answer, independent of the wire format."""

    last_text: str = ""
    """The last text of the user or of a tool."""
    tools: tuple[Tool, ...] = ()
    tool_choice: str = "auto"
    """``auto``, ``none``, ``required``, or the name of a tool."""
    ends_with_results: bool = False
    """Whether the last turn contains tool results."""
    schema: Mapping[str, Any] | None = None
    """The JSON schema that the answer must match."""
    wants_thinking: bool = False
    max_tokens: int | None = None
    """The maximum number of output tokens."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of an answer."""

    id: str
    name: str
    arguments: Mapping[str, Any]

    @property
    def text(self) -> str:
        """The arguments as JSON text."""
        return json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, independent of the wire format."""

    id: str
    model: str
    text: str = ""
    thought: str = ""
    calls: tuple[Call, ...] = ()
    finish: str = "stop"
    """``stop``, ``tool_calls`` or ``length``."""
    prompt: Prompt = field(default_factory=lambda: Prompt(0))
    signature: str = ""
    """The signature of the thought, or of the first call if the provider signs calls."""

    @property
    def thought_tokens(self) -> int:
        """The number of tokens of the thought."""
        return tokens(self.thought)

    @property
    def output_tokens(self) -> int:
        """The number of tokens of the answer, including the thought."""
        written = self.text + "".join(call.name + call.text for call in self.calls)
        return tokens(written) + self.thought_tokens


def compose(request: NormalizedRequest, answer: Answer, call_ids: list[str]) -> Answer:
    """Fill an empty answer with a tool call, JSON or text, depending on the request."""
    thought = _THOUGHT if request.wants_thinking else ""
    if tool := _choose_tool(request):
        arguments = sample(tool.schema)
        call = Call(call_ids[0], tool.name, arguments if isinstance(arguments, dict) else {})
        return replace(answer, thought=thought, calls=(call,), finish="tool_calls")
    text = json.dumps(sample(request.schema)) if request.schema is not None else _reply(request)
    return shorten(replace(answer, text=text, thought=thought), request.max_tokens)


def shorten(answer: Answer, max_tokens: int | None) -> Answer:
    """Truncate an answer to the maximum number of tokens."""
    if not isinstance(max_tokens, int) or tokens(answer.text) <= max_tokens:
        return answer
    return replace(answer, text=answer.text[: max_tokens * 4], finish="length")


def _reply(request: NormalizedRequest) -> str:
    quote = " ".join(request.last_text.split())
    quote = quote if len(quote) <= _MAX_QUOTE_LENGTH else quote[:_MAX_QUOTE_LENGTH] + "..."
    if request.ends_with_results:
        return f"The tool answered: {quote}" if quote else "The tool answered nothing."
    return (
        f'You said: "{quote}". This is the sandbox speaking.'
        if quote
        else "This is the sandbox speaking."
    )


def _choose_tool(request: NormalizedRequest) -> Tool | None:
    """Choose the tool to call.

    A named or required tool, or a tool with a word of the user's text in its name.
    """
    if not request.tools or request.tool_choice == "none":
        return None
    named = next((tool for tool in request.tools if tool.name == request.tool_choice), None)
    if named is not None or request.tool_choice == "required":
        return named or request.tools[0]
    if request.ends_with_results:
        return None
    words = set(_WORD.findall(request.last_text.lower()))
    return next((tool for tool in request.tools if words & _significant_words(tool.name)), None)


def _significant_words(name: str) -> set[str]:
    """Split a tool's name into words and return those with more than three letters."""
    return {word for word in _WORD.findall(name.lower()) if len(word) > 3}
