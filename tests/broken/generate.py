"""Broken transcripts and requests by seed. The same seed gives the same transcript in every process."""

from collections.abc import Iterable
from random import Random
from typing import Any

from .beside import MISSING, broken_system, broken_tools
from .mutations import MUTATIONS
from .nested import copied
from .valid import Conversation, conversation
from .wires import Dialect

MANY = 20
"""How many mutations a transcript has that is broken in every way at once."""


def mutation_names(seed: int, dialect: Dialect) -> list[str]:
    """What ``broken(seed, dialect)`` applies, in this order: none to five mutations, or now and then ``MANY``."""
    rng = Random(f"names:{dialect}:{seed}")
    wanted = MANY if rng.random() < 0.3 else rng.randint(0, 5)
    return rng.sample(list(MUTATIONS[dialect]), wanted)


def broken(seed: int, dialect: Dialect, mutations: Iterable[str] | None = None) -> list[Any]:
    """The messages of the valid conversation with this seed, broken by ``mutations`` (by default the seed's own)."""
    return _break(conversation(seed, dialect), seed, dialect, mutations)


def broken_request(seed: int, dialect: Dialect, mutations: Iterable[str] | None = None) -> dict[str, Any]:
    """``messages`` as in ``broken``, with ``tools`` and, in anthropic_messages, ``system``; both may be missing."""
    made = conversation(seed, dialect)
    rng = Random(f"beside:{dialect}:{seed}")
    request = {"messages": _break(made, seed, dialect, mutations), "tools": broken_tools(made.tools, rng, dialect)}
    if dialect == "anthropic_messages":
        request["system"] = broken_system(made.system, rng)
    return {key: copied(value) for key, value in request.items() if value is not MISSING}


def _break(made: Conversation, seed: int, dialect: Dialect, mutations: Iterable[str] | None) -> list[Any]:
    messages = made.messages
    for name in mutation_names(seed, dialect) if mutations is None else mutations:
        messages = mutate(messages, name, seed, dialect)
    return messages


def mutate(messages: list[Any], name: str, seed: int, dialect: Dialect) -> list[Any]:
    """``messages`` broken by one mutation. Chance is seeded with its name: no two mutations invent the same token."""
    return MUTATIONS[dialect][name](messages, Random(f"{name}:{seed}"))
