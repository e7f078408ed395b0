"""A wrapped model repairs its messages and otherwise behaves like the original model."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

pytest.importorskip("langchain_core")
from langchain_core.language_models import BaseChatModel, GenericFakeChatModel
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.rate_limiters import InMemoryRateLimiter
from langchain_core.runnables import ConfigurableField, RunnableLambda
from pydantic import BaseModel

from chatmend import Policy, TargetError
from chatmend.langchain import MendedChatModel, mend, message_repair, repair_messages
from chatmend.langchain.model import repairing_class
from chatmend.langchain.partners import find_destination
from tests.langchain.configurations import CONFIGURATIONS
from tests.langchain.damage import DAMAGE
from tests.langchain.loop import run
from tests.langchain.test_damage import look

BROKEN = DAMAGE["one of two calls unanswered"]
ALL = pytest.mark.parametrize("name", CONFIGURATIONS)


class Weather(BaseModel):
    """The weather."""

    degrees: int


@pytest.fixture(name="model")
def _model(sandbox: Any, name: str) -> Any:
    return CONFIGURATIONS[name].model(sandbox)


@ALL
def test_a_wrapped_model_looks_like_the_original_model(model: Any, name: str) -> None:  # noqa: ARG001 - used by the fixture
    wrapped = mend(model)
    assert isinstance(wrapped, type(model))
    assert isinstance(wrapped, MendedChatModel)
    assert type(wrapped).__name__ == type(model).__name__
    assert type(wrapped).__module__ == type(model).__module__
    assert dumpd(wrapped) == dumpd(model)
    assert repr(wrapped) == repr(model)
    assert wrapped.asdict() == model.asdict()
    assert wrapped._llm_type == model._llm_type
    assert wrapped._get_ls_params() == model._get_ls_params()
    assert wrapped._get_llm_string() == model._get_llm_string()
    assert wrapped.profile == model.profile
    assert type(model) is not type(wrapped)


@ALL
def test_wrapping_a_wrapped_model_only_replaces_the_settings(model: Any, name: str) -> None:  # noqa: ARG001
    once = mend(model)
    twice = mend(once, policy=Policy(orphans="drop"))
    assert type(twice) is type(once) is repairing_class(type(model))
    assert twice.mending.policy == Policy(orphans="drop")
    assert once.mending.policy is None


@ALL
def test_every_synchronous_call_is_accepted(model: Any, name: str, sandbox: Any) -> None:
    wrapped = mend(model, on_error="raise")
    texts = [wrapped.invoke(BROKEN).text, "".join(chunk.text for chunk in wrapped.stream(BROKEN))]
    texts += [answer.text for answer in wrapped.batch([BROKEN, BROKEN])]
    if name != "mistral":  # its class cannot add up the usage of two calls, bare or wrapped
        texts += [result[0].text for result in wrapped.generate([BROKEN, BROKEN]).generations]
    assert len(set(texts)) == 1
    assert texts[0]
    assert not sandbox.refusals


@ALL
def test_every_asynchronous_call_is_accepted(sandbox: Any, name: str) -> None:
    async def ask() -> list[str]:
        wrapped = mend(CONFIGURATIONS[name].model(sandbox), on_error="raise")
        texts = [(await wrapped.ainvoke(BROKEN)).text]
        texts.append("".join([chunk.text async for chunk in wrapped.astream(BROKEN)]))
        texts += [answer.text for answer in await wrapped.abatch([BROKEN])]
        texts += [result[0].text for result in (await wrapped.agenerate([BROKEN])).generations]
        events = [event async for event in wrapped.astream_events(BROKEN, version="v2")]
        return [*texts, events[-1]["data"]["output"].text]

    assert len(set(run(ask()))) == 1
    assert not sandbox.refusals


@ALL
def test_events_of_protocol_v3_are_accepted(model: Any, name: str, sandbox: Any) -> None:  # noqa: ARG001
    stream = mend(model, on_error="raise").stream_events(BROKEN, version="v3")
    assert "".join(stream.text)
    assert stream.output.response_metadata["chatmend"]["changes"]
    assert not sandbox.refusals


@ALL
def test_runnables_derived_from_a_wrapped_model_repair(model: Any, name: str, sandbox: Any) -> None:  # noqa: ARG001
    wrapped = mend(model, on_error="raise")
    made: dict[str, Any] = {
        "bind_tools": wrapped.bind_tools([look]),
        "bind": wrapped.bind(stop=None),
        "with_config": wrapped.with_config({"tags": ["t"]}),
        "with_retry": wrapped.with_retry(stop_after_attempt=1),
        "with_fallbacks": wrapped.with_fallbacks([wrapped]),
        "with_structured_output": wrapped.with_structured_output(Weather),
        "model_copy": wrapped.model_copy(),
        "copy": copy.copy(wrapped),
        "chain": RunnableLambda(lambda messages: messages) | wrapped,
    }
    for how, runnable in made.items():
        assert runnable.invoke(BROKEN), how
    assert not sandbox.refusals


@ALL
def test_runnables_that_contain_a_model_can_be_wrapped(model: Any, name: str, sandbox: Any) -> None:  # noqa: ARG001
    for bound in (
        model.bind_tools([look]),
        model.with_config(tags=["t"]),
        model.with_fallbacks([model]),
    ):
        wrapped = mend(bound, on_error="raise")
        assert type(wrapped) is type(bound)
        assert wrapped.invoke(BROKEN).response_metadata
    assert not sandbox.refusals


@ALL
def test_configurable_and_retrying_models_can_be_wrapped(
    model: Any,
    name: str,  # noqa: ARG001
    sandbox: Any,
) -> None:
    which = ConfigurableField(id="which")
    choice = model.configurable_alternatives(
        which, default_key="one", two=model.bind_tools([look]), three=lambda: model
    )
    field = model.configurable_fields(temperature=ConfigurableField(id="temperature"))
    for runnable in (choice, field, model.with_retry(), field.with_retry(stop_after_attempt=2)):
        wrapped = mend(runnable, on_error="raise")
        assert type(wrapped) is type(runnable)
        for chosen in ({}, {"which": "two"}, {"which": "three"}, {"temperature": 0.5}):
            assert wrapped.invoke(BROKEN, {"configurable": chosen}).response_metadata
    assert not sandbox.refusals


@ALL
def test_copies_and_configured_models_keep_the_settings(
    model: Any,
    name: str,  # noqa: ARG001
    sandbox: Any,
) -> None:
    wrapped = mend(model, policy=Policy(orphans="drop"))
    fields = ConfigurableField(id="t")
    configurable = wrapped.configurable_fields(temperature=fields)
    assert configurable.invoke(BROKEN, config={"configurable": {"t": 0.5}}).response_metadata[
        "chatmend"
    ]
    assert wrapped.model_copy(update={"temperature": 0.1}).mending == wrapped.mending
    assert copy.copy(wrapped).mending == wrapped.mending
    assert not sandbox.refusals


def test_a_wrapped_model_can_still_be_pickled(sandbox: Any) -> None:
    wrapped = mend(
        CONFIGURATIONS["anthropic"].model(sandbox), policy=Policy(orphans="drop"), on_error="raise"
    )
    again = pickle.loads(pickle.dumps(wrapped))  # noqa: S301 - bytes of this test
    assert type(again) is type(wrapped)
    assert again.mending == wrapped.mending
    assert again.invoke(BROKEN).response_metadata
    assert copy.deepcopy(wrapped).mending == wrapped.mending
    assert not sandbox.refusals


def test_the_report_has_codes_and_effects_but_no_content(sandbox: Any) -> None:
    answer = mend(CONFIGURATIONS["openai"].model(sandbox)).invoke(BROKEN)
    (change,) = answer.response_metadata["chatmend"]["changes"]
    assert (change["code"], change["effect"], change["applied"]) == ("TOOL007", "adds", True)
    assert not any(str(message.content) in str(change) for message in BROKEN if message.content)


def test_report_mode_sends_the_original_messages(sandbox: Any) -> None:
    wrapped = mend(CONFIGURATIONS["openai"].model(sandbox), mode="report")
    with pytest.raises(Exception, match="400"):
        wrapped.invoke(BROKEN)


def test_the_kill_switch_sends_the_original_messages(
    sandbox: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHATMEND_DISABLED", "1")
    with pytest.raises(Exception, match="400"):
        mend(CONFIGURATIONS["openai"].model(sandbox)).invoke(BROKEN)


@pytest.mark.parametrize("function", ["without_instructions", "repair"])
def test_an_internal_error_does_not_fail_the_request_and_is_logged_once(
    sandbox: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, function: str
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("a secret of the transcript")

    monkeypatch.setattr(message_repair, function, fail)
    model = CONFIGURATIONS["openai"].model(sandbox)
    messages = [HumanMessage("hello"), HumanMessage("are you there?")]
    assert mend(model).invoke(messages).content
    assert [
        record.levelname for record in caplog.records if record.name == "chatmend.langchain"
    ] == ["WARNING"]
    assert "secret" not in caplog.text
    with pytest.raises(RuntimeError):
        mend(model, on_error="raise").invoke(messages)


def test_dicts_that_langchain_cannot_convert_are_converted_leniently(sandbox: Any) -> None:
    function = {"name": "look", "arguments": '{"at": "Par'}
    broken = {
        "role": "assistant",
        "tool_calls": [{"id": "a", "type": "function", "function": function}],
    }
    model = CONFIGURATIONS["openai"].model(sandbox)
    messages = [{"role": "user", "content": "q"}, broken, {"role": "user", "content": "next"}]
    with pytest.raises(Exception, match=r"content|JSON|Expecting|Unterminated"):
        model.invoke(messages)
    assert mend(model, on_error="raise").invoke(messages).content
    assert (
        repair_messages(messages, target="openai/gpt-4o")[1].invalid_tool_calls[0]["args"]
        == '{"at": "Par'
    )  # type: ignore[attr-defined]
    assert not sandbox.refusals


def test_the_model_parameter_of_a_call_sets_the_target() -> None:
    configuration = CONFIGURATIONS["anthropic"]
    model = configuration.load()(model="claude-haiku-4-5", api_key="k")
    assert find_destination(model, {}).target.limits.trailing_assistant == "no-trailing-space"
    assert (
        find_destination(model, {"model": "claude-opus-4-6"}).target.limits.trailing_assistant
        == "refused"
    )


def test_messages_to_an_unknown_model_are_unchanged() -> None:
    model = GenericFakeChatModel(messages=iter([AIMessage("hi")]))
    answer = mend(model, on_error="raise").invoke(BROKEN)
    assert answer.content == "hi"
    assert "chatmend" not in answer.response_metadata


def test_an_explicit_target_overrides_the_recognised_one() -> None:
    model = GenericFakeChatModel(messages=iter([AIMessage("hi")]))
    answer = mend(model, target="openai/gpt-4o", on_error="raise").invoke(BROKEN)
    assert [change["code"] for change in answer.response_metadata["chatmend"]["changes"]] == [
        "TOOL007"
    ]
    with pytest.raises(TargetError, match="antropic"):
        mend(model, target="antropic")


def test_an_object_that_is_not_a_model_raises_an_error_with_an_alternative() -> None:
    with pytest.raises(TypeError, match="repair_messages"):
        mend(RunnableLambda(lambda messages: messages))


def test_a_custom_class_that_inherits_from_mended_chat_model_repairs(sandbox: Any) -> None:
    class Custom(CONFIGURATIONS["openai"].load(), MendedChatModel):  # type: ignore[misc]
        """A custom model class."""

    model = Custom(**CONFIGURATIONS["openai"].values(sandbox))
    assert model.invoke(BROKEN).content
    assert "".join(chunk.text for chunk in model.stream(BROKEN))
    assert not sandbox.refusals


def test_a_model_that_cannot_stream_is_not_reported_as_streaming() -> None:
    class Whole(GenericFakeChatModel):
        _stream = BaseChatModel._stream

    wrapped = mend(Whole(messages=iter([AIMessage("hi there")])))
    assert type(wrapped)._stream is BaseChatModel._stream
    assert len([chunk for chunk in wrapped.stream("hello") if chunk.content]) == 1


def test_a_rate_limiter_is_acquired_once(sandbox: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    acquired: list[int] = []
    limiter = InMemoryRateLimiter(requests_per_second=1000)
    monkeypatch.setattr(limiter, "acquire", lambda **_: acquired.append(1) or True)
    mend(CONFIGURATIONS["openai"].model(sandbox, rate_limiter=limiter)).invoke("hello")
    assert acquired == [1]


def test_a_model_name_raises_an_error_that_names_init_chat_model() -> None:
    with pytest.raises(TypeError, match=r"init_chat_model\('openai:gpt-4o'\)"):
        mend("openai:gpt-4o")  # type: ignore[type-var]
