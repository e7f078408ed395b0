"""Broken transcripts and requests by seed. The same seed gives the same transcript in every process."""

from collections.abc import Iterable
from random import Random
from typing import Any

from .beside import MISSING, broken_system, broken_tools
from .defects import blocks, chats, contents, items
from .defects.own import Own
from .mutations import MUTATIONS
from .nested import copied
from .translated import DERIVED
from .valid import Conversation, conversation
from .wires import Dialect

OWN: dict[str, Own] = {
    "openai_responses": items.OWN,
    "gemini_contents": contents.OWN,
    "bedrock_converse": blocks.OWN,
    "ollama_chat": chats.OWN,
}
"""What only the derived dialects can have wrong."""
RARE: dict[str, tuple[str, ...]] = {
    "openai_chat": (
        "file-in-result",
        "stored-deltas",
        "answered-by-a-hosted-tool",
        "thinking-signature-misspelt",
        "thinking-behind-text",
        "recording",
    ),
    "anthropic_messages": (
        "nobody-but-the-assistant",
        "stored-deltas",
        "answered-by-a-hosted-tool",
        "thinking-signature-misspelt",
    ),
    "bedrock_converse": (
        "nobody-but-the-assistant",
        "nobody-but-the-developer",
        "own:json-with-an-inner-type",
        "own:recording",
    ),
}
"""What a rule is for that hardly anything else calls for: each comes last, now and then, and is not drawn."""
UNDRAWN = frozenset(name for names in RARE.values() for name in names)
RARITY = 50
"""Each of ``RARE`` comes in one of so many transcripts."""
MANY = 20
"""How many mutations a transcript has that is broken in every way at once."""


def all_mutations(dialect: str) -> list[str]:
    """The names of what is drawn to be broken in a dialect: in a derived one all of its source's, and its own."""
    if dialect in DERIVED:
        return [*all_mutations(DERIVED[dialect].source), *_own_mutations(dialect)]
    return [name for name in MUTATIONS[dialect] if name not in UNDRAWN]  # type: ignore[index]  # not a derived one


def _own_mutations(dialect: str) -> list[str]:
    named = [f"own:{name}" for name in OWN.get(dialect, ())]
    return [name for name in named if name not in UNDRAWN]


def mutation_names(seed: int, dialect: str) -> list[str]:
    """What ``broken(seed, dialect)`` applies, in this order: none to five mutations, or now and then ``MANY``.

    And behind them, rarely, one of ``RARE``; in a derived dialect alone, because its own mutations add messages.
    """
    rng = Random(f"names:{dialect}:{seed}")
    wanted = MANY if rng.random() < 0.3 else rng.randint(0, 5)
    names = rng.sample(list(all_mutations(dialect)), wanted)
    own = [name for name in _own_mutations(dialect) if rng.random() < 0.1]
    number = int(Random(f"rare:{dialect}:{seed}").random() * RARITY)
    last = RARE.get(dialect, ())[number : number + 1]
    if last and dialect in DERIVED:
        return [*last]
    return list(dict.fromkeys([*names, *own, *last]))


def broken(seed: int, dialect: str, mutations: Iterable[str] | None = None) -> list[Any]:
    """The messages of the valid conversation with this seed, broken by ``mutations`` (by default the seed's own)."""
    names = list(mutation_names(seed, dialect) if mutations is None else mutations)
    if dialect not in DERIVED:
        return _break(conversation(seed, dialect), seed, dialect, names)  # type: ignore[arg-type]  # as above
    source = DERIVED[dialect].source
    inherited = [name for name in names if name in MUTATIONS[source]]
    return derived(
        _break(conversation(seed, source), seed, source, inherited), dialect, seed, names
    )


def derived(messages: list[Any], dialect: str, seed: int, names: Iterable[str] = ()) -> list[Any]:
    """The messages of another dialect, translated into a derived one and broken in its own ways."""
    made: list[Any] = copied(
        DERIVED[dialect].translate(messages, Random(f"derive:{dialect}:{seed}"))
    )
    for name in names:
        if name.startswith("own:"):
            OWN[dialect][name.removeprefix("own:")](made, Random(f"{name}:{seed}"))
    return made


def broken_request(
    seed: int, dialect: Dialect, mutations: Iterable[str] | None = None
) -> dict[str, Any]:
    """``messages`` as in ``broken``, with ``tools`` and, in anthropic_messages, ``system``; both may be missing."""
    made = conversation(seed, dialect)
    rng = Random(f"beside:{dialect}:{seed}")
    request = {
        "messages": _break(made, seed, dialect, mutations),
        "tools": broken_tools(made.tools, rng, dialect),
    }
    if dialect == "anthropic_messages":
        request["system"] = broken_system(made.system, rng)
    return {key: copied(value) for key, value in request.items() if value is not MISSING}


def _break(
    made: Conversation, seed: int, dialect: Dialect, mutations: Iterable[str] | None
) -> list[Any]:
    messages = made.messages
    for name in mutation_names(seed, dialect) if mutations is None else mutations:
        # Nothing is left of a short conversation whose beginning is cut; no repair can mend that.
        messages = mutate(messages, name, seed, dialect) or messages
    return messages


def mutate(messages: list[Any], name: str, seed: int, dialect: Dialect) -> list[Any]:
    """``messages`` broken by one mutation. Chance is seeded with its name: no two mutations invent the same token."""
    return MUTATIONS[dialect][name](messages, Random(f"{name}:{seed}"))
