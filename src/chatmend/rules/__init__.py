"""The rules in the order in which they run on a window; each line says why it stands there."""

from dataclasses import replace
from functools import lru_cache
from typing import Any

from chatmend.rules import (
    animated_image,
    consecutive_roles,
    duplicate_call_id,
    duplicate_tool_result,
    emptied_window,
    empty_text,
    foreign_image_part,
    foreign_message,
    foreign_thinking,
    heavy_image,
    invalid_cache_marker,
    invalid_call_id,
    invalid_item_id,
    invalid_thought_signature,
    invalid_tool_arguments,
    invalid_tool_name,
    late_tool_result,
    leading_assistant,
    legacy_function,
    listed_content,
    lone_surrogate,
    malformed_tool_call,
    mislabelled_image,
    misplaced_image,
    misplaced_system,
    missing_call_id,
    missing_reasoning,
    missing_tool_result,
    misspelt_signature,
    null_content,
    offline_order,
    orphan_reasoning,
    orphan_tool_result,
    oversized_image,
    parallel_calls,
    refused_image_type,
    refused_key,
    rotated_image,
    split_assistant_turn,
    too_many_cache_markers,
    too_many_images,
    tool_result_order,
    trailing_assistant,
    trailing_thinking,
    undeclared_tools,
    unknown_part,
    unknown_role,
    unnamed_result,
    unreadable_image,
    unreadable_message,
    unseen_image,
    unsupported_tools,
    unusual_pixels,
)
from chatmend.rules.rule import Context, Request, RequestRule, Rule
from chatmend.targets.image_limits import ImageLimits
from chatmend.targets.limits import Limits

RULES: tuple[Rule, ...] = (
    unreadable_message.RULE,  # first of all every message must be one
    foreign_message.RULE,  # then every message must be of this format
    lone_surrogate.RULE,  # ids and names are compared below, so their characters come first
    foreign_thinking.RULE,  # needs the provenance that refused_key takes away
    misspelt_signature.RULE,  # what is left is signed
    orphan_reasoning.RULE,  # what is left leads to something
    unknown_role.RULE,  # every rule below asks for roles
    legacy_function.RULE,  # its calls and results take part in the pairing
    unseen_image.RULE,  # images before unknown parts: an image in a foreign form must not be told as text
    foreign_image_part.RULE,
    mislabelled_image.RULE,  # first what is free; each of the next leaves what the ones behind it would find
    unreadable_image.RULE,
    refused_image_type.RULE,
    animated_image.RULE,
    rotated_image.RULE,
    unusual_pixels.RULE,
    oversized_image.RULE,
    heavy_image.RULE,
    unknown_part.RULE,  # parts are settled before they are moved
    malformed_tool_call.RULE,  # before pairing: what is no call needs no result
    unsupported_tools.RULE,  # before pairing: nothing is left to pair
    misplaced_image.SPOKEN,  # before pairing: what stands behind a turn closes it
    missing_call_id.RULE,  # before pairing: it goes by ids
    duplicate_tool_result.RULE,  # one result a call, before any is moved
    orphan_tool_result.RULE,  # then those of no call
    late_tool_result.RULE,  # then those of closed calls
    late_tool_result.DISPLACED,  # then those in the wrong place, notes no longer among them
    missing_tool_result.RULE,  # only now is it known which are missing
    unnamed_result.RULE,  # only now is it known whose result each is
    split_assistant_turn.RULE,  # results stand behind the run, so the run can be one
    tool_result_order.RULE,  # the calls have their final order
    parallel_calls.RULE,  # splits what is paired
    misplaced_image.RULE,  # results stand where they will be sent
    duplicate_call_id.RULE,  # ids are given to calls that stay
    invalid_call_id.RULE,  # after duplicates, whose new ids are legal
    invalid_item_id.RULE,
    invalid_tool_name.RULE,
    invalid_tool_arguments.RULE,
    invalid_thought_signature.RULE,
    missing_reasoning.RULE,
    invalid_cache_marker.RULE,
    refused_key.RULE,  # a name moves into the text before texts are judged
    null_content.RULE,  # null becomes empty, which the next rules judge
    listed_content.RULE,
    misplaced_system.RULE,  # turns system into user messages, which may be empty
    empty_text.RULE,
    trailing_thinking.RULE,  # what was empty behind the thinking is gone
    emptied_window.RULE,  # all that drops messages has run
    leading_assistant.RULE,
    consecutive_roles.RULE,  # neighbours are final
    trailing_assistant.RULE,
)

FIRST: tuple[RequestRule, ...] = (offline_order.RULE,)
"""What runs on the whole request before the first window."""

IMAGE_RULES: tuple[Rule, ...] = tuple(rule for rule in RULES if rule.code.startswith("IMG"))

LAST: tuple[RequestRule, ...] = (
    undeclared_tools.RULE,
    too_many_images.RULE,  # a total: the oldest go, with the markers on them
    too_many_cache_markers.RULE,  # a total: counts what everything before has left
)
"""What runs on the whole request behind the last window."""


def rules_for(limits: Limits, messages: list[Any]) -> tuple[Rule, ...]:
    """The rules that a target's limits call for: where it has none but about images, those, if images there may be."""
    asked = _asked(limits)
    if asked is not IMAGE_RULES:
        return asked
    return asked if any(map(_has_parts, messages)) else ()


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


__all__ = ["FIRST", "IMAGE_RULES", "LAST", "RULES", "Context", "Request", "RequestRule", "Rule", "rules_for"]
