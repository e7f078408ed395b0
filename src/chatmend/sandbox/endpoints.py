"""The endpoints of the sandbox: path, provider, table of rules, predicates and wire format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from chatmend.sandbox.providers import (
    anthropic,
    bedrock,
    cohere,
    deepseek,
    gemini,
    groq,
    key_hosts,
    minimax,
    mistral,
    moonshot,
    ollama,
    openai_chat,
    openai_responses,
    openrouter,
    perplexity,
    strict,
    xai,
    zai,
)
from chatmend.sandbox.wires import (
    Wire,
    anthropic_messages,
    bedrock_converse,
    bedrock_invoke,
    cohere_chat,
    ollama_chat,
)
from chatmend.sandbox.wires import gemini as gemini_wire
from chatmend.sandbox.wires import openai_chat as chat_wire
from chatmend.sandbox.wires import openai_responses as responses_wire

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.sandbox.refusals import Predicates


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A path that answers requests."""

    path: str
    provider: str
    table: str
    faults: Predicates
    wire: Wire
    stream: bool | None = None
    """Whether it streams; None: ``stream`` in the body decides."""
    counts_tokens: bool = False
    """Whether it counts tokens instead of answering."""
    streams_by_default: bool = False
    """Whether it streams if ``stream`` is absent from the body, as Ollama does."""


def _wire(module: object) -> Wire:
    return cast("Wire", module)


_CHAT, _RESPONSES, _MESSAGES = _wire(chat_wire), _wire(responses_wire), _wire(anthropic_messages)
_GEMINI, _CONVERSE = _wire(gemini_wire), _wire(bedrock_converse)
_GOOGLE = "/projects/{project}/locations/{location}/publishers"


def _chat_endpoints() -> Iterator[Endpoint]:
    """Yield the endpoints with the chat-completions format."""
    for path in ("/openai/v1/chat/completions",):
        yield Endpoint(path, "openai", "openai", openai_chat.faults, _CHAT)
    for path in (
        "/openai/deployments/{model}/chat/completions",
        "/openai/v1/chat/completions",
        "/models/chat/completions",
    ):
        yield Endpoint("/azure" + path, "azure", "openai", openai_chat.faults, _CHAT)
    for provider, faults, paths in (
        ("mistral", mistral.faults, ("/v1",)),
        ("deepseek", deepseek.faults, ("", "/v1", "/beta")),
        ("xai", xai.faults, ("/v1",)),
        ("groq", groq.faults, ("/openai/v1", "/v1")),
        ("moonshot", moonshot.faults, ("/v1",)),
        ("zai", zai.faults, ("/api/paas/v4", "/v1")),
        ("minimax", minimax.faults, ("/v1",)),
        ("openrouter", openrouter.faults, ("/api/v1", "/v1")),
        ("perplexity", perplexity.faults, ("", "/v1")),
        ("ollama", ollama.faults, ("/v1",)),
        ("strict", strict.faults, ("/v1",)),
        ("cerebras", key_hosts.faults, ("/v1",)),
        ("fireworks_ai", key_hosts.faults, ("/inference/v1", "/v1")),
        ("databricks", key_hosts.faults, ("/serving-endpoints", "/v1")),
    ):
        for path in paths:
            yield Endpoint(f"/{provider}{path}/chat/completions", provider, provider, faults, _CHAT)


def _responses_endpoints() -> Iterator[Endpoint]:
    """Yield the endpoints with the Responses format."""
    yield Endpoint("/openai/v1/responses", "openai", "openai", openai_responses.faults, _RESPONSES)
    for path in ("/azure/openai/v1/responses", "/azure/openai/responses"):
        yield Endpoint(path, "azure", "openai", openai_responses.faults, _RESPONSES)
    yield Endpoint("/xai/v1/responses", "xai", "xai", xai.responses_faults, _RESPONSES)


def _messages_endpoints() -> Iterator[Endpoint]:
    """Yield the endpoints with the Messages format."""
    yield Endpoint("/anthropic/v1/messages", "anthropic", "anthropic", anthropic.faults, _MESSAGES)
    for path in ("/anthropic/v1/messages/count_tokens", "/v1/messages/count_tokens"):
        yield Endpoint(
            path,
            "anthropic",
            "anthropic",
            anthropic.counted_faults,
            _MESSAGES,
            stream=False,
            counts_tokens=True,
        )
    for version in ("v1", "v1beta1"):
        for method, stream in (("rawPredict", None), ("streamRawPredict", True)):
            path = f"/vertex/{version}{_GOOGLE}/anthropic/models/{{model}}:{method}"
            yield Endpoint(path, "vertex", "anthropic", anthropic.cloud_faults, _MESSAGES, stream)


def _generate_content_endpoints() -> Iterator[Endpoint]:
    """Yield the endpoints with the generateContent format."""
    for method, stream in (("generateContent", False), ("streamGenerateContent", True)):
        for version in ("v1", "v1beta", "v1alpha"):
            path = f"/gemini/{version}/models/{{model}}:{method}"
            yield Endpoint(path, "gemini", "gemini", gemini.faults, _GEMINI, stream)
        for version in ("v1", "v1beta1"):
            path = f"/vertex/{version}{_GOOGLE}/google/models/{{model}}:{method}"
            yield Endpoint(path, "vertex", "gemini", gemini.faults, _GEMINI, stream)


def _other_endpoints() -> Iterator[Endpoint]:
    for method, stream in (("converse", False), ("converse-stream", True)):
        yield Endpoint(
            f"/bedrock/model/{{model:path}}/{method}",
            "bedrock",
            "bedrock",
            bedrock.faults,
            _CONVERSE,
            stream,
        )
    for method, stream in (("invoke", False), ("invoke-with-response-stream", True)):
        path = f"/bedrock/model/{{model:path}}/{method}"
        yield Endpoint(
            path, "bedrock", "bedrock", bedrock.invoke_faults, _wire(bedrock_invoke), stream
        )
    yield Endpoint("/cohere/v2/chat", "cohere", "cohere", cohere.faults, _wire(cohere_chat))
    yield Endpoint(
        "/ollama/api/chat",
        "ollama",
        "ollama",
        ollama.native_faults,
        _wire(ollama_chat),
        streams_by_default=True,
    )


ENDPOINTS: tuple[Endpoint, ...] = (
    *_chat_endpoints(),
    *_responses_endpoints(),
    *_messages_endpoints(),
    *_generate_content_endpoints(),
    *_other_endpoints(),
)
"""All paths that validate and answer requests."""
