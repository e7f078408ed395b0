"""The HTTP application: reads a request, judges it, answers it, and writes down the verdict."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect
from starlette.requests import Request as Http
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from chatmend.sandbox.answers import Answer, Ask, Call, compose
from chatmend.sandbox.endpoints import ENDPOINTS, Endpoint
from chatmend.sandbox.ledger import Ledger, Verdict
from chatmend.sandbox.memory import Memory, count
from chatmend.sandbox.refusals import Refusal, Table, table
from chatmend.sandbox.request import Request
from chatmend.sandbox.script import Failure, Reply, Script
from chatmend.sandbox.side_routes import side_routes

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping

_log = logging.getLogger(__name__)
_BIG = 65_536
"""Bodies from this size are judged in a thread: decoding images must not stop other clients."""
_LOOK_UP = 64
"""After so many events of a stream the server looks whether the client is still there."""
_SLOT = re.compile(r"\{(\d+)\}")
_CREDENTIALS = ("authorization", "x-api-key", "x-goog-api-key", "api-key")


class StreamCutError(Exception):
    """A script asked to break the connection here."""


class Sandbox:
    """What all endpoints of one server share."""

    def __init__(self, ledger: Ledger, script: Script, *, strict_signatures: bool = False) -> None:
        """Keep what the endpoints share."""
        self.ledger = ledger
        self.script = script
        self.memory = Memory()
        self.strict_signatures = strict_signatures


def build(shared: Sandbox) -> Starlette:
    """The application with every endpoint."""
    routes = [Route(endpoint.path, _Handler(endpoint, shared), methods=["POST"]) for endpoint in ENDPOINTS]

    async def unknown(http: Http, _error: Exception) -> Response:
        owner = http.url.path.strip("/").split("/")[0]
        known = {endpoint.provider: endpoint.table for endpoint in ENDPOINTS}
        return _error_response(
            _special(
                table(known.get(owner, "openai")),
                "unknown-path",
                _id(http.url.path),
                path=http.url.path,
                method=http.method,
            )
        )

    return Starlette(routes=[*routes, *side_routes()], exception_handlers={404: unknown, 405: unknown})


def _id(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _special(rules: Table, code: str, digest: str, **values: Any) -> Refusal:
    return rules.refuse(rules.rules[code], values, f"req_{digest[:24]}")


def _error_response(refusal: Refusal) -> Response:
    return Response(refusal.body, refusal.status, {**refusal.headers, "x-sandbox-rule": refusal.code})


class _Handler:
    """Answers the requests of one endpoint."""

    def __init__(self, endpoint: Endpoint, shared: Sandbox) -> None:
        self._endpoint = endpoint
        self._shared = shared
        self._table = table(endpoint.table)
        self.__name__ = endpoint.path

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        response = await self._respond(Http(scope, receive))
        await response(scope, receive, send)

    async def _respond(self, http: Http) -> Response:
        number = self._shared.ledger.next_number()
        try:
            raw, size = await _read(http, int(self._table.settings.get("max_body", 0)) or None)
        except ClientDisconnect:
            self._note(number, http, "", 499, note="the client went away while sending")
            return Response(status_code=499)
        try:
            if len(raw) >= _BIG:
                return await run_in_threadpool(self._judge, http, number, raw, size)
            return self._judge(http, number, raw, size)
        except Exception:  # noqa: BLE001 - whatever it is, the caller gets an answer
            _log.exception("the sandbox failed on request %d to %s", number, self._endpoint.path)
            self._note(number, http, "", 500, note="the sandbox itself failed")
            return _error_response(self._special("server-error", raw))

    def _judge(self, http: Http, number: int, raw: bytes, size: int) -> Response:
        if line := self._shared.script.failure():
            return self._fail(http, number, line)
        if size > len(raw):
            return self._refuse(http, number, None, self._special("body-too-large", raw, size=size))
        if "json" not in http.headers.get("content-type", "json"):
            return self._refuse(http, number, None, self._special("content-type", raw))
        try:
            return self._judge_body(http, number, raw)
        except RecursionError:  # some Pythons read JSON deeper than they can walk: all of it is too deep
            return self._refuse(http, number, None, self._special("malformed-json", raw, why="the body is no JSON"))

    def _judge_body(self, http: Http, number: int, raw: bytes) -> Response:
        try:
            body = json.loads(raw)
        except ValueError as error:
            return self._refuse(http, number, None, self._special("malformed-json", raw, why=str(error)))
        if not isinstance(body, dict):
            return self._refuse(http, number, None, self._special("not-an-object", raw))
        return self._decide(http, number, self._request(http, body, raw))

    def _special(self, code: str, raw: bytes, **values: Any) -> Refusal:
        return _special(self._table, code, hashlib.sha256(raw).hexdigest(), **values)

    def _request(self, http: Http, body: dict[str, Any], raw: bytes) -> Request:
        endpoint = self._endpoint
        headers = dict(http.headers)
        if http.query_params.get("alt") == "sse":
            headers["x-sandbox-alt"] = "sse"
        credential = next((headers[name] for name in _CREDENTIALS if name in headers), "")
        if "credential=" in credential.lower():
            credential = credential.split("Credential=")[-1].split("/")[0]  # AWS: the rest changes with every request
        stream = endpoint.stream
        if stream is None:
            stream = bool(body.get("stream", endpoint.always))
        return Request(
            provider=endpoint.provider,
            model=str(http.path_params.get("model") or body.get("model") or ""),
            body=body,
            memory=self._shared.memory,
            table=endpoint.table,
            headers=headers,
            key=_id(credential)[:16],
            stream=stream,
            strict_signatures=self._shared.strict_signatures,
            raw=raw,
        )

    def _decide(self, http: Http, number: int, request: Request) -> Response:
        found = self._table.first(self._endpoint.faults(request), request.provider, request.model)
        if found is not None:
            rule, broken = found
            refusal = self._table.refuse(rule, broken.values, f"req_{request.digest()[:24]}")
            return self._refuse(http, number, request, refusal)
        wire = self._endpoint.wire
        owner = f"{request.provider}|{request.key}|{request.model}"
        prompt = count(request.memory, owner, wire.segments(request), markers=wire.MARKERS)
        verdict = self._verdict(number, http, request.model, 200, request)
        verdict = replace(verdict, prompt=prompt.total, cached=prompt.read, stream=request.stream)
        if self._endpoint.counts:
            self._shared.ledger.add(verdict)
            return JSONResponse({"input_tokens": prompt.total})
        line = self._shared.script.reply()
        ids = self._call_ids(request, len(line.calls) if line else 1)
        answer = _scripted(line, self._empty(request, prompt), wire.ask(request), ids)
        return self._answer(http, request, answer, verdict, line or Reply())

    def _empty(self, request: Request, prompt: Any) -> Answer:
        default = "resp_{48}" if "responses" in self._endpoint.path else "chatcmpl-{24}"
        shape = default if "responses" in self._endpoint.path else str(self._table.settings.get("message_id", default))
        return Answer(_fill(shape, request.digest()), request.model, prompt=prompt)

    def _call_ids(self, request: Request, number: int) -> list[str]:
        shape, digest = str(self._table.settings.get("call_id", "call_{24}")), request.digest()
        return [_fill(shape, _id(f"{digest}{at}")) for at in range(number)]

    def _answer(self, http: Http, request: Request, answer: Answer, verdict: Verdict, line: Reply) -> Response:
        wire = self._endpoint.wire
        headers = {"x-request-id": f"req_{request.digest()[:24]}"}
        if self._endpoint.table == "anthropic":
            headers["request-id"] = headers["x-request-id"]
        if not request.stream:
            self._shared.ledger.add(verdict)
            body = wire.whole(answer, request)
            return _Late(
                line.first_token_after, json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"), headers
            )
        events = self._stream(http, wire.events(answer, request), line, verdict)
        return StreamingResponse(events, media_type=wire.MEDIA_TYPE, headers=headers)

    async def _stream(self, http: Http, events: Iterable[bytes], line: Reply, verdict: Verdict) -> AsyncIterator[bytes]:
        note = "the client went away in the middle of the stream"
        try:
            await asyncio.sleep(line.first_token_after)
            for at, event in enumerate(events):
                if at % _LOOK_UP == 0 and await http.is_disconnected():
                    return
                if at == line.cut_after:
                    note = "the stream was cut, as scripted"
                    raise StreamCutError
                yield event
            note = ""
        finally:
            self._shared.ledger.add(replace(verdict, note=note))

    def _fail(self, http: Http, number: int, line: Failure) -> Response:
        code = {429: "rate-limited", 529: "overloaded", 503: "overloaded"}.get(line.status, "server-error")
        refusal = _special(self._table, code, _id(str(number)), path=http.url.path)
        filled = {
            **self._table.rules[code].fields,
            "text": line.message or refusal.text,
            "status": line.status,
            "id": f"req_{number}",
        }
        refusal = self._table.wrap(code, self._table.rules[code].envelope, filled)
        wait = {} if line.retry_after is None else {"retry-after": f"{line.retry_after:g}"}
        self._note(number, http, "", line.status, rule=code, note="scripted")
        return Response(refusal.body, refusal.status, {**refusal.headers, **wait})

    def _refuse(self, http: Http, number: int, request: Request | None, refusal: Refusal) -> Response:
        model = request.model if request is not None else ""
        verdict = self._verdict(number, http, model, refusal.status, request)
        self._shared.ledger.add(replace(verdict, rule=refusal.code, text=refusal.text))
        return self._in_shape(request, refusal)

    def _in_shape(self, request: Request | None, refusal: Refusal) -> Response:
        """Gemini wraps the error of a stream that is no SSE in an array."""
        array = request is not None and request.stream and self._endpoint.table == "gemini"
        if array and request is not None and "x-sandbox-alt" not in request.headers:
            return _error_response(replace(refusal, body=b"[" + refusal.body + b"]"))
        return _error_response(refusal)

    def _verdict(self, number: int, http: Http, model: str, status: int, request: Request | None) -> Verdict:
        body = request.body if request is not None and self._shared.ledger.bodies else None
        return Verdict(number, self._endpoint.provider, http.url.path, model, status, body=body)

    def _note(self, number: int, http: Http, model: str, status: int, **more: Any) -> None:
        self._shared.ledger.add(replace(self._verdict(number, http, model, status, None), **more))


class _Late(Response):
    """A whole answer that may begin late."""

    def __init__(self, seconds: float, content: bytes, headers: Mapping[str, str]) -> None:
        super().__init__(content, 200, headers, "application/json")
        self._seconds = seconds

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if self._seconds:
            await asyncio.sleep(self._seconds)
        await super().__call__(scope, receive, send)


def _fill(shape: str, digest: str) -> str:
    """``msg_01{22}``: a prefix, and so many characters of a hash."""
    return _SLOT.sub(lambda slot: digest[: int(slot[1])], shape)


def _scripted(line: Reply | None, empty: Answer, ask: Ask, call_ids: list[str]) -> Answer:
    if line is None:
        return compose(ask, empty, call_ids)
    calls = tuple(Call(call_ids[at], name, arguments) for at, (name, arguments) in enumerate(line.calls))
    finish = line.finish or ("tool_calls" if calls else "stop")
    return replace(empty, text=line.text, thought=line.thought, calls=calls, finish=finish)


async def _read(http: Http, most: int | None) -> tuple[bytes, int]:
    """The body and its size. What is over the limit is read and thrown away, so that the client hears the answer."""
    kept, size = bytearray(), 0
    async for chunk in http.stream():
        size += len(chunk)
        if most is None or size <= most:
            kept += chunk
    return bytes(kept), size
