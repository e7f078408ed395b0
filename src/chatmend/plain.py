"""Whether a chat is so plain that no rule can have anything to say: one quick look, before anything is read.

Plain is what most calls send: a system prompt, then questions, answers and complete exchanges with tools, all of it
text. Which of these a target takes as they are is not told here but tried out: the rules themselves judge a sample of
each, once for the limits.

Between two calls of a model a processor forgets this code and these messages, so what counts is how little of either is
touched: one loop gathers, and what was gathered is judged by functions that are not written in Python.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from chatmend.dialects import DIALECTS
from chatmend.engine import Run
from chatmend.jsontext import is_object, is_sound
from chatmend.policy import Policy
from chatmend.record import record
from chatmend.rules import Context

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmend.targets.limits import Limits

    Made = TypeVar("Made")
    Make = Callable[[str, str, tuple[str, ...]], Made]
    """Makes a message: the letter of its turn, its words, the ids of its calls or of the call that it answers."""

    Look = Callable[[list[Any]], bool]
    """Tells whether a repair of these chat messages would change nothing; ``False`` says nothing."""

CHAT = "openai_chat"
_LETTERS = {"system": "s", "user": "u", "assistant": "a", "tool": "t"}
"""A letter for each turn; calls are ``c``. A capital stands for a turn without words."""
_CALL = frozenset({"id", "type", "function"})
_FUNCTION = frozenset({"name", "arguments"})


@record
class Plain:
    """What passes untouched under some limits."""

    order: Callable[[str], object]
    """Takes the letters of turns that may follow each other so."""
    name: Callable[[str], object]
    """Takes the name of a tool that passes."""
    call_id: Callable[[str], object]
    """Takes the id of a call that passes."""


def look(limits: Limits, *, declared: bool) -> Look:
    """The quick look under some limits.

    ``declared``: the tools of the history need no declaration, or have one.
    """
    plain = _plain_at(limits)
    return _sees_nothing if plain is None else partial(_covers, plain, declared=declared)


def _sees_nothing(_: list[Any]) -> bool:
    return False


def _covers(plain: Plain, messages: list[Any], *, declared: bool) -> bool:
    calls: list[Any] = []
    answered: list[Any] = []
    texts: list[str] = []
    turns: list[str] = []
    due: list[str] = []
    for message in messages:
        if message.__class__ is not dict or "role" not in message or "content" not in message:
            return False
        role, text, size = message["role"], message["content"], len(message)
        if role.__class__ is not str or (turn := _LETTERS.get(role)) is None:
            return False
        if text.__class__ is str and text:
            texts.append(text)
        elif text is not None or size == 2:  # noqa: PLR2004 - role and content
            return False
        if size == 2 and turn != "t":  # noqa: PLR2004
            turns.append(turn)
            due.append(turn)
        elif size != 3:  # noqa: PLR2004 - and calls, or an id
            return False
        elif turn == "t" and text is not None and "tool_call_id" in message:
            answered.append(message["tool_call_id"])
            turns.append("t")
        elif turn == "a" and (made := message.get("tool_calls")).__class__ is list and made:
            calls += made
            turns.append("C" if text is None else "c")
            due.append(turns[-1] + "t" * len(made))
        else:
            return False
    # so each result stands behind its calls, if there are as many, in their order
    said = "".join(turns)
    if said != "".join(due) or not plain.order(said) or not are_sound(texts):
        return False
    return not calls or (declared and _answer(plain, calls, answered))


def _answer(plain: Plain, calls: list[Any], answered: list[Any]) -> bool:
    """Whether all calls are plain, and the results theirs."""
    ids: list[str] = []
    names: set[str] = set()
    for call in calls:
        if call.__class__ is not dict or call.keys() != _CALL or call["type"] != "function":
            return False
        call_id, function = call["id"], call["function"]
        if call_id.__class__ is not str or function.__class__ is not dict or function.keys() != _FUNCTION:
            return False
        name, text = function["name"], function["arguments"]
        if name.__class__ is not str or text.__class__ is not str or not plain.call_id(call_id):
            return False
        if not text.isascii() or "\\u" in text or not is_object(text):
            return False
        ids.append(call_id)
        names.add(name)
    return ids == answered and len(set(ids)) == len(ids) and all(map(plain.name, names))


def are_sound(texts: list[str]) -> bool:
    """Whether all texts say something, and can be sent."""
    return not any(map(str.isspace, texts)) and (all(map(str.isascii, texts)) or all(map(is_sound, texts)))


@lru_cache(maxsize=256)
def _plain_at(limits: Limits) -> Plain | None:
    def passes(*messages: dict[str, Any]) -> bool:
        given = list(messages)
        run = Run(given, Context(limits, DIALECTS[CHAT], Policy(), None))
        run.start()
        request, changes = run.finish(None, None)
        return request.messages is given and not changes

    return tried_out(_message, passes, limits)


def _message(turn: str, text: str, ids: tuple[str, ...]) -> dict[str, Any]:
    if turn == "t":
        return {"role": "tool", "tool_call_id": ids[0], "content": text}
    if turn != "c":
        return {"role": next(role for role, letter in _LETTERS.items() if letter == turn), "content": text}
    function = {"name": "look", "arguments": '{"at": "a"}'}
    calls = [{"id": call_id, "type": "function", "function": function} for call_id in ids]
    return {"role": "assistant", "content": text or None, "tool_calls": calls}


def tried_out(make: Make[Made], passes: Callable[..., bool], limits: Limits) -> Plain | None:
    """What passes untouched, by samples that ``make`` makes and ``passes`` judges; None where not even a chat does."""
    asked, said, told = make("u", "What now?", ()), make("a", "This.", ()), make("s", "Be brief.", ())
    if not (passes(asked) and passes(asked, said, asked, said, asked)):
        return None

    def exchange(words: str, *ids: str) -> list[Made]:
        return [make("c", words, ids), *(make("t", "18", (call_id,)) for call_id in ids)]

    one, two = exchange("", "abcdefgh1"), exchange("", "abcdefgh2", "abcdefgh3")
    worded = exchange("I look.", "abcdefgh4")
    calls = passes(asked, *one, *two) and passes(asked, *one, *two, said, asked) and passes(asked, *one, said, asked)
    order = _order(
        system=passes(told, asked) and passes(told, asked, said, asked),
        calls=calls,
        said_and_called=calls and passes(asked, *worded) and passes(asked, *worded, *one, *two, said, asked),
        asked_behind_results=calls
        and passes(asked, *one, *two, asked)
        and passes(asked, *one, asked, said, asked, *two),
    )
    return Plain(order, _word(limits.tool_name_pattern), _word(limits.call_id_pattern, limits.max_call_id_length))


def _order(*, system: bool, calls: bool, said_and_called: bool, asked_behind_results: bool) -> Callable[[str], object]:
    """What takes the turns of a conversation that ends with a question or with results.

    ``said_and_called``: calls may stand beside words; ``asked_behind_results``: a user may follow results. Nothing is
    tried twice (``*+``), so a long conversation takes no memory.
    """
    exchange = "[cC]t++" if said_and_called else "Ct++"
    further = ["au", *([exchange] if calls else ()), *(["(?<=t)u"] if asked_behind_results else ())]
    return re.compile(f"{'s?' if system else ''}u(?:{'|'.join(further)})*+").fullmatch


def _word(pattern: str | None, longest: int | None = None) -> Callable[[str], object]:
    """What takes a word of ASCII that a provider's pattern takes, too, and that is not too long."""
    most, fits = longest or 1 << 30, re.compile(pattern or r"(?s:.+)").fullmatch
    return lambda word: 0 < len(word) <= most and word.isascii() and fits(word)
