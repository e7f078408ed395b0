"""Summaries of repairs for headers, logs and metadata: codes and counts, never content or keys."""

from __future__ import annotations

import logging
from collections import Counter
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from chatmend.failures import reason_of
from chatmend.litellm.shapes import CHAT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from chatmend.changes import Change
    from chatmend.litellm.shapes import Shape
    from chatmend.options import RolloutMode

KEY = "chatmend"
"""The only key that chatmend writes into objects of LiteLLM."""
HEADER = "x-chatmend-changes"
HEADER_REPORT = "x-chatmend-findings"
HEADER_REACTED = "x-chatmend-reacted"
METADATA_KEYS = ("metadata", "litellm_metadata")
"""The keys under which LiteLLM keeps the metadata of a call."""

_log = logging.getLogger("chatmend.litellm")
# What a warning says about the effect of a failure; only the first is before the request is sent.
_UNCHANGED = "the request is sent unchanged"
NOT_REPORTED = "the response has no summary of the changes and no usage record"
NOT_COUNTED = "the usage of the call is not counted"
NOT_RECORDED = "the call is not recorded"

reactions: ContextVar[int] = ContextVar("chatmend_reactions", default=0)
"""How often the current call was made again after a refusal."""
_logging_objects: dict[str, Any] = {}
"""LiteLLM's logging objects of synchronous calls whose summary is read after the answer, by id.

The answer does not refer to the logging object, and the hook may run in another thread.
"""


@dataclass(frozen=True, slots=True)
class ChangeSummary:
    """The changes of one attempt, as a count for each code."""

    target: str
    mode: RolloutMode
    changes: Mapping[str, int]
    reacted: int = 0
    """How often the request was sent again after a refusal."""

    def __str__(self) -> str:
        """Return the value of the response header: ``TOOL003=1,IMG001=2``."""
        return ",".join(f"{code}={count}" for code, count in sorted(self.changes.items()))

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, as in ``_hidden_params`` and the logging metadata."""
        shown = {"target": self.target, "mode": self.mode, "changes": dict(self.changes)}
        return {**shown, "reacted": self.reacted} if self.reacted else shown


def summarize(target: str, mode: RolloutMode, changes: Iterable[Change]) -> ChangeSummary:
    """Count changes by code, and log one line if there are any."""
    counts: dict[str, int] = {}
    # Report mode also lists findings that a repair does not change.
    for change in changes:
        if change.applied or mode == "report":
            counts[change.code] = counts.get(change.code, 0) + 1
    summary = ChangeSummary(target, mode, counts, reactions.get())
    if counts:
        _log.info(
            "chatmend %s for %s: %s",
            "would repair" if mode == "report" else "repaired",
            _printable(target),
            summary,
        )
    return summary


def warn_about_positional_arguments(names: Iterable[str]) -> None:
    """Warn that the hook cannot repair a call whose model or messages were passed by position."""
    names = list(names)
    _log.warning(
        "chatmend repairs no call whose %s is passed by position; write %s%s",
        " or ".join(names),
        ", ".join(f"{name}=..." for name in names),
        # Only for chats does it wrap the function that the application calls.
        "" if "input" in names else ", or call chatmend.litellm.install()",
    )


def warn_about_synchronous_calls() -> None:
    """Warn that the callback alone cannot repair synchronous calls: LiteLLM has no hook there."""
    _log.warning(
        "chatmend's callback alone does not repair the synchronous litellm.completion: "
        "call chatmend.litellm.install() once, or use litellm.acompletion"
    )


def warn_about_unused_react() -> None:
    """Warn that a callback with ``react`` is registered, but makes no call again."""
    _log.warning(
        "react has no effect: a callback alone cannot make a call again; "
        "call chatmend.litellm.install(callback) instead of setting litellm.callbacks"
    )


def _printable(target: str) -> str:
    """Return a target for a log line; clients of a proxy may choose the name of the model."""
    return "".join(letter if letter.isprintable() else "?" for letter in target[:200])


class OwnMetadata(dict[str, Any]):
    """Summary and usage record, ready for JSON, written by this process.

    Clients cannot forge it, because the metadata that they send consists of ordinary dicts.
    """


def with_summary(
    kwargs: Mapping[str, Any], summary: ChangeSummary, shape: Shape
) -> Mapping[str, Any]:
    """Return a copy of the call whose LiteLLM metadata contains the summary, if it has changes.

    This is for calls of which LiteLLM has no record yet. The provider does not receive the summary:
    ``metadata`` is LiteLLM's own key in chat calls; in other calls it is a parameter of the
    provider, and ``litellm_metadata`` is used.
    """
    if not (summary.changes or summary.reacted):
        return kwargs
    name = METADATA_KEYS[0] if shape is CHAT else METADATA_KEYS[1]
    return {**kwargs, name: {**(kwargs.get(name) or {}), KEY: OwnMetadata(summary.to_dict())}}


class CallSummaries(dict[str, dict[str, Any]]):
    """The summaries of one call by call type, as LiteLLM's record of the call stores them.

    A client can send an ordinary dict under chatmend's key, which LiteLLM copies into its record,
    but no instance of this class.
    """

    def merged(self) -> dict[str, Any]:
        """Return one summary for all, in its JSON form. Callers must copy it before changing it."""
        summaries = list(self.values())
        if len(summaries) == 1:
            return summaries[0]
        # The counts can be added: a second pass in another dialect does not find the same defects.
        counts = sum((Counter(one["changes"]) for one in summaries), Counter[str]())
        last = summaries[-1]
        reacted = max(one.get("reacted", 0) for one in summaries)
        return ChangeSummary(last["target"], last["mode"], counts, reacted).to_dict()


def store(logging_obj: Any, name: str, summary: dict[str, Any]) -> CallSummaries | None:
    """Store a summary in LiteLLM's record of the call, which is passed to all later hooks.

    A bridged call runs the hook twice, with two call types and one record; both summaries belong
    to one attempt. A call type that is already stored marks the start of the next attempt (a retry
    or a fallback), whose summaries replace the previous ones.

    Args:
        logging_obj: LiteLLM's logging object of the call.
        name: the call type.
        summary: the summary in its JSON form.

    Returns:
        The summaries of this attempt so far. None if LiteLLM does not record the call yet:
        version 1.82 begins to after this hook has run.
    """
    record = getattr(logging_obj, "model_call_details", None)
    if not isinstance(record, dict):
        return None
    known = record.get(KEY)
    before = known if isinstance(known, CallSummaries) and name not in known else {}
    record[KEY] = stored = CallSummaries({**before, name: summary})
    if (call_id := getattr(logging_obj, "litellm_call_id", None)) in _logging_objects:
        _logging_objects[call_id] = logging_obj
    return stored


def call_with_summary(
    send: Callable[..., Any], kwargs: Mapping[str, Any]
) -> tuple[Any, ChangeSummary | None]:
    """Make a synchronous call whose hook stores a summary; return the answer and the summary."""
    call_id = str(kwargs.get("litellm_call_id") or uuid4())
    _logging_objects[call_id] = None
    try:
        answer = send(**{**kwargs, "litellm_call_id": call_id})
        return answer, last_summary(_logging_objects.get(call_id))
    finally:
        _logging_objects.pop(call_id, None)


def is_first_pass(logging_obj: Any, name: str) -> bool:
    """Whether this is not the second pass of a bridged call; to be asked before `store`."""
    known = stored_summaries(logging_obj)
    return not known or name in known


def stored_summaries(record: Any) -> CallSummaries | None:
    """Return the summaries of a call; None if chatmend's hook did not process its request.

    Calls that have them are also completed if chatmend was disabled in the meantime. ``record`` is
    LiteLLM's record of the call, or the logging object that contains it.
    """
    details = record if isinstance(record, dict) else getattr(record, "model_call_details", None)
    found = details.get(KEY) if isinstance(details, dict) else None
    return found if isinstance(found, CallSummaries) else None


def last_summary(record: object) -> ChangeSummary | None:
    """Return the summary of the last attempt, from LiteLLM's record or the logging object."""
    summary = last_summary_dict(record)
    return None if summary is None else ChangeSummary(**summary)


def last_summary_dict(record: object) -> dict[str, Any] | None:
    """Return what `last_summary` returns, in its JSON form. Callers must copy it to change it."""
    if summaries := stored_summaries(record):
        return summaries.merged()
    details = record if isinstance(record, dict) else getattr(record, "model_call_details", None)
    summary = (
        _summary_in_metadata(details.get("litellm_params")) if isinstance(details, dict) else None
    )
    return None if summary is None else summary.to_dict()


def _summary_in_metadata(call: object) -> ChangeSummary | None:
    """Return the summary that `with_summary` wrote into the metadata of a call."""
    metadata = [call.get(name) for name in METADATA_KEYS] if isinstance(call, dict) else []
    found = next(
        (
            held[KEY]
            for held in metadata
            if isinstance(held, dict) and isinstance(held.get(KEY), OwnMetadata)
        ),
        None,
    )
    if found is None or "changes" not in found:  # sent by a client, or a usage record alone
        return None
    return ChangeSummary(found["target"], found["mode"], found["changes"], found.get("reacted", 0))


def summary_dict_of_request(request: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the summary of the attempt that sent this request, in its JSON form.

    Callers must not change it.
    """
    if (stored := last_summary_dict(request.get("litellm_logging_obj"))) is not None:
        return stored
    summary = _summary_in_metadata(request)
    return None if summary is None else summary.to_dict()


def headers_of_request(request: Mapping[str, Any]) -> dict[str, str] | None:
    """Return the response headers of the attempt that sent this request; None if none."""
    stored = summary_dict_of_request(request)
    return response_headers(None if stored is None else ChangeSummary(**stored))


def response_headers(summary: ChangeSummary | None) -> dict[str, str] | None:
    """Return the response headers: the changes, and reactions to refusals; None if none."""
    if summary is None or not (summary.changes or summary.reacted):
        return None
    headers = {HEADER_REPORT if summary.mode == "report" else HEADER: str(summary)}
    return {**headers, HEADER_REACTED: str(summary.reacted)} if summary.reacted else headers


class _FailureGuard:
    """A context manager that counts exceptions and suppresses them."""

    __slots__ = ("_failures", "_outcome")

    def __init__(self, failures: Failures, outcome: str) -> None:
        self._failures = failures
        self._outcome = outcome

    def __enter__(self) -> None:
        return

    def __exit__(self, _kind: object, error: object, _trace: object) -> bool:
        return self._failures.swallow(error, self._outcome)


class Failures:
    """Counts failures of chatmend itself, by the type of the exception.

    The 1st, 10th, 100th, ... failure of a type logs a warning.
    """

    def __init__(self, on_error: str) -> None:
        """Suppress exceptions if ``on_error`` is ``pass``; propagate them if it is ``raise``."""
        self.on_error = on_error
        self.counts: Counter[str] = Counter()
        self._lock = Lock()

    def guard(self, outcome: str = _UNCHANGED) -> _FailureGuard:
        """Return a context manager that counts exceptions and suppresses them.

        ``outcome`` is what the warning says about the request. Cancellation is not suppressed: a
        cancelled request stays cancelled.
        """
        return _FailureGuard(self, outcome)

    def swallow(self, error: object, outcome: str = _UNCHANGED) -> bool:
        """Count an exception, and return whether to suppress it."""
        if not isinstance(error, Exception) or self.on_error == "raise":
            return False
        self._count(error, outcome)
        return True

    def _count(self, error: Exception, outcome: str) -> None:
        kind = type(error).__name__
        with self._lock:
            self.counts[kind] += 1
            count = self.counts[kind]
        if count == 1:
            _log.warning("chatmend failed with %s; %s", reason_of(error), outcome)
        elif str(count).strip("0") == "1":
            _log.warning("chatmend failed with %s %d times so far", kind, count)
