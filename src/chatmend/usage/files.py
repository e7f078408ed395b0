"""Reads the usage of calls from recorded files.

Supports response bodies, dumps of streams, JSON lines and LiteLLM's spend logs.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from chatmend import jsontext
from chatmend.usage.agent_logs import AgentLog
from chatmend.usage.normalize import normalize_usage
from chatmend.usage.numbers import parse_amount
from chatmend.usage.sse import EventReader
from chatmend.usage.streams import UsageStream
from chatmend.usage.usage_record import Usage

_STARTS = frozenset(
    {"message_start", "response.created", "message-start", "stream-start", "interaction.created"}
)
"""Events that occur only as the first chunk of a stream."""


def usages_in(text: str) -> Iterator[Usage]:
    """Yield the usage of each call in a text of JSON, JSON lines or server-sent events, in order.

    Text that is not JSON, and objects that have neither usage nor an error, are ignored.
    """
    value = _parse_json(text)
    if value is not None:
        rows = value if isinstance(value, list) else [value]
        yield from _usages_in_rows(row for row in rows if isinstance(row, dict))
    elif any(line.startswith(("data:", "event:")) for line in text.splitlines()):
        reader = EventReader()
        yield from _usages_in_streams((*reader.feed(text), *reader.close()))
    else:
        yield from _usages_in_rows(
            row for line in text.splitlines() if isinstance(row := _parse_json(line), dict)
        )


def _parse_json(text: str) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _usages_in_rows(rows: Iterator[dict[str, Any]]) -> Iterator[Usage]:
    """Yield the usage of each call in rows.

    A body is one call. Chunks of streams are combined. In logs of agents, `AgentLog` counts each
    answer once.
    """
    chunks: list[dict[str, Any]] = []
    log = AgentLog()
    for row in rows:
        if _is_chunk(row):
            chunks.append(row)
        elif not log.add(row) and _is_call(
            usage := _usage_of_spend_row(row) if _is_spend_row(row) else normalize_usage(row)
        ):
            yield usage
    yield from log.usages()
    yield from _usages_in_streams(chunks)


def _usages_in_streams(events: Iterable[dict[str, Any]]) -> Iterator[Usage]:
    """Yield the usage of each stream.

    A new stream begins with a first event, with another id, or after ``[DONE]``.
    """
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
        if event.get("done") is True:  # [DONE], or the last line of Ollama
            yield stream.usage
            stream, known = None, None
    if stream is not None:
        yield stream.usage


def _is_call(usage: Usage) -> bool:
    """Whether a row reported tokens, a cost or an error. Most lines of a log do not."""
    faults = [text for text in usage.warnings if not text.startswith("no-usage")]
    return bool(faults) or not usage.sources.keys() <= {"model", "service_tier"}


def _is_chunk(row: Mapping[str, Any]) -> bool:
    """Whether a row is a line of an Ollama or OpenAI stream.

    A whole answer of Ollama has the form of the last line of a stream.
    """
    return row.get("object") == "chat.completion.chunk" or ("done" in row and "model" in row)


def _is_spend_row(row: Mapping[str, Any]) -> bool:
    """Whether LiteLLM logged the row (1.106: SpendLogsPayload, StandardLoggingPayload)."""
    return "prompt_tokens" in row and any(name in row for name in _CHARGES)


_CHARGES = ("spend", "response_cost")


def _usage_of_spend_row(row: Mapping[str, Any]) -> Usage:
    """Return the usage of one row: its full usage object if it was stored, and LiteLLM's charge."""
    metadata = row.get("metadata")
    kept = _parse_json(metadata) if isinstance(metadata, str) else metadata
    usage = kept.get("usage_object") if isinstance(kept, dict) else None
    counts = {
        name: row.get(name) for name in ("prompt_tokens", "completion_tokens", "total_tokens")
    }
    known = usage if isinstance(usage, dict) and usage else counts
    record = normalize_usage(known, _text(row, "custom_llm_provider"), _text(row, "model"))
    for name in _CHARGES:
        charge = parse_amount(row.get(name))
        if charge is not None and record.cost is None:
            sources = {**record.sources, "cost": name}
            return replace(
                record, cost=charge, cost_currency="USD", cost_source="litellm", sources=sources
            )
    return record


def _text(row: Mapping[str, Any], name: str) -> str | None:
    value = row.get(name)
    return value if isinstance(value, str) and value else None
