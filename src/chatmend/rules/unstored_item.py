"""An item that the provider would have to look up, in a request that stores nothing.

With ``store: false`` and at gateways nothing is kept, so a reference by id leads nowhere. Reasoning
can be sent back only with its encrypted content, or with its text to servers that read the text.

Why: ``Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.``
(OpenAI Responses).

Repair: The reference is removed, and so is reasoning that is known only by its id. The items that
followed it lose the ids by which they were paired with it. Only request bodies are checked, because
a stored conversation does not record this parameter.

Before (openai/gpt-5):
    {"model": "gpt-5", "store": false, "input": [
      {"role": "user", "content": "1"},
      {"type": "reasoning", "id": "rs_1", "summary": []},
      {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed", "content": [
          {"type": "output_text", "text": "2", "annotations": []}]},
      {"role": "user", "content": "3"}]}
After:
    {"model": "gpt-5", "store": false, "input": [
      {"role": "user", "content": "1"},
      {"type": "message", "role": "assistant", "content": [
          {"type": "output_text", "text": "2", "annotations": []}]},
      {"role": "user", "content": "3"}]}
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.changes import Effect, Fix
from chatmend.dialects.entries import has_encrypted_content
from chatmend.placeholders import continued
from chatmend.rules.orphan_reasoning import has_readable_text
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import REFERENCE, Message, Role

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.targets.limits import Limits
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that remove items which only a provider that stores them can resolve."""
    if context.limits.stores_items or not context.traits.messages_are_items:
        return
    for at, message in enumerate(window.messages):
        if not _is_looked_up(message, context.limits):
            continue
        is_only_message = len(window.messages) == 1 and not memory.has_turns
        becomes = (continued(Role.USER),) if is_only_message else ()
        why = "the request stores nothing, so the provider cannot look this item up"
        yield Fix(at, at + 1, becomes, why, Effect.DROPS)


def _is_looked_up(message: Message, limits: Limits) -> bool:
    """Return whether an item is a reference, or reasoning that is known only by its id."""
    if message.kind == REFERENCE:
        return True
    if message.kind != "reasoning" or not isinstance(message.item_id, str):
        return False
    native = message.extra
    return not (has_encrypted_content(native) or has_readable_text(native, limits))


RULE = Rule("ITEM002", "unstored-item", find, STRUCTURE)
