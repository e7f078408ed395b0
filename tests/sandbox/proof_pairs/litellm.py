"""Faults in requests that are sent through LiteLLM, in the Chat Completions format.

Faults that LiteLLM repairs, or for which it raises before it sends anything, have no pair.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.sandbox.proof_pairs import chat

if TYPE_CHECKING:
    from tests.sandbox.proof_pairs.pictures import Pair

_TRAILING_ASSISTANT: Pair = (
    chat.request(chat.QUESTION, chat.ANSWER),
    chat.request(chat.QUESTION, chat.ANSWER, chat.NEXT),
)
_OPENAI = chat.PAIRS["openai"]


def _without(provider: str, *faults: str) -> dict[str, Pair]:
    return {fault: pair for fault, pair in chat.PAIRS[provider].items() if fault not in faults}


def _of_openai(*faults: str) -> dict[str, Pair]:
    return {fault: _OPENAI[fault] for fault in faults}


PAIRS: dict[str, dict[str, Pair]] = {
    "openai": _without(
        "openai", "image-in-tool-result", "foreign-key", "tool-choice-without-tools"
    ),
    "mistral": _without("mistral", "empty-content"),
    "deepseek": _without("deepseek", "unknown-role", "refused-image", "arguments-no-text"),
    "xai": _without("xai", "tool-choice-without-tools", "null-next-to-calls"),
    "groq": _without("groq", "refused-key"),
    "moonshot": chat.PAIRS["moonshot"],
    "zai": chat.PAIRS["zai"],
    "minimax": chat.PAIRS["minimax"],
    "cohere": chat.PAIRS["cohere"],
    "anthropic": {
        **_of_openai(
            "orphan-tool-result", "unanswered-tool-call", "late-tool-result", "called-by-a-bad-name"
        ),
        **_of_openai("unreadable-image", "mislabelled-file"),
        "trailing-assistant": _TRAILING_ASSISTANT,
    },
    "gemini": {
        **_of_openai("bad-tool-name", "unreadable-image"),
        "missing-tool-result": chat.HALF_ANSWERED,
        "folded-calls": chat.EQUAL_CALLS,
    },
    "bedrock": {
        **_of_openai(
            "orphan-tool-result",
            "unanswered-tool-call",
            "image-of-the-assistant",
            "unreadable-image",
        ),
        "missing-tool-result": chat.HALF_ANSWERED,
    },
}
"""Provider -> fault -> (refused, accepted)."""
