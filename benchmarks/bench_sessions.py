"""Compares sessions with ``json.dumps`` and ``json.loads`` of their messages; measures the disk.

The ratios compare CPU time of two consecutive runs. The table shows the median of many such pairs,
so they are reliable on a busy machine, too. Disk times are wall-clock times, the best of many runs.
"""

from __future__ import annotations

import json
import tempfile
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from chatmend.sessions import SessionStore
from chatmend.sessions.document import Document, parse
from chatmend.sessions.header import Header
from chatmend.sessions.rendering import render_messages

if TYPE_CHECKING:
    from collections.abc import Callable

_RUNS = 60


def conversation(messages: int) -> list[dict[str, Any]]:
    """Return an agent transcript with about 460 bytes per message.

    Each turn is a question, a tool call, its result and an answer as a list of parts.
    """
    out: list[dict[str, Any]] = []
    for turn in range(messages // 4):
        arguments = json.dumps({"path": f"src/module_{turn}.py", "query": "x" * 50})
        call = {
            "id": f"call_{turn}",
            "type": "function",
            "function": {"name": "search", "arguments": arguments},
        }
        out += [
            {"role": "user", "content": "Please look at this once more. " * 13},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {
                "role": "tool",
                "tool_call_id": f"call_{turn}",
                "content": "def found():  # line\n" * 33,
            },
            {
                "role": "assistant",
                "content": [{"type": "text", "text": "I have found <b>something</b>. " * 9}],
            },
        ]
    return out


def compare(work: Callable[[], object], baseline: Callable[[], object]) -> str:
    """Format the median CPU times of both in milliseconds, and their ratio with its spread."""
    pairs = sorted((_cpu_time(work), _cpu_time(baseline)) for _ in range(_RUNS))
    pairs.sort(key=lambda pair: pair[0] / pair[1])
    least, most = (pairs[index][0] / pairs[index][1] for index in (_RUNS // 10, -_RUNS // 10))
    cost, baseline_cost = pairs[_RUNS // 2]
    return (
        f"{cost:6.2f} ms, baseline {baseline_cost:5.2f} ms: "
        f"{cost / baseline_cost:4.2f} x ({least:.2f} to {most:.2f})"
    )


def _cpu_time(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return (time.process_time() - start) * 1000


def wall_time(work: Callable[[], object]) -> float:
    """Return the best wall-clock time of many runs in milliseconds."""
    best = float("inf")
    for _ in range(_RUNS):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best * 1000


def main() -> None:
    """Print the table."""
    messages = conversation(1000)
    text = json.dumps(messages)
    now = datetime.now(UTC)
    header = Header(now, now, "main", messages=len(messages))
    data = Document(header, tuple(render_messages(messages)[0])).render()
    assert parse(data, "x")[1] == messages
    print(f"{len(messages)} messages, {len(text):,} bytes of JSON, {len(data):,} bytes of Markdown")
    write = compare(
        lambda: Document(header, tuple(render_messages(messages)[0])).render(),
        lambda: json.dumps(messages),
    )
    print(f"write, json.dumps  {write}")
    print(f"read,  json.loads  {compare(lambda: parse(data, 'x'), lambda: json.loads(text))}")
    with tempfile.TemporaryDirectory() as root:
        for durable in (True, False):
            store = SessionStore(root, durable=durable)
            session = store.start()
            session.record(messages)
            turn = wall_time(lambda s=session: s.record(messages))
            load = wall_time(lambda s=session, t=store: t.load(s.path))
            print(f"record a turn {turn:7.2f} ms, load it {load:6.2f} ms   (durable={durable})")


if __name__ == "__main__":
    main()
