"""Builds complete requests for the sandbox from the triggers of recorded rules, often fragments."""

from __future__ import annotations

import base64
import io
import json
from functools import cache
from typing import Any

from PIL import Image

from chatmend.sandbox import signed_thinking
from chatmend.sandbox.signatures import sign

Body = dict[str, Any]
Sent = tuple[str, Body]
"""A path and a body."""

FOREIGN = "EtsBCkYIChgCKkANrO4e7QOyBt" + "q" * 200
"""A string with the form of a signature that the sandbox has not created."""


@cache
def image(kind: str = "PNG", size: tuple[int, int] = (64, 48)) -> str:
    """Return an image in base64."""
    out = io.BytesIO()
    Image.new("RGB", size, (200, 30, 30)).save(out, kind)
    return base64.b64encode(out.getvalue()).decode()


_PATHS = {
    ("anthropic", "messages"): "/anthropic/v1/messages",
    ("openai", "chat.completions"): "/openai/v1/chat/completions",
    ("openai", "responses"): "/openai/v1/responses",
    ("azure-openai", "chat.completions"): "/azure/openai/v1/chat/completions",
    ("mistral", "chat"): "/mistral/v1/chat/completions",
    ("deepseek", "chat.completions"): "/deepseek/chat/completions",
    ("xai", "chat.completions"): "/xai/v1/chat/completions",
    ("xai", "responses"): "/xai/v1/responses",
    ("groq", "chat.completions"): "/groq/openai/v1/chat/completions",
    ("cohere", "v2/chat"): "/cohere/v2/chat",
    ("moonshot", "chat.completions"): "/moonshot/v1/chat/completions",
    ("zai", "chat.completions"): "/zai/api/paas/v4/chat/completions",
    ("minimax", "chat.completions + /anthropic"): "/minimax/v1/chat/completions",
    ("openrouter", "chat.completions"): "/openrouter/api/v1/chat/completions",
    ("perplexity", "chat.completions"): "/perplexity/chat/completions",
    ("ollama", "chat.completions (/v1), /api/chat, /v1/messages"): "/ollama/v1/chat/completions",
    ("ollama", "chat.completions"): "/ollama/v1/chat/completions",
    ("vllm", "chat.completions"): "/strict/v1/chat/completions",
    ("gemini", "generateContent"): "/gemini/v1beta/models/{model}:generateContent",
    ("bedrock", "converse"): "/bedrock/model/{model}/converse",
    ("bedrock", "invoke (anthropic)"): "/bedrock/model/{model}/invoke",
}
_VERTEX = (
    "/vertex/v1/projects/p/locations/us-central1/publishers/google/models/{model}:generateContent"
)
_MODELS = {
    "anthropic": "claude-sonnet-4-5",
    "openai": "gpt-4o",
    "azure-openai": "gpt-4o",
    "mistral": "mistral-large-2411",
    "deepseek": "deepseek-chat",
    "xai": "grok-4.3",
    "groq": "meta-llama/llama-4-scout-17b-16e-instruct",
    "cohere": "command-a-03-2025",
    "moonshot": "kimi-k2-thinking",
    "zai": "glm-4.6",
    "minimax": "MiniMax-M2",
    "openrouter": "anthropic/claude-haiku-4.5",
    "perplexity": "sonar",
    "ollama": "llama3.1",
    "vllm": "strict",
    "gemini": "gemini-2.5-flash",
    "bedrock": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
}
_LLAMA, _NOVA, _HAIKU = (
    "us.meta.llama3-3-70b-instruct-v1:0",
    "us.amazon.nova-lite-v1:0",
    "claude-3-5-haiku-20241022",
)
_SCOPED = {
    "anthropic-system-sonnet5-ignored": "claude-sonnet-5",
    "anthropic-role-system-first": "claude-opus-4-8",
    "anthropic-role-system-placement": "claude-opus-4-8",
    "anthropic-role-system-between-tool-pair": "claude-opus-4-8",
    "anthropic-role-system-content-types": "claude-opus-4-8",
    "anthropic-system-message-empty": "claude-opus-4-8",
    "anthropic-system-message-whitespace": "claude-opus-4-8",
    "anthropic-content-object": _HAIKU,
    "anthropic-prefill-unsupported": "claude-sonnet-4-6",
    "anthropic-prefill-misleading-tool-use-not-last": "claude-opus-4-8",
    "anthropic-user-content-empty-2026": "claude-sonnet-5",
    "anthropic-thinking-bound-conversation": "claude-fable-5-1",
    "anthropic-max-tokens-over-model": "claude-sonnet-4-5",
    "openai-chat-stop-unsupported": "gpt-5.6-terra",
    "openai-chat-temperature-unsupported": "gpt-5",
    "openai-responses-sampling-unsupported": "gpt-5.6-terra",
    "openai-responses-logprobs": "gpt-5.6-terra",
    "openai-chat-accepts-image-in-tool": "gpt-5-nano",
    "azure-foundry-accepts-image-in-tool": "Kimi-K2.5",
    "mistral-accepts-image-in-tool": "mistral-small-latest",
    "mistral-accepts-user-after-tool": "mistral-small-latest",
    "mistral-accepts-content-and-tool-calls": "mistral-small-latest",
    "mistral-assistant-content-xor-tool-calls": "open-mixtral-8x7b",
    "mistral-tool-call-id-v13": "mistral-large-latest",
    "deepseek-r1-alternation": "deepseek-r1",
    "deepseek-tool-choice-required-reasoner": "deepseek-v4-flash",
    "xai-single-text": "grok-beta",
    "xai-unsupported-penalties": "grok-4",
    "xai-accepts-image-in-tool": "grok-4-1-fast-non-reasoning",
    "moonshot-temperature": "kimi-k2.5",
    "moonshot-accepts-consecutive-user": "kimi-k2-0905",
    "openrouter-no-image-endpoint": "openai/gpt-oss-120b",
    "openrouter-no-tool-endpoint": "google/gemma-3n-e4b-it",
    "openrouter-accepts-long-ids-and-names": "moonshotai/kimi-k2-0905",
    "ollama-image-count": "llama3.2-vision",
    "gemini-thought-signature-missing": "gemini-3-pro-preview",
    "gemini-thought-signature-current-turn-only": "gemini-3-pro-preview",
    "gemini-thinking-budget": "gemini-2.5-pro",
    "gemini-system-not-enabled": "gemma-3n-e4b-it",
    "gemini-json-mode": "gemini-2.5-flash-image",
    "gemini-modalities": "gemini-2.5-flash-preview-tts",
    "gemini-schema-object-empty": "gemini-1.5-pro",
    "gemini-file-uri-aistudio": "gemini-2.0-flash",
    "bedrock-first-user": _NOVA,
    "bedrock-text-blank": _LLAMA,
    "bedrock-tool-result-mixed-content": _LLAMA,
    "bedrock-reasoning-signature": _NOVA,
    "bedrock-prefill-with-tools": "anthropic.claude-3-sonnet-20240229-v1:0",
    "bedrock-document-source-translation": "anthropic.claude-3-5-sonnet-20240620-v1:0",
    "vllm-tmpl-alternate": "llama-2-7b",
    "vllm-tmpl-two-roles": "mistral-7b-v0.1",
    "vllm-tmpl-gemma-system": "gemma-2-9b",
    "vllm-tmpl-qwen-no-user": "qwen3.5-27b",
    "vllm-tmpl-qwen-system-first": "qwen3.5-27b",
    "vllm-tmpl-gptoss-content-thinking": "gpt-oss-20b",
    "vllm-tmpl-gptoss-tool-orphan": "gpt-oss-20b",
    "vllm-tmpl-gptoss-channel": "gpt-oss-20b",
    "vllm-tmpl-llama3-tools-no-user": "llama-3.3-70b",
    "vllm-tmpl-llama3-single-call": "llama-3.3-70b",
    "vllm-tmpl-mistral-id": "mistral-small-3",
    "vllm-tmpl-mistral-blocks": "mistral-small-3",
    "vllm-mm-count": "llava-1.5",
}
"""The model for rules whose scope names another one than that of ``_MODELS``."""
_ON_VERTEX = frozenset(
    {
        "gemini-parts-empty",
        "gemini-role-missing-vertex",
        "gemini-function-call-id",
        "gemini-thought-signature-missing",
        "gemini-temperature",
        "gemini-function-name-proto",
        "gemini-image-invalid",
        "gemini-mime-unsupported-vertex",
    }
)


def model_of(rule: Body) -> str:
    """Return the model with which a rule is tested."""
    trigger = rule.get("trigger")
    named = trigger.get("model") if isinstance(trigger, dict) else None
    if named:
        return str(named)
    if rule["id"] in _SCOPED:
        return _SCOPED[rule["id"]]
    return "gpt-5.6-terra" if "gpt-5.6-terra" in rule["scope"] else _MODELS[rule["provider"]]


def request_of(rule: Body) -> Sent | None:
    """Return the path and the body that test a rule, or ``None`` without an endpoint."""
    path = _PATHS.get((rule["provider"], rule["api"]))
    if path is None:
        return None
    model, trigger = model_of(rule), _filled(rule, _whole(rule))
    if rule["id"] in _ON_VERTEX:
        path = _VERTEX
    if rule["id"] in ("ollama-think-value", "ollama-think-unsupported"):
        path = "/ollama/api/chat"
    if rule["id"] == "anthropic-image-url-unsupported-cloud":
        path = "/bedrock/model/us.anthropic.claude-sonnet-4-5-20250929-v1:0/invoke"
    return path.format(model=model), _base(rule, model) | trigger


def _base(rule: Body, model: str) -> Body:
    hi = [{"role": "user", "content": "hi"}]
    if rule["provider"] == "gemini":
        return {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
    if rule["api"] == "converse":
        return {"messages": [{"role": "user", "content": [{"text": "hi"}]}]}
    if rule["api"] == "responses":
        return {"model": model, "input": "hi"}
    head = {} if rule["id"] == "anthropic-field-required" else {"max_tokens": 1024}
    head = head if rule["provider"] in ("anthropic", "bedrock") else {}
    if rule["id"].startswith(("anthropic-thinking", "anthropic-prefill-with")):
        head = {"max_tokens": 4096}
    return (
        {"messages": hi, **head}
        if rule["api"].startswith("invoke")
        else {"model": model, "messages": hi, **head}
    )


def _only_result_id(trigger: Body) -> Body:
    trigger["messages"][1]["content"][0]["id"] = "a"
    return trigger


def _after_a_call(trigger: Body) -> Body:
    call = {"id": "abcdefgh1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    trigger["messages"].insert(1, {"role": "assistant", "content": "", "tool_calls": [call]})
    return trigger


_WRAPS = {
    "anthropic-tool-result-id-pattern": _only_result_id,
    "mistral-tool-message-id-required": _after_a_call,
    "anthropic-image-media-type": lambda t: {"messages": [{"role": "user", "content": [t]}]},
    "gemini-role-missing-vertex": lambda t: {"contents": [t]},
    "gemini-schema-object-empty": lambda t: {
        "tools": [{"functionDeclarations": [{"name": "f", "parameters": t}]}]
    },
    "openai-chat-tools-function-missing": lambda t: {"tools": t["messages"]},
    "openai-responses-tool-type-missing": lambda t: {"tools": t["input"]},
    "openai-responses-tool-choice-name": lambda t: {
        "tool_choice": t,
        "tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}}],
    },
    "openai-responses-reasoning-status-null": lambda t: {
        "input": [
            {"role": "user", "content": "hi"},
            {"id": "rs_1", "summary": [], **t},
            {"role": "assistant", "content": "a"},
        ]
    },
    "openai-responses-reasoning-summary-required": lambda t: {
        "input": [{"role": "user", "content": "hi"}, t, {"role": "assistant", "content": "a"}]
    },
}
"""Conversions of triggers that cannot be used as a request body.

They are a part of a request, use another key, or break another rule first.
"""


def _whole(rule: Body) -> Body:
    trigger = rule["trigger"]
    return dict(
        _WRAPS.get(rule["id"], lambda unchanged: unchanged)(json.loads(json.dumps(trigger)))
    )


def _filled(rule: Body, trigger: Body) -> Body:
    """Replace placeholders with real images and signatures."""
    if rule["id"] == "anthropic-thinking-bound-conversation":
        return _bound(trigger)
    text = json.dumps(trigger)
    signature = FOREIGN
    if rule["id"] == "anthropic-thinking-modified":
        signature = sign(model_of(rule), "the original thought")
    large = (
        image("PNG", (4000, 3000))
        if rule["id"] == "anthropic-image-oversized-error-flag"
        else image()
    )
    large = image("WEBP") if rule["id"] == "xai-image-types" else large
    large = image("BMP") if rule["id"] == "openrouter-image-types" else large
    replaced = {
        "<SIGNATURE>": signature,
        "<ENC>": FOREIGN,
        "<BMP>": image("BMP"),
        "<PNG BYTES>": image(),
        "<BASE64>": large,
        "<BYTES>": large,
        "data:..": f"data:image/png;base64,{image()}",
    }
    for placeholder, value in replaced.items():
        text = text.replace(placeholder, value)
    if rule["id"] == "anthropic-lone-surrogate":
        text = text.replace("\\\\ud83d", "\\ud83d")
    found: Body = json.loads(text)
    return found


def _bound(trigger: Body) -> Body:
    """Sign the thought as if it had followed another system prompt."""
    before = {"system": "ORIGINAL", "messages": trigger["messages"][:1]}
    thought = signed_thinking(before, "x", model="claude-fable-5-1")
    text = json.dumps(trigger).replace("<SIGNATURE>", thought["signature"])
    found: Body = json.loads(text)
    return found
