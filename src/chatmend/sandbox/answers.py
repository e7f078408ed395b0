"""What the sandbox answers: plausible, and the same whenever the same is asked."""

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
_SHOWN = 80
_WORD = re.compile(r"[a-z]+")
_THOUGHT = "The user wants an answer. I look at what was said last, and reply to that."


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a request offers."""

    name: str
    schema: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ask:
    """What a request asks for, whatever its dialect."""

    said: str = ""
    """What the user said last."""
    tools: tuple[Tool, ...] = ()
    choice: str = "auto"
    """``auto``, ``none``, ``required``, or the name of a tool."""
    results: bool = False
    """The last turn answers tool calls."""
    schema: Mapping[str, Any] | None = None
    """The answer must be JSON of this schema."""
    thinks: bool = False
    most: int | None = None
    """The most output tokens that the caller allows."""


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
    """An answer, whatever its dialect."""

    id: str
    model: str
    text: str = ""
    thought: str = ""
    calls: tuple[Call, ...] = ()
    finish: str = "stop"
    """``stop``, ``tool_calls`` or ``length``."""
    prompt: Prompt = field(default_factory=lambda: Prompt(0))
    signature: str = ""
    """Signs the thought, or the first call where the provider signs calls."""

    @property
    def thought_tokens(self) -> int:
        """Tokens of the thought."""
        return tokens(self.thought)

    @property
    def output_tokens(self) -> int:
        """Tokens of everything that was answered, the thought included."""
        spoken = self.text + "".join(call.name + call.text for call in self.calls)
        return tokens(spoken) + self.thought_tokens


def compose(ask: Ask, answer: Answer, call_ids: list[str]) -> Answer:
    """Fill an empty answer with what was asked for."""
    thought = _THOUGHT if ask.thinks else ""
    if tool := _wanted(ask):
        arguments = sample(tool.schema)
        call = Call(call_ids[0], tool.name, arguments if isinstance(arguments, dict) else {})
        return replace(answer, thought=thought, calls=(call,), finish="tool_calls")
    text = json.dumps(sample(ask.schema)) if ask.schema is not None else _reply(ask)
    return shorten(replace(answer, text=text, thought=thought), ask.most)


def shorten(answer: Answer, most: int | None) -> Answer:
    """Cut an answer off where the caller allows no more tokens."""
    if most is None or tokens(answer.text) <= most:
        return answer
    return replace(answer, text=answer.text[: most * 4], finish="length")


def _reply(ask: Ask) -> str:
    shown = " ".join(ask.said.split())
    shown = shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "..."
    if ask.results:
        return f"The tool answered: {shown}" if shown else "The tool answered nothing."
    return f'You said: "{shown}". This is the sandbox speaking.' if shown else "This is the sandbox speaking."


def _wanted(ask: Ask) -> Tool | None:
    """The tool that is to be called: a named one, a required one, or one that the user's words ask for."""
    if not ask.tools or ask.choice == "none":
        return None
    named = next((tool for tool in ask.tools if tool.name == ask.choice), None)
    if named is not None or ask.choice == "required":
        return named or ask.tools[0]
    if ask.results:
        return None
    said = set(_WORD.findall(ask.said.lower()))
    return next((tool for tool in ask.tools if said & _words(tool.name)), None)


def _words(name: str) -> set[str]:
    """The words of a tool's name that say something."""
    return {word for word in _WORD.findall(name.lower()) if len(word) > 3}
