"""The line that the proxy prints when it starts: which chatmend is at work there, how, and for which models."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from chatmend.policy import described

if TYPE_CHECKING:
    from chatmend.litellm.hooks import ChatMend


def proxy_config() -> str | None:
    """Return the path of the configuration that a running proxy was started with; None outside a proxy."""
    return getattr(sys.modules.get("litellm.proxy.proxy_server"), "user_config_file_path", None)


def start_line(callback: ChatMend, *, disabled: bool) -> str:
    """Say with which options a callback starts: ``chatmend 0.1.0: mode repair, policy default, models all``."""
    models = ", ".join(callback.allow) or "all"
    if callback.deny:
        models += f" except {', '.join(callback.deny)}"
    off = " (disabled: CHATMEND_DISABLED=1)" if disabled else ""
    policy = described(callback.policy)
    return f"{callback.started_as} {_version()}{off}: mode {callback.mode}, policy {policy}, models {models}"


def _version() -> str:
    try:
        return version("chatmend")
    except PackageNotFoundError:  # run from a source tree
        return "(version unknown)"
