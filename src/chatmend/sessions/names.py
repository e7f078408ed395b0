"""Names of files: one for each agent and index, on any file system, whatever the agent is called."""

from __future__ import annotations

import re
from hashlib import sha256

_PLAIN = re.compile(r"[a-z0-9](?:[a-z0-9._-]*[a-z0-9-])?\Z", re.ASCII)
_LONGEST = 80
"""Characters of a name that stays as it is; with index, temporary endings and all it stays far below 255 bytes."""
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|_?\Z)", re.ASCII)
"""Devices of Windows, which have no ending that would make them files."""
_FILE = re.compile(r"(?P<stem>.+)_(?P<index>0|[1-9][0-9]{0,8})\.md\Z", re.ASCII | re.DOTALL)


def stem(agent: str) -> str:
    """The part of a file name that stands for an agent.

    A plain lower-case name is its own stem. Any other gets a hash behind ``~``, which no plain name has, so that two
    agents never share a stem: not on a file system that folds case, nor on one that cuts or forbids.
    """
    if len(agent) <= _LONGEST and _PLAIN.match(agent) and ".." not in agent and not _RESERVED.match(agent):
        return agent
    digest = sha256(agent.encode("utf-8", "surrogatepass")).hexdigest()[:20]
    readable = re.sub(r"[^a-z0-9]+", "-", agent[:200].lower(), flags=re.ASCII).strip("-")[:40]
    return f"{readable or 'agent'}~{digest}"


def file_name(agent: str, index: int) -> str:
    """The name of a session's file."""
    return f"{stem(agent)}_{index}.md"


def index_of(name: str, agent: str | None = None) -> int | None:
    """The index that a file name tells; None where it is no session's, or not of this agent."""
    match = _FILE.match(name)
    if match is None or (agent is not None and match["stem"] != stem(agent)):
        return None
    return int(match["index"])
