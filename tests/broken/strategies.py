"""Hypothesis strategies over the same plans and mutations. They shrink to few turns and few mutations.

A plan is drawn field by field, simplest value first, and each mutation is a name with its own small seed: if
one mutation is removed, the others do the same as before, as far as possible.
"""

from collections.abc import Iterable
from typing import Any, get_args

from hypothesis import note
from hypothesis import strategies as st

from .generate import OWN, derived, mutate
from .mutations import MUTATIONS, UNPRINTABLE
from .translated import DERIVED
from .valid import Conversation, Exchange, Ids, Plan, System, Thinking, Turn, render
from .wires import Dialect

SEEDS = 16
"""How many variants of a mutation are tried; few, so that a shrunk example stays near the one that was found."""

exchanges: st.SearchStrategy[Exchange] = st.builds(
    Exchange,
    calls=st.integers(1, 4),
    text=st.booleans(),
    results=st.sampled_from(("string", "parts", "image")),
)
turns: st.SearchStrategy[Turn] = st.builds(
    Turn,
    user=st.sampled_from(("string", "parts", "image", "document")),
    exchanges=st.lists(exchanges, max_size=3).map(tuple),
    thinking=st.sampled_from(get_args(Thinking)),
    answer=st.sampled_from(("string", "parts")),
)
plans: st.SearchStrategy[Plan] = st.builds(
    Plan,
    turns=st.lists(turns, min_size=1, max_size=4).map(tuple),
    system=st.sampled_from(get_args(System)),
    ids=st.sampled_from(get_args(Ids)),
    extras=st.booleans(),
)


def valid_conversations(dialect: Dialect) -> st.SearchStrategy[Conversation]:
    """Small valid conversations: messages, system and tools."""
    return plans.map(lambda drawn: render(drawn, dialect))


def printable(dialect: Dialect) -> list[str]:
    """The mutations whose transcripts Hypothesis can print."""
    hidden = UNPRINTABLE if dialect == "anthropic_messages" else frozenset()
    return [name for name in MUTATIONS[dialect] if name not in hidden]


@st.composite
def transcripts(
    draw: st.DrawFn, dialect: str, *, mutations: Iterable[str] | None = None, max_mutations: int = 4
) -> list[Any]:
    """Small transcripts, broken by up to ``max_mutations`` of ``mutations`` (by default: of all printable ones)."""
    if dialect in DERIVED:
        messages = draw(transcripts(DERIVED[dialect].source, max_mutations=max_mutations))
        own = st.lists(st.sampled_from(sorted(OWN[dialect])), max_size=2, unique=True)
        return derived(
            messages,
            dialect,
            draw(st.integers(0, SEEDS - 1)),
            [f"own:{name}" for name in draw(own)],
        )
    names = printable(dialect) if mutations is None else list(mutations)
    picks = st.tuples(st.sampled_from(names), st.integers(0, SEEDS - 1))
    messages = draw(valid_conversations(dialect)).messages
    chosen = draw(st.lists(picks, max_size=max_mutations, unique_by=lambda picked: picked[0]))
    for name, seed in chosen:
        messages = mutate(messages, name, seed, dialect)
    note(f"mutations: {chosen}")
    return messages
