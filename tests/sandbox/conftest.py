"""The fixtures that the plugin gives to everyone, also where the entry point is not installed."""

from chatmend.sandbox.pytest_plugin import sandbox, sandbox_server

__all__ = ["sandbox", "sandbox_server"]
