"""Bedrock's own description of Converse, as botocore ships it.

botocore's validator checks types, required members and minima; patterns, maxima and enums it leaves to the server,
so they are read from the same shapes here.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from botocore.model import Shape  # type: ignore[import-untyped]

    from .request import Json


@cache
def _converse_shape() -> Shape:
    from botocore.loaders import Loader  # type: ignore[import-untyped]
    from botocore.model import ServiceModel

    description = Loader().load_service_model("bedrock-runtime", "service-2")
    shape: Shape = ServiceModel(description).operation_model("Converse").input_shape
    return shape


@cache
def _validator() -> Any:
    from botocore.validate import ParamValidator  # type: ignore[import-untyped]

    return ParamValidator()


def converse_faults(messages: Json, system: Json) -> list[str]:
    """Hold a Converse body against the service model."""
    body = {"modelId": "judged", "messages": messages, "system": system or []}
    report = _validator().validate(body, _converse_shape())
    refusals = [f"botocore: {line}" for line in report.generate_report().splitlines()]
    return refusals + list(_constraint_faults(body, _converse_shape(), "body"))


def _constraint_faults(value: Json, shape: Shape, where: str) -> list[str]:
    if shape.type_name == "structure" and isinstance(value, dict) and not shape.is_document_type:
        members = _members(shape)
        return [
            fault
            for key, item in value.items()
            if key in members
            for fault in _constraint_faults(item, members[key], f"{where}.{key}")
        ]
    if shape.type_name == "list" and isinstance(value, list):
        member = shape.member
        inner = [
            f
            for i, item in enumerate(value)
            for f in _constraint_faults(item, member, f"{where}[{i}]")
        ]
        return _size_faults(len(value), shape, where) + inner
    return _text_faults(value, shape, where) if isinstance(value, str) else []


def _members(shape: Shape) -> dict[str, Shape]:
    return dict(shape.members)


def _text_faults(value: str, shape: Shape, where: str) -> list[str]:
    faults = _size_faults(len(value), shape, where) if shape.type_name == "string" else []
    pattern, choices = shape.metadata.get("pattern"), shape.metadata.get("enum")
    if pattern and not re.fullmatch(pattern, value):
        faults.append(f"{where}: does not match {pattern}")
    if choices and value not in choices:
        faults.append(f"{where}: not one of {choices}")
    return faults


def _size_faults(size: int, shape: Shape, where: str) -> list[str]:
    least, most = shape.metadata.get("min", 0), shape.metadata.get("max", size)
    return [] if least <= size <= most else [f"{where}: size {size}, allowed are {least} to {most}"]
