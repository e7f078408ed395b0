"""Judges: what LiteLLM makes of an OpenAI-style transcript, held against types, pairing and facts of its wire."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import anthropic_facts, bedrock_facts, gemini_facts
from .anthropic_types import body_faults
from .bedrock_model import converse_faults
from .call_pairing import block_refusals
from .gemini_types import contents_faults
from .litellm_requests import (
    TransformationError,
    anthropic_body,
    bedrock_body,
    gemini_body,
    openai_messages,
)
from .openai_types import message_faults

if TYPE_CHECKING:
    from .request import Request


def litellm_anthropic(request: Request) -> list[str]:
    """LiteLLM's Messages body."""
    try:
        body = anthropic_body(request)
    except TransformationError as error:
        return [str(error)]
    messages, system = body["messages"], body.get("system")
    refusals = body_faults(messages, system) + block_refusals(messages)
    # `or None`: where a request has no tools, LiteLLM declares a dummy for the tool blocks in its history.
    wire = anthropic_facts.Body(request.model, messages, system, request.tools or None)
    return refusals + anthropic_facts.refusals(wire)


def litellm_gemini(request: Request) -> list[str]:
    """LiteLLM's generateContent body."""
    try:
        body = gemini_body(request)
    except TransformationError as error:
        return [str(error)]
    refusals = contents_faults(body["contents"], body["system_instruction"])
    return refusals + gemini_facts.refusals(body["contents"], request.target)


def litellm_bedrock(request: Request) -> list[str]:
    """LiteLLM's Converse body."""
    try:
        body = bedrock_body(request)
    except TransformationError as error:
        return [str(error)]
    messages = body["messages"]
    refusals = converse_faults(messages, body["system"])
    return (
        refusals
        + block_refusals(bedrock_facts.as_blocks(messages))
        + bedrock_facts.refusals(messages, request.model)
    )


def litellm_openai(request: Request) -> list[str]:
    """LiteLLM's Chat Completions body."""
    try:
        return message_faults(openai_messages(request), request.provider)
    except TransformationError as error:
        return [str(error)]
