"""What is told of a repair, and where: codes and counts, never content, keys or arguments."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

from chatmend.failures import reason_of
from chatmend.litellm.shapes import CHAT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from chatmend.changes import Change
    from chatmend.litellm.shapes import Shape

KEY = "chatmend"
"""The one key under which anything of ours stands in what belongs to LiteLLM."""
HEADER = "x-chatmend-changes"
HEADER_REPORT = "x-chatmend-findings"
_METADATA = ("metadata", "litellm_metadata")
"""Where LiteLLM keeps what is said about a call."""

_log = logging.getLogger("chatmend.litellm")


@dataclass(frozen=True, slots=True)
class Note:
    """One attempt in codes and counts."""

    target: str
    mode: str
    changes: Mapping[str, int]

    def __str__(self) -> str:
        """As the response header says it: ``TOOL003=1,IMG001=2``."""
        return ",".join(f"{code}={count}" for code, count in sorted(self.changes.items()))

    def to_dict(self) -> dict[str, Any]:
        """For JSON: what ``_hidden_params`` and the logging metadata hold."""
        return {"target": self.target, "mode": self.mode, "changes": dict(self.changes)}


def note(target: str, mode: str, changes: Iterable[Change]) -> Note:
    """Count changes by code, and log one line where there are any."""
    counts: dict[str, int] = {}
    # In report mode a finding that a repair leaves alone is news as well.
    for change in changes:
        if change.applied or mode == "report":
            counts[change.code] = counts.get(change.code, 0) + 1
    told = Note(target, mode, counts)
    if counts:
        _log.info("chatmend %s for %s: %s", "would repair" if mode == "report" else "repaired", _plain(target), told)
    return told


def warn_of_synchronous() -> None:
    """Say that the callback alone does not repair a synchronous call: LiteLLM has no hook for that."""
    _log.warning(
        "chatmend does not repair synchronous litellm.completion by its callback alone: "
        "call chatmend.litellm.install() once, or litellm.acompletion"
    )


def _plain(target: str) -> str:
    """A target on a log line: a client may have named the model."""
    return "".join(letter if letter.isprintable() else "?" for letter in target[:200])


class Ours(dict[str, Any]):
    """A note, as it is for JSON, that this process wrote. A client cannot forge one: its metadata holds plain dicts."""


def noted(kwargs: Mapping[str, Any], told: Note, shape: Shape) -> Mapping[str, Any]:
    """A call with its note in LiteLLM's metadata, on a copy, for where LiteLLM has no record of the call yet.

    No provider gets it: ``metadata`` is LiteLLM's own for chat, and a parameter of the provider elsewhere.
    """
    if not told.changes:
        return kwargs
    name = _METADATA[0] if shape is CHAT else _METADATA[1]
    return {**kwargs, name: {**(kwargs.get(name) or {}), KEY: Ours(told.to_dict())}}


class Notes(dict[str, dict[str, Any]]):
    """Our notes of one call. A client may send a dict under our key, which LiteLLM puts there; it cannot send these."""

    def shown(self) -> dict[str, Any]:
        """All of them as one, as it is for JSON; to be copied, not changed."""
        told = list(self.values())
        if len(told) == 1:
            return told[0]
        # What one pass found, a second pass in another dialect does not find again.
        counts = sum((Counter(one["changes"]) for one in told), Counter[str]())
        return Note(told[-1]["target"], told[-1]["mode"], counts).to_dict()


def keep(logged: Any, name: str, told: dict[str, Any]) -> bool:
    """Write a note, as it is for JSON, into LiteLLM's own record of the call, which every later hook gets to see.

    A bridged call passes by twice, under two call types and with one record: the notes of both belong to one attempt.
    A call type that comes again begins the next attempt (a retry or a fallback), whose notes replace the last one's.
    False where there is no record: LiteLLM 1.82 makes it after the hook has run.
    """
    record = getattr(logged, "model_call_details", None)
    if not isinstance(record, dict):
        return False
    known = record.get(KEY)
    before = known if isinstance(known, Notes) and name not in known else {}
    record[KEY] = Notes({**before, name: told})
    return True


def of(record: Any) -> Notes | None:
    """Our notes of a call, if our hook has looked at its request. What is begun is finished.

    ``record`` is LiteLLM's record of the call, or the object that holds it.
    """
    details = record if isinstance(record, dict) else getattr(record, "model_call_details", None)
    found = details.get(KEY) if isinstance(details, dict) else None
    return found if isinstance(found, Notes) else None


def kept(record: object) -> Note | None:
    """The note of the last attempt, from LiteLLM's record of the call or the object that holds it."""
    told = shown(record)
    return None if told is None else Note(**told)


def shown(record: object) -> dict[str, Any] | None:
    """As `kept`, but as it is for JSON; to be copied, not changed."""
    if ours := of(record):
        return ours.shown()
    details = record if isinstance(record, dict) else getattr(record, "model_call_details", None)
    carried = _carried(details.get("litellm_params")) if isinstance(details, dict) else None
    return None if carried is None else carried.to_dict()


def _carried(call: object) -> Note | None:
    """The note that came with a call's metadata."""
    said = [call.get(name) for name in _METADATA] if isinstance(call, dict) else []
    found = next((held[KEY] for held in said if isinstance(held, dict) and isinstance(held.get(KEY), Ours)), None)
    if found is None or "changes" not in found:  # a client's, or usage alone
        return None
    return Note(found["target"], found["mode"], found["changes"])


def of_request(request: Mapping[str, Any]) -> Note | None:
    """The note of an attempt, from its request."""
    return kept(request.get("litellm_logging_obj")) or _carried(request)


def shown_of_request(request: Mapping[str, Any]) -> dict[str, Any] | None:
    """As `of_request`, but as it is for JSON; to be copied, not changed."""
    if (told := shown(request.get("litellm_logging_obj"))) is not None:
        return told
    carried = _carried(request)
    return None if carried is None else carried.to_dict()


def headers(told: Note | None) -> dict[str, str] | None:
    """The response header of a repaired request."""
    if told is None or not told.changes:
        return None
    return {HEADER_REPORT if told.mode == "report" else HEADER: str(told)}


class _Caught:
    """A block whose exceptions are counted."""

    __slots__ = ("_failures",)

    def __init__(self, failures: Failures) -> None:
        self._failures = failures

    def __enter__(self) -> None:
        return

    def __exit__(self, _kind: object, error: object, _trace: object) -> bool:
        return self._failures.swallow(error)


class Failures:
    """Counts what fails in chatmend itself. The first of a kind is a warning; then every tenfold, not every one."""

    def __init__(self, on_error: str) -> None:
        """``pass`` swallows, ``raise`` lets out."""
        self.on_error = on_error
        self.counts: Counter[str] = Counter()
        self._lock = Lock()

    def caught(self) -> _Caught:
        """Whatever is raised inside costs the caller nothing but a warning. A cancelled request stays cancelled."""
        return _Caught(self)

    def swallow(self, error: object) -> bool:
        """Count an exception, and say whether it is to be swallowed."""
        if not isinstance(error, Exception) or self.on_error == "raise":
            return False
        self._count(error)
        return True

    def _count(self, error: Exception) -> None:
        kind = type(error).__name__
        with self._lock:
            self.counts[kind] += 1
            count = self.counts[kind]
        if count == 1:
            _log.warning("chatmend failed with %s; the request is sent unchanged", reason_of(error))
        elif str(count).strip("0") == "1":
            _log.warning("chatmend failed with %s %d times by now", kind, count)
