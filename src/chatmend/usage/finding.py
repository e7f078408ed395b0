"""Finds the accounts in whatever a provider, an SDK or a framework hands over."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

from chatmend.usage.plain import mapping
from chatmend.usage.shapes import Leaf, Provider, Table
from chatmend.usage.tables import load, providers, table_at, tables

Found = tuple[int, str, Table, Mapping[str, Any], Provider | None]
"""One account inside a payload: layer, path, table, data, and whose marks it bears. The lowest layer has authority."""


class Plan(NamedTuple):
    """Which keys of a payload are worth a look. Payloads of one kind have the same keys: it is made once for each."""

    own: tuple[str, Table] | None
    """The key that makes the payload an account itself, where its value is not null, and the table of its shape."""
    marks: tuple[tuple[str, Table], ...]
    """Keys that tell a shape, the first shape in order first."""
    places: tuple[tuple[str, "_Place"], ...]
    around: tuple[tuple[str, str, str], ...]
    """Keys beside the accounts, with the field that a text is there and its path, or two empty words."""
    errors: tuple["Sign", ...]
    row: Provider | None
    """Whose marks are among the keys."""


class Sign(NamedTuple):
    """What says that a body is no answer: a key that is there, that is empty, or that holds one of some words."""

    key: str
    code: str
    words: tuple[str, ...]
    empty: bool


def plan_of(payload: Mapping[str, Any]) -> Plan:
    """The plan for a payload with these keys."""
    keys = tuple(payload)
    plan = _PLANS.get(keys)
    return plan if plan is not None else _remembered(keys)


_MANY = 64
"""Keys. A payload with more is none of a provider's, and not worth remembering."""
_KINDS = 256
_PLANS: dict[tuple[str, ...], Plan] = {}
"""A plan for each kind of payload. No ``lru_cache``: it would cost a third of the time that an account takes."""


def _remembered(keys: tuple[str, ...]) -> Plan:
    plan = _plan(keys)
    if len(keys) <= _MANY:
        if len(_PLANS) >= _KINDS:
            _PLANS.clear()
        _PLANS[keys] = plan
    return plan


def _plan(keys: tuple[str, ...]) -> Plan:
    marks, (places, _), body = _marks(), _places(), tables()["body"].keys
    told = sorted(((key, marks[key]) for key in keys if key in marks), key=lambda pair: pair[1].rank)
    return Plan(
        own=told[0] if told and not told[0][1].body else None,
        marks=tuple(told),
        places=tuple((key, places[key]) for key in keys if key in places),
        around=tuple((key, *_text_at(body[key])) for key in body if key in keys),
        errors=tuple(sign for sign in _signs() if sign.key in keys),
        row=next((row for mark, row in _provider_index()[2].items() if mark in keys), None),
    )


def _text_at(node: object) -> tuple[str, str]:
    return (node.key, node.path) if isinstance(node, Leaf) else ("", "")


def find(payload: Mapping[str, Any], plan: Plan) -> list[Found]:
    """Every account in the payload, the most trustworthy first; the payload itself where it is one."""
    own = _marked(payload, plan) if plan.marks else None
    if own is not None and not own.body:
        return [(0, "", own, payload, plan.row)]
    found: list[Found] = []
    for key, place in plan.places:
        _enter(found, place, payload[key])
    if len(found) > 1:
        found.sort(key=itemgetter(0))
    if own is not None and (not found or found[0][0] > _main_layer()):
        found.insert(0, (_main_layer(), "", own, payload, plan.row))
    if not found:
        _walk(found, _places()[1], payload)
    return found


def _marked(data: Mapping[str, Any], plan: Plan) -> Table | None:
    """The table whose marks the payload bears; of several the first in order."""
    for key, table in plan.marks:
        if data[key] is not None:
            return table
    return None


def provider_of(marked: Provider | None, name: str | None, model: str | None, module: str = "") -> Provider | None:
    """The provider's row: by its name, the SDK's module, a mark in the account, or the model."""
    if name is not None or module:
        names, modules, _ = _provider_index()
        known = names.get(name.lower()) if name is not None else None
        if known is not None or module in modules:
            return known or modules[module]
    if marked is not None and name is None:
        return marked
    return _by_model(model) if model else None


def _walk(found: list[Found], places: "Mapping[str, _Place]", payload: Mapping[str, Any]) -> None:
    """Enter the keys under which accounts may stand."""
    for key in payload:
        place = places.get(key)
        if place is not None:
            _enter(found, place, payload[key])


def _enter(found: list[Found], place: "_Place", value: object) -> None:
    """Note what stands at the place if it is an account, and those below it."""
    data = value if type(value) is dict else mapping(_first(value))
    if not data:
        return
    if place.layer is not None:
        plan = plan_of(data)
        own = plan.own
        if own is not None and data[own[0]] is not None and not place.shape:
            table: Table | None = own[1]
        else:
            table = tables()[place.shape] if place.shape else _marked(data, plan)
        if table is not None:
            here = place.tables.get(table.shape) or place.table(table.shape)
            found.append((place.layer, place.path, here, data, plan.row))
    if place.inner:
        _walk(found, place.inner, data)


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
    tables: dict[str, Table] = field(default_factory=dict)
    """The tables of the shapes that were seen here."""

    def table(self, shape: str) -> Table:
        """The shape's table, with every path below this place."""
        return self.tables.setdefault(shape, table_at(shape, self.path))


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
def _signs() -> tuple[Sign, ...]:
    rows = load("body")["errors"]
    return tuple(Sign(row["key"], row["code"], tuple(row.get("words", ())), row.get("empty", False)) for row in rows)


@cache
def _main_layer() -> int:
    return next(index for index, layer in enumerate(load("body")["layers"]) if layer.get("main"))


@cache
def _marks() -> dict[str, Table]:
    marks: dict[str, Table] = {}
    by_place = load("body")["shapes"].values()
    for table in tables().values():
        for mark in table.marks if table.shape not in by_place else ():
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
        (row for row in providers() if any(fnmatchcase(model.lower(), pattern) for pattern in row.models)), None
    )
