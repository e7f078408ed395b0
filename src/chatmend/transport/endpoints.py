"""Finds the wire format, the provider and the model of a request from its URL."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote

from chatmend.options import known_hosts
from chatmend.targets.addresses import provider_behind, target_at_address


class Endpoint(NamedTuple):
    """What the path of a URL says about a request."""

    dialect: str | None
    """The wire format; None if only the body shows it."""
    provider: str
    """The provider whose SDK has this path."""
    model: str
    """The model, if the path names it."""


_CONTENTS = "(?:(?:streamG|g)enerateContent|countTokens|computeTokens)"
"""The methods whose requests hold ``contents``."""
_ENDPOINTS = tuple(
    (re.compile(pattern), dialect, provider)
    for pattern, dialect, provider in (
        (r"/chat/completions$", "openai_chat", "openai"),
        (r"/responses(?:/input_tokens|/compact)?$", "openai_responses", "openai"),
        # `/threads/ID/messages` of OpenAI adds one message.
        (
            r"^(?!.*/threads/).*/messages(?:/count_tokens)?$",
            "anthropic_messages",
            "anthropic",
        ),
        # The body names the model whose tokens are counted.
        (
            r"/publishers/anthropic/models/count-tokens:rawPredict$",
            "anthropic_messages",
            "vertex_ai",
        ),
        (
            r"/publishers/anthropic/models/([^/:]+):(?:stream)?[rR]awPredict$",
            "anthropic_messages",
            "vertex_ai",
        ),
        (
            rf"/(?:publishers/google/models|endpoints)/([^/:]+):{_CONTENTS}$",
            "gemini_contents",
            "vertex_ai",
        ),
        (
            rf"/(?:models|tunedModels)/([^/:]+):{_CONTENTS}$",
            "gemini_contents",
            "gemini",
        ),
        (r"/model/([^/]+)/converse(?:-stream)?$", "bedrock_converse", "bedrock"),
        (r"/model/([^/]+)/invoke(?:-with-response-stream)?$", None, "bedrock"),
        (r"/api/chat$", "ollama_chat", "ollama"),
        (r"/v2/chat$", None, "cohere"),
    )
)
"""The paths of requests with a transcript; all other requests pass unread.

Sources: the clients of openai 3.54.0, anthropic 2.12.0, google-genai 3.4.0, cohere 5.21.1, the
service model of bedrock-runtime in botocore 1.44.5, and Ollama's API documentation.
"""


@lru_cache(maxsize=256)
def find_endpoint(path: str) -> Endpoint | None:
    """Return what a path without its query says; None if its requests hold no transcript."""
    for pattern, dialect, provider in _ENDPOINTS:
        if found := pattern.search(path):
            return Endpoint(dialect, provider, unquote(found[1]) if found.lastindex else "")
    return None


def target_of(endpoint: Endpoint, url: str, model: object, wanted: str | None) -> str:
    """Return the target of a request as ``provider/model``.

    Args:
        endpoint: what the path says.
        url: the whole URL; its host tells the provider.
        model: the model that the body names; the path takes precedence.
        wanted: the target that the caller named. Without a model, the model of the request is used.
    """
    named = endpoint.model or (model if isinstance(model, str) else "")
    if wanted is not None:
        return wanted if "/" in wanted or not named else f"{wanted}/{named}"
    known = known_hosts()
    if host := provider_behind(url, known):
        return f"{host}/{named}"
    return target_at_address(f"{endpoint.provider}/{named}", url, known)
