"""File names of sessions: one for each agent and index, valid on every file system."""

from __future__ import annotations

import re
from hashlib import sha256

_SAFE_NAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]*[a-z0-9-])?\Z", re.ASCII)
_LONGEST = 80
"""Maximum length of an agent name that is used unchanged.

With index and temporary suffix, a file name stays far below 255 bytes.
"""
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|_?\Z)", re.ASCII)
"""Device names of Windows, which remain device names with any suffix."""
_FILE = re.compile(r"(?P<stem>.+)_(?P<index>0|[1-9][0-9]{0,8})\.md\Z", re.ASCII | re.DOTALL)


def stem(agent: str) -> str:
    """Return the part of a file name that identifies an agent.

    A plain lower-case name is used unchanged. Any other name gets ``~``, which no plain name
    contains, and a hash. Two agents therefore never share a stem, even on file systems that ignore
    case, truncate names or forbid characters.
    """
    if (
        len(agent) <= _LONGEST
        and _SAFE_NAME.match(agent)
        and ".." not in agent
        and not _RESERVED.match(agent)
    ):
        return agent
    digest = sha256(agent.encode("utf-8", "surrogatepass")).hexdigest()[:20]
    readable = re.sub(r"[^a-z0-9]+", "-", agent[:200].lower(), flags=re.ASCII).strip("-")[:40]
    return f"{readable or 'agent'}~{digest}"


def file_name(agent: str, index: int) -> str:
    """Return the name of a session's file."""
    return f"{stem(agent)}_{index}.md"


def index_of(name: str, agent: str | None = None) -> int | None:
    """Return the index in a file name; None if it is not the name of a session of this agent."""
    match = _FILE.match(name)
    if match is None or (agent is not None and match["stem"] != stem(agent)):
        return None
    return int(match["index"])
