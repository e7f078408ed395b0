"""Reads the fields of a message for further values; a malformed one counts as empty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage


def metadata_of(message: BaseMessage) -> dict[str, Any]:
    """Return the ``response_metadata`` of a message; empty if they are not a dict."""
    found: Any = message.response_metadata
    return found if isinstance(found, dict) else {}


def kwargs_of(message: BaseMessage) -> dict[str, Any]:
    """Return the ``additional_kwargs`` of a message; empty if they are not a dict."""
    found: Any = message.additional_kwargs
    return found if isinstance(found, dict) else {}
