"""Reads the tables of facts: one file per maker of models, and one per host that serves them."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

Table = dict[str, Any]
"""A file of facts as read from TOML."""


@lru_cache(maxsize=2)
def _stems(folder: str) -> tuple[str, ...]:
    from importlib.resources import files

    paths = files(__package__).joinpath(folder).iterdir()
    return tuple(sorted(path.name[:-5] for path in paths if path.name.endswith(".toml")))


@lru_cache(maxsize=256)
def _read(folder: str, stem: str) -> Table:
    import tomllib
    from importlib.resources import files

    text = files(__package__).joinpath(folder, f"{stem}.toml").read_text("utf-8")
    return {"file": f"{folder}/{stem}.toml", "names": [stem], **tomllib.loads(text)}


@lru_cache(maxsize=256)
def host_table(stem: str) -> Table:
    """Return the table of a host; the stem is the name of its file.

    An entry that names a maker instead of a list of models holds for all models of the maker.
    """
    table = _read("hosts", stem)
    return {**table, "serves": [_with_models(entry) for entry in table.get("serves", ())]}


def _with_models(entry: Table) -> Table:
    if not isinstance(name := entry["models"], str):
        return entry
    maker = maker_table(name)
    return {**entry, "models": maker["models"], "except": maker.get("except", ())}


def maker_table(stem: str) -> Table:
    """Return the table of a maker; the stem is the name of its file."""
    return _read("makers", stem)


@lru_cache(maxsize=1)
def host_tables() -> tuple[Table, ...]:
    """Return the tables of all hosts, sorted by file name."""
    return tuple(host_table(stem) for stem in _stems("hosts"))


@lru_cache(maxsize=1)
def maker_tables() -> tuple[Table, ...]:
    """Return the tables of all makers, sorted by file name."""
    return tuple(maker_table(stem) for stem in _stems("makers"))


def find_host(name: str) -> Table | None:
    """Return the table of the host with a name, in lower case."""
    if name in _stems("hosts"):
        return host_table(name)
    return next((table for table in host_tables() if name in table["names"]), None)


def host_of_model(model: str) -> Table | None:
    """Return the table of the host that a bare model id belongs to (``gpt-*`` is OpenAI's)."""
    return next((t for t in host_tables() if any_match(t.get("models", ()), model)), None)


def maker_of_model(model: str) -> Table | None:
    """Return the table of the maker whose models have such names, behind any host."""
    return next((table for table in maker_tables() if has_model(table, model)), None)


def has_model(table: Table, model: str) -> bool:
    """Return whether a maker, or an entry of a table, has a model with such a name."""
    return any_match(table["models"], model) and not any_match(table.get("except", ()), model)


def known_providers() -> tuple[str, ...]:
    """Return the names of all hosts that have a table, sorted."""
    return tuple(sorted(name for table in host_tables() for name in table["names"]))


def any_match(patterns: list[str] | tuple[str, ...], model: str) -> bool:
    """Return whether a model id matches one of some shell patterns, regardless of case."""
    name = model.lower()
    return any(fnmatchcase(name, pattern) for pattern in patterns)
