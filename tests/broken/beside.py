"""The parameters ``system`` and ``tools`` of a request, and their broken forms."""

from random import Random
from typing import Any

from .nested import copied
from .tokens import fresh
from .wires import Dialect, text_part

MISSING = object()
"""Leave the key out of the request."""


def broken_system(system: Any, rng: Random) -> Any:
    """Return the system prompt in one of its broken forms, or unchanged half of the time."""
    if rng.random() < 0.5:
        return MISSING if system is None else system
    token = fresh(rng)
    return rng.choice(
        (
            MISSING,
            None,
            "",
            " \n",
            [],
            [text_part("")],
            [text_part(" "), text_part(f"Rule {token}.")],
            [{**text_part(" "), "cache_control": {"type": "ephemeral"}}],
            [
                {**text_part(f"Rule {token} {number}."), "cache_control": {"type": "ephemeral"}}
                for number in range(6)
            ],
            f"Rule \ud83d {token}.",
            [f"Rule {token}.", 3, None],
            {"type": "text", "text": f"Rule {token}."},
            7,
        )
    )


def broken_tools(tools: list[Any], rng: Random, dialect: Dialect) -> Any:
    """Return the declared tools in one of their broken forms, or unchanged half of the time."""
    if rng.random() < 0.5:
        return tools
    changed = copied(tools)
    entry = rng.choice(changed)
    owner = entry["function"] if dialect == "openai_chat" else entry
    defect = rng.randrange(8)
    if defect == 0:
        owner["name"] = rng.choice(("", "a.b c", "x" * 200, "é", None))
    elif defect == 1:
        owner.pop("parameters" if dialect == "openai_chat" else "input_schema")
    elif defect == 2:
        changed.append(copied(entry))
    elif defect == 3:
        owner["description"] = f"\ud83d {fresh(rng)}"
    else:
        return rng.choice((MISSING, [], None, changed[:1]))
    return changed
