"""``normalize_usage``: one true account of whatever a provider, an SDK or a framework reports."""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from chatmend.usage.account import Usage, build
from chatmend.usage.finding import Found, Plan, Sign, find, plan_of, provider_of
from chatmend.usage.plain import mapping
from chatmend.usage.reading import read
from chatmend.usage.settling import settle
from chatmend.usage.tables import cost_owners, table_at, tables


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
    data: Mapping[str, Any] | None
    account: Mapping[str, Any]
    if type(payload) is dict:
        data, module = payload, ""
    elif isinstance(payload, Usage):
        return payload
    else:
        data, module = mapping(payload), type(payload).__module__.partition(".")[0]
    if data is None:
        return _nothing(f"a {type(payload).__name__} holds no account", provider, model)
    plan = plan_of(data)
    others: Sequence[Found] = ()
    # a bare usage object, the commonest payload: nothing else in it is looked for
    if plan.own is not None and not headers and data[plan.own[0]] is not None:
        path, table, account, marked = "", plan.own[1], data, plan.row
    else:
        found = find(data, plan) or _headers(data)
        if headers:
            found += _headers(headers, "headers")
        if not found:
            values: dict[str, Any] = {"sources": {}}
            fill_beside(values, data, plan)
            return finish(values, wrong(data, plan), provider, model)
        (_, path, table, account, marked), *others = found
    told = model or data.get("model")
    row = provider_of(marked, provider, told if type(told) is str else None, module)
    name = provider or (row.name if row is not None and row.marks else table.provider) or None
    values = settle(read(table, account), row)
    if not path and not others:
        return finish(values, (), name, model)
    for _, _, other, beside, _ in others:
        # an account without a value is nobody's
        name = provider or other.provider or None if len(values) == 1 else name
        fill(values, settle(read(other, beside), row))
        retotal(values)
    fill_beside(values, data, plan)
    return finish(values, wrong(data, plan), name, model)


def fill(values: dict[str, Any], others: Mapping[str, Any]) -> None:
    """Take from another account of the same call what the first says nothing of; what both say stays told."""
    _tell_twice(values, others)
    for name, value in others.items():
        known = values.get(name)
        if known is None:
            values[name] = value
        elif value and type(known) is dict:
            values[name] = {**value, **known}
        elif value and type(known) is tuple:
            values[name] = tuple(dict.fromkeys(known + value))


def _tell_twice(values: dict[str, Any], others: Mapping[str, Any]) -> None:
    """A count that both accounts have: one more source where they agree, else a number that is not read."""
    sources, unread = values["sources"], []
    for name, path in others.get("sources", {}).items():
        known, value = values.get(name), others.get(name)
        if known is None or type(value) not in _EXACT or name == "total_tokens" or path in sources.get(name, ""):
            continue
        if value == known:
            sources[name] = f"{sources[name]} | {path}" if name in sources else path
        else:
            unread += _PATHS.split(path)
    if unread:
        values["unread"] = (*values.get("unread", ()), *unread)


_EXACT = frozenset({int, Decimal})
_PATHS = re.compile(r" [+|] ")


def finish(values: dict[str, Any], faults: Sequence[str], provider: str | None, model: str | None) -> Usage:
    """The account of a call from the fields of its accounts."""
    sources = values["sources"]
    if len(sources) <= len(_WORDS) and sources.keys() <= _WORDS and "parts" not in values:
        faults = faults or ["no-usage: no account was found"]
    if "cost" in values:
        values.setdefault("cost_source", cost_owners().get(sources.get("cost", ""), "provider"))
    if provider is not None:
        values["provider"] = provider
    if model is not None:
        values["model"] = model
    if faults:
        values["complete"] = False
    if faults or "warnings" in values:
        values["warnings"] = tuple(sorted({*values.get("warnings", ()), *faults}))
    return build(values)


_WORDS = frozenset({"model", "service_tier"})
"""What alone is no account."""


def retotal(values: dict[str, Any]) -> None:
    """Where fields of two accounts meet, the sum is made anew, and a stated total that no longer fits is told."""
    given, written = values.get("input_tokens"), values.get("output_tokens")
    if given is None or written is None:
        return
    total = given + written
    stated = values.get("provider_total")
    if stated is not None and stated != total and values.get("total_tokens") != total:
        text = f"total-differs: the provider says {stated}, its counts give {total}"
        values["warnings"] = (*values.get("warnings", ()), text)
    values["total_tokens"] = total
    values["sources"]["total_tokens"] = "input_tokens + output_tokens"


def fill_beside(values: dict[str, Any], data: Mapping[str, Any], plan: Plan) -> None:
    """Add what the body says beside its accounts. Its other numbers (times, indices, content) are no account's."""
    sources = values["sources"]
    for key, name, path in plan.around:
        value = data[key]
        if type(value) is not str or len(value) > _LONGEST:
            if value is not None:
                _fill_deep(values, {key: data[key] for key, _, _ in plan.around})
                return
        elif name and name not in values:
            values[name] = value
            sources[name] = path


_LONGEST = 200
"""Characters of a model's name."""


def _fill_deep(values: dict[str, Any], around: Mapping[str, Any]) -> None:
    reading = read(tables()["body"], around)
    reading.unread = ()
    fill(values, settle(reading, None))


def _headers(headers: Mapping[str, str], path: str = "") -> list[Found]:
    """Headers are named without regard to case."""
    table = table_at("headers", path)
    kept = {key.lower(): value for key, value in headers.items() if isinstance(key, str) and key.lower() in table.keys}
    return [(_LAST, path, table, kept, None)] if not kept.keys().isdisjoint(table.marks) else []


_LAST = 99
"""The layer of headers: every account in the body has more authority."""


def wrong(data: Mapping[str, Any], plan: Plan) -> Sequence[str]:
    """Why the body is no answer: the codes of `body.toml`."""
    for sign in plan.errors:
        if (not data[sign.key]) is sign.empty:
            break
    else:  # as with most bodies: no comprehension, which costs more than all of this
        return ()
    signs = [sign for sign in plan.errors if _says(data[sign.key], sign)]
    # a stream's last chunk holds no choice either, only the usage
    if signs and data.get("object") == "chat.completion.chunk" and data.get("usage"):
        signs = [sign for sign in signs if not sign.empty]
    return [f"{sign.code}: {sign.key} says that this is no answer" for sign in signs]


def _says(value: object, sign: Sign) -> bool:
    if sign.empty:
        return isinstance(value, list | tuple) and not value
    return value in sign.words if sign.words and isinstance(value, str) else bool(value) and not sign.words


def _nothing(why: str, provider: str | None, model: str | None) -> Usage:
    return Usage(complete=False, provider=provider, model=model, warnings=(f"no-usage: {why}",))
