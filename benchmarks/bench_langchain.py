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
TARGETS = {
    "openai": "openai/gpt-4o",
    "anthropic": "anthropic/claude-sonnet-4-6",
    "responses": "openai/gpt-5",
}
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
    "responses": {
        "id": "resp_1", "object": "response", "created_at": 1_767_225_600, "model": "m",
        "status": "completed", "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
        "output": [{
            "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [
                {"type": "output_text", "text": "It returns the sum.", "annotations": []},
            ],
        }],
        "usage": {
            "input_tokens": 900, "output_tokens": 12, "total_tokens": 912,
            "input_tokens_details": {"cached_tokens": 512},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
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
        contents = _contents(turn, call)
        maker = "anthropic" if provider == "anthropic" else "openai"
        common: dict[str, Any] = {
            "additional_kwargs": {"refusal": None} if provider == "openai" else {},
            "response_metadata": {
                "token_usage": _ANSWERS["openai"]["usage"], "model_provider": maker,
                "model_name": "m", "system_fingerprint": None, "id": f"chatcmpl-{turn}",
                "finish_reason": "tool_calls", "logprobs": None,
            },
            "usage_metadata": {"input_tokens": 900, "output_tokens": 12, "total_tokens": 912},
        }  # fmt: skip
        asking, answering = contents[provider]
        messages += [
            HumanMessage(f"Question {turn}: what does this function return?", id=f"h-{turn}"),
            AIMessage(asking, tool_calls=[call], id=f"run--{turn}-0", **common),
            ToolMessage(SOURCE, tool_call_id=call["id"], name="read_file", id=f"t-{turn}"),
            AIMessage(answering, id=f"run--{turn}-1", **common),
        ]
    return [*messages, HumanMessage("And now?", id="h-last")]


def _contents(turn: int, call: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return for each provider the content of a message with a call, and of the final answer."""
    text, final = (
        f"I read module {turn} to see what it returns.",
        "It returns the sum of both. " * 4,
    )
    call_id, name = call["id"], call["name"]
    use = {"type": "tool_use", "id": call_id, "name": name, "input": call["args"]}
    reasoning = {"type": "reasoning", "summary": [], "encrypted_content": "gAAAAA" + "x" * 400}
    item = {
        "type": "function_call", "id": f"fc_{turn}", "call_id": call_id, "name": name,
        "arguments": json.dumps(call["args"]), "status": "completed",
    }  # fmt: skip
    return {
        "openai": ("", final),
        "anthropic": ([{"type": "text", "text": text}, {**use, "toolset_name": None}], final),
        "responses": (
            [{**reasoning, "id": f"rs_{turn}a"}, item],
            [
                {**reasoning, "id": f"rs_{turn}b"},
                {"type": "text", "text": final, "annotations": [], "id": f"msg_{turn}"},
            ],
        ),
    }


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

    model = model.bind_tools([read_file])
    wrapped, fine = mend(model), True
    for count in (22, 1000):
        clean = returned(provider, count)
        damaged = broken(clean)
        rows = {
            "clean": (clean, clean),
            "broken": (repair_messages(damaged, target=TARGETS[provider]), damaged),
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
        responses = ChatOpenAI(
            model="gpt-5", api_key="k", base_url=f"{url}/responses", use_responses_api=True
        )  # type: ignore[arg-type,call-arg]
        anthropic = ChatAnthropic(
            model="claude-sonnet-4-6", api_key="k", base_url=f"{url}/anthropic"
        )  # type: ignore[arg-type,call-arg]
        models = {"openai": openai, "anthropic": anthropic, "responses": responses}
        results = [measure(name, model, pairs) for name, model in models.items()]
    finally:
        server.terminate()
        server.wait()
    return int(not all(results) or imported > IMPORT_LIMIT)


if __name__ == "__main__":
    sys.exit(serve() if sys.argv[1:] == ["serve"] else main())
