"""The HTTP application: validates requests, answers them and records the verdicts."""

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

from chatmend.sandbox.answers import Answer, Call, NormalizedRequest, compose
from chatmend.sandbox.endpoints import ENDPOINTS, Endpoint
from chatmend.sandbox.ledger import Ledger, Verdict
from chatmend.sandbox.memory import SandboxMemory, count_prompt
from chatmend.sandbox.refusals import RefusalResponse, RefusalTable, load_table
from chatmend.sandbox.request import SandboxRequest
from chatmend.sandbox.script import Failure, Refusal, Reply, Script, ScriptedChanges
from chatmend.sandbox.side_routes import side_routes
from chatmend.sandbox.status_page import status_route

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping

_log = logging.getLogger(__name__)
_THREAD_BODY_SIZE = 65_536
"""Bodies of at least this size (bytes) are validated in a thread.

Decoding their images would block other clients.
"""
_DISCONNECT_CHECK_INTERVAL = 64
"""After this many events of a stream the server checks whether the client is connected."""
_SLOT = re.compile(r"\{(\d+)\}")
_RULES_BY_STATUS = {
    404: "unknown-path",
    413: "body-too-large",
    415: "content-type",
    429: "rate-limited",
    503: "overloaded",
    529: "overloaded",
}
"""The rule whose error type a scripted refusal has."""
_FIRST_SERVER_ERROR = 500
_CREDENTIALS = ("authorization", "x-api-key", "x-goog-api-key", "api-key")


class StreamCutError(Exception):
    """Raised to break a connection, as a script requested."""


class SharedState:
    """The state that all endpoints of a server share."""

    def __init__(
        self,
        ledger: Ledger,
        script: Script,
        *,
        strict_signatures: bool = False,
        request_timeout: float = 60,
    ) -> None:
        """Start with an empty memory."""
        self.request_timeout = request_timeout
        self.ledger = ledger
        self.script = script
        self.changes = ScriptedChanges()
        self.memory = SandboxMemory()
        self.strict_signatures = strict_signatures


def build(shared: SharedState) -> Starlette:
    """Build the application with all endpoints."""
    routes = [
        Route(endpoint.path, _Handler(endpoint, shared), methods=["POST"]) for endpoint in ENDPOINTS
    ]

    async def unknown(http: Http, _error: Exception) -> Response:
        owner = http.url.path.strip("/").split("/")[0]
        known = {endpoint.provider: endpoint.table for endpoint in ENDPOINTS}
        return _error_response(
            _build_refusal(
                load_table(known.get(owner, "openai")),
                "unknown-path",
                _id(http.url.path),
                path=http.url.path,
                method=http.method,
            )
        )

    return Starlette(
        routes=[
            *routes,
            *side_routes(),
            status_route(shared.ledger, shared.script, shared.changes),
        ],
        exception_handlers={404: unknown, 405: unknown},
    )


def _id(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _build_refusal(rules: RefusalTable, code: str, digest: str, **values: Any) -> RefusalResponse:
    return rules.refuse(rules.rules[code], values, f"req_{digest[:24]}")


def _error_response(refusal: RefusalResponse) -> Response:
    return Response(
        refusal.body, refusal.status, {**refusal.headers, "x-sandbox-rule": refusal.code}
    )


class _Handler:
    """Answers the requests of one endpoint."""

    def __init__(self, endpoint: Endpoint, shared: SharedState) -> None:
        self._endpoint = endpoint
        self._shared = shared
        self._table = load_table(endpoint.table)
        self.__name__ = endpoint.path

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        response = await self._respond(Http(scope, receive))
        await response(scope, receive, send)

    async def _respond(self, http: Http) -> Response:
        number = self._shared.ledger.next_number()
        try:
            async with asyncio.timeout(self._shared.request_timeout):
                raw, size = await _read(http, int(self._table.settings.get("max_body", 0)) or None)
        except TimeoutError:
            self._add_verdict(number, http, "", 408, note="the client sent the request too slowly")
            text = "the request was not sent in time"
            return JSONResponse(
                {"error": {"message": text, "type": "timeout"}}, 408, {"connection": "close"}
            )
        except ClientDisconnect:
            self._add_verdict(number, http, "", 499, note="the client disconnected while sending")
            return Response(status_code=499)
        try:
            if len(raw) >= _THREAD_BODY_SIZE:
                return await run_in_threadpool(self._judge, http, number, raw, size)
            return self._judge(http, number, raw, size)
        except Exception:  # noqa: BLE001 - a failure of the sandbox is answered with status 500
            _log.exception("the sandbox failed on request %d to %s", number, self._endpoint.path)
            self._add_verdict(number, http, "", 500, note="the sandbox itself failed")
            return _error_response(self._build_refusal("server-error", raw))

    def _judge(self, http: Http, number: int, raw: bytes, size: int) -> Response:
        if entry := self._shared.script.failure():
            return self._fail(http, number, entry)
        if size > len(raw):
            return self._refuse(
                http, number, None, self._build_refusal("body-too-large", raw, size=size)
            )
        is_json = "json" in http.headers.get("content-type", "json")
        if not (is_json or self._table.settings.get("reads_any_content_type")):
            return self._refuse(http, number, None, self._build_refusal("content-type", raw))
        try:
            return self._judge_body(http, number, raw)
        except RecursionError:  # too deep to walk, although some Pythons can parse it
            return self._refuse(
                http,
                number,
                None,
                self._build_refusal("malformed-json", raw, why="the body is not valid JSON"),
            )

    def _judge_body(self, http: Http, number: int, raw: bytes) -> Response:
        try:
            body = json.loads(raw)
        except ValueError as error:
            return self._refuse(
                http, number, None, self._build_refusal("malformed-json", raw, why=str(error))
            )
        if not isinstance(body, dict):
            return self._refuse(http, number, None, self._build_refusal("not-an-object", raw))
        return self._decide(http, number, self._request(http, body, raw))

    def _build_refusal(self, code: str, raw: bytes, **values: Any) -> RefusalResponse:
        return _build_refusal(self._table, code, hashlib.sha256(raw).hexdigest(), **values)

    def _request(self, http: Http, body: dict[str, Any], raw: bytes) -> SandboxRequest:
        endpoint = self._endpoint
        headers = dict(http.headers)
        if http.query_params.get("alt") == "sse":
            headers["x-sandbox-alt"] = "sse"
        credential = next((headers[name] for name in _CREDENTIALS if name in headers), "")
        if "credential=" in credential.lower():
            # AWS: the rest differs in every request.
            credential = credential.split("Credential=")[-1].split("/")[0]
        stream = endpoint.stream
        if stream is None:
            stream = bool(body.get("stream", endpoint.streams_by_default))
        return SandboxRequest(
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
            changes=self._shared.changes,
        )

    def _decide(self, http: Http, number: int, request: SandboxRequest) -> Response:
        found = self._table.first_refused(
            self._endpoint.faults(request), request.provider, request.model
        )
        if found is not None:
            rule, broken = found
            refusal = self._table.refuse(rule, broken.values, f"req_{request.digest()[:24]}")
            return self._refuse(http, number, request, refusal)
        scripted = request.changes.refusal(request.provider, request.model, request.body)
        if scripted is not None:
            return self._refuse(http, number, request, self._scripted_refusal(request, *scripted))
        wire = self._endpoint.wire
        owner = f"{request.provider}|{request.key}|{request.model}"
        prompt = count_prompt(request.memory, owner, wire.segments(request), markers=wire.MARKERS)
        verdict = self._verdict(number, http, request.model, 200, request)
        verdict = replace(verdict, prompt=prompt.total, cached=prompt.read, stream=request.stream)
        if self._endpoint.counts_tokens:
            self._shared.ledger.add(verdict)
            return JSONResponse({"input_tokens": prompt.total})
        entry = self._shared.script.reply()
        ids = self._call_ids(request, len(entry.calls) if entry else 1)
        answer = _scripted(entry, self._empty(request, prompt), wire.normalize(request), ids)
        return self._answer(http, request, answer, verdict, entry or Reply())

    def _empty(self, request: SandboxRequest, prompt: Any) -> Answer:
        default = "resp_{48}" if "responses" in self._endpoint.path else "chatcmpl-{24}"
        shape = (
            default
            if "responses" in self._endpoint.path
            else str(self._table.settings.get("message_id", default))
        )
        return Answer(_fill_id_template(shape, request.digest()), request.model, prompt=prompt)

    def _call_ids(self, request: SandboxRequest, number: int) -> list[str]:
        shape, digest = str(self._table.settings.get("call_id", "call_{24}")), request.digest()
        return [_fill_id_template(shape, _id(f"{digest}{at}")) for at in range(number)]

    def _answer(
        self, http: Http, request: SandboxRequest, answer: Answer, verdict: Verdict, entry: Reply
    ) -> Response:
        wire = self._endpoint.wire
        headers = {"x-request-id": f"req_{request.digest()[:24]}"}
        if self._endpoint.table == "anthropic":
            headers["request-id"] = headers["x-request-id"]
        if not request.stream:
            self._shared.ledger.add(verdict)
            body = wire.response_body(answer, request)
            return _DelayedResponse(
                entry.first_token_after,
                json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"),
                headers,
            )
        events = self._stream(http, wire.events(answer, request), entry, verdict)
        return StreamingResponse(events, media_type=wire.MEDIA_TYPE, headers=headers)

    async def _stream(
        self, http: Http, events: Iterable[bytes], entry: Reply, verdict: Verdict
    ) -> AsyncIterator[bytes]:
        note = "the client disconnected during the stream"
        try:
            await asyncio.sleep(entry.first_token_after)
            for at, event in enumerate(events):
                if at % _DISCONNECT_CHECK_INTERVAL == 0 and await http.is_disconnected():
                    return
                if at == entry.cut_after:
                    note = "the stream was cut, as scripted"
                    raise StreamCutError
                yield event
            note = ""
        finally:
            self._shared.ledger.add(replace(verdict, note=note))

    def _fail(self, http: Http, number: int, entry: Failure) -> Response:
        code = {429: "rate-limited", 529: "overloaded", 503: "overloaded"}.get(
            entry.status, "server-error"
        )
        refusal = _build_refusal(self._table, code, _id(str(number)), path=http.url.path)
        text = entry.message or refusal.text
        refusal = self._in_format_of(code, entry.status, text, f"req_{number}")
        wait = {} if entry.retry_after is None else {"retry-after": f"{entry.retry_after:g}"}
        self._add_verdict(number, http, "", entry.status, rule=code, note="scripted")
        return Response(refusal.body, refusal.status, {**refusal.headers, **wait})

    def _scripted_refusal(
        self, request: SandboxRequest, kind: Refusal, text: str
    ) -> RefusalResponse:
        default = "not-an-object" if kind.status < _FIRST_SERVER_ERROR else "server-error"
        code = _RULES_BY_STATUS.get(kind.status, default)
        refusal = self._in_format_of(code, kind.status, text, f"req_{request.digest()[:24]}")
        return replace(refusal, code="scripted")

    def _in_format_of(self, code: str, status: int, text: str, id_: str) -> RefusalResponse:
        """Return an error with its own status and text, in the format of another rule."""
        rule = self._table.rules[code]
        filled = {**rule.fields, "text": text, "status": status, "id": id_}
        return self._table.wrap(code, rule.envelope, filled)

    def _refuse(
        self, http: Http, number: int, request: SandboxRequest | None, refusal: RefusalResponse
    ) -> Response:
        model = request.model if request is not None else ""
        verdict = self._verdict(number, http, model, refusal.status, request)
        self._shared.ledger.add(replace(verdict, rule=refusal.code, text=refusal.text))
        return self._error_in_format(request, refusal)

    def _error_in_format(
        self, request: SandboxRequest | None, refusal: RefusalResponse
    ) -> Response:
        """Return the error response; Gemini wraps the error of a stream without SSE in an array."""
        array = request is not None and request.stream and self._endpoint.table == "gemini"
        if array and request is not None and "x-sandbox-alt" not in request.headers:
            return _error_response(replace(refusal, body=b"[" + refusal.body + b"]"))
        return _error_response(refusal)

    def _verdict(
        self, number: int, http: Http, model: str, status: int, request: SandboxRequest | None
    ) -> Verdict:
        body = request.body if request is not None and self._shared.ledger.bodies else None
        return Verdict(number, self._endpoint.provider, http.url.path, model, status, body=body)

    def _add_verdict(self, number: int, http: Http, model: str, status: int, **more: Any) -> None:
        self._shared.ledger.add(replace(self._verdict(number, http, model, status, None), **more))


class _DelayedResponse(Response):
    """A complete response that is sent after a delay."""

    def __init__(self, seconds: float, content: bytes, headers: Mapping[str, str]) -> None:
        super().__init__(content, 200, headers, "application/json")
        self._seconds = seconds

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if self._seconds:
            await asyncio.sleep(self._seconds)
        await super().__call__(scope, receive, send)


def _fill_id_template(shape: str, digest: str) -> str:
    """Fill a template such as ``msg_01{22}``: a prefix and 22 characters of a hash."""
    return _SLOT.sub(lambda slot: digest[: int(slot[1])], shape)


def _scripted(
    entry: Reply | None, empty: Answer, normalized: NormalizedRequest, call_ids: list[str]
) -> Answer:
    if entry is None:
        return compose(normalized, empty, call_ids)
    calls = tuple(
        Call(call_ids[at], name, arguments) for at, (name, arguments) in enumerate(entry.calls)
    )
    finish = entry.finish or ("tool_calls" if calls else "stop")
    return replace(empty, text=entry.text, thought=entry.thought, calls=calls, finish=finish)


async def _read(http: Http, max_size: int | None) -> tuple[bytes, int]:
    """Return the body of a request and its size.

    A body over the limit is read to its end and discarded, so that the client can receive the
    response.
    """
    body, size = bytearray(), 0
    async for chunk in http.stream():
        size += len(chunk)
        if max_size is None or size <= max_size:
            body += chunk
    return bytes(body), size
