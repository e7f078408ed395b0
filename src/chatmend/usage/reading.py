"""Reads one payload by one table: every number becomes a field, or is listed as unread."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from chatmend.usage.numbers import amount, is_numeric, number
from chatmend.usage.plain import mapping
from chatmend.usage.shapes import Beside, Branch, Each, Leaf, Table
from chatmend.usage.tables import tables

_DEEPEST = 40
_BITS = 60
"""A number that has more, or is negative, is looked at twice."""
_VISITS = 5000
"""Values looked at for unread numbers: an object may hold itself."""
_MOST = 200
"""Paths. A payload may hold any number of numbers; the list of those not read stays short."""


class Reading:
    """What one payload says, field by field, before any sum is made of it."""

    # What few payloads have is made when it is needed: a reading is made for each of them.
    unread: Sequence[str] = ()
    warnings: Sequence[str] = ()
    beside: Sequence[tuple[str, "Reading"]] = ()
    visits = 0

    def __init__(self, table: Table) -> None:
        """Nothing is read yet."""
        self.table = table
        self.values: dict[str, Any] = {}
        self.sources: dict[str, str] = {}
        self.extra: dict[str, dict[str, Any]] = {}
        """What has no field of its own, by group."""

    def leave(self, *paths: str) -> None:
        """List numbers that are not read."""
        self.unread = [*self.unread, *paths][:_MOST]

    def warn(self, text: str) -> None:
        """Report what is odd."""
        self.warnings = [*self.warnings, text]

    def copy(self) -> "Reading":
        """A reading that may be used up."""
        twin = Reading(self.table)
        twin.values, twin.sources = self.values.copy(), self.sources.copy()
        twin.extra = {group: inner.copy() for group, inner in self.extra.items()}
        twin.unread, twin.warnings = self.unread, self.warnings
        twin.beside = [(kind, inner.copy()) for kind, inner in self.beside]
        return twin


def read(table: Table, data: Mapping[str, Any]) -> Reading:
    """The counts of one account that the table describes."""
    reading = Reading(table)
    read_keys(reading, table, data)
    return reading


def read_keys(reading: Reading, node: Table | Branch, data: Mapping[str, Any]) -> None:
    """Read the keys of one mapping into the account, and those of the mappings inside it."""
    values, sources = reading.values, reading.sources
    counts, keys = node.counts, node.keys
    for key, value in data.items():
        # the common cases, without a call: a plain count, and a mapping of such
        if type(value) is int and (hit := counts.get(key)) is not None and not value >> 60:
            group, name, whole, source = hit
            into = reading.extra.setdefault(group, {}) if group else values
            if name not in into:
                into[name] = value
                sources[whole] = source
                continue
            # LiteLLM tells what was cached under three names
            if into[name] == value and source not in (seen := sources[whole]):
                sources[whole] = f"{seen} | {source}"
                continue
        if value is None:
            continue
        inner = keys.get(key, _UNKNOWN)
        if type(inner) is Branch and (below := value if type(value) is dict else mapping(value)) is not None:
            read_keys(reading, inner, below)
        elif type(inner) is Leaf and inner.kind == "text" and type(value) is str:
            _keep_text(reading, inner, value)
        else:
            _read_other(reading, inner, value, f"{node.path}{key}")


_UNKNOWN = object()


def _read_other(reading: Reading, node: object, value: object, path: str) -> None:
    if isinstance(node, Leaf):
        _read_leaf(reading, node, value)
    elif isinstance(node, Branch):
        if node.own is not None:
            _read_leaf(reading, node.own, value)
        else:
            _leave(reading, value, path, 0)
    elif isinstance(node, Each):
        _read_each(reading, node, value, path)
    elif isinstance(node, Beside):
        _read_beside(reading, node, value)
    elif node is None or not reading.table.body:
        _leave(reading, value, path, 0)
    elif is_numeric(value):
        reading.leave(path)


def _read_leaf(reading: Reading, leaf: Leaf, value: object) -> None:
    if isinstance(value, list | tuple):
        value = _total(value)
    if leaf.kind == "warn":
        if value is True:
            reading.warn(leaf.key)
    elif leaf.kind == "text":
        _keep_text(reading, leaf, value)
    elif (found := _count(reading, leaf, value)) is not None:
        keep(reading, leaf, found)


def keep(reading: Reading, leaf: Leaf, found: int | Decimal) -> None:
    """Write one number down. Of two spellings of a field the larger one counts: a 0 is often a mere default."""
    into = reading.extra.setdefault(leaf.group, {}) if leaf.group else reading.values
    known = into.get(leaf.name)
    if known is None or found > known:
        into[leaf.name] = found
    seen = reading.sources.get(leaf.key)
    if seen is None:
        reading.sources[leaf.key] = leaf.path
    elif leaf.path not in seen:
        reading.sources[leaf.key] = f"{seen} | {leaf.path}"
    if known and found and known != found:
        reading.warn(f"spellings-differ: {leaf.key} is {known} and {found}")


def _count(reading: Reading, leaf: Leaf, value: object) -> int | Decimal | None:
    if leaf.kind == "amount":
        found = amount(value)
        exact = found * leaf.scale if found is not None and leaf.scale else found
        whole = exact if leaf.key.startswith("cost") or exact is None else number(exact)
    else:
        whole = number(value)
    if whole is None:
        if mapping(value) is None and not isinstance(value, str):
            _leave(reading, value, leaf.path, 0)
        reading.warn(f"unreadable-number: {leaf.path} is a {type(value).__name__}")
        return None
    if whole < 0:
        reading.warn(f"negative-number: {leaf.path} is {whole}")
        reading.leave(leaf.path)
        return None
    if leaf.kind == "count" and not isinstance(whole, int):
        reading.warn(f"fraction-of-a-token: {leaf.path} is {whole}")
        whole = int(whole)
    return whole


def _total(values: Iterable[Any]) -> int | Decimal | None:
    numbers = [found for value in values if (found := number(value)) is not None]
    return sum(numbers) if numbers else None


def _keep_text(reading: Reading, leaf: Leaf, value: object) -> None:
    word = value if type(value) is str else str(getattr(value, "value", value))
    if len(word) <= _MOST and (word is value or (not isinstance(value, bool) and mapping(value) is None)):
        reading.values[leaf.key] = reading.table.names.get(leaf.key, {}).get(word, word)
        reading.sources[leaf.key] = leaf.path


def _read_each(reading: Reading, each: Each, value: object, path: str) -> None:
    entries = value if isinstance(value, list | tuple) else _sequence(value)
    if entries is None:
        _leave(reading, value, path, 0)
        return
    sums: dict[str, tuple[Leaf, int | Decimal]] = {}
    for entry in entries:
        row = mapping(entry)
        if row is None:
            _leave(reading, entry, f"{path}[]", 0)
            continue
        name = row.get(each.name)
        leaf = each.leaves.get(str(getattr(name, "value", name)), each.other)
        value = row.get(each.count)
        found = None if value is None else _count(reading, leaf, value)
        if found is not None:
            sums[leaf.key] = (leaf, found + sums[leaf.key][1] if leaf.key in sums else found)
        for key in row.keys() - {each.name, each.count}:
            _leave(reading, row[key], f"{path}[].{key}", 0)
    for leaf, found in sums.values():
        keep(reading, leaf, found)


def _read_beside(reading: Reading, beside: Beside, value: object) -> None:
    entries = [value] if mapping(value) is not None else _sequence(value) or ()
    table = tables()[beside.shape]
    accounts = []
    for entry in entries:
        row = mapping(entry)
        if row is None:
            _leave(reading, entry, f"{beside.path}[]", 0)
            continue
        account = read(table, row)
        reading.leave(*(f"{beside.path}[].{path}" for path in account.unread))
        if isinstance(row.get("model"), str):
            account.values["model"] = row["model"]
        kind = str(row.get(beside.kind) or beside.path.rpartition(".")[2])
        if kind not in beside.inside and _says_something(account):
            accounts.append((kind, account))
    reading.beside = accounts


def _says_something(account: Reading) -> bool:
    return any(any(group.values()) for group in (account.values, *account.extra.values()))


def _sequence(value: object) -> list[object] | None:
    """A list of entries. Protobuf and some SDKs have lists of their own."""
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping):
        return list(value)
    return None


def _leave(reading: Reading, value: object, path: str, depth: int) -> None:
    """List the numbers below a value that no table knows."""
    reading.visits += 1
    if len(reading.unread) >= _MOST or reading.visits > _VISITS or depth > _DEEPEST:
        return
    if is_numeric(value):
        reading.leave(path)
    elif isinstance(value, list | tuple):
        for item in value[:_MOST]:
            _leave(reading, item, f"{path}[]", depth + 1)
    elif (inner := mapping(value)) is not None:
        for key, item in inner.items():
            _leave(reading, item, f"{path}.{key}", depth + 1)
