"""What LiteLLM would send: its request transformations, offline, on copies."""

from __future__ import annotations

import importlib
import json
import logging
import os
from functools import cache
from typing import TYPE_CHECKING, Any

from .reading import calls, function, objects, parsed

if TYPE_CHECKING:
    from .request import Json, Request

_PIXEL = (
    "data:image/png;base64,"
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
"""Replaces every remote image, because LiteLLM would download it for Bedrock and Gemini."""


class TransformationError(Exception):
    """LiteLLM itself refused the transcript."""


@cache
def _load(module: str, name: str) -> Any:
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    found = getattr(importlib.import_module(f"litellm.{module}"), name)
    logging.getLogger("LiteLLM").setLevel(logging.CRITICAL)
    importlib.import_module("litellm").suppress_debug_info = True  # type: ignore[attr-defined]  # it prints hints
    return found


def _offline(value: Json) -> Json:
    """A deep copy (LiteLLM writes into its input) in which no image must be fetched."""
    if isinstance(value, dict):
        return {
            key: _PIXEL if _is_remote(key, item) else _offline(item) for key, item in value.items()
        }
    return [_offline(item) for item in value] if isinstance(value, list) else value


def _is_remote(key: str, value: Json) -> bool:
    return (
        key in ("url", "image_url")
        and isinstance(value, str)
        and value.startswith(("http://", "https://"))
    )


def anthropic_body(request: Request) -> dict[str, Json]:
    """The Messages body: ``messages``, ``system``, and a dummy tool where LiteLLM adds one."""
    config = _load("llms.anthropic.chat.transformation", "AnthropicConfig")()
    try:
        body: dict[str, Json] = config.transform_request(
            request.model, _offline(request.messages), {"max_tokens": 1024}, {}, {}
        )
    except Exception as error:
        raise TransformationError(_told(error)) from error
    return body


def gemini_body(request: Request) -> dict[str, Json]:
    """The generateContent body: ``contents`` and ``system_instruction``."""
    convert = _load("llms.vertex_ai.gemini.transformation", "_gemini_convert_messages_with_history")
    split_system = _load("llms.vertex_ai.gemini.transformation", "transform_system_message")
    try:
        system, rest = split_system(
            supports_system_message=True, messages=_told_apart(_offline(request.messages))
        )
        contents = convert(messages=rest, model=request.model, custom_llm_provider=request.provider)
    except Exception as error:
        raise TransformationError(_told(error)) from error
    return {"contents": contents, "system_instruction": system}


def bedrock_body(request: Request) -> dict[str, Json]:
    """The Converse body: ``messages`` and ``system``."""
    config = _load("llms.bedrock.chat.converse_transformation", "AmazonConverseConfig")()
    convert = _load("litellm_core_utils.prompt_templates.factory", "_bedrock_converse_messages_pt")
    try:
        # Not _transform_request: without tools= it turns every tool block into text, and would judge nothing.
        rest, system = config._transform_system_message(
            _offline(request.messages), model=request.model
        )
        messages = convert(messages=rest, model=request.model, llm_provider="bedrock_converse")
    except Exception as error:
        raise TransformationError(_told(error)) from error
    return {"messages": messages, "system": system}


def openai_messages(request: Request) -> Json:
    """The messages of the Chat Completions body."""
    config = _load("llms.openai.chat.gpt_transformation", "OpenAIGPTConfig")()
    try:
        return config.transform_request(
            request.model, _told_as_parts(_offline(request.messages)), {}, {}, {}
        )["messages"]
    except Exception as error:
        raise TransformationError(_told(error)) from error


def _told_apart(messages: Json) -> Json:
    """Number equal calls of one message: LiteLLM folds them into one for Gemini, and their results are too many."""
    for message in objects(messages):
        for number, call in enumerate(calls(message)):
            arguments = parsed(function(call).get("arguments"))
            if number and isinstance(arguments, dict):
                call["function"]["arguments"] = json.dumps(
                    {**arguments, "judged_call_number": number}
                )
    return messages


def _told_as_parts(messages: Json) -> Json:
    """Bare strings in a content list as text parts: OpenAI takes them, LiteLLM would stumble over them."""
    for message in objects(messages):
        if isinstance(content := message.get("content"), list):
            message["content"] = [
                {"type": "text", "text": part} if isinstance(part, str) else part
                for part in content
            ]
    return messages


def _told(error: Exception) -> str:
    return f"LiteLLM: {type(error).__name__}: {error}"[:300]
