"""Rules of a provider, and the error responses to requests that break them.

The tables (``providers/*.toml``) contain the rules: text, status, error type, the models that
they apply to, and a source. The predicates (``providers/*.py``) only find the positions where a
rule is broken, in the order in which the provider validates.
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
    from chatmend.sandbox.request import SandboxRequest

Body = dict[str, Any]
Predicates = Callable[["SandboxRequest"], Iterator["Fault"]]


@dataclass(frozen=True, slots=True)
class Fault:
    """A broken rule: its code and the values for its text."""

    code: str
    values: Mapping[str, Any] = field(default_factory=dict)


def fault(code: str, at: str = "", **values: Any) -> Fault:
    """Create a fault of rule ``code`` at the position ``at``, in the provider's notation."""
    return Fault(code, {"at": at, **values})


@dataclass(frozen=True, slots=True)
class RefusalRule:
    """A kind of request that a provider refuses."""

    code: str
    text: str
    """A ``str.format`` template for the values of the fault."""
    status: int
    fields: Mapping[str, str | None]
    """Values for the envelope: ``type``, ``param``, ``code``, ``numbers``."""
    envelope: str
    models: re.Pattern[str] | None
    """The models that the rule applies to; None: all."""
    exempt_models: re.Pattern[str] | None
    """The models that the rule does not apply to."""
    providers: tuple[str, ...]
    """The providers that apply the rule; empty: all that share the table."""
    source: str
    """How and from where the rule is known."""

    def applies_to(self, provider: str, model: str) -> bool:
        """Return whether this provider applies the rule to this model."""
        if self.providers and provider not in self.providers:
            return False
        if self.models is not None and not self.models.search(model):
            return False
        return self.exempt_models is None or not self.exempt_models.search(model)


@dataclass(frozen=True, slots=True)
class RefusalResponse:
    """An error response and the rule that it comes from."""

    code: str
    status: int
    text: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class RefusalTable:
    """The rules and error formats of one provider, read from its TOML file."""

    name: str
    rules: Mapping[str, RefusalRule]
    envelopes: Mapping[str, Mapping[str, Any]]
    settings: Mapping[str, Any]
    """Other settings: body limits, call ids, the format of usage."""

    def first_refused(
        self, faults: Iterator[Fault], provider: str, model: str
    ) -> tuple[RefusalRule, Fault] | None:
        """Return the first fault whose rule applies; a provider reports only one."""
        for found in faults:
            rule = self.rules[found.code]
            if rule.applies_to(provider, model):
                return rule, found
        return None

    def refuse(
        self, rule: RefusalRule, values: Mapping[str, Any], request_id: str
    ) -> RefusalResponse:
        """Return the provider's response to a broken rule."""
        text = rule.text.format_map(values)
        filled: Body = {"text": text, "id": request_id, "status": rule.status}
        for name, template in rule.fields.items():
            filled[name] = _formatted(template, values) if isinstance(template, str) else template
        return self.wrap(rule.code, rule.envelope, filled)

    def wrap(self, code: str, envelope: str, filled: Mapping[str, Any]) -> RefusalResponse:
        """Put a text into one of the provider's error formats."""
        template = self.envelopes[envelope]
        headers = {"content-type": template.get("content_type", "application/json")}
        headers |= {
            name: str(_fill(value, filled)) for name, value in template.get("headers", {}).items()
        }
        body = _fill(template["body"], filled)
        data = (
            body.encode()
            if isinstance(body, str)
            else json.dumps(body, separators=(",", ":")).encode()
        )
        return RefusalResponse(code, filled["status"], filled["text"], headers, data)


def _formatted(template: str, values: Mapping[str, Any]) -> Any:
    """Fill in a template; one that is only the name of a list becomes the list."""
    found = values.get(template[1:-1]) if template.startswith("{") else None
    return found if isinstance(found, list) else template.format_map(values)


_SLOT = re.compile(r"\$([a-z_]+)")


def _fill(template: Any, filled: Mapping[str, Any]) -> Any:
    """Replace ``$name`` in a template.

    A string that is only a slot is replaced by the value with its type.
    """
    if isinstance(template, Mapping):
        return {key: _fill(value, filled) for key, value in template.items()}
    if isinstance(template, list):
        return [_fill(value, filled) for value in template]
    if not isinstance(template, str):
        return template
    if slot := _SLOT.fullmatch(template):
        return filled.get(slot[1])
    return _SLOT.sub(lambda slot: str(filled.get(slot[1], "")), template)


@cache
def load_table(name: str) -> RefusalTable:
    """Load the table of a provider from its file."""
    text = (
        resources.files("chatmend.sandbox.providers")
        .joinpath(f"{name}.toml")
        .read_text(encoding="utf-8")
    )
    raw = tomllib.loads(text)
    scopes = {f"${key}": value for key, value in raw.get("models", {}).items()}
    rules = {code: _rule(code, entry, scopes) for code, entry in raw["rules"].items()}
    return RefusalTable(name, rules, raw["envelopes"], raw.get("settings", {}))


_DEFAULTS = {"type": "invalid_request_error", "param": None, "code": None}


def _rule(code: str, entry: Body, scopes: Mapping[str, str]) -> RefusalRule:
    entry = dict(entry)

    def pattern(key: str) -> re.Pattern[str] | None:
        value = entry.pop(key, None)
        return re.compile(scopes.get(value, value)) if value else None

    return RefusalRule(
        code=code,
        text=entry.pop("text"),
        status=entry.pop("status", 400),
        envelope=entry.pop("envelope", "default"),
        models=pattern("models"),
        exempt_models=pattern("spared"),
        providers=tuple(entry.pop("on", ())),
        source=entry.pop("source", ""),
        fields={**_DEFAULTS, **entry},
    )
