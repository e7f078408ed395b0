"""The entry points of LiteLLM that the matrix tests, and the expected outcome of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import litellm
from langchain_litellm import ChatLiteLLM

from chatmend.litellm.usage_records import usage_in
from chatmend.sandbox import Reply
from tests.litellm_adapter import transcripts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

BASES = {
    "openai/gpt-4o": "openai/v1",
    "openai/responses/gpt-4o": "openai/v1",
    "anthropic/claude-sonnet-4-5": "anthropic",
    "gemini/gemini-2.5-flash": "gemini/v1beta",
    "mistral/mistral-large-latest": "mistral/v1",
}
OPENAI, OPENAI_RESPONSES, ANTHROPIC, GEMINI, MISTRAL = BASES


@dataclass(frozen=True, slots=True)
class Entry:
    """One way to call LiteLLM."""

    name: str
    call: Callable[[Any, Any], Any] = lambda *_: None
    hooks: int = 0
    """How often the repairing hook runs; 0 for synchronous calls, which the wrapper repairs."""
    dialect: str = "openai_chat"
    seen: str = "hidden"
    usage: str = "response"
    fails: int = 0
    """The sandbox answers the first request with this status."""
    untouched: bool = False
    """Whether chatmend must leave the request unchanged."""
    path: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)
    """Further keys of the body that is sent to the proxy."""
    defect: str = ""
    """The function that makes the transcript, where the provider accepts the usual one."""

    def messages(self) -> list[Any]:
        """Return a new transcript with a defect, in the dialect of the entry point."""
        made: list[Any] = getattr(transcripts, self.defect or _MADE[self.dialect])()
        return made

    def body(self) -> dict[str, Any]:
        """Return the body that is sent to the proxy."""
        return {_FIELD[self.dialect]: self.messages(), **self.more}


_MADE = {
    "openai_chat": "chat",
    "anthropic_messages": "messages",
    "openai_responses": "responses",
    "gemini_contents": "contents",
    "bedrock_converse": "converse",
}
_FIELD = {
    "openai_chat": "messages",
    "anthropic_messages": "messages",
    "openai_responses": "input",
    "gemini_contents": "contents",
    "bedrock_converse": "messages",
}


def has_usage_record(answer: Any) -> bool:
    """Return whether a response or LangChain message carries chatmend's usage record."""
    usage = usage_in(answer)
    record = usage.get("chatmend") if isinstance(usage, dict) else getattr(usage, "chatmend", None)
    return bool(record and record["total_tokens"])


def _at(sandbox: Any, model: str) -> dict[str, Any]:
    return {
        "model": model,
        "api_key": "any",
        "api_base": sandbox.url(BASES[model]),
        "max_retries": 0,
    }


def _chat(sandbox: Any, model: str, messages: Any, **more: Any) -> dict[str, Any]:
    return {**_at(sandbox, model), "messages": messages, "tools": transcripts.CHAT_TOOLS, **more}


_STREAM: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}


def _completion(model: str, **more: Any) -> Callable[[Any, Any], Any]:
    return lambda sandbox, messages: litellm.completion(**_chat(sandbox, model, messages, **more))


def _acompletion(model: str, **more: Any) -> Callable[[Any, Any], Any]:
    return lambda sandbox, messages: litellm.acompletion(**_chat(sandbox, model, messages, **more))


def _streamed(model: str) -> Callable[[Any, Any], Any]:
    def call(sandbox: Any, messages: Any) -> Any:
        stream = litellm.completion(**_chat(sandbox, model, messages, **_STREAM))
        return _ReadStream(stream, list(stream))

    return call


def _astreamed(model: str) -> Callable[[Any, Any], Any]:
    async def call(sandbox: Any, messages: Any) -> Any:
        stream = await litellm.acompletion(**_chat(sandbox, model, messages, **_STREAM))
        return _ReadStream(stream, [chunk async for chunk in stream])

    return call


class _ReadStream:
    """The hidden parameters of a stream that was read, and the last usage in its chunks."""

    def __init__(self, stream: Any, chunks: list[Any]) -> None:
        self._hidden_params = stream._hidden_params
        found = [usage for chunk in chunks if (usage := getattr(chunk, "usage", None)) is not None]
        self.usage = found[-1] if found else None


def _router(sandbox: Any, **settings: Any) -> litellm.Router:
    dead = {"model": OPENAI, "api_key": "any", "api_base": sandbox.url("nothing"), "max_retries": 0}
    deployments = {"a": _at(sandbox, OPENAI), "b": _at(sandbox, ANTHROPIC), "down": dead}
    models = [
        {"model_name": name, "litellm_params": params} for name, params in deployments.items()
    ]
    return litellm.Router(models, **{"num_retries": 0, "disable_cooldowns": True, **settings})


_FALLS_BACK = {"fallbacks": [{"down": ["b"]}]}


def _routed(
    name: str, settings: dict[str, Any] | None = None, **more: Any
) -> Callable[[Any, Any], Any]:
    return lambda sandbox, messages: _router(sandbox, **(settings or {})).completion(
        model=name, messages=messages, tools=transcripts.CHAT_TOOLS, **more
    )


def _arouted(
    name: str, settings: dict[str, Any] | None = None, **more: Any
) -> Callable[[Any, Any], Any]:
    return lambda sandbox, messages: _router(sandbox, **(settings or {})).acompletion(
        model=name, messages=messages, tools=transcripts.CHAT_TOOLS, **more
    )


def _arouted_stream(sandbox: Any, messages: Any) -> Any:
    async def call() -> Any:
        stream = await _router(sandbox).acompletion(
            "b", messages, tools=transcripts.CHAT_TOOLS, **_STREAM
        )
        return _ReadStream(stream, [chunk async for chunk in stream])

    return call()


def _with_fallbacks(sandbox: Any) -> dict[str, Any]:
    dead = {"model": OPENAI, "api_key": "any", "api_base": sandbox.url("nothing"), "max_retries": 0}
    return {"fallbacks": [_at(sandbox, ANTHROPIC)], "tools": transcripts.CHAT_TOOLS, **dead}


def _responses(name: str, model: str) -> Callable[[Any, Any], Any]:
    # The function is looked up when it is called: install() does not wrap names bound earlier.
    return lambda sandbox, items: getattr(litellm, name)(
        **_at(sandbox, model), input=items, tools=transcripts.RESPONSES_TOOLS
    )


async def _with_previous_response(sandbox: Any, items: Any) -> Any:
    """Make two calls; the second continues the first, which the provider stores.

    The input of the second call begins with the result of a tool call in the first answer.
    """
    given = {**_at(sandbox, OPENAI), "tools": transcripts.RESPONSES_TOOLS}
    sandbox.script([Reply(calls=(("get_weather", {"city": "Rome"}),))])
    first = await litellm.aresponses(input="The weather in Rome?", **given)
    (called,) = [item for item in first.output if item.type == "function_call"]
    result = {"type": "function_call_output", "call_id": called.call_id, "output": "18 degrees"}
    answer = await litellm.aresponses(
        input=[result, *items], previous_response_id=first.id, **given
    )
    assert sandbox.requests[-1].body["input"][0] == result
    return answer


async def _responses_streamed(sandbox: Any, items: Any) -> Any:
    stream = await litellm.aresponses(
        **_at(sandbox, OPENAI), input=items, tools=transcripts.RESPONSES_TOOLS, stream=True
    )
    return [event async for event in stream][-1]


def _anthropic_messages(model: str) -> Callable[[Any, Any], Any]:
    return lambda sandbox, messages: litellm.anthropic_messages(
        **_at(sandbox, model), messages=messages, max_tokens=64, tools=transcripts.MESSAGES_TOOLS
    )


def _generate(sandbox: Any, contents: Any) -> Any:
    return litellm.google_genai.agenerate_content(**_at(sandbox, GEMINI), contents=contents)


async def _generate_stream(sandbox: Any, contents: Any) -> Any:
    stream = await litellm.google_genai.agenerate_content_stream(
        **_at(sandbox, GEMINI), contents=contents
    )
    return [chunk async for chunk in stream][-1]


def _text(sandbox: Any, _messages: Any) -> Any:
    return litellm.text_completion(
        model="text-completion-openai/gpt-3.5-turbo-instruct",
        prompt="Once",
        api_key="any",
        api_base=sandbox.url("openai/v1"),
        max_retries=0,
    )


def _atext(sandbox: Any, _messages: Any) -> Any:
    return litellm.atext_completion(
        model="text-completion-openai/gpt-3.5-turbo-instruct",
        prompt="Once",
        api_key="any",
        api_base=sandbox.url("openai/v1"),
        max_retries=0,
    )


def _batch(sandbox: Any, messages: Any) -> Any:
    given = _chat(sandbox, OPENAI, [messages, messages])
    answers = litellm.batch_completion(**given)
    for answer in answers:
        if isinstance(answer, Exception):
            raise answer
    return answers[0]


def _abatch(sandbox: Any, messages: Any) -> Any:
    async def call() -> Any:
        answers = await _router(sandbox).abatch_completion(
            ["a", "b"], messages, tools=transcripts.CHAT_TOOLS
        )
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return answers[0]

    return call()


def _langchain(sandbox: Any) -> ChatLiteLLM:
    return ChatLiteLLM(
        model=ANTHROPIC,
        api_key="any",
        api_base=sandbox.url("anthropic"),
        max_retries=0,
        streaming=False,
    )


def _to_langchain(messages: Any) -> Any:
    from langchain_core.messages import convert_to_messages

    return convert_to_messages(
        [{**message, "content": message["content"] or ""} for message in messages]
    )


def _invoke(sandbox: Any, messages: Any) -> Any:
    return _langchain(sandbox).invoke(_to_langchain(messages), tools=transcripts.CHAT_TOOLS)


def _ainvoke(sandbox: Any, messages: Any) -> Any:
    return _langchain(sandbox).ainvoke(_to_langchain(messages), tools=transcripts.CHAT_TOOLS)


def _lc_stream(sandbox: Any, messages: Any) -> Any:
    return list(_langchain(sandbox).stream(_to_langchain(messages), tools=transcripts.CHAT_TOOLS))[
        -1
    ]


def _lc_astream(sandbox: Any, messages: Any) -> Any:
    async def call() -> Any:
        model = _langchain(sandbox)
        return [
            chunk
            async for chunk in model.astream(_to_langchain(messages), tools=transcripts.CHAT_TOOLS)
        ][-1]

    return call()


_BEGUN = "chat_begun_by_a_call"
SDK: tuple[Entry, ...] = (
    Entry("completion, openai", _completion(OPENAI)),
    Entry("completion, anthropic", _completion(ANTHROPIC)),
    Entry("completion, gemini", _completion(GEMINI), defect=_BEGUN),
    Entry("completion, stream", _streamed(ANTHROPIC)),
    Entry("acompletion, openai", _acompletion(OPENAI), 1),
    Entry("acompletion, anthropic", _acompletion(ANTHROPIC), 1),
    Entry("acompletion, gemini", _acompletion(GEMINI), 1, defect=_BEGUN),
    Entry("acompletion, mistral", _acompletion(MISTRAL), 1),
    Entry("acompletion, stream", _astreamed(OPENAI), 1),
    Entry(
        "acompletion, num_retries", _acompletion(OPENAI, num_retries=2, max_retries=2), 1, fails=500
    ),
    Entry("acompletion, openai/responses", _acompletion(OPENAI_RESPONSES), 2),
    Entry(
        "acompletion, fallbacks=",
        lambda sandbox, messages: litellm.acompletion(
            messages=messages, **_with_fallbacks(sandbox)
        ),
        3,
    ),
    Entry(
        "completion, fallbacks=",
        lambda sandbox, messages: litellm.completion(messages=messages, **_with_fallbacks(sandbox)),
        2,
    ),
    Entry("Router.completion", _routed("a")),
    Entry("Router.completion, fallback", _routed("down", _FALLS_BACK)),
    Entry("Router.acompletion", _arouted("b"), 1),
    Entry("Router.acompletion, stream", _arouted_stream, 1),
    Entry("Router.acompletion, fallback", _arouted("down", _FALLS_BACK), 2),
    Entry(
        "Router.acompletion, retry",
        _arouted("a", {"num_retries": 1, "retry_after": 0}),
        2,
        fails=500,
    ),
    Entry("batch_completion", _batch),
    Entry("Router.abatch_completion", _abatch, 2, seen="logs", usage="ledger"),
    Entry("aresponses, openai", _responses("aresponses", OPENAI), 1, "openai_responses"),
    Entry(
        "aresponses, stream",
        _responses_streamed,
        1,
        "openai_responses",
        seen="logs",
        usage="ledger",
    ),
    Entry(
        "aresponses, previous_response_id",
        _with_previous_response,
        2,
        "openai_responses",
        defect="responses_unanswered",
    ),
    Entry("aresponses, anthropic", _responses("aresponses", ANTHROPIC), 2, "openai_responses"),
    Entry("responses, openai", _responses("responses", OPENAI), 1, "openai_responses"),
    Entry("responses, anthropic", _responses("responses", ANTHROPIC), 0, "openai_responses"),
    Entry(
        "anthropic_messages, anthropic",
        _anthropic_messages(ANTHROPIC),
        1,
        "anthropic_messages",
        seen="logs",
    ),
    Entry(
        "anthropic_messages, openai",
        _anthropic_messages(OPENAI),
        2,
        "anthropic_messages",
        seen="logs",
    ),
    Entry(
        "anthropic_messages, gemini",
        _anthropic_messages(GEMINI),
        2,
        "anthropic_messages",
        seen="logs",
        defect=f"messages{_BEGUN[4:]}",
    ),
    Entry("agenerate_content", _generate, 1, "gemini_contents"),
    Entry(
        "agenerate_content_stream",
        _generate_stream,
        1,
        "gemini_contents",
        seen="logs",
        usage="ledger",
    ),
    Entry("text_completion", _text, untouched=True),
    Entry("atext_completion", _atext, 1, untouched=True),
    Entry("ChatLiteLLM.invoke", _invoke, seen="logs", usage="ledger"),
    Entry("ChatLiteLLM.stream", _lc_stream, seen="logs", usage="ledger"),
    Entry("ChatLiteLLM.ainvoke", _ainvoke, 1, seen="logs", usage="ledger"),
    Entry("ChatLiteLLM.astream", _lc_astream, 1, seen="logs", usage="ledger"),
)


def _proxied(name: str, path: str, dialect: str, hooks: int, **more: Any) -> Entry:
    defect = more.pop("defect", "")
    tools = {
        "openai_chat": transcripts.CHAT_TOOLS,
        "anthropic_messages": transcripts.MESSAGES_TOOLS,
    }
    if dialect == "openai_responses":
        tools[dialect] = transcripts.RESPONSES_TOOLS
    if dialect in tools:
        more["tools"] = tools[dialect]
    if dialect == "anthropic_messages":
        more["max_tokens"] = 64
    return Entry(
        f"proxy {name}",
        lambda *_: None,
        hooks,
        dialect,
        seen="header",
        path=path,
        more=more,
        defect=defect,
    )


def _passing(name: str, path: str, dialect: str, **more: Any) -> Entry:
    entry = _proxied(name, path, dialect, 1, **more)
    # LiteLLM passes the response of a pass-through request to no hook; the ledger has its usage.
    return Entry(
        entry.name, hooks=1, dialect=dialect, seen="header", usage="", path=path, more=entry.more
    )


_CHAT_PATH, _MESSAGES_PATH = "/v1/chat/completions", "/v1/messages"
PROXY: tuple[Entry, ...] = (
    _proxied("chat, openai", _CHAT_PATH, "openai_chat", 1, model="oai"),
    _proxied("chat, anthropic", _CHAT_PATH, "openai_chat", 1, model="ant"),
    _proxied("chat, fallback", _CHAT_PATH, "openai_chat", 2, model="down"),
    _proxied("chat, stream", _CHAT_PATH, "openai_chat", 1, model="ant", **_STREAM),
    _proxied("messages, anthropic", _MESSAGES_PATH, "anthropic_messages", 1, model="ant"),
    _proxied("messages, stream", _MESSAGES_PATH, "anthropic_messages", 1, model="ant", stream=True),
    _proxied("messages, openai", _MESSAGES_PATH, "anthropic_messages", 2, model="oai"),
    _proxied(
        "messages, gemini stream",
        _MESSAGES_PATH,
        "anthropic_messages",
        2,
        model="gem",
        stream=True,
        defect="messages_begun_by_a_call",
    ),
    _proxied("responses, openai", "/v1/responses", "openai_responses", 1, model="oai"),
    _proxied(
        "responses, openai stream", "/v1/responses", "openai_responses", 1, model="oai", stream=True
    ),
    _proxied("responses, anthropic", "/v1/responses", "openai_responses", 2, model="ant"),
    _proxied("generateContent", "/v1beta/models/gem:generateContent", "gemini_contents", 1),
    _passing(
        "pass-through anthropic",
        "/anthropic/v1/messages",
        "anthropic_messages",
        model="claude-sonnet-4-5",
    ),
    _passing(
        "pass-through anthropic, stream",
        "/anthropic/v1/messages",
        "anthropic_messages",
        model="claude-sonnet-4-5",
        stream=True,
    ),
    _passing("pass-through openai", "/openai/v1/chat/completions", "openai_chat", model="gpt-4o"),
    _passing(
        "pass-through openai responses",
        "/openai_passthrough/v1/responses",
        "openai_responses",
        model="gpt-4o",
    ),
    _passing(
        "pass-through gemini",
        "/gemini/v1beta/models/gemini-2.5-flash:generateContent",
        "gemini_contents",
    ),
    _passing(
        "pass-through bedrock",
        "/bedrock/model/nova/converse",
        "bedrock_converse",
        toolConfig=transcripts.CONVERSE_TOOLS,
    ),
    _passing(
        "pass-through bedrock, stream",
        "/bedrock/model/nova/converse-stream",
        "bedrock_converse",
        toolConfig=transcripts.CONVERSE_TOOLS,
    ),
    _passing(
        "pass-through gemini, stream",
        "/gemini/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
        "gemini_contents",
    ),
)
