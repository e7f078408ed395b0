"""The Mistral rules of the sandbox agree with Mistral's own validator, an independent program."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatmend.sandbox.memory import SandboxMemory
from chatmend.sandbox.providers import mistral
from chatmend.sandbox.refusals import load_table
from chatmend.sandbox.request import SandboxRequest

pytest.importorskip("mistral_common")
from mistral_common.exceptions import MistralCommonException
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.validator import ValidationMode, get_validator
from mistral_common.tokens.tokenizers.base import TokenizerVersion

from tests.scale import examples

VALIDATOR = get_validator(TokenizerVersion.v11, ValidationMode.serving)
MODEL = "mistral-large-2411"
# The hosted API refuses more than the open-source validator.
HOSTED_ONLY = {"mistral-assistant-empty", "mistral-user-after-tool"}

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


def is_valid(messages: list[Any]) -> bool:
    """Return whether Mistral's validator accepts the messages."""
    try:
        VALIDATOR.validate_request(ChatCompletionRequest(messages=messages, model=MODEL))
    except MistralCommonException:
        return False
    return True


def broken_rule(messages: list[Any]) -> str | None:
    """Return the rule that the messages break in the sandbox, or ``None``."""
    request = SandboxRequest(
        "mistral", MODEL, {"model": MODEL, "messages": messages}, SandboxMemory(), "mistral"
    )
    found = load_table("mistral").first_refused(
        (fault for fault in mistral.faults(request) if fault.code not in HOSTED_ONLY),
        "mistral",
        MODEL,
    )
    return found[0].code if found else None


@settings(max_examples=examples(70, 3_000))
@given(st.lists(MESSAGES, max_size=7))
def test_the_sandbox_and_the_validator_agree(later: list[Any]) -> None:
    messages = [{"role": "user", "content": "q"}, *later]
    assert (broken_rule(messages) is None) == is_valid(messages), broken_rule(messages)
