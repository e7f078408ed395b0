"""The parameters of a chat model that enable thinking: finds them, and disables them for one call.

They are fields of the model, keys of its fields for further parameters, or options of a call. A
field may take precedence over an option (``thinking`` of ``ChatAnthropic``), so a copy of the model
makes the call.
"""

from __future__ import annotations

import copy
import logging
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from chatmend.failures import reason_of
from chatmend.langchain.fields import stored_thinking
from chatmend.thinking_parameter import BINDING_BETA, disable, drops_blocks, is_thinking_on

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from langchain_core.messages import BaseMessage

_Model = TypeVar("_Model")
_log = logging.getLogger("chatmend.langchain")
_NAMES = ("thinking", "reasoning", "reasoning_effort")
_NOT_SENT = frozenset({"run_manager", "stop", "stream"})
"""Arguments of a call that are no parameters of the request."""
_HOLDERS = ("model_kwargs", "additional_model_request_fields", "extra_body")
"""Fields with further parameters of the request, and options with the same names."""


def thinking_of(model: object, options: Mapping[str, Any]) -> Any:
    """Return the parameter that enables thinking in a call; the last one found if none does."""
    fields = _fields_of(model)
    places = (options, *_held(options).values(), fields, *_held(fields).values())
    found = [
        value for values in places for name in _NAMES if (value := values.get(name)) is not None
    ]
    return next(filter(is_thinking_on, found), found[-1] if found else None)


def sent_blocks(
    model: Any, key: str, options: Mapping[str, Any], messages: Sequence[BaseMessage]
) -> dict[int, bool]:
    """Return the ``id()`` of each block of thinking under this key, and whether a model sends it.

    langchain-litellm sends one only to the endpoint that signed it, behind the same history. Its
    own methods decide that; if they fail, the thinking counts as not sent, with one warning. The
    ids are those of blocks because a rewritten message has another list of the same blocks.
    """
    stored = [stored_thinking(message, key) for message in messages]
    if not any(stored):
        return {}
    given = {name: value for name, value in options.items() if name not in _NOT_SENT}
    try:
        bodies, params = model._create_message_dicts(list(messages), None)  # noqa: SLF001
        merged = model._merge_call_params(params, given)  # noqa: SLF001
        params = {name: value for name, value in merged.items() if value is not None}
        model._bind_thinking(messages, bodies, params)  # noqa: SLF001
        is_sent = [key in body for body in bodies]
    except Exception as error:  # noqa: BLE001 - methods of another version
        _warn(type(model).__qualname__, reason_of(error))
        is_sent = [False] * len(stored)
    pairs = zip(stored, is_sent, strict=True)
    return {id(block): sent for blocks, sent in pairs for block in blocks}


@lru_cache(maxsize=64)
def _warn(kind: str, reason: str) -> None:
    _log.warning(
        "%s does not show which of its stored thinking it sends (%s), so chatmend repairs the "
        "request as if it sent none; that may disable thinking in tool loops",
        kind,
        reason,
    )


def with_thinking(
    model: _Model, options: dict[str, Any], thinking: object
) -> tuple[_Model, dict[str, Any]]:
    """Return a copy of the model and options with a repaired thinking parameter.

    It disables thinking, or lets the provider ignore thinking behind a changed prompt.
    """
    if not drops_blocks(thinking):
        return without_thinking(model, options)
    fields = _fields_of(model)
    betas = list(options.get("betas") or fields.get("betas") or ())
    options = {**options, "betas": list(dict.fromkeys([*betas, BINDING_BETA]))}
    if options.get("thinking") is not None:
        options["thinking"] = thinking
    if fields.get("thinking") is not None:
        model = copy.copy(model)
        model.__dict__.update(thinking=thinking)
    return model, options


def without_thinking(model: _Model, options: dict[str, Any]) -> tuple[_Model, dict[str, Any]]:
    """Return a copy of the model and options that do not enable thinking."""
    changed = _all_disabled(_fields_of(model))
    if changed:
        model = copy.copy(model)
        model.__dict__.update(changed)
    return model, _without_nulls({**options, **_all_disabled(options)})


def _all_disabled(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that enable thinking, and those that hold one, with thinking disabled."""
    return _disabled(values) | {
        name: _without_nulls({**held, **inner})
        for name, held in _held(values).items()
        if (inner := _disabled(held))
    }


def _disabled(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that enable thinking, disabled."""
    return {name: disable(value) for name in _NAMES if is_thinking_on(value := values.get(name))}


def _without_nulls(values: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value for name, value in values.items() if value is not None or name not in _NAMES
    }


def _fields_of(model: object) -> Mapping[str, Any]:
    return getattr(model, "__dict__", {})


def _held(values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the further parameters among fields or options, by the name of their field."""
    return {name: held for name in _HOLDERS if isinstance(held := values.get(name), dict)}
