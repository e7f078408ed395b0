"""The providers behind ``chatmend proxy``, and LiteLLM's configuration for them.

Nothing here imports LiteLLM, so that the command reports a wrong option at once.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "/to"
"""The beginning of the routes to providers: ``/to/anthropic/v1/messages``."""


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
