"""Messages that a partner's converter loses, reorders or raises on, and those that it sends."""

from __future__ import annotations

from base64 import b64decode
from functools import cache
from typing import Any

import pytest

pytest.importorskip("langchain_core")
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from chatmend import known_transcripts, rule_cache
from chatmend.langchain import mend
from chatmend.langchain.hooks import prepare
from chatmend.langchain.partners import _is_before
from chatmend.placeholders import CONTINUED
from tests.langchain.classes import DESTINATIONS
from tests.langchain.damage import NEXT, ONE, TWO, Q, assistant_calls, tool_result
from tests.langchain.fuzz import refusal
from tests.langchain.shapes import PIXEL, SIGNATURE, broken, call
from tests.langchain.test_damage import look
from tests.scale import sampled

CALL = {"type": "tool_use", "id": ONE, "name": "look", "input": {"at": "Paris"}}
TEXT = {"type": "text", "text": "I look."}
URL = "http://127.0.0.1:9"


@cache
def wrapped(name: str) -> Any:
    """Return the wrapped model of a class, which is created once."""
    return mend(DESTINATIONS[name].model(URL), on_error="raise")


def sent(name: str, messages: list[BaseMessage]) -> list[BaseMessage]:
    """Return what a wrapped model passes to the converter of its class."""
    return list(prepare(wrapped(name), messages, {}).messages)


def unchanged(name: str, messages: list[BaseMessage]) -> bool:
    return all(one is other for one, other in zip(sent(name, messages), messages, strict=True))


WRITE_STRINGS = ["anthropic", "bedrock nova", "gemini", "ollama"]
PASS_STRINGS = ["openrouter", "litellm openai", "cohere", "groq", "mistral"]


@pytest.mark.parametrize("name", WRITE_STRINGS)
def test_strings_in_a_list_that_a_converter_writes_as_texts_are_unchanged(name: str) -> None:
    assert unchanged(name, [SystemMessage(["be kind"]), HumanMessage(["What", " is it?"])])


@pytest.mark.parametrize("name", PASS_STRINGS)
def test_strings_in_a_list_that_a_converter_passes_on_become_texts(name: str) -> None:
    system, user = sent(name, [SystemMessage(["be kind"]), HumanMessage(["What", " is it?"])])
    assert "be kind" in (system.content, system.text)
    assert user.content == [{"type": "text", "text": "What"}, {"type": "text", "text": " is it?"}]


COMPLETE = AIMessage("", invalid_tool_calls=[{**broken(ONE), "args": '{"at": "Paris"}'}])
LOSE_INVALID = ["bedrock claude", "bedrock invoke", "cohere", "gemini", "litellm openai", "ollama"]


@pytest.mark.parametrize("name", ["openai", "mistral", "groq"])
def test_an_invalid_call_that_a_converter_sends_is_unchanged(name: str) -> None:
    assert sent(name, [Q, COMPLETE, tool_result(ONE), NEXT])[1] is COMPLETE


@pytest.mark.parametrize("name", LOSE_INVALID)
def test_a_complete_call_among_the_invalid_ones_is_sent_with_its_arguments(name: str) -> None:
    answer = sent(name, [Q, COMPLETE, tool_result(ONE), NEXT])[1]
    assert isinstance(answer, AIMessage)
    assert [(call["id"], call["args"]) for call in answer.tool_calls] == [(ONE, {"at": "Paris"})]
    assert not answer.invalid_tool_calls


def test_calls_keep_their_order_if_a_later_one_is_repaired_first() -> None:
    """The name of the second call is repaired before the arguments of the first one."""
    first = {**broken(ONE), "args": '{"at": "Par'}
    second = {**broken(TWO), "name": "look!", "args": '{"at": "Rome"}'}
    history = [Q, AIMessage("", invalid_tool_calls=[first, second]), NEXT]
    answer, *results = sent("gemini 3", history)[1:4]
    assert isinstance(answer, AIMessage)
    assert [call["id"] for call in answer.tool_calls] == [ONE, TWO]
    assert [result.tool_call_id for result in results if isinstance(result, ToolMessage)] == [
        ONE, TWO,
    ]  # fmt: skip


def test_a_call_that_only_the_content_holds_reaches_nvidia() -> None:
    """ChatNVIDIA sends only the calls in ``additional_kwargs``."""
    repaired = sent("nvidia", [Q, AIMessage([CALL]), tool_result(ONE), NEXT])
    (call,) = repaired[1].additional_kwargs["tool_calls"]
    assert (call["id"], call["function"]["name"]) == (ONE, "look")
    assert unchanged("nvidia", repaired)


def test_a_legacy_call_reaches_nvidia_with_its_result() -> None:
    legacy = {"function_call": {"name": "look", "arguments": "{}"}}
    repaired = sent("nvidia", [Q, AIMessage("", additional_kwargs=legacy), NEXT])
    (call,) = repaired[1].additional_kwargs["tool_calls"]
    assert isinstance(repaired[2], ToolMessage)
    assert call["id"] == repaired[2].tool_call_id
    assert unchanged("nvidia", repaired)


@pytest.mark.parametrize("name", ["anthropic 4.5", "bedrock invoke"])
def test_a_text_behind_a_call_that_is_accepted_or_moved_by_the_class_is_unchanged(
    name: str,
) -> None:
    assert sent(name, [Q, AIMessage([CALL, TEXT]), tool_result(ONE), NEXT])[1].content == [
        CALL, TEXT,
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["anthropic", "bedrock claude", "bedrock nova"])
def test_a_text_behind_a_call_is_sent_before_it(name: str) -> None:
    answer = sent(name, [Q, AIMessage([CALL, TEXT]), tool_result(ONE), NEXT])[1]
    assert isinstance(answer, AIMessage)
    assert answer.content == [TEXT]
    assert [(call["id"], call["args"]) for call in answer.tool_calls] == [(ONE, {"at": "Paris"})]


STANDARD = {"type": "tool_call", "id": ONE, "name": "look", "args": {"at": "Paris"}}
THOUGHT = {"type": "reasoning", "reasoning": "t", "extras": {"signature": SIGNATURE}}


def standard(provider: str, *blocks: Any) -> AIMessage:
    """Return an answer in LangChain's own format, with one call."""
    metadata = {"output_version": "v1", "model_provider": provider}
    return AIMessage([*blocks], tool_calls=[call(ONE)], response_metadata=metadata)


@pytest.mark.parametrize(
    ("name", "provider"), [("anthropic", "anthropic"), ("bedrock claude", "bedrock_converse")]
)
def test_a_call_of_the_standard_format_behind_the_other_blocks_is_unchanged(
    name: str, provider: str
) -> None:
    answer = standard(provider, THOUGHT, TEXT, STANDARD)
    assert unchanged(name, [Q, answer, tool_result(ONE), NEXT])


def test_thinking_of_bedrock_behind_a_call_is_unchanged() -> None:
    """No refusal by the Converse API is known."""
    answer = standard("bedrock_converse", STANDARD, THOUGHT)
    assert unchanged("bedrock claude", [Q, answer, tool_result(ONE), NEXT])


@pytest.mark.parametrize("name", ["anthropic", "bedrock claude"])
@pytest.mark.parametrize(
    ("provider", "other"),
    [
        ("anthropic", TEXT), ("bedrock_converse", TEXT), ("openai", TEXT),
        ("openai", {"type": "non_standard", "value": {"type": "x"}}),
    ],
)  # fmt: skip
def test_a_block_behind_a_call_of_the_standard_format_is_sent_before_it(
    sandbox: Any, name: str, provider: str, other: Any
) -> None:
    model = mend(DESTINATIONS[name].model(sandbox), on_error="raise").bind_tools([look])
    history = [Q, standard(provider, STANDARD, other), tool_result(ONE), NEXT]
    assert refusal(model, sandbox, history) is None


def test_thinking_behind_a_call_of_the_standard_format_is_sent_before_it() -> None:
    answer = sent("anthropic", [Q, standard("anthropic", STANDARD, THOUGHT), tool_result(ONE)])[1]
    assert answer.content == [THOUGHT]


def test_a_call_before_a_finished_hosted_tool_is_sent_behind_it() -> None:
    search: list[Any] = [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
    ]
    answer = sent("anthropic", [Q, AIMessage([CALL, *search]), tool_result(ONE), NEXT])[1]
    assert isinstance(answer, AIMessage)
    assert answer.content == search
    assert [call["id"] for call in answer.tool_calls] == [ONE]


KNOWN_KEYS = {**CALL, "index": 0}


def test_a_call_block_with_keys_that_the_class_removes_is_unchanged() -> None:
    history = [Q, AIMessage([KNOWN_KEYS]), tool_result(ONE), NEXT]
    assert sent("bedrock invoke", history)[1] is history[1]


@pytest.mark.parametrize("key", ["citations", "provider_specific_fields"])
def test_a_call_block_with_keys_that_would_be_sent_and_refused_becomes_an_entry_of_tool_calls(
    key: str,
) -> None:
    answer = sent("bedrock invoke", [Q, AIMessage([{**CALL, key: {}}]), tool_result(ONE), NEXT])[1]
    assert isinstance(answer, AIMessage)
    assert not answer.content
    assert [(call["id"], call["args"]) for call in answer.tool_calls] == [(ONE, {"at": "Paris"})]


NATIVE: list[dict[str, Any]] = [
    {"type": "non_standard", "value": {"cachePoint": {"type": "default"}}},
    {"type": "non_standard", "value": {"cache_point": {"type": "default"}}},
    {"cachePoint": {"type": "default"}},
    {"cachePoint": {"type": "default", "ttl": "1h"}},
    {"guardContent": {"text": {"text": "a"}}},
]


@pytest.mark.parametrize("name", ["bedrock claude", "bedrock nova"])
@pytest.mark.parametrize("block", NATIVE)
def test_a_block_in_bedrock_s_own_format_is_unchanged(name: str, block: dict[str, Any]) -> None:
    """``ChatBedrockConverse.create_cache_point()`` returns a block without a type."""
    system = SystemMessage(["be kind", block])
    assert unchanged(name, [system, HumanMessage([TEXT, block]), AIMessage("hi"), NEXT])


@pytest.mark.parametrize(
    "block", [{"type": "non_standard", "value": {"anything": 1}}, {"anything": 1}]
)
def test_a_block_in_another_format_becomes_text_at_bedrock(block: dict[str, Any]) -> None:
    (user,) = sent("bedrock claude", [HumanMessage([TEXT, block])])
    first, second = user.content
    assert first == TEXT
    assert isinstance(second, dict)
    assert second["type"] == "text"
    assert "anything" in second["text"]


@pytest.mark.parametrize("block", NATIVE[:4])
def test_a_cache_point_is_removed_where_bedrock_s_model_has_no_cache(block: dict[str, Any]) -> None:
    (user,) = sent("bedrock llama", [HumanMessage([TEXT, block])])
    assert user.content == [TEXT]


@pytest.mark.parametrize("block", NATIVE[:4])
def test_a_cache_point_in_a_result_is_removed_where_bedrock_s_model_has_no_cache(
    block: dict[str, Any],
) -> None:
    """langchain-aws sends it behind the result."""
    messages = [Q, AIMessage("", tool_calls=[call()]), result_of([TEXT, block]), NEXT]
    assert sent("bedrock llama", messages)[2].content == [TEXT]
    assert unchanged("bedrock nova", messages)


def result_of(content: Any) -> ToolMessage:
    return ToolMessage(content, tool_call_id="call_1")


FILE = {"type": "file", "base64": "JVBERi0=", "mime_type": "application/pdf", "name": "a"}
NATIVE_FILE = {"document": {"format": "txt", "name": "a", "source": {"bytes": b"the content"}}}
IN_SYSTEM = [
    *((name, FILE) for name in ("bedrock nova", "bedrock invoke", "openrouter")),
    ("bedrock claude", NATIVE_FILE),
    *(
        ("openrouter", {"type": kind, "base64": "QUJD", "mime_type": kind + "/x"})
        for kind in ("audio", "video")
    ),
]


@pytest.mark.parametrize(("name", "block"), IN_SYSTEM)
def test_a_file_in_a_system_message_becomes_text_where_only_texts_are_sent(
    sandbox: Any, name: str, block: dict[str, Any]
) -> None:
    model = mend(DESTINATIONS[name].model(sandbox), on_error="raise")
    system = SystemMessage([TEXT, block])
    assert refusal(model, sandbox, [system, Q]) is None
    (first, second, *_) = sent(name, [system, Q])[0].content
    assert first == TEXT
    assert second["type"] == "text"  # type: ignore[index, call-overload]


@pytest.mark.parametrize("name", ["openai", "gemini"])
def test_a_file_in_a_system_message_that_the_class_sends_is_unchanged(name: str) -> None:
    assert unchanged(name, [SystemMessage([TEXT, FILE]), Q])


MARKED = {"type": "text", "text": "be kind", "cache_control": {"type": "ephemeral"}}
GATEWAYS = {
    "https://openrouter.ai/api/v1": "anthropic/claude-sonnet-4.5",
    "https://dashscope-intl.aliyuncs.com/compatible-mode/v1": "qwen3-max",
    "http://litellm:4000": "anthropic/claude-sonnet-4-5",
    "https://gateway.example.com/v1": "claude-sonnet-4-5",
}


@pytest.mark.parametrize("url", GATEWAYS)
def test_a_cache_marker_to_a_gateway_through_chat_openai_is_sent(url: str) -> None:
    """Without the marker the gateway's provider caches nothing."""
    openai = pytest.importorskip("langchain_openai")
    model = mend(openai.ChatOpenAI(model=GATEWAYS[url], base_url=url, api_key="k"))
    history = [SystemMessage([MARKED]), HumanMessage([MARKED])]
    call = prepare(model, history, {})
    assert list(map(id, call.messages)) == list(map(id, history))
    body = model._get_request_payload(call.messages)
    assert [message["content"] for message in body["messages"]] == [[MARKED], [MARKED]]


def test_a_cache_marker_to_openai_is_removed() -> None:
    openai = pytest.importorskip("langchain_openai")
    model = mend(openai.ChatOpenAI(model="gpt-4o", api_key="k"), on_error="raise")
    (user,) = prepare(model, [HumanMessage([MARKED])], {}).messages
    assert user.content == [{"type": "text", "text": "be kind"}]


DOCUMENT: dict[str, Any] = {
    "type": "document",
    "source": {"type": "text", "media_type": "text/plain", "data": "The key is 7."},
    "title": "keys",
    "citations": {"enabled": True},
}


@pytest.mark.parametrize("name", ["anthropic", "bedrock invoke", "litellm anthropic"])
def test_a_document_with_citations_is_unchanged(name: str) -> None:
    assert unchanged(name, [HumanMessage([DOCUMENT, TEXT])])


def test_a_document_with_citations_becomes_text_where_litellm_sends_it_to_openai() -> None:
    (user,) = sent("litellm openai", [HumanMessage([DOCUMENT, TEXT])])
    assert all(part["type"] == "text" for part in user.content if isinstance(part, dict))
    assert "The key is 7." in str(user.content)


@pytest.mark.parametrize("name", ["deepseek", "groq", "together", "xai"])
def test_a_name_that_only_openai_refuses_is_unchanged(name: str) -> None:
    assert unchanged(name, [HumanMessage("hi", name="Bob the builder")])


LINK, PDF = "https://example.com/a", "data:application/pdf;base64,JVBERi0xLjQK"
IMAGE_URL = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
MARKED_TEXT = {**TEXT, "cache_control": {"type": "ephemeral"}}
RESULT = {
    "type": "search_result", "source": LINK, "title": "a", "content": [TEXT],
    "citations": {"enabled": True},
}  # fmt: skip
DOCUMENTED: dict[str, list[dict[str, Any]]] = {
    "openai": [IMAGE_URL, {"type": "file", "file": {"filename": "a.pdf", "file_data": PDF}}],
    "responses": [
        {"type": "input_text", "text": "a"},
        {"type": "input_image", "image_url": LINK},
        {"type": "input_file", "filename": "a.pdf", "file_data": PDF},
        {"type": "input_file", "file_id": "file-1"},
    ],
    "anthropic": [
        MARKED_TEXT, RESULT, IMAGE_URL,
        {"type": "image", "source": {"type": "url", "url": f"{LINK}.png"}},
        {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
        {**DOCUMENT, "source": {"type": "content", "content": [TEXT]}},
        {"type": "document", "source": {"type": "url", "url": f"{LINK}.pdf"}},
        {"type": "container_upload", "file_id": "file_1"},
    ],
    "bedrock claude": [
        RESULT, {"text": "a"},
        {"document": {"format": "txt", "name": "a", "source": {"bytes": b"a"}}},
        {"type": "document", "document": {"format": "txt", "name": "a", "source": {"bytes": b"a"}}},
        {"type": "guard_content", "text": "a"},
        {"type": "image", "image": {"format": "png", "source": {"bytes": b64decode(PIXEL)}}},
    ],
    "bedrock nova": [
        {
            "type": "video",
            "source": {
                "type": "s3Location", "mediaType": "video/mp4", "data": {"uri": "s3://b/a.mp4"},
            },
        }
    ],
    "bedrock invoke": [MARKED_TEXT, IMAGE_URL, RESULT],
    "gemini": [
        IMAGE_URL,
        {"type": "media", "file_uri": "https://www.youtube.com/watch?v=a", "mime_type": "video/*"},
        {"type": "media", "data": b"RIFF", "mime_type": "audio/wav"},
        {"type": "media", "file_uri": "gs://b/a.pdf", "mime_type": "application/pdf"},
    ],
    "mistral": [
        IMAGE_URL, {"type": "document_url", "document_url": f"{LINK}.pdf"},
        {"type": "image_url", "image_url": f"{LINK}.png"},
    ],
    "openrouter": [
        MARKED_TEXT, IMAGE_URL, {"type": "video_url", "video_url": {"url": f"{LINK}.mp4"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": PDF}},
    ],
    "litellm anthropic": [
        MARKED_TEXT, IMAGE_URL, {"type": "file", "file": {"file_data": PDF}},
        {"type": "document", "source": {"type": "url", "url": f"{LINK}.pdf"}},
    ],
    "nvidia": [{"type": "video_url", "video_url": {"url": f"{LINK}.mp4"}}],
    "xai": [{"type": "image_url", "image_url": {"url": f"{LINK}.png", "detail": "high"}}],
    "huggingface": [{"type": "image_url", "image_url": {"url": f"{LINK}.png"}}],
}  # fmt: skip
"""Blocks of users that the documentation of the class or of its provider shows."""
SHOWN = [(name, block) for name, blocks in DOCUMENTED.items() for block in blocks]


@pytest.mark.parametrize(("name", "block"), SHOWN)
def test_a_documented_block_is_unchanged(name: str, block: dict[str, Any]) -> None:
    if block is RESULT and name == "bedrock claude" and _is_before("langchain-aws", "1.6.3"):
        pytest.skip("langchain-aws before 1.6.3 sends no search results")
    assert unchanged(name, [HumanMessage([TEXT, block]), AIMessage("hi"), NEXT])


def test_what_precedes_an_answer_at_cohere_is_the_same_before_and_after_it() -> None:
    first = [Q, SystemMessage("be brief")]
    before = sent("cohere", first)
    after = sent("cohere", [*first, AIMessage("warm"), NEXT])
    assert [message.content for message in before] == [Q.content, "be brief", CONTINUED]
    assert [message.content for message in after[:3]] == [message.content for message in before]
    assert [message.content for message in after[3:]] == ["warm", NEXT.content]


def test_a_system_message_at_cohere_with_a_message_of_the_user_behind_it_is_unchanged() -> None:
    system = SystemMessage("be brief")
    assert unchanged("cohere", [system, Q, AIMessage("warm"), system, NEXT])
    assert unchanged("cohere", [system, AIMessage("Welcome"), Q])


def test_a_list_of_empty_texts_at_nvidia_is_filled() -> None:
    texts = [HumanMessage([]), HumanMessage([{**TEXT, "text": ""}])]
    filled = [sent("nvidia", [Q, AIMessage("hi"), empty])[-1].text for empty in texts]
    assert filled == [CONTINUED, CONTINUED]


def test_an_image_in_a_system_message_of_openrouter_moves_to_the_user() -> None:
    image = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    system, user, *_ = sent("openrouter", [SystemMessage([TEXT, image]), Q])
    assert image not in system.content
    assert image in user.content


@pytest.mark.parametrize("name", ["bedrock nova", "bedrock mistral"])
def test_an_open_call_of_anthropic_s_hosted_tools_becomes_text_at_other_models(name: str) -> None:
    block = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    answer = sent(name, [Q, AIMessage([block]), NEXT])[1]
    assert isinstance(answer.content, list)
    assert [part["type"] for part in answer.content if isinstance(part, dict)] == ["text"]


def test_an_unknown_block_in_a_result_of_groq_becomes_text() -> None:
    result = ToolMessage([{"type": "text", "text": "18"}, {"type": "hologram"}], tool_call_id=ONE)
    answered = sent("groq", [Q, assistant_calls(ONE), result, NEXT])[2]
    assert isinstance(answered.content, str)
    assert "18" in answered.content
    assert "hologram" in answered.content


def _invalid(arguments: str) -> AIMessage:
    return AIMessage("", invalid_tool_calls=[{**broken(ONE), "args": arguments}])


def _answered(*content: Any) -> list[BaseMessage]:
    return [Q, AIMessage([*content]), tool_result(ONE), NEXT]


def _thought(provider: str) -> AIMessage:
    metadata = {"model_provider": provider} if provider else {}
    return AIMessage([{"type": "thinking", "thinking": "hm"}, TEXT], response_metadata=metadata)


def _bedrock_thought(signature: str) -> AIMessage:
    held = {"text": "hm", "signature": signature}
    return AIMessage([{"type": "reasoning_content", "reasoning_content": held}, TEXT])


@pytest.mark.parametrize("name", ["gemini", "gemini 3"])
def test_a_thought_of_gemini_is_unchanged_and_one_of_another_provider_is_removed(name: str) -> None:
    own, other, unknown = (
        sent(name, [Q, _thought(provider), NEXT])[1].content
        for provider in ("google_genai", "deepseek", "")
    )
    assert own == [{"type": "thinking", "thinking": "hm"}, TEXT]
    assert other == unknown == [TEXT]


ALIKE: dict[str, list[list[BaseMessage]]] = {
    "keys of a call": [
        _answered({**CALL, key: None}) for key in ("index", "citations", "id_", "caller", "any")
    ],
    "arguments": [
        [Q, _invalid(text), tool_result(ONE), NEXT]
        for text in ('{"x": 1}', '{"x": ', '{"x":NaN}', "[1]", "null", '"a"', "")
    ],
    "order": [
        _answered(*blocks)
        for blocks in ([CALL, TEXT], [TEXT, CALL], [CALL, "a"], [TEXT, CALL, TEXT], [CALL])
    ],
    "blocks without a type": [
        [HumanMessage([TEXT, block]), AIMessage("hi"), NEXT]
        for block in (*NATIVE, {"any": 1}, {"type": "non_standard", "value": {"any": 1}})
    ],
    "ids": [
        [Q, AIMessage([{**CALL, "type": "server_tool_use", "id": name}]), NEXT]
        for name in ("srvtoolu_1", "tooluse_1", "x")
    ],
    "keys of thinking": [
        [Q, AIMessage([{"type": "redacted_thinking", "data": "x", key: "y"}, TEXT]), NEXT]
        for key in ("data", "signature", "index")
    ],
    "keys of a result": [
        [Q, assistant_calls(ONE), HumanMessage([{**result, **more}]), AIMessage("hi"), NEXT]
        for result in [{"type": "tool_result", "tool_use_id": ONE}]
        for more in ({}, {"content": "a"}, {"content": None}, {"content": "a", "any": 0})
    ],
    "writers of thinking": [
        [Q, _thought(provider), NEXT] for provider in ("google_genai", "anthropic", "", "openai")
    ],
    "signatures": [
        [Q, _bedrock_thought(signature), NEXT]
        for signature in ("EqQBCkYIBxgCKkDyZ2ljYWxz", "CiQBVKhc7sig", "gAAAAAB", "", " ")
    ],
    "strings": [[HumanMessage(texts), AIMessage("hi"), NEXT] for texts in (["a"], [TEXT], [])],
    "system messages": [
        [Q, SystemMessage("a")], [SystemMessage("a"), Q], [Q, SystemMessage("a"), Q],
    ],
}  # fmt: skip
"""Histories that differ only in values which a converter treats differently."""

ORDERS = [(name, values) for name in DESTINATIONS for values in ALIKE]


@pytest.mark.parametrize(("name", "values"), sampled(ORDERS, ORDERS[::3]))
def test_a_repair_does_not_depend_on_what_was_repaired_before(name: str, values: str) -> None:
    histories = ALIKE[values]
    fresh = []
    for history in histories:
        rule_cache._CACHES.clear()
        known_transcripts._SOURCES.clear()
        fresh.append(repr(sent(name, history)))
    for order in (histories, histories[::-1]):
        rule_cache._CACHES.clear()
        known_transcripts._SOURCES.clear()
        for history in order * 3:
            assert repr(sent(name, history)) == fresh[histories.index(history)]
