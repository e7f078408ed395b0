"""A tool result that does not name its tool or is not an object, where the target requires both.

Why: ``* GenerateContentRequest.contents[2].parts[0].function_response.name: Name cannot be empty.``
and ``Invalid value at 'contents[2].parts[0].function_response.response'
(type.googleapis.com/google.protobuf.Struct), "x"`` (Gemini). From Gemini 3 on, a name that differs
from the name of the call is refused too, with no more than ``Request contains an invalid
argument.``: converters write the id of the call, ``unknown`` or ``tool_result``. Gemini 2.5 accepts
such names.

Repair: The result gets the name of its call: of the call with the same id, or with the id that the
name holds, else by position. A response that is not an object becomes the ``output`` of a new
object.

Before (gemini/gemini-2.5-flash):
    [{"role": "user", "parts": [{"text": "How warm is it?"}]},
     {"role": "model", "parts": [{"functionCall": {"name": "weather", "args": {}}}]},
     {"role": "user", "parts": [{"functionResponse": {"response": "72 F"}}]}]
After:
    [{"role": "user", "parts": [{"text": "How warm is it?"}]},
     {"role": "model", "parts": [{"functionCall": {"name": "weather", "args": {}}}]},
     {"role": "user", "parts": [
         {"functionResponse": {"response": {"output": "72 F"}, "name": "weather"}}]}]

Before (gemini/gemini-3-flash-preview):
    [{"role": "user", "parts": [{"text": "How warm is it?"}]},
     {"role": "model", "parts": [{"functionCall": {"id": "a1", "name": "weather", "args": {}},
                                  "thoughtSignature": "c2lnbmVkIGJ5IGdlbWluaQ=="}]},
     {"role": "user", "parts": [
         {"functionResponse": {"id": "a1", "name": "a1", "response": {"output": "72 F"}}}]}]
After:
    [{"role": "user", "parts": [{"text": "How warm is it?"}]},
     {"role": "model", "parts": [{"functionCall": {"id": "a1", "name": "weather", "args": {}},
                                  "thoughtSignature": "c2lnbmVkIGJ5IGdlbWluaQ=="}]},
     {"role": "user", "parts": [
         {"functionResponse": {"name": "weather", "response": {"output": "72 F"}, "id": "a1"}}]}]
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
    from chatmend.targets.limits import Limits
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for results without a valid name, or with a response that is not an object."""
    limits = context.limits
    if not (limits.result_names or limits.result_names_match):
        return
    found = match(window)
    names = {position: found.calls[number].name for number, position in found.answers.items()}
    for at, message in enumerate(window.messages):
        parts = tuple(
            _repaired(part, names.get((at, part_at)), limits)
            for part_at, part in enumerate(message.parts)
        )
        if not is_unchanged(message.parts, parts):
            yield Fix(at, at + 1, (message.with_parts(parts),), _reason(message.parts, parts))


def _reason(old: tuple[Part, ...], new: tuple[Part, ...]) -> str:
    is_renamed = any(
        isinstance(before, ToolResult)
        and isinstance(after, ToolResult)
        and isinstance(before.name, str)
        and before.name not in ("", after.name)
        for before, after in zip(old, new, strict=True)
    )
    if is_renamed:
        return "a tool result must have the name of its call"
    return "a tool result must name its tool and be an object"


def _repaired(part: Part, called: object, limits: Limits) -> Part:
    """Return a part; a result with the name of its call (``called``), and an object."""
    if not isinstance(part, ToolResult) or part.is_hosted:
        return part
    name = _name_of(part, called, limits)
    content = _as_object(part.content) if limits.result_names else part.content
    if name == part.name and content is part.content:
        return part
    return replace(part, name=name, content=content)


def _as_object(content: tuple[Part, ...]) -> tuple[Part, ...]:
    """Return the content of a result as texts and objects; the same tuple if it already is."""
    texts = tuple(map(_as_content, content))
    filled = texts if any(not _is_media(part) for part in texts) else (Text(""), *texts)
    return content if is_unchanged(content, filled) else filled


def _name_of(result: ToolResult, called: object, limits: Limits) -> object:
    has_name = isinstance(result.name, str) and bool(result.name)
    if not isinstance(called, str) or not called:
        return result.name
    needs_name = limits.result_names_match if has_name else limits.result_names
    return called if needs_name else result.name


def _is_media(part: Part) -> bool:
    return not isinstance(part, Text | Opaque)


def _as_content(part: Part) -> Part:
    """Convert a value that is not an object to text."""
    if not isinstance(part, Opaque) or part.is_object:
        return part
    return Text(part.as_json if part.raw_string is None else part.raw_string)


RULE = Rule("TOOL016", "unnamed-result", find, STRUCTURE)
