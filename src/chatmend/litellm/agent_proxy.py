"""The configuration of a LiteLLM proxy that repairs the requests of agents in any language.

Agents send their own API keys. The proxy forwards each request with its headers to the provider,
on pass-through routes, and the callback repairs it on the way.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, NamedTuple

from fastapi import HTTPException
from litellm.proxy._types import UserAPIKeyAuth

from chatmend.litellm.agent_callback import AgentChatMend
from chatmend.litellm.settings import from_environment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi import Request

PREFIX = "/to"
"""The beginning of the routes to providers: ``/to/anthropic/v1/messages``."""
_FORBIDDEN = 403


class Upstream(NamedTuple):
    """A provider behind the proxy."""

    url: str
    """Where requests go: the address before the path that the SDK of the provider sends."""
    variable: str
    """The environment variable with which agents find the proxy."""
    suffix: str = ""
    """The path that this variable contains, too."""


UPSTREAMS = {
    "anthropic": Upstream("https://api.anthropic.com", "ANTHROPIC_BASE_URL"),
    "openai": Upstream("https://api.openai.com", "OPENAI_BASE_URL", "/v1"),
    "gemini": Upstream("https://generativelanguage.googleapis.com", "GOOGLE_GEMINI_BASE_URL"),
    "bedrock": Upstream(
        "https://bedrock-runtime.us-east-1.amazonaws.com", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"
    ),
    "mistral": Upstream("https://api.mistral.ai", "MISTRAL_BASE_URL", "/v1"),
    "deepseek": Upstream("https://api.deepseek.com", "DEEPSEEK_BASE_URL"),
    "openrouter": Upstream("https://openrouter.ai/api", "OPENROUTER_BASE_URL", "/v1"),
}
"""The providers, with the variables that their SDKs or the common agents read."""


def make_config(urls: Mapping[str, str], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return LiteLLM's configuration.

    Args:
        urls: for each provider, where its requests go.
        options: the options of the callback, as in the section ``chatmend`` of a ``config.yaml``.
    """
    return {
        "litellm_settings": {"callbacks": "chatmend.litellm.agent_proxy.callback"},
        "general_settings": {
            "master_key": f"sk-{secrets.token_hex(16)}",
            "custom_auth": "chatmend.litellm.agent_proxy.authorize",
            "pass_through_endpoints": [
                {
                    "path": f"{PREFIX}/{provider}",
                    "target": url,
                    "forward_headers": True,
                    "include_subpath": True,
                }
                for provider, url in urls.items()
            ],
        },
        "chatmend": dict(options),
    }


def environment_lines(address: str, providers: Mapping[str, str]) -> list[str]:
    """Return the lines that direct agents to a proxy at an address."""
    return [
        f"export {upstream.variable}={address}{PREFIX}/{provider}{upstream.suffix}"
        for provider, upstream in UPSTREAMS.items()
        if provider in providers
    ]


def known_addresses(urls: Mapping[str, str], configured: str) -> str:
    """Return a value of ``CHATMEND_HOSTS`` that names the providers behind other addresses, too.

    Args:
        urls: for each provider, where its requests go.
        configured: the present value of the variable, which takes precedence.
    """
    moved = [
        f"{url}={name}"
        for name, url in urls.items()
        if name in UPSTREAMS and url != UPSTREAMS[name].url
    ]
    return ",".join(filter(None, [*moved, configured]))


def __getattr__(name: str) -> Any:
    """Create ``callback``, which the configuration names, on first access.

    Raises:
        AttributeError: the module has no such attribute.
    """
    if name == "callback":
        return globals().setdefault("callback", from_environment(AgentChatMend))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


async def authorize(request: Request, api_key: str) -> UserAPIKeyAuth:
    """Let the routes to providers pass, which check the keys themselves, and no other route.

    ``api_key`` is not kept: LiteLLM would write its digest to logs.

    Raises:
        HTTPException: the request is for another route, such as LiteLLM's administration.
    """
    del api_key
    if request.url.path.startswith(f"{PREFIX}/"):
        return UserAPIKeyAuth()
    raise HTTPException(_FORBIDDEN, f"this proxy only serves {PREFIX}/PROVIDER/...")
