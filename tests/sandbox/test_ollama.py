"""Broken messages of Ollama's ``/api/chat``, repaired, are accepted by the sandbox."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx

import chatmend
from tests.broken import broken
from tests.sandbox.posting import post
from tests.scale import examples

if TYPE_CHECKING:
    from chatmend.sandbox import Sandbox

TARGET = "ollama/llama3.1"


def send(sandbox: Sandbox, body: dict[str, Any]) -> str:
    """The error of the sandbox; empty if it accepts the body."""
    content = json.dumps({"model": "llama3.1", "stream": False, **body})
    answer = post(sandbox.url("ollama/api/chat"), content=content)
    return "" if answer.status_code == httpx.codes.OK else answer.text


def test_what_is_repaired_is_accepted(sandbox: Sandbox) -> None:
    refused = 0
    for seed in range(examples(25, 400)):
        body = {"messages": broken(seed, "ollama_chat")}
        done = chatmend.repair_request(body, TARGET, dialect="ollama_chat").body
        assert not send(sandbox, done), seed
        try:
            refused += bool(send(sandbox, body))
        except (TypeError, ValueError, RecursionError):  # it cannot be encoded as JSON
            refused += 1
    assert refused > 10
