"""Reads the usage of a stream whose partner package does not keep all of it.

The provider reports the details once, in the stream, and such a package drops them. For one
call, the model gets wrapped HTTP clients, or a wrapped method that converts events, which also
feed a ``UsageStream``. The originals do the work; the caller's model and clients are not changed.
"""

from __future__ import annotations

import copy
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from langchain_core.language_models import BaseChatModel

    from chatmend.langchain.partners import Destination
    from chatmend.usage import UsageStream


def observe_stream(
    model: BaseChatModel, destination: Destination
) -> tuple[BaseChatModel, UsageStream | None]:
    """Return a copy of the model that records the usage of one stream, and that record.

    If the chunks of the partner package are complete, return the model itself and None.
    """
    fields = model.__dict__
    clients = {name: fields[name] for name in destination.clients if fields.get(name) is not None}
    event_method = destination.event_method
    convert_event = getattr(model, event_method, None) if event_method else None
    if not clients and convert_event is None:
        return model, None
    from chatmend.usage import UsageStream  # noqa: PLC0415 - few models need it

    target = destination.target
    usage_stream = UsageStream(target.provider or None, target.model or None)
    new = copy.copy(model)
    for name, client in clients.items():
        new.__dict__[name] = _ObservedClient(client, usage_stream)
    if convert_event is not None:
        new.__dict__[event_method] = partial(_feed_event, convert_event, usage_stream)
    return new, usage_stream


def _feed_event(
    convert: Callable[..., Any], usage_stream: UsageStream, event: Any, *args: Any, **options: Any
) -> Any:
    """Feed an event of an SDK to a ``UsageStream`` if it may hold usage, and convert it."""
    if hasattr(event, "usage") or hasattr(event, "message"):
        usage_stream.feed(event)
    return convert(event, *args, **options)


class _ObservedClient:
    """An httpx client that feeds the text of its streams to a ``UsageStream``."""

    def __init__(self, client: Any, usage_stream: UsageStream) -> None:
        self._client, self._usage_stream = client, usage_stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def stream(self, *args: Any, **options: Any) -> _ObservedStream:
        return _ObservedStream(self._client.stream(*args, **options), self._usage_stream)


class _ObservedStream:
    """The context manager of a streamed response, sync or async."""

    def __init__(self, context: Any, usage_stream: UsageStream) -> None:
        self._context, self._usage_stream = context, usage_stream

    def __enter__(self) -> Any:
        return self._observe(self._context.__enter__())

    def __exit__(self, *error: object) -> Any:
        return self._context.__exit__(*error)

    async def __aenter__(self) -> Any:
        return self._observe(await self._context.__aenter__())

    async def __aexit__(self, *error: object) -> Any:
        return await self._context.__aexit__(*error)

    def _observe(self, response: Any) -> Any:
        response.iter_text = partial(_feed_pieces, response.iter_text, self._usage_stream)
        response.aiter_text = partial(_feed_pieces_async, response.aiter_text, self._usage_stream)
        return response


def _feed_pieces(
    read: Callable[..., Any], usage_stream: UsageStream, *args: Any, **options: Any
) -> Iterator[str]:
    for piece in read(*args, **options):
        usage_stream.feed(piece)
        yield piece


async def _feed_pieces_async(
    read: Callable[..., Any], usage_stream: UsageStream, *args: Any, **options: Any
) -> AsyncIterator[str]:
    async for piece in read(*args, **options):
        usage_stream.feed(piece)
        yield piece
