"""The sandbox, and a fresh event loop policy: LangChain's partners keep their async clients for the whole process."""

from chatmend.sandbox.pytest_plugin import sandbox, sandbox_server

__all__ = ["sandbox", "sandbox_server"]
