"""Routes that clients call in addition to a chat: model lists, versions, capabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from chatmend.sandbox.wires import CREATED

if TYPE_CHECKING:
    from starlette.requests import Request as Http

_MODELS = {
    "openai": ("gpt-4o", "gpt-4o-mini", "gpt-5", "gpt-5-mini", "o4-mini"),
    "azure": ("gpt-4o", "gpt-5"),
    "mistral": ("mistral-large-latest", "mistral-small-latest"),
    "deepseek": ("deepseek-chat", "deepseek-reasoner"),
    "xai": ("grok-4.3", "grok-4-1-fast-non-reasoning"),
    "groq": ("llama-3.3-70b-versatile", "openai/gpt-oss-120b"),
    "moonshot": ("kimi-k2-thinking",),
    "zai": ("glm-4.6",),
    "minimax": ("MiniMax-M2",),
    "openrouter": ("anthropic/claude-haiku-4.5", "google/gemini-2.5-flash"),
    "perplexity": ("sonar",),
    "ollama": ("llama3.1", "qwen3"),
    "strict": ("strict",),
}
_PREFIXES: dict[str, tuple[str, ...]] = {
    "groq": ("/groq/openai/v1", "/groq/v1"),
    "openrouter": ("/openrouter/api/v1", "/openrouter/v1"),
}
_PREFIXES |= {"azure": ("/azure/openai/v1",), "deepseek": ("/deepseek", "/deepseek/v1")}
_PREFIXES |= {"zai": ("/zai/api/paas/v4",)}
_CLAUDE = ("claude-haiku-4-5", "claude-sonnet-4-5", "claude-sonnet-4-6", "claude-opus-4-8")
_GEMINI = ("gemini-2.5-flash", "gemini-2.5-pro", "gemini-3-flash-preview")


def side_routes() -> list[Route]:
    """Return the routes."""
    routes = []
    for provider, models in _MODELS.items():
        listed = [
            {"id": name, "object": "model", "created": CREATED, "owned_by": provider}
            for name in models
        ]
        prefixes = _PREFIXES.get(provider, (f"/{provider}/v1",))
        routes += [
            _fixed(f"{prefix}/models", {"object": "list", "data": listed}) for prefix in prefixes
        ]
    claude = [
        {"type": "model", "id": name, "display_name": name, "created_at": "2026-01-01T00:00:00Z"}
        for name in _CLAUDE
    ]
    gemini = [
        {
            "name": f"models/{name}",
            "displayName": name,
            "supportedGenerationMethods": ["generateContent"],
        }
        for name in _GEMINI
    ]
    ollama = [
        {"name": name, "model": name, "modified_at": "2026-01-01T00:00:00Z", "size": 1}
        for name in _MODELS["ollama"]
    ]
    return [
        *routes,
        _fixed("/anthropic/v1/models", {"data": claude, "has_more": False}),
        _fixed("/gemini/v1beta/models", {"models": gemini}),
        _fixed("/ollama/api/tags", {"models": ollama}),
        _fixed("/ollama/api/version", {"version": "0.12.0"}),
        Route("/ollama/api/show", _show, methods=["POST"]),
    ]


def _fixed(path: str, body: dict[str, object]) -> Route:
    async def answer(_http: Http) -> Response:
        return JSONResponse(body)

    return Route(path, answer, methods=["GET"])


async def _show(_http: Http) -> Response:
    return JSONResponse(
        {
            "template": "{{ .Prompt }}",
            "capabilities": ["completion", "tools", "vision", "thinking"],
            "model_info": {"general.architecture": "sandbox", "sandbox.context_length": 131_072},
        }
    )
