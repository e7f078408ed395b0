"""The entry points of LiteLLM: refused without chatmend, accepted with it. Prints one line each.

    python -m tests.litellm_adapter.matrix

``hooks`` says how often the hook that repairs runs for one call; it was written down before anything was run, from the
table of LiteLLM's hooks. ``seen`` says where the report is to be found.
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
from tests.litellm_adapter.heard import Heard
from tests.litellm_adapter.proxy import Proxy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.litellm_adapter.entry_points import Entry

_PATIENCE = 30
"""Seconds to wait for LiteLLM's log record, which is made in the background."""


class Counting(ChatMend):
    """Counts how often the deployment hook runs, and keeps what loggers are shown."""

    def __init__(self) -> None:
        super().__init__(on_error="raise")
        self.hooks = 0
        self.logged: list[dict[str, Any]] = []
        self.heard = Heard()

    async def async_pre_call_deployment_hook(self, kwargs: dict[str, Any], call_type: Any) -> dict[str, Any] | None:
        self.hooks += 1
        return await super().async_pre_call_deployment_hook(kwargs, call_type)

    def log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        self.logged.append(kwargs)
        super().log_success_event(kwargs, response_obj, start_time, end_time)
        self.heard.log_success_event(kwargs, response_obj, start_time, end_time)

    async def async_log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        self.logged.append(kwargs)
        await super().async_log_success_event(kwargs, response_obj, start_time, end_time)
        await self.heard.async_log_success_event(kwargs, response_obj, start_time, end_time)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one entry point."""

    entry: Entry
    without: str
    """``refused`` or ``accepted``, without chatmend."""
    with_us: str
    untouched: bool
    """The caller's objects are as they were."""
    seen: str
    """Where the report was found."""
    usage: str
    """Where a normalised account was found."""
    hooks: int

    @property
    def expected(self) -> str:
        """What is wrong; empty where everything is as it should be."""
        entry, faults = self.entry, []
        if self.hooks != entry.hooks:
            faults.append(f"{self.hooks} hooks, not {entry.hooks}")
        if not self.untouched:
            faults.append("the caller's objects were changed")
        if entry.untouched:
            return ", ".join(faults)
        if self.without != "refused":
            faults.append(f"{self.without} without us")
        if self.with_us != "accepted":
            faults.append(f"{self.with_us} with us")
        if entry.seen not in self.seen.split("+"):
            faults.append(f"report in {self.seen or 'no place'}, not {entry.seen}")
        if entry.usage not in self.usage.split("+"):
            faults.append(f"usage in {self.usage or 'no place'}, not {entry.usage}")
        return ", ".join(faults)

    @property
    def line(self) -> str:
        verdict = self.expected or "ok"
        return (
            f"{self.entry.name:44}{self.without:>16}{self.with_us:>10}{self.hooks:>6}  "
            f"{self.seen:14}{self.usage:29} {verdict}"
        )


def known(entry: Entry) -> bool:
    """Whether the dialect of an entry point is there."""
    return entry.dialect in DIALECTS


def run(entry: Entry, sandbox: Any) -> Outcome:
    """One entry point of the SDK, without chatmend and with it."""
    litellm.logging_callback_manager._reset_all_callbacks()
    litellm.suppress_debug_info = True
    sandbox.clear()
    without, _ = _call(entry, sandbox, copy.deepcopy(entry.messages()))
    sandbox.clear()
    litellm.logging_callback_manager._reset_all_callbacks()
    callback = install(Counting())
    try:
        mine = entry.messages()
        with_us, answer = _call(entry, sandbox, mine)
        if not entry.untouched and with_us == "accepted":
            # A fallback of the synchronous path ends its event loop before LiteLLM has logged.
            callback.heard.wait(patience=_PATIENCE if entry.seen == "logs" or entry.usage == "ledger" else 1)
    finally:
        uninstall()
        litellm.callbacks = []
    untouched = mine == entry.messages()
    logged = callback.logged
    seen = [name for name, there in _places(answer, logged, "changes") if there]
    usage = [name for name, there in _places(answer, logged, "usage") if there]
    if any(row.usage.total_tokens for row in callback.usage.snapshot()):
        usage.append("ledger")
    return Outcome(entry, without, with_us, untouched, "+".join(seen), "+".join(usage), callback.hooks)


def _call(entry: Entry, sandbox: Any, messages: Any) -> tuple[str, Any]:
    if entry.fails:
        sandbox.script([Failure(entry.fails)])
    try:
        answer = entry.call(sandbox, messages)
        if asyncio.iscoroutine(answer):
            answer = asyncio.run(_and_logs(answer))
    except Exception as error:  # noqa: BLE001 - each entry point raises its own kind
        return "refused" if sandbox.refusals else type(error).__name__, None
    return "refused" if sandbox.refusals else "accepted", answer


async def _and_logs(answer: Any) -> Any:
    """The answer, once LiteLLM has handed its log record to the callbacks."""
    found = await answer
    if litellm.callbacks:
        await litellm.callbacks[0].heard.heard(patience=_PATIENCE)
    return found


def _places(answer: Any, logged: list[dict[str, Any]], what: str) -> Iterable[tuple[str, bool]]:
    hidden = getattr(answer, "_hidden_params", None) or {}
    yield "hidden", bool((hidden.get("chatmend") or {}).get(what))
    metadata = [(kwargs.get("litellm_params") or {}).get("metadata") or {} for kwargs in logged]
    yield "logs", any((said.get("chatmend") or {}).get(what) for said in metadata)
    if what == "usage":
        yield "response", any(map(entry_points.holds_account, answer if isinstance(answer, list) else [answer]))


def run_proxied(entry: Entry, sandbox: Any, proxy: Proxy) -> Outcome:
    """One entry point of the proxy, with chatmend switched off and on, and the account written into answers."""
    found = []
    for on in (False, True):
        sandbox.clear()
        proxy.switch(on=on, usage_place="body")
        proxy.hooks()
        answer = proxy.post(entry.path, entry.body())
        found.append(_said(answer, sandbox))
    hooks = proxy.hooks()
    seen = "header" if "x-chatmend-changes" in answer.headers else ""
    usage = "response" if '"chatmend"' in answer.text.replace("\\", "") else ""
    return Outcome(entry, *found, untouched=True, seen=seen, usage=usage, hooks=hooks)


def _said(answer: Any, sandbox: Any) -> str:
    if sandbox.refusals:
        return "refused"
    # An answer of the Responses API says `"error": null`; a stream that fails names an error in an event.
    failed = '"error": {' in answer.text or '"error":{' in answer.text
    return "accepted" if answer.is_success and not failed else str(answer.status_code)


def main() -> int:
    """Run every entry point and print the table."""
    print(f"{'entry point':44}{'without':>16}{'with':>10}{'hooks':>6}  {'report':14}{'usage':29}")
    counts: Counter[bool] = Counter()
    with Sandbox() as sandbox:
        for entry in entry_points.SDK:
            counts[_show(run(entry, sandbox) if known(entry) else None, entry)] += 1
        with tempfile.TemporaryDirectory() as folder, Proxy(sandbox, Path(folder)) as proxy:
            for entry in entry_points.PROXY:
                counts[_show(run_proxied(entry, sandbox, proxy) if known(entry) else None, entry)] += 1
    print(f"\n{counts[True]} as expected, {counts[False]} not")
    return int(bool(counts[False]))


def _show(outcome: Outcome | None, entry: Entry) -> bool:
    print(outcome.line if outcome else f"{entry.name:44}  left out: no dialect {entry.dialect} here", flush=True)
    return outcome is None or not outcome.expected


if __name__ == "__main__":
    sys.exit(main())
