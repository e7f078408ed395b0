"""``normalize_usage``: converts the usage in any payload to one usage record."""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from chatmend.usage.finding import ErrorCheck, Found, Layout, find, layout_of, provider_of
from chatmend.usage.mappings import as_mapping
from chatmend.usage.reading import read_usage
from chatmend.usage.reconciling import reconcile
from chatmend.usage.tables import cost_sources, table_at, tables
from chatmend.usage.usage_record import Usage, usage_from_fields


def normalize_usage(
    payload: object,
    provider: str | None = None,
    model: str | None = None,
    *,
    headers: Mapping[str, str] | None = None,
) -> Usage:
    """Return the tokens, requests and cost that a payload reports, as one usage record.

    Args:
        payload: a usage object, a whole response body, an object of an SDK, LiteLLM's
            ``ModelResponse`` or ``Usage``, LangChain's ``AIMessage`` or ``usage_metadata``, or a
            mapping of headers. It is not changed.
        provider: the provider's name in LiteLLM or in the recordings; by default recognised from
            the payload.
        model: the model's id; by default read from the body.
        headers: the headers of the response, used for fields that the body does not have.

    Never raises: ``warnings`` and ``unread`` list what cannot be read. ``complete`` is False for an
    error.
    """
    body: Mapping[str, Any] | None
    data: Mapping[str, Any]
    if type(payload) is dict:
        body, module = payload, ""
    elif isinstance(payload, Usage):
        return payload
    else:
        body, module = as_mapping(payload), type(payload).__module__.partition(".")[0]
    if body is None:
        return _no_usage(f"a {type(payload).__name__} holds no usage", provider, model)
    layout = layout_of(body)
    others: Sequence[Found] = ()
    # The most common payload is a usage object itself. Nothing else is searched in it.
    if layout.own is not None and not headers and body[layout.own[0]] is not None:
        path, table, data, marked = "", layout.own[1], body, layout.provider
    else:
        found = find(body, layout) or _find_in_headers(body)
        if headers:
            found += _find_in_headers(headers, "headers")
        if not found:
            values: dict[str, Any] = {"sources": {}}
            add_body_fields(values, body, layout)
            return finish(values, error_warnings(body, layout), provider, model)
        (_, path, table, data, marked), *others = found
    known_model = model or body.get("model") or ("." in path and _model_next_to(path, body))
    row = provider_of(marked, provider, known_model if type(known_model) is str else None, module)
    name = provider or (row.name if row is not None and row.marks else table.provider) or None
    values = reconcile(read_usage(table, data), row)
    if not path and not others:
        return finish(values, (), name, model)
    for _, _, other_table, other_data, _ in others:
        # A usage object without values does not identify the provider.
        name = provider or other_table.provider or None if len(values) == 1 else name
        merge_fields(values, reconcile(read_usage(other_table, other_data), row))
        recompute_total(values)
    add_body_fields(values, body, layout)
    return finish(values, error_warnings(body, layout), name, model)


def _model_next_to(path: str, body: Mapping[str, Any]) -> object:
    """Return the model in the mapping that holds the usage, for example in the line of a batch."""
    answer = body
    for key in path.split(".")[:-1]:
        answer = as_mapping(answer.get(key)) or {}
    return answer.get("model")


def merge_fields(values: dict[str, Any], others: Mapping[str, Any]) -> None:
    """Add the fields that only the other usage of the same call has; fields of both are kept."""
    _record_duplicates(values, others)
    for name, value in others.items():
        known = values.get(name)
        if known is None:
            values[name] = value
        elif value and type(known) is dict:
            values[name] = {**value, **known}
        elif value and type(known) is tuple:
            values[name] = tuple(dict.fromkeys(known + value))


def _record_duplicates(values: dict[str, Any], others: Mapping[str, Any]) -> None:
    """Record the counts that both have: as another source if they are equal, else as unread."""
    sources, unread = values["sources"], []
    for name, path in others.get("sources", {}).items():
        known, value = values.get(name), others.get(name)
        if (
            known is None
            or type(value) not in _EXACT
            or name == "total_tokens"
            or path in sources.get(name, "")
        ):
            continue
        if value == known:
            sources[name] = f"{sources[name]} | {path}" if name in sources else path
        else:
            unread += _PATHS.split(path)
    if unread:
        values["unread"] = (*values.get("unread", ()), *unread)


_EXACT = frozenset({int, Decimal})
_PATHS = re.compile(r" [+|] ")


def finish(
    values: dict[str, Any], faults: Sequence[str], provider: str | None, model: str | None
) -> Usage:
    """Return the usage record of a call from its fields and the warnings about errors."""
    sources = values["sources"]
    if len(sources) <= len(_NOT_USAGE) and sources.keys() <= _NOT_USAGE and "parts" not in values:
        faults = faults or ["no-usage: no usage was found"]
    if "cost" in values:
        values.setdefault("cost_source", cost_sources().get(sources.get("cost", ""), "provider"))
    if provider is not None:
        values["provider"] = provider
    if model is not None:
        values["model"] = model
    if faults:
        values["complete"] = False
    if faults or "warnings" in values:
        values["warnings"] = tuple(sorted({*values.get("warnings", ()), *faults}))
    return usage_from_fields(values)


_NOT_USAGE = frozenset({"model", "service_tier"})
"""Fields that are not usage if there are no others."""


def recompute_total(values: dict[str, Any]) -> None:
    """Recompute the total after a merge, with a warning if the reported total differs from it."""
    given, written = values.get("input_tokens"), values.get("output_tokens")
    if given is None or written is None:
        return
    total = given + written
    stated = values.get("provider_total")
    if stated is not None and stated != total and values.get("total_tokens") != total:
        text = (
            f"total-differs: the provider reports {stated} tokens, but its counts add up to {total}"
        )
        values["warnings"] = (*values.get("warnings", ()), text)
    values["total_tokens"] = total
    values["sources"]["total_tokens"] = "input_tokens + output_tokens"


def add_body_fields(values: dict[str, Any], data: Mapping[str, Any], layout: Layout) -> None:
    """Add the fields that the body has outside of its usage, such as the model.

    Other numbers in the body (times, indices, content) are not usage.
    """
    sources = values["sources"]
    for key, name, path in layout.body_keys:
        value = data[key]
        if type(value) is not str or len(value) > _LONGEST:
            if value is not None:
                _merge_body(values, {key: data[key] for key, _, _ in layout.body_keys})
                return
        elif name and name not in values:
            values[name] = value
            sources[name] = path


_LONGEST = 200
"""The most characters of a model's name."""


def _merge_body(values: dict[str, Any], data: Mapping[str, Any]) -> None:
    reading = read_usage(tables()["body"], data)
    reading.unread = ()
    merge_fields(values, reconcile(reading, None))


def _find_in_headers(headers: Mapping[str, str], path: str = "") -> list[Found]:
    """Return the usage in headers, whose names are case-insensitive."""
    table = table_at("headers", path)
    kept = {
        key.lower(): value
        for key, value in headers.items()
        if isinstance(key, str) and key.lower() in table.keys
    }
    return [(_LAST, path, table, kept, None)] if not kept.keys().isdisjoint(table.marks) else []


_LAST = 99
"""The layer of headers: usage in the body takes precedence."""


def error_warnings(data: Mapping[str, Any], layout: Layout) -> Sequence[str]:
    """Return why the body is not an answer, with the codes of `body.toml`."""
    for check in layout.error_checks:
        if (not data[check.key]) is check.empty:
            break
    else:
        # Most bodies end here. A comprehension would cost more time than the rest of the function.
        return ()
    failed = [check for check in layout.error_checks if _is_error(data[check.key], check)]
    # The last chunk of a stream also has no choice, only usage.
    if failed and data.get("object") == "chat.completion.chunk" and data.get("usage"):
        failed = [check for check in failed if not check.empty]
    return [f"{check.code}: the value of {check.key!r} shows an error" for check in failed]


def _is_error(value: object, check: ErrorCheck) -> bool:
    if check.empty:
        return isinstance(value, list | tuple) and not value
    return (
        value in check.words
        if check.words and isinstance(value, str)
        else bool(value) and not check.words
    )


def _no_usage(why: str, provider: str | None, model: str | None) -> Usage:
    return Usage(complete=False, provider=provider, model=model, warnings=(f"no-usage: {why}",))
