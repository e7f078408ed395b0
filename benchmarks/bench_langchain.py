"""Measures the overhead of ``mend`` in LangChain: repair, ``invoke`` and streams.

The repair of valid messages is compared with ``json.dumps`` of the messages' ``model_dump``,
which any tracer computes for each call. ``ChatOpenAI.invoke`` calls the sandbox over HTTP.
"""

from __future__ import annotations

import json
import socket
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult

import chatmend.langchain.model as model_module
from chatmend.langchain import hooks, mend

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROUNDS = 31
PAIRS = 201
SOURCE = "def function(one, two):\n    return one + two\n" * 12


class InstantModel(BaseChatModel):
    """A model that answers at once, so that only the overhead is measured."""

    @property
    def _llm_type(self) -> str:
        return "openai-chat"

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:  # noqa: ARG002
        return ChatResult(generations=[ChatGeneration(message=AIMessage("ok"))])


def history(count: int) -> list[BaseMessage]:
    """Return a valid conversation of about ``count`` messages.

    A question, a tool call, its result and an answer are four messages.
    """
    messages: list[BaseMessage] = [
        SystemMessage("You are a careful assistant that answers in short sentences.")
    ]
    for turn in range(count // 4):
        args = {
            "path": f"src/module_{turn}.py",
            "lines": [1, 200],
            "why": "to see what the function returns",
        }
        call = {"name": "read_file", "args": args, "id": f"call{turn:05d}", "type": "tool_call"}
        messages += [
            HumanMessage(
                f"Question {turn}: what does this function return, and who calls it? " * 3
            ),
            AIMessage(
                "",
                tool_calls=[call],
                response_metadata={"model_name": "gpt-4o", "finish_reason": "tool_calls"},
            ),
            ToolMessage(SOURCE, tool_call_id=call["id"], name="read_file"),
            AIMessage("It returns the sum of both; nobody else calls it. " * 4),
        ]
    return [*messages, HumanMessage("And now?")]


def least_times(functions: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Return the least CPU time of each function in microseconds; the rounds are interleaved."""
    best = dict.fromkeys(functions, float("inf"))
    for _ in range(ROUNDS):
        for name, work in functions.items():
            begin = time.process_time()
            work()
            best[name] = min(best[name], time.process_time() - begin)
    return {name: seconds * 1e6 for name, seconds in best.items()}


def main() -> None:
    """Print the table."""
    from langchain_openai import ChatOpenAI  # noqa: PLC0415 - only for this benchmark

    print(
        "messages  json.dumps  bare invoke  wrapped invoke  "
        "difference  x json.dumps   (CPU time in us)"
    )
    bare = InstantModel()
    wrapped = mend(bare)
    for count in (20, 200, 2000):
        messages = history(count)
        found = least_times(
            {
                "dumps": lambda messages=messages: json.dumps(
                    [message.model_dump() for message in messages]
                ),
                "bare": lambda messages=messages: bare.invoke(messages),
                "wrapped": lambda messages=messages: wrapped.invoke(messages),
            }
        )
        overhead = found["wrapped"] - found["bare"]
        row = (found["dumps"], found["bare"], found["wrapped"], overhead)
        print(
            f"{len(messages):8}",
            *(f"{value:12.0f}" for value in row),
            f"{overhead / found['dumps']:12.2f}",
        )
    with run_sandbox() as url:
        model = ChatOpenAI(model="gpt-4o", api_key="k", base_url=f"{url}/openai/v1")
        wrapped_model = mend(model)
        messages = history(20)
        bare_time, overhead = _median_times(
            lambda: model.invoke(messages), lambda: wrapped_model.invoke(messages)
        )
        print(
            f"ChatOpenAI.invoke, {len(messages)} messages, CPU time of the calling thread: "
            f"bare {bare_time:.0f} us, wrapped {overhead:+.0f} us,",
            end=" ",
        )
        print(f"{overhead / bare_time * 100:+.1f} % (medians of {PAIRS} pairs)")
        for label, history_sent in (
            ("valid", messages),
            ("broken", messages[:-2] + messages[-1:] + messages[:1]),
        ):
            samples = time_inside_chatmend(
                lambda history_sent=history_sent: wrapped_model.invoke(history_sent)
            )
            whole, inside = (statistics.median(column) for column in zip(*samples, strict=True))
            print(
                f"CPU time of the calling thread, {label} messages: whole call {whole:.0f} us, "
                f"inside chatmend {inside:.0f} us,"
            )
            print(f"  {inside / whole * 100:.1f} % (medians of {len(samples)} calls)")
        chunks = [[chunk.text for chunk in one.stream(messages)] for one in (model, wrapped_model)]
        print(
            f"chunks of a stream: bare {len(chunks[0])}, wrapped {len(chunks[1])}, "
            f"equal: {chunks[0] == chunks[1]}"
        )


def time_inside_chatmend(work: Callable[[], Any]) -> list[tuple[float, float]]:
    """Return the CPU time of each call, and of chatmend's functions in it, in microseconds.

    chatmend adds three functions to a call; they are timed in place. The sum of their times is
    larger than the difference between a wrapped and a bare call, for two reasons: data that they
    load is then in the CPU cache for the rest of the call, and chatmend stores the signature of
    each hook, which LangChain otherwise computes for each call.
    """
    spent = [0.0]

    def timed(function: Callable[..., Any]) -> Callable[..., Any]:
        def timing(*args: Any, **options: Any) -> Any:
            begin = time.thread_time()
            try:
                return function(*args, **options)
            finally:
                spent[0] += time.thread_time() - begin

        return timing

    found: list[tuple[float, float]] = []
    with (
        patch.object(hooks, "prepare", timed(hooks.prepare)),
        patch.object(hooks, "_finish_result", timed(hooks._finish_result)),  # noqa: SLF001
        patch.object(
            model_module, "convert_invalid_blocks", timed(model_module.convert_invalid_blocks)
        ),
    ):
        for _ in range(PAIRS):
            spent[0], begin = 0.0, time.thread_time()
            work()
            found.append(((time.thread_time() - begin) * 1e6, spent[0] * 1e6))
    return found


@contextmanager
def run_sandbox() -> Iterator[str]:
    """Run the sandbox in another process, so that it does not compete with the measured code."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-c", f"from chatmend.sandbox import serve; serve(port={port})"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


def _median_times(bare: Callable[[], Any], wrapped: Callable[[], Any]) -> tuple[float, float]:
    """Return the median time of a bare call and the median difference of a pair, in microseconds.

    Measures CPU time of the calling thread, so the sandbox and other processes do not count.
    """
    bare_times: list[float] = []
    overheads: list[float] = []
    for number in range(PAIRS):
        pair = {}
        for name, work in (("bare", bare), ("wrapped", wrapped))[:: 1 if number % 2 else -1]:
            begin = time.thread_time()
            work()
            pair[name] = (time.thread_time() - begin) * 1e6
        bare_times.append(pair["bare"])
        overheads.append(pair["wrapped"] - pair["bare"])
    return statistics.median(bare_times), statistics.median(overheads)


if __name__ == "__main__":
    main()
