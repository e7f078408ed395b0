"""The official SDKs work with the sandbox: whole answers, streams, tools, and their exceptions."""

from __future__ import annotations

import json
from typing import Any

import pytest

CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
HELLO = [{"role": "user", "content": "hello there"}]
WEATHER_QUESTION = [{"role": "user", "content": "What is the weather in Paris?"}]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
WEATHER = {"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}


def test_openai_chat(sandbox: Any) -> None:
    openai = pytest.importorskip("openai")
    client = openai.OpenAI(base_url=sandbox.url("openai/v1"), api_key="k", max_retries=0)
    assert (
        "hello there"
        in client.chat.completions.create(model="gpt-4o", messages=HELLO).choices[0].message.content
    )
    stream = client.chat.completions.create(
        model="gpt-4o", messages=HELLO, stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    assert "hello there" in "".join(
        chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices
    )
    assert chunks[-1].usage.prompt_tokens > 0
    answer = client.chat.completions.create(
        model="gpt-4o", messages=WEATHER_QUESTION, tools=[WEATHER]
    )
    assert json.loads(answer.choices[0].message.tool_calls[0].function.arguments) == {
        "city": "city"
    }
    with pytest.raises(openai.BadRequestError, match="empty array") as refused:
        client.chat.completions.create(model="gpt-4o", messages=[])
    assert (refused.value.param, refused.value.code) == ("messages", "empty_array")
    assert "gpt-4o" in {model.id for model in client.models.list()}


def test_openai_structured_output(sandbox: Any) -> None:
    openai = pytest.importorskip("openai")
    from pydantic import BaseModel  # noqa: PLC0415 - a dependency of the SDK

    class Trip(BaseModel):
        city: str
        days: int

    client = openai.OpenAI(base_url=sandbox.url("openai/v1"), api_key="k")
    answer = client.chat.completions.parse(model="gpt-4o", messages=HELLO, response_format=Trip)
    assert answer.choices[0].message.parsed == Trip(city="city", days=1)


def test_openai_responses(sandbox: Any) -> None:
    openai = pytest.importorskip("openai")
    client = openai.OpenAI(base_url=sandbox.url("openai/v1"), api_key="k", max_retries=0)
    first = client.responses.create(model="gpt-5", input="hello there", reasoning={"effort": "low"})
    assert "hello there" in first.output_text
    assert first.usage.output_tokens_details.reasoning_tokens > 0
    second = client.responses.create(model="gpt-5", input="and now", previous_response_id=first.id)
    assert second.usage.input_tokens_details.cached_tokens > 0
    with client.responses.stream(model="gpt-5", input="hello there") as stream:
        assert "hello there" in "".join(
            e.delta for e in stream if e.type == "response.output_text.delta"
        )
    with pytest.raises(openai.BadRequestError, match="No tool output found for function call c9"):
        client.responses.create(
            model="gpt-5",
            input=[{"type": "function_call", "call_id": "c9", "name": "f", "arguments": "{}"}],
        )


def test_openai_requires_the_reasoning_of_a_replayed_call(sandbox: Any) -> None:
    openai = pytest.importorskip("openai")
    client = openai.OpenAI(base_url=sandbox.url("openai/v1"), api_key="k", max_retries=0)
    tool = {"type": "function", "name": "get_weather", "parameters": SCHEMA}
    question = {"role": "user", "content": "What is the weather?"}
    first = client.responses.create(
        model="gpt-5",
        input=[question],
        tools=[tool],
        reasoning={"effort": "low"},
        include=["reasoning.encrypted_content"],
    )
    reasoning, call = [item.model_dump(exclude_none=True) for item in first.output]
    result = {"type": "function_call_output", "call_id": call["call_id"], "output": "18 degrees"}
    assert client.responses.create(
        model="gpt-5", input=[question, reasoning, call, result], tools=[tool]
    ).output_text
    with pytest.raises(openai.BadRequestError, match="without its required 'reasoning' item"):
        client.responses.create(model="gpt-5", input=[question, call, result], tools=[tool])
    forged = reasoning | {"id": "rs_other"}
    with pytest.raises(openai.BadRequestError, match="could not be verified"):
        client.responses.create(model="gpt-5", input=[question, forged, call, result], tools=[tool])


def test_anthropic(sandbox: Any) -> None:
    anthropic = pytest.importorskip("anthropic")
    client = anthropic.Anthropic(base_url=sandbox.url("anthropic"), api_key="k", max_retries=0)
    more = {"model": "claude-sonnet-4-6", "max_tokens": 2000}
    answer = client.messages.create(messages=HELLO, thinking={"type": "adaptive"}, **more)
    assert [block.type for block in answer.content] == ["thinking", "text"]
    tool = {"name": "get_weather", "input_schema": SCHEMA}
    with client.messages.stream(messages=WEATHER_QUESTION, tools=[tool], **more) as stream:
        final = stream.get_final_message()
    assert (final.stop_reason, final.content[0].input) == ("tool_use", {"city": "city"})
    assert client.messages.count_tokens(model="claude-sonnet-4-6", messages=HELLO).input_tokens > 0
    with pytest.raises(
        anthropic.BadRequestError, match="does not support assistant message prefill"
    ) as refused:
        client.messages.create(messages=[*HELLO, {"role": "assistant", "content": "x"}], **more)
    assert refused.value.request_id.startswith("req_")


def test_claude_on_vertex_and_bedrock(sandbox: Any) -> None:
    anthropic = pytest.importorskip("anthropic")
    vertex = anthropic.AnthropicVertex(
        region="us-east5", project_id="p", access_token="t", base_url=sandbox.url("vertex/v1")
    )
    answer = vertex.messages.create(
        model="claude-haiku-4-5@20251001", max_tokens=100, messages=HELLO
    )
    assert "hello there" in answer.content[0].text
    bedrock = anthropic.AnthropicBedrock(
        aws_region="us-east-1",
        aws_access_key="a",
        aws_secret_key="b",
        base_url=sandbox.url("bedrock"),
    )
    with bedrock.messages.stream(model=CLAUDE, max_tokens=100, messages=HELLO) as stream:
        assert "hello there" in stream.get_final_text()


def test_gemini_on_ai_studio_and_vertex(sandbox: Any) -> None:
    genai = pytest.importorskip("google.genai")
    from google.oauth2.credentials import Credentials  # noqa: PLC0415 - a dependency of the SDK

    clients = [
        genai.Client(api_key="k", http_options={"base_url": sandbox.url("gemini")}),
        genai.Client(
            vertexai=True,
            project="p",
            location="us-central1",
            credentials=Credentials("t"),
            http_options={"base_url": sandbox.url("vertex")},
        ),
    ]
    tool = {"function_declarations": [{"name": "get_weather", "parameters_json_schema": SCHEMA}]}
    for client in clients:
        assert (
            "hello there"
            in client.models.generate_content(model="gemini-2.5-flash", contents="hello there").text
        )
        stream = client.models.generate_content_stream(
            model="gemini-2.5-flash", contents="hello there"
        )
        assert "hello there" in "".join(chunk.text or "" for chunk in stream)
        answer = client.models.generate_content(
            model="gemini-3-flash-preview", contents="the weather?", config={"tools": [tool]}
        )
        assert answer.function_calls[0].args == {"city": "city"}
        bad = {"role": "assistant", "parts": [{"text": "x"}]}
        with pytest.raises(genai.errors.ClientError, match="Please use a valid role: user, model"):
            client.models.generate_content(model="gemini-2.5-flash", contents=bad)


def test_gemini_3_requires_the_signature_of_a_call(sandbox: Any) -> None:
    genai = pytest.importorskip("google.genai")
    client = genai.Client(api_key="k", http_options={"base_url": sandbox.url("gemini")})
    tool = {"function_declarations": [{"name": "get_weather", "parameters_json_schema": SCHEMA}]}
    model, question = (
        "gemini-3-flash-preview",
        {"role": "user", "parts": [{"text": "the weather?"}]},
    )
    first = client.models.generate_content(
        model=model, contents=[question], config={"tools": [tool]}
    )
    called = first.candidates[0].content
    result = {
        "role": "user",
        "parts": [{"function_response": {"name": "get_weather", "response": {"t": 18}}}],
    }
    second = client.models.generate_content(
        model=model, contents=[question, called, result], config={"tools": [tool]}
    )
    assert "18" in second.text
    called.parts[0].thought_signature = None
    with pytest.raises(genai.errors.ClientError, match="missing a thought_signature"):
        client.models.generate_content(
            model=model, contents=[question, called, result], config={"tools": [tool]}
        )


def test_mistral(sandbox: Any) -> None:
    mistral = pytest.importorskip("mistralai.client")
    client = mistral.Mistral(api_key="k", server_url=sandbox.url("mistral"))
    answer = client.chat.complete(model="mistral-large-latest", messages=HELLO)
    assert "hello there" in answer.choices[0].message.content
    events = client.chat.stream(
        model="mistral-large-latest", messages=WEATHER_QUESTION, tools=[WEATHER]
    )
    calls = [event.data.choices[0].delta.tool_calls for event in events]
    assert [call[0].function.name for call in calls if call] == ["get_weather"]
    with pytest.raises(mistral.errors.SDKError, match="Expected last role User or Tool"):
        client.chat.complete(
            model="mistral-large-latest", messages=[*HELLO, {"role": "assistant", "content": "x"}]
        )


def test_bedrock_through_boto3(sandbox: Any) -> None:
    boto3 = pytest.importorskip("boto3")
    client = boto3.client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=sandbox.url("bedrock"),
        aws_access_key_id="a",
        aws_secret_access_key="b",
    )
    hello = [{"role": "user", "content": [{"text": "hello there"}]}]
    answer = client.converse(modelId=CLAUDE, messages=hello)
    assert "hello there" in answer["output"]["message"]["content"][0]["text"]
    tools = {"tools": [{"toolSpec": {"name": "get_weather", "inputSchema": {"json": SCHEMA}}}]}
    question = [{"role": "user", "content": [{"text": "the weather?"}]}]
    events = list(
        client.converse_stream(modelId=CLAUDE, messages=question, toolConfig=tools)["stream"]
    )
    assert [next(iter(event)) for event in events][-2:] == ["messageStop", "metadata"]
    pieces = [
        e["contentBlockDelta"]["delta"]["toolUse"]["input"]
        for e in events
        if "contentBlockDelta" in e
    ]
    assert json.loads("".join(pieces)) == {"city": "city"}
    orphan = [
        {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": "t", "content": [{"text": "r"}]}}],
        }
    ]
    with pytest.raises(
        client.exceptions.ValidationException, match="exceeds the number of toolUse blocks"
    ):
        client.converse(modelId=CLAUDE, messages=orphan, toolConfig=tools)


def test_cohere_and_groq(sandbox: Any) -> None:
    cohere, groq = pytest.importorskip("cohere"), pytest.importorskip("groq")
    client = cohere.ClientV2(api_key="k", base_url=sandbox.url("cohere"))
    assert (
        "hello there"
        in client.chat(model="command-a-03-2025", messages=HELLO).message.content[0].text
    )
    events = list(
        client.chat_stream(model="command-a-03-2025", messages=WEATHER_QUESTION, tools=[WEATHER])
    )
    assert (events[0].type, events[-1].type) == ("message-start", "message-end")
    with pytest.raises(cohere.errors.BadRequestError, match="tool call id not found"):
        client.chat(
            model="c", messages=[*HELLO, {"role": "tool", "tool_call_id": "x", "content": "r"}]
        )
    other = groq.Groq(api_key="k", base_url=sandbox.url("groq"), max_retries=0)
    assert (
        "hello there"
        in other.chat.completions.create(model="llama-3.3-70b", messages=HELLO)
        .choices[0]
        .message.content
    )
    assert list(other.chat.completions.create(model="llama-3.3-70b", messages=HELLO, stream=True))
    with pytest.raises(groq.BadRequestError, match="value must be a string"):
        other.chat.completions.create(
            model="m", messages=[*HELLO, {"role": "tool", "tool_call_id": "x", "content": []}]
        )


def test_azure(sandbox: Any) -> None:
    openai = pytest.importorskip("openai")
    client = openai.AzureOpenAI(
        azure_endpoint=sandbox.url("azure"), api_key="k", api_version="2024-10-21"
    )
    assert (
        "hello there"
        in client.chat.completions.create(model="gpt-4o", messages=HELLO).choices[0].message.content
    )
    with pytest.raises(openai.BadRequestError, match="preceeding message"):
        client.chat.completions.create(
            model="gpt-4o", messages=[{"role": "tool", "tool_call_id": "x", "content": "r"}]
        )
