"""A conversation that does not begin with a user message, or has no user message.

Why: ``A conversation must start with a user message.`` (Bedrock); ``No user query found in
messages.`` (Qwen templates); ``The messages parameter is illegal.`` (Z.ai). Compaction of a
conversation may remove its beginning.

Repair: A user message ``[continued]`` is added at the beginning. If the target accepts a user
message at any position, it is added at the end of the first window. An answer that records that its
request got such a message, as answers through LangChain do, gets it in front of it again, so that
what was sent does not change. Without this record, an answer after a system prompt may be a
greeting that the application has written, and nothing is added. Nothing is added to a request that
continues messages which the provider stores (``previous_response_id``), either.

Before (bedrock/us.amazon.nova-pro-v1:0):
    [{"role": "assistant", "content": "I'll search"},
     {"role": "user", "content": "do"}]
After:
    [{"role": "user", "content": "[continued]"},
     {"role": "assistant", "content": "I'll search"},
     {"role": "user", "content": "do"}]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.changes import Effect, Fix
from chatmend.last_turn import lacks_user
from chatmend.placeholders import continued
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Role

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.windows import Memory, Window


ANSWERS = "_answers_added_user"
"""The key of an answer to a request that lacked a user message until this rule added one."""


def find_answered(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield a fix for the answer to a request that got its only user message from this rule."""
    limits = context.limits
    if limits.first_user or not limits.needs_user or memory.has_user or memory.has_stored_history:
        return
    for at in range(window.run_length):
        if window.messages[at].extra.get(ANSWERS):
            why = "the target has been sent a user message before this answer"
            yield Fix(at, at, (continued(Role.USER),), why, Effect.ADDS)
            return


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield a fix if the required user message is missing."""
    if memory.has_stored_history:
        return
    limits = context.limits
    end = len(window.messages)
    if limits.first_user and not memory.has_turns:
        first_turn = next(
            (at for at, message in enumerate(window.messages) if not message.is_system), end
        )
        # Mistral accepts system messages alone.
        is_missing = (
            limits.needs_user
            if first_turn == end
            else window.messages[first_turn].role is not Role.USER
        )
        if is_missing:
            yield Fix(
                first_turn,
                first_turn,
                (continued(Role.USER),),
                "the target requires a user message at the beginning",
                Effect.ADDS,
            )
    elif lacks_user(window, memory, context) and (window.is_last or not window.is_opening):
        turns = [at for at, message in enumerate(window.messages) if not message.is_system]
        position = turns[-1] + 1 if turns else end
        if turns and context.policy.purpose == "train":
            position = turns[0]  # the answer that is learnt stays the end
        yield Fix(
            position,
            position,
            (continued(Role.USER),),
            "the target requires at least one user message",
            Effect.ADDS,
        )


RULE = Rule("TURN003", "leading-assistant", find, STRUCTURE)
ANSWERED = Rule("TURN003", "leading-assistant", find_answered, STRUCTURE)
