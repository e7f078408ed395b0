"""Imports the HTTP libraries, which are extras."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from types import ModuleType

Library = Literal["httpx", "httpx2"]

LIBRARIES: tuple[Library, ...] = ("httpx", "httpx2")
_PACKAGES = {"httpx": "'chatmend[transport]'", "httpx2": "httpx2"}
"""What to install for each library; SDKs that need httpx2 bring it along."""


def import_with(name: str) -> ModuleType:
    """Import a module; if an HTTP library is missing, the error says how to install it.

    Raises:
        ModuleNotFoundError: the module, or a library that it needs, is not installed.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in _PACKAGES:
            raise
        text = (
            f"chatmend.transport needs {error.name} ({error}); "
            f"install it: pip install {_PACKAGES[error.name]}"
        )
        raise ModuleNotFoundError(text, name=error.name) from error
