"""An empty text in the system prompt of a request.

Why: ``system: text content blocks must be non-empty`` and ``system: text content blocks must
contain non-whitespace text`` (Anthropic); ``Invalid length for parameter system[0].text, value: 0,
valid min length: 1`` (Bedrock). Frameworks send an empty prompt if none is configured.

Repair: An empty block is removed, and the system prompt too if no other block is left. The cache
marker of a removed block moves to the block before it. Blank texts are removed as well if the
target refuses these. Only request bodies are checked, because a stored conversation may keep its
empty prompt. TEXT004 repairs an empty system message among the messages.

Before (anthropic/claude-sonnet-4-5):
    {"model": "claude-sonnet-4-5", "max_tokens": 100,
     "system": [{"type": "text", "text": "Be kind."}, {"type": "text", "text": ""}],
     "messages": [{"role": "user", "content": "hi"}]}
After:
    {"model": "claude-sonnet-4-5", "max_tokens": 100,
     "system": [{"type": "text", "text": "Be kind."}],
     "messages": [{"role": "user", "content": "hi"}]}
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend.changes import Change, Effect
from chatmend.rules.rule import Request, RequestRule

if TYPE_CHECKING:
    from chatmend.context import Context
    from chatmend.targets.limits import Limits

CODE, NAME = "SYS002", "empty-system"
_LIMIT = "blank_system"
"""Whether the target accepts a system prompt of only white space."""
_TEXT_KEYS = frozenset({"type", "text", "cache_control"})
"""Keys of a block that holds nothing but its text."""
_MARKER, _POINT = "cache_control", "cachePoint"


def apply(request: Request, context: Context) -> tuple[Request, list[Change]]:
    """Remove empty texts from the system prompt next to the messages."""
    system = request.system
    becomes = _without_empty_texts(system, context.limits)
    if becomes is system:
        return request, []
    why = "the target refuses empty text in the system prompt"
    change = Change(CODE, NAME, Effect.RESHAPES, None, why, (system,), (becomes,), where="system")
    return replace(request, system=becomes), [change]


def _is_idle(request: Request, context: Context) -> bool:
    is_body = isinstance(request.tools, list)  # a stored conversation has no tools beside it
    return (
        not context.traits.has_top_level_system
        or "system" not in context.limits.empty_roles
        or not is_body
        or not _may_be_empty(request.system)
    )


def _may_be_empty(system: object) -> bool:
    """Return whether a system prompt is a text or has blocks."""
    return isinstance(system, str) or (isinstance(system, list) and bool(system))


def _without_empty_texts(system: Any, limits: Limits) -> Any:  # noqa: ANN401 - a text or blocks
    """Return the system prompt without empty texts; None if nothing is left of it."""
    blank_counts = limits.blank_is_empty and limits.of(_LIMIT) is not True
    if isinstance(system, str):
        return None if _is_empty(system, blank_counts=blank_counts) else system
    kept: list[Any] = []
    for block in system:
        if not _is_empty_block(block, blank_counts=blank_counts):
            kept.append(block)
        elif isinstance(block.get(_MARKER), dict) and kept and _has_no_marker(kept[-1]):
            kept[-1] = {**kept[-1], _MARKER: block[_MARKER]}
    if len(kept) == len(system):
        return system
    kept = _without_stray_points(kept)
    if kept and limits.empty_parts:
        return system  # an empty text is accepted beside others
    return kept or None


def _is_empty(text: str, *, blank_counts: bool) -> bool:
    return not (text.strip() if blank_counts else text)


def _is_empty_block(block: object, *, blank_counts: bool) -> bool:
    """Return whether a block has only an empty text, and perhaps a cache marker."""
    if not isinstance(block, dict) or not _TEXT_KEYS.issuperset(block):
        return False
    text = block.get("text")
    return isinstance(text, str) and _is_empty(text, blank_counts=blank_counts)


def _has_no_marker(block: object) -> bool:
    return isinstance(block, dict) and not block.get(_MARKER)


def _without_stray_points(blocks: list[Any]) -> list[Any]:
    """Return blocks without cache points that follow no other block (Bedrock)."""
    kept: list[Any] = []
    for block in blocks:
        is_point = isinstance(block, dict) and _POINT in block
        follows_content = bool(kept) and not (isinstance(kept[-1], dict) and _POINT in kept[-1])
        if not is_point or follows_content:
            kept.append(block)
    return kept


RULE = RequestRule(CODE, NAME, apply, is_idle=_is_idle, own_limits={_LIMIT: bool})
