"""The tables match the predicates: each code has a rule, each rule has a source."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import chatmend.sandbox.providers as package
from chatmend.sandbox.refusals import load_table

FOLDER = Path(package.__file__).parent
NAMES = sorted(path.stem for path in FOLDER.glob("*.toml"))
SPECIAL = {
    "malformed-json",
    "not-an-object",
    "content-type",
    "body-too-large",
    "unknown-path",
    "rate-limited",
    "server-error",
    "overloaded",
}


def files_of(name: str) -> list[Path]:
    return [
        path
        for path in FOLDER.glob("*.py")
        if path.stem == name or path.stem.startswith(f"{name}_")
    ]


def codes_in(path: Path) -> tuple[set[str], list[re.Pattern[str]]]:
    """Return the codes in a file of predicates, and patterns for codes that it builds."""
    text = path.read_text(encoding="utf-8")
    whole = set(
        re.findall(r'(?<!f)"((?:anthropic|openai|gemini|bedrock|vllm|[a-z]+)-[a-z0-9-]+)"', text)
    )
    parts = re.findall(r'f"([a-z]+-[a-z0-9{}_\' =>?.()\[\]!-]+?)"(?=[,)])', text)
    return whole, [re.compile(re.sub(r"\{[^}]*\}", "[a-z0-9-]*", part)) for part in parts]


@pytest.mark.parametrize("name", NAMES)
def test_every_code_in_a_predicate_has_a_rule(name: str) -> None:
    prefix = "vllm" if name == "strict" else name
    for path in files_of(name):
        named = {code for code in codes_in(path)[0] if code.startswith(f"{prefix}-")}
        assert {code for code in named if not code.endswith("-")} <= load_table(
            name
        ).rules.keys(), path.name


@pytest.mark.parametrize("name", NAMES)
def test_every_rule_has_a_source(name: str) -> None:
    assert [rule.code for rule in load_table(name).rules.values() if not rule.source] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_table_has_rules_for_transport_faults(name: str) -> None:
    assert load_table(name).rules.keys() >= SPECIAL


@pytest.mark.parametrize("name", NAMES)
def test_every_scope_is_used(name: str) -> None:
    raw = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    used = {
        rule.get(key, "").removeprefix("$")
        for rule in raw["rules"].values()
        for key in ("models", "spared")
    }
    assert set(raw.get("models", {})) <= used


@pytest.mark.parametrize("name", NAMES)
def test_every_named_scope_exists(name: str) -> None:
    raw = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    named = {rule.get(key, "") for rule in raw["rules"].values() for key in ("models", "spared")}
    assert {scope[1:] for scope in named if scope.startswith("$")} <= set(raw.get("models", {}))
