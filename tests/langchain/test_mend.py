"""A wrapped model repairs its messages and otherwise behaves like the original model."""

from __future__ import annotations

import copy
import json
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

from chatmend import Policy, PolicyError, TargetError
from chatmend.langchain import (
    MendedChatModel,
    explain,
    mend,
    message_repair,
    partners,
    repair_messages,
    repair_node,
)
from chatmend.langchain.hooks import prepare
from chatmend.langchain.model import repairing_class
from chatmend.langchain.partners import find_destination
from chatmend.langchain.settings import settings_of
from tests.langchain.classes import DESTINATIONS
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
    if hasattr(model, "asdict"):  # langchain-core 1.0 has none
        assert wrapped.asdict() == model.asdict()
    assert wrapped._llm_type == model._llm_type
    assert wrapped._get_ls_params() == model._get_ls_params()
    assert wrapped._get_llm_string().startswith(model._get_llm_string())
    assert getattr(wrapped, "profile", None) == getattr(model, "profile", None)
    assert type(model) is not type(wrapped)


@ALL
def test_wrapping_a_wrapped_model_only_replaces_the_settings(model: Any, name: str) -> None:  # noqa: ARG001
    once = mend(model)
    twice = mend(once, policy=Policy(orphans="drop"))
    assert type(twice) is type(once) is repairing_class(type(model))
    assert settings_of(twice).policy == Policy(orphans="drop")
    assert settings_of(once).policy is None


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
        assert isinstance(wrapped, type(runnable))
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
    assert settings_of(wrapped.model_copy(update={"temperature": 0.1})) == settings_of(wrapped)
    assert settings_of(copy.copy(wrapped)) == settings_of(wrapped)
    assert not sandbox.refusals


def test_a_wrapped_model_can_still_be_pickled(sandbox: Any) -> None:
    wrapped = mend(
        CONFIGURATIONS["anthropic"].model(sandbox), policy=Policy(orphans="drop"), on_error="raise"
    )
    again = pickle.loads(pickle.dumps(wrapped))  # noqa: S301 - bytes of this test
    assert type(again) is type(wrapped)
    assert settings_of(again) == settings_of(wrapped)
    assert again.invoke(BROKEN).response_metadata
    assert settings_of(copy.deepcopy(wrapped)) == settings_of(wrapped)
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


@pytest.mark.parametrize("report", ["new", "all", "counts"])
def test_report_mode_says_that_nothing_was_changed(
    sandbox: Any, caplog: pytest.LogCaptureFixture, report: Any
) -> None:
    model, messages = DESTINATIONS["groq"].model(sandbox), [HumanMessage("a"), AIMessage("b")]
    reports = []
    for mode in ("report", "repair"):
        with caplog.at_level("INFO", logger="chatmend.langchain"):
            answer = mend(model, mode=mode, report=report).invoke([*messages, *BROKEN])
        reports.append(answer.response_metadata["chatmend"])
    assert reports[0] == {**reports[1], "mode": "report"}
    said = [record.getMessage() for record in caplog.records]
    assert said == ["chatmend would repair: TOOL007 x1", "chatmend repaired: TOOL007 x1"]


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


def test_messages_to_a_model_of_an_unknown_class_get_the_form_that_no_server_refuses(
    caplog: pytest.LogCaptureFixture,
) -> None:
    partners._warn_of_class.cache_clear()
    model = GenericFakeChatModel(messages=iter([AIMessage("hi"), AIMessage("ho")]))
    wrapped = mend(model, on_error="raise")
    for text in ("hi", "ho"):
        answer = wrapped.invoke(BROKEN)
        assert answer.content == text
        changes = answer.response_metadata["chatmend"]["changes"]
        assert [change["code"] for change in changes] == ["TOOL007"]
    (warning,) = (record.getMessage() for record in caplog.records if "no table" in record.msg)
    assert "GenericFakeChatModel" in warning
    assert "target='provider/model'" in warning


class Delegating(BaseChatModel):
    """A model of one's own that delegates to another."""

    inner: BaseChatModel

    @property
    def _llm_type(self) -> str:
        return "delegating"

    def _generate(self, messages: Any, *_: Any, **options: Any) -> Any:
        return self.inner._generate(
            messages, **{k: v for k, v in options.items() if k != "run_manager"}
        )


def test_a_model_that_delegates_to_another_gets_the_limits_of_that_model(sandbox: Any) -> None:
    inner = CONFIGURATIONS["anthropic"].model(sandbox)
    wrapped = mend(Delegating(inner=inner), on_error="raise")
    assert find_destination(wrapped, {}) is find_destination(inner, {})
    changes = wrapped.invoke([HumanMessage("a"), HumanMessage("")]).response_metadata["chatmend"]
    assert [change["code"] for change in changes["changes"]] == ["TEXT004"]
    assert not sandbox.refusals
    assert "delegates to ChatAnthropic" in explain(wrapped)


def test_tools_that_a_class_cannot_declare_are_reported_as_not_applied(sandbox: Any) -> None:
    inner = CONFIGURATIONS["anthropic"].model(sandbox)
    wrapped = mend(Delegating(inner=inner), on_error="raise")
    with pytest.raises(Exception, match="tools"):  # the provider's answer, not an error of chatmend
        wrapped.invoke(BROKEN)
    call = prepare(wrapped, BROKEN, {})
    assert [change.applied for change in call.changes if change.code == "TOOL014"] == [False]


def test_explain_names_class_target_row_policy_and_what_is_not_known(sandbox: Any) -> None:
    wrapped = mend(CONFIGURATIONS["anthropic"].model(sandbox), policy=Policy(orphans="drop"))
    text = explain(wrapped.bind_tools([]))
    for part in (
        "ChatAnthropic",
        "anthropic/claude",
        "anthropic-chat",
        "orphans='drop'",
        "wrapped: yes",
    ):
        assert part in text
    assert "unknown:" not in text
    unknown = explain(GenericFakeChatModel(messages=iter([])))
    assert "wrapped: no" in unknown
    assert "unknown: the host" in unknown
    with pytest.raises(TypeError, match="not a str"):
        explain("gpt-4o")


def test_explain_describes_each_model_that_a_runnable_may_call(sandbox: Any) -> None:
    first, second = (CONFIGURATIONS[name].model(sandbox) for name in ("openai", "anthropic"))
    chosen = ConfigurableField(id="which")
    for model in (
        first.with_fallbacks([second]),
        first.bind_tools([look]).with_fallbacks([second.bind_tools([look])]),
        first.configurable_alternatives(chosen, default_key="one", two=second),
        first.with_fallbacks([second]).with_config(tags=["a"]),
    ):
        assert explain(mend(model)) == "\n\n".join(map(explain, map(mend, (first, second))))
    configurable = first.configurable_fields(temperature=ConfigurableField(id="t"))
    assert explain(mend(configurable)) == explain(mend(first))


def test_a_node_for_several_models_raises_an_error_with_an_alternative(sandbox: Any) -> None:
    model = CONFIGURATIONS["openai"].model(sandbox)
    with pytest.raises(TypeError, match="the name of a target"):
        repair_node(model.with_fallbacks([model]))


def test_a_cache_entry_is_read_only_by_models_that_answer_alike() -> None:
    bare = GenericFakeChatModel(messages=iter([]))
    keys = [
        model._get_llm_string()
        for model in (
            bare,
            mend(bare),
            mend(bare, target="openai/gpt-4o"),
            mend(bare, policy="offline"),
            mend(bare, usage=False),
        )
    ]
    assert len(set(keys)) == len(keys)
    assert mend(bare)._get_llm_string() == keys[1]


def test_a_wrapped_model_has_no_field_that_its_class_does_not_have() -> None:
    bare = GenericFakeChatModel(messages=iter([]))
    assert type(mend(bare)).model_fields.keys() == type(bare).model_fields.keys()


def test_a_registry_of_subclasses_does_not_see_the_generated_class() -> None:
    seen: list[str] = []

    class Registered(GenericFakeChatModel):
        def __init_subclass__(cls, **kwargs: Any) -> None:
            super().__init_subclass__(**kwargs)
            seen.append(cls.__name__)

    mend(Registered(messages=iter([AIMessage("hi")])))
    assert seen == []


def test_a_class_of_ones_own_takes_the_options_as_arguments() -> None:
    class Own(GenericFakeChatModel, MendedChatModel, target="openai/gpt-4o", policy="offline"):
        pass

    settings = settings_of(Own(messages=iter([])))
    assert (settings.target, settings.policy) == ("openai/gpt-4o", Policy.offline())
    with pytest.raises(PolicyError, match="report"):

        class Wrong(GenericFakeChatModel, MendedChatModel, report="some"):
            pass


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


def long_history(turns: int) -> list[Any]:
    """Return a conversation with one unanswered call in each turn."""
    return [
        message
        for number in range(turns)
        for message in (
            HumanMessage(f"q{number}"),
            AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": f"call_{number}"}]),
        )
    ] + [HumanMessage("and now?")]


@pytest.mark.parametrize(
    ("mode", "listed"),
    [
        ("new", {"changes": 1, "earlier": 99}),
        ("counts", {"counts": {"TOOL007": 100}}),
        ("all", {"changes": 100}),
        ("off", None),
    ],
)
def test_a_report_lists_what_the_option_says(mode: Any, listed: Any) -> None:
    model = mend(
        GenericFakeChatModel(messages=iter([AIMessage("hi")])), target="openai/gpt-4o", report=mode
    )
    found = model.bind(tools=[{"type": "function", "function": {"name": "look"}}]).invoke(
        long_history(100)
    )
    shown = found.response_metadata.get("chatmend")
    if shown is not None and "changes" in shown:
        shown = {**shown, "changes": len(shown["changes"])}
    assert shown == listed


@pytest.mark.parametrize("mode", ["new", "counts"])
def test_the_size_of_a_report_does_not_grow_with_the_conversation(mode: Any) -> None:
    sizes = set()
    for turns in (20, 90):
        model = mend(
            GenericFakeChatModel(messages=iter([AIMessage("hi")])),
            target="openai/gpt-4o",
            report=mode,
        )
        answer = model.bind(tools=[{"type": "function", "function": {"name": "look"}}]).invoke(
            long_history(turns)
        )
        sizes.add(len(json.dumps(answer.response_metadata["chatmend"])))
    assert max(sizes) - min(sizes) <= 2  # more digits
