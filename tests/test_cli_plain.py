"""Plain chats are judged by their shape: it must say all that any target asks of them."""

from __future__ import annotations

import json
from itertools import product
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatmend.cli.conversation import Order, Visit, visit
from chatmend.cli.plain import Known, shape
from chatmend.placeholders import CONTINUED
from chatmend.targets import resolve
from tests.targets import OPENAI_CHAT

if TYPE_CHECKING:
    from collections.abc import Callable

ORDERS = [Order(resolve(name)) for name in OPENAI_CHAT]
ROLES = ("system", "user", "assistant", "developer")
WORDS = st.text(min_size=1, max_size=12).filter(lambda text: text == text.strip())


def chat(*roles: str, words: Callable[[], str] = lambda: "Where is order 1042?") -> list[dict[str, str]]:
    return [{"role": role, "content": words()} for role in roles]


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
