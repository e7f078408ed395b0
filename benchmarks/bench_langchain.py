"""What mending costs in LangChain: the repair of valid messages, a whole ``invoke``, a stream.

The repair stands beside ``json.dumps`` of the messages' ``model_dump``, which any tracer does for each call; the
``invoke`` of a partner class goes to the sandbox over real HTTP.
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


class Silent(BaseChatModel):
    """A model that answers at once, so that what surrounds it can be measured."""

    @property
    def _llm_type(self) -> str:
        return "openai-chat"

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:  # noqa: ARG002
        return ChatResult(generations=[ChatGeneration(message=AIMessage("ok"))])


def history(count: int) -> list[BaseMessage]:
    """A valid conversation of ``count`` messages: four of them are one question with its tool call."""
    messages: list[BaseMessage] = [SystemMessage("You are a careful assistant that answers in short sentences.")]
    for turn in range(count // 4):
        args = {"path": f"src/module_{turn}.py", "lines": [1, 200], "why": "to see what the function returns"}
        call = {"name": "read_file", "args": args, "id": f"call{turn:05d}", "type": "tool_call"}
        messages += [
            HumanMessage(f"Question {turn}: what does this function return, and who calls it? " * 3),
            AIMessage("", tool_calls=[call], response_metadata={"model_name": "gpt-4o", "finish_reason": "tool_calls"}),
            ToolMessage(SOURCE, tool_call_id=call["id"], name="read_file"),
            AIMessage("It returns the sum of both; nobody else calls it. " * 4),
        ]
    return [*messages, HumanMessage("And now?")]


def fastest(works: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """The least process time of each, in microseconds; the rounds are interleaved."""
    best = dict.fromkeys(works, float("inf"))
    for _ in range(ROUNDS):
        for name, work in works.items():
            begin = time.process_time()
            work()
            best[name] = min(best[name], time.process_time() - begin)
    return {name: seconds * 1e6 for name, seconds in best.items()}


def main() -> None:
    """Print the table."""
    from langchain_openai import ChatOpenAI  # noqa: PLC0415 - only for this benchmark

    print("messages  json.dumps  bare invoke  mended invoke  beyond bare  x json.dumps   (us of process time)")
    bare = Silent()
    mended = mend(bare)
    for count in (20, 200, 2000):
        messages = history(count)
        found = fastest(
            {
                "dumps": lambda messages=messages: json.dumps([message.model_dump() for message in messages]),
                "bare": lambda messages=messages: bare.invoke(messages),
                "mended": lambda messages=messages: mended.invoke(messages),
            }
        )
        more = found["mended"] - found["bare"]
        row = (found["dumps"], found["bare"], found["mended"], more)
        print(f"{len(messages):8}", *(f"{value:12.0f}" for value in row), f"{more / found['dumps']:12.2f}")
    with served() as url:
        model = ChatOpenAI(model="gpt-4o", api_key="k", base_url=f"{url}/openai/v1")
        other = mend(model)
        messages = history(20)
        bare_time, more = _clock(lambda: model.invoke(messages), lambda: other.invoke(messages))
        print(f"ChatOpenAI.invoke, {len(messages)} messages: bare {bare_time:.0f} us, mended {more:+.0f} us,", end=" ")
        print(f"{more / bare_time * 100:+.1f} % (medians of {PAIRS} pairs, processor time of the calling thread)")
        for what, said in (("valid", messages), ("broken", messages[:-2] + messages[-1:] + messages[:1])):
            shares = share_of_ours(lambda said=said: other.invoke(said))
            whole, ours = (statistics.median(column) for column in zip(*shares, strict=True))
            print(
                f"processor time of the calling thread, {what}: whole {whole:.0f} us, in our functions {ours:.0f} us,"
            )
            print(f"  {ours / whole * 100:.1f} % (medians of {len(shares)} calls)")
        chunks = [[chunk.text for chunk in one.stream(messages)] for one in (model, other)]
        print(f"chunks of a stream: bare {len(chunks[0])}, mended {len(chunks[1])}, the same: {chunks[0] == chunks[1]}")


def share_of_ours(work: Callable[[], Any]) -> list[tuple[float, float]]:
    """For each of many calls: the processor time of the whole, and that spent in what we put into it, in microseconds.

    What we add is three functions, timed in place. Their time is more than what a call costs more: what they fetch from
    memory need not be fetched again, and LangChain is told the hooks' signatures, which it works out for each call.
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
        patch.object(hooks, "_answered", timed(hooks._answered)),  # noqa: SLF001 - what is measured
        patch.object(model_module, "readable", timed(model_module.readable)),
    ):
        for _ in range(PAIRS):
            spent[0], begin = 0.0, time.thread_time()
            work()
            found.append(((time.thread_time() - begin) * 1e6, spent[0] * 1e6))
    return found


@contextmanager
def served() -> Iterator[str]:
    """The sandbox in a process of its own: in this one it would take turns with what is measured."""
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


def _clock(bare: Callable[[], Any], mended: Callable[[], Any]) -> tuple[float, float]:
    """The median time of the first, and of the difference within each pair, in microseconds.

    Processor time of the calling thread: what the sandbox takes, and who else uses the machine, does not count.
    """
    took: list[float] = []
    more: list[float] = []
    for at in range(PAIRS):
        pair = {}
        for name, work in (("bare", bare), ("mended", mended))[:: 1 if at % 2 else -1]:
            begin = time.thread_time()
            work()
            pair[name] = (time.thread_time() - begin) * 1e6
        took.append(pair["bare"])
        more.append(pair["mended"] - pair["bare"])
    return statistics.median(took), statistics.median(more)


if __name__ == "__main__":
    main()
