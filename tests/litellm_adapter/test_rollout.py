"""Which requests are repaired: by sample, override, header of a trusted key and switch file."""

from __future__ import annotations

import asyncio
import logging
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from chatmend import Policy, PolicyError
from chatmend.lesson_store import key_of_conversation
from chatmend.litellm import ChatMend
from chatmend.litellm.settings import from_environment
from chatmend.litellm.starting import start_line
from tests.litellm_adapter.transcripts import chat, responses

if TYPE_CHECKING:
    from pathlib import Path

OPENAI = "openai/gpt-4o"


def proxied(
    *, alias: str = "", team: str = "", tags: Any = None, header: str = "", **more: Any
) -> dict[str, Any]:
    """Return a call as the deployment hook of a proxy receives it."""
    owner = SimpleNamespace(
        request_route="/chat/completions",
        api_key="0a1b",
        key_alias=alias or None,
        team_id=team or None,
        team_alias=None,
        metadata={},
        team_metadata=None,
    )
    metadata = {"user_api_key_auth": owner, "user_api_key_hash": "0a1b", "tags": tags or []}
    request = {"headers": {"x-chatmend": header} if header else {}}
    return {
        "model": OPENAI,
        "messages": chat(),
        "metadata": metadata,
        "proxy_server_request": request,
        **more,
    }


def mode_of(callback: ChatMend, call: dict[str, Any]) -> str:
    return callback.treatment_of(call, OPENAI, call["messages"]).mode


def test_without_options_of_a_rollout_each_request_is_repaired() -> None:
    assert mode_of(ChatMend(), proxied(header="off")) == "repair"


@pytest.mark.parametrize(
    ("override", "call", "matches"),
    [
        ({"keys": "research-*"}, {"alias": "research-1"}, True),
        ({"keys": "research-*"}, {"alias": "support-1"}, False),
        ({"keys": ["0a1b"]}, {}, True),
        ({"teams": ["t-1"]}, {"team": "t-1"}, True),
        ({"teams": ["t-1"]}, {}, False),
        ({"tags": ["beta"]}, {"tags": ["alpha", "beta"]}, True),
        ({"tags": ["beta"]}, {}, False),
        ({"models": ["openai/*"]}, {}, True),
        ({"models": ["claude"]}, {}, False),
        ({"models": ["openai/*"], "keys": ["other"]}, {}, False),
    ],
)
def test_an_override_applies_if_each_of_its_lists_matches(
    override: dict[str, Any],
    call: dict[str, Any],
    matches: bool,  # noqa: FBT001
) -> None:
    callback = ChatMend(mode="off", overrides=[{**override, "mode": "repair"}])
    assert mode_of(callback, proxied(**call)) == ("repair" if matches else "off")


def test_the_first_matching_override_applies_and_fields_that_it_lacks_are_inherited() -> None:
    overrides = [
        {"keys": ["a"], "policy": "drop_instead_of_note"},
        {"keys": ["*"], "mode": "report"},
    ]
    callback = ChatMend(policy="offline", overrides=overrides)
    found = callback.treatment_of(proxied(alias="a"), OPENAI, chat())
    assert found == ("repair", Policy.drop_instead_of_note())
    assert callback.treatment_of(proxied(alias="b"), OPENAI, chat()) == (
        "report",
        Policy.offline(),
    )


def test_the_policy_of_an_override_repairs_the_request() -> None:
    callback = ChatMend(overrides=[{"keys": ["a"], "policy": {"orphans": "drop"}}])
    orphan = [
        {"role": "user", "content": "go"},
        {"role": "tool", "tool_call_id": "gone", "content": "42"},
    ]
    texts = []
    for alias in ("a", "b"):
        call = proxied(alias=alias, messages=orphan)
        sent = asyncio.run(callback.async_pre_call_deployment_hook(call, "acompletion"))
        assert sent is not None
        texts.append(str(sent["messages"]))
    assert "42" not in texts[0]
    assert "42" in texts[1]


@pytest.mark.parametrize("mode", ["off", "report"])
def test_answers_to_requests_that_are_not_repaired_stay_those_of_litellm(mode: str) -> None:
    callback = ChatMend(usage="body", overrides=[{"keys": ["a"], "mode": mode}])
    assert callback.usage_mode_for(proxied(alias="a")) == "hidden"
    assert callback.usage_mode_for(proxied(alias="b")) == "body"


def test_metadata_of_a_client_matches_no_override() -> None:
    callback = ChatMend(mode="off", overrides=[{"keys": ["boss"], "mode": "repair"}])
    forged = {"user_api_key_auth": {"key_alias": "boss", "request_route": "/"}, "tags": ["x"]}
    assert mode_of(callback, proxied(litellm_metadata=forged)) == "off"


@pytest.mark.parametrize(
    ("alias", "header", "expected"),
    [
        ("ops-1", "off", "off"),
        ("ops-1", "Report", "report"),
        ("ops-1", "repair", "repair"),
        ("ops-1", "", "repair"),
        ("other", "off", "repair"),
        ("", "off", "repair"),
    ],
)
def test_only_a_trusted_key_can_choose_less_for_its_request(
    alias: str, header: str, expected: str
) -> None:
    callback = ChatMend(trusted_keys=["ops-*"])
    assert mode_of(callback, proxied(alias=alias, header=header)) == expected


def test_a_trusted_key_cannot_enable_what_the_operator_has_disabled() -> None:
    callback = ChatMend(mode="report", trusted_keys=["ops-*"])
    assert mode_of(callback, proxied(alias="ops-1", header="repair")) == "report"


def test_all_requests_of_a_conversation_are_in_the_sample_or_none() -> None:
    callback = ChatMend(sample=0.3)
    chosen = 0
    for number in range(400):
        opening = {"role": "user", "content": f"conversation {number}"}
        later = [{"role": "system", "content": f"now {number}"}, opening, *chat()[1:]]
        modes = {mode_of(callback, proxied(messages=one)) for one in ([opening], later)}
        assert len(modes) == 1
        chosen += modes == {"repair"}
    assert 80 < chosen < 160


@pytest.mark.parametrize(("share", "expected"), [(0, "report"), (1, "repair")])
def test_a_sample_of_none_or_all(share: float, expected: str) -> None:
    assert mode_of(ChatMend(sample=share), proxied()) == expected


@pytest.mark.parametrize("key", ["previous_response_id", "conversation"])
def test_requests_of_a_stored_conversation_are_outside_of_a_sample(key: str) -> None:
    call = proxied(**{key: "resp_1"})
    assert mode_of(ChatMend(sample=0.999999), call) == "report"


def test_requests_that_continue_a_thread_of_claude_are_outside_of_a_sample() -> None:
    thread = {"type": "continue", "previous_message_id": "msg_1"}
    assert mode_of(ChatMend(sample=0.999999), proxied(thread=thread)) == "report"
    assert mode_of(ChatMend(sample=0.999999), proxied(thread={"type": "create"})) == "repair"


def test_the_opening_of_a_responses_request_ends_at_the_first_item_of_the_model() -> None:
    opening, *later = responses()
    assert key_of_conversation("", [opening]) == key_of_conversation("", [opening, *later])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"sample": 2}, "sample=2 is invalid; choose a number from 0 to 1"),
        ({"sample": True}, "sample=True is invalid"),
        ({"mode": "of"}, "mode='of' is invalid; choose 'repair' or 'report' or 'off'"),
        ({"overrides": "x"}, "overrides='x': pass a list"),
        ({"overrides": ["x"]}, r"overrides\[0\]: 'x' is not a mapping; the fields are models"),
        ({"overrides": [{"key": "a"}]}, r"overrides\[0\]: unknown field key; the fields are"),
        ({"overrides": [{"mode": "off"}]}, r"overrides\[0\] matches no request; set models or"),
        ({"overrides": [{"keys": 3}]}, r"overrides\[0\].keys=3: pass a list"),
        ({"overrides": [{"keys": "a", "mode": "x"}]}, r"overrides\[0\].mode='x' is invalid"),
        ({"overrides": [{"keys": "a", "sample": 9}]}, r"overrides\[0\].sample=9 is invalid"),
        ({"overrides": [{"keys": "a", "policy": "x"}]}, r"overrides\[0\].policy: "),
        ({"trusted_keys": 3}, "trusted_keys=3: pass a list"),
    ],
)
def test_an_invalid_option_names_the_field_and_the_choices(
    options: dict[str, Any], expected: str
) -> None:
    with pytest.raises(PolicyError, match=expected):
        ChatMend(**options)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "off"),
        ("off\n", "off"),
        ("Report", "report"),
        ("on", "repair"),
        ("repair", "repair"),
        ("what?", "off"),
    ],
)
def test_a_switch_file_applies_while_it_exists(
    content: str, expected: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "switch"
    callback = ChatMend(switch_file=file)
    assert mode_of(callback, proxied()) == "repair"
    file.write_text(content)
    assert mode_of(callback, proxied()) == expected
    assert callback.is_disabled() == (expected == "off")
    assert mode_of(ChatMend(switch_file=file), proxied()) == expected
    file.unlink()
    assert mode_of(callback, proxied()) == "repair"
    assert ("invalid and means off; choose off, report, on, repair" in caplog.text) == (
        content == "what?"
    )


def test_a_changed_configuration_is_applied_and_an_invalid_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "chatmend.yaml"

    def write(text: str) -> None:
        new = tmp_path / "new"
        new.write_text(text)
        new.rename(file)

    write("chatmend: {mode: off, reload: true}")
    monkeypatch.setenv("CHATMEND_CONFIG", str(file))
    callback = from_environment()
    assert mode_of(callback, proxied()) == "off"
    write("chatmend: {mode: repair, sample: 0, reload: true}")
    assert mode_of(callback, proxied()) == "report"
    with caplog.at_level(logging.WARNING, "chatmend.litellm"):
        write("chatmend: {mode: repair, sample: 7, reload: true}")
        assert mode_of(callback, proxied()) == "report"
        write("chatmend: {mode: repair, react: 1, reload: true}")
        assert mode_of(callback, proxied()) == "repair"
    _, first, second, third = caplog.messages
    assert first.startswith("chatmend keeps its options; ")
    assert "sample=7 is invalid; choose a number from 0 to 1" in first
    assert second == "chatmend: restart the proxy to change react"
    assert third == f"chatmend has read its options again from {file}"
    assert callback.react == 0


def test_reload_needs_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CHATMEND_CONFIG", raising=False)
    monkeypatch.setenv("CHATMEND_RELOAD", "true")
    with pytest.raises(PolicyError, match="reload needs a configuration file"):
        from_environment()
    monkeypatch.setenv("CHATMEND_RELOAD", "maybe")
    with pytest.raises(PolicyError, match="reload='maybe' is invalid; choose true or false"):
        from_environment()


def test_the_line_at_startup_lists_the_options_of_a_rollout(tmp_path: Path) -> None:
    callback = ChatMend(
        sample=0.01,
        overrides=[{"keys": ["a"], "mode": "off"}],
        trusted_keys="ops-*",
        switch_file=tmp_path / "switch",
    )
    assert start_line(callback, disabled=False).endswith(
        "mode repair, policy default, sample 0.01, 1 override, trusted keys ops-*, "
        f"switch file {tmp_path / 'switch'} (permits repair), models all"
    )
