"""The fixtures of the pytest plugin, for environments in which its entry point is not installed."""

from chatmend_pytest import sandbox, sandbox_server

__all__ = ["sandbox", "sandbox_server"]
