"""A real HTTP server on this machine that refuses transcripts as Mistral and Anthropic do.

It holds no rules of ours. ``POST /v1/chat/completions`` asks Mistral's own validator (``mistral_common``, in serving
mode) for every model whose name begins with ``mistral``; ``POST /v1/messages`` asks the pairing check of the MCP SDK.
What they refuse is answered with status 400 and the provider's error body; anything else with a plausible reply.
"""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from mcp.server.validation import validate_tool_use_result_messages
from mcp_types import SamplingMessage
from mistral_common.exceptions import InvalidFunctionCallException, MistralCommonException
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.validator import ValidationMode, get_validator
from mistral_common.tokens.tokenizers.base import TokenizerVersion
from pydantic import ValidationError

if TYPE_CHECKING:
    from collections.abc import Iterator

Body = dict[str, Any]

_REPLY = "Understood."


class Refused(Exception):  # noqa: N818 - it is an answer, not a fault
    """The request is answered with an error: its status and body."""

    def __init__(self, status: int, body: Body) -> None:
        """Keep what is to be answered."""
        super().__init__(status)
        self.status = status
        self.body = body


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer one request."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            answer = {"/v1/chat/completions": _chat, "/v1/messages": _messages}[self.path](body)
            self._send(200, answer)
        except Refused as refused:
            self._send(refused.status, refused.body)
        except KeyError:
            self._send(404, {"error": {"message": f"no such path: {self.path}"}})

    def _send(self, status: int, answer: Body) -> None:
        payload = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, *_: object) -> None:
        """Stay quiet: transcripts do not belong on a terminal."""


def _chat(body: Body) -> Body:
    if str(body.get("model", "")).startswith("mistral"):
        _ask_mistral(body)
    return {
        "id": "chatcmpl-loopback",
        "object": "chat.completion",
        "created": 0,
        "model": body.get("model"),
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": _REPLY}, "finish_reason": "stop"},
        ],
        "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15},
    }


def _ask_mistral(body: Body) -> None:
    asked = {key: body[key] for key in ("model", "messages", "tools") if body.get(key)}
    try:
        request = ChatCompletionRequest.model_validate(asked)
        get_validator(TokenizerVersion.v11, ValidationMode.serving).validate_request(request)
    except ValidationError as error:
        detail = [{"loc": list(item["loc"]), "msg": item["msg"], "type": item["type"]} for item in error.errors()]
        raise Refused(
            422, {"object": "error", "message": {"detail": detail}, "type": "invalid_request_error"}
        ) from error
    except MistralCommonException as error:
        kind, code = ("invalid_request_message_order", "3230")
        if isinstance(error, InvalidFunctionCallException):
            kind, code = ("invalid_function_call", "3280")
        raise Refused(
            400, {"object": "error", "message": str(error), "type": kind, "param": None, "code": code}
        ) from error


def _messages(body: Body) -> Body:
    turns = _folded(body["messages"])
    # An open call at the very end is refused as well: an empty turn behind it lets the pairing check see it.
    for index, (before, after) in enumerate(pairwise([{"role": "user", "content": ""}, *turns, {"content": ""}])):
        try:
            validate_tool_use_result_messages([_sampling(before), _sampling(after)])
        except ValueError as error:
            raise Refused(400, _anthropic_error(index, before, after)) from error
    return {
        "id": "msg_loopback",
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": [{"type": "text", "text": _REPLY}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 12, "output_tokens": 3},
    }


def _folded(messages: list[Body]) -> list[Body]:
    """Join neighbours of the same role, as Anthropic does before it looks at them."""
    turns: list[Body] = []
    for message in messages:
        if turns and turns[-1]["role"] == message["role"]:
            turns[-1] = {**message, "content": [*_blocks(turns[-1]), *_blocks(message)]}
        else:
            turns.append(message)
    return turns


def _blocks(message: Body) -> list[Body]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _sampling(message: Body) -> SamplingMessage:
    """Return a turn as the MCP SDK writes it. Anthropic takes words behind tool results, so those are left away."""
    blocks = [_sampling_block(block) for block in _blocks(message)]
    results = [block for block in blocks if block["type"] == "tool_result"]
    if results and blocks[: len(results)] == results:
        blocks = results
    return SamplingMessage.model_validate({"role": message.get("role", "user"), "content": blocks})


def _sampling_block(block: Body) -> Body:
    if block["type"] == "tool_use":
        return {"type": "tool_use", "id": block["id"], "name": block["name"], "input": block["input"]}
    if block["type"] == "tool_result":
        return {"type": "tool_result", "toolUseId": block["tool_use_id"], "content": []}
    return {"type": "text", "text": str(block.get("text", ""))}


def _anthropic_error(index: int, before: Body, after: Body) -> Body:
    """Return Anthropic's words for a pair of turns that do not fit; ``index`` counts the second one."""
    called = [block["id"] for block in _blocks(before) if block["type"] == "tool_use"]
    answered = [block["tool_use_id"] for block in _blocks(after) if block["type"] == "tool_result"]
    orphans = [call for call in answered if call not in called]
    if orphans:
        at = next(i for i, block in enumerate(_blocks(after)) if block.get("tool_use_id") == orphans[0])
        message = (
            f"messages.{index}.content.{at}: unexpected `tool_use_id` found in `tool_result` blocks: {orphans[0]}. "
            "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
        )
    else:
        # Results that stand behind words count as missing, too.
        missing = [call for call in called if call not in answered] or called
        message = (
            f"messages.{index - 1}: `tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in the next "
            "message."
        )
    return {
        "type": "error",
        "error": {"type": "invalid_request_error", "message": message},
        "request_id": "req_loopback",
    }


@contextmanager
def loopback() -> Iterator[str]:
    """Serve while the block runs, and yield the address: ``http://127.0.0.1:PORT``."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
