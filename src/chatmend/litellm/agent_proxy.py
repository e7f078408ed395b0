"""The callback and the authorisation of a LiteLLM proxy for agents in any language.

Agents send their own API keys. The proxy forwards each request with its headers to the provider,
on pass-through routes, and the callback repairs it on the way. ``chatmend.upstreams`` makes the
configuration that names both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import HTTPException
from litellm.proxy._types import UserAPIKeyAuth

from chatmend.litellm.agent_callback import AgentChatMend
from chatmend.litellm.settings import from_environment
from chatmend.upstreams import PREFIX

if TYPE_CHECKING:
    from fastapi import Request

_FORBIDDEN = 403


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
