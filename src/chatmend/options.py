"""Options that all adapters share, with the same names, values and errors.

Adapters check their options when they are constructed. An invalid option raises an exception;
nothing is disabled silently.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Literal

from chatmend.changes import Effect
from chatmend.errors import PolicyError, TargetError
from chatmend.policy import CHOICES, Policy, resolve_policy
from chatmend.shared_state import SessionMemories, SharedState
from chatmend.targets import known_providers, resolve
from chatmend.targets.addresses import without_scheme
from chatmend.targets.resolve import shorten, suggest_provider

_log = logging.getLogger("chatmend")
_SWITCH = {"1": True, "true": True, "yes": True, "on": True} | dict.fromkeys(
    ("", "0", "false", "no", "off"), False
)
"""Whether a value of ``CHATMEND_DISABLED`` disables all repairs."""
OnError = Literal["pass", "raise"]
"""What to do if chatmend itself fails.

``pass`` sends the request unchanged and logs one warning; ``raise`` is for tests.
"""
Mode = Literal["repair", "report"]
"""``repair`` requests, or ``report`` the proposed changes and send the original."""
RolloutMode = Literal["repair", "report", "off"]
"""The modes of a proxy; ``off`` passes requests on without looking at them."""
SessionMemoryMode = Literal["bound", "all", "off"]
"""For which requests an adapter keeps what was sent in a conversation.

``bound``: for targets that refuse thinking behind a changed prompt; ``all`` or ``off``: for all or
none.
"""
ReportMode = Literal["new", "counts", "all", "off"]
"""Which changes an answer's report lists.

``new``: those of messages since the last answer, with the number of the others; ``counts``: only
the number for each code; ``all``; ``off``: none.
"""
UsageMode = Literal["body", "hidden", "off"]
"""Where an adapter stores the usage record of a response.

``body``: in the response's ``usage``; ``hidden``: only in ``_hidden_params`` and logs; ``off``:
nowhere.
"""

_ROLLOUT_MODES = ("repair", "report", "off")
_OVERRIDE_PATTERNS = ("models", "keys", "teams", "tags")


@dataclass(frozen=True, slots=True)
class Override:
    """Other choices for some of the requests through a proxy.

    It applies to a request if each of its non-empty pattern lists matches.
    """

    models: tuple[str, ...] = ()
    """Patterns of targets, deployments or model groups."""
    keys: tuple[str, ...] = ()
    """Patterns of aliases or hashes of keys."""
    teams: tuple[str, ...] = ()
    """Patterns of ids or aliases of teams."""
    tags: tuple[str, ...] = ()
    """Patterns of tags of a request, its key or its team."""
    mode: RolloutMode | None = None
    policy: Policy | None = None
    sample: float | None = None


policy_of = resolve_policy
"""Return the policy that the option ``policy`` means; see ``chatmend.policy.resolve_policy``."""

POLICY_FIELDS = {
    name: tuple(str(choice).lower() for choice in choices) for name, choices in CHOICES.items()
} | {"allow": tuple(effect.name.lower() for effect in Effect)}
"""The fields of a policy with the texts that ``policy_with`` accepts as their values."""


def policy_with(policy: object, settings: Sequence[str]) -> Policy | None:
    """Return a policy with fields set from texts such as ``orphans=drop``.

    Returns None, which means the default policy, if ``policy`` is None and ``settings`` is empty.

    >>> policy_with("offline", ["orphans=drop", "image_notes=true"]) == Policy(
    ...     late_results="move", duplicates="messages", orphans="drop", image_notes=True
    ... )
    True

    Raises:
        PolicyError: a name, field or value is unknown, or a text has no ``=``.
    """
    chosen = resolve_policy(policy)
    if not settings:
        return chosen
    given = dict(map(_parse_setting, settings))
    return resolve_policy({**asdict(chosen or Policy()), **given})


def _parse_setting(text: str) -> tuple[str, object]:
    """Return the field and the value of ``FIELD=VALUE``.

    The value is converted to the field's type (``"true"`` to True) if it names a valid choice.
    """
    field, equals, value = text.partition("=")
    if not equals:
        raise PolicyError(f"{text!r} is not FIELD=VALUE; the fields are {', '.join(POLICY_FIELDS)}")
    choices = {str(choice).lower(): choice for choice in CHOICES.get(field, ())}
    return field, choices.get(value.lower(), value)


def known_hosts() -> Mapping[str, str]:
    """Return the provider for each address in the environment variable ``CHATMEND_HOSTS``.

    It tells all adapters which provider's rules apply to the operator's own servers, for example
    ``CHATMEND_HOSTS="https://llm.acme.example/openai=openai,10.0.0.7:8000=hosted_vllm"``. An
    address includes all paths below it.

    Raises:
        TargetError: an entry is not ``ADDRESS=PROVIDER``, or the provider has no table.
    """
    return _parse_hosts(os.environ.get("CHATMEND_HOSTS", ""))


@lru_cache(maxsize=8)
def _parse_hosts(text: str) -> Mapping[str, str]:
    hosts = {}
    for entry in filter(None, map(str.strip, text.split(","))):
        address, _, provider = entry.rpartition("=")
        if not address or provider not in known_providers():
            raise TargetError(
                f"CHATMEND_HOSTS: {shorten(entry)!r} is not ADDRESS=PROVIDER with a known "
                "provider; 'chatmend targets' lists the providers"
            )
        hosts[without_scheme(address)] = provider
    return hosts


def on_error_of(value: object) -> OnError:
    """Return the value of ``on_error``.

    Raises:
        PolicyError: the value is invalid.
    """
    return _checked_choice("on_error", value, ("pass", "raise"))  # type: ignore[return-value]


def mode_of(value: object) -> Mode:
    """Return the value of ``mode``.

    Raises:
        PolicyError: the value is invalid.
    """
    return _checked_choice("mode", value, ("repair", "report"))  # type: ignore[return-value]


def rollout_mode_of(value: object, option: str = "mode") -> RolloutMode:
    """Return the value of ``mode`` for a proxy, where it may also be ``off``.

    YAML reads ``off`` without quotes as false, which means the same.

    >>> rollout_mode_of(False)
    'off'

    Raises:
        PolicyError: the value is invalid.
    """
    value = "off" if value is False else value
    return _checked_choice(option, value, _ROLLOUT_MODES)  # type: ignore[return-value]


def sample_of(value: object, option: str = "sample") -> float:
    """Return the value of ``sample``: the share of conversations to repair, from 0 to 1.

    >>> sample_of("0.01")
    0.01

    Raises:
        PolicyError: the value is invalid.
    """
    try:
        share = -1.0 if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        share = -1.0
    if not 0 <= share <= 1:
        raise PolicyError(f"{option}={value!r} is invalid; choose a number from 0 to 1, like 0.01")
    return share


def overrides_of(value: object) -> tuple[Override, ...]:
    """Return the value of ``overrides``: mappings with the fields of `Override`, or those objects.

    Raises:
        PolicyError: a field does not exist or has an invalid value; the message names both.
    """
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise PolicyError(
            f"overrides={value!r}: pass a list, such as [{{keys: ['ops-*'], mode: report}}]"
        )
    return tuple(_override_of(f"overrides[{at}]", one) for at, one in enumerate(value))


def _override_of(option: str, value: object) -> Override:
    if isinstance(value, Override):
        return value
    fields = tuple(Override.__dataclass_fields__)
    unknown = [] if not isinstance(value, Mapping) else sorted(set(map(str, value)) - set(fields))
    if not isinstance(value, Mapping) or unknown:
        found = f"unknown field {', '.join(unknown)}" if unknown else f"{value!r} is not a mapping"
        raise PolicyError(f"{option}: {found}; the fields are {', '.join(fields)}")
    given = {name: one for name, one in value.items() if one is not None}
    patterns = {
        name: patterns_of(f"{option}.{name}", given[name])
        for name in _OVERRIDE_PATTERNS
        if name in given
    }
    if not any(patterns.values()):
        raise PolicyError(f"{option} matches no request; set {' or '.join(_OVERRIDE_PATTERNS)}")
    return Override(
        **patterns,
        mode=rollout_mode_of(given["mode"], f"{option}.mode") if "mode" in given else None,
        policy=_override_policy(option, given["policy"]) if "policy" in given else None,
        sample=sample_of(given["sample"], f"{option}.sample") if "sample" in given else None,
    )


def _override_policy(option: str, value: object) -> Policy:
    try:
        return Policy() if value == "default" else resolve_policy(value) or Policy()
    except PolicyError as error:
        raise PolicyError(f"{option}.policy: {error}") from error


def react_of(value: object) -> int:
    """Return the value of ``react``: how many more attempts follow a refusal, 0, 1 or 2.

    Raises:
        PolicyError: the value is invalid.
    """
    texts = {"0": 0, "1": 1, "2": 2, "false": 0, "true": 1}
    known = None if isinstance(value, float) else texts.get(str(value).lower())
    if known is None:
        raise PolicyError(f"react={value!r}: choose 0, 1 or 2 more attempts after a refusal")
    return known


def session_memory_of(value: object) -> SessionMemoryMode | SessionMemories:
    """Return the value of ``session_memory``: a mode, or a store with its mode.

    Raises:
        PolicyError: the value is invalid.
    """
    choices = ("bound", "all", "off")
    if isinstance(value, SessionMemories) and isinstance(value.state, SharedState):
        _checked_choice("session_memory mode", value.mode, ("bound", "all"))
        return value
    return _checked_choice("session_memory", value, choices)  # type: ignore[return-value]


def report_of(value: object) -> ReportMode:
    """Return the value of ``report``.

    Raises:
        PolicyError: the value is invalid.
    """
    choices = ("new", "counts", "all", "off")
    return _checked_choice("report", value, choices)  # type: ignore[return-value]


def usage_of(value: object) -> UsageMode | None:
    """Return the value of ``usage``; None means the adapter's default.

    Raises:
        PolicyError: the value is invalid.
    """
    if value is None:
        return None
    return _checked_choice("usage", value, ("body", "hidden", "off"))  # type: ignore[return-value]


def patterns_of(option: str, value: object) -> tuple[str, ...]:
    """Return model name patterns from a list, or from one comma-separated string.

    >>> patterns_of("deny", "internal-*, openai/gpt-3*")
    ('internal-*', 'openai/gpt-3*')

    Raises:
        PolicyError: the value has another type.
    """
    words = value.split(",") if isinstance(value, str) else value
    if not isinstance(words, Iterable) or isinstance(words, bytes | dict):
        raise PolicyError(
            f"{option}={value!r}: pass a list of model name patterns, such as ['anthropic/*']"
        )
    patterns = list(words)
    for word in patterns:
        if not isinstance(word, str):
            raise PolicyError(
                f"{option}: a pattern must be a string such as 'anthropic/*', not {word!r}"
            )
    return tuple(word.strip() for word in patterns if word.strip())


def target_of(value: object) -> str | None:
    """Return the name of a target, or None if ``value`` is None.

    Raises:
        TargetError: the target is invalid, or its provider looks misspelt. ``resolve`` accepts an
            unknown provider, but an option is written once, by a person who can correct it.
    """
    if value is None:
        return None
    # First, because `resolve` warns of a misspelt provider as well.
    if isinstance(value, str) and (meant := suggest_provider(value)) is not None:
        message = f"no table for {shorten(value.partition('/')[0])!r}; did you mean {meant!r}?"
        raise TargetError(message)
    resolve(value)  # type: ignore[arg-type]  # raises TargetError for other types
    return str(value)


def _checked_choice(option: str, value: object, choices: tuple[str, ...]) -> str:
    if isinstance(value, str) and value in choices:
        return value
    raise PolicyError(f"{option}={value!r} is invalid; choose {' or '.join(map(repr, choices))}")


def is_disabled() -> bool:
    """Return whether ``CHATMEND_DISABLED`` disables all repairs, as ``1`` or ``true`` do.

    An unknown value disables them too, with one warning: a typing error must not matter in an
    incident. The variable can be changed while the process runs.
    """
    value = os.environ.get("CHATMEND_DISABLED", "").strip().lower()
    is_off = _SWITCH.get(value)
    if is_off is None:
        _warn_of_unknown_switch(value)
    return is_off is not False


@lru_cache
def _warn_of_unknown_switch(value: str) -> None:
    _log.warning("CHATMEND_DISABLED=%s is unknown, and disables all repairs; write 1 or 0", value)
