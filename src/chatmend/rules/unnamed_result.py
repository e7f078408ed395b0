"""A tool result that does not name its tool or is not an object, where the target requires both.

Why: ``* GenerateContentRequest.contents[2].parts[0].function_response.name: Name cannot be empty.``
and ``Invalid value at 'contents[2].parts[0].function_response.response'
(type.googleapis.com/google.protobuf.Struct), "x"`` (Gemini).

Repair: The result gets the name of its call. A response that is not an object becomes the
``output`` of a new object.

Before (gemini/gemini-2.5-flash):
    [{"role": "user", "parts": [{"text": "How warm is it?"}]},
     {"role": "model", "parts": [{"functionCall": {"name": "weather", "args": {}}}]},
     {"role": "user", "parts": [{"functionResponse": {"response": "72 F"}}]}]
After:
    [{"role": "user", "parts": [{"text": "How warm is it?"}]},
     {"role": "model", "parts": [{"functionCall": {"name": "weather", "args": {}}}]},
     {"role": "user", "parts": [
         {"functionResponse": {"response": {"output": "72 F"}, "name": "weather"}}]}]
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
    from chatmend.windows import Memory, PartPosition, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for results without a name, or with a response that is not an object."""
    if not context.limits.result_names:
        return
    found = match(window)
    names = {position: found.calls[number].name for number, position in found.answers.items()}
    for at, message in enumerate(window.messages):
        parts = tuple(
            _with_name(part, (at, part_at), names) for part_at, part in enumerate(message.parts)
        )
        if not is_unchanged(message.parts, parts):
            yield Fix(
                at,
                at + 1,
                (message.with_parts(parts),),
                "a tool result must name its tool and be an object",
            )


def _with_name(part: Part, position: PartPosition, names: dict[PartPosition, object]) -> Part:
    if not isinstance(part, ToolResult):
        return part
    name = part.name if isinstance(part.name, str) and part.name else names.get(position, part.name)
    content = tuple(map(_as_content, part.content))
    with_text = tuple(content) if any(not _is_media(p) for p in content) else (Text(""), *content)
    same = is_unchanged(part.content, with_text)
    return (
        part
        if same and name == part.name
        else replace(part, name=name, content=part.content if same else with_text)
    )


def _is_media(part: Part) -> bool:
    return not isinstance(part, Text | Opaque)


def _as_content(part: Part) -> Part:
    """Convert a value that is not an object to text."""
    if not isinstance(part, Opaque) or part.is_object:
        return part
    return Text(part.as_json if part.raw_string is None else part.raw_string)


RULE = Rule("TOOL016", "unnamed-result", find, STRUCTURE)
