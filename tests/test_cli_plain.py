"""Plain chats are judged by their shape: it must say all that any target asks of them."""

from __future__ import annotations

import json
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from chatmend.cli.conversation import Order, Visit, visit
from chatmend.cli.plain import Known, shape
from chatmend.placeholders import CONTINUED, NO_RESULT
from chatmend.targets import resolve
from tests.scale import examples
from tests.targets import OPENAI_CHAT

if TYPE_CHECKING:
    from collections.abc import Callable

ORDERS = [Order(resolve(name)) for name in OPENAI_CHAT]
ROLES = ("system", "user", "assistant", "developer")
ANY = st.characters()
"""Halves of characters among them."""
WORDS = st.text(ANY, min_size=1, max_size=12).filter(lambda text: text == text.strip())


def chat(*roles: str, words: Callable[[], str] = lambda: "Where is order 1042?") -> list[dict[str, str]]:
    return [{"role": role, "content": words()} for role in roles]


def called(*ids: str, name: str = "lookup", arguments: str = '{"order": 1042}') -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    calls = [{"id": call_id, "type": "function", "function": function} for call_id in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(call_id: str, text: str = "shipped") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def stored(messages: object, *, bare: bool) -> bytes:
    return json.dumps(messages if bare else {"messages": messages}).encode()


@pytest.mark.parametrize(
    "value",
    [
        [],
        {"messages": []},
        {"messages": chat("user"), "model": "gpt-4o"},
        {"messages": chat("user"), "system": ""},
        {"input": chat("user")},
        [*chat("user"), {"role": "assistant", "content": None}],
        [*chat("user"), {"role": "assistant", "content": "yes", "name": "ann"}],
        [*chat("user"), {"role": "tool", "content": "42"}],
        [*chat("user"), {"role": "tool", "content": "42", "tool_call_id": "call_gone"}],
        [*chat("user"), called("call_1", "call_1")],
        [*chat("user"), called("call_1"), result("call_1"), called("call_1")],
        [*chat("user"), called("call_1"), result("call_1"), result("call_1")],
        [*chat("user"), called("call_1"), result("call_1", " ")],
        [*chat("user"), called("call_1"), result("call_1", NO_RESULT)],
        [*chat("user"), called("call_1"), {"role": "tool", "tool_call_id": "call_1", "tool_calls": []}],
        [*chat("user"), {"role": "assistant", "tool_calls": called("call_1")["tool_calls"], "name": "ann"}],
        [*chat("user"), {**called("call_1"), "content": []}],
        [*chat("user"), {**called("call_1"), "content": " "}],
        [*chat("user"), {**called("call_1"), "role": "user"}],
        [*chat("user"), {"role": "assistant", "content": None, "tool_calls": []}],
        [*chat("user"), called("null")],
        [*chat("user"), called("call:1")],
        [*chat("user"), called("call_1", name="a.b")],
        [*chat("user"), called("call_1", arguments="[]")],
        [*chat("user"), called("call_1", arguments='{"a": NaN}')],
        [*chat("user"), called("call_1", arguments='{"a": ')],
        [*chat("user"), called("call_1", arguments='{"a": "\\ud800"}')],
        [*chat("user"), called("call_1", arguments='{"a": ' + "[" * 60 + "]" * 60 + "}")],
        [*chat("user"), {"role": "assistant", "content": " "}],
        [*chat("user"), {"role": "assistant", "content": "yes\u00a0"}],
        [*chat("user"), {"role": "assistant", "content": CONTINUED}],
        [*chat("user"), {"role": ["assistant"], "content": "yes"}],
        [*chat("user"), "yes"],
        chat("user", "assistant") * 100,
        "user",
        {"messages": {"role": "user"}},
    ],
)
def test_what_is_no_plain_chat_has_no_shape(value: object) -> None:
    assert shape(value) is None


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order.target.name)
def test_what_was_found_in_a_plain_chat_holds_for_every_other_of_its_shape(order: Order) -> None:
    known = Known()
    for bare, count in product((True, False), (1, 2, 3)):
        for roles in product(ROLES, repeat=count):
            first = stored(chat(*roles), bare=bare)
            other = stored(chat(*roles, words=iter("äöüß").__next__), bare=bare)
            assert visit(first, order, known) == visit(first, order)
            assert visit(other, order, known) == visit(other, order)


@given(st.lists(st.tuples(st.sampled_from(ROLES), WORDS), min_size=1, max_size=8), st.sampled_from(ORDERS))
def test_no_words_make_a_difference(said: list[tuple[str, str]], order: Order) -> None:
    known = Known()
    plain = stored([{"role": role, "content": "plain"} for role, _ in said], bare=True)
    told = stored([{"role": role, "content": text} for role, text in said], bare=True)
    visit(plain, order, known)
    assert visit(told, order, known) == visit(told, order)


@st.composite
def agents(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Two chats with calls that differ in words, ids and arguments."""
    lengths = draw(st.lists(st.sampled_from((5, 9, 40, 41, 64, 65)), min_size=6, max_size=6))
    stems = [draw(st.sampled_from(("0", "a", "_", "-"))) for _ in lengths]
    pairs: list[list[dict[str, Any]]] = []
    plan = draw(st.lists(st.sampled_from(("user", "assistant", "system", "call", "two", "result")), max_size=8))
    texts = draw(st.sampled_from((None, "", "said")))
    name = draw(st.sampled_from(("f", "lookup", "0start", "a-b", "x" * 64)))
    for letter, arguments in (("b", "{}"), ("7", '{"a": [1e300, 12345678901234567890123], "a": {"b": "\u00e4"}}')):
        ids = [
            f"{stem}{at}{letter * 70}"[:length] for at, (stem, length) in enumerate(zip(stems, lengths, strict=True))
        ]
        made, messages = iter(ids), chat("user", words=lambda letter=letter: letter)
        given: list[str] = []
        for step in plan:
            if step in ("call", "two"):
                mine = [call_id for call_id in (next(made, ""), next(made, "") if step == "two" else "") if call_id]
                given += mine
                said = letter if texts == "said" else texts
                messages += [{**called(*mine, name=name, arguments=arguments), "content": said}] if mine else []
            elif step == "result":
                messages += [result(given.pop(0), letter)] if given else []
            else:
                messages += chat(step, words=lambda letter=letter: letter)
        pairs.append(messages)
    return pairs[0], pairs[1]


@settings(max_examples=examples(100, 2_000))
@given(agents(), st.sampled_from(ORDERS))
def test_no_ids_and_arguments_make_a_difference(chats: tuple[list[Any], list[Any]], order: Order) -> None:
    one, two = chats
    assume(shape(one) is not None)
    assert shape(one) == shape(two)
    assert visit(stored(one, bare=True), order) == visit(stored(two, bare=True), order)


def test_chats_that_differ_in_what_counts_have_other_shapes() -> None:
    chats = [
        [*chat("user"), called("call_1"), result("call_1")],
        [*chat("user"), called("call_1"), *chat("user")],
        [*chat("user"), called("call_1")],
        [*chat("user"), called("call_12"), result("call_12")],
        [*chat("user"), called("call12"), result("call12")],
        [*chat("user"), called("call_1", name="other"), result("call_1")],
        [*chat("user"), called("call_1", "call_2"), result("call_1"), result("call_2")],
        [*chat("user"), called("call_1", "call_2"), result("call_2"), result("call_1")],
        [*chat("user"), {**called("call_1"), "content": ""}, result("call_1")],
        [*chat("user"), {**called("call_1"), "content": "yes"}, result("call_1")],
        [*chat("user"), result("call_1"), called("call_1")],
    ]
    shapes = [shape(messages) for messages in chats]
    assert shapes[-1] is None
    assert None not in shapes[:-1]
    assert len(set(shapes)) == len(shapes)


def test_where_no_shape_returns_none_is_looked_for_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chatmend.cli.plain._TRIED", 3)
    known = Known()
    for count in (1, 2, 3):
        key = known.shape(chat(*["user"] * count))
        assert key is not None
        assert known.get(key) is None
        known.put(key, Visit())
    assert known.shape(chat("user")) is None


def test_it_is_judged_once_and_what_is_known_stays_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chatmend.cli.plain._MOST", 2)
    known = Known()
    found = Visit()
    for key in ("a", "b", "c"):
        known.put((key,), found)
    assert known.get(("a",)) is None
    assert known.get(("c",)) is found
    order = ORDERS[0]
    once = visit(stored(chat("user", "assistant"), bare=True), order, known)
    assert visit(stored(chat("user", "assistant", words=lambda: "yes"), bare=True), order, known) is once


def test_what_is_repaired_is_judged_by_itself() -> None:
    order, known = Order(resolve("mistral/mistral-large-latest"), repairs=True), Known()
    texts = [stored(chat("user", "assistant", words=lambda word=word: word), bare=True) for word in ("one", "two")]
    one, two = (visit(text, order, known).written for text in texts)
    assert one is not None
    assert two is not None
    assert b"one" in one
    assert b"two" in two
    assert b"one" not in two
