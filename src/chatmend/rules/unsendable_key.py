"""A value of another provider under a key on which the converter of the client library raises.

Why: ``AttributeError: 'str' object has no attribute 'get'`` (langchain-openai, for the text that
another partner package stores as ``additional_kwargs["reasoning"]``); ``KeyError: 'toolUseId'``
(langchain-aws, for the calls of OpenAI's hosted tools in ``additional_kwargs["tool_outputs"]``).

Repair: The key is removed. This runs only in the adapter for LangChain.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.changes import Effect, Fix
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.rules.unsendable_part import LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.windows import Memory, Window

PREFIX = "chatmend:not-an-object:"
"""Prefix of the keys under which the adapter shows values that are not objects."""


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for messages with such a value."""
    converter = context.limits.of(LIMIT)
    if converter is None or not (converter.object_kwargs or converter.foreign_kwargs):
        return
    for at, message in enumerate(window.messages):
        names = converter.object_kwargs
        if message.provider and message.provider not in converter.writers:
            names |= converter.foreign_kwargs
        held = {f"{PREFIX}{name}" for name in names} & message.extra.keys()
        if held:
            is_lost = any(message.extra[key] for key in held)
            yield Fix(
                at,
                at + 1,
                (replace(message, omitted_keys=message.omitted_keys | held),),
                "the partner package raises on the value",
                Effect.DROPS if is_lost else Effect.RESHAPES,
            )


RULE = Rule("KEY002", "unsendable-key", find, STRUCTURE)
