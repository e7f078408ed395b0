"""Where each limit of a target comes from: file, section, source and date."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chatmend.targets.layers import layers_of
from chatmend.targets.limits import Limits
from chatmend.targets.resolve import (
    UNKNOWN,
    apply_facts,
    dialect_layers,
    find_table,
    is_defined_elsewhere,
    only_stricter,
)
from chatmend.targets.strictness import IMAGES
from chatmend.targets.tables import host_table

if TYPE_CHECKING:
    from datetime import date

    from chatmend.targets.layers import Layer


@dataclass(frozen=True, slots=True)
class Origin:
    """A limit of a target with its value and where the value comes from."""

    section: str
    """``limits``, ``images``, ``hygiene`` or ``rules``."""
    name: str
    value: Any
    """The value as the table writes it: ``"none"`` means no limit."""
    place: str
    """File, section and models: ``makers/mistral.toml [structure]``."""
    source: str
    checked: date | None
    """When the source was last checked."""


_KNOWN_BY = (
    ("recorded", "recorded"),
    ("measured", "measured"),
    ("seen", "reported"),
    ("facts:", "reported"),
    ("documented", "documented"),
    ("schema", "code"),
    ("botocore", "code"),
    ("mistral_common", "code"),
    ("litellm", "code"),
    ("vllm", "code"),
    ("inferred", "inferred"),
)
"""How a fact is known, by the beginning of its source."""
_DOCUMENTED = re.compile(r"^[A-Za-z ]*: [a-z-]+/|^(docs|ai|console|help|blog)\.|https?://")
"""A source that names a page of documentation."""


def how_known(source: str) -> str:
    """Return how a fact is known, from its source.

    ``recorded`` (a real request), ``measured`` (by somebody who says how), ``reported`` (in public
    threads), ``documented``, ``code`` (of a validator, a schema or a converter), or ``inferred``.
    """
    text = source.lower()
    if "see the quoted errors" in text:
        return "reported"
    for beginning, known in _KNOWN_BY:
        if text.startswith(beginning):
            return known
    return "documented" if _DOCUMENTED.search(source) else "inferred"


def origins(name: str, dialect: str = "") -> list[Origin]:
    """Return the origin of each limit that the tables set for a target, by section and name.

    Args:
        name: the target, as for ``resolve``.
        dialect: a wire format; empty means the limits that hold in no format in particular.

    Raises:
        TargetError: the name is empty or a single word that no table lists.
    """
    host, model = find_table(name.strip())
    table = host or host_table(UNKNOWN)
    layers = layers_of(table, model, dialect)
    if is_defined_elsewhere(table, model, dialect):
        own = [layer._replace(limits={}) for layer in layers]
        defining = dialect_layers(model, dialect)
        layers = [layer._replace(images={}, hygiene={}) for layer in defining] + own
    found: dict[tuple[str, str], Origin] = {}
    for section in ("limits", "images", "hygiene", "rules"):
        _add_section(found, section, layers)
    return list(found.values())


def _add_section(found: dict[tuple[str, str], Origin], section: str, layers: list[Layer]) -> None:
    limits = Limits()
    images = limits.images
    for layer in layers:
        facts = getattr(layer, section)
        if section == "limits":
            facts = only_stricter(limits, facts) if layer.tightens else facts
            limits = apply_facts(limits, facts)
        elif section == "images":
            facts = only_stricter(images, facts, IMAGES) if layer.tightens else facts
            images = apply_facts(images, facts)
        for name, fact in facts.items():
            known = fact if isinstance(fact, dict) else {"value": fact}
            found[section, name] = Origin(
                section,
                name,
                known["value"],
                known.get("place", layer.place),
                known.get("source", ""),
                known.get("checked"),
            )
