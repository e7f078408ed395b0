"""A small agent that stores its session. It runs as a separate process, sends one message and may kill itself right after.

python -m tests.sessions.agent ROOT URL PROVIDER MESSAGE [--die]
"""

from __future__ import annotations

import json
import os
import signal
import sys
import urllib.request
from typing import Any

from chatmend.sessions import Session, SessionStore
from chatmend.usage import normalize_usage

MODELS = {"anthropic": "claude-sonnet-4-5", "openai": "gpt-4o", "mistral": "mistral-large-latest"}
PATHS = {"anthropic": "anthropic/v1/messages", "openai": "openai/v1/chat/completions"}
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEklEQVR4nGP8z4APMOGVHbHSAEEsAROxCnMTAAAAAElFTkSuQmCC"
_SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
_MARK = {"type": "ephemeral"}


def request_parameters(provider: str) -> dict[str, Any]:
    """Return the parameters of each request."""
    if provider == "anthropic":
        tool = {"name": "get_weather", "description": "Weather.", "input_schema": _SCHEMA}
        system = [{"type": "text", "text": "You are terse. " * 20, "cache_control": _MARK}]
        thinking = {"type": "enabled", "budget_tokens": 1024}
        return {"system": system, "tools": [tool], "thinking": thinking, "max_tokens": 4096}
    function = {"name": "get_weather", "description": "Weather.", "parameters": _SCHEMA}
    return {"tools": [{"type": "function", "function": function}]}


def said(provider: str, message: str) -> list[dict[str, Any]]:
    """Return a user message, with an image for Anthropic and OpenAI."""
    if provider == "anthropic":
        source = {"type": "base64", "media_type": "image/png", "data": PNG}
        text = {"type": "text", "text": message, "cache_control": _MARK}
        return [{"role": "user", "content": [{"type": "image", "source": source}, text]}]
    if provider == "openai":
        url = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
        return [{"role": "user", "content": [url, {"type": "text", "text": message}]}]
    return [{"role": "user", "content": message}]


def send(session: Session, url: str, provider: str, new: list[dict[str, Any]]) -> dict[str, Any]:
    """Send one request and record the answer."""
    done = session.extend(new)
    messages = _with_latest_markers(done.messages) if provider == "anthropic" else done.messages
    body = {"model": MODELS[provider], **session.request_parameters, "messages": messages}
    path = PATHS.get(provider, f"{provider}/v1/chat/completions")
    headers = {"content-type": "application/json", "authorization": "Bearer k", "x-api-key": "k"}
    headers["anthropic-version"] = "2023-06-01"
    request = urllib.request.Request(f"{url}/{path}", json.dumps(body).encode(), headers)  # noqa: S310 - loopback
    with urllib.request.urlopen(request) as response:  # noqa: S310
        answer: dict[str, Any] = json.load(response)
    session.record(messages, reply=_reply(answer), usage=answer)
    return answer


def _with_latest_markers(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Keep the cache markers in the last two user turns only, as clients do: a request may have at most four."""
    marked = [at for at, m in enumerate(messages) if "cache_control" in json.dumps(m)]
    old = set(marked[:-2])
    return [_unmarked(m) if at in old else m for at, m in enumerate(messages)]


def _unmarked(message: dict[str, Any]) -> dict[str, Any]:
    parts = [
        {key: value for key, value in part.items() if key != "cache_control"}
        for part in message["content"]
    ]
    return {**message, "content": parts}


def _reply(answer: dict[str, Any]) -> dict[str, Any]:
    if "choices" in answer:
        message: dict[str, Any] = answer["choices"][0]["message"]
        return {
            key: message[key]
            for key in ("role", "content", "tool_calls")
            if message.get(key) is not None
        }
    return {"role": "assistant", "content": answer["content"]}


def results(provider: str, reply: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a result for each call of a reply."""
    if provider != "anthropic":
        return [
            {"role": "tool", "tool_call_id": call["id"], "content": "18 degrees"}
            for call in reply.get("tool_calls", [])
        ]
    calls = [part for part in reply["content"] if part["type"] == "tool_use"]
    blocks = [
        {"type": "tool_result", "tool_use_id": call["id"], "content": "18 degrees"}
        for call in calls
    ]
    if blocks:
        blocks[-1]["cache_control"] = _MARK
    return [{"role": "user", "content": blocks}] if blocks else []


def main() -> None:
    """Resume or start a session, send the message, answer tool calls, and print the cached tokens of each request."""
    root, url, provider, message = sys.argv[1:5]
    store = SessionStore(root)
    target = f"{provider}/{MODELS[provider]}"
    dialect = "anthropic_messages" if provider == "anthropic" else "openai_chat"
    session = store.latest() or store.start(
        target=target, dialect=dialect, request_parameters=request_parameters(provider)
    )
    told = []
    new = said(provider, message)
    if not session.messages and provider != "anthropic":
        new = [{"role": "system", "content": "You are terse. " * 20}, *new]
    while new:
        answer = send(session, url, provider, new)
        usage = normalize_usage(answer, provider)
        told.append({"input": usage.input_tokens, "cached": usage.cache_read_tokens})
        new = results(provider, _reply(answer))
    print(json.dumps({"path": session.path, "calls": told}), flush=True)  # noqa: T201 - the test reads it
    if "--die" in sys.argv:
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
