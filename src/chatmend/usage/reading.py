"""Reads one usage object with a table: every number fills a field or is listed as unread."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from chatmend.usage.mappings import as_mapping
from chatmend.usage.numbers import is_numeric, parse_amount, parse_number
from chatmend.usage.shapes import Branch, CountList, Leaf, SeparateUsage, UsageTable
from chatmend.usage.tables import tables

_DEEPEST = 40
_BITS = 60
"""Numbers with more bits, and negative numbers, do not take the fast path of `read_keys`."""
_VISITS = 5000
"""The most values searched for unread numbers. The limit ends self-referencing objects."""
_MOST = 200
"""The most paths in the list of unread numbers, and the most characters of a text."""


class Reading:
    """The values of one usage object, field by field, before sums are computed."""

    # Class attributes, because few payloads set them and a reading is created for each payload.
    unread: Sequence[str] = ()
    warnings: Sequence[str] = ()
    separate: Sequence[tuple[str, "Reading"]] = ()
    visits = 0

    def __init__(self, table: UsageTable) -> None:
        """Create an empty reading."""
        self.table = table
        self.values: dict[str, Any] = {}
        self.sources: dict[str, str] = {}
        self.extra: dict[str, dict[str, Any]] = {}
        """The values without a separate field, by group."""

    def add_unread(self, *paths: str) -> None:
        """List numbers that are not read."""
        self.unread = [*self.unread, *paths][:_MOST]

    def warn(self, text: str) -> None:
        """Add a warning."""
        self.warnings = [*self.warnings, text]

    def copy(self) -> "Reading":
        """Return a copy, for functions that change their argument."""
        twin = Reading(self.table)
        twin.values, twin.sources = self.values.copy(), self.sources.copy()
        twin.extra = {group: inner.copy() for group, inner in self.extra.items()}
        twin.unread, twin.warnings = self.unread, self.warnings
        twin.separate = [(kind, inner.copy()) for kind, inner in self.separate]
        return twin


def read_usage(table: UsageTable, data: Mapping[str, Any]) -> Reading:
    """Read one usage object of the shape that the table describes."""
    reading = Reading(table)
    read_keys(reading, table, data)
    return reading


def read_keys(reading: Reading, node: UsageTable | Branch, data: Mapping[str, Any]) -> None:
    """Read the keys of one mapping, and of the mappings inside it, into a reading."""
    values, sources = reading.values, reading.sources
    counts, keys = node.counts, node.keys
    for key, value in data.items():
        # A plain count is the most common case and needs no function call.
        if type(value) is int and (hit := counts.get(key)) is not None and not value >> 60:
            group, name, whole, source = hit
            into = reading.extra.setdefault(group, {}) if group else values
            if name not in into:
                into[name] = value
                sources[whole] = source
                continue
            # LiteLLM reports cached tokens under three keys.
            if into[name] == value and source not in (seen := sources[whole]):
                sources[whole] = f"{seen} | {source}"
                continue
        if value is None:
            continue
        inner = keys.get(key, _UNKNOWN)
        if (
            type(inner) is Branch
            and (below := value if type(value) is dict else as_mapping(value)) is not None
        ):
            read_keys(reading, inner, below)
        elif type(inner) is Leaf and inner.kind == "text" and type(value) is str:
            _store_text(reading, inner, value)
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
            _list_unread(reading, value, path, 0)
    elif isinstance(node, CountList):
        _read_count_list(reading, node, value, path)
    elif isinstance(node, SeparateUsage):
        _read_separate(reading, node, value)
    elif node is None or not reading.table.body:
        _list_unread(reading, value, path, 0)
    elif is_numeric(value):
        reading.add_unread(path)


def _read_leaf(reading: Reading, leaf: Leaf, value: object) -> None:
    if isinstance(value, list | tuple):
        value = _total(value)
    if leaf.kind == "warn":
        if value is True:
            reading.warn(leaf.key)
    elif leaf.kind == "text":
        _store_text(reading, leaf, value)
    elif (found := _parse(reading, leaf, value)) is not None:
        store(reading, leaf, found)


def store(reading: Reading, leaf: Leaf, found: int | Decimal) -> None:
    """Store one number. If two keys have the field, the larger value wins: 0 is often a default."""
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
        reading.warn(f"spellings-differ: {leaf.key} is reported as both {known} and {found}")


def _parse(reading: Reading, leaf: Leaf, value: object) -> int | Decimal | None:
    """Return the number for a leaf; None, with a warning, if the value is not a valid one."""
    if leaf.kind == "amount":
        found = parse_amount(value)
        exact = found * leaf.scale if found is not None and leaf.scale else found
        whole = exact if leaf.key.startswith("cost") or exact is None else parse_number(exact)
    else:
        whole = parse_number(value)
    if whole is None:
        if as_mapping(value) is None and not isinstance(value, str):
            _list_unread(reading, value, leaf.path, 0)
        reading.warn(f"unreadable-number: {leaf.path} is a {type(value).__name__}, not a number")
        return None
    if whole < 0:
        reading.warn(f"negative-number: {leaf.path} is {whole}")
        reading.add_unread(leaf.path)
        return None
    if leaf.kind == "count" and not isinstance(whole, int):
        reading.warn(f"fraction-of-a-token: {leaf.path} is {whole}, not a whole number")
        whole = int(whole)
    return whole


def _total(values: Iterable[Any]) -> int | Decimal | None:
    numbers = [found for value in values if (found := parse_number(value)) is not None]
    return sum(numbers) if numbers else None


def _store_text(reading: Reading, leaf: Leaf, value: object) -> None:
    word = value if type(value) is str else str(getattr(value, "value", value))
    if len(word) <= _MOST and (
        word is value or (not isinstance(value, bool) and as_mapping(value) is None)
    ):
        reading.values[leaf.key] = reading.table.names.get(leaf.key, {}).get(word, word)
        reading.sources[leaf.key] = leaf.path


def _read_count_list(reading: Reading, node: CountList, value: object, path: str) -> None:
    entries = value if isinstance(value, list | tuple) else _as_list(value)
    if entries is None:
        _list_unread(reading, value, path, 0)
        return
    sums: dict[str, tuple[Leaf, int | Decimal]] = {}
    for entry in entries:
        row = as_mapping(entry)
        if row is None:
            _list_unread(reading, entry, f"{path}[]", 0)
            continue
        name = row.get(node.name)
        leaf = node.leaves.get(str(getattr(name, "value", name)), node.other)
        value = row.get(node.count)
        found = None if value is None else _parse(reading, leaf, value)
        if found is not None:
            sums[leaf.key] = (leaf, found + sums[leaf.key][1] if leaf.key in sums else found)
        for key in row.keys() - {node.name, node.count}:
            _list_unread(reading, row[key], f"{path}[].{key}", 0)
    for leaf, found in sums.values():
        store(reading, leaf, found)


def _read_separate(reading: Reading, node: SeparateUsage, value: object) -> None:
    entries = [value] if as_mapping(value) is not None else _as_list(value) or ()
    table = tables()[node.shape]
    separate = []
    for entry in entries:
        row = as_mapping(entry)
        if row is None:
            _list_unread(reading, entry, f"{node.path}[]", 0)
            continue
        inner = read_usage(table, row)
        reading.add_unread(*(f"{node.path}[].{path}" for path in inner.unread))
        if isinstance(row.get("model"), str):
            inner.values["model"] = row["model"]
        kind = str(row.get(node.kind) or node.path.rpartition(".")[2])
        if kind not in node.inside and _has_values(inner):
            separate.append((kind, inner))
    reading.separate = separate


def _has_values(reading: Reading) -> bool:
    return any(any(group.values()) for group in (reading.values, *reading.extra.values()))


def _as_list(value: object) -> list[object] | None:
    """Return a list of entries. Protobuf and some SDKs have their own list types."""
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping):
        return list(value)
    return None


def _list_unread(reading: Reading, value: object, path: str, depth: int) -> None:
    """List the numbers in a value that no table contains."""
    reading.visits += 1
    if len(reading.unread) >= _MOST or reading.visits > _VISITS or depth > _DEEPEST:
        return
    if is_numeric(value):
        reading.add_unread(path)
    elif isinstance(value, list | tuple):
        for item in value[:_MOST]:
            _list_unread(reading, item, f"{path}[]", depth + 1)
    elif (inner := as_mapping(value)) is not None:
        for key, item in inner.items():
            _list_unread(reading, item, f"{path}.{key}", depth + 1)
