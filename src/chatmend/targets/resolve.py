"""From a target's name, as LiteLLM writes it, to its limits: provider, api and model id all count."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from chatmend.errors import TargetError
from chatmend.targets.image_limits import ImageLimits
from chatmend.targets.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Mapping

UNKNOWN = "openai_compatible"
"""The table of a server of which nothing is known but the API that it speaks."""
_OTHER = "other"
_LONGEST = 80
"""Characters of a name that was not understood: more of it, and it may be anything."""
_SURELY_MEANT = 0.8
"""Likeness from which an unknown provider's name is taken for a misspelt one, and not for a gateway without a table."""
_HOMES = {"openai_responses": "openai", "gemini_contents": "gemini"}
"""Whose table holds for a dialect where a provider's own says nothing about it: who else speaks it copies its maker."""
_FIELDS = {kind: frozenset(field.name for field in fields(kind)) for kind in (Limits, ImageLimits)}
_Limits = TypeVar("_Limits", Limits, ImageLimits)


@dataclass(frozen=True, slots=True)
class Target:
    """A provider with a model, and the limits that hold there."""

    name: str
    provider: str
    model: str
    limits: Limits
    hygiene: Limits
    """What agent gateways keep to on this target, and no more."""
    spoken: Mapping[str, tuple[Limits, Limits]] = field(default_factory=dict, hash=False)
    """Both of these, for a dialect in which they differ."""

    def limits_in(self, dialect: str, *, hygiene: bool = False) -> Limits:
        """The limits that hold in a dialect."""
        limits, clean = self.spoken.get(dialect, (self.limits, self.hygiene))
        return clean if hygiene else limits


def resolve(name: str) -> Target:
    """The target that a name means: ``provider/model``, a provider alone, or a model id that one provider owns.

    White space around the name does not count. Any other ``word/model`` is a server that nobody knows: it gets what no
    server refuses (``openai_compatible``), with a warning where the word looks like a slip (``antropic/...``).

    Raises:
        TargetError: it is no name, it is empty, or a lone word that no table knows.
    """
    if not isinstance(name, str) or not name.strip():
        given = repr(shortened(name)) if isinstance(name, str) else type(name).__name__
        message = f"a target is a name such as 'anthropic/claude-sonnet-4-5', not {given}"
        raise TargetError(message)
    return _resolved(name.strip())


@lru_cache(maxsize=256)
def _resolved(name: str) -> Target:
    first, _, rest = name.partition("/")
    table = _find(first.lower())
    if table is None:
        table, rest = _by_model(name), name
    if table is None and "/" not in name:
        import difflib

        near = difflib.get_close_matches(first.lower()[:_LONGEST], known_providers(), 1)
        hint = f"; did you mean {near[0]!r}?" if near else "; 'other' changes nothing but images"
        message = f"no table for {shortened(name)!r}{hint}"
        raise TargetError(message)
    if table is None and (meant := misspelt(name)):
        import warnings

        text = f"no table for {shortened(first)!r}; did you mean {meant!r}? Read as a server that nobody knows"
        warnings.warn(text, stacklevel=3)
    table = table or _table(UNKNOWN)
    limits, hygiene = _limits(table, rest)
    dialects = {family["dialect"]: None for family in table.get("family", ()) if "dialect" in family} | _HOMES
    spoken = {} if table["provider"] == _OTHER else {known: _in_dialect(table, rest, known) for known in dialects}
    return Target(name, str(table["provider"]), rest, limits, hygiene, spoken)


def misspelt(name: str) -> str | None:
    """The provider that a name surely means but for a slip, where neither its first word nor its model has a table."""
    first = name.strip().partition("/")[0].lower()
    if _find(first) or _by_model(name.strip()):
        return None
    import difflib

    return next(iter(difflib.get_close_matches(first[:_LONGEST], known_providers(), 1, _SURELY_MEANT)), None)


def shortened(name: str) -> str:
    """As much of a name as an error quotes."""
    return name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…"


def known_providers() -> tuple[str, ...]:
    """Every provider's name that has a table, sorted."""
    return tuple(sorted(name for table in tables() for name in table["names"]))


@lru_cache(maxsize=1)
def _stems() -> frozenset[str]:
    from importlib.resources import files

    return frozenset(item.name[:-5] for item in files(__package__).iterdir() if item.name.endswith(".toml"))


@lru_cache(maxsize=64)
def _table(stem: str) -> dict[str, Any]:
    import tomllib
    from importlib.resources import files

    table = tomllib.loads(files(__package__).joinpath(f"{stem}.toml").read_text("utf-8"))
    return {"names": [stem], "provider": stem, **table}


@lru_cache(maxsize=1)
def tables() -> tuple[dict[str, Any], ...]:
    """Every table, sorted by the name of its file."""
    return tuple(_table(stem) for stem in sorted(_stems()))


def _find(provider: str) -> dict[str, Any] | None:
    if provider in _stems():
        return _table(provider)
    return next((table for table in tables() if provider in table["names"]), None)


def _by_model(name: str) -> dict[str, Any] | None:
    model = name.lower()
    return next((t for t in tables() if any(fnmatchcase(model, p) for p in t.get("models", ()))), None)


def _in_dialect(table: dict[str, Any], model: str, dialect: str) -> tuple[Limits, Limits]:
    """The limits of a model in a dialect: the table's own where it describes the dialect, those of its maker else."""
    own = _limits(table, model, dialect)
    if dialect not in _HOMES or any(_describes(family, model, dialect) for family in table.get("family", ())):
        return own
    limits, hygiene = _limits(_table(_HOMES[dialect]), model, dialect)
    return replace(limits, images=own[0].images, own=_joined(limits.own, own[0].own)), hygiene


def _describes(family: dict[str, Any], model: str, dialect: str) -> bool:
    if not _matches(family, model, dialect):
        return False
    like = _table(family["like"]).get("family", ()) if "like" in family else ()
    return family.get("dialect") == dialect or any(_describes(inner, model, dialect) for inner in like)


def _speaks_otherwise(family: dict[str, Any], model: str, dialect: str) -> bool:
    """Whether the table that a family is like says nothing of a dialect: there it does not hold."""
    return dialect in _HOMES and family.get("dialect") != dialect and not _describes(family, model, dialect)


def _matches(family: dict[str, Any], model: str, dialect: str) -> bool:
    spoken: str = family.get("dialect", dialect)
    return spoken == dialect and any(fnmatchcase(model.lower(), pattern) for pattern in family["match"])


def _limits(table: dict[str, Any], model: str, dialect: str = "") -> tuple[Limits, Limits]:
    """The limits of a model, and its hygiene: the table's own, then each family that the model belongs to."""
    limits = lay_over(Limits(images=lay_over(ImageLimits(), table.get("images", {}))), table.get("limits", {}))
    limits = _with_own(limits, table)
    hygiene = lay_over(Limits(), table.get("hygiene", {}))
    for family in table.get("family", ()):
        if not _matches(family, model, dialect):
            continue
        if "like" in family and not _speaks_otherwise(family, model, dialect):
            limits, hygiene = _limits(_table(family["like"]), model.rsplit("/", 1)[-1], dialect)
        limits = lay_over(limits, family.get("limits", {}))
        limits = replace(limits, images=lay_over(limits.images, family.get("images", {})))
        limits = _with_own(limits, family)
        hygiene = lay_over(hygiene, family.get("hygiene", {}))
    return limits, hygiene


def _with_own(limits: Limits, table: dict[str, Any]) -> Limits:
    """Limits with those that rules own, as a table or a family has them under ``rules``."""
    facts = table.get("rules", {})
    return replace(limits, own=_joined(limits.own, tuple((key, _value(facts[key])) for key in facts)))


def _joined(
    own: tuple[tuple[str, object], ...], more: tuple[tuple[str, object], ...]
) -> tuple[tuple[str, object], ...]:
    return tuple(sorted((dict(own) | dict(more)).items()))


def _value(fact: Any) -> Any:  # noqa: ANN401 - a value, or a table that holds one
    """The value of a fact: lists become sets, ``"none"`` becomes None."""
    value = fact["value"] if isinstance(fact, dict) else fact
    if isinstance(value, list):
        value = frozenset(value)
    return None if value == "none" else value


def lay_over(limits: _Limits, facts: dict[str, Any]) -> _Limits:
    """Limits with the values of facts: each is a value, or a table with the value and how it is known."""
    values: dict[str, Any] = {}
    for key, fact in facts.items():
        if key not in _FIELDS[type(limits)]:
            message = f"a target's table names {key!r}, which is no limit"
            raise TargetError(message)
        values[key] = _value(fact)
    return replace(limits, **values)
