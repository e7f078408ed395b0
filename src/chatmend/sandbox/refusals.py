"""What a refusal is: a rule from a provider's table, and the place in the request where it was broken.

The tables (``providers/*.toml``) hold the rules: text, status, error type and the models they hold for, each with its
source. The predicates (``providers/*.py``) only say *where* a rule is broken, in the order in which the provider looks.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chatmend.sandbox.request import Request

Body = dict[str, Any]
Predicates = Callable[["Request"], Iterator["Fault"]]


@dataclass(frozen=True, slots=True)
class Fault:
    """A rule is broken here: its code, and what its text needs to say where."""

    code: str
    values: Mapping[str, Any] = field(default_factory=dict)


def fault(code: str, at: str = "", **values: Any) -> Fault:
    """A fault of rule ``code`` at the place ``at``, written as the provider writes places."""
    return Fault(code, {"at": at, **values})


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that a provider refuses."""

    code: str
    text: str
    """A ``str.format`` template; the predicate fills it."""
    status: int
    fields: Mapping[str, str | None]
    """What the envelope needs beside the text: ``type``, ``param``, ``code``, ``numbers``."""
    envelope: str
    models: re.Pattern[str] | None
    """Only these models refuse it."""
    spared: re.Pattern[str] | None
    """These models accept it."""
    on: tuple[str, ...]
    """Only these endpoints' owners refuse it; empty: all that share the table."""
    source: str
    """How it is known, and from where."""

    def holds_for(self, provider: str, model: str) -> bool:
        """Whether this provider applies the rule to this model."""
        if self.on and provider not in self.on:
            return False
        if self.models is not None and not self.models.search(model):
            return False
        return self.spared is None or not self.spared.search(model)


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer that is an error: what goes over the wire, and which rule it comes from."""

    code: str
    status: int
    text: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Table:
    """One provider's rules and the shapes of its errors, read from its TOML file."""

    name: str
    rules: Mapping[str, Rule]
    envelopes: Mapping[str, Mapping[str, Any]]
    settings: Mapping[str, Any]
    """The rest: body limits, call ids, how usage is told."""

    def first(self, faults: Iterator[Fault], provider: str, model: str) -> tuple[Rule, Fault] | None:
        """The first fault that this provider minds; a provider reports only one."""
        for found in faults:
            rule = self.rules[found.code]
            if rule.holds_for(provider, model):
                return rule, found
        return None

    def refuse(self, rule: Rule, values: Mapping[str, Any], request_id: str) -> Refusal:
        """The provider's answer to a broken rule."""
        text = rule.text.format_map(values)
        filled: Body = {"text": text, "id": request_id, "status": rule.status}
        for name, template in rule.fields.items():
            filled[name] = template.format_map(values) if isinstance(template, str) else template
        return self.wrap(rule.code, rule.envelope, filled)

    def wrap(self, code: str, envelope: str, filled: Mapping[str, Any]) -> Refusal:
        """Put a text into one of the provider's error shapes."""
        shape = self.envelopes[envelope]
        headers = {"content-type": shape.get("content_type", "application/json")}
        headers |= {name: str(_fill(value, filled)) for name, value in shape.get("headers", {}).items()}
        body = _fill(shape["body"], filled)
        data = body.encode() if isinstance(body, str) else json.dumps(body, separators=(",", ":")).encode()
        return Refusal(code, filled["status"], filled["text"], headers, data)


_SLOT = re.compile(r"\$([a-z_]+)")


def _fill(shape: Any, filled: Mapping[str, Any]) -> Any:
    """Put values where a shape says ``$name``; a slot that is the whole string keeps the value's type."""
    if isinstance(shape, Mapping):
        return {key: _fill(value, filled) for key, value in shape.items()}
    if isinstance(shape, list):
        return [_fill(value, filled) for value in shape]
    if not isinstance(shape, str):
        return shape
    if whole := _SLOT.fullmatch(shape):
        return filled.get(whole[1])
    return _SLOT.sub(lambda slot: str(filled.get(slot[1], "")), shape)


@cache
def table(name: str) -> Table:
    """The table of one provider, from its file."""
    text = resources.files("chatmend.sandbox.providers").joinpath(f"{name}.toml").read_text(encoding="utf-8")
    raw = tomllib.loads(text)
    scopes = {f"${key}": value for key, value in raw.get("models", {}).items()}
    rules = {code: _rule(code, entry, scopes) for code, entry in raw["rules"].items()}
    return Table(name, rules, raw["envelopes"], raw.get("settings", {}))


_DEFAULTS = {"type": "invalid_request_error", "param": None, "code": None}


def _rule(code: str, entry: Body, scopes: Mapping[str, str]) -> Rule:
    entry = dict(entry)

    def pattern(key: str) -> re.Pattern[str] | None:
        value = entry.pop(key, None)
        return re.compile(scopes.get(value, value)) if value else None

    return Rule(
        code=code,
        text=entry.pop("text"),
        status=entry.pop("status", 400),
        envelope=entry.pop("envelope", "default"),
        models=pattern("models"),
        spared=pattern("spared"),
        on=tuple(entry.pop("on", ())),
        source=entry.pop("source", ""),
        fields={**_DEFAULTS, **entry},
    )
