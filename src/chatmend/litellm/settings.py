"""The options of ``chatmend.litellm.callback``, from environment variables and a YAML section.

The ``chatmend:`` section is read from the file in ``CHATMEND_CONFIG``, or else from the proxy's
``config.yaml``. Its keys are those of ``OPTIONS``. Variables take precedence; their names are
``CHATMEND_`` and the key in capitals.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from chatmend.errors import PolicyError
from chatmend.images import Recompressor
from chatmend.images.budget import MEMORY, memory_of
from chatmend.litellm.hooks import ChatMend
from chatmend.litellm.shared_images import LIFETIME, SharedImages
from chatmend.litellm.shared_memories import LIFETIME as MEMORY_LIFETIME
from chatmend.litellm.shared_memories import SharedMemories
from chatmend.litellm.starting import proxy_config
from chatmend.options import session_memory_of
from chatmend.sessions import SessionStore
from chatmend.shared_state import SessionMemories

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
)
"""The arguments of `ChatMend`, with these differences:

- ``record`` is the directory of a session store.
- ``shared_memory`` and ``shared_images`` are true, or the lifetime of an entry in seconds. The
  first one shares session memories and lessons.
- ``image_memory`` limits the memory for decoding, in bytes or as a size such as ``"1 GB"``.
"""
_LIFETIMES: dict[str, float] = {"true": LIFETIME, "false": 0, "1": LIFETIME, "0": 0}
"""The values of ``shared_images`` that enable or disable it; 0 disables it."""
_MEMORY_LIFETIMES = {text: value and MEMORY_LIFETIME for text, value in _LIFETIMES.items()}
"""The same for ``shared_memory``."""


def from_environment(kind: type[ChatMend] = ChatMend) -> ChatMend:
    """Return a callback with the options from the environment and the configuration file.

    Raises:
        PolicyError: an option does not exist, or its value is invalid.
    """
    return from_section({**_section(), **_variables()}, kind)


def from_section(section: dict[str, Any], kind: type[ChatMend] = ChatMend) -> ChatMend:
    """Return a callback with these options.

    Raises:
        PolicyError: an option does not exist, or its value is invalid.
    """
    if unknown := sorted(set(section) - set(OPTIONS)):
        raise PolicyError(
            f"unknown options of chatmend: {', '.join(unknown)}; choose from {', '.join(OPTIONS)}"
        )
    options = {key: value for key, value in section.items() if value is not None}
    if "record" in options:
        options["record"] = SessionStore(Path(str(options["record"])).expanduser())
    memory = memory_of(options.pop("image_memory", MEMORY))
    shared = _shared_images(options.pop("shared_images", False), memory)
    if memories := _shared_memories(options.pop("shared_memory", False), options):
        options["session_memory"] = memories
    return kind(
        images=shared or (None if memory == MEMORY else Recompressor(memory=memory)), **options
    )


def _section() -> dict[str, Any]:
    named = os.environ.get("CHATMEND_CONFIG")
    path = named or proxy_config()
    if not path or not Path(path).is_file():
        if named:
            raise PolicyError(f"CHATMEND_CONFIG={named!r} is not a file")
        return {}
    import yaml

    read = yaml.safe_load(Path(path).read_text("utf-8"))
    section = read.get("chatmend") if isinstance(read, dict) else None
    if section is not None and not isinstance(section, dict):
        raise PolicyError("the chatmend: section must be a mapping of options to values")
    return section or {}


def _variables() -> dict[str, Any]:
    return {key: value for key in OPTIONS if (value := os.environ.get(f"CHATMEND_{key.upper()}"))}


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
