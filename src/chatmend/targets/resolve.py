"""Finds the limits of a target from its name, which is written as LiteLLM writes models.

The host, the model and the wire format all matter.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from chatmend.errors import TargetError
from chatmend.jsontext import value_at
from chatmend.targets.image_limits import ImageLimits
from chatmend.targets.layers import (
    DIALECT_HOSTS,
    DIALECT_MAKERS,
    describes,
    dialects_of,
    layers_of,
    maker_behind,
    maker_layers,
    models_shown,
)
from chatmend.targets.limits import Limits
from chatmend.targets.strictness import IMAGES, stricter
from chatmend.targets.tables import (
    find_host,
    host_of_model,
    host_table,
    known_providers,
    maker_table,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from chatmend.targets.layers import Layer
    from chatmend.targets.tables import Table

UNKNOWN = "openai_compatible"
"""The table for a server of which only the API is known."""
_OTHER = "other"
_MAX_QUOTED = 80
"""Maximum number of characters of an unknown name that an error message quotes."""
_MIN_SIMILARITY = 0.8
"""Similarity from which an unknown provider name counts as misspelt.

A less similar name is taken as a host without a table.
"""
_FIELDS = {kind: frozenset(field.name for field in fields(kind)) for kind in (Limits, ImageLimits)}
_Limits = TypeVar("_Limits", Limits, ImageLimits)


@dataclass(frozen=True, slots=True)
class Target:
    """A host with a model, and the limits of both."""

    name: str
    provider: str
    """The host: the name of its file in ``targets/hosts``."""
    model: str
    limits: Limits
    hygiene: Limits
    """Only the limits that agent gateways observe for this target (provider hygiene)."""
    spoken: Mapping[str, tuple[Limits, Limits]] = field(default_factory=dict, hash=False)
    """Limits and hygiene by dialect, for the dialects in which they may differ."""
    maker: str = ""
    """The maker of the model: the name of its file in ``targets/makers``; empty if not known."""
    is_floor: bool = False
    """No table describes the host: only what no server refuses, and the structure of the maker."""
    ends_with_assistant: bool = False
    """A parameter of the request lets the assistant's message be the last one."""
    shown_by: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Keys of a request that show the model if its id hides it, each with a name of the model."""

    def limits_in(self, dialect: str, *, hygiene: bool = False) -> Limits:
        """Return the limits, or the hygiene, that apply to a dialect."""
        limits, hygienic = self.spoken.get(dialect, (self.limits, self.hygiene))
        return hygienic if hygiene else limits


@lru_cache(maxsize=256)
def ending_with_assistant(target: Target) -> Target:
    """Return the target for requests in which the assistant's message may be the last one.

    It is the same object for the same target, because caches are keyed by the target's identity.
    """
    return replace(target, ends_with_assistant=True)


def resolve(name: str) -> Target:
    """Return the target with a name.

    The name is ``host/model``, a host alone, or a model id that belongs to one host. White space
    around it is ignored. Any other ``word/model`` is an unknown server: it gets the floor, which is
    a form that no server refuses, and the structure that the model's maker demands. The log names
    it once. A warning is issued if the word looks misspelt (``antropic/...``).

    Raises:
        TargetError: the name is empty, not a string, or a single word that no table lists.
    """
    if not isinstance(name, str) or not name.strip():
        given = repr(shorten(name)) if isinstance(name, str) else type(name).__name__
        message = f"a target is a name such as 'anthropic/claude-sonnet-4-5', not {given}"
        raise TargetError(message)
    return _resolved(name.strip())


@lru_cache(maxsize=1024)
def _resolved(name: str) -> Target:
    host, model = find_table(name)
    if host is None:
        _report_unknown_host(name)
    table = host or host_table(UNKNOWN)
    limits, hygiene = _compose(layers_of(table, model))
    spoken = (
        {}
        if table["host"] == _OTHER
        else {
            dialect: _limits_in_dialect(table, model, dialect)
            for dialect in dialects_of(table, model)
        }
    )
    maker = maker_behind(table, model)
    return Target(
        name, str(table["host"]), model, limits, hygiene, spoken, maker, host is None,
        shown_by=models_shown(table, model),
    )  # fmt: skip


def resolve_for(target: str | Target, body: object) -> Target:
    """Return the target of a request, which may show a model that the id of the model hides.

    An ARN of Bedrock may hide it. If the request does not show it either, the log names the ARN
    once. A target with limits of an adapter stays the same.

    Raises:
        TargetError: as ``resolve``.
    """
    found = target if isinstance(target, Target) else resolve(target)
    if not found.shown_by or found is not resolve(found.name):
        return found
    shown = (model for key, model in found.shown_by.items() if value_at(body, key))
    if model := next(shown, None):
        return resolve(f"{found.name}/{model}")
    _log_hidden_model(found.name)
    return found


def name_for(name: str, *bodies: object) -> str:
    """Return the name of a target with the model that one of some bodies shows, if an ARN hides it.

    Otherwise the name is returned, also if no table lists it.
    """
    if "arn:" not in name:
        return name
    try:
        target = resolve(name)
    except TargetError:
        return name
    body = next((one for one in bodies if any(value_at(one, key) for key in target.shown_by)), {})
    return resolve_for(target, body).name


def with_model(name: str, model: str) -> str:
    """Return the name of a target with a name of its model, if its id hides the model."""
    hides = "arn:" in name and resolve(name).shown_by
    return f"{name}/{model.rpartition('/')[2]}" if hides and model else name


@lru_cache(maxsize=1024)
def _log_hidden_model(name: str) -> None:
    import logging

    logging.getLogger("chatmend").warning(
        "the target %s does not name the model: only what all models of the host demand is "
        "repaired, and signed thinking stays; name the model as the target "
        "(target='bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0'), in LiteLLM as base_model "
        "of the deployment",
        name,
    )


def find_table(name: str) -> tuple[Table | None, str]:
    """Return the table of the host that a target's name means, and the model id.

    The table is None if no table describes the host.

    Raises:
        TargetError: the name is a single word that no table lists.
    """
    first, _, rest = name.partition("/")
    host = find_host(first.lower())
    if host is not None:
        return host, rest
    host = host_of_model(name) if not rest or first.lower().startswith("arn:") else None
    if host is not None:
        return host, name
    if "/" in name:
        return None, rest
    import difflib

    near = difflib.get_close_matches(first.lower()[:_MAX_QUOTED], known_providers(), 1)
    hint = (
        f"; did you mean {near[0]!r}?"
        if near
        else "; the target 'other' changes only images that are too large"
    )
    message = f"no table for {shorten(name)!r}{hint}"
    raise TargetError(message)


def _report_unknown_host(name: str) -> None:
    """Warn of a host that looks misspelt; log any other host without a table, once."""
    first = shorten(name.partition("/")[0])
    if meant := suggest_provider(name):
        import warnings

        text = (
            f"no table for {first!r}; did you mean {meant!r}? "
            "Using the limits of an unknown server (openai_compatible)"
        )
        warnings.warn(text, stacklevel=4)
    else:
        _log_unknown_host(first)


@lru_cache(maxsize=1024)
def _log_unknown_host(host: str) -> None:
    import logging

    logging.getLogger("chatmend").warning(
        "no table for the host %r: only what no server refuses is repaired, and the structure that "
        "the maker of the model demands; 'chatmend targets --explain %s/MODEL' lists the limits",
        host,
        host,
    )


def suggest_provider(name: str) -> str | None:
    """Return the provider that a misspelt name most likely means.

    None if the host or the model has a table, or if no host's name is similar enough.
    """
    first = name.strip().partition("/")[0].lower()
    if find_host(first) or ("/" not in name and host_of_model(name.strip())):
        return None
    import difflib

    return next(
        iter(difflib.get_close_matches(first[:_MAX_QUOTED], known_providers(), 1, _MIN_SIMILARITY)),
        None,
    )


def shorten(name: str) -> str:
    """Shorten a name for quoting in an error message."""
    return name if len(name) <= _MAX_QUOTED else f"{name[:_MAX_QUOTED]}…"


def _limits_in_dialect(host: Table, model: str, dialect: str) -> tuple[Limits, Limits]:
    own, hygiene = _compose(layers_of(host, model, dialect))
    if not is_defined_elsewhere(host, model, dialect):
        return own, hygiene
    limits, _ = _compose(dialect_layers(model, dialect))
    return replace(limits, images=own.images, own=_merge_own(limits.own, own.own)), hygiene


def is_defined_elsewhere(host: Table, model: str, dialect: str) -> bool:
    """Return whether the limits of a dialect are those of the maker or host that defined it."""
    has_origin = dialect in DIALECT_MAKERS or dialect in DIALECT_HOSTS
    return has_origin and not describes(host, model, dialect)


def dialect_layers(model: str, dialect: str) -> list[Layer]:
    """Return the layers of the maker or host that defined a dialect."""
    if dialect in DIALECT_HOSTS:
        return layers_of(host_table(DIALECT_HOSTS[dialect]), model, dialect)
    return maker_layers(maker_table(DIALECT_MAKERS[dialect]), model, dialect)


def _compose(layers: Iterable[Layer]) -> tuple[Limits, Limits]:
    """Return the limits and the hygiene that layers of facts add up to."""
    limits, hygiene = Limits(), Limits()
    for layer in layers:
        facts, images = layer.limits, layer.images
        if layer.tightens:
            facts = only_stricter(limits, facts)
            images = only_stricter(limits.images, images, IMAGES)
        limits = apply_facts(limits, facts)
        limits = replace(limits, images=apply_facts(limits.images, images))
        own = tuple((key, value_of(fact)) for key, fact in layer.rules.items())
        limits = replace(limits, own=_merge_own(limits.own, own))
        hygiene = apply_facts(hygiene, layer.hygiene)
    return limits, hygiene


def only_stricter(
    limits: Limits | ImageLimits, facts: Mapping[str, Any], prefix: str = ""
) -> dict[str, Any]:
    """Return the facts whose values are stricter than the limits; sets are united.

    ``prefix`` is what the names of the limits begin with in ``strictness``.
    """
    open_limits = type(limits)()
    found = {}
    for name, fact in facts.items():
        old, new = getattr(limits, name), value_of(fact)
        # A pattern or truth value of the host holds for all of its models.
        is_open = old is None or old == getattr(open_limits, name)
        if isinstance(new, bool) or name.endswith("_pattern"):
            new = new if is_open else old
        else:
            new = stricter(prefix + name, old, new)
        if new != old:
            is_set = isinstance(new, frozenset)
            found[name] = {**fact, "value": sorted(new)} if is_set else fact
    return found


def _merge_own(
    own: tuple[tuple[str, object], ...], more: tuple[tuple[str, object], ...]
) -> tuple[tuple[str, object], ...]:
    return tuple(sorted((dict(own) | dict(more)).items()))


def value_of(fact: Any) -> Any:  # noqa: ANN401 - any TOML value
    """Return the value of a fact: lists become sets, ``"none"`` becomes None."""
    value = fact["value"] if isinstance(fact, dict) else fact
    if isinstance(value, list):
        value = frozenset(value)
    return None if value == "none" else value


def apply_facts(limits: _Limits, facts: Mapping[str, Any]) -> _Limits:
    """Return limits with the values of facts, each a value or a table with ``value`` and source.

    Raises:
        TargetError: a fact has a name that is not a limit.
    """
    values: dict[str, Any] = {}
    for key, fact in facts.items():
        if key not in _FIELDS[type(limits)]:
            message = f"unknown limit {key!r} in a target's table"
            raise TargetError(message)
        values[key] = value_of(fact)
    return replace(limits, **values) if values else limits
