"""Code that is not ours, asked whether a transcript would be accepted.

Nothing in here imports chatmend: what the library repairs is judged by validators, SDK types and request
transformations that others wrote, and by small tables of what providers are known to refuse.

    refusals = judge("openai_chat", "anthropic/claude-sonnet-4-5", messages)   # [] when accepted
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from .anthropic_facts import anthropic_wire
from .anthropic_types import anthropic_types
from .body_encodes import body_encodes
from .body_shape import body_shape
from .call_pairing import anthropic_pairing, openai_pairing
from .chat_templates import FAMILIES, renders_as
from .converse_types import native_converse
from .gemini_types import native_contents
from .litellm_wire import litellm_anthropic, litellm_bedrock, litellm_gemini, litellm_openai
from .messages_servers import messages_servers
from .mistral_requests import validates_as
from .mistral_types import mistral_types
from .ollama_types import native_ollama
from .openai_types import openai_types
from .request import Json, Judge, Request
from .responses_facts import responses_facts
from .responses_servers import responses_servers
from .responses_types import responses_types
from .routes import judges_for
from .wire_facts import wire_facts

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["JUDGES", "Judge", "Request", "judge", "judges_for"]

JUDGES: Mapping[str, Judge] = MappingProxyType(
    {
        "body_encodes": body_encodes,
        "body_shape": body_shape,
        "openai_types": openai_types,
        "openai_pairing": openai_pairing,
        "wire_facts": wire_facts,
        "anthropic_types": anthropic_types,
        "anthropic_pairing": anthropic_pairing,
        "anthropic_wire": anthropic_wire,
        "mistral_types": mistral_types,
        "mistral_common_v7": validates_as("v7"),
        "mistral_common_v11": validates_as("v11"),
        "mistral_common_v13": validates_as("v13"),
        "responses_types": responses_types,
        "responses_facts": responses_facts,
        "responses_servers": responses_servers,
        "messages_servers": messages_servers,
        "native_contents": native_contents,
        "native_converse": native_converse,
        "native_ollama": native_ollama,
        "litellm_openai": litellm_openai,
        "litellm_anthropic": litellm_anthropic,
        "litellm_gemini": litellm_gemini,
        "litellm_bedrock": litellm_bedrock,
        **{f"template_{family}": renders_as(family) for family in FAMILIES},
    }
)
"""Every judge by its name."""


def judge(
    dialect: str, target: str, messages: Json, system: Json = None, tools: Json = None
) -> list[str]:
    """Ask every judge that applies; answer their refusals, each headed by the judge's name.

    Never raises for what is in a transcript: a judge that cannot read it refuses it.
    """
    request = Request(dialect, target, messages, system, tools)
    return [
        f"{name}: {refusal}"
        for name in judges_for(dialect, target)
        for refusal in _asked(name, request)
    ]


def _asked(name: str, request: Request) -> list[str]:
    try:
        return JUDGES[name](request)
    except Exception as error:  # noqa: BLE001 -- an unreadable transcript is a verdict, not a fault of the test
        return [f"unreadable: {type(error).__name__}: {error}"[:300]]
