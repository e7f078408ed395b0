"""Wraps the documented extension points of a chat model.

The wrappers repair the messages before a request and correct the usage in the answer. Only
methods that a class itself implements are wrapped, because LangChain decides from these whether
the class can stream.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import logging
from contextlib import aclosing, closing
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables.config import run_in_executor

from chatmend import jsontext
from chatmend.failures import guard_memory
from chatmend.langchain.message_fields import metadata_of
from chatmend.langchain.message_repair import (
    item_repair,
    learn,
    repair_for_destination,
    warn_of_failure,
)
from chatmend.langchain.observed_streams import observe_stream
from chatmend.langchain.payloads import (
    PAYLOADS,
    RepairedMessages,
    mark_unsent,
    parameter_of_messages,
    verify,
)
from chatmend.langchain.reports import (
    REPORT,
    index_of_last_answer,
    merge_reports,
    repeated,
    report,
    report_of_input,
)
from chatmend.langchain.settings import settings_of
from chatmend.langchain.thinking import sent_blocks, with_thinking
from chatmend.langchain.usage_correction import UsageCorrector, with_correct_usage
from chatmend.options import is_disabled

if TYPE_CHECKING:
    from collections.abc import (
        AsyncGenerator,
        AsyncIterator,
        Callable,
        Generator,
        Iterator,
    )

    from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

    from chatmend.changes import Change
    from chatmend.langchain.call_facts import CallFacts
    from chatmend.langchain.partners import Destination
    from chatmend.langchain.settings import RepairSettings
    from chatmend.options import ReportMode
    from chatmend.repair import Repaired
    from chatmend.session_memory import SentTurn
    from chatmend.usage import UsageStream

    _Start = Callable[[BaseChatModel, "ModelCall"], tuple[BaseChatModel, "_ChunkProcessor"]]

_T = TypeVar("_T")
_log = logging.getLogger("chatmend.langchain")
_MEDIA = frozenset({"image", "image_url", "media", "file", "input_image"})


class ModelCall(NamedTuple):
    """One call of a model: the messages and options to send, and how to process the answer."""

    messages: Any
    options: dict[str, Any]
    destination: Destination | None = None
    changes: tuple[Change, ...] = ()
    usage: bool = False
    model: BaseChatModel | None = None
    """The model that makes the call, which may be a copy of the model that was called."""
    reacted: int = 0
    """How often the call was made again after a refusal."""
    turn: SentTurn | None = None
    """The request in the memory of its conversation, if it is kept."""
    report_mode: ReportMode = "new"
    first_new: int = 0
    """The index of the first message whose changes the report lists."""
    earlier_report: dict[str, Any] | None = None
    """The report of a node or function that repaired the messages before."""
    is_applied: bool = True
    """Whether the changes were made, not only reported."""

    def sender(self, model: BaseChatModel) -> BaseChatModel:
        """Return the model that makes the call, in place of the model that was called."""
        return self.model or model

    def report(self) -> dict[str, Any] | None:
        """Return the report, or None without changes; call it after the payload was built."""
        changes = self.changes
        has_found = changes or self.earlier_report is not None or self.reacted
        if not has_found and getattr(self.messages, "repair_items", None) is None:
            return None
        if self.destination is not None and isinstance(self.messages, RepairedMessages):
            changes = verify(changes, self.messages, self.destination, self.model)
            changes = (*changes, *self.messages.item_changes)
        shown = report(changes, self.report_mode, self.first_new, is_applied=self.is_applied)
        shown = merge_reports(self.earlier_report, shown)
        if not self.reacted or self.report_mode == "off":
            return shown
        return {**(shown or {"changes": []}), "reacted": self.reacted}


def prepare(model: BaseChatModel, messages: Any, options: dict[str, Any]) -> ModelCall:
    """Repair the messages of a call for the destination of this model and these options."""
    if is_disabled():
        return ModelCall(messages, options)
    settings = settings_of(model)
    try:
        facts = settings.calls.find_facts(model, options, settings)
        if isinstance(messages, RepairedMessages):
            return ModelCall(messages, options, facts.destination, (), settings.usage)
        return _repaired_call(model, messages, options, facts, settings)
    except Exception as error:
        if settings.on_error == "raise":
            raise
        warn_of_failure(error)
        return ModelCall(messages, options)


def _repaired_call(
    model: BaseChatModel,
    messages: Any,
    options: dict[str, Any],
    facts: CallFacts,
    settings: RepairSettings,
) -> ModelCall:
    destination, given = facts.destination, list(messages)
    find_sent = _finder_of_thinking(model, options, facts) if facts.thinking else None
    result = repair_for_destination(given, facts, settings, find_sent=find_sent)
    changes = result.changes
    if result.tools is not facts.tools and isinstance(result.tools, list):
        declared = _declare_tools(model, result.tools)
        options = {**options, **declared}
        if not declared:
            changes = mark_unsent(changes, lambda change: change.where == "tools")
    sender = model
    if result.thinking is not facts.thinking:
        sender, options = with_thinking(model, options, result.thinking)
    sent = RepairedMessages(result.messages)
    is_repaired = settings.mode == "repair"
    sent.destination = destination if is_repaired else None
    sent.is_verified, sent.arrived = is_repaired and bool(changes), facts.arrived
    if destination.converter.item_ids:
        sent.repair_items = item_repair(given, destination, settings, changes)
    call = ModelCall(sent, options, destination, changes, settings.usage, sender, turn=result.turn)
    earlier = report_of_input(given)
    if not changes and earlier is None and sent.repair_items is None:
        return call
    return call._replace(
        report_mode=settings.report,
        is_applied=is_repaired,
        first_new=index_of_last_answer(given),
        earlier_report=earlier if settings.report != "off" else repeated(earlier),
    )


def _finder_of_thinking(
    model: BaseChatModel, options: dict[str, Any], facts: CallFacts
) -> Callable[[Repaired], dict[int, bool]] | None:
    """Return what finds which stored thinking a call sends; None if it sends all."""
    converter = facts.destination.converter
    if not converter.checks_thinking:
        return None

    def find(repaired: Repaired) -> dict[int, bool]:
        sent = options
        if repaired.tools is not facts.tools and isinstance(repaired.tools, list):
            sent = {**options, **_declare_tools(model, repaired.tools)}
        return sent_blocks(model, converter.stored_thinking, sent, repaired.messages)

    return find


def _declare_tools(model: BaseChatModel, tools: list[Any]) -> dict[str, Any]:
    """Return the options that declare the tools, in the format of the partner package.

    Empty if the model cannot bind tools, as a class of the user's own may.
    """
    try:
        described = [_with_description(tool) for tool in tools]
        model_with_tools: Any = model.bind_tools(described)
        return {"tools": model_with_tools.kwargs["tools"]}
    except Exception as error:  # noqa: BLE001 - the call goes on without the declaration
        _warn_of_tools(type(model).__qualname__, type(error).__name__)
        return {}


def _with_description(tool: Any) -> Any:
    """Return a tool with a description; ``ChatAnthropicVertex.bind_tools`` raises without one."""
    function = tool.get("function") if isinstance(tool, dict) else None
    if not isinstance(function, dict) or "description" in function:
        return tool
    return {**tool, "function": {"description": function.get("name"), **function}}


@functools.lru_cache(maxsize=64)
def _warn_of_tools(kind: str, reason: str) -> None:
    _log.warning(
        "the history has calls of tools that the request does not declare, and %s.bind_tools "
        "raised %s; bind the tools, or the provider may refuse the request",
        kind,
        reason,
    )


def has_media(messages: Any) -> bool:
    """Return whether messages contain images or files, which may take long to recompress."""
    contents = (getattr(message, "content", None) for message in messages)
    return any(
        isinstance(block, dict) and jsontext.is_one_of(block.get("type"), _MEDIA)
        for content in contents
        if isinstance(content, list)
        for block in content
    )


async def prepare_async(model: BaseChatModel, messages: Any, options: dict[str, Any]) -> ModelCall:
    """Call ``prepare``, in a thread if images may be recompressed, so as not to block the loop."""
    if isinstance(messages, RepairedMessages) or not has_media(messages):
        return prepare(model, messages, options)
    return await run_in_executor(None, prepare, model, messages, options)


def _finish_result(result: ChatResult, call: ModelCall) -> ChatResult:
    """Return a result with corrected usage and the report.

    It is copied: the class may keep its answer and return it again.
    """
    report_data = call.report()
    finished, has_changed = [], False
    for given in result.generations:
        generation = _finish_generation(given, result.llm_output, call, report_data)
        finished.append(generation)
        has_changed = has_changed or generation is not given
    return result.model_copy(update={"generations": finished}) if has_changed else result


def _finish_generation(
    generation: ChatGeneration,
    llm_output: dict[str, Any] | None,
    call: ModelCall,
    report_data: dict[str, Any] | None,
) -> ChatGeneration:
    message = given = generation.message
    if isinstance(message, AIMessage) and call.usage and call.destination is not None:
        target = call.destination.target
        try:
            message = with_correct_usage(message, llm_output, target.provider, target.model)
        except Exception as error:  # noqa: BLE001 - a malformed usage record must not fail the call
            warn_of_failure(error)
    if report_data is not None:
        metadata = {**metadata_of(message), REPORT: report_data}
        message = message.model_copy(update={"response_metadata": metadata})
    return generation if message is given else generation.model_copy(update={"message": message})


def _wrap_generate(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)  # LangChain checks whether the signature has `run_manager`
    def hook(self: BaseChatModel, messages: Any, *args: Any, **options: Any) -> ChatResult:
        call = prepare(self, messages, options)
        while True:
            try:
                result = method(call.sender(self), call.messages, *args, **call.options)
                return _finish_result(result, call)
            except Exception as error:
                if not _learn(self, messages, call, error):
                    raise
            call = prepare(self, messages, options)._replace(reacted=call.reacted + 1)

    return hook


def _learn(model: BaseChatModel, messages: Any, call: ModelCall, error: Exception) -> bool:
    """Return whether a refusal shows something with which the call can be made again."""
    settings = settings_of(model)
    if call.turn is not None:
        with guard_memory(settings.on_error, _log):
            settings.memories.refuse("", list(messages), call.turn)
    if call.reacted >= settings.react or call.destination is None:
        return False
    # A hook inside another one gets repaired messages; the outer one makes the call again.
    if isinstance(messages, RepairedMessages):
        return False
    return learn(list(messages), call.messages, call.destination, settings, error)


def _wrap_agenerate(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    async def hook(self: BaseChatModel, messages: Any, *args: Any, **options: Any) -> ChatResult:
        call = await prepare_async(self, messages, options)
        while True:
            try:
                result = await method(call.sender(self), call.messages, *args, **call.options)
                return _finish_result(result, call)
            except Exception as error:
                if not _learn(self, messages, call, error):
                    raise
            again = await prepare_async(self, messages, options)
            call = again._replace(reacted=call.reacted + 1)

    return hook


def _wrap_stream(method: Callable[..., Any], start: _Start | None = None) -> Callable[..., Any]:
    @functools.wraps(method)
    def hook(self: BaseChatModel, messages: Any, *args: Any, **options: Any) -> Iterator[Any]:
        def produce(call: ModelCall) -> Generator[Any]:
            sender, processor = (start or _start_stream)(self, call)
            with closing(method(sender, call.messages, *args, **call.options)) as chunks:
                for chunk in chunks:
                    yield from processor.feed(chunk)
            yield from processor.finish()

        return _repeat_stream(self, messages, options, produce)

    return hook


def _wrap_astream(method: Callable[..., Any], start: _Start | None = None) -> Callable[..., Any]:
    @functools.wraps(method)
    def hook(self: BaseChatModel, messages: Any, *args: Any, **options: Any) -> AsyncIterator[Any]:
        async def produce(call: ModelCall) -> AsyncGenerator[Any]:
            sender, processor = (start or _start_stream)(self, call)
            async with aclosing(method(sender, call.messages, *args, **call.options)) as chunks:
                async for chunk in chunks:
                    for ready in processor.feed(chunk):
                        yield ready
            for ready in processor.finish():
                yield ready

        return _repeat_stream_async(self, messages, options, produce)

    return hook


def _repeat_stream(
    model: BaseChatModel,
    messages: Any,
    options: dict[str, Any],
    produce: Callable[[ModelCall], Generator[_T]],
) -> Iterator[_T]:
    """Yield what a stream produces, and start it again if it is refused before its first item."""
    call = prepare(model, messages, options)
    while True:
        has_begun = False
        try:
            with closing(produce(call)) as items:
                for item in items:
                    has_begun = True
                    yield item
        except Exception as error:
            if has_begun or not _learn(model, messages, call, error):
                raise
        else:
            return
        call = prepare(model, messages, options)._replace(reacted=call.reacted + 1)


async def _repeat_stream_async(
    model: BaseChatModel,
    messages: Any,
    options: dict[str, Any],
    produce: Callable[[ModelCall], AsyncGenerator[_T]],
) -> AsyncIterator[_T]:
    """Do the same as `_repeat_stream` for an asynchronous stream."""
    call = await prepare_async(model, messages, options)
    while True:
        has_begun = False
        try:
            async with aclosing(produce(call)) as items:
                async for item in items:
                    has_begun = True
                    yield item
        except Exception as error:
            if has_begun or not _learn(model, messages, call, error):
                raise
        else:
            return
        again = await prepare_async(model, messages, options)
        call = again._replace(reacted=call.reacted + 1)


def _start_stream(model: BaseChatModel, call: ModelCall) -> tuple[BaseChatModel, _ChunkProcessor]:
    """Return the model that makes the stream, and the processor of its chunks."""
    model = call.sender(model)
    if call.destination is None or not call.usage:
        return model, _ChunkProcessor(call)
    sender, usage_stream = observe_stream(model, call.destination)
    return sender, _ChunkProcessor(call, usage_stream)


def _start_events(model: BaseChatModel, call: ModelCall) -> tuple[BaseChatModel, _ChunkProcessor]:
    """Return the model that makes a stream of events; they are passed on unchanged."""
    return call.sender(model), _ChunkProcessor(None)


class _ChunkProcessor:
    """Adds the report to the first chunk of a stream and the corrected usage to the last."""

    def __init__(self, call: ModelCall | None, usage_stream: UsageStream | None = None) -> None:
        """``call``: None to pass everything on unchanged."""
        self._call = call
        self._corrector: UsageCorrector | None = None
        if call is not None and call.destination is not None and call.usage:
            self._corrector = UsageCorrector(
                call.destination.target.provider,
                call.destination.target.model,
                cumulative=call.destination.cumulative,
                usage_stream=usage_stream,
            )

    def feed(self, chunk: ChatGenerationChunk) -> Iterator[ChatGenerationChunk]:
        report_data = self._call.report() if self._call is not None else None
        self._call = None
        if report_data is not None:
            metadata = {**metadata_of(chunk.message), REPORT: report_data}
            message = chunk.message.model_copy(update={"response_metadata": metadata})
            chunk = chunk.model_copy(update={"message": message})
        return iter((chunk,)) if self._corrector is None else self._corrector.feed(chunk)

    def finish(self) -> Iterator[ChatGenerationChunk]:
        return iter(()) if self._corrector is None else self._corrector.finish()


def _wrap_token_count(method: Callable[..., Any]) -> Callable[..., Any]:
    # Other classes ignore the tools, with a warning.
    sends_tools = _takes_options(method)

    @functools.wraps(method)
    def hook(self: BaseChatModel, messages: Any, *args: Any, **options: Any) -> int:
        given = args[0] if args else options.get("tools")
        call = prepare(self, messages, {**options, "tools": given})
        tools = call.options["tools"] if sends_tools else given
        if args:
            args = (tools, *args[1:])
        elif tools is not None:
            options["tools"] = tools
        counted: int = method(call.sender(self), list(call.messages), *args, **options)
        return counted

    return hook


def _takes_options(method: Callable[..., Any]) -> bool:
    """Return whether a method has a parameter for further options of the request."""
    code = getattr(inspect.unwrap(method), "__code__", None)
    return code is not None and bool(code.co_flags & inspect.CO_VARKEYWORDS)


def _wrap_payload(method: Callable[..., Any], parameter: str) -> Callable[..., Any]:
    """``parameter`` is the one for the messages; a call may pass it by position or by name."""

    @functools.wraps(method)
    def hook(self: BaseChatModel, *args: Any, **options: Any) -> Any:
        payload = method(self, *args, **options)
        messages = args[0] if args else options.get(parameter)
        if not isinstance(messages, RepairedMessages):
            return payload

        def convert(some: Any) -> Any:
            given = (some, *args[1:]) if args else ()
            return method(self, *given, **(options if args else {**options, parameter: some}))

        return messages.finish(payload, convert)

    return hook


HOOKS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "_generate": _wrap_generate,
    "_agenerate": _wrap_agenerate,
    "_stream": _wrap_stream,
    "_astream": _wrap_astream,
    "_stream_chat_model_events": functools.partial(_wrap_stream, start=_start_events),
    "_astream_chat_model_events": functools.partial(_wrap_astream, start=_start_events),
    "get_num_tokens_from_messages": _wrap_token_count,
}
"""The wrapper of each extension point, apart from those that build payloads.

Token counting is included because some partner packages ask the provider, which validates the
messages.
"""


def wrap_hooks(cls: type[BaseChatModel]) -> dict[str, Callable[..., Any]]:
    """Return wrappers of the hooks that a class implements and that are not wrapped yet."""
    wrappers = dict(HOOKS)
    for name in PAYLOADS:
        if (parameter := parameter_of_messages(cls, name)) is not None:
            wrappers[name] = functools.partial(_wrap_payload, parameter=parameter)
    hooks: dict[str, Callable[..., Any]] = {}
    for name, wrap in wrappers.items():
        method = getattr(cls, name, None)
        if (
            method is None
            or method is getattr(BaseChatModel, name, None)
            or getattr(method, "__chatmend__", False)
        ):
            continue
        hooks[name] = hook = wrap(method)
        hook.__chatmend__ = True  # type: ignore[attr-defined]
        with contextlib.suppress(NameError):  # names that are imported under TYPE_CHECKING
            # LangChain reads the signature at each call.
            hook.__signature__ = inspect.signature(method)  # type: ignore[attr-defined]
    return hooks
