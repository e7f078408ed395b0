"""The options that every adapter takes, with one name, one set of values and one error each.

Adapters check their options when they are constructed. An option that cannot work raises; nothing is disabled silently.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from chatmend.errors import PolicyError, TargetError
from chatmend.policy import named
from chatmend.targets import resolve
from chatmend.targets.resolve import misspelt, shortened

OnError = Literal["pass", "raise"]
"""If chatmend itself fails: ``pass`` the request on unchanged, with one warning, or ``raise`` (for tests)."""
Mode = Literal["repair", "report"]
"""``repair`` requests, or ``report`` what would be changed and send the original."""
UsagePlace = Literal["body", "hidden", "off"]
"""Where the usage record of an answer goes: into its ``usage``, next to it (``_hidden_params``, logs), or nowhere."""

policy_of = named
"""The policy that an option names: see ``chatmend.policy.named``."""


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
