"""Composes the limits of a target from the table of a host and the table of a model's maker.

Facts are applied in layers; a later layer overrides an earlier one:

1. the host's base (``like``) and the host's own facts,
2. the structure that the model's maker demands behind every host; it can only make limits stricter,
   and the host's table ``[lifts]`` names what does not hold there,
3. each entry ``[[serves]]`` of the host that matches the model. With ``holds = "all"`` it replaces
   the layers before it by everything that the maker's own API checks; with ``holds = "messages"``
   the limits of images and files before it stay,
4. the limits of images that the maker's models have behind every host (``[structure_images]``), in
   every wire format; these can only make limits stricter, too, and ``[lifts]`` names exceptions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from chatmend.targets.strictness import IMAGES
from chatmend.targets.tables import find_host, has_model, host_table, maker_of_model, maker_table

if TYPE_CHECKING:
    from chatmend.targets.tables import Table

Facts = dict[str, Any]
"""Values by the name of a limit, each a value or a table with value, source and date."""

DIALECT_MAKERS = {"openai_responses": "openai", "gemini_contents": "google"}
"""Makers that defined a dialect, which others copy.

Their limits apply to the dialect if a host's table does not describe it.
"""
DIALECT_HOSTS = {"bedrock_converse": "bedrock", "ollama_chat": "ollama"}
"""Hosts that defined a dialect; as ``DIALECT_MAKERS``."""

_MESSAGES = "messages"
"""The value of ``holds`` with which a maker's limits of messages replace those of the host.

Its own limits of images and of single rules, and its hygiene, still hold.
"""
_REPLACING = ("all", _MESSAGES)
STRUCTURE_IMAGES = "structure_images"
"""The section of a maker's table for limits of images that its models have behind every host."""


class Layer(NamedTuple):
    """Facts from one place of the tables."""

    place: str
    """The file and the section, for example ``makers/mistral.toml [structure]``."""
    limits: Facts
    images: Facts
    hygiene: Facts
    rules: Facts
    tightens: bool = False
    """The facts apply only where they are stricter than those of the layers before."""


def layers_of(host: Table, model: str, dialect: str = "", *, by_name: bool = True) -> list[Layer]:
    """Return the layers of facts for a model at a host, in the order to apply them.

    Args:
        host: the table of the host.
        model: the model id, as the host names it.
        dialect: the wire format of the request; empty if it is not known.
        by_name: whether the name of the model tells its maker, if no entry of the host does.
    """
    inner = _host_in_name(host, model)
    if inner is not None:
        return layers_of(*inner, dialect)
    entries = _entries(host, model, dialect)
    base = host_table(host["like"]) if "like" in host else None
    layers = layers_of(base, model, dialect, by_name=False) if base else []
    layers.append(_layer(host["file"], host, "limits"))
    if by_name and not any("maker" in entry or "host" in entry for entry in entries):
        maker = maker_of_model(model) if host.get("makers", True) else None
        layers += [_structure(maker, host, model, dialect)] if maker else []
    for entry in entries:
        if _replaces(entry, model, dialect):
            layers = _replacement(entry, model, dialect, layers)
        elif entry.get("holds") == "structure":
            layers.append(_structure(maker_table(entry["maker"]), host, model, dialect))
        place = f"{host['file']}, models {', '.join(entry['models'])}"
        layers.append(_layer(place, entry, "limits"))
    return [*layers, *_everywhere(host, model, dialect)] if by_name else layers


def _everywhere(host: Table, model: str, dialect: str) -> list[Layer]:
    """Return what follows a maker's models to every host: limits of images, and conventions."""
    maker = maker_of_model(model) if host.get("makers", True) else None
    if maker is None:
        return []
    layers = [_images_everywhere(maker, host, model, dialect)]
    if maker.get("hygiene_everywhere"):
        layers.append(Layer(f"{maker['file']} [hygiene]", {}, {}, maker.get("hygiene", {}), {}))
    return layers


def _entries(host: Table, model: str, dialect: str) -> list[Table]:
    return [entry for entry in host.get("serves", ()) if _matches(entry, model, dialect)]


def maker_behind(host: Table, model: str) -> str:
    """Return the maker of a model at a host; empty if it is not known."""
    inner = _host_in_name(host, model)
    if inner is not None:
        return maker_behind(*inner)
    named = ""
    for entry in host.get("serves", ()):
        if _matches(entry, model, "") and "maker" in entry:
            named = entry["maker"]
    if named or not host.get("makers", True):
        return named
    maker = maker_of_model(model)
    return maker["maker"] if maker else ""


def models_shown(host: Table, model: str) -> Table:
    """Return the keys of a request that show the model behind an id that hides it.

    Each has a name of the model. Empty: the id tells the model.
    """
    inner = _host_in_name(host, model)
    if inner is not None:
        return models_shown(*inner)
    found = (entry["shown_by"] for entry in _entries(host, model, "") if "shown_by" in entry)
    return next(found, {})


def describes(host: Table, model: str, dialect: str) -> bool:
    """Return whether the table of a host, or of a maker behind it, describes a dialect."""
    inner = _host_in_name(host, model)
    if inner is not None:
        return describes(*inner, dialect)
    return any(
        entry.get("dialect") == dialect or _described_behind(entry, model, dialect)
        for entry in _entries(host, model, dialect)
    ) or ("like" in host and describes(host_table(host["like"]), model, dialect))


def dialects_of(host: Table, model: str) -> set[str]:
    """Return the dialects in which the limits of a model at a host may differ."""
    inner = _host_in_name(host, model)
    if inner is not None:
        return dialects_of(*inner)
    found = {*DIALECT_MAKERS, *DIALECT_HOSTS}
    for entry in host.get("serves", ()):
        found |= {entry["dialect"]} if "dialect" in entry else set()
        if "host" in entry:
            found |= dialects_of(host_table(entry["host"]), model)
        for generation in (
            maker_table(entry["maker"]).get("generation", ()) if "maker" in entry else ()
        ):
            found |= {generation["dialect"]} if "dialect" in generation else set()
    return found | (dialects_of(host_table(host["like"]), model) if "like" in host else set())


def maker_layers(maker: Table, model: str, dialect: str) -> list[Layer]:
    """Return the layers of everything that a maker's own API checks."""
    file = maker["file"]
    layers = [_demanded(f"{file} [structure]", maker), _layer(f"{file} [api]", maker, "api")]
    for generation in _generations(maker, model, dialect):
        place = f"{file}, models {', '.join(generation['models'])}"
        layers += [_demanded(place, generation), _layer(place, generation, "api")]
    return layers


def _demanded(place: str, table: Table) -> Layer:
    """Return what a maker's models, or some of them, demand behind every host."""
    return Layer(place, table.get("structure", {}), table.get(STRUCTURE_IMAGES, {}), {}, {})


def _structure(maker: Table, host: Table, model: str, dialect: str) -> Layer:
    """Return what a maker's models demand behind every host, without what this host lifts."""
    facts = _facts_everywhere("structure", maker, model, dialect)
    lifted = _lifted(host)
    facts = {name: fact for name, fact in facts.items() if name not in lifted}
    return Layer(f"{maker['file']} [structure]", facts, {}, {}, {}, tightens=True)


def _images_everywhere(maker: Table, host: Table, model: str, dialect: str) -> Layer:
    """Return the limits of images that a maker's models have behind every host."""
    facts = _facts_everywhere(STRUCTURE_IMAGES, maker, model, dialect)
    lifted = _lifted(host)
    facts = {name: fact for name, fact in facts.items() if IMAGES + name not in lifted}
    return Layer(f"{maker['file']} [{STRUCTURE_IMAGES}]", {}, facts, {}, {}, tightens=True)


def _facts_everywhere(section: str, maker: Table, model: str, dialect: str) -> Facts:
    """Return the facts of a section of a maker and of the generations of a model."""
    place = f"{maker['file']} [{section}]"
    facts = {name: {**fact, "place": place} for name, fact in maker.get(section, {}).items()}
    for generation in _generations(maker, model.rsplit("/", 1)[-1], dialect):
        where = f"{place}, models {', '.join(generation['models'])}"
        for name, fact in generation.get(section, {}).items():
            facts[name] = {**fact, "place": where}
    return facts


def _lifted(host: Table) -> set[str]:
    base = _lifted(host_table(host["like"])) if "like" in host else set()
    return base | set(host.get("lifts", ()))


def _replacement(entry: Table, model: str, dialect: str, replaced: list[Layer]) -> list[Layer]:
    """Return the layers of the host or maker of an entry, in place of those before it."""
    name = model.rsplit("/", 1)[-1]
    if "host" in entry:
        return layers_of(host_table(entry["host"]), name, dialect)
    made = maker_layers(maker_table(entry["maker"]), name, dialect)
    if entry["holds"] != _MESSAGES:
        return made
    return [
        *(layer._replace(images={}, hygiene={}) for layer in made),
        *(layer._replace(limits={}) for layer in replaced),
    ]


def _replaces(entry: Table, model: str, dialect: str) -> bool:
    """Return whether an entry replaces the layers before it by those of a maker or another host.

    It does not in a dialect of another maker (``DIALECT_MAKERS``) that its tables do not describe.
    """
    return ("host" in entry or entry.get("holds") in _REPLACING) and (
        dialect not in DIALECT_MAKERS
        or entry.get("dialect") == dialect
        or _described_behind(entry, model, dialect)
    )


def _described_behind(entry: Table, model: str, dialect: str) -> bool:
    name = model.rsplit("/", 1)[-1]
    if "host" in entry:
        return describes(host_table(entry["host"]), name, dialect)
    return entry.get("holds") in _REPLACING and any(
        generation.get("dialect") == dialect
        for generation in _generations(maker_table(entry["maker"]), name, dialect)
    )


def _host_in_name(host: Table, model: str) -> tuple[Table, str] | None:
    """Return the host that a gateway's model id begins with, and the rest of the id."""
    first, _, rest = model.partition("/")
    inner = find_host(first.lower()) if rest and host.get("prefix_is_host") else None
    return (inner, rest) if inner else None


def _generations(maker: Table, model: str, dialect: str) -> list[Table]:
    return [one for one in maker.get("generation", ()) if _matches(one, model, dialect)]


def _matches(entry: Table, model: str, dialect: str) -> bool:
    return bool(entry.get("dialect", dialect) == dialect and has_model(entry, model))


def _layer(place: str, table: Table, limits: str) -> Layer:
    return Layer(
        place,
        table.get(limits, {}),
        table.get("images", {}),
        table.get("hygiene", {}),
        table.get("rules", {}),
    )
