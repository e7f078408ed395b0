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
from chatmend.litellm.starting import proxy_config
from chatmend.sessions import SessionStore

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
    "shared_images",
    "image_memory",
)
"""The arguments of `ChatMend`, with these differences:

- ``record`` is the directory of a session store.
- ``shared_images`` is true, or the lifetime of an entry in seconds.
- ``image_memory`` limits the memory for decoding, in bytes or as a size such as ``"1 GB"``.
"""
_LIFETIMES: dict[str, float] = {"true": LIFETIME, "false": 0, "1": LIFETIME, "0": 0}
"""The values of ``shared_images`` that enable or disable it; 0 disables it."""


def from_environment() -> ChatMend:
    """Return a callback with the options from the environment and the configuration file.

    Raises:
        PolicyError: an option does not exist, or its value is invalid.
    """
    return from_section({**_section(), **_variables()})


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
    """Return shared images for ``true`` or a lifetime in seconds; None if disabled.

    The secret is read from the environment only, so that it is never in a file.
    """
    lifetime = _LIFETIMES.get(str(value).lower())
    if lifetime is None:
        try:
            lifetime = float(value)
        except (TypeError, ValueError):
            lifetime = -1
        if lifetime <= 0:
            raise PolicyError(
                f"shared_images={value!r}: expected true, false, or a lifetime in seconds"
            )
    if not lifetime:
        return None
    try:
        return SharedImages(
            os.environ.get("CHATMEND_SECRET", "").encode(), lifetime=lifetime, memory=memory
        )
    except ValueError as error:
        raise PolicyError(
            f"shared_images: set the environment variable CHATMEND_SECRET; {error}"
        ) from error
