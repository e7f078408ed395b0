"""What a payload means, provider by provider: one story each. Numbers are made up, shapes are recorded."""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from chatmend import Usage, normalize_usage


def counts(usage: Usage) -> tuple[int | None, ...]:
    return (
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        usage.reasoning_tokens,
    )


def codes(usage: Usage) -> set[str]:
    return {text.partition(":")[0] for text in usage.warnings}


def chat(prompt: int, completion: int, total: int | None = None, **more: Any) -> dict[str, Any]:
    stated = {} if total is None else {"total_tokens": total}
    return {"prompt_tokens": prompt, "completion_tokens": completion, **stated, **more}


def test_the_payload_is_not_changed() -> None:
    payload = chat(10, 5, 15, prompt_tokens_details={"cached_tokens": 4})
    before = repr(payload)
    normalize_usage(payload)
    assert repr(payload) == before


def test_a_count_that_nobody_reported_is_none_and_not_zero() -> None:
    usage = normalize_usage(chat(10, 5))
    assert usage.cache_read_tokens is None
    assert usage.provider_total is None
    assert (
        normalize_usage(chat(10, 5, prompt_tokens_details={"cached_tokens": 0})).cache_read_tokens
        == 0
    )


def test_every_field_says_where_it_was_read() -> None:
    usage = normalize_usage(
        {"usage": chat(10, 5, 15, completion_tokens_details={"reasoning_tokens": 2})}
    )
    assert usage.sources["input_tokens"] == "usage.prompt_tokens"
    assert usage.sources["reasoning_tokens"] == "usage.completion_tokens_details.reasoning_tokens"
    assert usage.sources["total_tokens"] == "input_tokens + output_tokens"


def test_openai_chat_counts_everything_in() -> None:
    details = {
        "prompt_tokens_details": {"cached_tokens": 64},
        "completion_tokens_details": {"reasoning_tokens": 8},
    }
    assert counts(normalize_usage(chat(100, 20, 120, **details))) == (100, 20, 64, None, 8)


def test_reasoning_that_the_total_holds_beside_completion_is_output() -> None:
    usage = normalize_usage(chat(140, 38, 322, completion_tokens_details={"reasoning_tokens": 144}))
    assert (usage.output_tokens, usage.total_tokens, usage.provider_total) == (182, 322, 322)
    assert (
        usage.sources["output_tokens"]
        == "completion_tokens + completion_tokens_details.reasoning_tokens"
    )
    assert usage.warnings == ()


def test_cached_tokens_that_the_total_holds_beside_the_prompt_are_input() -> None:
    usage = normalize_usage(chat(200, 50, 9377, prompt_tokens_details={"cached_tokens": 9127}))
    assert counts(usage)[:3] == (9327, 50, 9127)


def test_cached_tokens_above_a_prompt_that_adds_up_are_reported_and_not_added() -> None:
    usage = normalize_usage(chat(10, 109, 119, prompt_tokens_details={"cached_tokens": 161}))
    assert counts(usage)[:3] == (10, 109, 161)
    assert codes(usage) == {"cached-exceeds-input"}
    assert usage.cache_hit_ratio == 1.0


def test_vercel_leaves_gemini_thoughts_out_of_completion_and_total() -> None:
    thinking = chat(
        507,
        137,
        644,
        completion_tokens_details={"reasoning_tokens": 600},
        cost=0.0036,
        market_cost=0.0036,
    )
    assert normalize_usage(thinking).output_tokens == 737
    assert normalize_usage({**thinking, "market_cost": None}, "vercel-gateway").output_tokens == 737


def test_openrouter_counts_reasoning_with_another_tokenizer() -> None:
    usage = normalize_usage(
        chat(10, 20, 30, completion_tokens_details={"reasoning_tokens": 24}, is_byok=False)
    )
    assert (usage.output_tokens, usage.warnings) == (20, ())


def test_reasoning_above_output_of_a_host_nobody_knows_is_reported() -> None:
    usage = normalize_usage(chat(10, 20, 30, completion_tokens_details={"reasoning_tokens": 24}))
    assert (usage.output_tokens, codes(usage)) == (20, {"reasoning-exceeds-output"})


def test_reasoning_within_the_output_of_perplexity_stays_inside() -> None:
    usage = normalize_usage(chat(9, 1020, 1029, reasoning_tokens=700), "perplexity")
    assert (usage.output_tokens, usage.reasoning_tokens) == (1020, 700)


@pytest.mark.parametrize(
    ("provider", "model"), [("perplexity", None), (None, "perplexity/sonar-deep-research")]
)
def test_deep_research_of_perplexity_reasons_outside_of_output_and_total(
    provider: str | None, model: str | None
) -> None:
    payload = chat(33, 7163, 7196, citation_tokens=20028, reasoning_tokens=73995)
    usage = normalize_usage(payload, provider, model)
    assert (usage.output_tokens, usage.reasoning_tokens) == (7163 + 73995, 73995)
    assert usage.sources["output_tokens"] == "completion_tokens + reasoning_tokens"
    assert (usage.provider_total, usage.details["citation_tokens"]) == (7196, 20028)
    assert usage.warnings == ()


def test_the_gap_in_googles_openai_endpoint_is_thoughts() -> None:
    usage = normalize_usage(chat(35, 12, 109), "google")
    assert (usage.output_tokens, usage.reasoning_tokens, usage.sources["reasoning_tokens"]) == (
        74,
        62,
        "total",
    )
    assert normalize_usage(chat(35, 12, 109), model="gemini-2.5-flash").output_tokens == 74


def test_mistral_audio_is_outside_the_prompt_also_where_only_its_seconds_are_told() -> None:
    told = chat(9, 248, 632, prompt_audio_seconds=3, prompt_tokens_details={"audio_tokens": 375})
    assert normalize_usage(told).input_tokens == 384
    usage = normalize_usage(chat(9, 248, 632, prompt_audio_seconds=3))
    assert (usage.input_tokens, usage.input_audio_tokens) == (384, 375)
    assert usage.billed["input_audio_seconds"] == 3


def test_a_total_that_nothing_explains_is_reported() -> None:
    usage = normalize_usage(chat(10, 5, 99))
    assert (usage.total_tokens, usage.provider_total, codes(usage)) == (15, 99, {"total-differs"})


def test_of_two_spellings_the_larger_one_counts() -> None:
    mistral = chat(9, 100, 109, num_cached_tokens=5, prompt_tokens_details={"cached_tokens": 0})
    assert normalize_usage(mistral).cache_read_tokens == 5
    differ = chat(9, 100, 109, num_cached_tokens=5, prompt_tokens_details={"cached_tokens": 3})
    assert codes(normalize_usage(differ)) == {"spellings-differ"}


def test_anthropic_leaves_the_cache_out_of_its_input() -> None:
    usage = normalize_usage(
        {
            "input_tokens": 30,
            "cache_creation_input_tokens": 50,
            "cache_read_input_tokens": 20,
            "cache_creation": {"ephemeral_5m_input_tokens": 40, "ephemeral_1h_input_tokens": 10},
            "output_tokens": 20,
            "output_tokens_details": {"thinking_tokens": 7},
            "server_tool_use": {"web_search_requests": 2, "web_fetch_requests": 1},
        }
    )
    assert counts(usage) == (100, 20, 20, 50, 7)
    assert (usage.cache_write_5m_tokens, usage.cache_write_1h_tokens) == (40, 10)
    assert (usage.web_search_requests, usage.billed) == (2, {"web_fetch_requests": 1})


def test_a_compaction_stands_beside_the_answer_and_not_in_it() -> None:
    usage = normalize_usage(
        {
            "input_tokens": 162,
            "cache_read_input_tokens": 0,
            "output_tokens": 11,
            "iterations": [
                {
                    "type": "compaction",
                    "input_tokens": 100,
                    "output_tokens": 81,
                    "cache_creation_input_tokens": 55096,
                },
                {"type": "message", "input_tokens": 162, "output_tokens": 11},
                {
                    "type": "advisor_message",
                    "model": "claude-opus-4-8",
                    "input_tokens": 5,
                    "output_tokens": 6,
                },
            ],
        }
    )
    assert usage.input_tokens == 162
    assert [(part.kind, part.model, part.input_tokens) for part in usage.parts] == [
        ("compaction", None, 55196),
        ("advisor_message", "claude-opus-4-8", 5),
    ]


def test_gemini_leaves_thoughts_and_tool_results_out() -> None:
    gemini = {
        "promptTokenCount": 100,
        "candidatesTokenCount": 20,
        "thoughtsTokenCount": 7,
        "toolUsePromptTokenCount": 30,
        "cachedContentTokenCount": 60,
        "totalTokenCount": 157,
        "promptTokensDetails": [
            {"modality": "TEXT", "tokenCount": 80},
            {"modality": "IMAGE", "tokenCount": 20},
        ],
        "cacheTokensDetails": [{"modality": "TEXT", "tokenCount": 60}],
    }
    usage = normalize_usage(gemini)
    assert counts(usage) == (130, 27, 60, None, 7)
    assert (usage.tool_use_prompt_tokens, usage.input_text_tokens, usage.input_image_tokens) == (
        30,
        80,
        20,
    )
    assert usage.details == {"cache_read_text_tokens": 60}


def test_a_gemini_preview_whose_total_says_that_thoughts_are_inside() -> None:
    preview = {
        "promptTokenCount": 8,
        "candidatesTokenCount": 79,
        "totalTokenCount": 87,
        "thoughtsTokenCount": 71,
    }
    assert counts(normalize_usage(preview)) == (8, 79, None, None, 71)


def test_a_count_of_tokens_by_google_stays_googles() -> None:
    counted = {
        "totalTokens": 31,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 31}],
    }
    usage = normalize_usage(counted)
    assert (usage.provider, usage.total_tokens, usage.input_text_tokens) == ("google", 31, 31)


def test_vertex_writes_modalities_and_traffic_as_numbers() -> None:
    usage = normalize_usage(
        {
            "promptTokenCount": 11,
            "trafficType": 1,
            "promptTokensDetails": [{"modality": 2, "tokenCount": 11}],
        }
    )
    assert (usage.input_image_tokens, usage.service_tier) == (11, "ON_DEMAND")


def test_converse_leaves_the_cache_out_of_its_input_and_in_its_total() -> None:
    usage = normalize_usage(
        {
            "inputTokens": 10,
            "outputTokens": 4,
            "totalTokens": 7365,
            "cacheWriteInputTokens": 7351,
            "cacheWriteInputTokenCount": 7351,
            "cacheDetails": [{"ttl": "5m", "inputTokens": 7351}],
        }
    )
    assert counts(usage) == (7361, 4, None, 7351, None)
    assert (usage.cache_write_5m_tokens, usage.warnings) == (7351, ())


def test_cohere_bills_other_numbers_than_the_model_saw() -> None:
    usage = normalize_usage(
        {
            "billed_units": {"input_tokens": 267, "output_tokens": 66},
            "tokens": {"input_tokens": 34, "output_tokens": 70, "image_tokens": 259},
        }
    )
    assert (usage.input_tokens, usage.output_tokens, usage.input_image_tokens) == (293, 70, 259)
    assert usage.billed == {"input_tokens": 267, "output_tokens": 66}


def test_billed_units_without_tokens_are_no_tokens() -> None:
    usage = normalize_usage({"billed_units": {"input_tokens": 58, "output_tokens": 100}})
    assert (usage.input_tokens, usage.total_tokens, usage.billed["output_tokens"]) == (
        None,
        None,
        100,
    )


@pytest.mark.parametrize(
    ("payload", "cost", "currency"),
    [
        (chat(1, 1, 2, cost=0.001008), "0.001008", "USD"),
        (chat(1, 1, 2, cost_in_usd_ticks=2488500), "0.00024885", "USD"),
        (
            chat(1, 1, 2, cost={"input_cost": 2.8e-08, "total_cost": 2.8e-08, "currency": "EUR"}),
            "2.8E-8",
            "EUR",
        ),
        (chat(1, 1, 2, cost={"usd": "0.00017", "hypercredits": 0.0034}), "0.00017", "USD"),
    ],
)
def test_a_cost_is_exact_and_has_a_currency(
    payload: dict[str, Any], cost: str, currency: str
) -> None:
    usage = normalize_usage(payload)
    assert (usage.cost, usage.cost_currency, usage.cost_source) == (
        Decimal(cost),
        currency,
        "provider",
    )


def test_the_callers_own_key_at_openrouter_is_billed_by_the_upstream_provider() -> None:
    usage = normalize_usage(
        chat(14, 7, 21, cost=0, is_byok=True, cost_details={"upstream_inference_cost": 6.3e-06})
    )
    assert (usage.cost, usage.cost_details["upstream"]) == (0, Decimal("0.0000063"))
    assert codes(usage) == {"byok"}


def test_headers_are_read_where_the_body_is_silent() -> None:
    headers = {
        "X-Amzn-Bedrock-Input-Token-Count": "12",
        "X-Amzn-Bedrock-Cache-Read-Input-Token-Count": "30",
        "x-litellm-response-cost": "7.1e-05",
    }
    usage = normalize_usage({"outputs": [], "usage": {"output_tokens": 4}}, headers=headers)
    assert counts(usage)[:3] == (42, 4, 30)
    assert (usage.cost, usage.cost_source) == (Decimal("0.000071"), "litellm")
    assert normalize_usage(headers).input_tokens == 42


class TestGatewaysThatNestOneAccountInAnother:
    def test_the_vendor_block_wins_field_by_field(self) -> None:
        usage = normalize_usage(
            {
                "choices": [{"message": {"content": "hi"}}],
                "usage": chat(90, 10, 100, prompt_tokens_details={"cached_tokens": 5}),
                "openhuman": {
                    "usage": {
                        "input_tokens": 110,
                        "output_tokens": None,
                        "cached_input_tokens": 40,
                    },
                    "billing": {"charged_amount_usd": 0.0123},
                },
            }
        )
        assert counts(usage)[:3] == (110, 10, 40)
        assert (usage.cost, usage.cost_currency, usage.cost_source) == (
            Decimal("0.0123"),
            "USD",
            "provider",
        )
        assert usage.sources["input_tokens"] == "openhuman.usage.input_tokens"
        assert usage.sources["output_tokens"] == "usage.completion_tokens"

    def test_a_stated_total_that_no_longer_fits_is_reported(self) -> None:
        usage = normalize_usage(
            {"usage": chat(90, 10, 100), "openhuman": {"usage": {"input_tokens": 110}}}
        )
        assert (usage.total_tokens, usage.provider_total, codes(usage)) == (
            120,
            100,
            {"total-differs"},
        )

    def test_an_empty_vendor_block_changes_nothing(self) -> None:
        plain = {"choices": [{}], "usage": chat(90, 10, 100)}
        for block in ({}, {"usage": None, "billing": None}, {"usage": {}}):
            assert normalize_usage({**plain, "openhuman": block}) == normalize_usage(plain)

    def test_no_choices_are_an_error_and_not_a_silent_success(self) -> None:
        usage = normalize_usage(
            {"object": "chat.completion", "choices": [], "usage": chat(90, 0, 90)}
        )
        assert (usage.complete, codes(usage), usage.input_tokens) == (False, {"empty-choices"}, 90)
        assert not normalize_usage({"choices": []}).complete

    def test_a_usage_only_chunk_is_no_error(self) -> None:
        usage = normalize_usage(
            {"object": "chat.completion.chunk", "choices": [], "usage": chat(90, 10, 100)}
        )
        assert (usage.complete, usage.warnings) == (True, ())


def test_an_error_body_is_not_complete_and_its_text_is_not_repeated() -> None:
    usage = normalize_usage({"error": {"message": "secret prompt", "code": 429}})
    assert not usage.complete
    assert "secret" not in repr(usage)


def test_the_requests_of_tools_stand_outside_the_usage() -> None:
    usage = normalize_usage(
        {
            "model": "gpt-5",
            "service_tier": "flex",
            "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15},
            "tool_usage": {
                "web_search": {"num_requests": 3},
                "image_gen": {"input_tokens": 7, "output_tokens": 4160},
            },
        }
    )
    assert (usage.web_search_requests, usage.service_tier, usage.model) == (3, "flex", "gpt-5")
    assert [(part.kind, part.output_tokens) for part in usage.parts] == [("image_gen", 4160)]
    assert usage.output_tokens == 5


@pytest.mark.parametrize(
    ("value", "read", "code"),
    [
        ("12", 12, None),
        (12.0, 12, None),
        (12.5, 12, "fraction-of-a-token"),
        (-9, None, "negative-number"),
        ("many", None, "unreadable-number"),
        (True, None, "unreadable-number"),
        (float("nan"), None, "unreadable-number"),
        ([], None, "unreadable-number"),
        ({"a": 1}, None, "unreadable-number"),
        pytest.param(10**5000, None, "unreadable-number", id="5000 digits"),
        (None, None, None),
    ],
)
def test_an_odd_value_is_read_or_reported(
    value: object, read: int | None, code: str | None
) -> None:
    usage = normalize_usage({"prompt_tokens": value, "completion_tokens": 1})
    assert usage.input_tokens == read
    assert codes(usage) == ({code} if code else set())


@pytest.mark.parametrize(
    "nonsense", [None, 7, "usage", b"", [], [1], object(), {}, {1: 2}, {"usage": []}, {"usage": 3}]
)
def test_what_holds_no_account_says_so(nonsense: object) -> None:
    usage = normalize_usage(nonsense)
    assert (usage.total_tokens, usage.complete, codes(usage)) == (None, False, {"no-usage"})


def test_a_number_that_no_table_knows_is_listed() -> None:
    usage = normalize_usage(chat(1, 2, 3, surprise={"deep": [{"count": 7}]}))
    assert usage.unread == ("surprise.deep[].count",)


def test_an_object_that_holds_itself_ends() -> None:
    knot: dict[str, Any] = chat(1, 2, 3)
    knot["left"] = knot["right"] = knot
    assert normalize_usage(knot).total_tokens == 3


def test_objects_of_sdks_are_read_like_what_they_were_parsed_from() -> None:
    inner = SimpleNamespace(cached_tokens=4)
    outer = SimpleNamespace(
        usage=SimpleNamespace(prompt_tokens=10, completion_tokens=5, prompt_tokens_details=inner)
    )
    assert counts(normalize_usage(outer))[:3] == (10, 5, 4)


@pytest.mark.parametrize(
    "details",
    [
        {"cache_creation": {"ephemeral_5m_input_tokens": 213}, "cache_creation_input_tokens": 213},
        {"cache_creation_input_tokens": 213},
        {"cache_creation": {"cache_creation_input_tokens": 213}},
    ],
)
def test_cache_writes_of_dashscope_are_part_of_the_prompt(details: dict[str, Any]) -> None:
    usage = normalize_usage(
        {
            "prompt_tokens": 1524,
            "completion_tokens": 100,
            "total_tokens": 1624,
            "prompt_tokens_details": {"cached_tokens": 1305, "cache_type": "ephemeral", **details},
        },
        "dashscope/qwen3-coder-plus",
    )
    assert usage is not None
    assert (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens) == (
        1524,
        1305,
        213,
    )
    assert usage.complete


def test_dashscopes_own_usage_is_not_googles() -> None:
    usage = normalize_usage(
        {
            "request_id": "r",
            "output": {"choices": [{"finish_reason": "stop"}]},
            "usage": {
                "input_tokens": 1271,
                "output_tokens": 112,
                "total_tokens": 1383,
                "prompt_tokens_details": {
                    "cached_tokens": 1024,
                    "cache_creation_input_tokens": 200,
                    "cache_creation": {"ephemeral_5m_input_tokens": 200},
                },
                "output_tokens_details": {"reasoning_tokens": 40},
            },
        }
    )
    assert counts(usage) == (1271, 112, 1024, 200, 40)
    assert (usage.cache_write_5m_tokens, usage.total_tokens) == (200, 1383)
    assert (usage.provider, usage.unread, usage.warnings) == (None, (), ())


def test_usage_of_converse_without_details_stays_bedrocks() -> None:
    usage = normalize_usage({"inputTokens": 10, "outputTokens": 4, "totalTokens": 14})
    assert (usage.provider, usage.total_tokens) == ("bedrock", 14)


def test_usage_of_the_ai_sdk_is_complete_and_names_no_provider() -> None:
    usage = normalize_usage(
        {
            "usage": {
                "inputTokens": 100,
                "inputTokenDetails": {
                    "noCacheTokens": 30,
                    "cacheReadTokens": 50,
                    "cacheWriteTokens": 20,
                },
                "outputTokens": 20,
                "outputTokenDetails": {"textTokens": 15, "reasoningTokens": 5},
                "totalTokens": 120,
                "reasoningTokens": 5,
                "cachedInputTokens": 50,
            }
        }
    )
    assert counts(usage) == (100, 20, 50, 20, 5)
    assert (usage.output_text_tokens, usage.details) == (15, {"uncached_input_tokens": 30})
    assert (usage.provider, usage.unread, usage.warnings) == (None, (), ())


def test_usage_of_the_ai_sdk_5_is_decided_by_its_total() -> None:
    openai = {"inputTokens": 100, "outputTokens": 20, "cachedInputTokens": 50}
    assert counts(normalize_usage(openai)) == (100, 20, 50, None, None)
    gemini = {"inputTokens": 8, "outputTokens": 12, "reasoningTokens": 71, "totalTokens": 91}
    assert counts(normalize_usage(gemini)) == (8, 83, None, None, 71)
    bedrock = {"inputTokens": 10, "outputTokens": 4, "cachedInputTokens": 50, "totalTokens": 64}
    assert counts(normalize_usage(bedrock)) == (60, 4, 50, None, None)


def test_the_raw_usage_in_the_usage_of_the_ai_sdk_does_not_count() -> None:
    raw = {"prompt_tokens": 100, "completion_tokens": 20}
    usage = normalize_usage(
        {"inputTokens": 100, "outputTokens": 20, "reasoningTokens": 0, "raw": raw}
    )
    assert (usage.input_tokens, usage.output_tokens) == (100, 20)
    assert usage.unread == ("raw.prompt_tokens", "raw.completion_tokens")
