"""The usage record of a response: reading it, writing it into the response, and adding it up."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any

from chatmend.litellm.proxy_metadata import team_and_key
from chatmend.litellm.summaries import KEY
from chatmend.usage import Usage, UsageLedger, normalize_usage
from chatmend.usage.mappings import as_mapping
from chatmend.usage.usage_record import usage_from_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chatmend.options import UsageMode

MAX_ROWS = 10_000
OTHER = "other"
"""Replaces the keys chosen by clients once the ledger has ``MAX_ROWS`` rows."""

_LITELLM = "litellm"
_LONGEST = 200
"""Maximum length of a model name or a key, in characters."""
_OMITTED = frozenset({"sources", "unread", "provider", "model"})
"""Fields that are not written into a response: it has them elsewhere, or no client needs them."""


def _normalize(response: object, usage: Any) -> Usage:
    model = _get(response, "model")
    known = model if isinstance(model, str) and len(model) <= _LONGEST else None
    record = normalize_usage(_without_own_key(usage), model=known)
    # LiteLLM computes a cost and writes it into the usage of a streamed chunk.
    if record.cost is not None and _get(response, "object") == "chat.completion.chunk":
        record = replace(record, cost_source=_LITELLM)
    return record


def usage_in(response: object) -> Any:
    """Return the usage object of a response, a chunk or an event of LiteLLM, of any class."""
    for key in ("usage", "usageMetadata", "usage_metadata"):
        if (usage := _get(response, key)) is not None:
            return usage
    inner = _get(response, "response")
    return usage_in(inner) if inner is not None and inner is not response else None


_ABSENT = object()
_HIDDEN = "_hidden_params"


def _get(holder: object, key: str) -> Any:
    """Return a field, or None if it is absent.

    Fields of Pydantic models are read from their dictionaries: Pydantic's own attribute lookup
    raises an exception for each absent field, which is slow.
    """
    if isinstance(holder, dict):
        return holder.get(key)
    extra: Any = getattr(holder, "__pydantic_extra__", _ABSENT)
    if extra is _ABSENT:
        return getattr(holder, key, None)
    return extra[key] if extra and key in extra else holder.__dict__.get(key)


def _without_own_key(usage: Any) -> Any:
    """Return the fields of a usage object without the record that chatmend added."""
    held = as_mapping(usage)
    return (
        {key: value for key, value in held.items() if key != KEY}
        if held is not None and KEY in held
        else held
    )


_SIMPLE = frozenset({int, float, str, bool})


def hidden_params_of(response: object) -> dict[str, Any] | None:
    """Return the ``_hidden_params`` that LiteLLM attaches to a response; None if there are none.

    Pydantic's attribute lookup is avoided: it takes as long as normalising the usage.
    """
    private = getattr(response, "__pydantic_private__", None)
    hidden = private.get(_HIDDEN) if private else getattr(response, _HIDDEN, None)
    return hidden if isinstance(hidden, dict) else None


class UsageRecord(dict[str, Any]):
    """The fields of a usage record that are set, ready for JSON, with the `Usage` they are from."""

    usage: Usage
    read_from: object
    """The usage object of the response that was normalised.

    It identifies a record in ``_hidden_params`` that can be used again. None for a record that is
    stored inside the usage object.
    """

    def __init__(self, usage: Usage, read_from: object = None) -> None:
        """Copy the fields that are set; the ``__dict__`` of a `Usage` contains only these."""
        whole: Mapping[str, Any] | None = None
        for key, value in vars(usage).items():
            if key in _OMITTED:
                continue
            if value.__class__ in _SIMPLE or (
                value.__class__ is dict and _INT.issuperset(map(type, value.values()))
            ):
                self[key] = value
                continue
            whole = usage.to_dict() if whole is None else whole
            if key in whole:
                self[key] = whole[key]
        self.usage = usage
        self.read_from = read_from


_INT = frozenset({int})


def usage_record_of(response: object) -> UsageRecord | None:
    """Return the usage record of a response, ready for JSON; None if no tokens were used.

    A record that was created for the same usage object before is used again. The response is not
    changed.
    """
    usage = usage_in(response)
    if usage is None:
        return None
    if isinstance(known := _written_record(usage), UsageRecord):
        return known
    hidden = hidden_params_of(response)
    entries = hidden.get(KEY) if hidden else None
    known = entries.get("usage") if isinstance(entries, dict) else None
    if isinstance(known, UsageRecord) and (
        known.read_from is usage or _is_converted(known.read_from, usage)
    ):
        return known
    normalized = _normalize(response, usage)
    used = normalized.total_tokens or normalized.output_tokens or normalized.input_tokens
    return UsageRecord(normalized, usage) if used else None


_COUNTS = (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens"))
"""The counts of a usage object of the Responses API, and their names in a chat's."""


def _is_converted(original: object, usage: object) -> bool:
    """Whether LiteLLM has converted the usage of a Responses answer to the form of a chat's.

    Loggers get a copy of the answer with the converted usage; both copies share
    ``_hidden_params``. A total that is not the sum of its parts is lost in the conversion.
    """
    if type(original).__name__ != "ResponseAPIUsage" or type(usage).__name__ != "Usage":
        return False
    for old, new in _COUNTS:
        count = _get(original, old)
        if not isinstance(count, int) or count != _get(usage, new):
            return False
    return True


def write_usage_record(response: object, where: UsageMode) -> UsageRecord | None:
    """Return the usage record of a response, and write it into its usage if ``where`` is "body".

    Calling it again has no effect. LiteLLM's own figures are not changed, because LiteLLM computes
    the cost from them.
    """
    record = None if where == "off" else usage_record_of(response)
    if record is not None and where == "body":
        _write(usage_in(response), record)
    return record


def _written_record(usage: Any) -> Any:
    """Return the value under chatmend's key in a usage object."""
    extra = _extra_fields(usage)
    return extra.get(KEY) if extra is not None else _get(usage, KEY)


def _write(usage: Any, record: UsageRecord) -> None:
    extra, record.read_from = _extra_fields(usage), None
    if extra is None:
        # Classes that allow no further attributes raise; the usage is still counted.
        with suppress(ValueError):
            setattr(usage, KEY, record)
        return
    extra[KEY] = record
    if extra is not usage:
        usage.__pydantic_fields_set__.add(KEY)


def _extra_fields(usage: Any) -> dict[str, Any] | None:
    """Return the dict that can hold further keys: the usage itself, or Pydantic's extra fields.

    Pydantic's attribute lookup is avoided because it is slow.
    """
    extra = usage if isinstance(usage, dict) else getattr(usage, "__pydantic_extra__", None)
    return extra if isinstance(extra, dict) else None


def add_to_hidden_params(response: object, entries: dict[str, Any] | None) -> None:
    """Add change summary and usage record to ``_hidden_params``, which no client receives."""
    if entries is not None and (hidden := hidden_params_of(response)) is not None:
        known = hidden.get(KEY)  # a bridged call is completed twice
        hidden[KEY] = {**known, **entries} if isinstance(known, dict) else entries


class CallCounter:
    """Adds calls to a ledger, by the authenticated team, key and user; limits the row count."""

    def __init__(
        self,
        ledger: UsageLedger,
        max_rows: int = MAX_ROWS,
        on_failure: Callable[[Exception], object] | None = None,
    ) -> None:
        """Add calls to ``ledger``, which other code may read and reset at any time.

        ``on_failure`` receives the exception of a call that could not be counted.
        """
        self.ledger = ledger
        self._on_failure = on_failure
        self._max_rows = max_rows
        self._seen: set[tuple[str | None, ...]] = set()
        self._lock = Lock()

    def add(self, kwargs: Mapping[str, Any], response: object) -> None:
        """Count a call that LiteLLM logs as a success.

        Answers from LiteLLM's own cache used no tokens and are not counted.
        """
        record = usage_record_of(response)
        if record is None or kwargs.get("cache_hit"):
            return
        # The record is not kept until then: it refers to the usage object of the response.
        usage, price, keys = record.usage, _price_in(kwargs), _keys(kwargs)
        self.ledger.add_later(partial(self._load, usage, price, keys), self._on_failure)

    def _load(
        self, usage: Usage, price: tuple[object, bool], keys: tuple[str | None, ...]
    ) -> tuple[Usage, dict[str, str | None]]:
        return _with_litellm_cost(usage, *price), self._limit_rows(keys)

    def _limit_rows(self, keys: tuple[str | None, ...]) -> dict[str, str | None]:
        """Return the keys by name; above the limit, `OTHER` replaces those the client chose."""
        row = tuple(value or None for value in keys)
        named = dict(zip(_KEYS, row, strict=True))
        if row in self._seen:
            return named
        with self._lock:
            if len(self._seen) < self._max_rows:
                self._seen.add(row)
                return named
        return named | {name: OTHER for name in _CLIENT_KEYS if named[name] is not None}


def usage_of_call(kwargs: Mapping[str, Any], response: object) -> Usage | None:
    """Return the usage of a call that LiteLLM logs as a success, with its cost.

    None if no tokens were used, or if the answer is from LiteLLM's own cache.
    """
    record = usage_record_of(response)
    return (
        None
        if record is None or kwargs.get("cache_hit")
        else _with_litellm_cost(record.usage, *_price_in(kwargs))
    )


def _price_in(kwargs: Mapping[str, Any]) -> tuple[object, bool]:
    """Return LiteLLM's own cost of a call, and whether the call was streamed."""
    return kwargs.get("response_cost"), bool(kwargs.get("stream"))


def _with_litellm_cost(usage: Usage, cost: object, streamed: bool) -> Usage:  # noqa: FBT001
    """Return the usage with LiteLLM's cost, named as its source, if the provider reports none.

    The cost in the usage of a stream is LiteLLM's own and is always replaced.
    """
    if (
        isinstance(cost, int | float)
        and not isinstance(cost, bool)
        and (usage.cost is None or streamed)
    ):
        priced = {"cost": Decimal(str(cost)), "cost_currency": "USD", "cost_source": _LITELLM}
        return usage_from_fields({**vars(usage), **priced})
    return usage


_CLIENT_KEYS = ("model", "end_user", "session")
"""Keys that the client chooses; they only divide the rows of the authenticated team or user."""
_KEYS = ("team", "key", "user", "provider", *_CLIENT_KEYS)


def _keys(kwargs: Mapping[str, Any]) -> tuple[str | None, ...]:
    """Return the values for ``_KEYS``, some authenticated by the proxy, some set by the client."""
    params = kwargs.get("litellm_params") or {}
    metadata, more = params.get("metadata") or {}, params.get("litellm_metadata")
    if more:
        metadata = {**metadata, **more}
    found = (
        *team_and_key(params),
        metadata.get("user_api_key_user_id"),
        kwargs.get("custom_llm_provider") or params.get("custom_llm_provider"),
        kwargs.get("model"),
        metadata.get("user_api_key_end_user_id") or kwargs.get("user"),
        session_of(params, metadata),
    )
    # Other objects are converted now, because they may change before the call is counted; long
    # strings are cut, so that they are not kept until then.
    return tuple(
        [v if v is None or (v.__class__ is str and len(v) <= _LONGEST) else _text(v) for v in found]
    )


def _text(value: object) -> str | None:
    return str(value)[:_LONGEST] if value else None


def session_of(params: Mapping[str, Any], metadata: Mapping[str, Any]) -> object:
    """Return the client's session: ``litellm_session_id``, or ``session_id`` in the metadata."""
    return params.get("litellm_session_id") or metadata.get("session_id")
