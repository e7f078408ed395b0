"""The calls that a recorded text holds: response bodies, dumps of streams, JSON lines, LiteLLM's spend logs."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from chatmend import jsontext
from chatmend.usage.account import Usage
from chatmend.usage.normalize import normalize_usage
from chatmend.usage.numbers import amount
from chatmend.usage.sse import EventReader
from chatmend.usage.streams import UsageStream

_STARTS = frozenset({"message_start", "response.created", "message-start", "stream-start", "interaction.created"})
"""Events that only a stream's first chunk can be."""


def usages_in(text: str) -> Iterator[Usage]:
    """The account of each call in the text, in its order. The text is JSON, JSON lines, or server-sent events.

    What is no JSON, and what holds no account and is no error either, is no call.
    """
    value = _json(text)
    if value is not None:
        rows = value if isinstance(value, list) else [value]
        yield from _calls(row for row in rows if isinstance(row, dict))
    elif any(line.startswith(("data:", "event:")) for line in text.splitlines()):
        reader = EventReader()
        yield from _streams((*reader.feed(text), *reader.close()))
    else:
        yield from _calls(row for line in text.splitlines() if isinstance(row := _json(line), dict))


def _json(text: str) -> Any:  # noqa: ANN401 - whatever the text says
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _calls(rows: Iterator[dict[str, Any]]) -> Iterator[Usage]:
    """Whole bodies one by one; chunks of streams put together; lines that agents write again and again only once."""
    chunks: list[dict[str, Any]] = []
    logged: dict[str, Usage] = {}
    for row in rows:
        if _is_chunk(row):
            chunks.append(row)
        elif (again := _logged(row)) is not None:
            logged[again] = normalize_usage(row)
        elif _is_call(usage := _spend(row) if _is_spend(row) else normalize_usage(row)):
            yield usage
    yield from logged.values()
    yield from _streams(chunks)


def _streams(events: Iterable[dict[str, Any]]) -> Iterator[Usage]:
    """One account a stream: a new one begins with a first event, another id, or after ``[DONE]``."""
    stream: UsageStream | None = None
    known: object = None
    for event in events:
        identity = event.get("id")
        begins = jsontext.is_one_of(event.get("type"), _STARTS)
        if stream is not None and (begins or (known and identity and identity != known)):
            yield stream.usage
            stream = None
        if stream is None and event == {"done": True}:
            continue
        stream, known = stream or UsageStream(), identity or known
        stream.feed(event)
        if event.get("done") is True:  # [DONE], or Ollama's last line
            yield stream.usage
            stream, known = None, None
    if stream is not None:
        yield stream.usage


def _is_call(usage: Usage) -> bool:
    """Whether the row told of tokens, of a cost or of an error; the lines of a log tell of much else."""
    faults = [text for text in usage.warnings if not text.startswith("no-usage")]
    return bool(faults) or not usage.sources.keys() <= {"model", "service_tier"}


def _is_chunk(row: Mapping[str, Any]) -> bool:
    """A line of Ollama's or OpenAI's stream; Ollama's whole answers look like the last line of one."""
    return row.get("object") == "chat.completion.chunk" or ("done" in row and "model" in row)


def _logged(row: Mapping[str, Any]) -> str | None:
    """The id of an answer in the session log of an agent, which repeats it for each block of its content."""
    message = row.get("message")
    if isinstance(message, dict) and isinstance(message.get("usage"), dict) and isinstance(message.get("id"), str):
        return f"{message['id']} {row.get('requestId')}"
    return None


def _is_spend(row: Mapping[str, Any]) -> bool:
    """A row that LiteLLM logs (1.106: SpendLogsPayload, StandardLoggingPayload)."""
    return "prompt_tokens" in row and any(name in row for name in _CHARGES)


_CHARGES = ("spend", "response_cost")


def _spend(row: Mapping[str, Any]) -> Usage:
    """The account of one row: the full usage where it was kept, and what LiteLLM charged."""
    metadata = row.get("metadata")
    kept = _json(metadata) if isinstance(metadata, str) else metadata
    usage = kept.get("usage_object") if isinstance(kept, dict) else None
    counts = {name: row.get(name) for name in ("prompt_tokens", "completion_tokens", "total_tokens")}
    known = usage if isinstance(usage, dict) and usage else counts
    account = normalize_usage(known, _text(row, "custom_llm_provider"), _text(row, "model"))
    for name in _CHARGES:
        charge = amount(row.get(name))
        if charge is not None and account.cost is None:
            sources = {**account.sources, "cost": name}
            return replace(account, cost=charge, cost_currency="USD", cost_source="litellm", sources=sources)
    return account


def _text(row: Mapping[str, Any], name: str) -> str | None:
    value = row.get(name)
    return value if isinstance(value, str) and value else None
