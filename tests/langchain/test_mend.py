"""A mended model repairs what it is given, and is what it was to everyone who asks."""

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
from chatmend.langchain import MendedChatModel, mend, repair_messages
from chatmend.langchain import mending as mending_module
from chatmend.langchain.model import mended_class
from chatmend.langchain.partners import place_of
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
def test_to_everyone_who_asks_it_is_what_it_was(model: Any, name: str) -> None:  # noqa: ARG001 - of the fixture
    mended = mend(model)
    assert isinstance(mended, type(model))
    assert isinstance(mended, MendedChatModel)
    assert type(mended).__name__ == type(model).__name__
    assert type(mended).__module__ == type(model).__module__
    assert dumpd(mended) == dumpd(model)
    assert repr(mended) == repr(model)
    assert mended.asdict() == model.asdict()
    assert mended._llm_type == model._llm_type
    assert mended._get_ls_params() == model._get_ls_params()
    assert mended._get_llm_string() == model._get_llm_string()
    assert mended.profile == model.profile
    assert type(model) is not type(mended)


@ALL
def test_mending_twice_changes_nothing_but_the_settings(model: Any, name: str) -> None:  # noqa: ARG001
    once = mend(model)
    twice = mend(once, policy=Policy(orphans="drop"))
    assert type(twice) is type(once) is mended_class(type(model))
    assert twice.mending.policy == Policy(orphans="drop")
    assert once.mending.policy is None


@ALL
def test_every_way_to_ask_is_accepted(model: Any, name: str, sandbox: Any) -> None:
    mended = mend(model, on_error="raise")
    said = [mended.invoke(BROKEN).text, "".join(chunk.text for chunk in mended.stream(BROKEN))]
    said += [answer.text for answer in mended.batch([BROKEN, BROKEN])]
    if name != "mistral":  # its class cannot add up what two calls used: bare, too
        said += [result[0].text for result in mended.generate([BROKEN, BROKEN]).generations]
    assert len(set(said)) == 1
    assert said[0]
    assert not sandbox.refusals


@ALL
def test_every_way_to_ask_in_async_code_is_accepted(sandbox: Any, name: str) -> None:
    async def ask() -> list[str]:
        mended = mend(CONFIGURATIONS[name].model(sandbox), on_error="raise")
        said = [(await mended.ainvoke(BROKEN)).text]
        said.append("".join([chunk.text async for chunk in mended.astream(BROKEN)]))
        said += [answer.text for answer in await mended.abatch([BROKEN])]
        said += [result[0].text for result in (await mended.agenerate([BROKEN])).generations]
        events = [event async for event in mended.astream_events(BROKEN, version="v2")]
        return [*said, events[-1]["data"]["output"].text]

    assert len(set(run(ask()))) == 1
    assert not sandbox.refusals


@ALL
def test_events_of_the_third_protocol_are_accepted(model: Any, name: str, sandbox: Any) -> None:  # noqa: ARG001
    stream = mend(model, on_error="raise").stream_events(BROKEN, version="v3")
    assert "".join(stream.text)
    assert stream.output.response_metadata["chatmend"]["changes"]
    assert not sandbox.refusals


@ALL
def test_what_is_made_of_it_is_mended(model: Any, name: str, sandbox: Any) -> None:  # noqa: ARG001
    mended = mend(model, on_error="raise")
    made: dict[str, Any] = {
        "bind_tools": mended.bind_tools([look]),
        "bind": mended.bind(stop=None),
        "with_config": mended.with_config({"tags": ["t"]}),
        "with_retry": mended.with_retry(stop_after_attempt=1),
        "with_fallbacks": mended.with_fallbacks([mended]),
        "with_structured_output": mended.with_structured_output(Weather),
        "model_copy": mended.model_copy(),
        "copy": copy.copy(mended),
        "chain": RunnableLambda(lambda messages: messages) | mended,
    }
    for how, runnable in made.items():
        assert runnable.invoke(BROKEN), how
    assert not sandbox.refusals


@ALL
def test_what_was_made_before_is_mended(model: Any, name: str, sandbox: Any) -> None:  # noqa: ARG001
    for bound in (model.bind_tools([look]), model.with_config(tags=["t"]), model.with_fallbacks([model])):
        mended = mend(bound, on_error="raise")
        assert type(mended) is type(bound)
        assert mended.invoke(BROKEN).response_metadata
    assert not sandbox.refusals


@ALL
def test_a_model_that_is_chosen_or_tried_again_is_mended(model: Any, name: str, sandbox: Any) -> None:  # noqa: ARG001
    which = ConfigurableField(id="which")
    choice = model.configurable_alternatives(
        which, default_key="one", two=model.bind_tools([look]), three=lambda: model
    )
    field = model.configurable_fields(temperature=ConfigurableField(id="temperature"))
    for runnable in (choice, field, model.with_retry(), field.with_retry(stop_after_attempt=2)):
        mended = mend(runnable, on_error="raise")
        assert type(mended) is type(runnable)
        for chosen in ({}, {"which": "two"}, {"which": "three"}, {"temperature": 0.5}):
            assert mended.invoke(BROKEN, {"configurable": chosen}).response_metadata
    assert not sandbox.refusals


@ALL
def test_the_settings_survive(model: Any, name: str, sandbox: Any) -> None:  # noqa: ARG001
    mended = mend(model, policy=Policy(orphans="drop"))
    fields = ConfigurableField(id="t")
    configurable = mended.configurable_fields(temperature=fields)
    assert configurable.invoke(BROKEN, config={"configurable": {"t": 0.5}}).response_metadata["chatmend"]
    assert mended.model_copy(update={"temperature": 0.1}).mending == mended.mending
    assert copy.copy(mended).mending == mended.mending
    assert not sandbox.refusals


def test_a_model_that_can_be_pickled_still_can(sandbox: Any) -> None:
    mended = mend(CONFIGURATIONS["anthropic"].model(sandbox), policy=Policy(orphans="drop"), on_error="raise")
    again = pickle.loads(pickle.dumps(mended))  # noqa: S301 - our own bytes
    assert type(again) is type(mended)
    assert again.mending == mended.mending
    assert again.invoke(BROKEN).response_metadata
    assert copy.deepcopy(mended).mending == mended.mending
    assert not sandbox.refusals


def test_the_report_names_codes_and_places_and_no_content(sandbox: Any) -> None:
    answer = mend(CONFIGURATIONS["openai"].model(sandbox)).invoke(BROKEN)
    (change,) = answer.response_metadata["chatmend"]["changes"]
    assert (change["code"], change["effect"], change["applied"]) == ("TOOL007", "adds", True)
    assert not any(str(message.content) in str(change) for message in BROKEN if message.content)


def test_in_report_mode_the_original_is_sent_with_a_report(sandbox: Any) -> None:
    mended = mend(CONFIGURATIONS["openai"].model(sandbox), mode="report")
    with pytest.raises(Exception, match="400"):
        mended.invoke(BROKEN)


def test_the_kill_switch_sends_the_original(sandbox: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATMEND_DISABLED", "1")
    with pytest.raises(Exception, match="400"):
        mend(CONFIGURATIONS["openai"].model(sandbox)).invoke(BROKEN)


@pytest.mark.parametrize("ours", ["shaped", "repair"])
def test_a_fault_of_ours_costs_no_request_and_is_told_once(
    sandbox: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, ours: str
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("a secret of the transcript")

    monkeypatch.setattr(mending_module, ours, fail)
    model = CONFIGURATIONS["openai"].model(sandbox)
    messages = [HumanMessage("hello"), HumanMessage("are you there?")]
    assert mend(model).invoke(messages).content
    assert [record.levelname for record in caplog.records if record.name == "chatmend.langchain"] == ["WARNING"]
    assert "secret" not in caplog.text
    with pytest.raises(RuntimeError):
        mend(model, on_error="raise").invoke(messages)


def test_dicts_that_langchain_cannot_convert_are_salvaged(sandbox: Any) -> None:
    function = {"name": "look", "arguments": '{"at": "Par'}
    broken = {"role": "assistant", "tool_calls": [{"id": "a", "type": "function", "function": function}]}
    model = CONFIGURATIONS["openai"].model(sandbox)
    messages = [{"role": "user", "content": "q"}, broken, {"role": "user", "content": "next"}]
    with pytest.raises(Exception, match=r"content|JSON|Expecting|Unterminated"):
        model.invoke(messages)
    assert mend(model, on_error="raise").invoke(messages).content
    assert repair_messages(messages, target="openai/gpt-4o")[1].invalid_tool_calls[0]["args"] == '{"at": "Par'  # type: ignore[attr-defined]
    assert not sandbox.refusals


def test_a_model_of_the_call_is_the_target() -> None:
    configuration = CONFIGURATIONS["anthropic"]
    model = configuration.load()(model="claude-haiku-4-5", api_key="k")
    assert place_of(model, {}).target.limits.trailing_assistant == "no-trailing-space"
    assert place_of(model, {"model": "claude-opus-4-6"}).target.limits.trailing_assistant == "refused"


def test_a_model_that_nobody_knows_is_left_alone() -> None:
    model = GenericFakeChatModel(messages=iter([AIMessage("hi")]))
    answer = mend(model, on_error="raise").invoke(BROKEN)
    assert answer.content == "hi"
    assert "chatmend" not in answer.response_metadata


def test_a_named_target_goes_before_the_recognised_one() -> None:
    model = GenericFakeChatModel(messages=iter([AIMessage("hi")]))
    answer = mend(model, target="openai/gpt-4o", on_error="raise").invoke(BROKEN)
    assert [change["code"] for change in answer.response_metadata["chatmend"]["changes"]] == ["TOOL007"]
    with pytest.raises(TargetError, match="antropic"):
        mend(model, target="antropic")


def test_what_is_no_model_is_refused_with_a_way_out() -> None:
    with pytest.raises(TypeError, match="repair_messages"):
        mend(RunnableLambda(lambda messages: messages))


def test_a_class_of_ones_own_mends_what_it_is_given(sandbox: Any) -> None:
    class Mine(CONFIGURATIONS["openai"].load(), MendedChatModel):  # type: ignore[misc]
        """A model of a user's own."""

    model = Mine(**CONFIGURATIONS["openai"].values(sandbox))
    assert model.invoke(BROKEN).content
    assert "".join(chunk.text for chunk in model.stream(BROKEN))
    assert not sandbox.refusals


def test_a_model_that_cannot_stream_is_not_said_to() -> None:
    class Whole(GenericFakeChatModel):
        _stream = BaseChatModel._stream

    mended = mend(Whole(messages=iter([AIMessage("hi there")])))
    assert type(mended)._stream is BaseChatModel._stream
    assert len([chunk for chunk in mended.stream("hello") if chunk.content]) == 1


def test_a_rate_limiter_is_asked_once(sandbox: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    limiter = InMemoryRateLimiter(requests_per_second=1000)
    monkeypatch.setattr(limiter, "acquire", lambda **_: asked.append(1) or True)
    mend(CONFIGURATIONS["openai"].model(sandbox, rate_limiter=limiter)).invoke("hello")
    assert asked == [1]


def test_the_name_of_a_model_is_told_how_to_become_one() -> None:
    with pytest.raises(TypeError, match=r"init_chat_model\('openai:gpt-4o'\)"):
        mend("openai:gpt-4o")  # type: ignore[type-var]
