"""Orders the values of limits by strictness, so that what a refusal shows never weakens a table.

A value is stricter if the provider refuses more with it. Kinds of limits:

- a text from a list: the level in ``STRICTNESS``; texts of one level are not ordered
- a truth value: the one that is not the default, because the defaults refuse nothing; the names in
  ``_MILDER_IF_CHANGED`` are the exceptions
- a set of what is accepted (``_ACCEPTED``): the intersection; any other set is of what is refused,
  and the union is stricter
- a number: the lower one for ``max_`` and ``few_``, the higher one for ``min_``
- a pattern: both must match
"""

from __future__ import annotations

import re
from dataclasses import MISSING, Field, fields
from typing import Any

from chatmend.targets.image_limits import ImageLimits
from chatmend.targets.limits import TRAILING, Limits

IMAGES = "images."
"""The beginning of the names of image limits."""


def _levels(*levels: str) -> dict[str, int]:
    """Return the level of each value; the values of one level are separated by spaces."""
    return {value: at for at, level in enumerate(levels) for value in level.split()}


_TRAILING = _levels(*TRAILING)
STRICTNESS: dict[str, dict[str, int]] = {
    "unique_call_ids": _levels("no", "message", "request"),
    "arguments": _levels("any", "text-or-object", "text", "object"),
    "reasoning_content": _levels("any", "required", "always", "refused"),
    "thought_signatures": _levels("any", "base64", "required"),
    "call_id_style": _levels("any", "alnum", "alnum9"),
    "thinking_first": _levels("no", "manual", "always"),
    "trailing_assistant": _TRAILING,
    "trailing_assistant_with_thinking": _TRAILING,
    "trailing_assistant_with_tools": _TRAILING,
    "system": _levels("anywhere", "not-after-reply", "after-user", "leading", "first", "never"),
    "typed_messages": _levels("any", "answers", "all"),
    "thinking": _levels("any", "unsigned signed chunks", "refused"),
    "reasoning_items": _levels("any", "followed", "required"),
    "reasoning_form": _levels("any", "without-null unencrypted", "content"),
    "images.label_checked": _levels("no", "types", "bytes"),
}
"""The levels of limits whose values are texts from a list, from the mildest to the strictest."""
OWN_LIMITS: dict[str, bool | frozenset[str]] = {
    "audio": False,
    "video": False,
    "details_signed": True,
    "function_role": False,
    "lone_surrogates": False,
    "media_markers": False,
    "parts_signed": True,
    "points_after_thinking": False,
    "references_resolved": True,
    "references_refused": True,
    "refuses_reasoning_texts": True,
    "thinking_begins": True,
    "thinking_leads": True,
    "document_types": frozenset(),
    "refused_marker_keys": frozenset(),
}
"""The limits of single rules that a refusal can show, with their strictest value."""
_MILDER_IF_CHANGED = frozenset(
    {
        "folds_turns",
        "trailing_calls",
        "bare_is_empty",
        "missing_content_is_null",
        "tools_in_system",
        "server_tools_in_chat",
        "words_behind_calls",
        "media_without_data",
        "images.native",
    }
)
"""Truth values whose default is the stricter one."""
_ACCEPTED = frozenset(
    {
        "roles",
        "part_types",
        "block_types",
        "said_types",
        "item_types",
        "message_name",
        "answer_keys",
        "known_keys",
        "part_keys",
        "signature_owners",
        "images.roles",
        "images.types",
        "images.written",
        "document_types",
    }
)
"""Sets of what a provider accepts; an empty set of owners accepts all."""
REPLACING = frozenset({"reasoning_key"})
"""Limits of which only the value in the error message can hold, so that it replaces the table's."""
SAMPLES = {"any": "call_a-1_4HfVmVvQ", "alnum": "calla14HfVmVvQ", "alnum9": "a1B2c3D4e"}
"""For each style of generated call ids, an id of this form."""


def _defaults() -> dict[str, Any]:
    named: list[tuple[str, Field[Any]]] = [(one.name, one) for one in fields(Limits)]
    named += [(IMAGES + one.name, one) for one in fields(ImageLimits)]
    return {name: one.default for name, one in named if one.default is not MISSING}


_DEFAULTS = _defaults()


def stricter(name: str, held: Any, given: Any) -> Any:  # noqa: ANN401 - the value of any limit
    """Return the value of a limit that refuses what either of two values refuses.

    It is ``held`` if ``given`` is milder, or if their order is not known.

    Args:
        name: the name of the limit as in a lesson: ``"pairing"``, ``"images.max_side"``.
        held: the value so far; None if nothing is refused.
        given: the value that was shown.
    """
    if held == given or given is None:
        return held
    if isinstance(given, frozenset):
        return _stricter_set(name, held, given)
    if held is None or name in REPLACING:
        return given
    if isinstance(given, bool):
        return given if given is _strictest_truth(name) else held
    if isinstance(held, int):
        return _stricter_number(name, held, given)
    return _stricter_text(name, held, given)


def _stricter_set(
    name: str, held: frozenset[str] | None, given: frozenset[str]
) -> frozenset[str] | None:
    """Return the union of what is refused, or the intersection of what is accepted."""
    if held is None or held == _DEFAULTS.get(name):
        return given
    if name not in _ACCEPTED:
        return held | given
    # Without a common value, one of the two sets is about another wire format.
    return held & given or held


def _strictest_truth(name: str) -> bool:
    if name in OWN_LIMITS:
        return OWN_LIMITS[name] is True
    default = _DEFAULTS[name] is True
    return default if name in _MILDER_IF_CHANGED else not default


def _stricter_number(name: str, held: int, given: int) -> int:
    short = name.removeprefix(IMAGES)
    if short.startswith(("max_", "few_")):
        return min(held, given)
    return max(held, given) if short.startswith("min_") else held


def _stricter_text(name: str, held: str, given: str) -> str:
    if name in STRICTNESS:
        levels = STRICTNESS[name]
        return given if levels.get(given, -1) > levels.get(held, -1) else held
    if name.endswith("_pattern"):
        return _both_patterns(held, given)
    return given if held == _DEFAULTS.get(name) else held


def _both_patterns(held: str, given: str) -> str:
    """Return a pattern that matches what both match.

    If no generated id would match it, the error message contradicts the table, and is newer.
    """
    both = f"(?=(?:{held})\\Z)(?:{given})"
    try:
        fits = re.compile(both).fullmatch
    except re.error:  # flags inside of a pattern
        return given
    return both if any(map(fits, SAMPLES.values())) else given
