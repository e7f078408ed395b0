"""The options of ``chatmend.litellm.callback``: from environment variables, and from a ``chatmend:`` section in YAML.

The section is looked for in the file that ``CHATMEND_CONFIG`` names, or in the proxy's own ``config.yaml``. A variable
wins over the file. The keys are those of ``OPTIONS``; a variable is named ``CHATMEND_`` and the key in capitals.
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

OPTIONS = ("mode", "on_error", "allow", "deny", "policy", "usage", "record", "shared_images", "image_memory")
"""As arguments of `ChatMend`, but for ``record``, a directory in which calls are kept as sessions, ``shared_images``,
which is true or the seconds that an entry is kept, and ``image_memory``, the bytes that decoding may take, or a size
such as ``"1 GB"``."""
_SWITCH: dict[str, float] = {"true": LIFETIME, "false": 0, "1": LIFETIME, "0": 0}


def from_environment() -> ChatMend:
    """A callback as the environment and the file say.

    Raises:
        PolicyError: an option that does not exist, or a value that an option does not have.
    """
    return from_section({**_section(), **_variables()})


def from_section(section: dict[str, Any], kind: type[ChatMend] = ChatMend) -> ChatMend:
    """A callback from options by name.

    Raises:
        PolicyError: an option that does not exist, or a value that an option does not have.
    """
    if unknown := sorted(set(section) - set(OPTIONS)):
        raise PolicyError(f"no such option of chatmend: {', '.join(unknown)}; there are {', '.join(OPTIONS)}")
    told = {key: value for key, value in section.items() if value is not None}
    if "record" in told:
        told["record"] = SessionStore(Path(str(told["record"])).expanduser())
    memory = memory_of(told.pop("image_memory", MEMORY))
    shared = _shared_images(told.pop("shared_images", False), memory)
    return kind(images=shared or (None if memory == MEMORY else Recompressor(memory=memory)), **told)


def _section() -> dict[str, Any]:
    named = os.environ.get("CHATMEND_CONFIG")
    path = named or proxy_config()
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


def _variables() -> dict[str, Any]:
    return {key: value for key in OPTIONS if (value := os.environ.get(f"CHATMEND_{key.upper()}"))}


def _shared_images(value: Any, memory: int) -> SharedImages | None:
    """From ``true``, or the lifetime of an entry in seconds; the secret is never in a file."""
    lifetime = _SWITCH.get(str(value).lower())
    if lifetime is None:
        try:
            lifetime = float(value)
        except (TypeError, ValueError):
            lifetime = -1
        if lifetime <= 0:
            raise PolicyError(f"shared_images={value!r}: true, false, or a lifetime in seconds")
    if not lifetime:
        return None
    try:
        return SharedImages(os.environ.get("CHATMEND_SECRET", "").encode(), lifetime=lifetime, memory=memory)
    except ValueError as error:
        raise PolicyError(f"shared_images: CHATMEND_SECRET is to hold the secret; {error}") from error
