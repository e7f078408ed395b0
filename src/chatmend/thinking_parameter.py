"""The request parameter that enables thinking: whether it does, and how to disable it.

Its forms are those of Anthropic (``{"type": "enabled"}``), of OpenAI and LiteLLM (``"low"`` or
``{"effort": "low"}``), of OpenRouter (``{"max_tokens": 2000}``) and of Ollama (``True``).
"""

from __future__ import annotations

from typing import Any

_OFF = ("none", "disable", "disabled")
"""The values that disable thinking in requests of OpenAI, LiteLLM and Anthropic."""
_CLEARING = "clear_thinking_"
"""The beginning of the name of the context edit that Anthropic refuses without thinking."""


BINDING_BETA = "thinking-binding-controls-2026-08-01"
"""The beta feature that a request with ``block_binding`` must name in ``anthropic-beta``.

Source: platform.claude.com/docs/en/build-with-claude/preserved-thinking.
"""


def with_dropped_blocks(thinking: object) -> dict[str, Any] | None:
    """Return Anthropic's parameter such that the provider ignores thinking behind a changed prompt.

    None if the parameter is not that of adaptive thinking: Anthropic refuses it in all others.
    """
    if not isinstance(thinking, dict) or thinking.get("type") != "adaptive":
        return None
    return {**thinking, "block_binding": {"prefix_mismatch_behavior": "drop_block"}}


def with_binding_beta(betas: str | None) -> str:
    """Return the value of the header ``anthropic-beta`` with the beta for ``block_binding``."""
    known = [beta.strip() for beta in (betas or "").split(",") if beta.strip()]
    return ",".join(dict.fromkeys([*known, BINDING_BETA]))


def drops_blocks(thinking: object) -> bool:
    """Return whether the parameter has a ``block_binding``."""
    return isinstance(thinking, dict) and "block_binding" in thinking


def is_thinking_on(thinking: object) -> bool:
    """Return whether the thinking parameter of a request enables thinking."""
    if not isinstance(thinking, dict):
        return bool(thinking) and thinking not in _OFF
    for key in ("type", "effort"):
        if key in thinking:
            return is_thinking_on(thinking[key])
    is_enabled = thinking.get("enabled", True)
    return bool(is_enabled) and bool(thinking.get("enabled") or thinking.get("max_tokens"))


def is_thinking_disabled(thinking: object) -> bool:
    """Return whether the parameter disables thinking; without it, the model may think."""
    return isinstance(thinking, dict) and thinking.get("type") == "disabled"


def is_manual(thinking: object) -> bool:
    """Return whether the parameter enables Anthropic's manual mode, with a budget of tokens."""
    return isinstance(thinking, dict) and thinking.get("type") == "enabled"


def disable(thinking: object) -> object:
    """Return the parameter with thinking disabled; None if it must be removed.

    A level such as ``"low"`` is removed, because not every host has a level for no thinking.
    """
    if isinstance(thinking, dict):
        return {"type": "disabled"} if "type" in thinking else {"effort": "none"}
    return False if isinstance(thinking, bool) else None


def without_clearing(management: object) -> object:
    """Return Anthropic's ``context_management`` without the edit that clears thinking.

    The value is the same object if it has no such edit, and None if it has no other.
    """
    edits = management.get("edits") if isinstance(management, dict) else None
    if not isinstance(management, dict) or not isinstance(edits, list):
        return management
    kept = [edit for edit in edits if not _clears_thinking(edit)]
    if len(kept) == len(edits):
        return management
    rest = {key: value for key, value in management.items() if key != "edits"}
    return {**rest, "edits": kept} if kept else rest or None


def _clears_thinking(edit: Any) -> bool:  # noqa: ANN401 - any JSON value
    return isinstance(edit, dict) and str(edit.get("type")).startswith(_CLEARING)
