"""The sandbox's Mistral against Mistral's own validator: two judges that know nothing of each other."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatmend.sandbox.memory import Memory
from chatmend.sandbox.providers import mistral
from chatmend.sandbox.refusals import table
from chatmend.sandbox.request import Request

pytest.importorskip("mistral_common")
from mistral_common.exceptions import MistralCommonException
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.validator import ValidationMode, get_validator
from mistral_common.tokens.tokenizers.base import TokenizerVersion

from tests.scale import examples

VALIDATOR = get_validator(TokenizerVersion.v11, ValidationMode.serving)
MODEL = "mistral-large-2411"
HOSTED_ONLY = {"mistral-assistant-empty"}  # the hosted API asks more than its open validator

IDS = st.sampled_from(["abcdefgh1", "abcdefgh2", "call_1"])


def _assistant(ids: list[str], text: str) -> dict[str, Any]:
    function = {"name": "f", "arguments": "{}"}
    calls = [{"id": call, "type": "function", "function": function} for call in ids]
    return {"role": "assistant", "content": text} | ({"tool_calls": calls} if calls else {})


MESSAGES = st.one_of(
    st.just({"role": "user", "content": "q"}),
    st.just({"role": "system", "content": "s"}),
    st.builds(_assistant, st.lists(IDS, max_size=2), st.just("a")),
    st.builds(lambda call: {"role": "tool", "tool_call_id": call, "content": "r"}, IDS),
)


def theirs(messages: list[Any]) -> bool:
    """Whether Mistral's validator takes them."""
    try:
        VALIDATOR.validate_request(ChatCompletionRequest(messages=messages, model=MODEL))
    except MistralCommonException:
        return False
    return True


def ours(messages: list[Any]) -> str | None:
    """The rule that the sandbox finds broken."""
    request = Request("mistral", MODEL, {"model": MODEL, "messages": messages}, Memory(), "mistral")
    found = table("mistral").first(
        (fault for fault in mistral.faults(request) if fault.code not in HOSTED_ONLY), "mistral", MODEL
    )
    return found[0].code if found else None


@settings(max_examples=examples(200, 3_000))
@given(st.lists(MESSAGES, max_size=7))
def test_both_judge_alike(later: list[Any]) -> None:
    messages = [{"role": "user", "content": "q"}, *later]
    assert (ours(messages) is None) == theirs(messages), ours(messages)
