"""Rows of LiteLLM's table ``LiteLLM_SpendLogs``: ``messages`` or ``proxy_server_request``.

LiteLLM stores prompts only with ``store_prompts_in_spend_logs``, and truncates texts that are
longer than ``MAX_STRING_LENGTH_PROMPT_IN_DB`` (2,048 characters). A truncated conversation is
quarantined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.data.formats.batch import is_request
from chatmend.data.formats.reading import change, is_chat, load
from chatmend.data.rows import QuarantineError
from chatmend.jsontext import strings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatmend.data.rows import Conversations

NAME = "litellm-spend-logs"
LAYOUT = "request_id with messages or proxy_server_request"
_MESSAGES, _REQUEST = "messages", "proxy_server_request"
KEYS = ("request_id", "call_type", _MESSAGES, _REQUEST)
_TRUNCATED = "... (litellm_truncated "


def matches(row: Mapping[str, Any]) -> bool:
    """Return whether a row is a spend log."""
    return row.get("request_id") is not None and (
        _REQUEST in row or "call_type" in row or is_chat(load(row.get(_MESSAGES)))
    )


def repair(row: dict[str, Any], conversations: Conversations) -> dict[str, Any]:
    """Repair the messages and the logged request, of which a row may have either."""
    has_messages, has_request = (
        is_chat(load(row.get(_MESSAGES))),
        is_request(load(row.get(_REQUEST))),
    )
    if not (has_messages or has_request):
        raise QuarantineError(
            "no messages: LiteLLM stores them with general_settings.store_prompts_in_spend_logs"
        )
    if has_messages:
        row = change(row, _MESSAGES, lambda held: conversations.repair(_complete(held)))
    if has_request:
        row = change(row, _REQUEST, lambda held: conversations.repair_request(_complete(held)))
    return row


def _complete(value: Any) -> Any:  # noqa: ANN401 - logged JSON
    """Return a logged value.

    Raises:
        QuarantineError: LiteLLM has truncated a text in it.
    """
    if any(_TRUNCATED in text for text in strings(value)):
        raise QuarantineError(
            "LiteLLM truncated a text; raise MAX_STRING_LENGTH_PROMPT_IN_DB to store whole texts"
        )
    return value
