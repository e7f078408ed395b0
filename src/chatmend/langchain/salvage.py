"""Messages given as dicts that LangChain cannot convert, because a tool call in them is broken."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import BaseMessage, convert_to_messages
from langchain_core.prompt_values import ChatPromptValue, PromptValue

from chatmend.dialects import openai_chat
from chatmend.langchain.dialect import Dialect


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
