"""Whether a conversation is so plain that no rule can have anything to say: one quick look, before anything is read.

Plain is what most calls send: a system prompt, then questions, answers and complete exchanges with tools, all of it
text. Which of these a target takes as they are is not told here but tried out: the repair itself judges a sample of
each, once for a place, a policy, and what stands beside the messages.

Between two calls of a model a processor forgets this code and these messages, so what counts is how little of either is
touched: one loop gathers, and what was gathered is judged by functions that are not written in Python.
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

_LETTERS: dict[type, str] = {SystemMessage: "s", HumanMessage: "u", AIMessage: "a", ToolMessage: "t"}
"""A letter for each turn; calls are ``c``. A capital stands for a turn without words."""


@dataclass(frozen=True, slots=True)
class Plain:
    """What passes untouched at one place."""

    order: Callable[[str], object]
    """Takes the letters of turns that may follow each other so."""
    name: Callable[[str], object]
    """Takes the name of a tool that passes."""
    call_id: Callable[[str], object]
    """Takes the id of a call that passes."""

    def covers(self, messages: list[BaseMessage]) -> bool:
        """Whether all messages are plain. ``False`` says nothing; ``True`` that a repair would change nothing."""
        calls: list[Any] = []
        results: list[dict[str, Any]] = []
        texts, turns, due = [], [], []
        for message in messages:
            if (turn := _LETTERS.get(type(message))) is None:
                return False
            held = message.__dict__  # the attributes of pydantic's models are slow to ask for
            text = held["content"]
            if type(text) is not str or held["additional_kwargs"]:
                return False
            texts.append(text)
            if turn == "t":
                results.append(held)
                turns.append("t" if text else "T")
                continue
            made = held["tool_calls"] if turn == "a" else ()
            if held["name"] is not None or (turn == "a" and held["invalid_tool_calls"]):
                return False
            calls += made
            turn = "c" if made else turn
            turns.append(turn if text else turn.upper())
            due.append(turns[-1] + "t" * len(made))
        said = "".join(turns)
        # so each result stands behind its calls, if there are as many, in their order
        return said == "".join(due) and bool(self.order(said)) and _are_sound(texts) and self._answer(calls, results)

    def _answer(self, calls: list[Any], results: list[dict[str, Any]]) -> bool:
        """Whether all calls are plain, and the results, of which there are as many, theirs."""
        ids: set[str] = set()
        names: set[Any] = {None}
        for call, result in zip(calls, results, strict=True):
            call_id, name, args = call.get("id"), call.get("name"), call.get("args")
            if type(call_id) is not str or type(name) is not str or type(args) is not dict:
                return False
            if len(call) != _KEYS or call_id in ids or result["tool_call_id"] != call_id or not self.call_id(call_id):
                return False
            ids.add(call_id)
            names |= {name, result["name"]}
            if not _is_plain(args):
                return False
        names.discard(None)
        return all(map(self.name, names))


_KEYS = 4
"""``name``, ``args``, ``id`` and ``type``."""


def _are_sound(texts: list[str]) -> bool:
    """Whether all texts can be sent."""
    return not any(map(str.isspace, texts)) and (all(map(str.isascii, texts)) or all(map(is_sound, texts)))


def _is_plain(args: dict[str, Any]) -> bool:
    """Whether arguments are plain: words and whole numbers, mostly; else they are looked through."""
    for name, value in args.items():
        kind = type(value)
        if kind is str and value.isascii():
            pass
        elif kind not in _NUMBERS and not (kind is list and _NUMBERS.issuperset(map(type, value))):
            return is_plain_object(args)
        if type(name) is not str or not name.isascii():
            return is_plain_object(args)
    return True


_NUMBERS: frozenset[type] = frozenset({int, bool, type(None)})


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
    order = _order(
        system=passes(SystemMessage("Be brief."), asked) and passes(SystemMessage("Be brief."), asked, said, asked),
        calls=calls,
        said_and_called=calls
        and passes(asked, words, told("abcdefgh4"))
        and passes(asked, words, told("abcdefgh4"), *exchanges, said, asked),
        asked_behind_results=calls
        and passes(asked, *exchanges, asked)
        and passes(asked, one, told("abcdefgh1"), asked, said, asked, two, told("abcdefgh2"), told("abcdefgh3")),
    )
    return Plain(
        order,
        name=_word(limits.tool_name_pattern),
        call_id=_word(limits.call_id_pattern, limits.max_call_id_length),
    )


def _order(*, system: bool, calls: bool, said_and_called: bool, asked_behind_results: bool) -> Callable[[str], object]:
    """What takes the turns of a conversation that ends with a question or with results.

    ``said_and_called``: calls may stand beside words; ``asked_behind_results``: a user may follow results.
    """
    exchange = "[cC]t+" if said_and_called else "Ct+"
    further = ["au", *([exchange] if calls else ()), *(["(?<=t)u"] if asked_behind_results else ())]
    return re.compile(f"{'s?' if system else ''}u(?:{'|'.join(further)})*").fullmatch


def _word(pattern: str | None, longest: int | None = None) -> Callable[[str], object]:
    """What takes a word of ASCII that a provider's pattern takes, too, and that is not too long."""
    return re.compile(rf"(?=[\x00-\x7f]{{1,{longest or ''}}}\Z)(?:{pattern or _ANY})").fullmatch


_ANY = r"(?s:.+)"
_TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}


def _called(text: str, *ids: str) -> AIMessage:
    return AIMessage(
        text, tool_calls=[{"name": "look", "args": {"at": "a"}, "id": i, "type": "tool_call"} for i in ids]
    )


def _told(call_id: str) -> ToolMessage:
    return ToolMessage("18", tool_call_id=call_id, name="look")
