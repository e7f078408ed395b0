"""One more attempt after a refusal, with what the refusal has shown."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from chatmend.litellm.attempt import has_transcript, is_heavy
from chatmend.litellm.summaries import reactions
from chatmend.litellm.target import target_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from chatmend.litellm.hooks import ChatMend
    from chatmend.litellm.shapes import Shape

_log = logging.getLogger("chatmend.litellm")


def call(
    callback: ChatMend, send: Callable[[], Any], kwargs: Mapping[str, Any], shape: Shape
) -> Any:
    """Make a synchronous call, and again after each refusal that a repair answers.

    A stream is only made again before its first chunk: LiteLLM raises the refusal at once.
    """
    token = reactions.set(0)
    try:
        while True:
            try:
                return send()
            except Exception as error:
                if not _may_react(callback, kwargs, shape) or not learn(
                    callback, kwargs, shape, error
                ):
                    raise
            reactions.set(reactions.get() + 1)
    finally:
        reactions.reset(token)


async def call_async(
    callback: ChatMend, send: Callable[[], Awaitable[Any]], kwargs: Mapping[str, Any], shape: Shape
) -> Any:
    """Do the same as `call` for an asynchronous call.

    Large requests are repaired in a thread, and also if a store outside of the process is read.
    """
    token = reactions.set(0)
    try:
        while True:
            try:
                return await send()
            except Exception as error:
                if not _may_react(callback, kwargs, shape):
                    raise
                if callback.memories.state is not None or is_heavy(kwargs[shape.field]):
                    learnt = await asyncio.to_thread(learn, callback, kwargs, shape, error)
                else:
                    learnt = learn(callback, kwargs, shape, error)
                if not learnt:
                    raise
            reactions.set(reactions.get() + 1)
    finally:
        reactions.reset(token)


def _may_react(callback: ChatMend, kwargs: Mapping[str, Any], shape: Shape) -> bool:
    return (
        reactions.get() < callback.react
        and not kwargs.get("fallbacks")
        and has_transcript(kwargs, shape)
    )


def learn(callback: ChatMend, kwargs: Mapping[str, Any], shape: Shape, error: Exception) -> bool:
    """Keep what a refusal shows for the conversation; return whether there is something new."""
    with callback.failures.guard("the refusal is returned"):
        target = target_of(kwargs)
        lesson = callback.learn(dict(kwargs), shape, target, error)
        if lesson is None:
            return False
        _log.info("chatmend repeats a request to %s: its refusal shows %s", target, lesson.limit)
        return True
    return False
