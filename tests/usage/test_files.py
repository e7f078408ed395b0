"""Recorded files: each call is counted once, in every file format."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from chatmend.usage import draw, render, summarise, usages_in

if TYPE_CHECKING:
    from pathlib import Path


def chat(prompt: int, completion: int, **more: Any) -> dict[str, Any]:
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
    return {
        "object": "chat.completion",
        "model": "gpt-4o-mini",
        "choices": [{"index": 0}],
        "usage": usage,
        **more,
    }


def tokens(text: str) -> list[tuple[int | None, int | None]]:
    return [(usage.input_tokens, usage.output_tokens) for usage in usages_in(text)]


def lines(*rows: object) -> str:
    return "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows)


def test_an_empty_text_holds_no_call() -> None:
    assert tokens("") == tokens("\n\n") == tokens("no json") == tokens("[]") == []


def test_a_response_body() -> None:
    assert tokens(json.dumps(chat(10, 5), indent=2)) == [(10, 5)]


def test_a_list_of_bodies_and_lines_of_bodies() -> None:
    assert tokens(json.dumps([chat(10, 5), chat(1, 2)])) == [(10, 5), (1, 2)]
    assert tokens(lines(chat(10, 5), "", "no json", chat(1, 2))) == [(10, 5), (1, 2)]


def test_the_lines_of_a_batch() -> None:
    batch = {"custom_id": "1", "response": {"status_code": 200, "body": chat(10, 5)}}
    assert tokens(lines(batch, batch)) == [(10, 5), (10, 5)]


@pytest.mark.parametrize(
    ("line", "model", "tier"),
    [
        pytest.param(
            {
                "custom_id": "1",
                "response": {"status_code": 200, "body": chat(10, 5, service_tier="flex")},
                "error": None,
            },
            "gpt-4o-mini",
            "flex",
            id="OpenAI",
        ),
        pytest.param(
            {
                "custom_id": "1",
                "result": {
                    "type": "succeeded",
                    "message": {
                        "type": "message",
                        "model": "claude-sonnet-4-6",
                        "usage": {
                            "input_tokens": 10,
                            "output_tokens": 5,
                            "service_tier": "batch",
                        },
                    },
                },
            },
            "claude-sonnet-4-6",
            "batch",
            id="Anthropic",
        ),
        pytest.param(
            {
                "key": "1",
                "response": {
                    "candidates": [{"finishReason": "STOP"}],
                    "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5},
                    "modelVersion": "gemini-2.5-flash",
                },
            },
            "gemini-2.5-flash",
            None,
            id="Gemini",
        ),
        pytest.param(
            {
                "recordId": "1",
                "modelOutput": {
                    "model": "claude-sonnet-4-6",
                    "usage": {"input_tokens": 10, "output_tokens": 5},
                },
            },
            "claude-sonnet-4-6",
            None,
            id="Bedrock",
        ),
    ],
)
def test_a_line_of_a_batch_names_its_model_and_service_tier(
    line: dict[str, Any], model: str, tier: str | None
) -> None:
    (usage,) = usages_in(json.dumps(line))
    assert (usage.input_tokens, usage.output_tokens) == (10, 5)
    assert (usage.model, usage.service_tier) == (model, tier)


def test_the_model_in_a_line_of_a_batch_identifies_the_provider() -> None:
    answer = chat(35, 12, model="gemini-2.5-flash")
    answer["usage"]["total_tokens"] = 109
    assert tokens(json.dumps({"response": {"body": answer}})) == [(35, 74)]


def test_a_list_of_results_in_a_body_is_not_a_batch() -> None:
    assert tokens(json.dumps({**chat(10, 5), "result": [{"message": {"model": "x"}}]})) == [(10, 5)]


def test_a_dump_of_several_streams() -> None:
    first = {
        "id": "1",
        "object": "chat.completion.chunk",
        "choices": [{"delta": {}, "finish_reason": "stop"}],
    }
    last = {
        "id": "1",
        "object": "chat.completion.chunk",
        "choices": [],
        "usage": chat(10, 5)["usage"],
    }
    start = {
        "type": "message_start",
        "message": {"id": "m", "usage": {"input_tokens": 7, "output_tokens": 1}},
    }
    delta = {"type": "message_delta", "usage": {"output_tokens": 9}}
    openai = (
        "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in (first, last)) + "data: [DONE]\n\n"
    )
    anthropic = "".join(
        f"event: {chunk['type']}\ndata: {json.dumps(chunk)}\n\n" for chunk in (start, delta)
    )
    assert tokens(openai + anthropic + anthropic) == [(10, 5), (7, 9), (7, 9)]
    assert tokens(openai + openai.replace('"1"', '"2"')) == [(10, 5), (10, 5)]


def test_a_dump_of_an_ollama_stream() -> None:
    talk = {"model": "llama3", "message": {"content": "hi"}, "done": False}
    end = {
        "model": "llama3",
        "done": True,
        "prompt_eval_count": 26,
        "eval_count": 290,
        "total_duration": 5,
    }
    assert tokens(lines(talk, talk, end)) == [(26, 290)]


def test_a_log_that_repeats_an_answer_for_each_of_its_blocks() -> None:
    usage = {"input_tokens": 3, "cache_read_input_tokens": 7, "output_tokens": 5}
    block = {
        "type": "assistant",
        "requestId": "r",
        "message": {"id": "m", "model": "claude-opus-4-8", "usage": usage},
    }
    other = {**block, "requestId": "s"}
    assert tokens(lines({"type": "user", "message": {"content": "hi"}}, block, block, other)) == [
        (10, 5),
        (10, 5),
    ]


def answer(identity: str, output: int, session: str = "s", **more: Any) -> dict[str, Any]:
    usage = {"input_tokens": 4, "cache_read_input_tokens": 50, "output_tokens": output}
    message = {"id": identity, "model": "claude-opus-4-7", "content": [], "usage": usage}
    return {"type": "assistant", "session_id": session, "message": message, **more}


def result(cost: float, models: dict[str, tuple[int, int, float]], **more: Any) -> dict[str, Any]:
    """Return a result with the input without cache, the output and the cost of each model."""
    usage = {
        model: {
            "inputTokens": tokens,
            "outputTokens": output,
            "cacheReadInputTokens": 100,
            "cacheCreationInputTokens": 0,
            "webSearchRequests": 0,
            "costUSD": price,
            "contextWindow": 200000,
            "maxOutputTokens": 32000,
        }
        for model, (tokens, output, price) in models.items()
    }
    return {
        "type": "result",
        "session_id": "s",
        "result": "done",
        "total_cost_usd": cost,
        "usage": {"input_tokens": 8, "cache_read_input_tokens": 100, "output_tokens": 77},
        **({"modelUsage": usage} if usage else {}),
        **more,
    }


def test_answers_of_an_agent_without_a_result_count_one_by_one() -> None:
    assert tokens(lines(answer("1", 20), answer("2", 30))) == [(54, 20), (54, 30)]


def test_a_body_with_the_cost_of_another_agent_counts_by_itself() -> None:
    bodies = lines(chat(10, 5, total_cost_usd=0.5), chat(1, 2, total_cost_usd=0.25))
    assert tokens(bodies) == [(10, 5), (1, 2)]


def test_the_result_of_an_agent_replaces_the_answers_that_it_includes() -> None:
    run = result(0.5, {})
    for rows in ([answer("1", 15), answer("2", 1), run], [run]):
        (usage,) = usages_in(json.dumps(rows))
        assert (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens) == (108, 100, 77)
        assert (str(usage.cost), usage.cost_currency) == ("0.5", "USD")
        assert (usage.cost_source, usage.provider) == ("claude-code", "anthropic")
        assert usage.model == ("claude-opus-4-7" if len(rows) > 1 else None)


def test_a_result_has_the_usage_and_cost_of_each_model() -> None:
    run = result(0.5, {"claude-opus-4-7": (8, 77, 0.4), "claude-haiku-4-5": (20, 3, 0.1)})
    opus, haiku = usages_in(lines(answer("1", 15), run))
    assert (opus.model, opus.input_tokens, opus.output_tokens) == ("claude-opus-4-7", 108, 77)
    assert (haiku.model, haiku.input_tokens, haiku.output_tokens) == ("claude-haiku-4-5", 120, 3)
    assert [str(usage.cost) for usage in (opus, haiku)] == ["0.4", "0.1"]
    assert {usage.cost_source for usage in (opus, haiku)} == {"claude-code"}
    assert opus.warnings == ()


def test_a_later_result_of_a_process_counts_only_what_is_new() -> None:
    first = result(0.1, {"claude-opus-4-7": (8, 77, 0.1)})
    second = result(0.3, {"claude-opus-4-7": (28, 100, 0.3)})
    rows = [answer("1", 1), first, answer("2", 1), second, second, answer("3", 9)]
    one, two, three = usages_in(lines(*rows))
    assert (one.input_tokens, one.output_tokens, str(one.cost)) == (108, 77, "0.1")
    assert (two.input_tokens, two.output_tokens, str(two.cost)) == (20, 23, "0.2")
    assert (three.input_tokens, three.output_tokens, three.cost) == (54, 9, None)


def test_the_result_of_a_new_process_counts_whole() -> None:
    first = result(0.3, {"claude-opus-4-7": (28, 100, 0.3)})
    resumed = result(0.1, {"claude-opus-4-7": (8, 77, 0.1)})
    one, two = usages_in(lines(first, resumed))
    assert [str(usage.cost) for usage in (one, two)] == ["0.3", "0.1"]
    assert (two.input_tokens, two.output_tokens) == (108, 77)
    assert [str(usage.cost) for usage in usages_in(lines(result(0.3, {}), result(0.1, {})))] == [
        "0.3",
        "0.1",
    ]


def test_a_result_replaces_only_the_answers_of_its_session() -> None:
    run = result(0.1, {"claude-opus-4-7": (8, 77, 0.1)})
    assert tokens(lines(answer("1", 1), answer("2", 9, session="t"), run)) == [(108, 77), (54, 9)]


def test_a_result_without_usage_replaces_nothing() -> None:
    failed = {**result(0, {}), "subtype": "error_during_execution", "usage": {}}
    assert tokens(lines(answer("1", 20), failed)) == [(54, 20)]


def test_messages_of_the_python_sdk() -> None:
    block = {
        "message_id": "1",
        "model": "claude-opus-4-7",
        "session_id": "s",
        "usage": {"input_tokens": 4, "cache_read_input_tokens": 50, "output_tokens": 15},
    }
    run = result(0.5, {"claude-opus-4-7": (8, 77, 0.5)})
    run["model_usage"] = run.pop("modelUsage")
    del run["type"]
    assert tokens(lines(block, block)) == [(54, 15)]
    assert tokens(lines(block, block, run)) == [(108, 77)]


@pytest.mark.parametrize("nonsense", [None, 3, "x", [1], {"m": None}, {"m": {"inputTokens": []}}])
def test_malformed_counts_of_a_result_raise_nothing(nonsense: object) -> None:
    run = {**result(0.5, {}), "modelUsage": nonsense, "session_id": nonsense}
    assert len(list(usages_in(lines(answer("1", 20), run)))) in {1, 2}


def test_litellms_spend_log() -> None:
    kept = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "total_tokens": 120,
        "cache_read_input_tokens": 90,
    }
    row = {
        "call_type": "acompletion",
        "spend": 0.0125,
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "total_tokens": 120,
        "model": "claude-sonnet-4-5",
        "custom_llm_provider": "anthropic",
        "metadata": json.dumps({"usage_object": kept}),
    }
    whole, bare = usages_in(lines(row, {**row, "metadata": "{}"}))
    assert (whole.cache_read_tokens, bare.cache_read_tokens) == (90, None)
    for usage in (whole, bare):
        assert (usage.input_tokens, usage.model, usage.provider) == (
            100,
            "claude-sonnet-4-5",
            "anthropic",
        )
        assert (str(usage.cost), usage.cost_source) == ("0.0125", "litellm")


def test_the_table_names_what_nobody_reported_and_who_told_the_cost() -> None:
    text = lines(chat(300, 5), chat(100, 2, model="mystery"))
    rows = summarise(usages_in(text))
    table = render(rows).splitlines()
    assert [line.split()[0] for line in table] == ["model", "gpt-4o-mini", "mystery", "total"]
    assert "unpriced 1" in table[2]
    assert "400" in table[-1]
    assert " - " in table[1]


def test_a_name_out_of_a_file_does_not_steer_the_terminal() -> None:
    rows = summarise(usages_in(lines(chat(1, 1, model="evil\x1b[2J" + "x" * 500))))
    table = render(rows)
    assert "\x1b" not in table
    assert max(map(len, table.splitlines())) < 200


def test_the_picture_is_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    image = pytest.importorskip("PIL.Image")
    draw(
        summarise(usages_in(lines(chat(300, 5), chat(100, 2, model="other")))), tmp_path / "out.png"
    )
    with image.open(tmp_path / "out.png") as picture:
        assert (picture.format, picture.width > 500) == ("PNG", True)


@pytest.mark.parametrize(
    ("line", "model"),
    [
        (
            {"response": {"body": {"model": "gpt-4.1-2025-04-14", "service_tier": "flex", "usage": {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}}}},
            "gpt-4.1-2025-04-14",
        ),
        (
            {"result": {"type": "succeeded", "message": {"model": "claude-sonnet-4-6", "usage": {"input_tokens": 9, "output_tokens": 1}}}},
            "claude-sonnet-4-6",
        ),
        (
            {"response": {"modelVersion": "gemini-2.5-flash", "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 1, "totalTokenCount": 10}}},
            "gemini-2.5-flash",
        ),
        (
            {"modelOutput": {"model": "claude-sonnet-4-6", "usage": {"input_tokens": 9, "output_tokens": 1}}},
            "claude-sonnet-4-6",
        ),
    ],
)  # fmt: skip
def test_a_line_of_a_batch_result_names_its_model(line: dict[str, Any], model: str) -> None:
    (found,) = usages_in(json.dumps(line))
    assert (found.model, found.input_tokens, found.output_tokens) == (model, 9, 1)
    assert found.service_tier == ("flex" if model.startswith("gpt") else None)
