"""A target's name, as LiteLLM writes it, leads to the limits that hold there: provider, api and model id all count."""

from __future__ import annotations

import pytest

from chatmend import Effect, Policy, PolicyError, TargetError, repair, resolve
from tests.targets import without_stores

SAME = (
    ("claude-sonnet-4-5", "anthropic/claude-sonnet-4-5"),
    ("google", "gemini"),
    ("cohere_chat/command-r", "cohere/command-r"),
    (
        "bedrock/eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0",
    ),
    ("bedrock/converse/us.amazon.nova-pro-v1:0", "bedrock/amazon.nova-pro-v1:0"),
    ("azure/my-deployment", "openai/gpt-4.1"),
    ("llamafile/gemma-2-9b-it", "llamacpp/google/gemma-2-9b-it"),
    ("litellm_proxy/anthropic/claude-sonnet-4-5", "anthropic/claude-sonnet-4-5"),
    ("vercel_ai_gateway/google/gemini-2.5-pro", "gemini/gemini-2.5-pro"),
    (
        "litellm_proxy/bedrock/anthropic.claude-3-haiku-20240307-v1:0",
        "bedrock/anthropic.claude-3-haiku-20240307-v1:0",
    ),
    ("a-provider-of-tomorrow/some-model", "openai_compatible"),
)


@pytest.mark.parametrize(("name", "twin"), SAME)
def test_two_names_of_one_place_have_the_same_limits(name: str, twin: str) -> None:
    assert without_stores(resolve(name).limits) == without_stores(resolve(twin).limits)


def test_the_model_decides_within_a_provider() -> None:
    medium = resolve("mistral/mistral-medium-latest").limits
    small = resolve("mistral/mistral-small-latest").limits
    assert (medium.user_after_tool, small.user_after_tool) == (False, True)
    assert resolve("anthropic/claude-opus-4-8").limits.trailing_assistant == "refused"
    assert resolve("anthropic/claude-sonnet-4-5").limits.trailing_assistant != "refused"


def test_the_api_decides_within_a_provider() -> None:
    chat, responses = resolve("openai/gpt-4o").limits, resolve("openai/responses/gpt-4o").limits
    assert (chat.max_call_id_length, responses.max_call_id_length) == (40, 64)


def test_a_misspelt_provider_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(TargetError, match="no table for 'antropic'; did you mean 'anthropic'"):
        resolve("antropic")


@pytest.mark.parametrize(
    ("name", "meant"), [("antropic/seen-once", "anthropic"), ("Opneai/seen-once", "openai")]
)
def test_a_misspelt_provider_with_a_model_may_be_a_gateway_but_is_warned_of(
    name: str, meant: str
) -> None:
    with pytest.warns(UserWarning, match=f"did you mean '{meant}'"):
        assert resolve(name).provider == "openai_compatible"


@pytest.mark.parametrize(
    "name", ["our-gateway/x", "claude-sonnet-4-5", "other/antropic", "anthropic/antropic"]
)
def test_a_name_that_is_nobodys_slip_is_not_warned_of(
    name: str, recwarn: pytest.WarningsRecorder
) -> None:
    resolve(name)
    assert not recwarn.list


@pytest.mark.parametrize("name", ["", "   ", None, 7])
def test_what_is_no_name_is_an_error_that_shows_one(name: object) -> None:
    with pytest.raises(TargetError, match="anthropic/claude-sonnet-4-5"):
        resolve(name)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name", [" claude-sonnet-4-5", "claude-sonnet-4-5\n", "\t anthropic/claude-sonnet-4-5 "]
)
def test_white_space_around_a_name_does_not_count(name: str) -> None:
    assert resolve(name) is resolve(name.strip())
    assert resolve(name).provider == "anthropic"


@pytest.mark.parametrize("name", ["x" * 100_000, " " * 100_000, [{"content": "a secret"}] * 9, {}])
def test_of_what_is_no_name_little_is_quoted(name: object) -> None:
    with pytest.raises(TargetError) as caught:
        resolve(name)  # type: ignore[arg-type]
    assert len(str(caught.value)) < 300
    assert "secret" not in str(caught.value)


def test_what_is_no_target_and_no_policy_is_an_error_that_names_the_next_step() -> None:
    messages = [{"role": "user", "content": "hi"}]
    for target in (5, None, ["anthropic"], {"model": "gpt-4o"}):
        with pytest.raises(
            TargetError, match="a target is a name such as 'anthropic/claude-sonnet-4-5', not"
        ):
            repair(messages, target)  # type: ignore[arg-type]
    for policy in ("ofline", 7, ["offline"]):
        with pytest.raises(
            PolicyError,
            match=r"is not a policy; pass a chatmend\.Policy, one of the names strict_alternation, ",
        ):
            repair(messages, "anthropic", policy=policy)  # type: ignore[arg-type]


@pytest.mark.parametrize("allow", ["drops", "DROPS", 7, None, ["drops"]])
def test_an_effect_that_does_not_exist_is_an_error_that_names_those_that_do(allow: object) -> None:
    with pytest.raises(PolicyError, match=r"choose one of Effect\.RESHAPES, .*Effect\.DROPS"):
        Policy(allow=allow)  # type: ignore[arg-type]
    assert Policy(allow=Effect.ADDS).allow is Effect.ADDS
