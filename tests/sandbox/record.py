"""Record the proof pairs and reactions with vcrpy, through SDKs, LiteLLM and LangChain.

    python -m tests.sandbox.record

The requests are sent to the sandbox or, with ``LIVE=1``, to the real providers whose keys are in
the environment. The first line of each file names the origin. Credentials are never written.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import vcr
from vcr.serializers import yamlserializer

from chatmend.sandbox import Sandbox
from tests.sandbox.proof_pairs import MODELS, PAIRS, THROUGH_LITELLM, Body
from tests.sandbox.reactions import REACTIONS

LIVE = os.environ.get("LIVE") == "1"
FOLDER = Path(__file__).resolve().parents[2] / "cassettes"
_HIDDEN = [
    "authorization",
    "x-api-key",
    "x-goog-api-key",
    "api-key",
    "x-amz-security-token",
    "cookie",
    "user-agent",
]
_KEYS = {
    "openai": "OPENAI_API_KEY",
    "azure": "AZURE_OPENAI_API_KEY",
    "mistral": "MISTRAL_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "xai": "XAI_API_KEY",
    "groq": "GROQ_API_KEY",
    "moonshot": "MOONSHOT_API_KEY",
    "zai": "ZAI_API_KEY",
    "minimax": "MINIMAX_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "openai-responses": "OPENAI_API_KEY",
    "perplexity": "PERPLEXITYAI_API_KEY",
    "cerebras": "CEREBRAS_API_KEY",
    "fireworks_ai": "FIREWORKS_API_KEY",
    "databricks": "DATABRICKS_API_KEY",
    "cohere": "CO_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "bedrock": "AWS_SECRET_ACCESS_KEY",
    "ollama_chat": "OLLAMA_HOST",
}
_SANDBOX_PATHS = {
    "openai": "openai/v1",
    "openai-responses": "openai/v1",
    "openrouter": "openrouter/api/v1",
    "deepseek": "deepseek",
    "xai": "xai/v1",
    "moonshot": "moonshot/v1",
    "zai": "zai/api/paas/v4",
    "minimax": "minimax/v1",
    "perplexity": "perplexity",
    "ollama": "ollama/v1",
    "strict": "strict/v1",
    "cerebras": "cerebras/v1",
    "fireworks_ai": "fireworks_ai/inference/v1",
    "databricks": "databricks/serving-endpoints",
}
_PROVIDER_URLS = {
    "openai": "https://api.openai.com/v1",
    "openai-responses": "https://api.openai.com/v1",
    "openrouter": "https://openrouter.ai/api/v1",
    "deepseek": "https://api.deepseek.com",
    "xai": "https://api.x.ai/v1",
    "moonshot": "https://api.moonshot.ai/v1",
    "zai": "https://api.z.ai/api/paas/v4",
    "minimax": "https://api.minimax.io/v1",
    "perplexity": "https://api.perplexity.ai",
    "cerebras": "https://api.cerebras.ai/v1",
    "fireworks_ai": "https://api.fireworks.ai/inference/v1",
    "databricks": os.environ.get("DATABRICKS_API_BASE", ""),
}
_LITELLM = {
    "openai": ("openai/gpt-4o", "openai/v1"),
    "mistral": ("mistral/mistral-large-2411", "mistral/v1"),
    "deepseek": ("deepseek/deepseek-chat", "deepseek"),
    "xai": ("xai/grok-4-1-fast-non-reasoning", "xai/v1"),
    "groq": ("groq/llama-3.3-70b-versatile", "groq/openai/v1"),
    "moonshot": ("moonshot/kimi-k2-0905-preview", "moonshot/v1"),
    "zai": ("zai/glm-4.6", "zai/api/paas/v4"),
    "minimax": ("minimax/MiniMax-M2", "minimax/v1"),
    "cohere": ("cohere_chat/command-a-03-2025", "cohere/v2/chat"),
    "anthropic": ("anthropic/claude-sonnet-4-6", "anthropic"),
    "gemini": ("gemini/gemini-2.5-flash", "gemini/v1beta"),
    "bedrock": ("bedrock/converse/us.anthropic.claude-sonnet-4-5-20250929-v1:0", "bedrock"),
}
"""LiteLLM's model, and the path in the sandbox."""
Send = Callable[[Body], Any]


def _key(provider: str) -> str:
    return os.environ.get(_KEYS.get(provider, ""), "") if LIVE else "sandbox"


def sender(provider: str, root: str | None) -> Send:
    """Return a function that sends a body through the official SDK of a provider.

    ``root`` is the URL of the sandbox, or ``None`` for the real provider.
    """
    model, key = MODELS[provider], _key(provider)
    special = {"anthropic": _anthropic, "gemini": _gemini, "mistral": _mistral, "bedrock": _bedrock}
    special |= {"ollama_chat": _ollama}
    special |= {"cohere": _cohere, "groq": _groq, "azure": _azure, "openai-responses": _responses}
    if provider in special:
        return special[provider](model, key, root)
    import openai  # noqa: PLC0415 - each SDK is imported only if it is used

    base = f"{root}/{_SANDBOX_PATHS[provider]}" if root else _PROVIDER_URLS[provider]
    client = openai.OpenAI(base_url=base, api_key=key, max_retries=0)
    return lambda body: client.chat.completions.create(**{"model": model, **body})


def _responses(model: str, key: str, root: str | None) -> Send:
    import openai  # noqa: PLC0415

    client = openai.OpenAI(
        base_url=f"{root}/openai/v1" if root else None, api_key=key, max_retries=0
    )
    return lambda body: client.responses.create(**{"model": model, **body})


def _azure(model: str, key: str, root: str | None) -> Send:
    import openai  # noqa: PLC0415

    endpoint = f"{root}/azure" if root else os.environ["AZURE_OPENAI_ENDPOINT"]
    client = openai.AzureOpenAI(
        azure_endpoint=endpoint, api_key=key, api_version="2024-10-21", max_retries=0
    )
    return lambda body: client.chat.completions.create(**{"model": model, **body})


def _anthropic(model: str, key: str, root: str | None) -> Send:
    import anthropic  # noqa: PLC0415

    client = anthropic.Anthropic(
        base_url=f"{root}/anthropic" if root else None, api_key=key, max_retries=0
    )
    return lambda body: client.messages.create(**{"model": model, **body})


def _gemini(model: str, key: str, root: str | None) -> Send:
    from google import genai  # noqa: PLC0415

    options = {"base_url": f"{root}/gemini"} if root else None
    client = genai.Client(api_key=key, http_options=options)
    return lambda body: client.models.generate_content(**{"model": model, **body})


def _mistral(model: str, key: str, root: str | None) -> Send:
    from mistralai.client import Mistral  # noqa: PLC0415

    client = Mistral(api_key=key, server_url=f"{root}/mistral" if root else None)
    return lambda body: client.chat.complete(**{"model": model, **body})


def _bedrock(model: str, _key: str, root: str | None) -> Send:
    import boto3  # noqa: PLC0415

    fake = {
        "aws_access_key_id": "sandbox",
        "aws_secret_access_key": "sandbox",
        "region_name": "us-east-1",
    }
    more = {"endpoint_url": f"{root}/bedrock", **fake} if root else {}
    client = boto3.client("bedrock-runtime", **more)
    return lambda body: client.converse(**{"modelId": model, **body})


def _ollama(model: str, _key: str, root: str | None) -> Send:
    """Send without an SDK: Ollama's own refuses some of the bodies itself."""
    import httpx  # noqa: PLC0415

    base = f"{root}/ollama" if root else os.environ["OLLAMA_HOST"]

    def send(body: Body) -> Any:
        answer = httpx.post(f"{base}/api/chat", json={"model": model, **body})
        return answer.raise_for_status().json()

    return send


def _cohere(model: str, key: str, root: str | None) -> Send:
    import cohere  # noqa: PLC0415

    client = cohere.ClientV2(api_key=key, base_url=f"{root}/cohere" if root else None)
    return lambda body: client.chat(**{"model": model, **body})


def _groq(model: str, key: str, root: str | None) -> Send:
    import groq  # noqa: PLC0415

    client = groq.Groq(base_url=f"{root}/groq" if root else None, api_key=key, max_retries=0)
    return lambda body: client.chat.completions.create(**{"model": model, **body})


def through_litellm(provider: str, root: str | None) -> Send:
    """Return a function that sends a body through LiteLLM."""
    import litellm  # noqa: PLC0415

    model, path = _LITELLM[provider]
    owner = model.partition("/")[0]
    more: dict[str, Any] = {"num_retries": 0, "max_retries": 0}
    if root:
        more["aws_bedrock_runtime_endpoint" if provider == "bedrock" else "api_base"] = (
            f"{root}/{path}"
        )
    more |= dict.fromkeys(_AWS, "sandbox") if root and provider == "bedrock" else {}
    if provider != "bedrock":
        more["api_key"] = _key(provider)

    def send(body: Body) -> Any:
        litellm_model = f"{owner}/{body['model']}" if "model" in body else model
        return litellm.completion(**{**copy.deepcopy(body), "model": litellm_model}, **more)

    return send


_AWS = ("aws_access_key_id", "aws_secret_access_key", "aws_region_name")


class _WithOrigin:
    """Writes YAML with a first line that names the origin of the recording."""

    @staticmethod
    def serialize(cassette: Any) -> str:
        against = "the real provider" if LIVE else "chatmend's sandbox, not the real provider"
        text: str = yamlserializer.serialize(cassette)
        return f"# Recorded against {against}.\n{text}"

    deserialize = staticmethod(yamlserializer.deserialize)


def _anonymous(root: str | None) -> Callable[[Any], Any]:
    def hide(request: Any) -> Any:
        if root:
            request.uri = request.uri.replace(root, "http://sandbox")
        request.headers = {
            name: value for name, value in request.headers.items() if name.lower() in _KEPT_HEADERS
        }
        return request

    return hide


_KEPT_HEADERS = frozenset({"content-type", "accept"})


def _plain(response: Any) -> Any:
    response["headers"] = {
        name: value for name, value in response["headers"].items() if name.lower() != "date"
    }
    return response


@contextmanager
def recording_to(path: Path, root: str | None, ignored: str = "") -> Iterator[None]:
    """Record all requests of a block to a file, except those to the host ``ignored``."""
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Gemini's key may be in the query string.
    hidden: dict[str, Any] = {"filter_headers": _HIDDEN, "filter_query_parameters": ["key"]}
    recorder = vcr.VCR(
        record_mode="all", decode_compressed_response=True, ignore_hosts=[ignored], **hidden
    )
    recorder.register_serializer("with-origin", _WithOrigin)
    with recorder.use_cassette(
        str(path),
        serializer="with-origin",
        before_record_request=_anonymous(root),
        before_record_response=_plain,
    ):
        yield


def record(send: Send, path: Path, pair: tuple[Body, Body], root: str | None) -> None:
    """Record one pair.

    Raises:
        AssertionError: if the first body is accepted.
    """
    refused, accepted = pair
    with recording_to(path, root):
        try:
            send(refused)
        except Exception as error:  # noqa: BLE001 - each SDK has its own exceptions
            print(f"  {path.relative_to(FOLDER)}: {str(error)[:100]!r}")
        else:
            raise AssertionError(f"{path.name}: the request that must be refused was accepted")
        send(accepted)


def main() -> None:
    """Record every pair against the sandbox or, with ``LIVE=1``, for providers with a key."""
    with Sandbox() as sandbox:
        root = None if LIVE else sandbox.url()
        for provider, faults in PAIRS.items():
            if LIVE and not _key(provider):
                print(f"  {provider}: no key, nothing recorded")
                continue
            send = sender(provider, root)
            for name, pair in faults.items():
                record(send, FOLDER / provider / f"{name}.yaml", pair, root)
        for provider, faults in THROUGH_LITELLM.items():
            if LIVE and not _key(provider):
                continue
            send = through_litellm(provider, root)
            for name, pair in faults.items():
                record(send, FOLDER / "litellm" / provider / f"{name}.yaml", pair, root)
        for (folder, name), (provider, call) in REACTIONS.items():
            if not LIVE or _key(provider):
                with recording_to(FOLDER / folder / f"{name}.yaml", root):
                    call(root)


if __name__ == "__main__":
    main()
