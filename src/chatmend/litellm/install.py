"""Synchronous calls, for which LiteLLM has no hook: ``completion`` and ``install()``.

``install()`` wraps the public functions ``litellm.completion``, ``litellm.acompletion`` and
``litellm.responses``. The wrapper of ``acompletion`` only normalises the usage of streams; the
callback repairs its requests. Router, ``batch_completion``, retries and ``ChatLiteLLM`` look these
functions up at each call and are covered. Not covered are names that were imported earlier (``from
litellm import completion``: a warning lists them), ``litellm.main.completion`` and
``text_completion``.
"""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import litellm
import wrapt

from chatmend.failures import NOT_REMEMBERED
from chatmend.litellm import reacting, summaries
from chatmend.litellm.attempt import has_transcript
from chatmend.litellm.hooks import (
    CALLBACK_ATTRIBUTE,
    ChatMend,
    is_wrapped_call,
)
from chatmend.litellm.shapes import CHAT, RESPONSES, SHAPES
from chatmend.litellm.streams import ChunkUsageWriter, StreamWithUsage
from chatmend.litellm.target import target_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from chatmend.litellm.call_memories import AddedTurn
    from chatmend.litellm.shapes import Shape

_log = logging.getLogger("chatmend.litellm")

_CALLBACK_LISTS = (
    "callbacks",
    "input_callback",
    "success_callback",
    "failure_callback",
    "_async_success_callback",
    "_async_failure_callback",
)
"""The lists into which LiteLLM copies a callback at the first call."""

_ASYNC_RESPONSES, _ASYNC_COMPACTION = "aresponses", "acompact_responses"
_REACTING = (
    _ASYNC_RESPONSES,
    _ASYNC_COMPACTION,
    "anthropic_messages",
    "agenerate_content",
    "agenerate_content_stream",
)
"""Asynchronous functions that are called again after a refusal; the callback repairs them."""
_CHAT_FIRST, _RESPONSES_FIRST = ("model", "messages"), ("input", "model")
"""The parameters of ``completion`` and ``responses`` that callers may pass by position."""


def completion(*args: Any, **kwargs: Any) -> Any:
    """Call ``litellm.completion`` with a repaired request, and normalise the usage.

    Arguments and results are those of LiteLLM. The options are those of the ``ChatMend`` in
    ``litellm.callbacks``, or else of ``chatmend.litellm.callback``. With ``fallbacks=`` LiteLLM
    makes an asynchronous call for each model, which only a registered callback repairs.
    """
    wrapped = litellm.completion
    return (
        wrapped(*args, **kwargs)
        if hasattr(wrapped, CALLBACK_ATTRIBUTE)
        else _completion(_registered_callback(), wrapped, args, kwargs)
    )


async def acompletion(*args: Any, **kwargs: Any) -> Any:
    """Call ``litellm.acompletion``, and normalise the usage of its streams.

    Register a ``ChatMend`` to repair its requests.
    """
    wrapped = litellm.acompletion
    if hasattr(wrapped, CALLBACK_ATTRIBUTE):
        return await wrapped(*args, **kwargs)
    return await _acompletion(_registered_callback(), wrapped, args, kwargs)


def install(callback: ChatMend | None = None) -> ChatMend:
    """Register a callback and wrap LiteLLM's public functions. Calling it again has no effect.

    Returns:
        The active callback: the one that was installed earlier, or else ``callback``, or else one
        that is already registered, or else ``chatmend.litellm.callback``.
    """
    installed = getattr(litellm.completion, CALLBACK_ATTRIBUTE, None)
    if isinstance(installed, ChatMend):
        return installed
    chosen = callback or _registered_callback()
    if not any(known is chosen for known in litellm.callbacks):
        litellm.logging_callback_manager.add_litellm_callback(chosen)
    _warn_about_bound_names()
    wrap_functions(chosen)
    return chosen


def wrap_functions(callback: ChatMend) -> None:
    """Wrap LiteLLM's public functions for a callback; those that are wrapped already stay.

    The functions of ``_REACTING`` are wrapped only for a callback with ``react``.
    """
    for name, wrapper in _wrappers():
        if not hasattr(getattr(litellm, name), CALLBACK_ATTRIBUTE):
            _wrap(name, wrapper, callback)
    for name in _REACTING if callback.react else ():
        if hasattr(litellm, name) and not hasattr(getattr(litellm, name), CALLBACK_ATTRIBUTE):
            _wrap(name, partial(_repeat, SHAPES[name]), callback)


async def _repeat(
    shape: Shape,
    callback: ChatMend,
    wrapped: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Call a function whose requests the callback repairs, and again after a refusal."""
    if args or callback.is_disabled():
        return await wrapped(*args, **kwargs)
    return await reacting.call_async(callback, lambda: wrapped(**kwargs), kwargs, shape)


def uninstall() -> None:
    """Remove the wrappers and their callback. Does nothing if nothing is installed."""
    installed = getattr(litellm.completion, CALLBACK_ATTRIBUTE, None)
    for name in (*(name for name, _ in _wrappers()), *_REACTING):
        wrapped: Any = getattr(litellm, name, None)
        if hasattr(wrapped, CALLBACK_ATTRIBUTE):
            setattr(litellm, name, wrapped.__wrapped__)
    if installed is not None:
        for list_name in _CALLBACK_LISTS:
            callbacks = getattr(litellm, list_name)
            callbacks[:] = [one for one in callbacks if one is not installed]


def _registered_callback() -> ChatMend:
    from chatmend.litellm import callback

    found = next((known for known in litellm.callbacks if isinstance(known, ChatMend)), None)
    return found or callback


def _wrappers() -> Iterator[tuple[str, Callable[..., Any]]]:
    yield "completion", _completion
    yield "acompletion", _acompletion
    yield "responses", partial(_call_with_items, _ASYNC_RESPONSES)
    if hasattr(litellm, "compact_responses"):
        yield "compact_responses", partial(_call_with_items, _ASYNC_COMPACTION)


@lru_cache(maxsize=1)
def _hooks_sync_responses() -> bool:
    """Whether LiteLLM calls the deployment hook for synchronous ``responses`` (since 1.95)."""
    from litellm.llms.custom_httpx import llm_http_handler

    return hasattr(llm_http_handler, "_has_pre_call_deployment_hook")


def _wrap(name: str, wrapper: Callable[..., Any], callback: ChatMend) -> None:
    def call(wrapped: Any, _instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return wrapper(callback, wrapped, args, kwargs)

    function = wrapt.FunctionWrapper(getattr(litellm, name), call)
    setattr(function, CALLBACK_ATTRIBUTE, callback)
    setattr(litellm, name, function)


def _warn_about_bound_names() -> None:
    """Warn about modules that hold the original function and will not call the wrapper."""
    functions = [getattr(litellm, name) for name, _ in _wrappers()]
    for module, names in sorted(_bound_names(functions)):
        _log.warning(
            "chatmend cannot wrap %s in %s: it was imported before install()", names, module
        )


def _bound_names(functions: list[Any]) -> Iterator[tuple[str, str]]:
    # copy() is atomic; list(items()) is not, and another thread may import a module meanwhile.
    for module, loaded in sys.modules.copy().items():
        if module.partition(".")[0] in {"litellm", "chatmend"}:
            continue
        held = getattr(loaded, "__dict__", None)
        if isinstance(held, dict):
            names = [
                name
                for name, value in held.copy().items()
                if any(value is function for function in functions)
            ]
            if names:
                yield module, ", ".join(names)


def _completion(
    callback: ChatMend, wrapped: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    # With either argument LiteLLM runs `acompletion`, whose hook repairs each attempt.
    if kwargs.get("acompletion") or kwargs.get("fallbacks"):
        return wrapped(*args, **kwargs)
    if callback.is_disabled():
        return _call_unrepaired(callback, wrapped, (args, kwargs), CHAT)
    token = is_wrapped_call.set(True)
    call = _bind(args, kwargs, _CHAT_FIRST)
    try:
        return reacting.call(
            callback, lambda: _call_repaired(callback, wrapped, call, CHAT), call[1], CHAT
        )
    finally:
        is_wrapped_call.reset(token)


async def _acompletion(
    callback: ChatMend, wrapped: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    # By keyword, because the hook that repairs the request sees no positional arguments.
    rest, call = ((), {}) if callback.is_disabled() else _bind(args, kwargs, _CHAT_FIRST)
    if rest or not call:
        response = await wrapped(*args, **kwargs)
    elif callback.react:
        response = await reacting.call_async(callback, lambda: wrapped(**call), call, CHAT)
    else:
        response = await wrapped(**call)
    if callback.is_disabled() or not _is_stream(response):
        return response
    return _add_usage(
        callback, response, summaries.last_summary(getattr(response, "logging_obj", None)), call
    )


def _call_with_items(
    asynchronous: str,
    callback: ChatMend,
    wrapped: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Make a synchronous call of a function of the Responses API.

    ``asynchronous`` is the key with which LiteLLM's asynchronous function calls the same function;
    the callback repairs that request.
    """
    if kwargs.get(asynchronous):
        return wrapped(*args, **kwargs)
    if callback.is_disabled():
        return _call_unrepaired(callback, wrapped, (args, kwargs), RESPONSES)
    call = _bind(args, kwargs, _RESPONSES_FIRST)

    def send() -> Any:
        if asynchronous != _ASYNC_RESPONSES or not _hooks_sync_responses():
            return _call_repaired(callback, wrapped, call, RESPONSES)
        response, summary = summaries.call_with_summary(partial(wrapped, *args), kwargs)
        return (
            response if _is_stream(response) else _add_usage(callback, response, summary, call[1])
        )

    return reacting.call(callback, send, call[1], RESPONSES)


def _bind(
    args: tuple[Any, ...], kwargs: dict[str, Any], names: tuple[str, ...]
) -> tuple[tuple[Any, ...], Any]:
    """Convert the first positional arguments to keyword arguments with these names.

    Returns:
        The remaining positional arguments, and all keyword arguments.
    """
    return args[len(names) :], {**kwargs, **dict(zip(names, args, strict=False))}


def _call_repaired(
    callback: ChatMend, wrapped: Any, call: tuple[tuple[Any, ...], dict[str, Any]], shape: Shape
) -> Any:
    """Call ``wrapped`` with repaired arguments; add usage and change summary to the response."""
    rest, kwargs = call
    summary: summaries.ChangeSummary | None = None
    outgoing: Mapping[str, Any] = kwargs
    added: AddedTurn | None = None
    with callback.failures.guard():
        if has_transcript(kwargs, shape):
            target = target_of(kwargs)
            treatment = callback.treatment_of(kwargs, target, kwargs[shape.field])
            if treatment.mode != "off":
                made = callback.repair_call(kwargs, shape, target, None, treatment)
                added = made.added
                summary = summaries.summarize(target, made.mode, made.changes)
                outgoing = summaries.with_summary(made.request or kwargs, summary, shape)
                # Callers append the reply to their list while LiteLLM is still logging.
                if callback.record is not None:
                    outgoing = {**outgoing, shape.field: list(outgoing[shape.field])}
            else:
                added = callback.remember(kwargs, shape, target)
    response = _call_and_note(
        callback,
        lambda: wrapped(
            *_positional_arguments(outgoing, shape, rest),
            **_keyword_arguments(outgoing, shape, rest),
        ),
        added,
    )
    return _add_usage(callback, response, summary, kwargs)


def _call_unrepaired(
    callback: ChatMend, wrapped: Any, call: tuple[tuple[Any, ...], dict[str, Any]], shape: Shape
) -> Any:
    """Call ``wrapped`` with the caller's arguments, and only remember what is sent."""
    args, kwargs = call
    named = _bind(args, kwargs, _CHAT_FIRST if shape is CHAT else _RESPONSES_FIRST)[1]
    added: AddedTurn | None = None
    with suppress(Exception):  # nothing that fails here may affect the call
        if has_transcript(named, shape):
            added = callback.remember(named, shape, target_of(named))
    return _call_and_note(callback, lambda: wrapped(*args, **kwargs), added)


def _call_and_note(callback: ChatMend, send: Callable[[], Any], added: AddedTurn | None) -> Any:
    """Make a call; if it fails, note that in the session memory."""
    try:
        return send()
    except Exception:
        with callback.failures.guard(NOT_REMEMBERED):
            callback.memories.refuse_call(added)
        raise


def _positional_arguments(
    outgoing: Mapping[str, Any], shape: Shape, rest: tuple[Any, ...]
) -> tuple[Any, ...]:
    first = _CHAT_FIRST if shape is CHAT else _RESPONSES_FIRST
    return (*(outgoing[name] for name in first), *rest) if rest else ()


def _keyword_arguments(
    outgoing: Mapping[str, Any], shape: Shape, rest: tuple[Any, ...]
) -> dict[str, Any]:
    first = _CHAT_FIRST if shape is CHAT else _RESPONSES_FIRST
    return {key: value for key, value in outgoing.items() if not (rest and key in first)}


def _add_usage(
    callback: ChatMend,
    response: Any,
    summary: summaries.ChangeSummary | None,
    call: Mapping[str, Any],
) -> Any:
    """Add usage record and change summary to a response.

    A stream is wrapped, so that each chunk with usage gets its record when it is read.
    """
    with callback.failures.guard(summaries.NOT_REPORTED):
        where = callback.usage_mode_for(call, None if summary is None else summary.mode)
        if not _is_stream(response):
            callback.complete_response(
                response, None if summary is None else summary.to_dict(), where
            )
            return response
        hidden = getattr(response, "_hidden_params", None)
        if summary is not None and isinstance(hidden, dict):
            hidden[summaries.KEY] = summary.to_dict()
        return StreamWithUsage(response, ChunkUsageWriter(callback.failures, where).process)
    return response


def _is_stream(response: Any) -> bool:
    return hasattr(response, "__next__") or hasattr(response, "__anext__")
