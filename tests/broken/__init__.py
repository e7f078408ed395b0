"""Agent transcripts broken on purpose: by seed (``broken``) or by Hypothesis (``strategies.transcripts``)."""

from .generate import broken, broken_request, mutate, mutation_names
from .mutations import MUTATIONS
from .nested import copied, digest, same
from .tokens import expected_images, expected_tokens
from .valid import Conversation, Plan, conversation, render, valid
from .wires import WIRES, Dialect

__all__ = [
    "MUTATIONS",
    "WIRES",
    "Conversation",
    "Dialect",
    "Plan",
    "broken",
    "broken_request",
    "conversation",
    "copied",
    "digest",
    "expected_images",
    "expected_tokens",
    "mutate",
    "mutation_names",
    "render",
    "same",
    "valid",
]
