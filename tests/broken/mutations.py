"""The registry of mutations: per dialect, a name and a function that breaks one thing.

``MUTATIONS["openai_chat"]["orphan-result"](messages, rng)`` returns a new, broken transcript. A mutation takes any
list, also a broken one, does not modify it, and always changes something: if there is nothing to break, it first
appends an exchange.
"""

from collections.abc import Callable
from random import Random
from typing import Any, Final

from .defects import calls, empties, ids, keys, pairing, shapes, streams, turns
from .defects.defect import Defect, Defects
from .nested import copied, same
from .sites import plant
from .wires import WIRES, Dialect, Wire

Mutation = Callable[[list[Any], Random], list[Any]]

ROOMS: Final = (pairing, ids, calls, empties, turns, keys, shapes, streams)


def _mutation(defect: Defect, wire: Wire) -> Mutation:
    def mutate(messages: list[Any], rng: Random) -> list[Any]:
        broken: list[Any] = copied(messages)
        defect(broken, rng, wire)
        if same(broken, messages):
            plant(broken, rng, wire)
            defect(broken, rng, wire)
        return broken

    return mutate


def _all_defects() -> Defects:
    found = Defects()
    for room in ROOMS:
        for name, (dialects, defect) in room.DEFECTS.items():
            found.add(name, defect, dialects)
    return found


DEFECTS: Final = _all_defects()

MUTATIONS: Final[dict[Dialect, dict[str, Mutation]]] = {
    dialect: {
        name: _mutation(defect, wire)
        for name, (dialects, defect) in DEFECTS.items()
        if dialect in dialects
    }
    for dialect, wire in WIRES.items()
}

UNPRINTABLE: Final = frozenset({"arguments-nested"})
"""What makes ``repr`` fail in a dialect that holds arguments as objects; Hypothesis must print what it finds."""
