"""The options that every adapter takes, with one name, one set of values and one error each.

Adapters check their options when they are constructed. An option that cannot work raises; nothing is disabled silently.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Literal

from chatmend.changes import Effect
from chatmend.errors import PolicyError, TargetError
from chatmend.policy import CHOICES, Policy, named
from chatmend.targets import known_providers, resolve
from chatmend.targets.hosts import bare
from chatmend.targets.resolve import misspelt, shortened

OnError = Literal["pass", "raise"]
"""If chatmend itself fails: ``pass`` the request on unchanged, with one warning, or ``raise`` (for tests)."""
Mode = Literal["repair", "report"]
"""``repair`` requests, or ``report`` what would be changed and send the original."""
UsagePlace = Literal["body", "hidden", "off"]
"""Where the usage record of an answer goes: into its ``usage``, next to it (``_hidden_params``, logs), or nowhere."""

policy_of = named
"""The policy that an option names: see ``chatmend.policy.named``."""

POLICY_FIELDS = {name: tuple(str(choice).lower() for choice in choices) for name, choices in CHOICES.items()} | {
    "allow": tuple(effect.name.lower() for effect in Effect)
}
"""The fields of a policy with their values, as ``policy_with`` reads them."""


def policy_with(policy: object, settings: Sequence[str]) -> Policy | None:
    """Return a policy with some of its fields set by texts, or None for the default.

    >>> policy_with("offline", ["orphans=drop", "image_notes=true"]) == Policy(
    ...     late_results="move", duplicates="messages", orphans="drop", image_notes=True
    ... )
    True

    Raises:
        PolicyError: a name, a field or a value that does not exist; a text without ``=``.
    """
    chosen = named(policy)
    if not settings:
        return chosen
    given = dict(map(_setting, settings))
    return named({**asdict(chosen or Policy()), **given})


def _setting(text: str) -> tuple[str, object]:
    """A field and its value, of the field's type where the text spells one."""
    field, equals, value = text.partition("=")
    if not equals:
        raise PolicyError(f"{text!r} sets no field; write FIELD=VALUE with one of {', '.join(POLICY_FIELDS)}")
    spelled = {str(choice).lower(): choice for choice in CHOICES.get(field, ())}
    return field, spelled.get(value.lower(), value)


def known_hosts() -> Mapping[str, str]:
    """Addresses of the operator's own, each with the provider whose rules hold behind it.

    ``CHATMEND_HOSTS="https://llm.acme.example/openai=openai,10.0.0.7:8000=hosted_vllm"`` says so for all adapters; an
    address is meant with every path below it.

    Raises:
        TargetError: an entry is no ``ADDRESS=PROVIDER``, or no table describes the provider.
    """
    return _hosts_in(os.environ.get("CHATMEND_HOSTS", ""))


@lru_cache(maxsize=8)
def _hosts_in(text: str) -> Mapping[str, str]:
    hosts = {}
    for entry in filter(None, map(str.strip, text.split(","))):
        address, _, provider = entry.rpartition("=")
        if not address or provider not in known_providers():
            raise TargetError(f"CHATMEND_HOSTS: {shortened(entry)!r} is no ADDRESS=PROVIDER with a known provider")
        hosts[bare(address)] = provider
    return hosts


def on_error_of(value: object) -> OnError:
    """Return the value of ``on_error``.

    Raises:
        PolicyError: the value does not exist.
    """
    return _one_of("on_error", value, ("pass", "raise"))  # type: ignore[return-value]  # one of these


def mode_of(value: object) -> Mode:
    """Return the value of ``mode``.

    Raises:
        PolicyError: the value does not exist.
    """
    return _one_of("mode", value, ("repair", "report"))  # type: ignore[return-value]  # one of these


def usage_of(value: object) -> UsagePlace | None:
    """Return the value of ``usage``; None stands for the default of where chatmend runs.

    Raises:
        PolicyError: the value does not exist.
    """
    if value is None:
        return None
    return _one_of("usage", value, ("body", "hidden", "off"))  # type: ignore[return-value]  # one of these


def patterns_of(option: str, value: object) -> tuple[str, ...]:
    """Return patterns of model names from a list of them, or from one text with commas between them.

    >>> patterns_of("deny", "internal-*, openai/gpt-3*")
    ('internal-*', 'openai/gpt-3*')

    Raises:
        PolicyError: the value is something else.
    """
    words = value.split(",") if isinstance(value, str) else value
    if not isinstance(words, Iterable) or isinstance(words, bytes | dict):
        raise PolicyError(f"{option}={value!r}: list patterns of models, such as ['anthropic/*']")
    patterns = list(words)
    for word in patterns:
        if not isinstance(word, str):
            raise PolicyError(f"{option}: a pattern is a text such as 'anthropic/*', not {word!r}")
    return tuple(word.strip() for word in patterns if word.strip())


def target_of(value: object) -> str | None:
    """Return the name of a target, or None where none is given.

    Raises:
        TargetError: no table describes it. A name that looks like a misspelt provider is an error here, because an
            option is written once, by somebody who can correct it.
    """
    if value is None:
        return None
    resolve(value)  # type: ignore[arg-type]  # it refuses what is no name
    if (meant := misspelt(str(value))) is not None:
        message = f"no table for {shortened(str(value).partition('/')[0])!r}; did you mean {meant!r}?"
        raise TargetError(message)
    return str(value)


def _one_of(option: str, value: object, known: tuple[str, ...]) -> str:
    if isinstance(value, str) and value in known:
        return value
    raise PolicyError(f"{option}={value!r} does not exist; choose {' or '.join(map(repr, known))}")
