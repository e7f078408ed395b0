"""Usage on the way back: the normalised account beside LiteLLM's own figures, and the sums of all calls."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from threading import Lock
from typing import TYPE_CHECKING, Any

from chatmend.litellm.notes import KEY
from chatmend.usage import Usage, UsageLedger, normalize_usage
from chatmend.usage.account import build

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_ROWS = 10_000
OTHER = "other"
"""Stands for users and sessions beyond ``MAX_ROWS`` rows."""

_LITELLM = "litellm"
_UNTOLD = frozenset({"sources", "unread", "provider", "model"})
"""What the response says elsewhere, or nobody reads there."""


def account_of(response: object) -> Usage | None:
    """The account of a response, a chunk or an event; ``None`` where it holds none."""
    usage = usage_in(response)
    return None if usage is None else _account_of(response, usage)


def _account_of(response: object, usage: Any) -> Usage:
    account = normalize_usage({"model": _get(response, "model"), "usage": _plain(usage)})
    # Into the usage of a streamed chunk LiteLLM writes a cost that it has worked out itself.
    if account.cost is not None and _get(response, "object") == "chat.completion.chunk":
        account = replace(account, cost_source=_LITELLM)
    return account


def usage_in(response: object) -> Any:
    """The usage object of a response, a chunk, or an event of LiteLLM's, whatever its class."""
    holder = response
    for key in ("usage", "usageMetadata", "usage_metadata"):
        if (usage := _get(holder, key)) is not None:
            return usage
    inner = _get(response, "response")
    return usage_in(inner) if inner is not None and inner is not response else None


def _get(holder: object, key: str) -> Any:
    return holder.get(key) if isinstance(holder, dict) else getattr(holder, key, None)


def _plain(value: Any) -> Any:
    """A pydantic model as a dict, ours left out: ten times faster than asking each object for its names."""
    fields = value if isinstance(value, dict) else getattr(value, "__dict__", None)
    if fields is None:
        return value
    extra = getattr(value, "__pydantic_extra__", None) or {}
    told = {**fields, **extra} if extra else fields
    return {
        key: item if item.__class__ in _SIMPLE else _plain_inside(item)
        for key, item in told.items()
        if item is not None and key != KEY
    }


def _plain_inside(item: Any) -> Any:
    if isinstance(item, list):
        return [_plain_inside(one) for one in item]
    return item if isinstance(item, int | float | str) else _plain(item)


_SIMPLE = frozenset({int, float, str, bool})


class Told(dict[str, Any]):
    """An account as it stands in a response: what is set, ready for JSON. It keeps what it was made from."""

    account: Usage

    def __init__(self, account: Usage) -> None:
        """Copy what is set. An account holds only what is set in its ``__dict__``."""
        whole: Mapping[str, Any] | None = None
        for key, value in vars(account).items():
            if key in _UNTOLD:
                continue
            if value.__class__ in _SIMPLE or (value.__class__ is dict and _INT.issuperset(map(type, value.values()))):
                self[key] = value
                continue
            whole = account.to_dict() if whole is None else whole
            if key in whole:
                self[key] = whole[key]
        self.account = account


_INT = frozenset({int})


def mark(response: object) -> Told | None:
    """Write the account of a response into its usage, under a key of its own, and return it. Twice is once.

    Nothing of LiteLLM's is changed: its cost is worked out from its own figures.
    """
    usage = usage_in(response)
    # What pydantic keeps of a model, read past its machinery: that would make an AttributeError for what is not there.
    extra = usage if isinstance(usage, dict) else getattr(usage, "__pydantic_extra__", None)
    known = extra.get(KEY) if isinstance(extra, dict) else _get(usage, KEY)
    if isinstance(known, Told):
        return known
    account = None if usage is None else _account_of(response, usage)
    if account is None or not (account.total_tokens or account.output_tokens or account.input_tokens):
        return None
    said = Told(account)
    if isinstance(extra, dict):
        extra[KEY] = said
        if extra is not usage:
            usage.model_fields_set.add(KEY)
    else:
        with suppress(ValueError):  # a class that is closed; what cannot be written there is still counted
            setattr(usage, KEY, said)
    return said


class Accounts:
    """Adds calls to a ledger, keyed by who was authenticated; the number of rows is bounded."""

    def __init__(self, ledger: UsageLedger, max_rows: int = MAX_ROWS) -> None:
        """``ledger`` may be read, and reset, at any time by anyone."""
        self.ledger = ledger
        self._max_rows = max_rows
        self._seen: set[tuple[str | None, ...]] = set()
        self._lock = Lock()

    def add(self, kwargs: Mapping[str, Any], response: object) -> None:
        """Count a call that LiteLLM logs as a success. An answer from LiteLLM's own cache used nothing."""
        account = account_of_call(kwargs, response)
        if account is None:
            return
        sure, claimed = _keys(kwargs)
        self.ledger.add(account, **sure, **self._bounded(sure, claimed))

    def _bounded(self, sure: Mapping[str, str | None], claimed: dict[str, str | None]) -> dict[str, str | None]:
        row = (*sure.values(), *claimed.values())
        if row in self._seen:
            return claimed
        with self._lock:
            if len(self._seen) >= self._max_rows:
                return {name: OTHER for name, value in claimed.items() if value is not None}
            self._seen.add(row)
        return claimed


def account_of_call(kwargs: Mapping[str, Any], response: object) -> Usage | None:
    """The account of a call that LiteLLM logs as a success, with its cost; ``None`` where nothing was used."""
    said = mark(response)
    return None if said is None or kwargs.get("cache_hit") else _priced(said.account, kwargs)


def _priced(account: Usage, kwargs: Mapping[str, Any]) -> Usage:
    """With LiteLLM's own cost, and its name to it, where the provider tells none."""
    cost = kwargs.get("response_cost")
    if isinstance(cost, int | float) and (account.cost is None or kwargs.get("stream")):
        told = {"cost": Decimal(str(cost)), "cost_currency": "USD", "cost_source": _LITELLM}
        return build({**vars(account), **told})
    return account


def _keys(kwargs: Mapping[str, Any]) -> tuple[dict[str, str | None], dict[str, str | None]]:
    """Who was authenticated, which the proxy says; and what the client claims, which can only split these rows."""
    params = kwargs.get("litellm_params") or {}
    said, more = params.get("metadata") or {}, params.get("litellm_metadata")
    if more:
        said = {**said, **more}
    sure = {
        "team": said.get("user_api_key_team_id"),
        "key": said.get("user_api_key_hash") or said.get("user_api_key"),
        "user": said.get("user_api_key_user_id"),
        "provider": kwargs.get("custom_llm_provider") or params.get("custom_llm_provider"),
    }
    claimed = {
        "model": kwargs.get("model"),
        "end_user": said.get("user_api_key_end_user_id") or kwargs.get("user"),
        "session": session_of(params, said),
    }
    return _texts(sure), _texts(claimed)


def session_of(params: Mapping[str, Any], said: Mapping[str, Any]) -> object:
    """The session that a client names: LiteLLM's ``litellm_session_id``, or ``session_id`` in the metadata."""
    return params.get("litellm_session_id") or said.get("session_id")


def _texts(keys: Mapping[str, object]) -> dict[str, str | None]:
    return {name: str(value)[:200] if value else None for name, value in keys.items()}
