"""Messages in a wire format that chatmend does not repair, or that nothing tells.

Why: a body of Bedrock's Converse, of Gemini's Interactions or of Cohere's API v1 that is read as a chat loses its
calls, results and images. Whoever guesses wrongly makes a good request a broken one.

Repair: none; the messages are sent as they are. Where the format is one of chatmend's, name it: ``dialect=`` in Python.

Before (bedrock/us.amazon.nova-pro-v1:0):
    [{"role": "assistant", "content": [{"toolUse": {"toolUseId": "t1", "name": "look", "input": {}}}]}]
After:
    [{"role": "assistant", "content": [{"toolUse": {"toolUseId": "t1", "name": "look", "input": {}}}]}]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.changes import Change, Effect
from chatmend.rules.rule import Request, RequestRule

if TYPE_CHECKING:
    from chatmend.context import Context

CODE, NAME = "FORMAT001", "unknown-format"


def finding(why: str) -> Change:
    """What is told of a request that is left as it is."""
    return Change(CODE, NAME, Effect.RESHAPES, None, why, (), (), applied=False, finding=True)


def apply(request: Request, context: Context) -> tuple[Request, list[Change]]:
    """The request as it is: messages in such a format never come to the rules."""
    return request, []


RULE = RequestRule(CODE, NAME, apply)
