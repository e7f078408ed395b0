"""Call the entry points of LiteLLM, without chatmend and with it, and print one line for each.

    python -m tests.litellm_adapter.matrix

Each must be refused without chatmend and accepted with it. ``hooks`` is the number of runs of the
repairing hook for one call; the expected numbers were derived from the table of LiteLLM's hooks
before the first run. ``seen`` is where the report is found.
"""

from __future__ import annotations

import asyncio
import copy
import os
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

import litellm

from chatmend.dialects import DIALECTS
from chatmend.litellm import ChatMend, install, uninstall
from chatmend.sandbox import Failure, Sandbox
from tests.litellm_adapter import entry_points
from tests.litellm_adapter.log_waiter import LogWaiter
from tests.litellm_adapter.proxy import Proxy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.litellm_adapter.entry_points import Entry

_LOG_TIMEOUT = 30
"""Seconds to wait for LiteLLM's log record, which is written in the background."""


class Counting(ChatMend):
    """Counts the runs of the deployment hook and stores what loggers receive."""

    def __init__(self) -> None:
        super().__init__(on_error="raise")
        self.hooks = 0
        self.logged: list[dict[str, Any]] = []
        self.waiter = LogWaiter()

    async def async_pre_call_deployment_hook(
        self, kwargs: dict[str, Any], call_type: Any
    ) -> dict[str, Any] | None:
        self.hooks += 1
        return await super().async_pre_call_deployment_hook(kwargs, call_type)

    def log_success_event(
        self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        self.logged.append(kwargs)
        super().log_success_event(kwargs, response_obj, start_time, end_time)
        self.waiter.log_success_event(kwargs, response_obj, start_time, end_time)

    async def async_log_success_event(
        self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        self.logged.append(kwargs)
        await super().async_log_success_event(kwargs, response_obj, start_time, end_time)
        await self.waiter.async_log_success_event(kwargs, response_obj, start_time, end_time)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one entry point."""

    entry: Entry
    without: str
    """``refused`` or ``accepted``, without chatmend."""
    with_chatmend: str
    untouched: bool
    """Whether the caller's objects are unchanged."""
    seen: str
    """Where the report was found."""
    usage: str
    """Where a normalised usage record was found."""
    hooks: int

    @property
    def deviations(self) -> str:
        """The deviations from the expected outcome; empty if there are none."""
        entry, faults = self.entry, []
        if self.hooks != entry.hooks:
            faults.append(f"{self.hooks} hooks, not {entry.hooks}")
        if not self.untouched:
            faults.append("the caller's objects were changed")
        if entry.untouched:
            return ", ".join(faults)
        if self.without != "refused":
            faults.append(f"{self.without} without chatmend")
        if self.with_chatmend != "accepted":
            faults.append(f"{self.with_chatmend} with chatmend")
        if entry.seen not in self.seen.split("+"):
            faults.append(f"report found in {self.seen or 'nothing'}, not {entry.seen}")
        if entry.usage not in self.usage.split("+"):
            faults.append(f"usage found in {self.usage or 'nothing'}, not {entry.usage}")
        return ", ".join(faults)

    @property
    def line(self) -> str:
        verdict = self.deviations or "ok"
        return (
            f"{self.entry.name:44}{self.without:>16}{self.with_chatmend:>10}{self.hooks:>6}  "
            f"{self.seen:14}{self.usage:29} {verdict}"
        )


def has_dialect(entry: Entry) -> bool:
    """Return whether this chatmend has the dialect of an entry point."""
    return entry.dialect in DIALECTS


def run(entry: Entry, sandbox: Any) -> Outcome:
    """Call one entry point of the SDK, without chatmend and with it."""
    litellm.logging_callback_manager._reset_all_callbacks()
    litellm.suppress_debug_info = True
    sandbox.clear()
    without, _ = _call(entry, sandbox, copy.deepcopy(entry.messages()))
    sandbox.clear()
    litellm.logging_callback_manager._reset_all_callbacks()
    callback = install(Counting())
    try:
        mine = entry.messages()
        with_chatmend, answer = _call(entry, sandbox, mine)
        if not entry.untouched and with_chatmend == "accepted":
            # A fallback of the synchronous path closes its event loop before LiteLLM has logged.
            callback.waiter.wait(
                seconds=_LOG_TIMEOUT if entry.seen == "logs" or entry.usage == "ledger" else 1
            )
    finally:
        uninstall()
        litellm.callbacks = []
    untouched = mine == entry.messages()
    logged = callback.logged
    seen = [name for name, is_found in _locations(answer, logged, "changes") if is_found]
    usage = [name for name, is_found in _locations(answer, logged, "usage") if is_found]
    if any(row.usage.total_tokens for row in callback.usage.snapshot()):
        usage.append("ledger")
    return Outcome(
        entry, without, with_chatmend, untouched, "+".join(seen), "+".join(usage), callback.hooks
    )


def _call(entry: Entry, sandbox: Any, messages: Any) -> tuple[str, Any]:
    if entry.fails:
        sandbox.script([Failure(entry.fails)])
    try:
        answer = entry.call(sandbox, messages)
        if asyncio.iscoroutine(answer):
            answer = asyncio.run(_and_logs(answer))
    except Exception as error:  # noqa: BLE001 - each entry point raises another exception class
        return "refused" if sandbox.refusals else type(error).__name__, None
    return "refused" if sandbox.refusals else "accepted", answer


async def _and_logs(answer: Any) -> Any:
    """Return the answer after LiteLLM has passed its log record to the callbacks."""
    found = await answer
    if litellm.callbacks:
        await litellm.callbacks[0].waiter.wait_async(seconds=_LOG_TIMEOUT)
    return found


def _locations(answer: Any, logged: list[dict[str, Any]], what: str) -> Iterable[tuple[str, bool]]:
    hidden = getattr(answer, "_hidden_params", None) or {}
    yield "hidden", bool((hidden.get("chatmend") or {}).get(what))
    metadata = [(kwargs.get("litellm_params") or {}).get("metadata") or {} for kwargs in logged]
    yield "logs", any((entry.get("chatmend") or {}).get(what) for entry in metadata)
    if what == "usage":
        yield (
            "response",
            any(
                map(entry_points.has_usage_record, answer if isinstance(answer, list) else [answer])
            ),
        )


def run_proxied(entry: Entry, sandbox: Any, proxy: Proxy) -> Outcome:
    """Call one entry point of the proxy, with chatmend disabled and enabled.

    The proxy writes usage records into the response bodies.
    """
    found = []
    for on in (False, True):
        sandbox.clear()
        proxy.switch(on=on, usage_mode="body")
        proxy.take_hook_count()
        answer = proxy.post(entry.path, entry.body())
        found.append(_verdict(answer, sandbox))
    hooks = proxy.take_hook_count()
    seen = "header" if "x-chatmend-changes" in answer.headers else ""
    usage = "response" if '"chatmend"' in answer.text.replace("\\", "") else ""
    return Outcome(entry, *found, untouched=True, seen=seen, usage=usage, hooks=hooks)


def _verdict(answer: Any, sandbox: Any) -> str:
    if sandbox.refusals:
        return "refused"
    # Responses API answers contain `"error": null`; a failing stream has an event with an error
    # object.
    failed = '"error": {' in answer.text or '"error":{' in answer.text
    return "accepted" if answer.is_success and not failed else str(answer.status_code)


def main() -> int:
    """Run every entry point and print the table."""
    print(f"{'entry point':44}{'without':>16}{'with':>10}{'hooks':>6}  {'report':14}{'usage':29}")
    counts: Counter[bool] = Counter()
    with Sandbox() as sandbox:
        for entry in entry_points.SDK:
            counts[_show(run(entry, sandbox) if has_dialect(entry) else None, entry)] += 1
        with tempfile.TemporaryDirectory() as folder, Proxy(sandbox, Path(folder)) as proxy:
            for entry in entry_points.PROXY:
                counts[
                    _show(run_proxied(entry, sandbox, proxy) if has_dialect(entry) else None, entry)
                ] += 1
    print(f"\n{counts[True]} as expected, {counts[False]} not")
    return int(bool(counts[False]))


def _show(outcome: Outcome | None, entry: Entry) -> bool:
    print(
        outcome.line
        if outcome
        else f"{entry.name:44}  skipped: chatmend has no dialect {entry.dialect}",
        flush=True,
    )
    return outcome is None or not outcome.deviations


if __name__ == "__main__":
    sys.exit(main())
