"""The options of ``chatmend.litellm.callback``, from environment variables and a YAML section.

The ``chatmend:`` section is read from the file in ``CHATMEND_CONFIG``, or else from the proxy's
``config.yaml``. Its keys are those of ``OPTIONS``. Variables take precedence; their names are
``CHATMEND_`` and the key in capitals, and mappings and lists of mappings are written as in the
file (``CHATMEND_POLICY={orphans: drop}``). A misspelt one causes a warning.
"""

from __future__ import annotations

import logging
import os
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from chatmend.errors import PolicyError
from chatmend.images import Recompressor
from chatmend.images.budget import MEMORY, memory_of
from chatmend.litellm.hooks import ChatMend
from chatmend.litellm.live import Reloading
from chatmend.litellm.shared_images import LIFETIME, SharedImages
from chatmend.litellm.shared_memories import LIFETIME as MEMORY_LIFETIME
from chatmend.litellm.shared_memories import SharedMemories
from chatmend.litellm.starting import proxy_config
from chatmend.options import session_memory_of
from chatmend.shared_state import SessionMemories

_log = logging.getLogger("chatmend.litellm")

OPTIONS = (
    "mode",
    "on_error",
    "allow",
    "deny",
    "policy",
    "usage",
    "record",
    "react",
    "lessons_file",
    "session_memory",
    "shared_memory",
    "shared_images",
    "image_memory",
    "sample",
    "overrides",
    "trusted_keys",
    "switch_file",
    "reload",
)
"""The arguments of `ChatMend`, with these differences:

- ``record`` is the directory of a session store.
- ``shared_memory`` and ``shared_images`` are true, or the lifetime of an entry in seconds. The
  first one shares session memories and lessons.
- ``image_memory`` limits the memory for decoding, in bytes or as a size such as ``"1 GB"``.
- ``reload`` applies the options of ``LIVE`` again when the configuration file has changed.
"""
LIVE = ("mode", "policy", "allow", "deny", "usage", "sample", "overrides", "trusted_keys")
"""Options that a running proxy can change; the others need a restart."""
_PREFIX = "CHATMEND_"
_OTHER_VARIABLES = ("config", "disabled", "hosts", "secret")
"""Variables with this prefix that are not options of the section."""
_NESTED = {"policy": "{orphans: drop}", "overrides": "[{keys: ['ops-*'], mode: report}]"}
"""Options that take mappings, each with an example of its variable."""
_LIFETIMES: dict[str, float] = {"true": LIFETIME, "false": 0, "1": LIFETIME, "0": 0}
"""The values of ``shared_images`` that enable or disable it; 0 disables it."""
_MEMORY_LIFETIMES = {text: value and MEMORY_LIFETIME for text, value in _LIFETIMES.items()}
"""The same for ``shared_memory``."""


def from_environment(kind: type[ChatMend] = ChatMend) -> ChatMend:
    """Return a callback with the options from the environment and the configuration file.

    Raises:
        PolicyError: an option does not exist, or its value is invalid.
    """
    section = {**_section(), **_variables()}
    callback = from_section(section, kind)
    _warn_of_misspelt_variables()
    if _is_true("reload", section.get("reload") or False):
        if (path := _section_file()) is None:
            raise PolicyError("reload needs a configuration file; set CHATMEND_CONFIG")
        callback.reloading = Reloading(path, lambda: _reload(callback, section))
    return callback


def _reload(callback: ChatMend, old: dict[str, Any]) -> None:
    """Apply the live options of the configuration file to a callback.

    Raises:
        PolicyError: an option does not exist, or its value is invalid; nothing is applied.
    """
    new = {**_section(), **_variables()}
    _check_names(new)
    fixed = {name: old.get(name) for name in ("react", "switch_file")}
    given = {**fixed, **{name: new.get(name) for name in LIVE}}
    read = ChatMend(**{name: value for name, value in given.items() if value is not None})
    for name in LIVE:
        attribute = "usage_mode" if name == "usage" else name
        setattr(callback, attribute, getattr(read, attribute))
    others = sorted(set(OPTIONS) - set(LIVE))
    if late := [name for name in others if new.get(name) != old.get(name)]:
        _log.warning("chatmend: restart the proxy to change %s", ", ".join(late))


def _is_true(option: str, value: Any) -> bool:
    known = {"true": True, "1": True, "false": False, "0": False}
    if (found := known.get(str(value).lower())) is None:
        raise PolicyError(f"{option}={value!r} is invalid; choose true or false")
    return found


def from_section(section: dict[str, Any], kind: type[ChatMend] = ChatMend) -> ChatMend:
    """Return a callback with these options.

    Raises:
        PolicyError: an option does not exist, or its value is invalid.
    """
    _check_names(section)
    options = {key: value for key, value in section.items() if value is not None}
    options.pop("reload", None)
    memory = memory_of(options.pop("image_memory", MEMORY))
    shared = _shared_images(options.pop("shared_images", False), memory)
    if memories := _shared_memories(options.pop("shared_memory", False), options):
        options["session_memory"] = memories
    return kind(
        images=shared or (None if memory == MEMORY else Recompressor(memory=memory)), **options
    )


def _check_names(section: dict[str, Any]) -> None:
    if unknown := sorted(set(map(str, section)) - set(OPTIONS)):
        raise PolicyError(
            f"unknown options of chatmend: {', '.join(unknown)}; choose from {', '.join(OPTIONS)}"
        )


def _section_file() -> Path | None:
    """Return the file that contains the section, if there is one.

    Raises:
        PolicyError: ``CHATMEND_CONFIG`` names no file.
    """
    named = os.environ.get("CHATMEND_CONFIG")
    path = Path(named or proxy_config() or "")
    if path.is_file():
        return path
    if named:
        raise PolicyError(f"CHATMEND_CONFIG={named!r} is not a file")
    return None


def _section() -> dict[str, Any]:
    if (path := _section_file()) is None:
        return {}
    import yaml

    read = yaml.safe_load(path.read_text("utf-8"))
    section = read.get("chatmend") if isinstance(read, dict) else None
    if section is not None and not isinstance(section, dict):
        raise PolicyError("the chatmend: section must be a mapping of options to values")
    return section or {}


def _variables() -> dict[str, Any]:
    given = {key: value for key in OPTIONS if (value := os.environ.get(_PREFIX + key.upper()))}
    return {key: _value_of(key, text) for key, text in given.items()}


def _value_of(option: str, text: str) -> Any:
    """Return the value of a variable, which is YAML if the option takes mappings.

    Raises:
        PolicyError: it is not valid YAML.
    """
    if option not in _NESTED or not text.lstrip().startswith(("{", "[")):
        return text
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        variable = _PREFIX + option.upper()
        example = _NESTED[option]
        raise PolicyError(f"{variable} is not valid YAML, such as {example}: {error}") from error


def _warn_of_misspelt_variables() -> None:
    known = [name.upper() for name in (*OPTIONS, *_OTHER_VARIABLES)]
    for variable in sorted(os.environ):
        name = variable.removeprefix(_PREFIX)
        if name == variable or name in known:
            continue
        if closest := get_close_matches(name, known, 1):
            meant = _PREFIX + closest[0]
            _log.warning("chatmend: %s has no effect; did you mean %s?", variable, meant)


def _shared_images(value: Any, memory: int) -> SharedImages | None:
    """Return shared images for ``true`` or a lifetime in seconds; None if disabled."""
    lifetime = _lifetime("shared_images", value, _LIFETIMES)
    try:
        return SharedImages(_secret(), lifetime=lifetime, memory=memory) if lifetime else None
    except ValueError as error:
        raise _without_secret("shared_images", error) from error


def _shared_memories(value: Any, options: dict[str, Any]) -> SessionMemories | None:
    """Return shared memories for ``true`` or a lifetime in seconds; None if disabled."""
    lifetime = _lifetime("shared_memory", value, _MEMORY_LIFETIMES)
    if not lifetime:
        return None
    mode = session_memory_of(options.get("session_memory", "bound"))
    if mode == "off" or isinstance(mode, SessionMemories):
        raise PolicyError("shared_memory needs session_memory=bound or all, not off")
    try:
        return SharedMemories(_secret(), lifetime=lifetime, mode=mode)
    except ValueError as error:
        raise _without_secret("shared_memory", error) from error


def _lifetime(option: str, value: Any, known: dict[str, float]) -> float:
    """Return the lifetime of shared entries in seconds; 0 if they are disabled."""
    lifetime = known.get(str(value).lower())
    if lifetime is None:
        try:
            lifetime = float(value)
        except (TypeError, ValueError):
            lifetime = -1
        if lifetime <= 0:
            raise PolicyError(f"{option}={value!r}: expected true, false, or a lifetime in seconds")
    return lifetime


def _secret() -> bytes:
    """Return the secret, which is read from the environment only, so it is never in a file."""
    return os.environ.get("CHATMEND_SECRET", "").encode()


def _without_secret(option: str, error: ValueError) -> PolicyError:
    return PolicyError(f"{option}: set the environment variable CHATMEND_SECRET; {error}")
