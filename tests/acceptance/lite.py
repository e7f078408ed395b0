"""The one place that imports LiteLLM: four seconds, and it must stay offline."""

from __future__ import annotations

import logging
import os
from functools import cache
from typing import Any

from .base import local_images


@cache
def _ready() -> None:
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    import litellm  # noqa: F401

    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def to_anthropic(model: str, messages: list[Any], tools: Any) -> dict[str, Any]:
    """What LiteLLM would send to Anthropic. Tools stay out: LiteLLM adds its own."""
    _ready()
    from litellm.llms.anthropic.chat.transformation import AnthropicConfig

    body: dict[str, Any] = AnthropicConfig().transform_request(
        model, local_images(messages), {"max_tokens": 16}, {}, {}
    )
    return body


def to_gemini(model: str, messages: list[Any]) -> list[dict[str, Any]]:
    """What LiteLLM would send to Gemini, after it has taken the system messages out."""
    _ready()
    from litellm.llms.vertex_ai.gemini.transformation import (
        _gemini_convert_messages_with_history,
        _transform_system_message,
    )

    _, rest = _transform_system_message(supports_system_message=True, messages=local_images(messages))
    return list(_gemini_convert_messages_with_history(rest, model=model))  # type: ignore[arg-type]


def to_bedrock(model: str, messages: list[Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What LiteLLM would send to Converse: (messages, system blocks)."""
    _ready()
    from litellm.litellm_core_utils.prompt_templates.factory import _bedrock_converse_messages_pt
    from litellm.llms.bedrock.chat.converse_transformation import AmazonConverseConfig

    rest, system = AmazonConverseConfig()._transform_system_message(local_images(messages), model=model)
    return list(_bedrock_converse_messages_pt(rest, model, "bedrock_converse")), list(system)  # type: ignore[arg-type]
