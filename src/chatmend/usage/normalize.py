"""``normalize_usage``: one true account of whatever a provider, an SDK or a framework reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from chatmend.usage.account import Usage, build
from chatmend.usage.finding import Found, find, provider_of, recognise
from chatmend.usage.plain import mapping
from chatmend.usage.reading import Reading, read
from chatmend.usage.settling import settle
from chatmend.usage.tables import Provider, cost_owners, load, tables


def normalize_usage(
    payload: object, provider: str | None = None, model: str | None = None, *, headers: Mapping[str, str] | None = None
) -> Usage:
    """The tokens, requests and cost that a payload reports, whoever wrote it.

    Args:
        payload: a usage object, a whole response body, an object of an SDK, LiteLLM's ``ModelResponse`` or ``Usage``,
            LangChain's ``AIMessage`` or ``usage_metadata``, or a mapping of headers. It is not changed.
        provider: who answered, by LiteLLM's or the recordings' name. Recognised from the shape where it is not given.
        model: the model's id; read from the body where it is not given.
        headers: of the response; they are read where the body is silent.

    Nothing raises: what cannot be read is in ``warnings`` and ``unread``; ``complete`` is False for an error.
    """
    data = mapping(payload)
    if data is None:
        return _nothing(f"a {type(payload).__name__} holds no account", provider, model)
    found = find(data) or _headers(data)
    if headers:
        found += _headers(headers, "headers")
    if not found:
        return _merged([beside(data)], wrong(data) or ["no-usage: no account was found"], provider, model)
    row = _row(payload, data, found, provider, model)
    accounts = [settle(read(one.table, one.data, one.path), row) for one in found]
    name = provider or (row.name if row is not None else None) or found[0].table.provider or None
    if len(found) == 1 and not found[0].path and found[0].data is data:
        return _merged(accounts, [], name, model)
    return _merged([*accounts, beside(data)], wrong(data), name, model)


def merge(accounts: Iterable[Usage]) -> dict[str, Any]:
    """The fields of several accounts of one call: of each field the first account that has it."""
    values: dict[str, Any] = {}
    for account in accounts:
        for name, value in account.__dict__.items():
            known = values.get(name)
            if known is None:
                values[name] = value
            elif isinstance(known, tuple):
                values[name] = tuple(dict.fromkeys(known + value))
            elif isinstance(known, dict):
                values[name] = {**value, **known}
    return values


def finish(values: dict[str, Any], faults: list[str], provider: str | None, model: str | None) -> Usage:
    """The account of a call from the fields of its accounts."""
    sources = values.get("sources", {})
    if values.get("cost") is not None:
        values.setdefault("cost_source", cost_owners().get(sources.get("cost", ""), "provider"))
    if provider is not None:
        values["provider"] = provider
    if model is not None:
        values["model"] = model
    if faults:
        values["complete"] = False
        values["warnings"] = (*values.get("warnings", ()), *faults)
    return build(values)


def _merged(accounts: list[Usage], faults: list[str], provider: str | None, model: str | None) -> Usage:
    if len(accounts) == 1:
        return finish(dict(accounts[0].__dict__), faults, provider, model)
    values = merge(accounts)
    retotal(values)
    return finish(values, faults, provider, model)


def retotal(values: dict[str, Any]) -> None:
    """Where fields of two accounts meet, the sum is made anew, and a stated total that no longer fits is told."""
    given, written = values.get("input_tokens"), values.get("output_tokens")
    if given is None or written is None:
        return
    values["total_tokens"] = given + written
    values["sources"] = {**values["sources"], "total_tokens": "input_tokens + output_tokens"}


def _row(
    payload: object, data: Mapping[str, Any], found: list[Found], provider: str | None, model: str | None
) -> Provider | None:
    module = type(payload).__module__.partition(".")[0]
    if model is None and isinstance(data.get("model"), str):
        model = data["model"]
    return provider_of(found[0].data, provider, model, module)


def beside(data: Mapping[str, Any]) -> Usage:
    """What the body says beside its accounts. Its other numbers (times, indices, content) are no account's."""
    reading: Reading = read(tables()["body"], data)
    reading.unread.clear()
    return settle(reading, None)


def _headers(headers: Mapping[str, str], path: str = "") -> list[Found]:
    """Headers are named without regard to case."""
    lower = {key.lower(): value for key, value in headers.items() if isinstance(key, str)}
    table = tables()["headers"]
    if recognise(lower) is not table and not (path and lower.keys() & table.keys.keys()):
        return []
    kept = {key: value for key, value in lower.items() if key in table.keys}
    return [Found(len(lower), path, table, kept)]


def wrong(data: Mapping[str, Any]) -> list[str]:
    """Why the body is no answer: the codes of `body.toml`."""
    texts = []
    for row in load("body")["errors"]:
        if row["key"] not in data:
            continue
        value = data[row["key"]]
        if row.get("empty"):
            bad = isinstance(value, list | tuple) and not value and not _is_usage_chunk(data)
        else:
            bad = (
                value in row["values"]
                if "values" in row and isinstance(value, str)
                else bool(value) and "values" not in row
            )
        if bad:
            texts.append(f"{row['code']}: {row['key']} says that this is no answer")
    return list(dict.fromkeys(texts))


def _is_usage_chunk(data: Mapping[str, Any]) -> bool:
    """A stream's last chunk holds no choice, only the usage."""
    return data.get("object") == "chat.completion.chunk" and bool(data.get("usage"))


def _nothing(why: str, provider: str | None, model: str | None) -> Usage:
    return Usage(complete=False, provider=provider, model=model, warnings=(f"no-usage: {why}",))
