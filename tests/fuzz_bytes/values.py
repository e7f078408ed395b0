"""Targets that read JSON values: transcripts of each wire format, request bodies, usage payloads."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import chatmend
from chatmend import TranscriptError, normalize_usage
from chatmend.dialects import DIALECTS
from tests.broken import broken, digest, torn
from tests.fuzz_bytes.target import FuzzTarget, as_json
from tests.targets import ALL


def transcript(dialect: str, data: bytes) -> None:
    """Arbitrary messages: the repair is pure and idempotent, and its changes give the result."""
    value = json.loads(data)
    messages = value if isinstance(value, list) else [value]
    targets = [target for written, target in ALL if written == dialect]
    target = targets[len(data) % len(targets)]
    before = digest(messages)
    try:
        done = chatmend.repair(messages, target, dialect=dialect)
    except TranscriptError:
        return
    assert digest(messages) == before, "the input was changed"
    assert chatmend.replay(messages, done.changes) == done.messages, "replay"
    again = chatmend.repair(done.messages, target, dialect=dialect, system=done.system)
    assert again.messages is done.messages, again.report()


def request_body(data: bytes) -> None:
    """An arbitrary request body whose wire format has to be recognised."""
    value = json.loads(data)
    body = value if isinstance(value, dict) else {"messages": value}
    target = ALL[len(data) % len(ALL)][1]
    before = digest(body)
    try:
        chatmend.repair_request(body, target)
    except TranscriptError:
        return
    assert digest(body) == before, "the input was changed"


def usage_payload(data: bytes) -> None:
    """The usage of an arbitrary payload: nothing is raised, no count is negative."""
    usage = normalize_usage(json.loads(data))
    counts = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens)
    assert all(count is None or count >= 0 for count in counts), counts


def _transcripts(dialect: str) -> list[bytes]:
    return as_json([make(seed, dialect) for seed in range(10) for make in (broken, torn)])


def _bodies() -> list[bytes]:
    keys = {"gemini_contents": "contents", "openai_responses": "input"}
    return as_json(
        [
            {"model": "m", keys.get(dialect, "messages"): broken(seed, dialect)}
            for seed in range(4)
            for dialect in DIALECTS
        ]
    )


def _payloads() -> list[bytes]:
    payloads: list[Any] = [
        {"usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}},
        {"usage": {"input_tokens": 5, "cache_read_input_tokens": 3, "output_tokens": 2}},
        {"usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 2}},
        {"usage": {"inputTokens": 5, "outputTokens": 2, "cacheReadInputTokens": 1}},
        {"meta": {"tokens": {"input_tokens": 5}, "billed_units": {"input_tokens": 4}}},
    ]
    return as_json(payloads)


TARGETS = [
    *(
        FuzzTarget(
            f"transcript_{dialect}",
            partial(transcript, dialect),
            partial(_transcripts, dialect),
            is_json=True,
        )
        for dialect in DIALECTS
    ),
    FuzzTarget("request_body", request_body, _bodies, is_json=True),
    FuzzTarget("usage_payload", usage_payload, _payloads, is_json=True),
]
