"""Records are frozen dataclasses to everyone who asks, however they are made."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, asdict, replace

import pytest

import chatmend
from chatmend.transcript import Message, Role, Text

WORDS = Text("hi", {"type": "text", "text": "hi"})


def test_nothing_in_a_record_can_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        WORDS.text = "no"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del WORDS.text


def test_records_are_equal_by_what_they_hold_and_by_their_class() -> None:
    assert Text("hi") == Text(text="hi")
    assert Text("hi") != Text("ho")
    assert Message(Role.USER, (Text("hi"),)) == Message(Role.USER, (Text("hi"),))
    assert hash(Text("hi")) == hash(Text("hi"))


def test_records_survive_pickle_copy_and_replace() -> None:
    (change,) = chatmend.check([{"role": "user", "content": None}], "openai/gpt-4o")
    assert pickle.loads(pickle.dumps(change)) == change  # noqa: S301 - our own bytes
    assert copy.deepcopy(change) == change
    assert replace(change, applied=True).applied
    assert asdict(Text("hi")) == {"text": "hi", "native": None}


def test_a_record_says_how_it_is_made() -> None:
    with pytest.raises(TypeError, match="text"):
        Text()  # type: ignore[call-arg]
    assert repr(Text("hi")) == "Text(text='hi', native=None)"
