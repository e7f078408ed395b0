"""Checks and repairs stored messages, including LangChain dumps and whole session files."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend.policy import Policy
from chatmend.remembering import remember
from chatmend.repair import check, repair
from chatmend.rules import Request
from chatmend.session_memory import SessionMemory
from chatmend.sessions.document import OPENING, Document, parameters_block, parse
from chatmend.sessions.langchain_dumps import from_native, is_dump, to_native
from chatmend.sessions.markers import with_markers
from chatmend.sessions.rendering import render_messages, shared_prefix_length
from chatmend.targets import resolve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmend.changes import Change
    from chatmend.repair import Repaired
    from chatmend.targets import Target


_OPEN_END_RULES = frozenset({"missing-tool-result", "trailing-assistant"})
"""Rules about the end of a transcript, whose findings another message can resolve."""
_REPLY = frozenset({"assistant", "ai"})


def repair_stored(
    messages: list[Any],
    target: str | Target,
    **options: Any,  # noqa: ANN401 - passed on to `repair`
) -> Repaired:
    """Repair messages in their stored format. The arguments are those of ``repair``."""
    if not is_dump(messages):
        return repair(messages, target, **options)
    native = to_native(messages)
    done = repair(native, target, **{**options, "memory": None})
    return replace(done, messages=from_native(done.messages, native, messages))


def remember_stored(
    messages: list[Any],
    target: str,
    memory: SessionMemory | None,
    *,
    dialect: str | None,
    **parameters: Any,  # noqa: ANN401 - request parameters
) -> SessionMemory | None:
    """Return the memory of a session after a request; None if its target does not need one.

    LangChain messages need none: a wrapped model keeps it.
    """
    resolved = resolve(target)
    if not resolved.limits.thinking_bound or is_dump(messages):
        return memory
    request = Request(messages, **parameters)
    return remember(request, resolved, memory=memory or SessionMemory(), dialect=dialect)


def check_stored(
    messages: list[Any],
    target: str | Target,
    **options: Any,  # noqa: ANN401 - passed on to `check`
) -> tuple[Change, ...]:
    """Return what the target would refuse, except findings that another message can resolve."""
    found = check(to_native(messages) if is_dump(messages) else messages, target, **options)
    end = length_without_reply(messages)
    return tuple(
        c for c in found if c.rule not in _OPEN_END_RULES or c.index is None or c.index < end
    )


def _for_storage(policy: Policy | None) -> Policy:
    """Return a policy that does not disable thinking, because that is for single requests."""
    chosen = policy or Policy()
    if chosen.lost_thinking != "disable":
        return chosen
    return replace(chosen, lost_thinking="report")


def length_without_reply(messages: Sequence[Any]) -> int:
    """Return the number of messages before the assistant messages at the end."""
    end = len(messages)
    while (
        end
        and isinstance(messages[end - 1], dict)
        and _REPLY & {messages[end - 1].get(k) for k in ("role", "type")}
    ):
        end -= 1
    return end


def is_session(data: bytes) -> bool:
    """Whether a file begins like a session."""
    return data.startswith(OPENING)


def repair_file(
    data: bytes, path: str, target: str | Target | None = None, policy: Policy | None = None
) -> tuple[bytes, tuple[Change, ...]]:
    """Return the bytes of a session with repaired messages, and the changes.

    The bytes are the same if nothing was changed.

    Args:
        data: the content of the file.
        path: its name, for errors.
        target: the provider and model to repair for; the default is the target of the session.
        policy: choices between repairs.

    Raises:
        SessionFormatError: the file is malformed, truncated or edited.
    """
    document, stored = parse(data, path)
    header, parameters = document.header, document.request_parameters()
    messages = with_markers(stored, header.markers)
    end = length_without_reply(messages)
    # The reply at the end is repaired only when a message follows it.
    messages, rest = messages[:end], messages[end:]
    known: dict[str, Any] = {
        key: parameters[key] for key in ("system", "tools", "thinking") if key in parameters
    }
    goal = (
        target
        if target is not None
        else "/".join(filter(None, (header.provider, header.model))) or "other"
    )
    policy = _for_storage(policy) if "thinking" in known else policy
    done = repair_stored(messages, goal, policy=policy, dialect=header.dialect or None, **known)
    if not any(change.applied for change in done.changes):
        return data, done.changes
    blocks, markers = render_messages([*done.messages, *rest])
    sent = document.blocks[: header.cache_boundary]
    header = replace(
        header,
        messages=len(blocks),
        cache_boundary=shared_prefix_length(blocks, sent),
        markers=tuple(markers),
    )
    moved = {"system": done.system, "tools": done.tools}
    new = {key: value for key, value in moved.items() if value is not known.get(key)}
    kept = parameters_block({**parameters, **new}) if new else document.parameters
    return Document(header, tuple(blocks), kept).render(), done.changes
