"""A ``$ref`` in the result of a tool that names no file of this result.

Why: ``The referenced name `#/$defs/__schema0` in function_response.response does not match to a
display_name in the function_response.parts.`` (Gemini). Gemini reads ``$ref`` at any depth of a
result as the name of a file in ``parts``, but results also contain JSON Schemas and OpenAPI
documents.

Repair: The result becomes its JSON text, which Gemini does not search for references: in the key
``output`` of a new object, or in the only key of the result if this is ``output``, ``result``,
``content`` or ``error``. References that name a file of the result are unchanged, unless ``react``
has shown that Gemini refuses them, too. LangChain's ``ChatGoogleGenerativeAI`` parses the text of a
tool message, so this text becomes such an object.

Before (gemini/gemini-3-flash-preview):
    [{"role": "user", "parts": [{"text": "Which schema?"}]},
     {"role": "model", "parts": [{"functionCall": {"name": "schema", "args": {}},
                                  "thoughtSignature": "c2lnbmVkIGJ5IGdlbWluaQ=="}]},
     {"role": "user", "parts": [
         {"functionResponse": {"name": "schema", "response": {"items": {"$ref": "#/$defs/a"}}}}]}]
After:
    [{"role": "user", "parts": [{"text": "Which schema?"}]},
     {"role": "model", "parts": [{"functionCall": {"name": "schema", "args": {}},
                                  "thoughtSignature": "c2lnbmVkIGJ5IGdlbWluaQ=="}]},
     {"role": "user", "parts": [
         {"functionResponse": {"name": "schema", "response": {
             "output": "{\\"items\\": {\\"$ref\\": \\"#/$defs/a\\"}}"}}}]}]
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from chatmend import jsontext
from chatmend.changes import Fix
from chatmend.jsonkeys import objects
from chatmend.rules.rule import KeyedJudge, Rule
from chatmend.transcript import Media, Opaque, Text, ToolResult, is_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.rules.rule import Judge
    from chatmend.targets.limits import Limits
    from chatmend.transcript import Part
    from chatmend.windows import Memory, Window

_LIMIT = "references_resolved"
_REFUSED = "references_refused"
"""Whether a refusal has shown that references to files are not resolved either."""
_PARSED = "results_parsed"
"""Whether the sender parses the JSON text of a result; LangChain's converter for Gemini does."""
REFERRING = "chatmend:referring-text"
"""Key of a message with a result that ``find_referring_text`` finds.

The dialect sets it for senders that parse results, because no judge sees only their texts.
"""
_REFERENCE = "$ref"
_RESPONSE = "response"
_ENVELOPES = ("output", "result", "content", "error")
"""Keys that hold a whole result; their value becomes text."""
_FILES = ("inlineData", "inline_data", "fileData", "file_data")
_NAMES = ("displayName", "display_name")
_NO_NAMES = frozenset[str]()
_WHY = "a $ref in the result names no file of this result"


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that convert results with unresolved references to text."""
    is_parsed = parses_results(context.limits)
    if not (is_parsed or _is_checked(context.limits, context.traits)):
        return
    keeps_files = not context.limits.of(_REFUSED)
    repair = _parsed_repaired if is_parsed else partial(_repaired, keeps_files=keeps_files)
    for at, message in enumerate(window.messages):
        parts = tuple(map(repair, message.parts))
        if not is_unchanged(message.parts, parts):
            yield Fix(at, at + 1, (message.with_parts(parts),), _WHY)


def _repaired(part: Part, *, keeps_files: bool) -> Part:
    """Return a result without unresolved references.

    ``keeps_files``: whether those to files of the result are resolved.
    """
    if not isinstance(part, ToolResult) or part.is_hosted:
        return part
    names = frozenset(
        name for media in part.content if isinstance(media, Media) for name in _names(media.extra)
    )
    names = names if keeps_files else _NO_NAMES
    content = tuple(_as_text(inner, names) for inner in part.content)
    return part if is_unchanged(part.content, content) else replace(part, content=content)


def _parsed_repaired(part: Part) -> Part:
    """Return a result whose text is not an object with unresolved references when it is parsed."""
    if (text := find_referring_text(part)) is None or not isinstance(part, ToolResult):
        return part
    value = jsontext.parse(text)
    response = _as_text(Opaque(value), _NO_NAMES).extra if isinstance(value, dict) else None
    becomes = jsontext.dumps(response or {"output": text})
    return replace(part, content=(Text(becomes, becomes),))


def parses_results(limits: Limits) -> bool:
    """Return whether the sender parses the JSON text of results."""
    return bool(limits.of(_PARSED))


def find_referring_text(part: Part) -> str | None:
    """Return the text of a result if it has a ``$ref`` when it is parsed as JSON, else None."""
    if not isinstance(part, ToolResult) or part.is_hosted or len(part.content) != 1:
        return None
    text = part.content[0].raw_string if isinstance(part.content[0], Text) else None
    if text is None or not may_refer(text):
        return None
    try:
        return text if _has_unresolved(jsontext.parse(text), _NO_NAMES) else None
    except ValueError:
        return None


def may_refer(text: str) -> bool:
    """Return whether a text must be parsed to tell whether it has a ``$ref``."""
    return "ref" in text


def _as_text(part: Part, names: frozenset[str]) -> Part:
    """Return an object with unresolved references as an object that holds its JSON text."""
    if not isinstance(part, Opaque) or not _has_unresolved(part.extra, names):
        return part
    key = next(iter(part.extra)) if len(part.extra) == 1 else None
    if key not in _ENVELOPES:
        return Opaque({"output": part.as_json})
    return Opaque({key: jsontext.dumps(part.extra[key])})


def _names(part: object) -> Iterator[str]:
    """Yield the names of the file in a part."""
    if not isinstance(part, dict):
        return
    for key in _FILES:
        file = part.get(key)
        held = [file.get(name) for name in _NAMES] if isinstance(file, dict) else []
        yield from (name for name in held if isinstance(name, str))


def _has_unresolved(response: object, names: frozenset[str]) -> bool:
    """Return whether a value has a ``$ref`` at any depth that is not among the names."""
    found = (held.get(_REFERENCE) for held in objects(response))
    return any(isinstance(name, str) and name not in names for name in found)


def _is_checked(limits: Limits, traits: Traits) -> bool:
    return traits.names_results and bool(limits.of(_LIMIT) or limits.of(_REFUSED))


def _make_judge(limits: Limits, traits: Traits) -> Judge | None:
    """Make the judge of results: whether one has an unresolved reference."""

    def judge(held: dict[str, Any]) -> object:
        parts = None if limits.of(_REFUSED) else held.get("parts")
        names = _NO_NAMES
        if isinstance(parts, list):
            names = frozenset(name for part in parts for name in _names(part))
        return _has_unresolved(held.get(_RESPONSE), names)

    return judge if _is_checked(limits, traits) else None


RULE = Rule(
    "TOOL023",
    "unresolved-reference",
    find,
    {"parts": KeyedJudge(frozenset({_RESPONSE}), _make_judge)},
    own_limits={_LIMIT: bool, _REFUSED: bool, _PARSED: bool},
)
