"""Hosts and makers: which limits apply to a target, the source of each, and the limits of an unknown host."""

from __future__ import annotations

import json
import logging
from itertools import combinations, product
from typing import Any

import pytest
from typer.testing import CliRunner

import chatmend
from chatmend.cli import app
from chatmend.targets import Limits, tables
from chatmend.targets.explain import how_known, origins
from chatmend.targets.layers import layers_of
from chatmend.targets.resolve import value_of
from chatmend.targets.tables import any_match, find_host, host_tables, maker_tables
from tests.broken import broken
from tests.promises import broken_promises
from tests.scale import examples
from tests.targets import ALL

CALL = {"id": "call_12345", "type": "function", "function": {"name": "f", "arguments": "{}"}}
SAID: list[Any] = [
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_12345", "content": "done"},
]
MODELS = {
    "anthropic": "claude-sonnet-4-5",
    "cohere": "command-a-03-2025",
    "deepseek": "deepseek-v4-pro",
    "google": "gemini-2.5-pro",
    "minimax": "MiniMax-M2",
    "mistral": "mistral-large-latest",
    "moonshot": "kimi-k3",
    "openai": "gpt-5",
    "qwen": "qwen3-max",
    "xai": "grok-4",
    "xiaomi": "mimo-v2.5-pro",
    "zai": "glm-5",
}
"""A model of each maker."""
HOSTS = [host["host"] for host in host_tables()]
NON_CHAT = frozenset(
    {
        "a2a",
        "a2a_agent",
        "assemblyai",
        "auto_router",
        "aws_polly",
        "aws_textract",
        "azure_speech",
        "black_forest_labs",
        "cursor",
        "deepgram",
        "dotprompt",
        "elevenlabs",
        "fal_ai",
        "humanloop",
        "infinity",
        "jina_ai",
        "langfuse",
        "langgraph",
        "litellm_agent",
        "manus",
        "milvus",
        "mongodb",
        "nvidia_riva",
        "pg_vector",
        "ragflow",
        "recraft",
        "reducto",
        "runwayml",
        "s3_vectors",
        "soniox",
        "stability",
        "topaz",
        "transcribe",
        "valkey",
        "voyage",
    }
)
"""Names in LiteLLM's list of providers that do not accept chats: speech, images, search, routing."""


def litellm_names() -> tuple[list[str], list[str]]:
    """Return LiteLLM's providers and its priced chat models."""
    litellm = pytest.importorskip("litellm")
    priced = [
        name
        if name.split("/")[0] == about["litellm_provider"]
        else f"{about['litellm_provider']}/{name}"
        for name, about in litellm.model_cost.items()
        if about.get("mode") in ("chat", "responses") and about.get("litellm_provider")
    ]
    return [str(getattr(one, "value", one)) for one in litellm.provider_list], priced


@pytest.mark.parametrize("model", MODELS.values())
@pytest.mark.parametrize("host", ["openrouter", "nebius", "litellm_proxy"])
def test_a_valid_chat_stays_the_same_object_behind_every_kind_of_host(
    host: str, model: str
) -> None:
    messages = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "Hello!", "annotations": [], "of_this_server": 1},
        {"role": "user", "content": "more"},
    ]
    target = f"{host}/{model}"
    assert chatmend.repair(messages, target).messages is messages


def test_every_name_that_litellm_lists_has_limits() -> None:
    listed, priced = litellm_names()
    assert len(priced) > 1000
    for name in {*listed} - NON_CHAT:
        target = chatmend.resolve(f"{name}/a-model")
        assert target.is_floor is (find_host(name.lower()) is None)
        assert target.limits.pairing or target.provider == "other", name
    for name in priced[:: examples(19, 1)]:
        target = chatmend.resolve(name)
        lenient = "claude-3-opus-20240229" in name  # recorded: accepts unpaired calls
        assert target.limits.pairing or not target.limits.tools_taken or lenient, name
        named = any(word in name.lower() for word in ("claude", "mistral", "deepseek", "kimi"))
        assert target.maker or not named or target.provider == "bedrock", name


def test_no_model_has_two_makers() -> None:
    for one, two in combinations(maker_tables(), 2):
        for maker, other in ((one, two), (two, one)):
            assert not any_match(other["models"], MODELS[maker["maker"]])


def test_every_host_and_maker_is_a_name_that_resolves() -> None:
    assert set(MODELS) == {maker["maker"] for maker in maker_tables()}
    for host in host_tables():
        for name in host["names"]:
            assert chatmend.resolve(name).provider == host["host"]


@pytest.mark.parametrize(
    ("target", "pattern"),
    [
        ("openrouter/mistralai/mistral-large", "^[a-zA-Z0-9]{9}$"),
        ("hosted_vllm/mistralai/Mistral-7B", "^[a-zA-Z0-9]{9}$"),
        ("some-server/devstral-small", None),
        ("ollama/mistral-small3.1", None),
        ("deepinfra/anthropic/claude-4-opus", "^[a-zA-Z0-9_-]+$"),
        ("litellm_proxy/our-claude-sonnet", "^[a-zA-Z0-9_-]+$"),
        ("bedrock/meta.llama3-70b-instruct-v1:0", "^[a-zA-Z0-9_.:-]{1,64}$"),
        ("oci/meta.llama-3.3-70b-instruct", None),
    ],
)
def test_the_ids_that_a_maker_demands_hold_behind_every_host_that_checks_them(
    target: str, pattern: str | None
) -> None:
    assert chatmend.resolve(target).limits.call_id_pattern == pattern


@pytest.mark.parametrize("model", ["pixtral-12b", "voxtral-mini-3b", "devstral-small"])
def test_what_a_host_knows_of_a_maker_holds_for_all_its_models(model: str) -> None:
    expected = chatmend.resolve("hosted_vllm/mistral-7b").limits
    limits = chatmend.resolve(f"hosted_vllm/{model}").limits
    assert (limits.alternation, limits.system, limits.refused_keys) == (
        expected.alternation,
        expected.system,
        expected.refused_keys,
    )


def test_an_entry_that_names_a_maker_has_its_models_and_no_others() -> None:
    entry = tables._with_models({"models": "openai"})
    assert tables.has_model(entry, "gpt-5")
    assert not tables.has_model(entry, "gpt-oss-120b")


@pytest.mark.parametrize("maker", MODELS)
@pytest.mark.parametrize("host", ["openai_compatible", "openrouter", "together_ai", "perplexity"])
def test_a_makers_structure_only_makes_limits_stricter(host: str, maker: str) -> None:
    plain = chatmend.resolve(f"{host}/a-model").limits
    with_maker = chatmend.resolve(f"{host}/{MODELS[maker]}").limits
    for layer in layers_of(find_host(host) or {}, MODELS[maker]):
        for name, fact in layer.limits.items() if layer.tightens else ():
            if getattr(plain, name) != getattr(Limits(), name):
                both = {getattr(plain, name), value_of(fact)}
                assert getattr(with_maker, name) in both or isinstance(value_of(fact), frozenset)
    refused = (plain.refused_keys, plain.known_keys, plain.refused_part_keys, plain.part_types)
    assert (
        with_maker.refused_keys,
        with_maker.known_keys,
        with_maker.refused_part_keys,
        with_maker.part_types,
    ) == refused


@pytest.mark.parametrize(
    "host",
    [
        "openrouter",
        "hosted_vllm",
        "together_ai",
        "fireworks_ai",
        "ollama",
        "litellm_proxy",
        "some-server",
    ],
)
def test_what_a_maker_says_of_images_holds_behind_every_host(host: str) -> None:
    def vision(model: str) -> bool:
        return chatmend.resolve(f"{host}/{model}").limits.images.vision

    assert [vision(f"zai-org/{name}") for name in ("GLM-4.5V", "GLM-5.3-Flash")] == [True, True]
    assert [vision(f"zai-org/{name}") for name in ("GLM-4.6", "GLM-5.3")] == [False, False]
    assert chatmend.resolve(f"{host}/qwen/qwen3-vl-8b").limits.images.max_aspect == 200
    assert "tool" not in chatmend.resolve(f"{host}/xiaomi/mimo-v2").limits.images.roles


def test_what_a_maker_says_of_images_holds_in_every_format() -> None:
    for dialect in ("", "openai_responses", "anthropic_messages"):
        limits = chatmend.resolve("hosted_vllm/zai-org/GLM-4.6").limits_in(dialect)
        assert limits.images.vision is False


def test_what_a_maker_says_of_images_has_its_place_in_the_explanation() -> None:
    (vision,) = (one for one in origins("together_ai/zai-org/GLM-4.6") if one.name == "vision")
    assert vision.place.startswith("makers/zai.toml [structure_images], models *glm-4")


def test_a_host_may_lift_what_a_maker_demands() -> None:
    needed = {
        host: chatmend.resolve(f"{host}/moonshotai/kimi-k2.7-code").limits.reasoning_content
        for host in ("openrouter", "fireworks_ai", "together_ai", "cerebras", "some-server")
    }
    assert needed == {
        "openrouter": "required",
        "fireworks_ai": "any",
        "together_ai": "any",
        "cerebras": "any",
        "some-server": "required",
    }


@pytest.mark.parametrize("target", ["litellm_proxy/our-alias", "nebius/x", "openai_compatible/x"])
def test_an_unknown_host_gets_the_floor(target: str) -> None:
    messages: list[Any] = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "", "tool_calls": []},
        {"role": "user", "content": "now", "x_note": 1},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{**CALL, "function": {"name": "f", "arguments": "[1]"}}],
        },
        {"role": "user", "content": "late"},
        {"role": "tool", "tool_call_id": "call_12345", "content": "done"},
        {"role": "tool", "tool_call_id": "gone", "content": "orphan"},
    ]
    sent = chatmend.repair(messages, target).messages
    assert sent[1] == {"role": "assistant", "content": ""}
    assert sent[2] is messages[2]
    assert json.loads(sent[3]["tool_calls"][0]["function"]["arguments"]) == {
        "_raw_arguments": "[1]"
    }
    assert sent[3]["tool_calls"][0]["id"] == "call_12345"
    assert [message["role"] for message in sent[4:]] == ["tool", "user", "user"]
    assert "orphan" in sent[6]["content"]


def test_the_log_names_an_unknown_host_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "chatmend"):
        for model in ("a", "b", "c"):
            chatmend.resolve(f"a-host-for-this-test/{model}")
        chatmend.resolve("openrouter/a")
    (said,) = [record.getMessage() for record in caplog.records]
    assert said.startswith("no table for the host 'a-host-for-this-test'")
    assert "chatmend targets --explain a-host-for-this-test/MODEL" in said


def test_reasoning_moves_to_the_key_that_the_host_reads() -> None:
    def sent(key: str, target: str) -> dict[str, Any]:
        asks = {**SAID[1], key: "why"}
        found: dict[str, Any] = chatmend.repair([SAID[0], asks, SAID[2]], target).messages[1]
        return {name: value for name, value in found.items() if name.startswith("reasoning")}

    for host in ("cerebras/gpt-oss-120b", "hosted_vllm/Qwen/Qwen3-8B", "groq/openai/gpt-oss-20b"):
        assert sent("reasoning_content", host) == {"reasoning": "why"}
        assert sent("reasoning", host) == {"reasoning": "why"}
    for host in ("deepseek/deepseek-v4-pro", "moonshot/kimi-k3", "fireworks_ai/glm-5p3"):
        assert sent("reasoning", host) == {"reasoning_content": "why"}
        assert sent("reasoning_content", host) == {"reasoning_content": "why"}
    assert sent("reasoning", "some-server/a-model") == {"reasoning": "why"}


def test_an_empty_text_beside_calls_becomes_null_where_it_is_refused() -> None:
    asks = {"role": "assistant", "content": "", "tool_calls": [CALL]}
    claude = "databricks/databricks-claude-opus-4-1"
    assert chatmend.repair([SAID[0], asks, SAID[2]], claude).messages[1] == SAID[1]
    messages = [SAID[0], asks, SAID[2]]
    assert chatmend.repair(messages, "databricks/databricks-llama-4").messages is messages


TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
PIXELS = "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAGElEQVR4nGNgaGAgCTGMahjVMAo0DFoNAKXwQgF3p2wFAAAAAElFTkSuQmCC"
IMAGE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXELS}"}}


@pytest.mark.parametrize(
    "target",
    [
        "hosted_vllm/google/gemma-4-31B-it",
        "llamacpp/gemma-4-26b",
        "lm_studio/google/gemma-4-12b",
        "hosted_vllm/google/functiongemma-270m-it",
        "gemini/gemma-4-31b-it",
    ],
)
def test_a_tool_loop_with_a_system_message_stays_with_newer_models_of_gemma(target: str) -> None:
    messages = [
        {"role": "system", "content": "be kind"},
        SAID[0],
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        SAID[2],
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "thanks"},
    ]
    assert chatmend.repair(messages, target, tools=TOOLS).messages is messages


@pytest.mark.parametrize(
    "target", ["hosted_vllm/google/gemma-3-27b-it", "hosted_vllm/google/medgemma-27b-it"]
)
def test_older_models_of_gemma_have_no_system_message_and_no_tools(target: str) -> None:
    limits = chatmend.resolve(target).limits
    assert (limits.system, limits.tools_taken) == ("never", False)


@pytest.mark.parametrize(
    "target",
    [
        "zai/glm-4.5-air",
        "zai/glm-4.6",
        "zai/glm-4.7-flash",
        "zai/glm-5",
        "zai/glm-5-turbo",
        "zai/glm-5.3",
        "openrouter/z-ai/glm-5.2",
        "dashscope/qwen3.7-max",
    ],
)
def test_a_text_model_gets_no_image(target: str) -> None:
    messages = [{"role": "user", "content": [{"type": "text", "text": "see"}, IMAGE]}]
    done = chatmend.repair(messages, target)
    assert [change.code for change in done.changes] == ["IMG010"]
    assert [part["type"] for part in done.messages[0]["content"]] == ["text", "text"]


@pytest.mark.parametrize(
    "target",
    [
        "zai/glm-4.5v",
        "zai/glm-4.6v-flash",
        "zai/glm-5v-turbo",
        "zai/glm-5.3-flash",
        "zai/glm-6",
        "openrouter/z-ai/glm-4.6v",
        "dashscope/qwen3.7-plus",
        "dashscope/qwen3.8-max",
    ],
)
def test_a_model_that_reads_images_or_is_not_known_gets_them(target: str) -> None:
    messages = [{"role": "user", "content": [{"type": "text", "text": "see"}, IMAGE]}]
    assert chatmend.repair(messages, target).messages is messages


@pytest.mark.parametrize("target", ["xiaomi_mimo/mimo-v2.5-pro", "openrouter/xiaomi/mimo-v2.5"])
def test_mimo_gets_texts_in_all_messages_and_reasoning_with_calls(target: str) -> None:
    fine = [
        SAID[0],
        {**SAID[1], "content": "I look.", "reasoning_content": "A file."},
        SAID[2],
        {"role": "user", "content": [{"type": "text", "text": "see"}, IMAGE]},
    ]
    assert chatmend.repair(fine, target).messages is fine
    listed = [{"type": "text", "text": "a shot"}, IMAGE]
    for content in (None, ""):
        messages = [SAID[0], {**SAID[1], "content": content}, {**SAID[2], "content": listed}]
        done = chatmend.repair(messages, target)
        assert "ADDS" in {change.effect.name for change in done.changes if change.code == "TEXT004"}
        assert done.messages[1]["content"] == " "
        assert done.messages[1]["reasoning_content"] == " "
        assert isinstance(done.messages[2]["content"], str)
        assert (done.messages[3]["role"], done.messages[3]["content"][-1]) == ("user", IMAGE)
        assert chatmend.repair(done.messages, target).messages is done.messages
    empty = [SAID[0], fine[1], {**SAID[2], "content": ""}]
    assert chatmend.repair(empty, target).messages[2]["content"] == "[continued]"


def test_a_result_for_mistral_at_nim_has_no_name_of_the_tool_under_a_key_of_its_own() -> None:
    call = {**CALL, "id": "abcdefgh1"}
    result = {"role": "tool", "tool_call_id": "abcdefgh1", "name": "f", "content": "done"}
    messages = [
        SAID[0],
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {**result, "tool_name": "f"},
    ]
    target = "nvidia_nim/mistralai/mistral-large-3-675b-instruct-2512"
    assert chatmend.repair(messages, target).messages == [*messages[:2], result]


@pytest.mark.parametrize(
    "target",
    [
        "dashscope/qwen3-vl-plus",
        "hosted_vllm/Qwen/Qwen3-VL-8B-Instruct",
        "together_ai/Qwen/Qwen2.5-VL-72B-Instruct",
        "openrouter/qwen/qwen3-vl-235b-a22b-instruct",
    ],
)
def test_qwens_image_processor_gets_no_longer_images_behind_any_host(target: str) -> None:
    assert chatmend.resolve(target).limits.images.max_aspect == 200


@pytest.mark.parametrize(
    "target",
    [
        "llamacpp/Qwen3.5-35B-A3B",
        "lm_studio/openai/gpt-oss-20b",
        "github_copilot/gemini-3.6-flash",
        "gemini/gemini-3.5-flash-lite",
        "gemini/gemini-3.6-flash",
        "gemini/gemini-3.7-flash",
        "gemini/gemini-4-pro",
        "gemini/gemini-2.5-pro",
        "vertex_ai/gemini-3.6-flash",
        "snowflake/claude-sonnet-4-6",
    ],
)
def test_a_trailing_assistant_message_is_followed_by_the_user_where_it_is_refused(
    target: str,
) -> None:
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Do x."}]
    sent = chatmend.repair(messages, target).messages
    assert sent[:2] == messages
    assert sent[-1]["role"] == "user"


@pytest.mark.parametrize(
    "model",
    [
        "gemini-2.0-flash",
        "gemini-2.5-flash",
        "gemini-3-pro-preview",
        "gemini-3.1-flash-lite-preview",
        "gemini-3.5-flash",
        "gemini-pro-latest",
    ],
)
def test_older_gemini_models_continue_a_trailing_message_of_the_model(model: str) -> None:
    chat = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Do x."}]
    contents = [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [{"text": "Do x."}]},
    ]
    for messages in (chat, contents):
        assert chatmend.repair(messages, f"gemini/{model}").messages is messages


def test_a_system_message_alone_is_left_alone_where_it_is_accepted() -> None:
    alone = [{"role": "system", "content": "You are kind."}]
    assert chatmend.repair(alone, "mistral/mistral-large-latest").messages is alone
    sent = chatmend.repair(alone, "perplexity/sonar").messages
    assert [message["role"] for message in sent] == ["system", "user"]


def test_bedrock_keeps_results_alone_for_the_makers_that_demand_it() -> None:
    messages = [*SAID, {"role": "user", "content": "next"}]
    for model, bridged in (
        ("meta.llama3-70b-instruct-v1:0", True),
        ("mistral.mistral-large-2407-v1:0", True),
        ("us.amazon.nova-pro-v1:0", False),
        ("qwen.qwen3-32b-v1:0", False),
    ):
        sent = chatmend.repair(messages, f"bedrock/{model}", tools=[CALL]).messages
        assert (sent[3]["role"] == "assistant") is bridged, model


def test_explain_names_table_source_and_date_of_each_limit() -> None:
    printed = CliRunner().invoke(
        app, ["targets", "--explain", "openrouter/deepseek/deepseek-v4-pro"]
    )
    assert printed.exit_code == 0
    assert "host: openrouter; model: deepseek/deepseek-v4-pro; maker: deepseek" in printed.stdout
    assert (
        "  reasoning_content = required\n      makers/deepseek.toml [structure]" in printed.stdout
    )
    assert "      recorded: deepseek-reasoning" in printed.stdout
    unknown = CliRunner().invoke(app, ["targets", "--explain", "nebius/mistralai/Mistral-7B"])
    assert "host: no table: an unknown server" in unknown.stdout
    assert "maker: mistral" in unknown.stdout
    wrong = CliRunner().invoke(app, ["targets", "--explain", "mistral", "--format", "openai"])
    assert wrong.exit_code == 2
    assert "choose one of openai_chat" in wrong.stderr


def test_targets_lists_hosts_and_makers() -> None:
    listed = CliRunner().invoke(app, ["targets"]).stdout
    assert "  azure, azure_text, azure_ai\n" in listed
    assert "  deepseek   *deepseek*\n" in listed


@pytest.mark.parametrize("host", HOSTS)
def test_what_explain_prints_is_what_holds(host: str) -> None:
    dialects = ("", "openai_chat", "openai_responses", "anthropic_messages")
    pairs = list(product(("", *MODELS.values()), dialects))
    for model, dialect in pairs[examples(HOSTS.index(host) % 5, 0) :: examples(5, 1)]:
        target = chatmend.resolve(f"{host}/{model}")
        limits = target.limits_in(dialect)
        hygiene = target.limits_in(dialect, hygiene=True)
        if host == "other" and dialect == "openai_responses":
            continue
        for origin in origins(target.name, dialect):
            sections = {"limits": limits, "images": limits.images, "hygiene": hygiene}
            held = (
                limits.of(origin.name)
                if origin.section == "rules"
                else getattr(sections[origin.section], origin.name)
            )
            assert held == value_of({"value": origin.value}), (target.name, dialect, origin)


@pytest.mark.parametrize(
    ("source", "known"),
    [
        ("recorded: x-y-z", "recorded"),
        ("seen: an error", "reported"),
        ("measured on api.openai.com", "measured"),
        ("botocore: ToolUseId", "code"),
        ("Anthropic: build-with-claude/vision", "documented"),
        ("as OpenAI", "inferred"),
    ],
)
def test_how_a_fact_is_known(source: str, known: str) -> None:
    assert how_known(source) == known


@pytest.mark.parametrize("host", HOSTS)
def test_the_promises_hold_for_every_maker_behind_every_host(host: str) -> None:
    models = list(enumerate(MODELS.values()))
    for at, model in models[examples(HOSTS.index(host) % 11, 0) :: examples(11, 1)]:
        for seed in range(at, at + examples(1, 60)):
            messages = broken(seed, "openai_chat")
            found = list(broken_promises(messages, f"{host}/{model}", "openai_chat", judged=False))
            assert not found, (host, model, seed, found)


@pytest.mark.parametrize("target", sorted({target for _, target in ALL if "/" in target}))
def test_the_types_of_a_role_are_known_types_of_a_known_role(target: str) -> None:
    limits = chatmend.resolve(target).limits_in("openai_chat")
    pairs = [one.split(" ") for one in limits.part_types_by_role]
    assert {role for role, _ in pairs} <= {"system", "user", "assistant", "tool"}
    assert {kind for _, kind in pairs} <= (limits.part_types or {kind for _, kind in pairs})


@pytest.mark.parametrize(
    ("target", "like", "added"),
    [
        ("databricks/databricks-claude-sonnet-4-5", "openai_compatible/any", "reasoning"),
        ("bedrock/anthropic.claude-opus-5", "anthropic/claude-opus-5", "guarded_text"),
    ],
)
def test_a_host_that_adds_a_type_of_parts_accepts_all_others(
    target: str, like: str, added: str
) -> None:
    """A table cannot add to a list, so the list is written again."""
    others = chatmend.resolve(like).limits_in("openai_chat").part_types
    assert others is not None
    assert chatmend.resolve(target).limits_in("openai_chat").part_types == others | {added}


GEMMA_LOOP = [
    {"role": "user", "content": "q"},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_12345", "content": "r"},
]


@pytest.mark.parametrize("target", ["lm_studio/google/gemma-3-12b", "lm_studio/gemma-2-2b-it"])
def test_a_tool_loop_of_older_models_of_gemma_stays_at_lm_studio(target: str) -> None:
    assert chatmend.repair(GEMMA_LOOP, target, tools=TOOLS).messages is GEMMA_LOOP


def test_llama_cpp_has_no_calls_for_older_models_of_gemma() -> None:
    limits = chatmend.resolve("llamacpp/gemma-3-4b-it").limits
    assert not limits.tools_taken
