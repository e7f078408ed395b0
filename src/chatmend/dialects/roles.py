"""Names of roles in all dialects."""

from __future__ import annotations

from chatmend.transcript import Role

ALIASES = {
    "system": Role.SYSTEM,
    "developer": Role.DEVELOPER,
    "user": Role.USER,
    "human": Role.USER,
    "assistant": Role.ASSISTANT,
    "model": Role.ASSISTANT,
    "bot": Role.ASSISTANT,
    "ai": Role.ASSISTANT,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}
"""Every name of a role that has the same meaning in all dialects."""


def role_of(native: dict[str, object]) -> Role:
    """Return the role of a message.

    Its keys decide if the name of the role is unknown, missing or contradicts them.
    """
    spelling = native.get("role")
    if isinstance(spelling, str) and (known := ALIASES.get(spelling)):
        if known is Role.TOOL and native.get("tool_calls") and "tool_call_id" not in native:
            return Role.ASSISTANT
        return known
    if "tool_call_id" in native:
        return Role.TOOL
    if native.get("tool_calls") or native.get("function_call"):
        return Role.ASSISTANT
    if spelling is None and (native.get("thinking_blocks") or native.get("reasoning_content")):
        return Role.ASSISTANT
    return Role.USER
