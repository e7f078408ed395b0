"""Stored messages, LangChain's too, checked and repaired; and a session repaired as a file, for the command line."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend.repair import check, repair
from chatmend.sessions.document import OPENING, Document, beside_block, parse
from chatmend.sessions.langchain_dumps import from_native, is_dump, to_native
from chatmend.sessions.markers import with_markers
from chatmend.sessions.rendering import first_difference, rendered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmend.changes import Change
    from chatmend.policy import Policy
    from chatmend.repair import Repaired
    from chatmend.targets import Target


_OPEN = frozenset({"missing-tool-result", "trailing-assistant"})
"""Rules about the end of a transcript, which another message would satisfy."""
_REPLY = frozenset({"assistant", "ai"})


def mended(messages: list[Any], target: str | Target, **beside: Any) -> Repaired:  # noqa: ANN401 - as repair
    """The messages repaired in the form in which they are stored. Takes the arguments of ``repair``."""
    if not is_dump(messages):
        return repair(messages, target, **beside)
    native = to_native(messages)
    done = repair(native, target, **beside)
    return replace(done, messages=from_native(done.messages, native, messages))


def findings(messages: list[Any], target: str | Target, **beside: Any) -> tuple[Change, ...]:  # noqa: ANN401
    """What the target would refuse; not that the end is open, which another message would close."""
    found = check(to_native(messages) if is_dump(messages) else messages, target, **beside)
    end = closed(messages)
    return tuple(c for c in found if c.rule not in _OPEN or c.index is None or c.index < end)


def closed(messages: Sequence[Any]) -> int:
    """How many messages stand before the reply that a transcript ends with."""
    end = len(messages)
    while end and isinstance(messages[end - 1], dict) and _REPLY & {messages[end - 1].get(k) for k in ("role", "type")}:
        end -= 1
    return end


def is_session(data: bytes) -> bool:
    """Whether a file begins as a session does."""
    return data.startswith(OPENING)


def repaired_file(
    data: bytes, path: str, target: str | Target | None = None, policy: Policy | None = None
) -> tuple[bytes, tuple[Change, ...]]:
    """The bytes of a session with its messages repaired, and what was changed; the same bytes if nothing was.

    Args:
        data: the file.
        path: its name, for errors.
        target: where it goes; where it came from, if not given.
        policy: choices between repairs.

    Raises:
        SessionFormatError: the file is malformed, cut or edited.
    """
    document, stored = parse(data, path)
    header, beside = document.header, document.request()
    messages = with_markers(stored, header.markers)
    end = closed(messages)
    messages, rest = messages[:end], messages[end:]  # the reply at the end is repaired when something follows it
    known: dict[str, Any] = {key: beside[key] for key in ("system", "tools", "thinking") if key in beside}
    goal = target if target is not None else "/".join(filter(None, (header.provider, header.model))) or "other"
    done = mended(messages, goal, policy=policy, dialect=header.dialect or None, **known)
    if not any(change.applied for change in done.changes):
        return data, done.changes
    blocks, markers = rendered([*done.messages, *rest])
    sent = document.blocks[: header.cache_boundary]
    header = replace(
        header, messages=len(blocks), cache_boundary=first_difference(blocks, sent), markers=tuple(markers)
    )
    moved = {"system": done.system, "tools": done.tools}
    new = {key: value for key, value in moved.items() if value is not known.get(key)}
    kept = beside_block({**beside, **new}) if new else document.beside
    return Document(header, tuple(blocks), kept).render(), done.changes
