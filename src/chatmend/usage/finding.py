"""Finds the accounts in whatever a provider, an SDK or a framework hands over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

from chatmend.usage.plain import mapping
from chatmend.usage.tables import Provider, Table, load, providers, tables


@dataclass(frozen=True, slots=True)
class Found:
    """One account inside a payload."""

    layer: int
    """Its authority: of two accounts the one in the lower layer gives a field that both have."""
    path: str
    table: Table
    data: Mapping[str, Any]


def find(payload: Mapping[str, Any]) -> list[Found]:
    """Every account in the payload, the most trustworthy first; the payload itself where it is one."""
    table = recognise(payload)
    main = _main_layer()
    if table is not None and not table.body:
        return [Found(main, "", table, payload)]
    found = [account for layer, path in _places() for account in _at(payload, layer, path)]
    if table is not None and all(account.layer > main for account in found):
        found.insert(0, Found(main, "", table, payload))
    return found


def recognise(data: Mapping[str, Any]) -> Table | None:
    """The table whose marks the payload bears; of several the first in order."""
    marks = _marks()
    best = None
    for key in data:
        table = marks.get(key)
        if table is not None and (best is None or table.rank < best.rank) and data[key] is not None:
            best = table
    return best


def provider_of(data: Mapping[str, Any], name: str | None, model: str | None, module: str = "") -> Provider | None:
    """The provider's row: by its name, the SDK's module, a mark in the account, or the model."""
    by_name, by_mark = _provider_index()
    if name is not None and name.lower() in by_name:
        return by_name[name.lower()]
    for row in providers():
        if module and module in row.modules:
            return row
    if name is None:
        for key in by_mark:
            if key in data:
                return by_mark[key]
    if model:
        return _by_model(model.lower())
    return None


def _at(payload: Mapping[str, Any], layer: int, path: tuple[str, ...]) -> Iterator[Found]:
    value: Any = payload
    for key in path:
        inner = mapping(_first(value))
        if inner is None:
            return
        value = inner.get(key)
        if value is None:
            return
    data = mapping(_first(value))
    if data is None or not data:
        return
    where = ".".join(path)
    shape = load("body")["shapes"].get(where)
    table = tables()[shape] if shape else recognise(data)
    if table is not None:
        yield Found(layer, where, table, data)


def _first(value: Any) -> Any:
    """Of a list of choices the first one that is there: Moonshot writes its usage into ``choices[0]``."""
    return value[0] if isinstance(value, list) and value else value


@lru_cache(maxsize=1)
def _places() -> tuple[tuple[int, tuple[str, ...]], ...]:
    layers = load("body")["layers"]
    return tuple((index, tuple(path.split("."))) for index, layer in enumerate(layers) for path in layer["paths"])


@lru_cache(maxsize=1)
def _main_layer() -> int:
    return next(index for index, layer in enumerate(load("body")["layers"]) if layer.get("main"))


@lru_cache(maxsize=1)
def _marks() -> dict[str, Table]:
    marks: dict[str, Table] = {}
    for table in tables().values():
        for mark in table.marks:
            marks.setdefault(mark, table)
    return marks


@lru_cache(maxsize=1)
def _provider_index() -> tuple[dict[str, Provider], dict[str, Provider]]:
    rows = providers()
    return {name: row for row in rows for name in row.names}, {mark: row for row in rows for mark in row.marks}


@lru_cache(maxsize=512)
def _by_model(model: str) -> Provider | None:
    return next((row for row in providers() if any(fnmatchcase(model, pattern) for pattern in row.models)), None)
