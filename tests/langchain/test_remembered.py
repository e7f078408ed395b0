"""A model is asked where it sends to once: and again whenever something about it, or about the call, has changed."""

from __future__ import annotations

import gc
import inspect
import pickle
import weakref
from typing import Any

import pytest

pytest.importorskip("langchain_openai")
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_openai import ChatOpenAI

from chatmend.langchain import mend, remembered
from chatmend.langchain.hooks import prepare, settings_of
from chatmend.langchain.partners import place_of


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every time that a model is asked."""
    found: list[Any] = []

    def asking(model: Any, *rest: Any) -> Any:
        found.append(model)
        return place_of(model, *rest)

    monkeypatch.setattr(remembered, "place_of", asking)
    return found


def model_of(**options: Any) -> Any:
    return mend(ChatOpenAI(model="gpt-4o", api_key="k", base_url="https://api.openai.com/v1", **options))


def target_of(model: Any, /, **options: Any) -> str:
    """Where a call goes, and that it is where the model, asked anew, says."""
    place = settings_of(model).remembered.place_of(model, options, None)
    assert place is place_of(model, options)
    return f"{place.target.provider}/{place.target.model}"


def test_a_model_that_stays_as_it_is_is_asked_once(asked: list[Any]) -> None:
    model = model_of()
    for manager in (object(), object(), None):
        assert target_of(model, run_manager=manager, stop=None) == "openai/gpt-4o"
    assert len(asked) == 1
    tools = [{"type": "function", "function": {"name": "look"}}]
    for _ in range(3):
        assert target_of(model, tools=tools) == "openai/gpt-4o"
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("model_name", "gpt-5"),
        ("use_responses_api", True),
        ("openai_api_base", "https://api.deepseek.com"),
        ("profile", {}),
    ],
)
def test_a_model_that_was_changed_is_asked_again(name: str, value: Any, asked: list[Any]) -> None:
    model = model_of()
    target_of(model)
    setattr(model, name, value)
    target_of(model)
    assert len(asked) == 2


def test_what_was_changed_in_place_is_seen() -> None:
    model = model_of()
    assert target_of(model) == "openai/gpt-4o"
    model.model_kwargs["truncation"] = "auto"
    assert target_of(model) == "openai/responses/gpt-4o"
    tools = [{"type": "function", "function": {"name": "look"}}]
    del model.model_kwargs["truncation"]
    assert target_of(model, tools=tools) == "openai/gpt-4o"
    tools.append({"type": "web_search"})
    assert target_of(model, tools=tools) == "openai/responses/gpt-4o"


def test_what_was_changed_deep_inside_is_seen() -> None:
    model = model_of(model_kwargs={"tools": []})
    assert target_of(model) == "openai/gpt-4o"
    model.model_kwargs["tools"].append({"type": "web_search_preview"})
    assert target_of(model) != "openai/gpt-4o"


def test_a_call_for_another_model_and_a_copy_are_asked_for_themselves() -> None:
    model = model_of()
    assert target_of(model) == "openai/gpt-4o"
    assert target_of(model, model="gpt-5") == "openai/gpt-5"
    other = model.model_copy(update={"model_name": "o3"})
    assert [target_of(one) for one in (model, other, model)] == ["openai/gpt-4o", "openai/o3", "openai/gpt-4o"]


def test_a_model_of_ones_own_is_asked_each_time(asked: list[Any]) -> None:
    class Routing(GenericFakeChatModel):
        """Its type hangs on what it holds."""

        @property
        def _llm_type(self) -> str:
            return "openai-chat"

    Routing.__module__ = "mine"
    model = mend(Routing(messages=iter([AIMessage("hi")])))
    for _ in range(2):
        prepare(model, [], {})
    assert len(asked) == 2


def test_what_is_remembered_is_neither_pickled_nor_compared() -> None:
    model = model_of()
    settings = settings_of(model)
    target_of(model)
    assert pickle.loads(pickle.dumps(settings)) == settings  # noqa: S301 - our own
    assert settings == settings_of(model_of())
    assert "remembered" not in repr(settings)


class _Held:
    """Something that goes with what holds it."""


def test_a_model_that_was_called_goes_with_all_it_holds_when_nobody_holds_it() -> None:
    held = _Held()
    model = model_of(metadata={"held": held})
    target_of(model)
    gone = (weakref.ref(model), weakref.ref(held))
    del held
    gc.disable()  # without waiting for it
    try:
        del model
        assert [reference() for reference in gone] == [None, None]
    finally:
        gc.enable()


def test_the_hooks_have_the_signatures_of_what_they_wrap() -> None:
    bare, mended = ChatOpenAI(model="gpt-4o", api_key="k"), model_of()
    for name in ("_generate", "_agenerate", "_stream", "_astream"):
        assert inspect.signature(getattr(mended, name)) == inspect.signature(getattr(bare, name))
