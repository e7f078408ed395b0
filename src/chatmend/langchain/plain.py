"""Whether a conversation is so plain that no rule can have anything to say: ``chatmend.plain``, of message objects."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from chatmend.langchain.dialect import Dialect
from chatmend.langchain.fields import is_plain_object
from chatmend.plain import Plain, are_sound, tried_out
from chatmend.policy import Policy
from chatmend.repair import repair

if TYPE_CHECKING:
    from chatmend.langchain.partners import Place

_LETTERS: dict[type, str] = {SystemMessage: "s", HumanMessage: "u", AIMessage: "a", ToolMessage: "t"}
"""The letters of ``chatmend.plain``."""
_KEYS = 4
"""``name``, ``args``, ``id`` and ``type`` of a call."""
_NUMBERS: frozenset[type] = frozenset({int, bool, type(None)})
_TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}


def is_plain(messages: list[BaseMessage], place: Place, policy: Policy | None, *, tools: bool, thinking: bool) -> bool:
    """Whether a repair of these messages for a place would change nothing; ``False`` says nothing."""
    plain = plain_at(place, policy, tools=tools, thinking=thinking)
    return plain is not None and covers(plain, messages)


@lru_cache(maxsize=256)
def plain_at(place: Place, policy: Policy | None, *, tools: bool, thinking: bool) -> Plain | None:
    """What passes untouched at a place; None where not even question and answer do."""

    def passes(*messages: BaseMessage) -> bool:
        given = list(messages)
        dialect = Dialect(chat_messages=place.chat_messages)
        declared = [_TOOL] if tools else []
        done = repair(given, place.target, tools=declared, thinking=thinking, policy=policy, dialect=dialect)
        return done.messages is given and not done.changes and done.tools is declared

    chosen = policy or Policy()
    limits = chosen.apply(place.target.limits_in(Dialect.NAME, hygiene=chosen.rules == "hygiene"))
    return tried_out(_message, passes, limits)


def _message(turn: str, text: str, ids: tuple[str, ...]) -> BaseMessage:
    if turn == "t":
        return ToolMessage(text, tool_call_id=ids[0], name="look")
    if turn == "c":
        calls = [{"name": "look", "args": {"at": "a"}, "id": i, "type": "tool_call"} for i in ids]
        return AIMessage(text, tool_calls=calls)
    kinds: dict[str, type[BaseMessage]] = {letter: kind for kind, letter in _LETTERS.items()}
    return kinds[turn](text)


def covers(plain: Plain, messages: list[BaseMessage]) -> bool:
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
        if made.__class__ not in (list, tuple):
            return False
        if held["name"] is not None or (turn == "a" and held["invalid_tool_calls"]):
            return False
        calls += made
        turn = "c" if made else turn
        turns.append(turn if text else turn.upper())
        due.append(turns[-1] + "t" * len(made))
    said = "".join(turns)
    # so each result stands behind its calls, if there are as many, in their order
    return said == "".join(due) and bool(plain.order(said)) and are_sound(texts) and _answer(plain, calls, results)


def _answer(plain: Plain, calls: list[Any], results: list[dict[str, Any]]) -> bool:
    """Whether all calls are plain, and the results, of which there are as many, theirs."""
    ids: set[str] = set()
    names: set[Any] = {None}
    for call, result in zip(calls, results, strict=True):
        if not isinstance(call, dict) or not isinstance(result["name"], str | None):
            return False
        call_id, name, args = call.get("id"), call.get("name"), call.get("args")
        if type(call_id) is not str or type(name) is not str or type(args) is not dict:
            return False
        if len(call) != _KEYS or call_id in ids or result["tool_call_id"] != call_id or not plain.call_id(call_id):
            return False
        ids.add(call_id)
        names |= {name, result["name"]}
        if not _is_plain(args):
            return False
    names.discard(None)
    return all(map(plain.name, names))


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
