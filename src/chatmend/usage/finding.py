"""Finds the usage objects in the payload of any provider, SDK or framework."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

from chatmend.usage.mappings import as_mapping
from chatmend.usage.shapes import Leaf, Provider, UsageTable
from chatmend.usage.tables import load, providers, table_at, tables

Found = tuple[int, str, UsageTable, Mapping[str, Any], Provider | None]
"""One usage object: its layer, path, table and data, and the provider whose marks it has.

A lower layer takes precedence.
"""


class Layout(NamedTuple):
    """The relevant keys of a payload.

    Payloads of one kind have the same keys, so the layout is computed once for each kind.
    """

    own: tuple[str, UsageTable] | None
    """The first key that marks the payload itself as a usage object, with the table of its shape.

    It counts only if its value is not null.
    """
    marks: tuple[tuple[str, UsageTable], ...]
    """The keys that identify a shape, in the order of shapes."""
    locations: tuple[tuple[str, "_Location"], ...]
    body_keys: tuple[tuple[str, str, str], ...]
    """Keys next to the usage, each with the field that its text fills and the path.

    Both are empty if the key is not a text.
    """
    error_checks: tuple["ErrorCheck", ...]
    provider: Provider | None
    """The provider of which the payload has a mark."""


class ErrorCheck(NamedTuple):
    """A condition under which a body is not an answer.

    The key has one of some words, or is an empty list, or, without words, has any true value.
    """

    key: str
    code: str
    words: tuple[str, ...]
    empty: bool


def layout_of(payload: Mapping[str, Any]) -> Layout:
    """Return the layout of a payload."""
    keys = tuple(payload)
    layout = _LAYOUTS.get(keys)
    return layout if layout is not None else _compute_and_store(keys)


_MANY = 64
"""No payload of a provider has more keys than this, so the layout of a larger one is not stored."""
_KINDS = 256
_LAYOUTS: dict[tuple[str, ...], Layout] = {}
"""A layout for each kind of payload. An ``lru_cache`` would take a third of the total time."""


def _compute_and_store(keys: tuple[str, ...]) -> Layout:
    layout = _compute_layout(keys)
    if len(keys) <= _MANY:
        if len(_LAYOUTS) >= _KINDS:
            _LAYOUTS.clear()
        _LAYOUTS[keys] = layout
    return layout


def _compute_layout(keys: tuple[str, ...]) -> Layout:
    marks, (locations, _), body = _marks(), _locations(), tables()["body"].keys
    found = sorted(
        ((key, marks[key]) for key in keys if key in marks), key=lambda pair: pair[1].rank
    )
    return Layout(
        own=found[0] if found and not found[0][1].body else None,
        marks=tuple(found),
        locations=tuple((key, locations[key]) for key in keys if key in locations),
        body_keys=tuple((key, *_field_and_path(body[key])) for key in body if key in keys),
        error_checks=tuple(check for check in _error_checks() if check.key in keys),
        provider=next((row for mark, row in _provider_index()[2].items() if mark in keys), None),
    )


def _field_and_path(node: object) -> tuple[str, str]:
    return (node.key, node.path) if isinstance(node, Leaf) else ("", "")


def find(payload: Mapping[str, Any], layout: Layout) -> list[Found]:
    """Return all usage objects in the payload, in order of precedence.

    If the payload is itself a usage object, it is the only result.
    """
    own = _first_marked_table(payload, layout) if layout.marks else None
    if own is not None and not own.body:
        return [(0, "", own, payload, layout.provider)]
    found: list[Found] = []
    for key, location in layout.locations:
        _visit(found, location, payload[key])
    if len(found) > 1:
        found.sort(key=itemgetter(0))
    if own is not None and (not found or found[0][0] > _main_layer()):
        found.insert(0, (_main_layer(), "", own, payload, layout.provider))
    if not found:
        _search(found, _locations()[1], payload)
    return found


def _first_marked_table(data: Mapping[str, Any], layout: Layout) -> UsageTable | None:
    """Return the first table in order of which the payload has a mark that is not null."""
    for key, table in layout.marks:
        if data[key] is not None:
            return table
    return None


def provider_of(
    marked: Provider | None, name: str | None, model: str | None, module: str = ""
) -> Provider | None:
    """Return the facts about the provider, found by name, SDK module, mark or model."""
    if name is not None or module:
        names, modules, _ = _provider_index()
        known = names.get(name.lower()) if name is not None else None
        if known is not None or module in modules:
            return known or modules[module]
    if marked is not None and name is None:
        return marked
    return _by_model(model) if model else None


def _search(
    found: list[Found], locations: "Mapping[str, _Location]", payload: Mapping[str, Any]
) -> None:
    """Visit every key of the payload that is a location."""
    for key in payload:
        location = locations.get(key)
        if location is not None:
            _visit(found, location, payload[key])


def _visit(found: list[Found], location: "_Location", value: object) -> None:
    """Add the value at a location if it is a usage object, and search the locations below."""
    data = value if type(value) is dict else as_mapping(_first_choice(value))
    if not data:
        return
    if location.layer is not None:
        layout = layout_of(data)
        own = layout.own
        if own is not None and data[own[0]] is not None and not location.shape:
            table: UsageTable | None = own[1]
        else:
            table = (
                tables()[location.shape] if location.shape else _first_marked_table(data, layout)
            )
        if table is not None:
            here = location.tables.get(table.shape) or location.table(table.shape)
            found.append((location.layer, location.path, here, data, layout.provider))
    if location.inner:
        _search(found, location.inner, data)


def _first_choice(value: object) -> object:
    """Return the first item of a list: Moonshot sends its usage in ``choices[0]``."""
    return value[0] if isinstance(value, list) and value else value


@dataclass(slots=True)
class _Location:
    """A key that may hold a usage object, or another location below it."""

    path: str
    layer: int | None = None
    shape: str = ""
    inner: dict[str, "_Location"] = field(default_factory=dict)
    tables: dict[str, UsageTable] = field(default_factory=dict)
    """The tables of the shapes that were found here."""

    def table(self, shape: str) -> UsageTable:
        """Return the table of a shape, with the path of this location as prefix."""
        return self.tables.setdefault(shape, table_at(shape, self.path))


@cache
def _locations() -> tuple[dict[str, _Location], dict[str, _Location]]:
    """Return the locations by key, and those to visit only if the others have no usage."""
    first: dict[str, _Location] = {}
    last_resort: dict[str, _Location] = {}
    body = load("body")
    for index, layer in enumerate(body["layers"]):
        for path in layer["paths"]:
            location = _insert(last_resort if layer.get("last_resort") else first, path)
            location.layer, location.shape = index, body["shapes"].get(path, "")
    return first, last_resort


def _insert(locations: dict[str, _Location], path: str) -> _Location:
    above, _, key = path.rpartition(".")
    inner = _insert(locations, above).inner if above else locations
    return inner.setdefault(key, _Location(path))


@cache
def _error_checks() -> tuple[ErrorCheck, ...]:
    rows = load("body")["errors"]
    return tuple(
        ErrorCheck(row["key"], row["code"], tuple(row.get("words", ())), row.get("empty", False))
        for row in rows
    )


@cache
def _main_layer() -> int:
    return next(index for index, layer in enumerate(load("body")["layers"]) if layer.get("main"))


@cache
def _marks() -> dict[str, UsageTable]:
    marks: dict[str, UsageTable] = {}
    by_location = load("body")["shapes"].values()
    for table in tables().values():
        for mark in table.marks if table.shape not in by_location else ():
            marks.setdefault(mark, table)
    return marks


@cache
def _provider_index() -> tuple[dict[str, Provider], dict[str, Provider], dict[str, Provider]]:
    rows = providers()
    return (
        {name: row for row in rows for name in row.names},
        {module: row for row in rows for module in row.modules},
        {mark: row for row in rows for mark in row.marks},
    )


@lru_cache(maxsize=512)
def _by_model(model: str) -> Provider | None:
    return next(
        (
            row
            for row in providers()
            if any(fnmatchcase(model.lower(), pattern) for pattern in row.models)
        ),
        None,
    )
