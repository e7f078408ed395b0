"""A tool result that does not say which tool it is of, or that is no object, where the target matches by name.

Why: ``* GenerateContentRequest.contents[2].parts[0].function_response.name: Name cannot be empty.`` and ``Invalid value at
'contents[2].parts[0].function_response.response' (type.googleapis.com/google.protobuf.Struct), "x"`` (Gemini).

Repair: the name of the call that it answers; what is no object is the ``output`` of one.

Before (gemini/gemini-2.5-flash):
    [{"role": "user", "parts": [{"text": "How warm is it?"}]},
     {"role": "model", "parts": [{"functionCall": {"name": "weather", "args": {}}}]},
     {"role": "user", "parts": [{"functionResponse": {"response": "72 F"}}]}]
After:
    [{"role": "user", "parts": [{"text": "How warm is it?"}]},
     {"role": "model", "parts": [{"functionCall": {"name": "weather", "args": {}}}]},
     {"role": "user", "parts": [{"functionResponse": {"response": {"output": "72 F"}, "name": "weather"}}]}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.changes import Fix
from chatmend.exchanges import match
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Opaque, Part, Text, ToolResult, is_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.windows import Memory, Place, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Results without a name, or with a response that is none."""
    if not context.limits.result_names:
        return
    found = match(window)
    names = {place: found.calls[number].name for number, place in found.answers.items()}
    for at, message in enumerate(window.messages):
        parts = tuple(_named(part, (at, place), names) for place, part in enumerate(message.parts))
        if not is_unchanged(message.parts, parts):
            yield Fix(at, at + 1, (replace(message, parts=parts),), "a result must name its tool, and be an object")


def _named(part: Part, place: Place, names: dict[Place, object]) -> Part:
    if not isinstance(part, ToolResult):
        return part
    name = part.name if isinstance(part.name, str) and part.name else names.get(place, part.name)
    content = tuple(map(_object, part.content))
    spoken = tuple(content) if any(not _is_media(p) for p in content) else (Text(""), *content)
    same = is_unchanged(part.content, spoken)
    return part if same and name == part.name else replace(part, name=name, content=part.content if same else spoken)


def _is_media(part: Part) -> bool:
    return not isinstance(part, Text | Opaque)


def _object(part: Part) -> Part:
    if not isinstance(part, Opaque) or part.is_object:
        return part
    return Text(part.as_json if part.bare is None else part.bare)


RULE = Rule("TOOL016", "unnamed-result", find, STRUCTURE)
