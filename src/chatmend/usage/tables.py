"""Loads the tables in the ``tables`` directory, which describe how providers report usage.

The ``[fields]`` of a table are a tree with the keys of the payload. A leaf names the field of the
usage record that the number fills.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import fields, replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from chatmend.usage.shapes import (
    Branch,
    CountList,
    Counts,
    Leaf,
    Part,
    Provider,
    SeparateUsage,
    Split,
    UsageTable,
)
from chatmend.usage.usage_record import Usage

# The order in which shapes are recognised. A payload often has marks of several shapes.
ORDER = (
    "openai_chat",  # the most frequent; before openai_responses: some proxies send keys of both
    "llama_bedrock",  # before gemini, because both have prompt_token_count
    "gemini",
    "gemini_interactions",
    "anthropic",  # before openai_responses: input_tokens excludes cache tokens here
    "openai_responses",
    "claude_code",  # before converse, because both have inputTokens
    "ai_sdk",  # the same
    "converse",
    "cohere",
    "ollama",
    "titan",
    "bedrock_metrics",
    "timings",
    "headers",
    "counts",  # late, because total_tokens is one of its marks
    "openhuman",  # has no marks
    "body",  # what a body contains in addition to its usage
)


_HERE = Path(__file__).parent / "tables"


@cache
def tables() -> dict[str, UsageTable]:
    """Return the table of every shape, in the order in which shapes are recognised."""
    return {shape: _table(load(shape), rank) for rank, shape in enumerate(ORDER)}


@cache
def providers() -> tuple[Provider, ...]:
    """Return the providers that deviate from the shapes they use."""
    rows = load("providers")
    return tuple(
        _provider(name, row)
        for name, row in rows.items()
        if isinstance(row, dict) and name != "costs"
    )


@cache
def cost_sources() -> dict[str, str]:
    """Return who estimated a cost, by the path of the cost, if it was not the provider."""
    return dict(load("providers")["costs"])


@cache
def table_at(shape: str, path: str) -> UsageTable:
    """Return the table of a shape with ``path`` as the prefix of every path."""
    return _table(load(shape), tables()[shape].rank, f"{path}.") if path else tables()[shape]


@cache
def load(name: str) -> dict[str, Any]:
    """Return the content of one TOML file."""
    return tomllib.loads((_HERE / f"{name}.toml").read_text(encoding="utf-8"))


def _keys(data: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Return the tree of a table's keys: fields, ignored keys, count lists, separate usage."""
    keys: dict[str, Any] = _branch(data.get("fields", {}), prefix).keys
    for key in data.get("ignored", {}):
        keys[key] = None
    for key, row in data.get("each", {}).items():
        keys[key] = _count_list(prefix + key, row, data.get("modalities", {}))
    for row in data.get("beside", ()):
        _insert(keys, row["path"], _separate_usage(row, prefix))
    if data.get("snake_case"):
        keys.update({_snake(key): _with_snake_case(node) for key, node in keys.items()})
    return keys


def _table(data: Mapping[str, Any], rank: int, prefix: str = "") -> UsageTable:
    marks = tuple(data["marks"])
    if data.get("snake_case"):
        marks += tuple(map(_snake, marks))
    marks += tuple(data.get("exact_marks", ()))
    return UsageTable(
        shape=data["shape"],
        rank=rank,
        marks=marks,
        path=prefix,
        keys=(keys := _keys(data, prefix)),
        counts=_counts(keys),
        parts=tuple(Part(**row) for row in data.get("parts", ())),
        outside=any(row.get("counted") for row in data.get("parts", ())),
        splits=tuple(
            Split(row["whole"], tuple(row["parts"]), row.get("rest", ""))
            for row in data.get("split", ())
        ),
        remainders=tuple(
            (Part(row["part"], row["whole"]), _pair(row["when"]))
            for row in data.get("remainder", ())
        ),
        names=data.get("names", {}),
        body=data.get("body", False),
        whole=data.get("whole", ""),
        highest=data.get("highest", False),
        provider=data.get("provider", ""),
    )


def _provider(name: str, row: Mapping[str, Any]) -> Provider:
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in row.items()
    }
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
            keys[key] = parse_leaf(value, prefix + key)
        else:
            own = parse_leaf(value, prefix.rstrip("."))
    return Branch(keys, _counts(keys), prefix, own)


def _counts(keys: Mapping[str, Any]) -> Counts:
    leaves = {key: node for key, node in keys.items() if isinstance(node, Leaf)}
    return {
        key: (one.group, one.name, one.key, one.path)
        for key, one in leaves.items()
        if _takes_whole_number(one)
    }


def _takes_whole_number(one: Leaf) -> bool:
    return one.kind == "count" or one.key.startswith(("details.", "billed."))


def parse_leaf(text: str, path: str) -> Leaf:
    """Parse ``cost * 1e-10``, ``details.x``, ``warn byok`` or the name of a field as a leaf."""
    key, _, scale = text.partition(" * ")
    if key.startswith("warn "):
        name = key.removeprefix("warn ")
        return Leaf(name, "", name, "warn", path)
    kind = _KINDS.get(key, "amount" if "." in key else "count")
    group, _, name = key.rpartition(".")
    return Leaf(key, group, name, kind, path, Decimal(scale) if scale else None)


_KINDS = {"cost": "amount", "cost_currency": "text", "service_tier": "text", "model": "text"}


def _count_list(key: str, row: Mapping[str, str], modalities: Mapping[str, str]) -> CountList:
    path = f"{key}[].{row['count']}"
    leaves = {
        name: parse_leaf(_field(row["field"], word), path) for name, word in modalities.items()
    }
    return CountList(
        row["count"], row.get("name", ""), leaves, parse_leaf(_field(row["field"], "other"), path)
    )


def _field(pattern: str, word: str) -> str:
    """Return the field for one modality, or a detail if the usage record has no such field."""
    name = pattern.format(word)
    return name if "." in name or name in _FIELDS else f"details.{name}"


_FIELDS = frozenset(field.name for field in fields(Usage))


def _separate_usage(row: Mapping[str, Any], prefix: str) -> SeparateUsage:
    return SeparateUsage(
        row["shape"], row.get("kind", ""), tuple(row.get("inside", ())), prefix + row["path"]
    )


def _insert(keys: dict[str, Any], path: str, node: SeparateUsage) -> None:
    *above, last = path.split(".")
    for key in above:
        keys = keys.setdefault(key, Branch({}, {}, f"{key}.")).keys
    keys[last] = node


def _pair(key: str) -> tuple[str, str]:
    group, _, name = key.partition(".")
    return group, name


def _with_snake_case(node: object) -> object:
    return replace(node, count=_snake(node.count)) if isinstance(node, CountList) else node


def _snake(key: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", key).lower()
