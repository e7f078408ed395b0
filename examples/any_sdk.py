"""Sends a broken conversation through each installed SDK, without and with chatmend.

Install ``pip install 'chatmend[sandbox,transport]'`` and the SDKs: openai, anthropic, mistralai,
google-genai, groq, cohere, together, fireworks-ai, boto3. It needs no API key and no internet.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

import chatmend.transport
from chatmend.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Callable

QUESTION = {"role": "user", "content": "What is the weather in Paris?"}
NEXT = {"role": "user", "content": "Never mind. And in Rome?"}
FUNCTION = {"name": "get_weather", "arguments": '{"city": "Paris"}'}
CALL = {
    "role": "assistant",
    "content": "I look it up.",
    "tool_calls": [{"id": "abcdefgh1", "type": "function", "function": FUNCTION}],
}
RESULT = {"role": "tool", "tool_call_id": "another", "content": "18 degrees"}


def _openai(url: str, http: Any) -> None:
    import openai

    client = openai.OpenAI(base_url=url, api_key="any", max_retries=0, http_client=http)
    client.chat.completions.create(model="gpt-4o", messages=[QUESTION, CALL, NEXT])


def _anthropic(url: str, http: Any) -> None:
    import anthropic

    client = anthropic.Anthropic(base_url=url, api_key="any", max_retries=0, http_client=http)
    use = {"type": "tool_use", "id": "t1", "name": "get_weather", "input": {"city": "Paris"}}
    messages = [QUESTION, {"role": "assistant", "content": [use]}, NEXT]
    client.messages.create(model="claude-sonnet-4-6", max_tokens=99, messages=messages)


def _mistral(url: str, http: Any) -> None:
    from mistralai.client import Mistral

    client = Mistral(api_key="any", server_url=url, client=http)
    client.chat.complete(model="mistral-large-latest", messages=[QUESTION, CALL, NEXT])


def _gemini(url: str, http: Any) -> None:
    from google import genai

    client = genai.Client(api_key="any", http_options={"base_url": url, "httpx_client": http})
    calls = [{"function_call": {"name": "get_weather", "args": {"city": "Paris"}}}] * 2
    result = {"function_response": {"name": "get_weather", "response": {"degrees": 18}}}
    contents = [
        {"role": "user", "parts": [{"text": QUESTION["content"]}]},
        {"role": "model", "parts": calls},
        {"role": "user", "parts": [result]},
    ]
    client.models.generate_content(model="gemini-2.5-flash", contents=contents)


def _groq(url: str, http: Any) -> None:
    import groq

    client = groq.Groq(api_key="any", base_url=url, max_retries=0, http_client=http)
    empty = {"role": "tool", "tool_call_id": "abcdefgh1", "content": []}
    client.chat.completions.create(model="llama-3.3-70b", messages=[QUESTION, CALL, empty])


def _cohere(url: str, http: Any) -> None:
    import cohere

    client = cohere.ClientV2(api_key="any", base_url=url, httpx_client=http)
    client.chat(model="command-a-03-2025", messages=[QUESTION, RESULT])


def _together(url: str, http: Any) -> None:
    import together

    client = together.Together(api_key="any", base_url=url, max_retries=0, http_client=http)
    client.chat.completions.create(model="gpt-4o", messages=[QUESTION, CALL, NEXT])


def _fireworks(url: str, http: Any) -> None:
    import fireworks

    client = fireworks.Fireworks(api_key="any", base_url=url, max_retries=0, http_client=http)
    foreign = {"role": "assistant", "content": "hi", "annotations": []}
    client.chat.completions.create(model="llama-v3p1-8b", messages=[QUESTION, foreign, NEXT])


def _boto3(url: str, http: Any) -> None:
    import boto3

    client = boto3.client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=url,
        aws_access_key_id="any",
        aws_secret_access_key="any",
    )
    if isinstance(getattr(http, "_transport", None), chatmend.transport.Transport):
        chatmend.transport.repair_boto3(client)  # boto3 takes no HTTP client
    use = {"toolUseId": "t1", "name": "get_weather", "input": {"city": "Paris"}}
    messages = [
        {"role": "user", "content": [{"text": QUESTION["content"]}]},
        {"role": "assistant", "content": [{"toolUse": use}]},
        {"role": "user", "content": [{"text": NEXT["content"]}]},
    ]
    client.converse(modelId="us.amazon.nova-pro-v1:0", messages=messages)


SDKS: dict[str, tuple[str, str, Callable[[str, Any], None]]] = {
    "openai": ("openai/v1", "openai", _openai),
    "anthropic": ("anthropic", "anthropic", _anthropic),
    "mistralai": ("mistral", "mistral", _mistral),
    "google-genai": ("gemini", "gemini", _gemini),
    "groq": ("groq", "groq", _groq),
    "cohere": ("cohere", "cohere", _cohere),
    "together": ("openai", "together_ai", _together),
    "fireworks-ai": ("fireworks_ai", "fireworks_ai", _fireworks),
    "boto3": ("bedrock", "bedrock", _boto3),
}
"""The path of the provider in the sandbox, chatmend's name of it, and what sends the request."""


def _outcome(send: Callable[[str, Any], None], url: str, http: Any) -> str:
    try:
        send(url, http)
    except ImportError:
        return "not installed"
    except Exception as error:  # noqa: BLE001 - each SDK has its own exceptions
        return f"refused ({type(error).__name__})"
    return "accepted"


def main() -> None:
    """Print one line for each SDK."""
    print(f"{'SDK':<14}{'without chatmend':<34}with chatmend")
    with Sandbox() as sandbox:
        for name, (path, provider, send) in SDKS.items():
            url = sandbox.url(path)
            os.environ["CHATMEND_HOSTS"] = f"{url}={provider}"  # names the provider behind a URL
            library = "httpx2" if name == "anthropic" else "httpx"
            try:
                bare = importlib.import_module(library).Client()
            except ImportError:
                print(f"{name:<14}not installed")
                continue
            before = _outcome(send, url, bare)
            after = _outcome(send, url, chatmend.transport.client(library))
            print(f"{name:<14}{before:<34}{after}")


if __name__ == "__main__":
    main()
