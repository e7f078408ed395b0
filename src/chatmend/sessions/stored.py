"""Repairs a stored conversation: a list of messages, a request body, a LangChain dump or a log."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from chatmend.dialects import format_of_body
from chatmend.dialects.recognition import DECIDING_KEYS
from chatmend.errors import TranscriptError
from chatmend.known_transcripts import source_of
from chatmend.policy import DEFAULT
from chatmend.repair import repair, repair_request
from chatmend.sessions.embedded import find_conversation

if TYPE_CHECKING:
    from chatmend.changes import Change
    from chatmend.images.recompressor import Recompressor
    from chatmend.known_transcripts import Source
    from chatmend.policy import Policy
    from chatmend.targets import Target

Conversation: TypeAlias = "list[object] | dict[str, object]"
_REQUEST_KEYS = frozenset({"model", "modelId", "tools", "toolConfig"})
"""Keys of a request body; other objects with messages are stored conversations."""
_OTHER_INPUTS = (_REQUEST_KEYS | DECIDING_KEYS | {"thinking"}) - {"system"}
"""Keys next to ``messages`` on which the wire format or the repair depends."""
_LIST, _OBJECT, _WITH_SYSTEM = "stored list", "stored object", "stored object with a system prompt"
"""How the wire format of a stored conversation is determined."""


def is_known_clean(value: object, target: Target, policy: Policy | None = None) -> bool:
    """Whether a stored conversation has the structure of an earlier one that needed no repair."""
    if isinstance(value, list):
        return _source(target, policy, _LIST).has(value)
    if not isinstance(value, dict):
        return False
    source = _source_of_object(value, target, policy)
    return source is not None and source.has(value["messages"])


def _source_of_object(
    value: dict[str, object], target: Target, policy: Policy | None
) -> Source | None:
    """Return the source of an object whose format and repair depend only on its messages."""
    if value.get("messages").__class__ is not list or not _OTHER_INPUTS.isdisjoint(value):
        return None
    if "system" not in value:
        return _source(target, policy, _OBJECT)
    has_text = value["system"].__class__ is str
    return _source(target, policy, _WITH_SYSTEM) if has_text else None


def _source(target: Target, policy: Policy | None, kind: str) -> Source:
    return source_of(target, policy or DEFAULT, kind)


def messages_of(value: Conversation) -> list[object] | None:
    """Return the messages under ``messages``, ``input`` (Responses) or ``contents`` (Gemini)."""
    if isinstance(value, list):
        return value
    if isinstance(messages := value.get("messages"), list):
        return messages
    listed = (value.get(key) for key in ("input", "contents"))
    return next(
        (
            found
            for found in listed
            if isinstance(found, list) and all(isinstance(m, dict) for m in found)
        ),
        None,
    )


def repair_conversation(
    value: Conversation,
    target: Target,
    policy: Policy | None = None,
    recompressor: Recompressor | None = None,
) -> tuple[Conversation, tuple[Change, ...]]:
    """Return a conversation repaired for a target, and the changes.

    An object with a model or a declaration of tools is a request body, so undeclared tools are
    repaired. For any other object and for a bare list, the declared tools are unknown and not
    checked. If the system prompt of a list must be outside of the messages, the result is an
    object.
    """
    if (embedded := find_conversation(value)) is not None:
        inner, changes = repair_conversation(embedded.conversation, target, policy, recompressor)
        return (value if inner is embedded.conversation else embedded.replace(inner)), changes
    if isinstance(value, list):
        result = repair(value, target, policy=policy, recompressor=recompressor)
        if not result.changes:
            _source(target, policy, _LIST).adopt(source_of(target, policy or DEFAULT, ""), value)
        if result.system is not None:
            return {"system": result.system, "messages": result.messages}, result.changes
        return result.messages, result.changes
    if not _REQUEST_KEYS.isdisjoint(value) or "messages" not in value:
        request = repair_request(value, target, policy=policy, recompressor=recompressor)
        return request.body, request.changes
    messages, system = value["messages"], value.get("system")
    if not isinstance(messages, list):
        raise TranscriptError("the value of 'messages' is not a list")
    dialect = format_of_body(value, target.provider)
    if not isinstance(dialect, str):
        request = repair_request(value, target, policy=policy, recompressor=recompressor)
        return value, request.changes
    result = repair(
        messages,
        target,
        system=system,
        thinking=value.get("thinking"),
        policy=policy,
        dialect=dialect,
        recompressor=recompressor,
    )
    source = None if result.changes else _source_of_object(value, target, policy)
    if source is not None:
        source.adopt(source_of(target, policy or DEFAULT, dialect), messages)
    new: dict[str, object] = (
        {"messages": result.messages} if result.messages is not messages else {}
    )
    new |= {"system": result.system} if result.system is not system else {}
    return {**value, **new} if new else value, result.changes
