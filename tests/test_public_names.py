"""What others build on: names, parameters, fields and methods. One that goes or changes breaks somebody.

``python -m tests.test_public_names`` writes ``public_names.json`` anew. A name that goes needs a major version and a
line in the changelog; a name that comes needs a line, documentation, and a reason why it is public.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import json
from importlib import import_module
from pathlib import Path
from typing import Any

import chatmend

FROZEN = Path(__file__).with_name("public_names.json")
MODULES = (
    "chatmend",
    "chatmend.data",
    "chatmend.images",
    "chatmend.langchain",
    "chatmend.litellm",
    "chatmend.sandbox",
    "chatmend.sessions",
    "chatmend.transport",
    "chatmend.usage",
)
GROWING = {chatmend.Limits}
"""Gets a field with every new kind of fact."""


def public() -> dict[str, dict[str, Any]]:
    """For each module its names, and of each what a caller relies on."""
    return {
        name: {key: _shape(getattr(import_module(name), key)) for key in _names(name)}
        for name in MODULES
    }


def _names(module: str) -> list[str]:
    return sorted(import_module(module).__all__)


def _shape(value: Any) -> Any:
    if inspect.isclass(value) and issubclass(value, enum.Enum):
        return [member.name for member in value]
    if inspect.isclass(value) and value.__module__.startswith("chatmend"):
        fields = (
            [field.name for field in dataclasses.fields(value)]
            if dataclasses.is_dataclass(value)
            else []
        )
        ours = [kin for kin in reversed(value.__mro__) if kin.__module__.startswith("chatmend")]
        held = {key: member for kin in ours for key, member in vars(kin).items()}
        own = {
            key: _called(member) for key, member in sorted(held.items()) if _is_public(key, member)
        }
        if fields:
            own["__init__"] = (
                "..." if value in GROWING else ", ".join(name for name in fields if name[0] != "_")
            )
        return own
    return _called(value)


def _is_public(key: str, member: Any) -> bool:
    if key == "__init__":
        return True
    return key[0] != "_" and (
        callable(member) or isinstance(member, (property, classmethod, staticmethod))
    )


def _called(member: Any) -> Any:
    if isinstance(member, property):
        return "property"
    function = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
    if not inspect.isroutine(function):
        return type(member).__name__
    return ", ".join(map(_parameter, inspect.signature(function).parameters.values()))


def _parameter(one: inspect.Parameter) -> str:
    stars = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**", one.KEYWORD_ONLY: "keyword "}.get(
        one.kind, ""
    )
    return f"{stars}{one.name}{'' if one.default is one.empty else '='}"


def test_the_public_names_are_those_that_were_promised() -> None:
    assert public() == json.loads(FROZEN.read_text("utf-8"))


def test_every_public_name_is_sorted_and_documented() -> None:
    for name in MODULES:
        module = import_module(name)
        assert list(module.__all__) == sorted(module.__all__), name
        assert all(inspect.getdoc(getattr(module, key)) for key in module.__all__), name


if __name__ == "__main__":
    FROZEN.write_text(json.dumps(public(), indent=1) + "\n", "utf-8")
