"""Adapters for agent frameworks that have their own messages.

Each module needs its framework: ``chatmend.integrations.openai_agents``,
``chatmend.integrations.pydantic_ai``. Frameworks whose SDK takes an HTTP client need none of them;
see ``chatmend.transport``.
"""
