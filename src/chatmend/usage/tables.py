"""The tables, read once from the TOML files beside this module.

A table's ``[fields]`` is a tree of keys like the payload's own; a leaf says which field of the account the number is.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import fields, replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from chatmend.usage.account import Usage
from chatmend.usage.shapes import Beside, Branch, Counts, Each, Leaf, Part, Provider, Split, Table

# The order in which shapes are recognised. A payload often bears the marks of several.
ORDER = (
    "openai_chat",  # first, being the most frequent; before openai_responses: some proxies write both sets of names
    "llama_bedrock",  # before gemini, whose prompt_token_count it shares
    "gemini",
    "gemini_interactions",
    "anthropic",  # before openai_responses: input_tokens means something else where cache tokens stand beside it
    "openai_responses",
    "converse",
    "cohere",
    "ollama",
    "titan",
    "bedrock_metrics",
    "timings",
    "headers",
    "counts",  # one of its names is total_tokens
    "openhuman",  # bears no marks
    "body",  # what a body says beside its accounts
)


_HERE = Path(__file__).parent / "tables"


@cache
def tables() -> dict[str, Table]:
    """Every shape's table, in the order in which they are recognised."""
    return {shape: _table(load(shape), rank) for rank, shape in enumerate(ORDER)}


@cache
def providers() -> tuple[Provider, ...]:
    """The rows of providers that do not keep to their shape."""
    rows = load("providers")
    return tuple(_provider(name, row) for name, row in rows.items() if isinstance(row, dict) and name != "costs")


@cache
def cost_owners() -> dict[str, str]:
    """Path of a cost to the name of who estimated it, where that is not the provider."""
    return dict(load("providers")["costs"])


@cache
def table_at(shape: str, path: str) -> Table:
    """The table with every path below the one where the account stands."""
    return _table(load(shape), tables()[shape].rank, f"{path}.") if path else tables()[shape]


@cache
def load(name: str) -> dict[str, Any]:
    """One table as it stands in its file."""
    return tomllib.loads((_HERE / f"{name}.toml").read_text(encoding="utf-8"))


def _keys(data: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """The tree of a table's keys: fields, ignored keys, lists of counts, accounts that stand beside."""
    keys: dict[str, Any] = _branch(data.get("fields", {}), prefix).keys
    for key in data.get("ignored", {}):
        keys[key] = None
    for key, row in data.get("each", {}).items():
        keys[key] = _each(prefix + key, row, data.get("modalities", {}))
    for row in data.get("beside", ()):
        _plant(keys, row["path"], _beside(row, prefix))
    if data.get("snake_case"):
        keys.update({_snake(key): _snake_entries(node) for key, node in keys.items()})
    return keys


def _table(data: Mapping[str, Any], rank: int, prefix: str = "") -> Table:
    marks = tuple(data["marks"])
    if data.get("snake_case"):
        marks += tuple(map(_snake, marks))
    return Table(
        shape=data["shape"],
        rank=rank,
        marks=marks,
        path=prefix,
        keys=(keys := _keys(data, prefix)),
        counts=_counts(keys),
        parts=tuple(Part(**row) for row in data.get("parts", ())),
        outside=any(row.get("counted") for row in data.get("parts", ())),
        splits=tuple(Split(row["whole"], tuple(row["parts"]), row.get("rest", "")) for row in data.get("split", ())),
        remainders=tuple((Part(row["part"], row["whole"]), _pair(row["when"])) for row in data.get("remainder", ())),
        names=data.get("names", {}),
        body=data.get("body", False),
        whole=data.get("whole", ""),
        highest=data.get("highest", False),
        provider=data.get("provider", ""),
    )


def _provider(name: str, row: Mapping[str, Any]) -> Provider:
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
    if "remainder" in row:
        values["remainder"] = Part(**row["remainder"])
    return Provider(name=name, **values)


def _branch(tree: Mapping[str, Any], prefix: str) -> Branch:
    keys: dict[str, Any] = {}
    own = None
    for key, value in tree.items():
        if isinstance(value, dict):
            keys[key] = _branch(value, f"{prefix}{key}.")
        elif key:
            keys[key] = leaf(value, prefix + key)
        else:
            own = leaf(value, prefix.rstrip("."))
    return Branch(keys, _counts(keys), prefix, own)


def _counts(keys: Mapping[str, Any]) -> Counts:
    leaves = {key: node for key, node in keys.items() if isinstance(node, Leaf)}
    return {key: (one.group, one.name, one.key, one.path) for key, one in leaves.items() if _takes_whole(one)}


def _takes_whole(one: Leaf) -> bool:
    return one.kind == "count" or one.key.startswith(("details.", "billed."))


def leaf(text: str, path: str) -> Leaf:
    """``cost * 1e-10``, ``details.x``, ``warn byok`` or the name of a field, as a leaf."""
    key, _, scale = text.partition(" * ")
    if key.startswith("warn "):
        name = key.removeprefix("warn ")
        return Leaf(name, "", name, "warn", path)
    kind = _KINDS.get(key, "amount" if "." in key else "count")
    group, _, name = key.rpartition(".")
    return Leaf(key, group, name, kind, path, Decimal(scale) if scale else None)


_KINDS = {"cost": "amount", "cost_currency": "text", "service_tier": "text", "model": "text"}


def _each(key: str, row: Mapping[str, str], modalities: Mapping[str, str]) -> Each:
    path = f"{key}[].{row['count']}"
    leaves = {name: leaf(_field(row["field"], word), path) for name, word in modalities.items()}
    return Each(row["count"], row.get("name", ""), leaves, leaf(_field(row["field"], "other"), path))


def _field(pattern: str, word: str) -> str:
    """The field for one modality; a detail where the account has no field for it."""
    name = pattern.format(word)
    return name if "." in name or name in _FIELDS else f"details.{name}"


_FIELDS = frozenset(field.name for field in fields(Usage))


def _beside(row: Mapping[str, Any], prefix: str) -> Beside:
    return Beside(row["shape"], row.get("kind", ""), tuple(row.get("inside", ())), prefix + row["path"])


def _plant(keys: dict[str, Any], path: str, node: Beside) -> None:
    *above, last = path.split(".")
    for key in above:
        keys = keys.setdefault(key, Branch({}, {}, f"{key}.")).keys
    keys[last] = node


def _pair(key: str) -> tuple[str, str]:
    group, _, name = key.partition(".")
    return group, name


def _snake_entries(node: object) -> object:
    return replace(node, count=_snake(node.count)) if isinstance(node, Each) else node


def _snake(key: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", key).lower()
