"""Finds the accounts in whatever a provider, an SDK or a framework hands over."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from operator import itemgetter
from typing import Any

from chatmend.usage.plain import mapping
from chatmend.usage.tables import Provider, Table, load, providers, table_at, tables

Found = tuple[int, str, Table, Mapping[str, Any]]
"""One account inside a payload: layer, path, table, data. Of two accounts the one in the lower layer has authority."""


def find(payload: Mapping[str, Any]) -> list[Found]:
    """Every account in the payload, the most trustworthy first; the payload itself where it is one."""
    table = recognise(payload)
    if table is not None and not table.body:
        return [(0, "", table, payload)]
    first, last_resort = _places()
    found: list[Found] = []
    _walk(found, first, payload)
    if len(found) > 1:
        found.sort(key=itemgetter(0))
    if table is not None and (not found or found[0][0] > _main_layer()):
        found.insert(0, (_main_layer(), "", table, payload))
    if not found:
        _walk(found, last_resort, payload)
    return found


def recognise(data: Mapping[str, Any]) -> Table | None:
    """The table whose marks the payload bears; of several the first in order."""
    marks = _marks()
    best = None
    for key in data:
        table = marks.get(key)
        if table is not None and (best is None or table.rank < best.rank) and data[key] is not None:
            best = table
            if not table.rank:
                break
    return best


def provider_of(data: Mapping[str, Any], name: str | None, model: str | None, module: str = "") -> Provider | None:
    """The provider's row: by its name, the SDK's module, a mark in the account, or the model."""
    names, modules, marks = _provider_index()
    if name is not None and name.lower() in names:
        return names[name.lower()]
    if module in modules:
        return modules[module]
    if name is None:
        for key in marks:
            if key in data:
                return marks[key]
    return _by_model(model.lower()) if model else None


def _walk(found: list[Found], places: "Mapping[str, _Place]", payload: Mapping[str, Any]) -> None:
    """Enter the keys under which accounts may stand, and note those that are accounts."""
    for key in payload:
        place = places.get(key)
        if place is None:
            continue
        value = payload[key]
        data = value if type(value) is dict else mapping(_first(value))
        if not data:
            continue
        if place.layer is not None:
            _note(found, place, place.layer, data)
        if place.inner:
            _walk(found, place.inner, data)


def _note(found: list[Found], place: "_Place", layer: int, data: Mapping[str, Any]) -> None:
    shape = place.shape
    if not shape:
        table = recognise(data)
        shape = table.shape if table is not None else ""
    if shape:
        found.append((layer, place.path, table_at(shape, place.path), data))


def _first(value: object) -> object:
    """Of a list of choices the first one that is there: Moonshot writes its usage into ``choices[0]``."""
    return value[0] if isinstance(value, list) and value else value


@dataclass(slots=True)
class _Place:
    """A key under which an account may stand, or another place below it."""

    path: str
    layer: int | None = None
    shape: str = ""
    inner: dict[str, "_Place"] = field(default_factory=dict)


@cache
def _places() -> tuple[dict[str, _Place], dict[str, _Place]]:
    """The places by key, and those that are looked at only where the others hold nothing."""
    first: dict[str, _Place] = {}
    last_resort: dict[str, _Place] = {}
    body = load("body")
    for index, layer in enumerate(body["layers"]):
        for path in layer["paths"]:
            place = _plant(last_resort if layer.get("last_resort") else first, path)
            place.layer, place.shape = index, body["shapes"].get(path, "")
    return first, last_resort


def _plant(places: dict[str, _Place], path: str) -> _Place:
    above, _, key = path.rpartition(".")
    inner = _plant(places, above).inner if above else places
    return inner.setdefault(key, _Place(path))


@cache
def _main_layer() -> int:
    return next(index for index, layer in enumerate(load("body")["layers"]) if layer.get("main"))


@cache
def _marks() -> dict[str, Table]:
    marks: dict[str, Table] = {}
    for table in tables().values():
        for mark in table.marks:
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
    return next((row for row in providers() if any(fnmatchcase(model, pattern) for pattern in row.models)), None)
