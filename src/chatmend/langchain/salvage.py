"""Messages that LangChain itself cannot take in: dicts with a broken tool call, blocks whose type is no word."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import BaseMessage, convert_to_messages
from langchain_core.prompt_values import ChatPromptValue, PromptValue

from chatmend.dialects import openai_chat
from chatmend.langchain.blocks import told
from chatmend.langchain.dialect import Dialect
from chatmend.langchain.mending import is_disabled


def salvaged(given: Any) -> PromptValue | None:
    """What was given as a prompt, each unconvertible dict read by chatmend; None where it is no list of messages."""
    if not isinstance(given, list | tuple):
        return None
    dialect = Dialect()
    return ChatPromptValue(messages=[_salvaged(message, dialect) for message in given])


def _salvaged(message: Any, dialect: Dialect) -> BaseMessage:
    try:
        return convert_to_messages([message])[0]
    except Exception:
        written = dialect.write(openai_chat.read(message))
        if isinstance(written, BaseMessage):
            return written
        raise


def readable(prompt: PromptValue) -> PromptValue:
    """The prompt without blocks at which LangChain raises before any hook of a model: those told as text."""
    if not isinstance(prompt, ChatPromptValue):
        return prompt
    contents = [content for message in prompt.messages if (content := message.content).__class__ is list]
    if not any(_is_strange(block) for content in contents for block in content) or is_disabled():
        return prompt
    return ChatPromptValue(messages=[_readable(message) for message in prompt.messages])


def _readable(message: BaseMessage) -> BaseMessage:
    content: Any = message.content
    if content.__class__ is not list or not any(map(_is_strange, content)):
        return message
    blocks = [told(block) if _is_strange(block) else block for block in content]
    return message.model_copy(update={"content": blocks})


def _is_strange(block: Any) -> bool:
    return block.__class__ is dict and block.get("type").__hash__ is None
