"""What the tables of facts may hold, as typed models; ``faults`` lists what is wrong with a table.

The fields and their types are those of ``Limits`` and ``ImageLimits``: a new limit needs no entry here. Tests validate
the tables, so that nothing of this is imported where chatmend is used.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields
from datetime import date  # noqa: TC003 - pydantic reads the annotation
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, create_model

from chatmend.dialects import DIALECTS
from chatmend.rules import RULES
from chatmend.targets.image_limits import ImageLimits
from chatmend.targets.limits import Limits

if TYPE_CHECKING:
    from pathlib import Path

T = TypeVar("T")
Text = Annotated[str, Field(min_length=1, strict=True)]


def _compiled(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"no regular expression: {error}") from error
    return text


Pattern = Annotated[Text, AfterValidator(_compiled)]
PATTERNS = {"call_id_pattern", "tool_name_pattern", "message_name_pattern", "file_references"}


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Fact(_Closed, Generic[T]):
    """A value, how it is known, and when that was checked."""

    value: T
    source: Text
    checked: date


def _in_toml(kind: Any, *, is_pattern: bool) -> Any:
    """The type that a value has in a table: a list for a set, ``"none"`` for None."""
    if get_origin(kind) is frozenset:
        return list[get_args(kind)[0]]  # type: ignore[misc]  # made at run time
    if NoneType in get_args(kind):
        others = [_in_toml(one, is_pattern=is_pattern) for one in get_args(kind) if one is not NoneType]
        return Union[(Literal["none"], *others)]
    if kind is int:
        return Annotated[int, Field(ge=0)]
    return Pattern if is_pattern else kind


def _facts(limits: type) -> type[BaseModel]:
    """A model of the facts about limits: each may be missing."""
    hints = get_type_hints(limits)
    made = {
        field.name: (Fact[_in_toml(hints[field.name], is_pattern=field.name in PATTERNS)] | None, None)  # type: ignore[misc]
        for field in fields(limits)
        if field.name not in ("images", "native", "own")
    }
    return create_model(f"{limits.__name__}Facts", __base__=_Closed, **made)  # type: ignore[call-overload,no-any-return]


def _owned() -> type[BaseModel]:
    """A model of the facts about limits that rules own."""
    made = {name: (Fact[kind] | None, None) for rule in RULES for name, kind in rule.owns.items()}  # type: ignore[valid-type]
    return create_model("OwnedFacts", __base__=_Closed, **made)  # type: ignore[call-overload,no-any-return]


OwnedFacts = _owned()
LimitFacts, ImageFacts = _facts(Limits), _facts(ImageLimits)


class Family(_Closed):
    """Models with limits of their own."""

    match: Annotated[list[str], Field(min_length=1)]
    """Patterns of model names. The empty one means a provider without a model."""
    like: Text | None = None
    dialect: Literal[tuple(DIALECTS)] | None = None  # type: ignore[valid-type]  # made at run time
    limits: LimitFacts | None = None  # type: ignore[valid-type]
    hygiene: LimitFacts | None = None  # type: ignore[valid-type]
    images: ImageFacts | None = None  # type: ignore[valid-type]
    rules: OwnedFacts | None = None  # type: ignore[valid-type]


class Target(_Closed):
    """A file in ``src/chatmend/targets``."""

    provider: Text
    names: Annotated[list[Text], Field(min_length=1)]
    hosts: list[Text] = []
    models: list[Text] = []
    limits: LimitFacts | None = None  # type: ignore[valid-type]
    hygiene: LimitFacts | None = None  # type: ignore[valid-type]
    images: ImageFacts | None = None  # type: ignore[valid-type]
    rules: OwnedFacts | None = None  # type: ignore[valid-type]
    family: list[Family] = []


class Conversion(_Closed):
    """What LiteLLM's conversion changes about the limits of some models."""

    match: Annotated[list[Text], Field(min_length=1)]
    limits: LimitFacts  # type: ignore[valid-type]


class Conversions(_Closed):
    """The file ``src/chatmend/litellm/conversion.toml``."""

    conversion: list[Conversion]


def faults(path: Path, model: type[BaseModel] = Target) -> list[str]:
    """What is wrong with a table, each with file, key, fault and the value that was found."""
    try:
        model.model_validate(tomllib.loads(path.read_text("utf-8")), strict=True)
    except tomllib.TOMLDecodeError as error:
        return [f"{path.name}: not TOML: {error}"]
    except ValidationError as error:
        return [f"{path.name}: {_key(one['loc'])}: {one['msg']}, not {one['input']!r}" for one in error.errors()]
    return []


def _key(steps: tuple[int | str, ...]) -> str:
    """The way to a value as TOML readers name it: ``family[2].limits.roles.value[0]``."""
    named = [step for step in steps if isinstance(step, int) or re.fullmatch(r"\w+", step)]
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in named).lstrip(".")
