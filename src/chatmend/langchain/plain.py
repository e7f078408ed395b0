"""Whether a conversation is so plain that no rule can have anything to say: one quick look, before anything is read.

Plain is what most calls send: a system prompt, then questions, answers and complete exchanges with tools, all of it
text. Which of these a target takes as they are is not told here but tried out: the repair itself judges a sample of
each, once for a place, a policy, and what stands beside the messages.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from chatmend.jsontext import is_sound
from chatmend.langchain.dialect import Dialect
from chatmend.langchain.fields import is_plain_object
from chatmend.policy import Policy
from chatmend.repair import repair

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmend.langchain.partners import Place

_START, _ASKED, _SAID, _CALLED, _TOLD = range(5)
"""What came last: nothing or the system prompt, a user, an answer, calls that wait for results, the last result."""


@dataclass(frozen=True, slots=True)
class Plain:
    """What passes untouched at one place."""

    system: bool
    calls: bool
    said_and_called: bool
    """Calls beside words."""
    asked_behind_results: bool
    """A user behind tool results."""
    names: Callable[[str], object]
    ids: Callable[[str], object]
    longest_id: int

    def covers(self, messages: list[BaseMessage]) -> bool:
        """Whether all messages are plain. ``False`` says nothing; ``True`` that a repair would change nothing."""
        walk = _Walk(self)
        at = 1 if messages and messages[0].__class__ is SystemMessage else 0
        if at and not (self.system and _is_text(messages[0]) and messages[0].content and messages[0].name is None):
            return False
        for message in messages[at:] if at else messages:
            step = _STEPS.get(message.__class__)
            if step is None or not _is_text(message) or not step(walk, message):
                return False
        return walk.state in (_ASKED, _TOLD)


class _Walk:
    """The way through a conversation: what came last, calls that wait for their results, ids in use."""

    __slots__ = ("ids", "plain", "state", "waiting")

    def __init__(self, plain: Plain) -> None:
        self.plain = plain
        self.state = _START
        self.waiting: list[str] = []
        self.ids: set[str] = set()

    def ask(self, message: HumanMessage) -> bool:
        """A user's turn."""
        behind = self.state in (_START, _SAID) or (self.state == _TOLD and self.plain.asked_behind_results)
        self.state = _ASKED
        return behind and message.name is None and bool(message.content)

    def say(self, message: AIMessage) -> bool:
        """An answer, or calls, or both."""
        calls: list[Any] = message.tool_calls
        if self.state not in (_ASKED, _TOLD) or message.invalid_tool_calls or message.name is not None:
            return False
        if not calls:
            self.state = _SAID
            return bool(message.content)
        self.state = _CALLED
        self.waiting = [call.get("id") for call in reversed(calls)]
        plain = self.plain
        return plain.calls and (not message.content or plain.said_and_called) and all(map(self._is_plain, calls))

    def _is_plain(self, call: Any) -> bool:
        call_id, name, args = call.get("id"), call.get("name"), call.get("args")
        if call_id.__class__ is not str or name.__class__ is not str or args.__class__ is not dict:
            return False
        if len(call) != _KEYS or call_id in self.ids or not (call_id.isascii() and name.isascii()):
            return False
        self.ids.add(call_id)
        plain = self.plain
        fits = len(call_id) <= plain.longest_id and plain.ids(call_id) and plain.names(name)
        return bool(fits) and is_plain_object(args)

    def tell(self, message: ToolMessage) -> bool:
        """The result of the call that waits first."""
        if self.state != _CALLED or message.tool_call_id != self.waiting.pop():
            return False
        self.state = _CALLED if self.waiting else _TOLD
        name = message.name
        return bool(message.content) and (name is None or (name.isascii() and self.plain.names(name) is not None))


_STEPS: dict[type, Any] = {HumanMessage: _Walk.ask, AIMessage: _Walk.say, ToolMessage: _Walk.tell}


_KEYS = 4
"""``name``, ``args``, ``id`` and ``type``."""


def _is_text(message: BaseMessage) -> bool:
    """Whether a message holds text that can be sent, or nothing, and no keys of a provider's own."""
    text = message.content
    if text.__class__ is not str or message.additional_kwargs:
        return False
    return not text.isspace() and (text.isascii() or is_sound(text))


def is_plain(messages: list[BaseMessage], place: Place, policy: Policy | None, *, tools: bool, thinking: bool) -> bool:
    """Whether a repair of these messages for a place would change nothing; ``False`` says nothing."""
    plain = plain_at(place, policy, tools=tools, thinking=thinking)
    return plain is not None and plain.covers(messages)


@lru_cache(maxsize=256)
def plain_at(place: Place, policy: Policy | None, *, tools: bool, thinking: bool) -> Plain | None:
    """What passes untouched at a place; None where not even question and answer do."""

    def passes(*messages: BaseMessage) -> bool:
        given = list(messages)
        dialect = Dialect(chat_messages=place.chat_messages)
        declared = [_TOOL] if tools else []
        done = repair(given, place.target, tools=declared, thinking=thinking, policy=policy, dialect=dialect)
        return done.messages is given and not done.changes and done.tools is declared

    asked, said = HumanMessage("What now?"), AIMessage("This.")
    if not (passes(asked) and passes(asked, said, asked, said, asked)):
        return None
    chosen = policy or Policy()
    limits = chosen.apply(place.target.limits_in(Dialect.NAME, hygiene=chosen.rules == "hygiene"))
    one, two, told = _called("", "abcdefgh1"), _called("", "abcdefgh2", "abcdefgh3"), _told
    exchanges = (one, told("abcdefgh1"), two, told("abcdefgh2"), told("abcdefgh3"))
    words = _called("I look.", "abcdefgh4")
    calls = all(
        passes(asked, *rest) for rest in (exchanges, (*exchanges, said, asked), (one, told("abcdefgh1"), said, asked))
    )
    return Plain(
        system=passes(SystemMessage("Be brief."), asked) and passes(SystemMessage("Be brief."), asked, said, asked),
        calls=calls,
        said_and_called=calls
        and passes(asked, words, told("abcdefgh4"))
        and passes(asked, words, told("abcdefgh4"), *exchanges, said, asked),
        asked_behind_results=calls
        and passes(asked, *exchanges, asked)
        and passes(asked, one, told("abcdefgh1"), asked, said, asked, two, told("abcdefgh2"), told("abcdefgh3")),
        names=re.compile(limits.tool_name_pattern or _ANY).fullmatch,
        ids=re.compile(limits.call_id_pattern or _ANY).fullmatch,
        longest_id=limits.max_call_id_length or 1 << 30,
    )


_ANY = r"(?s:.+)"
_TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}


def _called(text: str, *ids: str) -> AIMessage:
    return AIMessage(
        text, tool_calls=[{"name": "look", "args": {"at": "a"}, "id": i, "type": "tool_call"} for i in ids]
    )


def _told(call_id: str) -> ToolMessage:
    return ToolMessage("18", tool_call_id=call_id, name="look")
