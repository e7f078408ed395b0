"""The rules in the order in which they run on a window; each line says why it stands there."""

from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from typing import Any

from chatmend.rules import unknown_format
from chatmend.rules.rule import Request, RequestRule, Rule
from chatmend.targets.image_limits import ImageLimits
from chatmend.targets.limits import Limits


def _named(*names: str) -> Any:  # noqa: ANN401 - rules of a window, or of a request
    """The rule of each file, called ``RULE`` in it if no other name stands behind a point."""
    pairs = [name.partition(".") for name in names]
    return tuple(getattr(import_module(f"{__name__}.{file}"), rule or "RULE") for file, _, rule in pairs)


RULES: tuple[Rule, ...] = _named(
    "unreadable_message",  # first of all every message must be one
    "foreign_message",  # then every message must be of this format
    "lone_surrogate",  # ids and names are compared below, so their characters come first
    "foreign_thinking",  # needs the provenance that refused_key takes away
    "misspelt_signature",  # what is left is signed
    "unknown_role",  # every rule below asks for roles
    "legacy_function",  # its calls and results take part in the pairing
    "unseen_image",  # images before unknown parts: an image in a foreign form must not be told as text
    "foreign_image_part",
    "mislabelled_image",  # first what is free; each of the next leaves what the ones behind it would find
    "unreadable_image",
    "refused_image_type",
    "animated_image",
    "rotated_image",
    "unusual_pixels",
    "oversized_image",
    "heavy_image",
    "unknown_part",  # parts are settled before they are moved
    "split_server_tool",  # texts before they are judged
    "malformed_tool_call",  # before pairing: what is no call needs no result
    "unsupported_tools",  # before pairing: nothing is left to pair
    "misplaced_image.SPOKEN",  # before pairing: what stands behind a turn closes it
    "missing_call_id",  # before pairing: it goes by ids
    "duplicate_tool_result",  # one result a call, before any is moved
    "orphan_tool_result",  # then those of no call
    "late_tool_result",  # then those of closed calls
    "late_tool_result.DISPLACED",  # then those in the wrong place, notes no longer among them; behind it a turn is a window
    "orphan_reasoning",  # what is left leads to something in the same turn
    "missing_tool_result",  # only now is it known which are missing
    "unnamed_result",  # only now is it known whose result each is
    "split_assistant_turn",  # results stand behind the run, so the run can be one
    "tool_result_order",  # the calls have their final order
    "parallel_calls",  # splits what is paired
    "misplaced_image",  # results stand where they will be sent
    "duplicate_call_id",  # ids are given to calls that stay
    "invalid_call_id",  # after duplicates, whose new ids are legal
    "invalid_item_id",
    "invalid_tool_name",
    "invalid_tool_arguments",
    "parallel_calls.EQUAL",  # names and arguments are final; before the signatures, which go by message
    "invalid_thought_signature",
    "missing_reasoning",
    "invalid_cache_marker",
    "refused_key",  # a name moves into the text before texts are judged
    "null_content",  # null becomes empty, which the next rules judge
    "listed_content",
    "misplaced_system",  # turns system into user messages, which may be empty
    "empty_text",
    "trailing_thinking",  # what was empty behind the thinking is gone
    "emptied_window",  # all that drops messages has run
    "leading_assistant",
    "consecutive_roles",  # neighbours are final
    "trailing_assistant",
)

FIRST: tuple[RequestRule, ...] = _named("offline_order")
"""What runs on the whole request before the first window."""

IMAGE_RULES: tuple[Rule, ...] = tuple(rule for rule in RULES if rule.code.startswith("IMG"))

LAST: tuple[RequestRule, ...] = _named(
    "undeclared_tools",
    "too_many_images",  # a total: the oldest go, with the markers on them
    "too_many_cache_markers",  # a total: counts what everything before has left
)
"""What runs on the whole request behind the last window."""


def rules_for(limits: Limits, messages: list[Any]) -> tuple[Rule, ...]:
    """The rules that a target's limits call for: where it has none but about images, those, if images there may be."""
    asked = _asked(limits)
    if asked is not IMAGE_RULES:
        return asked
    return asked if any(map(_has_parts, messages)) else ()


@lru_cache(maxsize=8)
def cut_of(rules: tuple[Rule, ...]) -> int:
    """The place of the first rule that sees each turn of a window by itself."""
    return next((place for place, rule in enumerate(rules, 1) if rule.cuts), 0)


def _has_parts(message: object) -> bool:
    """Whether a message has a list of parts, where alone an image can be."""
    if isinstance(message, dict):
        return any(message.get(key).__class__ is list for key in ("content", "parts", "output"))
    return getattr(message, "content", None).__class__ is list


@lru_cache(maxsize=64)
def _asked(limits: Limits) -> tuple[Rule, ...]:
    if limits == Limits():
        return ()
    return RULES if replace(limits, images=ImageLimits()) != Limits() else IMAGE_RULES


__all__ = [
    "FIRST",
    "IMAGE_RULES",
    "LAST",
    "RULES",
    "Request",
    "RequestRule",
    "Rule",
    "cut_of",
    "rules_for",
    "unknown_format",
]
