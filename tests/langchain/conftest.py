"""The sandbox fixtures for the LangChain tests."""

from chatmend_pytest import sandbox, sandbox_server

__all__ = ["sandbox", "sandbox_server"]
