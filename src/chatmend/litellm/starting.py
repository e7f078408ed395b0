"""The line that the proxy prints at start: chatmend's version, its options and the models."""

from __future__ import annotations

import logging
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from litellm._logging import verbose_proxy_logger

from chatmend.policy import describe_policy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.litellm.hooks import ChatMend


def proxy_config() -> str | None:
    """Return the path of the running proxy's configuration file; None outside a proxy."""
    return getattr(sys.modules.get("litellm.proxy.proxy_server"), "user_config_file_path", None)


class _ProxyLog(logging.Handler):
    """Passes records to the logger of the proxy, whose handlers may be replaced later."""

    def emit(self, record: logging.LogRecord) -> None:
        verbose_proxy_logger.handle(record)


def print_log_lines() -> None:
    """Print chatmend's log lines where and as the proxy prints its own.

    Does nothing if logging is already configured for chatmend.
    """
    logger = logging.getLogger("chatmend.litellm")
    if not logger.handlers and not logger.level:
        logger.setLevel(logging.INFO)
        logger.addHandler(_ProxyLog())
        logger.propagate = False  # the logger of the proxy propagates the records


def start_line(callback: ChatMend, *, disabled: bool) -> str:
    """Return the line: ``chatmend 0.1.0: mode repair, policy default, models all``."""
    models = ", ".join(callback.allow) or "all"
    if callback.deny:
        models += f" except {', '.join(callback.deny)}"
    off = " (disabled by CHATMEND_DISABLED)" if disabled else ""
    return f"{callback.startup_name} {_version()}{off}: " + ", ".join(
        (
            f"mode {callback.mode}",
            f"policy {describe_policy(callback.policy)}",
            *([f"react {callback.react}"] if callback.react else []),
            *_rollout_parts(callback),
            f"models {models}",
        )
    )


def _rollout_parts(callback: ChatMend) -> Iterator[str]:
    """Yield the options of a rollout that are set."""
    if callback.sample < 1:
        yield f"sample {callback.sample:.4g}"
    if callback.overrides:
        count = len(callback.overrides)
        yield f"{count} override{'' if count == 1 else 's'}"
    if callback.trusted_keys:
        yield f"trusted keys {' '.join(callback.trusted_keys)}"
    if callback.switch is not None:
        yield f"switch file {callback.switch.path} (permits {callback.switch.mode()})"


def _version() -> str:
    try:
        return version("chatmend")
    except PackageNotFoundError:  # chatmend is not installed but run from its source tree
        return "(version unknown)"
