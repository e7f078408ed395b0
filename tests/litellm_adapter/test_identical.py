"""Compare proxies with and without chatmend on a small sample of requests.

``python -m tests.litellm_adapter.identical`` compares recorded requests.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("fastapi", reason="the dependencies of the proxy are not installed")

from tests.litellm_adapter.identical import MODES, Judge, Request, pair, run
from tests.litellm_adapter.transcripts import (
    CHAT_TOOLS,
    MESSAGES_TOOLS,
    chat,
    contents,
    messages,
    responses,
)
from tests.scale import sampled

if TYPE_CHECKING:
    from pathlib import Path

HELLO = [{"role": "user", "content": "Hello"}]
_CHAT = {"model": "openai/gpt-4o", "messages": HELLO}
_FOREIGN = {"model": "foreign/qwen3", "messages": HELLO}
_MESSAGES = {"model": "anthropic/claude-sonnet-4-5", "max_tokens": 64, "messages": HELLO}
_RESPONSES = {"model": "openai/gpt-4o", "input": HELLO}
_CONTENTS = {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}
_GEMINI, _CLAUDE = "gemini/gemini-2.5-flash", "claude-sonnet-4-5"
_STREAM = {"stream": True, "stream_options": {"include_usage": True}}
TEXT_AND_CALL = [
    *HELLO,
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "I look."},
            {
                "type": "tool_use",
                "id": "toolu_1",
                "name": "get_weather",
                "input": {"city": "Berlin"},
            },
        ],
    },
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "18"}],
    },
]
"""Messages for which LiteLLM writes the text after the call when it converts them to items."""
BRIDGED = (
    "/v1/messages",
    {**_MESSAGES, "model": "openai/gpt-4o", "messages": TEXT_AND_CALL, "tools": MESSAGES_TOOLS},
)
VALID: list[tuple[str, dict[str, Any]]] = [
    ("/v1/chat/completions", _CHAT),
    ("/v1/chat/completions", {**_CHAT, **_STREAM}),
    ("/v1/chat/completions", {**_FOREIGN, **_STREAM}),
    ("/v1/messages", _MESSAGES),
    ("/v1/messages", {**_MESSAGES, "stream": True}),
    ("/v1/messages", {**_MESSAGES, "model": "openai/gpt-4o", "stream": True}),
    BRIDGED,
    ("/v1/responses", _RESPONSES),
    ("/v1/responses", {**_RESPONSES, "stream": True}),
    ("/v1/responses", {**_RESPONSES, "input": "Hello", "model": "anthropic/claude-sonnet-4-5"}),
    (f"/v1beta/models/{_GEMINI}:generateContent", _CONTENTS),
    (f"/v1beta/models/{_GEMINI}:streamGenerateContent?alt=sse", _CONTENTS),
    ("/anthropic/v1/messages", {**_MESSAGES, "model": _CLAUDE, "stream": True}),
    ("/openai/v1/chat/completions", {**_CHAT, "model": "gpt-4o"}),
    ("/openai_passthrough/v1/responses", {**_RESPONSES, "model": "gpt-4o"}),
    ("/gemini/v1beta/models/gemini-2.5-flash:generateContent", _CONTENTS),
    ("/v1/chat/completions", {**_CHAT, "messages": 7}),
]
BROKEN: list[tuple[str, dict[str, Any]]] = [
    ("/v1/chat/completions", {**_CHAT, "messages": chat(), "tools": CHAT_TOOLS}),
    (
        "/v1/messages",
        {**_MESSAGES, "messages": messages(), "tools": MESSAGES_TOOLS, "stream": True},
    ),
    ("/v1/responses", {**_RESPONSES, "input": responses()}),
    ("/v1/responses", {**_RESPONSES, "input": responses(), "model": "anthropic/claude-sonnet-4-5"}),
    (
        "/anthropic/v1/messages",
        {**_MESSAGES, "model": _CLAUDE, "messages": messages(), "tools": MESSAGES_TOOLS},
    ),
    ("/gemini/v1beta/models/gemini-2.5-flash:generateContent", {"contents": contents()}),
]


@pytest.mark.showpiece
def test_a_proxy_with_chatmend_only_differs_from_one_without_where_it_repairs(
    tmp_path: Path, sandbox: Any
) -> None:
    broken = sampled(BROKEN, BROKEN[::4])
    every = [
        Request("valid", path, body)
        for path, body in sampled(VALID, [*VALID[1::8], BRIDGED, VALID[-1]])
    ]
    every += [Request("broken", path, body) for path, body in broken]
    with ExitStack() as stack:
        without, with_chatmend = pair(stack, tmp_path)
        outcome, _ = run(every, without, with_chatmend, Judge(sandbox))
        (line,) = [
            line for line in with_chatmend.proxy.log.read_text().splitlines() if ": mode " in line
        ]
    assert outcome.faults == []
    assert not outcome.skipped
    assert outcome.compared.total() == len(every)
    assert outcome.repaired.total() == len(broken)
    assert set(MODES) == {"report", "denied", "disabled", "repair"}
    assert line.endswith(": mode repair, policy default, models all")
