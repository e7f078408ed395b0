"""Finds broken rules of Perplexity."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from chatmend.sandbox.providers.chat_shape import text_of
from chatmend.sandbox.refusals import Fault, fault
from chatmend.sandbox.request import SandboxRequest, objects

if TYPE_CHECKING:
    from collections.abc import Iterator


def faults(request: SandboxRequest) -> Iterator[Fault]:
    """Yield every fault; the API reports only the first."""
    messages = objects(request.messages)
    roles = [str(message.get("role")) for message in messages]
    leading = next((at for at, role in enumerate(roles) if role != "system"), len(roles))
    heard = [
        "assistant" if role == "assistant" else "user" if role in ("user", "tool") else role
        for role in roles[leading:]
    ]
    if (
        any(role not in ("user", "assistant") for role in heard)
        or (heard and heard[0] != "user")
        or any(left == right for left, right in itertools.pairwise(heard))
    ):
        yield fault("perplexity-alternation")
    if heard and heard[-1] == "assistant":
        yield fault("perplexity-last-user")
    if sum(len(text_of(message.get("content"))) for message in messages) // 4 > 200_000:
        yield fault("perplexity-context")
