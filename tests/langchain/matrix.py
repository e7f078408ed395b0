"""The matrix: run every check on every model, wrapped with a broken history, bare with a valid one.

    python -m tests.langchain.matrix [MODEL]

A check returns what a caller relies on: texts, types, counts, names of events. The bare and the
wrapped model must return the same, or fail in the same way. The exit status is 1 if they differ.
The valid history is the one that the wrapped model sends; the provider must accept it.
"""

from __future__ import annotations

import copy
import logging
import pickle
import sys
import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any

from langchain_core.caches import InMemoryCache
from langchain_core.callbacks import BaseCallbackHandler, get_usage_metadata_callback
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.rate_limiters import InMemoryRateLimiter
from langchain_core.runnables import ConfigurableField, RunnableLambda
from langchain_core.tools import tool
from langchain_core.tracers.run_collector import RunCollectorCallbackHandler
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

from chatmend.langchain import mend
from chatmend.langchain.hooks import prepare
from chatmend.sandbox import Sandbox
from tests.langchain.classes import DESTINATIONS
from tests.langchain.damage import DAMAGE, NEXT, Q
from tests.langchain.loop import run

if TYPE_CHECKING:
    from collections.abc import Callable

BROKEN = DAMAGE["one of two calls unanswered"]
BROKEN_TEXT = [Q, AIMessage(""), NEXT]
"""For providers that accept calls only in a request with tools, with reasoning or without thinking."""


@tool
def look(at: str) -> str:
    """Look at a place."""
    return f"18 degrees in {at}"


class Weather(BaseModel):
    """The weather."""

    degrees: int


_LOOK = {"name": "look", "input_schema": look.get_input_jsonschema()}
_EXTRA_PARAMS = {"langchain_anthropic.ChatAnthropic": {"model_kwargs": {"tools": [_LOOK]}}}
"""Options of classes that can declare tools for every request."""


class EventRecorder(BaseCallbackHandler):
    """Records the names of the events that callbacks receive."""

    def __init__(self) -> None:
        self.recorded: list[str] = []

    def on_chat_model_start(self, *_: Any, **__: Any) -> None:
        self.recorded.append("start")

    def on_llm_new_token(self, *_: Any, **__: Any) -> None:
        self.recorded.append("token")

    def on_llm_end(self, *_: Any, **__: Any) -> None:
        self.recorded.append("end")


def callback_events(model: Any, history: Any) -> Any:
    handler = EventRecorder()
    model.with_config(callbacks=[handler]).invoke(history)
    list(model.stream(history, config={"callbacks": [handler]}))
    return handler.recorded


def traced_run(model: Any, history: Any) -> Any:
    collector = RunCollectorCallbackHandler()
    model.invoke(history, config={"callbacks": [collector], "tags": ["t"], "metadata": {"m": 1}})
    (one,) = collector.traced_runs
    return (
        one.name,
        one.run_type,
        one.tags,
        {k: v for k, v in one.extra["metadata"].items() if k != "lc_versions"},
    )


def usage_is_counted_once(model: Any, history: Any) -> Any:
    with get_usage_metadata_callback() as counts:
        answer = model.invoke(history)
    return counts.usage_metadata == {answer.response_metadata["model_name"]: answer.usage_metadata}


def cached(model: Any, history: Any) -> Any:
    cache = InMemoryCache()
    one = model.model_copy(update={"cache": cache})
    return one.invoke(history).text, one.invoke(history).text, len(cache._cache)


def limited(model: Any, history: Any) -> Any:
    limiter, acquired = InMemoryRateLimiter(requests_per_second=1000), []
    limiter.acquire = lambda **_: acquired.append(1) or True  # type: ignore[method-assign,func-returns-value]
    model.model_copy(update={"rate_limiter": limiter}).invoke(history)
    return len(acquired)


def in_agent(model: Any, history: Any) -> Any:
    from langchain.agents import create_agent  # noqa: PLC0415 - an ImportError fails this check

    agent = create_agent(model, [look], checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}}
    agent.update_state(config, {"messages": [copy.deepcopy(message) for message in history]})
    out = agent.invoke({"messages": [("user", "hello")]}, config)
    return out["messages"][-1].text, len(out["messages"]) - len(history)


def in_streaming_agent(model: Any, history: Any) -> Any:
    from langchain.agents import create_agent  # noqa: PLC0415 - as above

    given: Any = {"messages": [copy.deepcopy(message) for message in history]}
    return [
        message.text
        for message, _ in create_agent(model, [look]).stream(given, stream_mode="messages")
    ]


def in_deep_agent(model: Any, history: Any) -> Any:
    from deepagents import create_deep_agent  # noqa: PLC0415 - as above

    given: Any = {"messages": [copy.deepcopy(message) for message in history]}
    return bool(create_deep_agent(model=model, tools=[look]).invoke(given)["messages"][-1].text)


async def events(model: Any, history: Any) -> Any:
    return [event["event"] async for event in model.astream_events(history, version="v2")]


async def streamed(model: Any, history: Any) -> Any:
    return [chunk.text async for chunk in model.astream(history)]


async def batched(model: Any, history: Any) -> Any:
    return [answer.text for answer in await model.abatch([history, history])]


async def answered(model: Any, history: Any) -> Any:
    return (await model.ainvoke(history)).text


async def generated(model: Any, history: Any) -> Any:
    return [[one.text for one in row] for row in (await model.agenerate([history])).generations]


async def astream_v3(model: Any, history: Any) -> Any:
    stream = await model.astream_events(history, version="v3")
    return await stream.text


def stream_v3(model: Any, history: Any) -> Any:
    stream = model.stream_events(history, version="v3")
    return "".join(stream.text), type(stream).__name__, bool(stream.output.usage_metadata)


def stream_chunks(model: Any, history: Any) -> Any:
    return [(chunk.text, type(chunk).__name__) for chunk in model.stream(history)]


def summed_stream(model: Any, history: Any) -> Any:
    whole: Any = None
    for chunk in model.stream(history):
        whole = chunk if whole is None else whole + chunk
    used = whole.usage_metadata or {}
    return (
        whole.text,
        whole.response_metadata.get("model_name"),
        used.get("input_tokens"),
        used.get("output_tokens"),
    )


def bound_stream(model: Any, history: Any) -> Any:
    return "".join(chunk.text for chunk in model.bind_tools([look]).stream(history))


def configured(model: Any, history: Any) -> Any:
    field = ConfigurableField(id="t")
    made = model.configurable_fields(temperature=field)
    return made.invoke(history, config={"configurable": {"t": 0.3}}).text


def alternatives(model: Any, history: Any) -> Any:
    made = model.configurable_alternatives(ConfigurableField(id="which"), other=model)
    return made.invoke(history, config={"configurable": {"which": "other"}}).text


def chained(model: Any, history: Any) -> Any:
    return (
        ChatPromptTemplate.from_messages([("placeholder", "{history}")]) | model | StrOutputParser()
    ).invoke({"history": history})


def pickled(model: Any, history: Any) -> Any:
    return pickle.loads(pickle.dumps(model)).invoke(history).text  # noqa: S301 - our own bytes


def counted_tokens(model: Any, history: Any) -> Any:
    return model.get_num_tokens_from_messages(history) > 0


def typed(model: Any, _: Any) -> Any:
    return [cls.__name__ for cls in type(model).__mro__ if "Mended" not in cls.__name__][
        1:
    ] and type(model).__name__


CHECKS: dict[str, Callable[[Any, Any], Any]] = {
    "invoke": lambda model, history: model.invoke(history).text,
    "invoke of a prompt value": chained,
    "invoke with stop": lambda model, history: model.invoke(history, config={"run_name": "n"}).text,
    "stream": stream_chunks,
    "stream, summed": summed_stream,
    "batch": lambda model, history: [answer.text for answer in model.batch([history, history])],
    "batch as completed": lambda model, history: sorted(
        at for at, _ in model.batch_as_completed([history, history])
    ),
    "generate": lambda model, history: [
        [one.text for one in row] for row in model.generate([history]).generations
    ],
    "ainvoke": lambda model, history: run(answered(model, history)),
    "astream": lambda model, history: run(streamed(model, history)),
    "abatch": lambda model, history: run(batched(model, history)),
    "agenerate": lambda model, history: run(generated(model, history)),
    "astream_events v2": lambda model, history: run(events(model, history)),
    "stream_events v3": stream_v3,
    "astream_events v3": lambda model, history: run(astream_v3(model, history)),
    "count tokens": counted_tokens,
    "bind_tools": lambda model, history: model.bind_tools([look]).invoke(history).text,
    "bind_tools, streamed": bound_stream,
    "bind_tools, a choice": lambda model, history: bool(
        model.bind_tools([look], tool_choice="look").invoke(history).tool_calls
    ),
    "structured output": lambda model, history: (
        type(model.with_structured_output(Weather).invoke(history)).__name__
    ),
    "structured output, raw": lambda model, history: sorted(
        model.with_structured_output(Weather, include_raw=True).invoke(history)
    ),
    "bind": lambda model, history: model.bind().invoke(history).text,
    "with_config": lambda model, history: model.with_config(tags=["t"]).invoke(history).text,
    "with_retry": lambda model, history: (
        model.with_retry(stop_after_attempt=1).invoke(history).text
    ),
    "with_fallbacks": lambda model, history: (
        model.with_fallbacks([model]).bind_tools([look]).invoke(history).text
    ),
    "configurable_fields": configured,
    "configurable_alternatives": alternatives,
    "in a chain": lambda model, history: (
        (RunnableLambda(lambda given: given) | model).invoke(history).text
    ),
    "model_copy": lambda model, history: (
        model.model_copy(update={"temperature": 0.1}).invoke(history).text
    ),
    "copy": lambda model, history: copy.copy(model).invoke(history).text,
    "deepcopy": lambda model, history: copy.deepcopy(model).invoke(history).text,
    "pickle": pickled,
    "callbacks": callback_events,
    "trace": traced_run,
    "usage callback": usage_is_counted_once,
    "cache": cached,
    "rate limiter": limited,
    "dumpd": lambda model, _: str(dumpd(model)),
    "repr": lambda model, _: repr(model),
    "asdict": lambda model, _: str(model.asdict()),
    "class": typed,
    "_llm_type": lambda model, _: model._llm_type,
    "ls params": lambda model, _: model._get_ls_params(),
    "profile": lambda model, _: model.profile,
    "schemas": lambda model, _: (
        str(model.get_input_jsonschema())[:200],
        str(model.get_output_jsonschema())[:200],
    ),
    "agent": in_agent,
    "agent, streamed": in_streaming_agent,
    "deep agent": in_deep_agent,
}


def outcome(check: Callable[[Any, Any], Any], model: Any, history: Any) -> tuple[bool, Any]:
    """Return whether a check succeeded, and its result or the name of its exception."""
    try:
        return True, check(model, [copy.copy(message) for message in history])
    except Exception as error:  # noqa: BLE001 - a failure is an outcome
        return False, type(error).__name__


def histories(model: Any) -> tuple[list[Any], list[Any]]:
    """Return the history that the wrapped model sends, and the broken one that it gets.

    Both models can send the first one: it needs no parameter that chatmend changes.
    """
    for broken in (BROKEN, BROKEN_TEXT):
        call = prepare(mend(model, on_error="raise"), broken, {})
        valid = list(call.messages)
        if "tools" not in call.options and outcome(CHECKS["invoke"], model, valid)[0]:
            return valid, list(broken)
    raise AssertionError(f"the provider refuses {valid}")


CORRECTED = frozenset({"vertex 3: stream, summed"})
"""Checks that see a corrected usage: ChatVertexAI does not count thinking as output."""


def verdict(check: Callable[[Any, Any], Any], model: Any, name: str) -> str:
    """Return whether the bare and the wrapped model are the same in a check.

    ``fails``: both fail in the same way. ``repaired``: only the bare model fails, because the check
    itself sends something that the provider refuses (an empty system prompt, in a deep agent).
    ``corrected``: they differ as in ``CORRECTED``.
    """
    valid, broken = histories(model)
    bare = outcome(check, model, valid)
    wrapped = outcome(check, mend(model, on_error="raise"), broken)
    if bare == wrapped:
        return "same" if bare[0] else "fails"
    if name in CORRECTED:
        return "corrected"
    print("   ", name, bare, wrapped, file=sys.stderr)
    return "different" if bare[0] or not wrapped[0] else "repaired"


def main() -> int:
    """Print the table; return 1 if the bare and the wrapped model differ in any check."""
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    total: Counter[str] = Counter()
    with Sandbox() as sandbox:
        for name, partner in DESTINATIONS.items():
            if only not in name:
                continue
            model = partner.model(sandbox, **_EXTRA_PARAMS.get(partner.path, {}))
            found = {
                what: verdict(check, model, f"{name}: {what}") for what, check in CHECKS.items()
            }
            counts = Counter(found.values())
            total += counts
            others = [f"{what} {one}" for what, one in found.items() if one != "same"]
            print(f"{name:18}{counts['same']:3} same; {', '.join(others)}", flush=True)
    print(
        f"{len(CHECKS)} checks, {total.total()} pairs: {total['same']} same, "
        f"{total['fails']} fail in the same way, {total['repaired']} fail only without chatmend, "
        f"{total['corrected']} have a corrected usage, {total['different']} different"
    )
    return min(total["different"], 1)


if __name__ == "__main__":
    sys.exit(main())
