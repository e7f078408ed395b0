"""Measures what ``chatmend.transport`` adds to a request, in one alternating run.

    python benchmarks/bench_transport.py

The transport below answers at once, so that only the time between the SDK and the network counts.
Clean requests: the original bytes are sent. Broken ones: the repaired body is serialised again.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import httpx

from chatmend.transport import RequestRepair, Transport

if TYPE_CHECKING:
    from collections.abc import Callable

URL = "https://api.openai.com/v1/chat/completions"
TIMES = 300


class Instant(httpx.BaseTransport):
    """Answers every request at once."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:  # noqa: ARG002
        """Return an empty answer."""
        return httpx.Response(200, content=b"{}")


def body(exchanges: int, *, broken: bool) -> bytes:
    """Return a request with tool calls; the first has no result if ``broken``."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Read the files."}]
    for number in range(exchanges):
        function = {"name": "read_file", "arguments": json.dumps({"path": f"{number}.py"})}
        call = {"id": f"call_{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": "I read.", "tool_calls": [call]})
        if number or not broken:
            text = "x = 1\n" * 120
            messages.append({"role": "tool", "tool_call_id": f"call_{number}", "content": text})
    messages.append({"role": "user", "content": "Go on."})
    # SDKs let httpx write the JSON, without spaces.
    body = {"model": "gpt-4o", "messages": messages}
    return json.dumps(body, separators=(",", ":")).encode()


def least(*works: Callable[[], object]) -> list[float]:
    """Return the least CPU time of each function in seconds; the runs alternate."""
    best = [float("inf")] * len(works)
    for _ in range(TIMES):
        for at, work in enumerate(works):
            start = time.process_time()
            work()
            best[at] = min(best[at], time.process_time() - start)
    return best


def main() -> None:
    """Print one line for each size."""
    bare, repairing = (
        httpx.Client(transport=Instant()),
        httpx.Client(transport=Transport(Instant(), RequestRepair())),
    )
    print(f"{'body':<22}{'added':>12}{'json.loads + json.dumps':>26}{'ratio':>8}")
    for exchanges in (8, 80, 800):
        for broken in (False, True):
            content = body(exchanges, broken=broken)

            def send(client: httpx.Client, content: bytes = content) -> None:
                client.post(URL, content=content)

            def parse(content: bytes = content) -> None:
                json.dumps(json.loads(content))

            without, with_repair, parsed = least(
                lambda send=send: send(bare), lambda send=send: send(repairing), parse
            )
            label = f"{len(content) / 1e3:.0f} kB, {'broken' if broken else 'clean'}"
            added = with_repair - without
            print(
                f"{label:<22}{added * 1e6:>9.0f} us{parsed * 1e6:>23.0f} us{added / parsed:>8.2f}"
            )


if __name__ == "__main__":
    main()
