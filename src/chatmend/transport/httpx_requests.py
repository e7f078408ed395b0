"""Repairs and repeats the requests of httpx and httpx2, which have the same classes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from chatmend.transport.calls import EXTENSION, PassedCall
from chatmend.transport.request_repair import BETA_HEADER, HEAVY

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from chatmend.transport.calls import RepairedCall
    from chatmend.transport.request_repair import RequestRepair


class RepairingSender:
    """Repairs requests before another transport sends them.

    ``library`` is the module httpx or httpx2, whose classes the requests have.
    """

    def __init__(self, library: Any, repair: RequestRepair) -> None:  # noqa: ANN401 - a module
        """``repair`` holds the options, and what is known of the conversations."""
        self._library = library
        self._repair = repair

    def send(self, request: Any, send: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - two libraries
        """Repair a request, send it, and send it again after a refusal that a repair answers."""
        if not self._repair.is_transcript(request.method, request.url.path):
            return send(request)
        call: RepairedCall | PassedCall | None
        if (call := self._repair.pass_unread(str(request.url), request.headers)) is None:
            call = self._repair.repair(*_parts_of(request), request.read())
        if isinstance(call, PassedCall):
            return _with_report(send(request), call)
        while True:
            response = send(self._with_body(request, call))
            self._repair.note_status(call, response.status_code)
            if not self._repair.may_react(call, response.status_code):
                break
            raw = b"".join(response.stream)
            response.close()
            response = self._copy(response, raw)
            if not self._repair.learn(call, response.status_code, response.text):
                break
        return _with_report(response, call)

    async def send_async(self, request: Any, send: Callable[[Any], Awaitable[Any]]) -> Any:  # noqa: ANN401
        """Do the same as `send` for an asynchronous client; repair long bodies in a thread."""
        if not self._repair.is_transcript(request.method, request.url.path):
            return await send(request)
        call: RepairedCall | PassedCall | None
        if (call := self._repair.pass_unread(str(request.url), request.headers)) is None:
            content = await request.aread()
            repair = partial(self._repair.repair, *_parts_of(request), content)
            call = await _run(repair, is_heavy=len(content) > HEAVY)
        if isinstance(call, PassedCall):
            return _with_report(await send(request), call)
        while True:
            response = await send(self._with_body(request, call))
            self._repair.note_status(call, response.status_code)
            if not self._repair.may_react(call, response.status_code):
                break
            raw = b"".join([chunk async for chunk in response.stream])
            await response.aclose()
            response = self._copy(response, raw)
            learn = partial(self._repair.learn, call, response.status_code, response.text)
            if not await _run(learn, is_heavy=len(call.raw) > HEAVY):
                break
        return _with_report(response, call)

    def _with_body(self, request: Any, call: RepairedCall) -> Any:  # noqa: ANN401
        """Return the request to send; the same object if its body is unchanged."""
        content = call.content()
        if content is None:
            return request
        headers = request.headers.copy()
        headers.pop("transfer-encoding", None)
        headers["Content-Length"] = str(len(content))
        if betas := call.betas(headers.get(BETA_HEADER)):
            headers[BETA_HEADER] = betas
        return self._library.Request(
            request.method,
            request.url,
            headers=headers,
            content=content,
            extensions=request.extensions,
        )

    def _copy(self, response: Any, raw: bytes) -> Any:  # noqa: ANN401
        """Return a response that was read, with the same bytes."""
        return self._library.Response(
            response.status_code,
            headers=response.headers,
            content=raw,
            extensions=response.extensions,
        )


def _parts_of(request: Any) -> tuple[str, str, Any]:  # noqa: ANN401
    return str(request.url), request.url.path, request.headers


def _with_report(response: Any, call: RepairedCall | PassedCall) -> Any:  # noqa: ANN401
    response.extensions = {**response.extensions, EXTENSION: call.report}
    return response


async def _run(work: Callable[[], Any], *, is_heavy: bool) -> Any:  # noqa: ANN401
    if not is_heavy:
        return work()
    from anyio import to_thread  # noqa: PLC0415 - a dependency of httpx

    return await to_thread.run_sync(work)
