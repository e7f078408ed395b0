"""Sends files, unchanged and repaired for LiteLLM, to a server that refuses as providers do.

    python -m tests.documents.judge [TARGET ...]

Prints for each target how many files are refused before and after the repair, and which. A request
counts as refused if LiteLLM cannot send it. No repaired request may contain the base64 of a file as text.
"""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

from chatmend.litellm.attempt import repair_attempt
from chatmend.litellm.shapes import CHAT
from tests.documents.files import samples
from tests.images.sandboxed import ROUTES as IMAGE_ROUTES
from tests.images.sandboxed import Route, print_refusals, verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chatmend.sandbox import Sandbox

ROUTES = IMAGE_ROUTES | {
    "deepseek/deepseek-chat": Route("deepseek/deepseek-chat", "deepseek"),
    "moonshot/kimi-k2": Route("moonshot/kimi-k2", "moonshot/v1"),
    "minimax/MiniMax-M2": Route("minimax/MiniMax-M2", "minimax/v1"),
    "perplexity/sonar": Route("perplexity/sonar", "perplexity", calls=False),
    "bedrock/us.meta.llama3-3-70b-instruct-v1:0": Route(
        "bedrock/converse/us.meta.llama3-3-70b-instruct-v1:0",
        "bedrock",
        IMAGE_ROUTES["bedrock/us.amazon.nova-pro-v1:0"].more,
    ),
}
"""Every endpoint of the sandbox that sees files, by the target of the repair."""
_LONGEST_BASE64 = re.compile(r"[A-Za-z0-9+/]{300,}")


def talk(name: str) -> list[Any]:
    """The files in a user's message, after a question."""
    return [
        {"role": "user", "content": [{"type": "text", "text": "What is this?"}, *samples()[name]]},
        {"role": "assistant", "content": "I see."},
        {"role": "user", "content": "And now?"},
    ]


def repaired(name: str, target: str) -> list[Any]:
    """The messages after the repair."""
    request = {"messages": talk(name)}
    attempt = repair_attempt(request, CHAT, target)
    messages: list[Any] = (attempt.request or request)["messages"]
    return messages


def has_base64_as_text(messages: list[Any]) -> bool:
    """Whether a text of the messages contains a long piece of base64."""
    texts = [
        part.get("text")
        for message in messages
        if isinstance(message["content"], list)
        for part in message["content"]
        if isinstance(part, dict)
    ]
    return any(_LONGEST_BASE64.search(text) for text in texts if isinstance(text, str))


def refused(server: Sandbox, target: str, names: Iterable[str], *, repair: bool) -> dict[str, str]:
    """What the server says to each file that it refuses, by the name of the file."""
    found = {}
    for name in names:
        messages = repaired(name, target) if repair else talk(name)
        if repair and has_base64_as_text(messages):
            found[name] = f"base64 as text: {json.dumps(messages)[:200]}"
        elif said := verdict(server, ROUTES[target], messages):
            found[name] = said
    return found


def main(targets: list[str]) -> int:
    """Print the table; return how many repaired files were refused."""
    return print_refusals(targets or ROUTES, samples(), refused)


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)
