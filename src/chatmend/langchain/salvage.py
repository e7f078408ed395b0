"""Reads messages that LangChain itself cannot convert.

Examples are dicts with a malformed tool call, and blocks whose ``type`` is not a string.
"""

from __future__ import annotations

from typing import Any

from langchain_core.messages import BaseMessage, convert_to_messages
from langchain_core.prompt_values import ChatPromptValue, PromptValue

from chatmend.dialects import openai_chat
from chatmend.dialects.blocks import convert_to_text, with_media_type
from chatmend.langchain.dialect import LangChainDialect
from chatmend.options import is_disabled


def convert_leniently(model_input: Any) -> PromptValue | None:
    """Convert messages to a prompt; chatmend reads those that LangChain cannot convert.

    Return None if the input is not a list of messages.
    """
    if not isinstance(model_input, list | tuple):
        return None
    dialect = LangChainDialect()
    return ChatPromptValue(messages=[_convert_message(message, dialect) for message in model_input])


def _convert_message(message: Any, dialect: LangChainDialect) -> BaseMessage:
    try:
        return convert_to_messages([message])[0]
    except Exception:
        written = dialect.write(openai_chat.read(message))
        if isinstance(written, BaseMessage):
            return written
        raise


def convert_invalid_blocks(prompt: PromptValue) -> PromptValue:
    """Convert blocks on which LangChain raises before it calls any hook of a model.

    A block with an unhashable ``type`` and an image without data become text. Data without a media
    type gets one.
    """
    if not isinstance(prompt, ChatPromptValue):
        return prompt
    for message in prompt.messages:
        content: Any = message.content
        if content.__class__ is not list:
            continue
        for block in content:  # most blocks need no closer look
            if block.__class__ is dict and (
                block.get("type").__class__ is not str or "base64" in block
            ):
                return _without_invalid_blocks(prompt)
    return prompt


def _without_invalid_blocks(prompt: ChatPromptValue) -> PromptValue:
    if is_disabled():
        return prompt
    return ChatPromptValue(messages=[_converted(message) for message in prompt.messages])


def _converted(message: BaseMessage) -> BaseMessage:
    content: Any = message.content
    if content.__class__ is not list or not any(map(_is_invalid, content)):
        return message
    blocks = [_valid(block) if _is_invalid(block) else block for block in content]
    return message.model_copy(update={"content": blocks})


def _valid(block: dict[str, Any]) -> dict[str, Any]:
    is_useless = block.get("type").__hash__ is None or not block.get("base64")
    return convert_to_text(block) if is_useless else with_media_type(block)


def _is_invalid(block: Any) -> bool:
    if block.__class__ is not dict:
        return False
    if block.get("type").__hash__ is None:
        return True
    if "base64" not in block or "mime_type" in block:
        return False
    is_empty_image = block.get("type") == "image" and not block["base64"]
    return is_empty_image or with_media_type(block) is not block
