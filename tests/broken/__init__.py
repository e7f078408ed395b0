"""Agent transcripts broken on purpose: by seed (``broken``) or by Hypothesis (``strategies.transcripts``)."""

from .generate import all_mutations, broken, broken_request, derived, mutate, mutation_names
from .mutations import MUTATIONS
from .nested import copied, digest, paths, same
from .tokens import expected_images, expected_tokens
from .torn import tear, torn
from .valid import Conversation, Plan, conversation, render, valid
from .wires import WIRES, Dialect

__all__ = [
    "MUTATIONS",
    "WIRES",
    "Conversation",
    "Dialect",
    "Plan",
    "all_mutations",
    "broken",
    "broken_request",
    "conversation",
    "copied",
    "derived",
    "digest",
    "expected_images",
    "expected_tokens",
    "mutate",
    "mutation_names",
    "paths",
    "render",
    "same",
    "tear",
    "torn",
    "valid",
]
