"""The line that the proxy prints at start: chatmend's version, its options and the models."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from chatmend.policy import describe_policy

if TYPE_CHECKING:
    from chatmend.litellm.hooks import ChatMend


def proxy_config() -> str | None:
    """Return the path of the running proxy's configuration file; None outside a proxy."""
    return getattr(sys.modules.get("litellm.proxy.proxy_server"), "user_config_file_path", None)


def start_line(callback: ChatMend, *, disabled: bool) -> str:
    """Return the line: ``chatmend 0.1.0: mode repair, policy default, models all``."""
    models = ", ".join(callback.allow) or "all"
    if callback.deny:
        models += f" except {', '.join(callback.deny)}"
    off = " (disabled: CHATMEND_DISABLED=1)" if disabled else ""
    policy = describe_policy(callback.policy)
    react = f"react {callback.react}, " if callback.react else ""
    return (
        f"{callback.startup_name} {_version()}{off}: "
        f"mode {callback.mode}, policy {policy}, {react}models {models}"
    )


def _version() -> str:
    try:
        return version("chatmend")
    except PackageNotFoundError:  # chatmend is not installed but run from its source tree
        return "(version unknown)"
