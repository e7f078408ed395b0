"""The sandbox fixtures for the LangChain tests."""

from chatmend.sandbox.pytest_plugin import sandbox, sandbox_server

__all__ = ["sandbox", "sandbox_server"]
