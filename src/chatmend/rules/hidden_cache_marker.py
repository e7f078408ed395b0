"""A cache marker in ``extras`` of a part, if the request has too many markers.

LangChain moves keys that it does not know to ``extras``, and langchain-anthropic sends a marker
from there too. Markers that nobody counts exceed the limit of the provider.

Why: ``A maximum of 4 blocks with cache_control may be provided. Found 5.`` (Anthropic).

Repair: The markers move to their parts, where the rule ``too-many-cache-markers`` counts them. This
runs only in the adapter for LangChain, and only if the request has too many markers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend.changes import Change, Effect
from chatmend.rules.rule import Request, RequestRule
from chatmend.rules.too_many_cache_markers import as_dict, count_in_message
from chatmend.rules.unsendable_part import LIMIT

if TYPE_CHECKING:
    from chatmend.context import Context
    from chatmend.transcript import Message

CODE, NAME = "CACHE003", "hidden-cache-marker"
_KEY = "cache_control"
_WHY = "a cache marker in extras is sent too, and counts"


def apply(request: Request, context: Context) -> tuple[Request, list[Change]]:
    """Move the markers in ``extras`` to their parts if the request has too many markers."""
    converter, limit = context.limits.of(LIMIT), context.limits.max_cache_markers
    if converter is None or not converter.extra_markers or limit is None:
        return request, []
    dicts: list[Any] = [as_dict(native, context) for native in request.messages]
    hidden = [sum(map(_is_hidden, _blocks(one))) for one in dicts]
    if not any(hidden) or sum(map(count_in_message, dicts)) + sum(hidden) <= limit:
        return request, []
    changes: list[Change] = []
    out = list(request.messages)
    for at, one in enumerate(dicts):
        if hidden[at]:
            lifted = {**one, "content": [_lift(block) for block in one["content"]]}
            out[at] = context.dialect.write(context.dialect.read(lifted))
            before, after = (request.messages[at],), (out[at],)
            changes.append(Change(CODE, NAME, Effect.RESHAPES, at, _WHY, before, after, None, at))
    return replace(request, messages=out), changes


def _blocks(message: Any) -> list[Any]:  # noqa: ANN401 - any JSON value
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, list) else []


def _is_hidden(block: object) -> bool:
    extras = block.get("extras") if isinstance(block, dict) else None
    is_marked = isinstance(extras, dict) and extras.get(_KEY) is not None
    return is_marked and isinstance(block, dict) and _KEY not in block


def _lift(block: Any) -> Any:  # noqa: ANN401 - any JSON value
    if not _is_hidden(block):
        return block
    extras = {key: value for key, value in block["extras"].items() if key != _KEY}
    return {**block, "extras": extras, _KEY: block["extras"][_KEY]}


def _has_hidden_markers(message: Message) -> bool:
    return any(map(_is_hidden, _blocks(message.extra)))


RULE = RequestRule(CODE, NAME, apply, _has_hidden_markers)
