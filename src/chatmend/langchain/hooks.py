"""The documented extension points of a chat model, wrapped: messages are mended on the way in, usage on the way back.

Only what a class itself implements is wrapped: LangChain decides by what a class defines whether it can stream.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from contextlib import aclosing, closing
from typing import TYPE_CHECKING, Any, NamedTuple

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables.config import run_in_executor

from chatmend import jsontext
from chatmend.langchain.counts import Hold, correct
from chatmend.langchain.mending import REPORT, Settings, is_disabled, report, switched_on, warn
from chatmend.langchain.overheard import overhear
from chatmend.langchain.reasoning import PAYLOADS, Done, carry, unsent

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from langchain_core.outputs import ChatGenerationChunk, ChatResult

    from chatmend.changes import Change
    from chatmend.langchain.partners import Place
    from chatmend.usage import UsageStream

_MEDIA = frozenset({"image", "image_url", "media", "file", "input_image"})


class Call(NamedTuple):
    """One call of a model on its way: what is sent, and how the answer is to be read."""

    messages: Any
    options: dict[str, Any]
    place: Place | None = None
    changes: tuple[Change, ...] = ()
    usage: bool = False

    def report(self) -> dict[str, Any] | None:
        """The report, once the payload was made; None where there is nothing to tell."""
        sent = self.messages
        kept = isinstance(sent, Done) and sent.wants_reasoning and not sent.sends_reasoning
        changes = unsent(self.changes) if kept else self.changes
        return report(changes) if changes else None


def prepare(model: BaseChatModel, messages: Any, options: dict[str, Any]) -> Call:
    """Mend the messages of a call for the place that the model, so called, sends to."""
    if is_disabled():
        return Call(messages, options)
    settings = settings_of(model)
    try:
        place = settings.remembered.place_of(model, options, settings.target)
    except Exception as error:
        if settings.on_error == "raise":
            raise
        warn(error)
        return Call(messages, options)
    if isinstance(messages, Done):
        return Call(messages, options, place, (), settings.usage)
    held = model.__dict__
    tools = options.get("tools") or _standing(held.get("model_kwargs")) or []
    thinking = options["thinking"] if "thinking" in options else held.get("thinking")
    done = switched_on(list(messages), place, settings, tools=tools, thinking=thinking)
    if done.tools is not tools and isinstance(done.tools, list):
        options = {**options, **_declared(model, done.tools)}
    sent = Done(done.messages)
    sent.wants_reasoning = place.wants_reasoning and settings.mode == "repair"
    return Call(sent, options, place, done.changes, settings.usage)


def settings_of(model: BaseChatModel) -> Settings:
    """The settings that a mended model carries."""
    held = model.__dict__.get("mending")
    return held if isinstance(held, Settings) else _DEFAULT


_DEFAULT = Settings()


def _standing(kwargs: Any) -> Any:
    """The tools that a model is given at each call."""
    return kwargs.get("tools") if kwargs and isinstance(kwargs, dict) else None


def _declared(model: BaseChatModel, tools: list[Any]) -> dict[str, Any]:
    """The declaration of tools that the history needs, as the partner package writes it."""
    bound: Any = model.bind_tools(tools)
    return {"tools": bound.kwargs["tools"]}


def has_media(messages: Any) -> bool:
    """Whether messages hold images or files, which may take long to recompress."""
    contents = (message.content for message in messages)
    return any(
        isinstance(block, dict) and jsontext.is_one_of(block.get("type"), _MEDIA)
        for content in contents
        if isinstance(content, list)
        for block in content
    )


async def prepare_async(model: BaseChatModel, messages: Any, options: dict[str, Any]) -> Call:
    """The same in async code: images are recompressed in a thread, so that the loop goes on."""
    if isinstance(messages, Done) or not has_media(messages):
        return prepare(model, messages, options)
    return await run_in_executor(None, prepare, model, messages, options)


def _who(call: Call) -> tuple[str, str]:
    return (call.place.target.provider, call.place.target.model) if call.place is not None else ("", "")


def _answered(result: ChatResult, call: Call) -> ChatResult:
    """The result with its usage corrected and the report beside."""
    told = call.report()
    for generation in result.generations:
        message = generation.message
        if isinstance(message, AIMessage) and call.usage:
            _correct(message, result.llm_output, call)
        if told is not None:
            message.response_metadata = {**message.response_metadata, REPORT: told}
    return result


def _correct(message: AIMessage, llm_output: dict[str, Any] | None, call: Call) -> None:
    try:
        correct(message, llm_output, *_who(call))
    except Exception as error:  # noqa: BLE001 - an account that cannot be read must not cost the answer
        warn(error)


def _generate(impl: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(impl)  # core looks at the signature for run_manager
    def mending(self: BaseChatModel, messages: Any, *args: Any, **options: Any) -> ChatResult:
        call = prepare(self, messages, options)
        return _answered(impl(self, call.messages, *args, **call.options), call)

    return mending


def _agenerate(impl: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(impl)
    async def mending(self: BaseChatModel, messages: Any, *args: Any, **options: Any) -> ChatResult:
        call = await prepare_async(self, messages, options)
        return _answered(await impl(self, call.messages, *args, **call.options), call)

    return mending


def _stream(impl: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(impl)
    def mending(self: BaseChatModel, messages: Any, *args: Any, **options: Any) -> Iterator[ChatGenerationChunk]:
        call = prepare(self, messages, options)
        sender, flow = _flow(self, call)
        with closing(impl(sender, call.messages, *args, **call.options)) as chunks:
            for chunk in chunks:
                yield from flow.feed(chunk)
            yield from flow.tail()

    return mending


def _astream(impl: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(impl)
    async def mending(
        self: BaseChatModel, messages: Any, *args: Any, **options: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        call = await prepare_async(self, messages, options)
        sender, flow = _flow(self, call)
        async with aclosing(impl(sender, call.messages, *args, **call.options)) as chunks:
            async for chunk in chunks:
                for ready in flow.feed(chunk):
                    yield ready
            for ready in flow.tail():
                yield ready

    return mending


def _flow(model: BaseChatModel, call: Call) -> tuple[BaseChatModel, _Flow]:
    """The model that is to stream, and what its chunks pass through."""
    if call.place is None or not call.usage:
        return model, _Flow(call)
    sender, account = overhear(model, call.place)
    return sender, _Flow(call, account)


class _Flow:
    """The chunks of one stream: the report goes on the first, the usage on the last."""

    def __init__(self, call: Call, account: UsageStream | None = None) -> None:
        self._call: Call | None = call
        known = call.place is not None and call.usage
        cumulative = call.place is not None and call.place.cumulative
        self._hold = Hold(*_who(call), cumulative=cumulative, account=account) if known else None

    def feed(self, chunk: ChatGenerationChunk) -> Iterator[ChatGenerationChunk]:
        told = self._call.report() if self._call is not None else None
        self._call = None
        if told is not None:
            metadata = {**chunk.message.response_metadata, REPORT: told}
            message = chunk.message.model_copy(update={"response_metadata": metadata})
            chunk = chunk.model_copy(update={"message": message})
        return iter((chunk,)) if self._hold is None else self._hold.feed(chunk)

    def tail(self) -> Iterator[ChatGenerationChunk]:
        return iter(()) if self._hold is None else self._hold.tail()


def _events(impl: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(impl)
    def mending(self: BaseChatModel, messages: Any, *args: Any, **options: Any) -> Iterator[Any]:
        call = prepare(self, messages, options)
        with closing(impl(self, call.messages, *args, **call.options)) as events:
            yield from events

    return mending


def _aevents(impl: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(impl)
    async def mending(self: BaseChatModel, messages: Any, *args: Any, **options: Any) -> AsyncIterator[Any]:
        call = await prepare_async(self, messages, options)
        async with aclosing(impl(self, call.messages, *args, **call.options)) as events:
            async for event in events:
                yield event

    return mending


def _count(impl: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(impl)
    def mending(self: BaseChatModel, messages: Any, *args: Any, **options: Any) -> int:
        counted: int = impl(self, list(prepare(self, messages, options).messages), *args, **options)
        return counted

    return mending


def _payload(impl: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(impl)
    def mending(self: BaseChatModel, messages: Any, *args: Any, **options: Any) -> Any:
        made = impl(self, messages, *args, **options)
        if isinstance(messages, Done) and messages.wants_reasoning:
            carry(messages, made)
        return made

    return mending


HOOKS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "_generate": _generate,
    "_agenerate": _agenerate,
    "_stream": _stream,
    "_astream": _astream,
    "_stream_chat_model_events": _events,
    "_astream_chat_model_events": _aevents,
    "get_num_tokens_from_messages": _count,
    **dict.fromkeys(PAYLOADS, _payload),
}
"""How each extension point is wrapped. Counting is among them: some partners ask the provider, who judges, too."""


def wrapped(cls: type[BaseChatModel]) -> dict[str, Callable[..., Any]]:
    """The hooks that a class implements, each wrapped, unless it was wrapped before."""
    found: dict[str, Callable[..., Any]] = {}
    for name, wrap in HOOKS.items():
        impl = getattr(cls, name, None)
        if impl is None or impl is getattr(BaseChatModel, name, None) or getattr(impl, "__chatmend__", False):
            continue
        found[name] = hook = wrap(impl)
        hook.__chatmend__ = True  # type: ignore[attr-defined]
        with contextlib.suppress(NameError):  # annotations that only a type checker can read
            hook.__signature__ = inspect.signature(impl)  # type: ignore[attr-defined] # core asks for it at each call
    return found
