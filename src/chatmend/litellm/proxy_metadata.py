"""Writes what chatmend found into the metadata with which the proxy logs a request.

The proxy reads it when the request has failed: for response headers, spend logs and the admin page.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from chatmend.litellm.summaries import KEY, METADATA_KEYS, OwnMetadata

if TYPE_CHECKING:
    from collections.abc import Mapping

GUARDRAIL = "chatmend"
"""The name of chatmend's entry among the guardrails that a request has passed."""
_ENTRIES = "standard_logging_guardrail_information"
_STAMPED = "user_api_key_auth"
"""A key under which the proxy stores an object; the metadata of clients is only JSON."""


class _Entry(dict[str, Any]):
    """An entry in the guardrail information of a request, written by this process."""


def write(call: Mapping[str, Any], summary: Mapping[str, Any], seconds: float) -> None:
    """Write a summary into the proxy's metadata of a call, in place of that of the last attempt.

    In the SDK the metadata belongs to the caller, and nothing is written.

    Args:
        call: the arguments of a call, as the deployment hook receives them.
        summary: the summary of all passes of this attempt, in its JSON form.
        seconds: the duration of the repair.
    """
    metadata = metadata_of(call)
    if metadata is None:
        return
    known = metadata.get(_ENTRIES)
    entries = known if isinstance(known, list) else []
    others = [one for one in entries if not isinstance(one, _Entry)]
    if not summary["changes"]:
        if isinstance(metadata.get(KEY), OwnMetadata):
            del metadata[KEY]
            metadata[_ENTRIES] = others or None
        return
    metadata[KEY] = OwnMetadata(summary)
    metadata[_ENTRIES] = [*others, _entry(summary, seconds)]


def metadata_of(call: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the metadata that the proxy keeps for a request; None outside of a proxy."""
    if not call.get("proxy_server_request"):
        return None
    for name in reversed(METADATA_KEYS):
        held = call.get(name)
        if isinstance(held, dict) and _is_stamped(held):
            return held
    return None


def team_and_key(call: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the team and the key (its hash) that the proxy authenticated; None if unknown.

    The proxy overwrites what a client sends. ``litellm_metadata`` comes before ``metadata``.

    Args:
        call: the arguments of a call, or the ``litellm_params`` in LiteLLM's record of it.
    """
    key = _value(call, "user_api_key_hash") or _value(call, "user_api_key")
    return _value(call, "user_api_key_team_id"), key


def _value(call: Mapping[str, Any], name: str) -> Any:
    for source in reversed(METADATA_KEYS):
        held = call.get(source)
        if isinstance(held, dict) and name in held:
            return held[name]
    return None


def _is_stamped(metadata: Mapping[str, Any]) -> bool:
    return hasattr(metadata.get(_STAMPED), "request_route")


def _entry(summary: Mapping[str, Any], seconds: float) -> _Entry:
    """Return the entry for a summary: codes and counts.

    LiteLLM writes all of it into spend logs except ``guardrail_response``, which it keeps only if
    prompts are stored. ``masked_entity_count`` is its only field for counts by name.
    """
    now = time.time()
    changes = dict(sorted(summary["changes"].items()))
    return _Entry(
        guardrail_name=GUARDRAIL,
        guardrail_provider=GUARDRAIL,
        guardrail_mode="pre_call",
        guardrail_status="success",
        guardrail_action=summary["mode"],
        guardrail_response={"target": summary["target"], "changes": changes},
        masked_entity_count=changes,
        start_time=now - seconds,
        end_time=now,
        duration=seconds,
    )
