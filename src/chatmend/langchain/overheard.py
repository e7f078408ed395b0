"""The account of a stream, overheard on its way to a partner package that keeps three totals of it.

What a package leaves out of its chunks is nowhere else: the provider says it once. The model gets HTTP clients for this
one call whose streams tell what passes; the caller's own clients do the work and are not changed.
"""

from __future__ import annotations

import copy
from functools import partial
from typing import TYPE_CHECKING, Any

from chatmend.usage import UsageStream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from langchain_core.language_models import BaseChatModel

    from chatmend.langchain.partners import Place


def overhear(model: BaseChatModel, place: Place) -> tuple[BaseChatModel, UsageStream | None]:
    """The model for one stream, and the account of it; the model itself, and None, where chunks carry everything."""
    held = {name: client for name in place.clients if (client := model.__dict__.get(name)) is not None}
    if not held:
        return model, None
    account = UsageStream(place.target.provider or None, place.target.model or None)
    new = copy.copy(model)
    new.__dict__.update({name: _Client(client, account) for name, client in held.items()})
    return new, account


class _Client:
    """An httpx client whose streams are overheard."""

    def __init__(self, client: Any, account: UsageStream) -> None:
        self._client, self._account = client, account

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def stream(self, *args: Any, **options: Any) -> _Stream:
        return _Stream(self._client.stream(*args, **options), self._account)


class _Stream:
    """The context of a response, plain or async."""

    def __init__(self, context: Any, account: UsageStream) -> None:
        self._context, self._account = context, account

    def __enter__(self) -> Any:
        return self._tapped(self._context.__enter__())

    def __exit__(self, *error: object) -> Any:
        return self._context.__exit__(*error)

    async def __aenter__(self) -> Any:
        return self._tapped(await self._context.__aenter__())

    async def __aexit__(self, *error: object) -> Any:
        return await self._context.__aexit__(*error)

    def _tapped(self, response: Any) -> Any:
        response.iter_text = partial(_pieces, response.iter_text, self._account)
        response.aiter_text = partial(_apieces, response.aiter_text, self._account)
        return response


def _pieces(read: Callable[..., Any], account: UsageStream, *args: Any, **options: Any) -> Iterator[str]:
    for piece in read(*args, **options):
        account.feed(piece)
        yield piece


async def _apieces(read: Callable[..., Any], account: UsageStream, *args: Any, **options: Any) -> AsyncIterator[str]:
    async for piece in read(*args, **options):
        account.feed(piece)
        yield piece
