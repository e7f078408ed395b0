"""A stored session repaired as a file: for the command line, which replaces whole files."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend.repair import repair
from chatmend.sessions.document import OPENING, Document, beside_block, parse
from chatmend.sessions.langchain_dumps import from_native, is_dump, to_native
from chatmend.sessions.markers import with_markers
from chatmend.sessions.session import closed, first_difference, rendered

if TYPE_CHECKING:
    from chatmend.changes import Change
    from chatmend.policy import Policy
    from chatmend.targets import Target


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
    native = to_native(messages) if is_dump(messages) else messages
    known: dict[str, Any] = {key: beside[key] for key in ("system", "tools", "thinking") if key in beside}
    goal = target if target is not None else "/".join(filter(None, (header.provider, header.model))) or "other"
    done = repair(native, goal, policy=policy, dialect=header.dialect or None, **known)
    if not any(change.applied for change in done.changes):
        return data, done.changes
    becomes = done.messages if native is messages else from_native(done.messages, native, messages)
    blocks, markers = rendered([*becomes, *rest])
    sent = document.blocks[: header.cache_boundary]
    header = replace(
        header, messages=len(blocks), cache_boundary=first_difference(blocks, sent), markers=tuple(markers)
    )
    moved = {"system": done.system, "tools": done.tools}
    new = {key: value for key, value in moved.items() if value is not known.get(key)}
    kept = beside_block({**beside, **new}) if new else document.beside
    return Document(header, tuple(blocks), kept).render(), done.changes
