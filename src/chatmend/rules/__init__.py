"""The rules in the order in which they run on a window; each line says why it stands there."""

from chatmend.rules import (
    consecutive_roles,
    duplicate_call_id,
    duplicate_tool_result,
    emptied_window,
    empty_text,
    foreign_message,
    foreign_thinking,
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
    misplaced_system,
    missing_call_id,
    missing_reasoning,
    missing_tool_result,
    misspelt_signature,
    null_content,
    offline_order,
    orphan_reasoning,
    orphan_tool_result,
    parallel_calls,
    refused_key,
    split_assistant_turn,
    too_many_cache_markers,
    tool_result_order,
    trailing_assistant,
    trailing_thinking,
    undeclared_tools,
    unknown_part,
    unknown_role,
    unnamed_result,
    unreadable_message,
    unsupported_tools,
)
from chatmend.rules.rule import Context, Request, RequestRule, Rule

RULES: tuple[Rule, ...] = (
    unreadable_message.RULE,  # first of all every message must be one
    foreign_message.RULE,  # then every message must be of this format
    lone_surrogate.RULE,  # ids and names are compared below, so their characters come first
    foreign_thinking.RULE,  # needs the provenance that refused_key takes away
    misspelt_signature.RULE,  # what is left is signed
    orphan_reasoning.RULE,  # what is left leads to something
    unknown_role.RULE,  # every rule below asks for roles
    legacy_function.RULE,  # its calls and results take part in the pairing
    unknown_part.RULE,  # parts are settled before they are moved
    malformed_tool_call.RULE,  # before pairing: what is no call needs no result
    unsupported_tools.RULE,  # before pairing: nothing is left to pair
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

LAST: tuple[RequestRule, ...] = (
    undeclared_tools.RULE,
    too_many_cache_markers.RULE,  # a total: counts what everything before has left
)
"""What runs on the whole request behind the last window."""

__all__ = ["FIRST", "LAST", "RULES", "Context", "Request", "RequestRule", "Rule"]
