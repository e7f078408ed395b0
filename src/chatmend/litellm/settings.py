"""The options of ``chatmend.litellm.callback``: from environment variables, and from a ``chatmend:`` section in YAML.

The section is looked for in the file that ``CHATMEND_CONFIG`` names, or in the proxy's own ``config.yaml``. A variable
wins over the file. The keys are those of ``OPTIONS``; a variable is named ``CHATMEND_`` and the key in capitals.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from chatmend.changes import Effect
from chatmend.errors import PolicyError
from chatmend.litellm.hooks import ChatMend
from chatmend.policy import Policy
from chatmend.sessions import SessionStore

OPTIONS = ("mode", "on_error", "allow", "deny", "policy", "record")
"""As arguments of `ChatMend`, but for ``record``: a directory, in which calls are kept as sessions."""
_NAMED = ("strict_alternation", "provider_hygiene", "drop_instead_of_note", "offline")


def from_environment() -> ChatMend:
    """A callback as the environment and the file say.

    Raises:
        PolicyError: an option that does not exist, or a value that an option does not have.
    """
    return from_section({**_section(), **_variables()})


def from_section(section: dict[str, Any]) -> ChatMend:
    """A callback from options by name.

    Raises:
        PolicyError: an option that does not exist, or a value that an option does not have.
    """
    if unknown := sorted(set(section) - set(OPTIONS)):
        raise PolicyError(f"no such option of chatmend: {', '.join(unknown)}; there are {', '.join(OPTIONS)}")
    told = {key: value for key, value in section.items() if value is not None}
    for key in ("allow", "deny"):
        if key in told:
            told[key] = _patterns(told[key])
    if "record" in told:
        told["record"] = SessionStore(Path(str(told["record"])).expanduser())
    return ChatMend(_policy(told.pop("policy", None)), **told)


def _section() -> dict[str, Any]:
    named = os.environ.get("CHATMEND_CONFIG")
    path = named or _proxy_config()
    if not path or not Path(path).is_file():
        if named:
            raise PolicyError(f"CHATMEND_CONFIG names {named!r}, which is no file")
        return {}
    import yaml

    read = yaml.safe_load(Path(path).read_text("utf-8"))
    section = read.get("chatmend") if isinstance(read, dict) else None
    if section is not None and not isinstance(section, dict):
        raise PolicyError("the chatmend: section is a mapping of options")
    return section or {}


def _proxy_config() -> str | None:
    """The configuration that a running proxy was started with."""
    return getattr(sys.modules.get("litellm.proxy.proxy_server"), "user_config_file_path", None)


def _variables() -> dict[str, Any]:
    return {key: value for key in OPTIONS if (value := os.environ.get(f"CHATMEND_{key.upper()}"))}


def _patterns(value: Any) -> tuple[str, ...]:
    words = value.split(",") if isinstance(value, str) else value
    return tuple(str(word).strip() for word in words if str(word).strip())


def _policy(value: Any) -> Policy | None:
    """A named policy, or the fields of one."""
    if value is None or isinstance(value, Policy):
        return value
    if isinstance(value, str) and value in _NAMED:
        named: Policy = getattr(Policy, value)()
        return named
    if not isinstance(value, dict):
        raise PolicyError(f"policy={value!r}: name one of {', '.join(_NAMED)}, or give its fields")
    fields = dict(value)
    if "allow" in fields:
        fields["allow"] = _effect(fields["allow"])
    try:
        return Policy(**fields)
    except TypeError as error:
        raise PolicyError(f"policy: {str(error).rpartition('got an ')[2]}") from error


def _effect(value: Any) -> Effect:
    try:
        return Effect[str(value).upper()]
    except KeyError:
        names = ", ".join(effect.name.lower() for effect in Effect)
        raise PolicyError(f"allow={value!r}: choose one of {names}") from None
