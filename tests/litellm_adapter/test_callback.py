"""What the callback changes in a request, and which requests it leaves unchanged."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
import re
from types import SimpleNamespace
from typing import Any

import litellm
import pytest

import chatmend
from chatmend.litellm import ChatMend, summaries
from chatmend.litellm.settings import from_section
from chatmend.litellm.shapes import shape_of_route
from chatmend.litellm.target import target_of, target_of_route
from chatmend.litellm.usage_records import CallCounter
from chatmend.usage import UsageLedger
from tests.litellm_adapter.log_waiter import LogWaiter
from tests.litellm_adapter.transcripts import CHAT_TOOLS, chat, valid

OPENAI = "openai/gpt-4o"
RECORDS_BEFORE_HOOK = hasattr(
    litellm.integrations.custom_logger.CustomLogger, "async_post_call_failure_deployment_hook"
)
"""Whether LiteLLM creates its record of a call before the hook runs.

LiteLLM 1.82 creates it after the hook has run; loggers of the SDK receive the original messages.
"""


def hook(
    callback: ChatMend,
    messages: Any,
    model: str = OPENAI,
    call_type: str = "acompletion",
    **more: Any,
) -> Any:
    kwargs = {"model": model, "messages": messages, "tools": CHAT_TOOLS, **more}
    return asyncio.run(callback.async_pre_call_deployment_hook(kwargs, call_type))


def ask(sandbox: Any, messages: Any, path: str = "openai/v1", **more: Any) -> Any:
    given = {"model": OPENAI, "tools": CHAT_TOOLS, "max_retries": 0, **more}
    return asyncio.run(_ask(messages=messages, api_key="any", api_base=sandbox.url(path), **given))


async def _ask(**given: Any) -> Any:
    logger = LogWaiter()
    litellm.callbacks = [*litellm.callbacks, logger]
    answer = await litellm.acompletion(**given)
    assert await logger.wait_async()
    return answer


def test_a_valid_request_is_unchanged() -> None:
    assert hook(ChatMend(on_error="raise"), valid()) is None


@pytest.mark.parametrize(
    "call_type", ["aembedding", "aimage_generation", "amoderation", "atext_completion"]
)
def test_a_call_without_a_transcript_is_unchanged(call_type: str) -> None:
    assert hook(ChatMend(on_error="raise"), chat(), call_type=call_type) is None


def test_a_string_as_input_is_unchanged() -> None:
    assert hook(ChatMend(on_error="raise"), None, call_type="aresponses", input="hello") is None


@pytest.mark.parametrize(
    ("value", "disables"),
    [
        ("1", True),
        ("true", True),
        ("On", True),
        ("yse", True),
        ("0", False),
        ("no", False),
        ("", False),
    ],
)
def test_the_kill_switch_knows_the_usual_spellings(
    value: str, *, disables: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHATMEND_DISABLED", value)
    assert (hook(ChatMend(on_error="raise"), chat()) is None) is disables


def test_an_unknown_value_of_the_kill_switch_is_named_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("CHATMEND_DISABLED", "ture")
    for _ in range(2):
        hook(ChatMend(on_error="raise"), chat())
    assert [record.getMessage() for record in caplog.records] == [
        "CHATMEND_DISABLED=ture is unknown, and disables all repairs; write 1 or 0"
    ]


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ({"images": "x"}, "images='x': pass a Recompressor, SharedImages or None"),
        ({"ledger": {}}, "ledger={}: pass a UsageLedger or None"),
        ({"switch_file": 5}, "switch_file=5: pass a path or None"),
        ({"lessons_file": 5}, "lessons_file=5: pass a path or None"),
        ({"record": True}, "record=True: pass a directory, a SessionStore"),
    ],
    ids=str,
)
def test_an_option_of_a_wrong_type_raises_an_error_at_once(option: Any, expected: str) -> None:
    with pytest.raises(chatmend.PolicyError, match=re.escape(expected)):
        ChatMend(**option)
    with pytest.raises(chatmend.PolicyError):
        from_section(option)


def test_the_kill_switch_disables_repair_usage_and_reports(
    monkeypatch: pytest.MonkeyPatch, sandbox: Any
) -> None:
    litellm.callbacks = [ChatMend(on_error="raise")]
    monkeypatch.setenv("CHATMEND_DISABLED", "1")
    assert hook(litellm.callbacks[0], chat()) is None
    answer = ask(sandbox, valid())
    assert "chatmend" not in answer._hidden_params
    assert not hasattr(answer.usage, "chatmend")
    assert litellm.callbacks[0].usage.snapshot() == ()


def test_a_forged_summary_is_not_counted_when_chatmend_is_disabled(
    monkeypatch: pytest.MonkeyPatch, sandbox: Any
) -> None:
    litellm.callbacks = [ChatMend(on_error="raise")]
    monkeypatch.setenv("CHATMEND_DISABLED", "1")
    forged = {"chatmend": {"target": "openai/gpt-4o", "mode": "repair", "changes": {}}}
    answer = ask(sandbox, valid(), tools=None, metadata=forged)
    assert not hasattr(answer.usage, "chatmend")
    assert litellm.callbacks[0].usage.snapshot() == ()


def test_a_call_in_progress_is_completed_when_chatmend_is_disabled(
    monkeypatch: pytest.MonkeyPatch, sandbox: Any
) -> None:
    class DisablesItself(ChatMend):
        async def async_pre_call_deployment_hook(self, kwargs: Any, call_type: Any) -> Any:
            done = await super().async_pre_call_deployment_hook(kwargs, call_type)
            monkeypatch.setenv("CHATMEND_DISABLED", "1")
            return done

    if not RECORDS_BEFORE_HOOK:
        pytest.skip("this version of LiteLLM has no record of a call when the hook runs")
    litellm.callbacks = [DisablesItself(on_error="raise")]
    assert ask(sandbox, chat()).usage.chatmend["total_tokens"]
    assert litellm.callbacks[0].usage.total() is not None


def test_the_request_of_the_caller_is_unchanged_and_unchanged_messages_are_not_copied() -> None:
    kwargs = {"model": OPENAI, "messages": chat(), "tools": CHAT_TOOLS, "metadata": {"mine": [1]}}
    before = copy.deepcopy(kwargs)
    new = asyncio.run(
        ChatMend(on_error="raise").async_pre_call_deployment_hook(kwargs, "acompletion")
    )
    assert kwargs == before
    assert new is not None
    assert new["messages"][0] is kwargs["messages"][0]
    assert new["messages"][-1] is kwargs["messages"][-1]
    assert new["metadata"]["mine"] is kwargs["metadata"]["mine"]
    assert new["messages"] == chatmend.repair(chat(), OPENAI, tools=CHAT_TOOLS).messages


def test_messages_in_a_tuple_are_repaired(sandbox: Any, mend: ChatMend) -> None:
    assert hook(mend, tuple(valid())) is None
    mine = tuple(chat())
    assert (
        hook(mend, mine)["messages"] == chatmend.repair(chat(), OPENAI, tools=CHAT_TOOLS).messages
    )
    assert mine == tuple(chat())
    answer = ask(sandbox, mine)
    assert answer._hidden_params["chatmend"].get("changes", {"TOOL007": 1}) == {"TOOL007": 1}
    assert sandbox.refusals == []


def test_each_attempt_starts_from_the_original_messages() -> None:
    callback, mine = ChatMend(on_error="raise"), chat()
    for model in (OPENAI, "anthropic/claude-sonnet-4-5", "mistral/mistral-large-latest"):
        sent = hook(callback, mine, model)["messages"]
        assert sent == chatmend.repair(chat(), model, tools=CHAT_TOOLS).messages


def test_the_outer_call_with_fallbacks_is_unchanged() -> None:
    assert (
        hook(ChatMend(on_error="raise"), chat(), fallbacks=["anthropic/claude-sonnet-4-5"]) is None
    )


def test_report_mode_sends_the_original_and_logs_what_would_be_repaired(
    sandbox: Any, caplog: pytest.LogCaptureFixture
) -> None:
    litellm.callbacks = [ChatMend(mode="report", on_error="raise")]
    with caplog.at_level(logging.INFO, "chatmend.litellm"), pytest.raises(litellm.BadRequestError):
        ask(sandbox, chat())
    assert "chatmend would repair for openai/gpt-4o: TOOL007=1" in caplog.messages
    assert [message["role"] for message in sandbox.refusals[0].body["messages"]] == [
        "user",
        "assistant",
        "user",
    ]


def test_the_log_has_one_line_for_each_repaired_request_without_content(
    sandbox: Any, mend: ChatMend, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, "chatmend"):
        ask(sandbox, chat())
        ask(sandbox, valid(), tools=None)
    lines = [one.getMessage() for one in caplog.records if one.name.startswith("chatmend")]
    assert lines == ["chatmend repaired for openai/gpt-4o: TOOL007=1"]
    assert mend.failures.counts == {}


@pytest.mark.parametrize(
    ("lists", "repaired"),
    [
        ({}, True),
        ({"allow": ["openai/*"]}, True),
        ({"allow": ["anthropic/*"]}, False),
        ({"allow": ["team-model"]}, True),
        ({"deny": ["*gpt-4o"]}, False),
        ({"allow": ["openai/*"], "deny": ["team-model"]}, False),
    ],
)
def test_models_are_allowed_and_denied_by_target_or_model_group(
    lists: Any,
    repaired: bool,  # noqa: FBT001 - a pytest parameter
) -> None:
    callback = ChatMend(on_error="raise", **lists)
    assert (hook(callback, chat(), metadata={"model_group": "team-model"}) is not None) is repaired


@pytest.mark.parametrize("option", [{"on_error": "ignore"}, {"mode": "dry"}])
def test_an_invalid_choice_raises_an_error_that_lists_the_choices(option: Any) -> None:
    with pytest.raises(chatmend.PolicyError, match="choose '"):
        ChatMend(**option)


def test_loggers_receive_the_repaired_messages_the_summary_and_the_usage(
    sandbox: Any, mend: ChatMend
) -> None:
    seen: list[Any] = []

    class Logger(litellm.integrations.custom_logger.CustomLogger):
        async def async_log_success_event(
            self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
        ) -> None:
            seen.append(kwargs)

    litellm.callbacks = [mend, Logger()]
    mine = {"mine": 1}
    ask(sandbox, chat(), metadata=mine)
    payload = seen[0]["standard_logging_object"]
    if RECORDS_BEFORE_HOOK:
        assert [message["role"] for message in payload["messages"]] == [
            "user",
            "assistant",
            "tool",
            "user",
        ]
    assert payload["metadata"]["chatmend"]["changes"] == {"TOOL007": 1}
    assert seen[0]["litellm_params"]["metadata"]["chatmend"]["usage"]["total_tokens"] > 0
    assert "chatmend" not in mine
    json.dumps(payload["metadata"]["chatmend"])


def test_the_usage_record_is_added_to_litellms_usage_and_the_cost_is_unchanged(
    sandbox: Any, mend: ChatMend
) -> None:
    alone = ChatMend(on_error="raise")
    litellm.callbacks = []
    plain = ask(sandbox, valid(), tools=None)
    sandbox.clear()
    litellm.callbacks = [alone]
    marked = ask(sandbox, valid(), tools=None, user="another")
    record = marked.usage.chatmend
    assert record["input_tokens"] == marked.usage.prompt_tokens == plain.usage.prompt_tokens
    assert record["cache_read_tokens"] == marked.usage.prompt_tokens_details.cached_tokens
    ours = {"chatmend", "prompt_tokens_details", "cache_read_input_tokens"}
    assert marked.usage.model_dump(exclude=ours) == plain.usage.model_dump(exclude=ours)
    assert litellm.completion_cost(marked) == pytest.approx(marked._hidden_params["response_cost"])


def test_the_ledger_counts_a_call_once_with_the_cost_from_litellm(
    sandbox: Any, mend: ChatMend
) -> None:
    answer = ask(sandbox, chat(), user="ann", metadata={"session_id": "s1"})
    (row,) = mend.usage.snapshot()
    assert row.calls == 1
    assert row.usage.total_tokens == answer.usage.total_tokens
    assert {
        "model": "gpt-4o",
        "provider": "openai",
        "end_user": "ann",
        "session": "s1",
    }.items() <= row.keys.items()
    assert [cost.source for cost in row.costs] == ["litellm"]
    assert float(row.costs[0].amount) == pytest.approx(answer._hidden_params["response_cost"])


def test_keys_from_clients_cannot_grow_the_ledger_without_limit() -> None:
    counter = CallCounter(UsageLedger(price=None), max_rows=3)
    response = {"usage": {"prompt_tokens": 2, "completion_tokens": 1, "total_tokens": 3}}
    for number in range(50):
        metadata = {"user_api_key_team_id": "team", "session_id": f"s{number}"}
        counter.add({"model": "m", "litellm_params": {"metadata": metadata}}, response)
    rows = counter.ledger.snapshot()
    assert len(rows) == 4
    assert sum(row.calls for row in rows) == 50
    assert {row.keys["team"] for row in rows} == {"team"}


def test_an_answer_from_the_cache_of_litellm_is_not_counted() -> None:
    counter = CallCounter(UsageLedger(price=None))
    response = {"usage": {"prompt_tokens": 2, "completion_tokens": 1, "total_tokens": 3}}
    counter.add({"model": "m", "cache_hit": True}, response)
    assert counter.ledger.snapshot() == ()


def test_a_recorder_receives_the_sent_messages_and_the_answer(sandbox: Any) -> None:
    kept: list[Any] = []
    litellm.callbacks = [ChatMend(on_error="raise", record=kept.append)]
    ask(sandbox, chat(), metadata={"session_id": "s1"})
    (exchange,) = kept
    assert (exchange.session, exchange.model, exchange.changes) == ("s1", "gpt-4o", {"TOOL007": 1})
    if RECORDS_BEFORE_HOOK:
        assert [message["role"] for message in exchange.messages] == [
            "user",
            "assistant",
            "tool",
            "user",
        ]
    assert "Are you there?" in exchange.response.choices[0].message.content


@pytest.mark.parametrize("provider", ["github_copilot", "chatgpt"])
def test_providers_whose_lookup_signs_in_over_the_network_are_not_looked_up(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(litellm, "get_llm_provider", refuse)
    assert target_of({"model": f"{provider}/gpt-4.1"}) == f"{provider}/gpt-4.1"
    assert target_of({"model": "gpt-4.1", "custom_llm_provider": provider}) == f"{provider}/gpt-4.1"


@pytest.mark.parametrize(
    ("kwargs", "target"),
    [
        ({"model": "gpt-4o"}, "openai/gpt-4o"),
        ({"model": "claude-sonnet-4-5"}, "anthropic/claude-sonnet-4-5"),
        (
            {"model": "claude-sonnet-4-5", "custom_llm_provider": "anthropic"},
            "anthropic/claude-sonnet-4-5",
        ),
        ({"model": "azure/mine", "model_info": {"base_model": "azure/gpt-4o"}}, "azure/gpt-4o"),
        ({"model": "hosted_vllm/x", "model_info": {"chatmend_target": "strict"}}, "strict"),
        ({"model": "nobody-knows-this"}, "nobody-knows-this"),
        (
            {"model": "openrouter/anthropic/claude-haiku-4.5"},
            "openrouter/anthropic/claude-haiku-4.5",
        ),
    ],
)
def test_the_target_is_the_one_that_litellm_resolves(kwargs: Any, target: str) -> None:
    assert target_of(kwargs) == target


@pytest.mark.parametrize(
    ("path", "model", "target"),
    [
        ("/anthropic/v1/messages", "claude-sonnet-4-5", "anthropic/claude-sonnet-4-5"),
        ("/openai/v1/chat/completions", "gpt-4o", "openai/gpt-4o"),
        ("/gemini/v1beta/models/gemini-2.5-flash:generateContent", None, "gemini/gemini-2.5-flash"),
        ("/openai_passthrough/v1/responses", "gpt-4o", "openai/gpt-4o"),
        ("/our-own/v1/messages", "claude-sonnet-4-5", "anthropic/claude-sonnet-4-5"),
        ("/our-own/v1/chat/completions", "gpt-4o", "openai/gpt-4o"),
    ],
)
def test_the_target_of_a_pass_through_request_is_derived_from_its_route(
    path: str, model: Any, target: str
) -> None:
    shape = shape_of_route(path)
    assert shape is not None
    assert target_of_route(path, model, shape) == target


def test_a_pass_through_request_without_a_transcript_is_unchanged() -> None:
    key = SimpleNamespace(request_route="/openai/v1/files")
    data = {"messages": chat()}
    assert (
        asyncio.run(ChatMend().async_pre_call_hook(key, None, data, "pass_through_endpoint"))
        is None
    )


def test_a_proxy_request_with_a_deployment_is_not_repaired_in_the_pre_call_hook() -> None:
    key = SimpleNamespace(request_route="/v1/chat/completions")
    data = {"model": "gpt-4o", "messages": chat()}
    assert asyncio.run(ChatMend().async_pre_call_hook(key, None, data, "acompletion")) is None


def test_client_data_under_the_chatmend_key_is_not_taken_for_a_summary() -> None:
    record = {
        "chatmend": {"evil": {"target": "t", "mode": "repair", "changes": {"X: 1\r\nInjected": 1}}}
    }
    assert summaries.stored_summaries(record) is None
    assert summaries.last_summary_dict(record) is None
