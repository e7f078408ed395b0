"""What a session costs beside ``json.dumps`` and ``json.loads`` of its messages, and what the disk adds.

Run it on a quiet machine: each figure is the best of many runs, interleaved with the yardstick.
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


def milliseconds(*works: Callable[[], object]) -> list[float]:
    """The best time of each work; they take turns, so that a busy moment hits all of them."""
    best = [float("inf")] * len(works)
    for _ in range(_RUNS):
        for at, work in enumerate(works):
            start = time.perf_counter()
            work()
            best[at] = min(best[at], time.perf_counter() - start)
    return [seconds * 1000 for seconds in best]


def main() -> None:
    """Print a table."""
    messages = conversation(1000)
    text = json.dumps(messages)
    now = datetime.now(UTC)
    header = Header(now, now, "main", messages=len(messages))
    data = Document(header, tuple(rendered(messages)[0])).render()
    assert parse(data, "x")[1] == messages
    dumps, write, loads, read = milliseconds(
        lambda: json.dumps(messages),
        lambda: Document(header, tuple(rendered(messages)[0])).render(),
        lambda: json.loads(text),
        lambda: parse(data, "x"),
    )
    print(f"{len(messages)} messages, {len(text):,} bytes of JSON, {len(data):,} bytes of Markdown")
    print(f"write  {write:7.2f} ms   json.dumps {dumps:6.2f} ms   {write / dumps:4.1f} times")
    print(f"read   {read:7.2f} ms   json.loads {loads:6.2f} ms   {read / loads:4.1f} times")
    with tempfile.TemporaryDirectory() as root:
        for durable in (True, False):
            store = SessionStore(root, durable=durable)
            session = store.start()
            session.record(messages)
            turn, load = milliseconds(lambda s=session: s.record(messages), lambda s=session, t=store: t.load(s.path))
            print(f"a turn, to the disk {turn:7.2f} ms, from it {load:6.2f} ms   (durable={durable})")


if __name__ == "__main__":
    main()
