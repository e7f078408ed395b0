"""Measures what ``mend`` adds to ``invoke``, in percent of the call of the bare model.

    python benchmarks/bench_langchain.py

Real partner classes send to an HTTP server in another process. The messages have what partner
packages return: ids, ``response_metadata``, ``refusal``, content blocks. Bare and wrapped calls
alternate; the CPU time of this process counts. A broken history is compared with the history that
the repair sends, which the bare model sends.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from langchain_core.messages import BaseMessage

LIMITS = {"clean": 3.0, "broken": 10.0}
"""The percentages that the project promises."""
IMPORT_LIMIT = 150.0
WARM_UP = 3
"""The first pairs fill caches; they do not count."""
SOURCE = "def function(one, two):\n    return one + two\n" * 12
_ANSWERS: dict[str, Any] = {
    "openai": {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1_767_225_600, "model": "m",
        "choices": [{
            "index": 0, "finish_reason": "stop",
            "message": {"role": "assistant", "content": "It returns the sum.", "refusal": None},
        }],
        "usage": {
            "prompt_tokens": 900, "completion_tokens": 12, "total_tokens": 912,
            "prompt_tokens_details": {"cached_tokens": 512, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
        },
    },
    "anthropic": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-6",
        "content": [{"type": "text", "text": "It returns the sum."}], "stop_reason": "end_turn",
        "stop_sequence": None, "usage": {"input_tokens": 900, "output_tokens": 12},
    },
}  # fmt: skip


def returned(provider: str, count: int) -> list[BaseMessage]:
    """Return a clean conversation of ``count`` messages as a partner package returns them."""
    from langchain_core.messages import (  # noqa: PLC0415 - the import is measured, too
        AIMessage,
        HumanMessage,
        SystemMessage,
        ToolMessage,
    )

    messages: list[BaseMessage] = [SystemMessage("You are a careful assistant.")]
    for turn in range((count - 2) // 4):
        call: Any = {
            "name": "read_file", "args": {"path": f"src/module_{turn}.py", "lines": [1, 200]},
            "id": f"call_{turn:020d}", "type": "tool_call",
        }  # fmt: skip
        text = f"I read module {turn} to see what the function returns."
        blocks: Any = [
            {"type": "text", "text": text},
            {
                "type": "tool_use",
                "id": call["id"],
                "name": call["name"],
                "input": call["args"],
                "toolset_name": None,
            },
        ]
        common: dict[str, Any] = {
            "additional_kwargs": {"refusal": None} if provider == "openai" else {},
            "response_metadata": {
                "token_usage": _ANSWERS["openai"]["usage"], "model_provider": provider,
                "model_name": "m", "system_fingerprint": None, "id": f"chatcmpl-{turn}",
                "finish_reason": "tool_calls", "logprobs": None,
            },
            "usage_metadata": {"input_tokens": 900, "output_tokens": 12, "total_tokens": 912},
        }  # fmt: skip
        content = "" if provider == "openai" else blocks
        messages += [
            HumanMessage(f"Question {turn}: what does this function return?", id=f"h-{turn}"),
            AIMessage(content, tool_calls=[call], id=f"run--{turn}-0", **common),
            ToolMessage(SOURCE, tool_call_id=call["id"], name="read_file", id=f"t-{turn}"),
            AIMessage("It returns the sum of both. " * 4, id=f"run--{turn}-1", **common),
        ]
    return [*messages, HumanMessage("And now?", id="h-last")]


def broken(messages: list[BaseMessage]) -> list[BaseMessage]:
    """Return a conversation in which the user wrote instead of the last tool's result."""
    return [*messages[:-3], *messages[-1:]]


def read_file(path: str, lines: list[int]) -> str:
    """Read some lines of a file."""
    return f"{path} {lines}"


def serve() -> None:
    """Answer every request of the wire formats above; print the port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Log nothing."""

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            body = json.dumps(_ANSWERS[self.path.split("/")[1]]).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


def alternate(
    bare: Callable[[], Any], wrapped: Callable[[], Any], pairs: int
) -> tuple[float, float]:
    """Return the median CPU time of a bare call in ms, and the median difference of a pair."""
    times: list[tuple[float, float]] = []
    for number in range(pairs + WARM_UP):
        pair = [0.0, 0.0]
        for which, work in ((0, bare), (1, wrapped))[:: 1 if number % 2 else -1]:
            begin = time.process_time()
            work()
            pair[which] = time.process_time() - begin
        if number >= WARM_UP:
            times.append((pair[0] * 1000, pair[1] * 1000))
    return statistics.median(one for one, _ in times), statistics.median(b - a for a, b in times)


def measure(provider: str, model: Any, pairs: int) -> bool:
    """Print the rows of a provider; return whether they are within the limits."""
    from chatmend.langchain import mend, repair_messages  # noqa: PLC0415 - see `returned`

    target = {"openai": "openai/gpt-4o", "anthropic": "anthropic/claude-sonnet-4-6"}[provider]
    model = model.bind_tools([read_file])
    wrapped, fine = mend(model), True
    for count in (22, 1000):
        clean = returned(provider, count)
        damaged = broken(clean)
        rows = {
            "clean": (clean, clean),
            "broken": (repair_messages(damaged, target=target), damaged),
        }
        for name, (given, sent) in rows.items():
            bare, more = alternate(
                lambda given=given: model.invoke(given),  # type: ignore[misc]
                lambda sent=sent: wrapped.invoke(sent),  # type: ignore[misc]
                pairs if count < 100 else pairs // 4,
            )
            percent = more / bare * 100
            fine = fine and percent <= LIMITS[name]
            print(
                f"{provider:10} {len(given):8} {name:7} {bare:8.2f} ms {more * 1000:+8.0f} us "
                f"{percent:+6.1f} %   limit {LIMITS[name]:.0f} %"
            )
    return fine


def import_time() -> float:
    """Return the CPU time of importing the adapter after langchain_core, in milliseconds."""
    code = (
        "import time\nfrom langchain_core.language_models import BaseChatModel\n"
        "from langchain_core.runnables import RunnableLambda, RunnableWithFallbacks\n"
        "begin = time.process_time()\nimport chatmend.langchain\n"
        "print((time.process_time() - begin) * 1000)"
    )
    command = [sys.executable, "-c", code]
    return min(float(subprocess.check_output(command)) for _ in range(7))


def main() -> int:
    """Print the table; return 1 if a value is beyond its limit."""
    imported = import_time()
    print(f"import after langchain_core: {imported:.0f} ms CPU   limit {IMPORT_LIMIT:.0f} ms")
    from langchain_anthropic import ChatAnthropic  # noqa: PLC0415 - see `returned`
    from langchain_openai import ChatOpenAI  # noqa: PLC0415 - see `returned`

    pairs = int(os.environ.get("PAIRS", "200"))
    server = subprocess.Popen([sys.executable, __file__, "serve"], stdout=subprocess.PIPE)
    try:
        port = int((server.stdout or sys.stdin).readline())
        url = f"http://127.0.0.1:{port}"
        print("provider   messages history     bare      mend adds")
        openai = ChatOpenAI(model="gpt-4o", api_key="k", base_url=f"{url}/openai")  # type: ignore[arg-type]
        anthropic = ChatAnthropic(
            model="claude-sonnet-4-6", api_key="k", base_url=f"{url}/anthropic"
        )  # type: ignore[arg-type,call-arg]
        results = [measure("openai", openai, pairs), measure("anthropic", anthropic, pairs)]
    finally:
        server.terminate()
        server.wait()
    return int(not all(results) or imported > IMPORT_LIMIT)


if __name__ == "__main__":
    sys.exit(serve() if sys.argv[1:] == ["serve"] else main())
