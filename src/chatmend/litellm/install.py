"""The synchronous path, for which LiteLLM has no hook: a drop-in ``completion``, and ``install()`` for all of it.

What ``install()`` wraps are the public attributes ``litellm.completion`` and ``litellm.acompletion`` (the second only
for the usage of its streams; its requests are repaired by the callback). Router, ``batch_completion``, retries and
``ChatLiteLLM`` look these attributes up at each call and are covered. Not covered are names that were bound before
(``from litellm import completion``: a warning tells where), ``litellm.main.completion`` and ``text_completion``.
"""

from __future__ import annotations

import logging
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import litellm
import wrapt

from chatmend.litellm import notes
from chatmend.litellm.attempt import carries
from chatmend.litellm.hooks import ChatMend, in_reach, is_disabled
from chatmend.litellm.shapes import CHAT, RESPONSES
from chatmend.litellm.streams import ChunkMarker, MarkedStream
from chatmend.litellm.target import target_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

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
"""Where LiteLLM copies a callback to with the first call."""

_MARK = "_self_chatmend"
"""On a function that is wrapped: the callback that it works for."""
_CHAT_FIRST, _RESPONSES_FIRST = ("model", "messages"), ("input", "model")
"""The first arguments of ``completion`` and of ``responses``, which may come without their names."""


def completion(*args: Any, **kwargs: Any) -> Any:
    """``litellm.completion`` with the request repaired and the usage normalised; the same arguments and results.

    It works for the ``ChatMend`` in ``litellm.callbacks``, or else for ``chatmend.litellm.callback``. With
    ``fallbacks=`` LiteLLM makes an asynchronous call for each model: the callback repairs these, so register it.
    """
    wrapped = litellm.completion
    return wrapped(*args, **kwargs) if hasattr(wrapped, _MARK) else _completion(_registered(), wrapped, args, kwargs)


async def acompletion(*args: Any, **kwargs: Any) -> Any:
    """``litellm.acompletion`` with the usage of its streams normalised; register a ``ChatMend`` to repair requests."""
    wrapped = litellm.acompletion
    if hasattr(wrapped, _MARK):
        return await wrapped(*args, **kwargs)
    return await _acompletion(_registered(), wrapped, args, kwargs)


def install(callback: ChatMend | None = None) -> ChatMend:
    """Register a callback, and wrap LiteLLM's public functions for it. Calling it again changes nothing.

    Returns:
        The callback that is at work: the one that was installed before, the one given, one that is already registered,
        or ``chatmend.litellm.callback``.
    """
    at_work = getattr(litellm.completion, _MARK, None)
    if isinstance(at_work, ChatMend):
        return at_work
    chosen = callback or _registered()
    if not any(known is chosen for known in litellm.callbacks):
        litellm.logging_callback_manager.add_litellm_callback(chosen)
    _warn_of_bound_names()
    for name, wrapper in _wrappers():
        _wrap(name, wrapper, chosen)
    return chosen


def uninstall() -> None:
    """Take the wrappers and their callback away again. Does nothing where nothing is installed."""
    at_work = getattr(litellm.completion, _MARK, None)
    for name, _ in _wrappers():
        wrapped = getattr(litellm, name)
        if hasattr(wrapped, _MARK):
            setattr(litellm, name, wrapped.__wrapped__)
    if at_work is not None:
        for listed in _CALLBACK_LISTS:
            known = getattr(litellm, listed)
            known[:] = [one for one in known if one is not at_work]


def _registered() -> ChatMend:
    from chatmend.litellm import callback

    found = next((known for known in litellm.callbacks if isinstance(known, ChatMend)), None)
    return found or callback


def _wrappers() -> Iterator[tuple[str, Callable[..., Any]]]:
    yield "completion", _completion
    yield "acompletion", _acompletion
    yield "responses", _responses


@lru_cache(maxsize=1)
def _hooks_sync_responses() -> bool:
    """Whether this LiteLLM calls the deployment hook on the synchronous ``responses`` (from 1.95 on)."""
    from litellm.llms.custom_httpx import llm_http_handler

    return hasattr(llm_http_handler, "_has_pre_call_deployment_hook")


def _wrap(name: str, wrapper: Callable[..., Any], callback: ChatMend) -> None:
    def call(wrapped: Any, _instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return wrapper(callback, wrapped, args, kwargs)

    function = wrapt.FunctionWrapper(getattr(litellm, name), call)
    setattr(function, _MARK, callback)
    setattr(litellm, name, function)


def _warn_of_bound_names() -> None:
    """Tell which modules hold the function itself, and so will not see the wrapper."""
    functions = [getattr(litellm, name) for name, _ in _wrappers()]
    for module, names in sorted(_bound_names(functions)):
        _log.warning("chatmend cannot reach %s in %s: it was bound before install()", names, module)


def _bound_names(functions: list[Any]) -> Iterator[tuple[str, str]]:
    # A copy is made in one step. A list of the items is not: another thread may import something while it grows.
    for module, loaded in sys.modules.copy().items():
        if module.partition(".")[0] in {"litellm", "chatmend"}:
            continue
        held = getattr(loaded, "__dict__", None)
        if isinstance(held, dict):
            names = [name for name, value in held.copy().items() if any(value is function for function in functions)]
            if names:
                yield module, ", ".join(names)


def _completion(callback: ChatMend, wrapped: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    # Both run `acompletion` inside, whose hook repairs each attempt.
    if kwargs.get("acompletion") or kwargs.get("fallbacks") or is_disabled():
        return wrapped(*args, **kwargs)
    token = in_reach.set(True)
    try:
        return _repaired(callback, wrapped, _named(args, kwargs, _CHAT_FIRST), CHAT)
    finally:
        in_reach.reset(token)


async def _acompletion(callback: ChatMend, wrapped: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    response = await wrapped(*args, **kwargs)
    if is_disabled() or not _is_stream(response):
        return response
    _, call = _named(args, kwargs, _CHAT_FIRST)
    return _marked(callback, response, notes.kept(getattr(response, "logging_obj", None)), call)


def _responses(callback: ChatMend, wrapped: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if kwargs.get("aresponses") or is_disabled():
        return wrapped(*args, **kwargs)
    call = _named(args, kwargs, _RESPONSES_FIRST)
    if _hooks_sync_responses():
        response = wrapped(*args, **kwargs)
        return response if _is_stream(response) else _marked(callback, response, None, call[1])
    return _repaired(callback, wrapped, call, RESPONSES)


def _named(args: tuple[Any, ...], kwargs: dict[str, Any], names: tuple[str, ...]) -> tuple[tuple[Any, ...], Any]:
    """Positional arguments that concern us, by name; the others stay where they are behind them."""
    return args[len(names) :], {**kwargs, **dict(zip(names, args, strict=False))}


def _repaired(callback: ChatMend, wrapped: Any, call: tuple[tuple[Any, ...], dict[str, Any]], shape: Shape) -> Any:
    """Repair a call's arguments, call, and return the response with the account and the note of what was done."""
    rest, kwargs = call
    note: notes.Note | None = None
    goes: Mapping[str, Any] = kwargs
    with callback.failures.caught():
        if carries(kwargs, shape) and callback.concerns(kwargs, target := target_of(kwargs)):
            made = callback.mend(kwargs, shape, target)
            note = notes.note(target, callback.mode, made.changes)
            goes = notes.noted(made.request or kwargs, note, shape)
            if callback.record is not None:  # callers add the reply to their list while LiteLLM still logs
                goes = {**goes, shape.field: list(goes[shape.field])}
    response = wrapped(*_in_front(goes, shape, rest), **_behind(goes, shape, rest))
    return _marked(callback, response, note, kwargs)


def _in_front(goes: Mapping[str, Any], shape: Shape, rest: tuple[Any, ...]) -> tuple[Any, ...]:
    first = _CHAT_FIRST if shape is CHAT else _RESPONSES_FIRST
    return (*(goes[name] for name in first), *rest) if rest else ()


def _behind(goes: Mapping[str, Any], shape: Shape, rest: tuple[Any, ...]) -> dict[str, Any]:
    first = _CHAT_FIRST if shape is CHAT else _RESPONSES_FIRST
    return {key: value for key, value in goes.items() if not (rest and key in first)}


def _marked(callback: ChatMend, response: Any, note: notes.Note | None, call: Mapping[str, Any]) -> Any:
    """A response with its account where the call's options say; a stream that will do so chunk by chunk."""
    with callback.failures.caught():
        where = callback.place_of_usage(call)
        if not _is_stream(response):
            callback.finish(response, None if note is None else note.to_dict(), where)
            return response
        hidden = getattr(response, "_hidden_params", None)
        if note is not None and isinstance(hidden, dict):
            hidden[notes.KEY] = note.to_dict()
        return MarkedStream(response, ChunkMarker(callback.failures, where).each)
    return response


def _is_stream(response: Any) -> bool:
    return hasattr(response, "__next__") or hasattr(response, "__anext__")
