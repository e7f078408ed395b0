"""Usage on the way back: the normalised account of an answer, where it is written, and the sums of all calls."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from threading import Lock
from typing import TYPE_CHECKING, Any

from chatmend.litellm.notes import KEY
from chatmend.usage import Usage, UsageLedger, normalize_usage
from chatmend.usage.account import build
from chatmend.usage.plain import mapping

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chatmend.options import UsagePlace

MAX_ROWS = 10_000
OTHER = "other"
"""Stands for users and sessions beyond ``MAX_ROWS`` rows."""

_LITELLM = "litellm"
_LONGEST = 200
"""Characters of a model's name, or of a key."""
_UNTOLD = frozenset({"sources", "unread", "provider", "model"})
"""What the response says elsewhere, or nobody reads there."""


def _account_of(response: object, usage: Any) -> Usage:
    model = _get(response, "model")
    known = model if isinstance(model, str) and len(model) <= _LONGEST else None
    account = normalize_usage(_reported(usage), model=known)
    # Into the usage of a streamed chunk LiteLLM writes a cost that it has worked out itself.
    if account.cost is not None and _get(response, "object") == "chat.completion.chunk":
        account = replace(account, cost_source=_LITELLM)
    return account


def usage_in(response: object) -> Any:
    """The usage object of a response, a chunk, or an event of LiteLLM's, whatever its class."""
    for key in ("usage", "usageMetadata", "usage_metadata"):
        if (usage := _get(response, key)) is not None:
            return usage
    inner = _get(response, "response")
    return usage_in(inner) if inner is not None and inner is not response else None


_ABSENT = object()
_HIDDEN = "_hidden_params"


def _get(holder: object, key: str) -> Any:
    """A field, or None. Of a Pydantic model past its own look-up, which makes an exception for what is not there."""
    if isinstance(holder, dict):
        return holder.get(key)
    extra: Any = getattr(holder, "__pydantic_extra__", _ABSENT)
    if extra is _ABSENT:
        return getattr(holder, key, None)
    return extra[key] if extra and key in extra else holder.__dict__.get(key)


def _reported(usage: Any) -> Any:
    """What a usage object holds, ours left out."""
    held = mapping(usage)
    return {key: value for key, value in held.items() if key != KEY} if held is not None and KEY in held else held


_SIMPLE = frozenset({int, float, str, bool})


def hidden_of(response: object) -> dict[str, Any] | None:
    """What LiteLLM keeps of a response for itself, past Pydantic's look-up, which takes as long as the account."""
    private = getattr(response, "__pydantic_private__", None)
    hidden = private.get(_HIDDEN) if private else getattr(response, _HIDDEN, None)
    return hidden if isinstance(hidden, dict) else None


class Told(dict[str, Any]):
    """An account as it stands in a response: what is set, ready for JSON. It keeps what it was made from."""

    account: Usage
    read_from: object
    """The usage object whose account this is, while it stands beside it; one that stands inside needs no telling."""

    def __init__(self, account: Usage, read_from: object = None) -> None:
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
        self.read_from = read_from


_INT = frozenset({int})


def account_of(response: object) -> Told | None:
    """Return the account of a response, ready for JSON: the one that was made before, where there is one.

    The response is only read.
    """
    usage = usage_in(response)
    if usage is None:
        return None
    if isinstance(known := _written(usage), Told):
        return known
    hidden = hidden_of(response)
    beside = hidden.get(KEY) if hidden else None
    known = beside.get("usage") if isinstance(beside, dict) else None
    if isinstance(known, Told) and known.read_from is usage:
        return known
    account = _account_of(response, usage)
    used = account.total_tokens or account.output_tokens or account.input_tokens
    return Told(account, usage) if used else None


def place(response: object, where: UsagePlace) -> Told | None:
    """Return the account of a response, written into its usage if that is where it goes. Twice is once.

    Nothing of LiteLLM's is changed: its cost is worked out from its own figures.
    """
    told = None if where == "off" else account_of(response)
    if told is not None and where == "body":
        _write(usage_in(response), told)
    return told


def _written(usage: Any) -> Any:
    """What stands under our key in a usage object."""
    extra = _extra_of(usage)
    return extra.get(KEY) if extra is not None else _get(usage, KEY)


def _write(usage: Any, told: Told) -> None:
    extra, told.read_from = _extra_of(usage), None
    if extra is None:
        with suppress(ValueError):  # a class that is closed; what cannot be written there is still counted
            setattr(usage, KEY, told)
        return
    extra[KEY] = told
    if extra is not usage:
        usage.__pydantic_fields_set__.add(KEY)


def _extra_of(usage: Any) -> dict[str, Any] | None:
    """The dict that holds further keys: the usage itself, or what pydantic keeps, read past its slow look-up."""
    extra = usage if isinstance(usage, dict) else getattr(usage, "__pydantic_extra__", None)
    return extra if isinstance(extra, dict) else None


def tell_beside(response: object, told: dict[str, Any] | None) -> None:
    """Write note and account into what LiteLLM keeps of a response and no client gets: its ``_hidden_params``."""
    if told is not None and (hidden := hidden_of(response)) is not None:
        known = hidden.get(KEY)  # a bridged call is finished twice
        hidden[KEY] = {**known, **told} if isinstance(known, dict) else told


class Accounts:
    """Adds calls to a ledger, keyed by who was authenticated; the number of rows is bounded."""

    def __init__(
        self, ledger: UsageLedger, max_rows: int = MAX_ROWS, failed: Callable[[Exception], object] | None = None
    ) -> None:
        """``ledger`` may be read, and reset, at any time by anyone; ``failed`` hears of a call that was not counted."""
        self.ledger = ledger
        self._failed = failed
        self._max_rows = max_rows
        self._seen: set[tuple[str | None, ...]] = set()
        self._lock = Lock()

    def add(self, kwargs: Mapping[str, Any], response: object) -> None:
        """Count a call that LiteLLM logs as a success. An answer from LiteLLM's own cache used nothing."""
        told = account_of(response)
        if told is None or kwargs.get("cache_hit"):
            return
        price, keys = _price_in(kwargs), _keys(kwargs)
        self.ledger.add_later(lambda: (_priced(told.account, *price), self._bounded(keys)), self._failed)

    def _bounded(self, keys: tuple[str | None, ...]) -> dict[str, str | None]:
        """Keys by name; what the client claims is another's once there are too many rows."""
        row = tuple(value or None for value in keys)
        named = dict(zip(_KEYS, row, strict=True))
        if row in self._seen:
            return named
        with self._lock:
            if len(self._seen) < self._max_rows:
                self._seen.add(row)
                return named
        return named | {name: OTHER for name in _CLAIMED if named[name] is not None}


def account_of_call(kwargs: Mapping[str, Any], response: object) -> Usage | None:
    """The account of a call that LiteLLM logs as a success, with its cost; ``None`` where nothing was used."""
    said = account_of(response)
    return None if said is None or kwargs.get("cache_hit") else _priced(said.account, *_price_in(kwargs))


def _price_in(kwargs: Mapping[str, Any]) -> tuple[object, bool]:
    """LiteLLM's own cost of a call, and whether it was streamed."""
    return kwargs.get("response_cost"), bool(kwargs.get("stream"))


def _priced(account: Usage, cost: object, streamed: bool) -> Usage:  # noqa: FBT001 - a pair, as `_price_in` gives it
    """With LiteLLM's own cost, and its name to it, where the provider tells none."""
    if isinstance(cost, int | float) and not isinstance(cost, bool) and (account.cost is None or streamed):
        told = {"cost": Decimal(str(cost)), "cost_currency": "USD", "cost_source": _LITELLM}
        return build({**vars(account), **told})
    return account


_CLAIMED = ("model", "end_user", "session")
"""What the client says: it can only split the rows of who was authenticated."""
_KEYS = ("team", "key", "user", "provider", *_CLAIMED)


def _keys(kwargs: Mapping[str, Any]) -> tuple[str | None, ...]:
    """The values of the keys: who was authenticated, which the proxy says; and what the client claims."""
    params = kwargs.get("litellm_params") or {}
    said, more = params.get("metadata") or {}, params.get("litellm_metadata")
    if more:
        said = {**said, **more}
    found = (
        said.get("user_api_key_team_id"),
        said.get("user_api_key_hash") or said.get("user_api_key"),
        said.get("user_api_key_user_id"),
        kwargs.get("custom_llm_provider") or params.get("custom_llm_provider"),
        kwargs.get("model"),
        said.get("user_api_key_end_user_id") or kwargs.get("user"),
        session_of(params, said),
    )
    # As they are now: what is no short text may change, or is not to be kept until it is counted.
    return tuple([v if v is None or (v.__class__ is str and len(v) <= _LONGEST) else _text(v) for v in found])


def _text(value: object) -> str | None:
    return str(value)[:_LONGEST] if value else None


def session_of(params: Mapping[str, Any], said: Mapping[str, Any]) -> object:
    """The session that a client names: LiteLLM's ``litellm_session_id``, or ``session_id`` in the metadata."""
    return params.get("litellm_session_id") or said.get("session_id")
