"""Reads what chatmend found in LiteLLM's logs: spend logs and standard logging payloads.

Only names, statuses and counts are read, never the text of a transcript.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_REFUSED = frozenset({"400", "413", "422"})
"""The statuses with which providers refuse a request itself, not its sender or its time."""
_NAME = "chatmend"
_LONGEST = 60
"""Characters of a name that are kept: clients may choose it."""
_KEY_LENGTH = 12
"""Characters of the hash of a key that are shown."""
_HASH = re.compile("[0-9a-f]{64}")
_NO_TRANSCRIPT = (
    "embedding", "image", "moderation", "speech", "transcription", "rerank", "file", "batch",
    "search", "video", "ocr", "vector",
)  # fmt: skip
"""Parts of the names of calls that contain no transcript."""


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """One request in a log."""

    model: str
    """The model group that the client asked for, or else the model."""
    key: str
    """The alias of the key, or else the first characters of its hash."""
    team: str
    refused: bool
    """Whether the provider refused the request (status 400, 413 or 422)."""
    mode: str
    """``report`` or ``repair`` if chatmend found something; otherwise empty."""
    changes: Mapping[str, int] = field(default_factory=dict)
    """The number of changes for each code."""


def read_calls(lines: Iterable[str]) -> Iterator[LoggedCall | None]:
    """Yield the calls in lines of JSON, and None for each line that is not valid.

    Calls without a transcript, such as embeddings, are left out. A line may also hold an array of
    rows, as LiteLLM's ``/spend/logs`` returns it.
    """
    for line in lines:
        if not line.strip():
            continue
        try:
            read = json.loads(line)
        except ValueError:
            yield None
            continue
        for row in read if isinstance(read, list) else [read]:
            if not isinstance(row, dict):
                yield None
            elif has_transcript(row):
                yield read_call(row)


def has_transcript(row: Mapping[str, Any]) -> bool:
    """Return whether the call of a row can contain a transcript."""
    kind = str(row.get("call_type") or "").lower()
    return not any(part in kind for part in _NO_TRANSCRIPT)


def read_call(row: Mapping[str, Any]) -> LoggedCall:
    """Read a row of the spend logs, or a standard logging payload."""
    metadata = _mapping(row.get("metadata"))
    status = str(row.get("status") or metadata.get("status") or "")
    error = _mapping(row.get("error_information") or metadata.get("error_information"))
    mode, changes = _found(row, metadata)
    hashed = row.get("api_key") or metadata.get("user_api_key_hash") or metadata.get("user_api_key")
    alias = metadata.get("user_api_key_alias")
    team = metadata.get("user_api_key_team_alias") or row.get("team_id")
    return LoggedCall(
        _name(row.get("model_group") or row.get("model")),
        _name(alias) if alias else _key(hashed),
        _name(team or metadata.get("user_api_key_team_id")),
        status == "failure" and str(error.get("error_code")) in _REFUSED,
        mode,
        changes,
    )


def _found(row: Mapping[str, Any], metadata: Mapping[str, Any]) -> tuple[str, dict[str, int]]:
    """Return mode and changes from chatmend's entry in the guardrail information.

    Payloads of pass-through requests have them only in the metadata.
    """
    entries = row.get("guardrail_information") or metadata.get("guardrail_information")
    for entry in entries if isinstance(entries, list) else [entries]:
        if isinstance(entry, dict) and entry.get("guardrail_provider") == _NAME:
            return str(entry.get("guardrail_action")), _counts(entry.get("masked_entity_count"))
    held = _mapping(metadata.get(_NAME))
    changes = _counts(held.get("changes"))
    return (str(held.get("mode")), changes) if changes else ("", {})


def _counts(value: object) -> dict[str, int]:
    return {
        str(code)[:_LONGEST]: number
        for code, number in _mapping(value).items()
        if isinstance(number, int)
    }


def _mapping(value: object) -> Mapping[str, Any]:
    """Return a mapping, also if it was stored as a string of JSON; empty if it is none."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}


def _key(hashed: object) -> str:
    """Return the start of a hash, or LiteLLM's name of its master key."""
    name = _name(hashed)
    return name[:_KEY_LENGTH] if _HASH.fullmatch(str(hashed)) else name


def _name(value: object) -> str:
    return str(value)[:_LONGEST] if value else "-"
