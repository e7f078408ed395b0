"""What the tables of facts may hold, as typed models; ``faults`` lists what is wrong with a table.

The fields and their types are those of ``Limits`` and ``ImageLimits``: a new limit needs no entry here. Tests validate
the tables, so that nothing of this is imported where chatmend is used.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields
from datetime import date  # noqa: TC003 - pydantic reads the annotation
from pathlib import Path
from types import NoneType
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    create_model,
    model_validator,
)

from chatmend import targets
from chatmend.dialects import DIALECTS
from chatmend.probe.cases import FORMATS
from chatmend.rules import LAST, RULES
from chatmend.targets.image_limits import ImageLimits
from chatmend.targets.limits import Limits
from chatmend.targets.strictness import STRICTNESS

TARGETS = Path(targets.__file__).parent
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
        others = [
            _in_toml(one, is_pattern=is_pattern) for one in get_args(kind) if one is not NoneType
        ]
        return Union[(Literal["none"], *others)]
    if kind is int:
        return Annotated[int, Field(ge=0)]
    return Pattern if is_pattern else kind


def _facts(limits: type) -> type[BaseModel]:
    """A model of the facts about limits: each may be missing."""
    hints = get_type_hints(limits)
    made = {
        field.name: (
            Fact[_in_toml(hints[field.name], is_pattern=field.name in PATTERNS)] | None,
            None,
        )  # type: ignore[misc]
        for field in fields(limits)
        if field.name not in ("images", "native", "own")
    }
    return create_model(f"{limits.__name__}Facts", __base__=_Closed, **made)  # type: ignore[call-overload,no-any-return]


def _owned() -> type[BaseModel]:
    """A model of the facts about limits that rules own."""
    made = {
        name: (Fact[kind | Literal["none"]] | None, None)
        for rule in (*RULES, *LAST)
        for name, kind in rule.own_limits.items()
    }  # type: ignore[valid-type]
    return create_model("OwnedFacts", __base__=_Closed, **made)  # type: ignore[call-overload,no-any-return]


def _stems(folder: str) -> tuple[str, ...]:
    """The names of the files in a folder of tables."""
    return tuple(sorted(path.stem for path in (TARGETS / folder).glob("*.toml")))


OwnedFacts = _owned()
LimitFacts, ImageFacts = _facts(Limits), _facts(ImageLimits)


class Lift(_Closed):
    """Why a limit of a maker's structure does not hold behind a host."""

    source: Text
    checked: date


HOST_MODES = {"system", "thinking", "typed_messages", "reasoning_items", "reasoning_form"}
"""Limits that differ between the hosts of one model."""


def _structure() -> type[BaseModel]:
    """A model of the limits that may hold for a maker's models behind every host."""
    plain = {
        field.name
        for field in fields(Limits)
        if field.type.split(" |")[0] in ("bool", "int", "str")
        or field.name.startswith("empty_roles")
    }
    left_out = {
        field.name: (None, None)
        for field in fields(Limits)
        if field.name not in plain | set(STRICTNESS) - HOST_MODES | {"images", "own"}
    }
    return create_model("Structure", __base__=LimitFacts, **left_out)  # type: ignore[call-overload,no-any-return]


StructureFacts = _structure()


class _Facts(_Closed):
    limits: LimitFacts | None = None  # type: ignore[valid-type]
    hygiene: LimitFacts | None = None  # type: ignore[valid-type]
    images: ImageFacts | None = None  # type: ignore[valid-type]
    rules: OwnedFacts | None = None  # type: ignore[valid-type]


class Serves(_Facts):
    """Models that a host serves, with limits of their own."""

    models: Annotated[list[str], Field(min_length=1)] | Literal[_stems("makers")]  # type: ignore[valid-type]
    """Patterns of model names, or a maker. The empty pattern means a host without a model."""
    except_: list[Text] = Field(default=[], alias="except")
    dialect: Literal[tuple(DIALECTS)] | None = None  # type: ignore[valid-type]  # made at run time
    maker: Literal[_stems("makers")] | None = None  # type: ignore[valid-type]
    host: Literal[_stems("hosts")] | None = None  # type: ignore[valid-type]
    holds: Literal["structure", "all", "messages"] | None = None
    shown_by: dict[Text, Text] = {}

    @model_validator(mode="after")
    def _says_what_holds(self) -> Serves:
        if (self.maker is None) != (self.holds is None):
            raise ValueError("'maker' and 'holds' go together")
        return self


class Probe(_Closed):
    """Where ``chatmend probe`` sends its requests."""

    url: Annotated[Text, Field(pattern="^https?://")]
    key: Text = ""
    model: Text = ""
    format: Literal[FORMATS] = FORMATS[0]  # type: ignore[valid-type]  # made at run time
    tokens_key: Text = "max_tokens"


class Host(_Facts):
    """A file in ``src/chatmend/targets/hosts``."""

    host: Text
    names: Annotated[list[Text], Field(min_length=1)]
    like: Literal[_stems("hosts")] | None = None  # type: ignore[valid-type]
    makers: bool = True
    prefix_is_host: bool = False
    addresses: list[Text] = []
    models: list[Text] = []
    lifts: dict[str, Lift] = {}
    probe: Probe | None = None
    serves: list[Serves] = []


class Generation(_Closed):
    """Models of a maker with limits of their own."""

    models: Annotated[list[str], Field(min_length=1)]
    except_: list[Text] = Field(default=[], alias="except")
    dialect: Literal[tuple(DIALECTS)] | None = None  # type: ignore[valid-type]  # made at run time
    structure: StructureFacts | None = None  # type: ignore[valid-type]
    structure_images: ImageFacts | None = None  # type: ignore[valid-type]
    api: LimitFacts | None = None  # type: ignore[valid-type]
    hygiene: LimitFacts | None = None  # type: ignore[valid-type]
    images: ImageFacts | None = None  # type: ignore[valid-type]
    rules: OwnedFacts | None = None  # type: ignore[valid-type]


class Maker(_Closed):
    """A file in ``src/chatmend/targets/makers``."""

    maker: Text
    models: Annotated[list[Text], Field(min_length=1)]
    except_: list[Text] = Field(default=[], alias="except")
    hygiene_everywhere: bool = False
    structure: StructureFacts | None = None  # type: ignore[valid-type]
    structure_images: ImageFacts | None = None  # type: ignore[valid-type]
    api: LimitFacts | None = None  # type: ignore[valid-type]
    hygiene: LimitFacts | None = None  # type: ignore[valid-type]
    images: ImageFacts | None = None  # type: ignore[valid-type]
    rules: OwnedFacts | None = None  # type: ignore[valid-type]
    generation: list[Generation] = []


class Conversion(_Closed):
    """What LiteLLM's conversion changes about the limits of some models."""

    match: Annotated[list[Text], Field(min_length=1)]
    since: Annotated[str, Field(pattern=r"^\d+\.\d+\.\d+$")] | None = None
    until: Annotated[str, Field(pattern=r"^\d+\.\d+\.\d+$")] | None = None
    reads: Fact[list[Text]] | None = None
    limits: LimitFacts | None = None  # type: ignore[valid-type]
    images: ImageFacts | None = None  # type: ignore[valid-type]


class DroppedItems(_Closed):
    """Types of items of the Responses API that LiteLLM drops."""

    until: Annotated[str, Field(pattern=r"^\d+\.\d+\.\d+$")] | None = None
    types: Fact[list[Text]]


class DroppedBlocks(DroppedItems):
    """Types of blocks of Anthropic's messages that LiteLLM drops for some targets."""

    match: list[Text]
    files_in_results: bool | None = None


class Conversions(_Closed):
    """The file ``src/chatmend/litellm/conversion.toml``."""

    conversion: list[Conversion]
    dropped_items: list[DroppedItems]
    dropped_blocks: list[DroppedBlocks]


def faults(path: Path, model: type[BaseModel] | None = None) -> list[str]:
    """What is wrong with a table, each with file, key, fault and the value that was found."""
    model = model or (Maker if path.parent.name == "makers" else Host)
    try:
        model.model_validate(tomllib.loads(path.read_text("utf-8")), strict=True)
    except tomllib.TOMLDecodeError as error:
        return [f"{path.name}: not TOML: {error}"]
    except ValidationError as error:
        return [
            f"{path.name}: {_key(one['loc'])}: {one['msg']}, not {one['input']!r}"
            for one in error.errors()
        ]
    return []


def _key(steps: tuple[int | str, ...]) -> str:
    """The way to a value as TOML readers name it: ``serves[2].limits.roles.value[0]``."""
    named = [step for step in steps if isinstance(step, int) or re.fullmatch(r"\w+", step)]
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in named).lstrip(
        "."
    )
