"""Messages in a wire format that chatmend cannot repair or cannot identify.

Why: A body for Gemini's Interactions API or Cohere's API v1 that is read as Chat Completions loses
its calls, results and images. A wrong guess would break a valid request.

Repair: None; the messages are sent unchanged. If chatmend supports the format, name it with
``dialect=`` in Python.

Before (gemini/gemini-2.5-flash):
    [{"type": "user_input", "content": [{"type": "text", "text": "hi"}]}]
After:
    [{"type": "user_input", "content": [{"type": "text", "text": "hi"}]}]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.changes import Change, Effect
from chatmend.rules.rule import Request, RequestRule

if TYPE_CHECKING:
    from chatmend.context import Context

CODE, NAME = "FORMAT001", "unknown-format"


def make_finding(why: str) -> Change:
    """Return the finding for a request that is passed through unchanged."""
    return Change(CODE, NAME, Effect.RESHAPES, None, why, (), (), applied=False, finding=True)


def apply(request: Request, context: Context) -> tuple[Request, list[Change]]:
    """Return the request unchanged: rules never receive messages in such a format."""
    return request, []


RULE = RequestRule(CODE, NAME, apply)
