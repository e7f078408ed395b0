"""The destination of a model is computed once, and again if the model or the call has changed."""

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

from chatmend.langchain import call_facts, mend
from chatmend.langchain.hooks import prepare
from chatmend.langchain.partners import find_destination
from chatmend.langchain.settings import settings_of


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Record the model of every call of ``find_destination``."""
    found: list[Any] = []

    def recording(model: Any, *rest: Any) -> Any:
        found.append(model)
        return find_destination(model, *rest)

    monkeypatch.setattr(call_facts, "find_destination", recording)
    return found


def model_of(**options: Any) -> Any:
    return mend(
        ChatOpenAI(model="gpt-4o", api_key="k", base_url="https://api.openai.com/v1", **options)
    )


def target_of(model: Any, /, **options: Any) -> str:
    """Return the target of a call; assert that the cached destination is the computed one."""
    settings = settings_of(model)
    destination = settings.calls.find_facts(model, options, settings).destination
    assert destination is find_destination(model, options)
    return f"{destination.target.provider}/{destination.target.model}"


def test_the_destination_of_an_unchanged_model_is_computed_once(computed: list[Any]) -> None:
    model = model_of()
    for manager in (object(), object(), None):
        assert target_of(model, run_manager=manager, stop=None) == "openai/gpt-4o"
    assert len(computed) == 1
    tools = [{"type": "function", "function": {"name": "look"}}]
    for _ in range(3):
        assert target_of(model, tools=tools) == "openai/gpt-4o"
    assert len(computed) == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("model_name", "gpt-5"),
        ("use_responses_api", True),
        ("openai_api_base", "https://api.deepseek.com"),
        ("profile", {}),
    ],
)
def test_the_destination_of_a_changed_model_is_computed_again(
    name: str, value: Any, computed: list[Any]
) -> None:
    model = model_of()
    target_of(model)
    setattr(model, name, value)
    target_of(model)
    assert len(computed) == 2


def test_changes_in_place_are_detected() -> None:
    model = model_of()
    assert target_of(model) == "openai/gpt-4o"
    model.model_kwargs["truncation"] = "auto"
    assert target_of(model) == "openai/responses/gpt-4o"
    tools = [{"type": "function", "function": {"name": "look"}}]
    del model.model_kwargs["truncation"]
    assert target_of(model, tools=tools) == "openai/gpt-4o"
    tools.append({"type": "web_search"})
    assert target_of(model, tools=tools) == "openai/responses/gpt-4o"


def test_changes_in_nested_values_are_detected() -> None:
    model = model_of(model_kwargs={"tools": []})
    assert target_of(model) == "openai/gpt-4o"
    model.model_kwargs["tools"].append({"type": "web_search_preview"})
    assert target_of(model) != "openai/gpt-4o"


def test_a_call_with_another_model_and_a_copy_have_their_own_destinations() -> None:
    model = model_of()
    assert target_of(model) == "openai/gpt-4o"
    assert target_of(model, model="gpt-5") == "openai/gpt-5"
    other = model.model_copy(update={"model_name": "o3"})
    assert [target_of(one) for one in (model, other, model)] == [
        "openai/gpt-4o",
        "openai/o3",
        "openai/gpt-4o",
    ]


def test_the_destination_of_a_custom_class_is_computed_for_each_call(computed: list[Any]) -> None:
    class Routing(GenericFakeChatModel):
        """A custom class whose type could depend on its state."""

        @property
        def _llm_type(self) -> str:
            return "openai-chat"

    Routing.__module__ = "mine"
    model = mend(Routing(messages=iter([AIMessage("hi")])))
    for _ in range(2):
        prepare(model, [], {})
    assert len(computed) == 2


def test_cached_destinations_are_neither_pickled_nor_compared() -> None:
    model = model_of()
    settings = settings_of(model)
    target_of(model)
    assert pickle.loads(pickle.dumps(settings)) == settings  # noqa: S301 - bytes of this test
    assert settings == settings_of(model_of())
    assert "calls" not in repr(settings)


class _Held:
    """An object that only the metadata of the model refers to."""


def test_a_called_model_is_freed_with_everything_it_refers_to() -> None:
    held = _Held()
    model = model_of(metadata={"held": held})
    target_of(model)
    references = (weakref.ref(model), weakref.ref(held))
    del held
    gc.disable()  # reference counting alone must free the model
    try:
        del model
        assert [reference() for reference in references] == [None, None]
    finally:
        gc.enable()


def test_the_hooks_have_the_signatures_of_the_wrapped_methods() -> None:
    bare, wrapped = ChatOpenAI(model="gpt-4o", api_key="k"), model_of()
    for name in ("_generate", "_agenerate", "_stream", "_astream"):
        assert inspect.signature(getattr(wrapped, name)) == inspect.signature(getattr(bare, name))
