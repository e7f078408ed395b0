"""The rules in the order in which they run.

The comment next to a rule gives the reason for its position.
"""

from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from typing import Any

from chatmend.rules import accepted_prefix, unknown_format
from chatmend.rules.rule import Request, RequestRule, Rule
from chatmend.targets.image_limits import ImageLimits
from chatmend.targets.limits import Limits


def _load(*names: str) -> Any:  # noqa: ANN401 - window rules or request rules
    """Import rules: ``file`` names the constant ``RULE`` in a file, ``file.NAME`` another one."""
    pairs = [name.partition(".") for name in names]
    return tuple(
        getattr(import_module(f"{__name__}.{file}"), rule or "RULE") for file, _, rule in pairs
    )


RULES: tuple[Rule, ...] = _load(
    "unreadable_message",  # first, so that all other rules see well-formed messages
    "foreign_message",  # the rules after it see only messages of this dialect
    "unsupported_item",  # the rules after it see only items that the target supports
    "stored_delta",  # before the rules that judge calls, texts and thinking, which it completes
    "mirrored_call",  # the fields that a client library sends, before the rules that judge them
    "unsendable_key",
    "nested_result.IN_RESULTS",  # before unsendable_part, which would convert the block to JSON
    "unsendable_part",  # before the rules that judge the parts which it converts
    "repeated_item",  # the parts that are sent
    "nested_result",  # before pairing, which needs results as messages
    "lone_surrogate",  # before the rules that compare ids and names
    "media_marker",  # before all rules that convert content to texts and ids to hashes
    "refused_block",  # before all rules that repair the parts which it removes
    "foreign_thinking",  # uses the key _provenance, which refused_key removes
    "misspelt_signature",  # after foreign_thinking: the remaining thinking is signed
    "unknown_role",  # before all rules that check roles
    "legacy_function",  # before pairing, because its calls and results are paired too
    "unknown_part.MIXED",  # before the rules that judge images and files
    "unseen_image",  # images before unknown_part, which would convert foreign ones to text
    "foreign_image_part",
    "unsupported_recording",  # before unknown_part, as the next ones
    "foreign_file",
    "refused_document_type",  # before foreign_document_part: not all types exist in all formats
    "foreign_document_part",
    "mislabelled_document",  # first the lossless repair
    "unreadable_document",
    "oversized_document",  # after unreadable_document: what remains has pages
    "unreachable_image",
    "mislabelled_image",  # first the lossless repair; each rule after it repairs another defect
    "unreadable_image",
    "refused_image_type",
    "animated_image",
    "rotated_image",
    "unusual_pixels",
    "oversized_image",
    "heavy_image",
    "private_metadata",  # after the rules that recompress, which keep no metadata
    "unknown_part",  # before the rules that move parts
    "nested_type_key",  # after unknown_part: the remaining JSON results are objects
    "invalid_document",  # after unknown_part: the remaining documents are sent
    "unstored_item",  # before pairing and before orphan_reasoning: what is removed pairs nothing
    "incomplete_item",  # before pairing: the text that an item becomes pairs nothing
    "orphan_reasoning.AFTER_CALL",  # before pairing, which moves texts behind results
    "split_server_tool",  # before pairing: a text of the assistant ends the turn
    "malformed_tool_call",  # before pairing: what is not a call needs no result
    "unsupported_tools",  # before pairing: it leaves nothing to pair
    "misplaced_image.ASSISTANT",  # before pairing: the user message that it adds ends the turn
    "leading_assistant.ANSWERED",  # before pairing: the user message that it adds ends the turn
    "trailing_assistant.ANSWERED",  # before pairing, for the same reason
    "missing_call_id",  # before pairing, which needs ids
    "duplicate_tool_result",  # one result per call, before results move
    "orphan_tool_result",  # then the results without a call
    "late_tool_result",  # then the results of calls in earlier windows
    "late_tool_result.DISPLACED",  # then other misplaced results; later rules run on each turn
    "orphan_reasoning",  # on each turn, which must hold the item that its reasoning led to
    "missing_tool_result",  # after the rules that move or remove results
    "unnamed_result",  # every result has its call now
    "split_server_tool.OPEN",  # all results are in their turn; before the rules that check texts
    "mirrored_call.ORDER",  # after all rules that convert blocks to text
    "split_assistant_turn.HOSTED",  # before the texts behind calls move
    "split_assistant_turn",  # all results are after the assistant messages, which can be merged
    "scattered_results",  # the results are in the messages directly after the calls
    "tool_result_order",  # the calls are in their final order
    "parallel_calls",  # every call has its result, so both can be moved together
    "misplaced_image",  # results are in their final positions
    "unsendable_part.MOVED",  # after the rules that move parts to messages of other roles
    "illegible_image",  # after misplaced_image: tiles and their captions stay together
    "unresolved_reference",  # the files of results are final
    "duplicate_call_id",  # only calls that remain get new ids
    "invalid_call_id",  # after duplicate_call_id, whose new ids are valid
    "invalid_item_id",
    "orphan_reasoning.AFTER_IDS",  # the item that lost its id has lost its reasoning
    "invalid_tool_name",
    "invalid_tool_arguments",
    "parallel_calls.EQUAL",  # names and arguments are final; before signatures, one per message
    "invalid_thought_signature",
    "missing_reasoning_details",  # names the first call by its final id
    "misnamed_reasoning",  # before the rule that adds a blank, and before refused_key
    "missing_reasoning",
    "invalid_cache_marker",
    "invalid_cache_marker.ON_MESSAGES",  # the remaining markers are valid
    "refused_key.ACTIONS",
    "refused_key",  # may move a name into the text, so it runs before the rules that check texts
    "split_assistant_turn.WORDS",  # the texts that refused_key adds are behind calls
    "incomplete_item.ANNOTATIONS",  # after the ids, and the texts that refused_key adds, are final
    "null_content",  # null becomes an empty text, which the next rules check
    "listed_content",
    "misplaced_system",  # creates user messages, which may be empty
    "invalid_cache_marker.POINTS",  # judges what empty_text leaves before a cache point
    "empty_text",  # may empty a message that had only a cache point
    "trailing_thinking",  # empty texts after the thinking are removed now
    "emptied_window",  # after all rules that drop messages
    "leading_assistant",
    "consecutive_roles",  # the neighbours of each message are final
    "late_thinking",  # after the rules that merge messages
    "invalid_thought_signature.PARTS",  # the first part of each answer is final
    "trailing_assistant",
    "unsupported_item.ANSWERS",  # after all rules that create or merge messages
)

FIRST: tuple[RequestRule, ...] = _load("offline_order")
"""The rules that run on the whole request before the first window."""

IMAGE_RULES: tuple[Rule, ...] = tuple(rule for rule in RULES if rule.code.startswith("IMG"))

LAST: tuple[RequestRule, ...] = _load(
    "lost_thinking",  # before undeclared_tools: calls that it converts to text need no declaration
    "lone_surrogate.SYSTEM",
    "empty_system",  # before the rule that counts the markers, which it may move
    "undeclared_tools",
    "undeclared_reference",
    "unknown_caller",  # after all rules that convert calls to text
    "too_many_documents",  # totals, like the number of images
    "too_many_pages",
    "too_many_images",  # a total; it removes the oldest images with their cache markers
    "hidden_cache_marker",  # before the rule that counts the markers
    "invalid_cache_marker.KEYS",  # before the count: it also removes markers, in system and tools
    "too_many_cache_markers",  # a total of the markers that all other rules have left
)
"""The rules that run on the whole request after the last window."""


_LIST_KEYS = ("content", "parts", "output", "images")
"""Keys of messages whose lists may hold an image."""


def rules_for(limits: Limits, messages: list[Any]) -> tuple[Rule, ...]:
    """Return the rules to run for a target with these limits.

    A target without limits needs no rules. A target with only image limits needs the image rules,
    and these only if a message may hold an image.
    """
    rules = _rules_for_limits(limits)
    if rules is not IMAGE_RULES:
        return rules
    return rules if any(map(_has_parts, messages)) else ()


def _has_parts(message: object) -> bool:
    """Return whether a message has a list of parts; only such a list can hold an image."""
    if isinstance(message, dict):
        return any(message.get(key).__class__ is list for key in _LIST_KEYS)
    return getattr(message, "content", None).__class__ is list


@lru_cache(maxsize=64)
def _rules_for_limits(limits: Limits) -> tuple[Rule, ...]:
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
    "accepted_prefix",
    "rules_for",
    "unknown_format",
]
