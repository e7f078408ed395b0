"""What a session costs beside ``json.dumps`` and ``json.loads`` of its messages, and what the disk adds.

The ratios are of processor time, each of two runs one right after the other, and the middle one of many: so they hold
on a busy machine, too. What the disk adds is time on the clock, the best of many runs.
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
from chatmend.sessions.rendering import rendered

if TYPE_CHECKING:
    from collections.abc import Callable

_RUNS = 60


def conversation(messages: int) -> list[dict[str, Any]]:
    """An agent at work: a question, a tool call, its result, an answer in parts; about 460 bytes a message."""
    out: list[dict[str, Any]] = []
    for turn in range(messages // 4):
        arguments = json.dumps({"path": f"src/module_{turn}.py", "query": "x" * 50})
        call = {"id": f"call_{turn}", "type": "function", "function": {"name": "search", "arguments": arguments}}
        out += [
            {"role": "user", "content": "Please look at this once more. " * 13},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call_{turn}", "content": "def found():  # line\n" * 33},
            {"role": "assistant", "content": [{"type": "text", "text": "I have found <b>something</b>. " * 9}]},
        ]
    return out


def compared(work: Callable[[], object], yardstick: Callable[[], object]) -> str:
    """Milliseconds of both, and how many times as much the work costs."""
    pairs = sorted((_spent(work), _spent(yardstick)) for _ in range(_RUNS))
    pairs.sort(key=lambda pair: pair[0] / pair[1])
    least, most = (pairs[at][0] / pairs[at][1] for at in (_RUNS // 10, -_RUNS // 10))
    cost, unit = pairs[_RUNS // 2]
    return f"{cost:6.2f} ms against {unit:5.2f} ms: {cost / unit:4.2f} times ({least:.2f} to {most:.2f})"


def _spent(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return (time.process_time() - start) * 1000


def on_the_clock(work: Callable[[], object]) -> float:
    """The best of many times, in milliseconds."""
    best = float("inf")
    for _ in range(_RUNS):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best * 1000


def main() -> None:
    """Print a table."""
    messages = conversation(1000)
    text = json.dumps(messages)
    now = datetime.now(UTC)
    header = Header(now, now, "main", messages=len(messages))
    data = Document(header, tuple(rendered(messages)[0])).render()
    assert parse(data, "x")[1] == messages
    print(f"{len(messages)} messages, {len(text):,} bytes of JSON, {len(data):,} bytes of Markdown")
    write = compared(lambda: Document(header, tuple(rendered(messages)[0])).render(), lambda: json.dumps(messages))
    print(f"write, json.dumps  {write}")
    print(f"read,  json.loads  {compared(lambda: parse(data, 'x'), lambda: json.loads(text))}")
    with tempfile.TemporaryDirectory() as root:
        for durable in (True, False):
            store = SessionStore(root, durable=durable)
            session = store.start()
            session.record(messages)
            turn = on_the_clock(lambda s=session: s.record(messages))
            load = on_the_clock(lambda s=session, t=store: t.load(s.path))
            print(f"a turn, to the disk {turn:7.2f} ms, from it {load:6.2f} ms   (durable={durable})")


if __name__ == "__main__":
    main()
