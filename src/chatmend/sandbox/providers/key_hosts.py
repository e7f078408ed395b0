"""Finds keys that a host of other makers' models refuses in messages.

The table of the host names the keys in its settings. Cerebras, Fireworks and Databricks share it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.sandbox.providers.chat_shape import parts
from chatmend.sandbox.refusals import Fault, fault, load_table
from chatmend.sandbox.request import SandboxRequest, objects

if TYPE_CHECKING:
    from collections.abc import Iterator

Body = dict[str, Any]


def faults(request: SandboxRequest) -> Iterator[Fault]:
    """Yield every fault; the API reports only the first."""
    table = load_table(request.table)
    refused = set(table.settings["refused_keys"])
    code = f"{table.name}-unknown-key"
    for at, message in enumerate(objects(request.messages)):
        role = message.get("role")
        for key in message:
            if key in refused:
                yield fault(code, f"messages.{at}", index=at, role=role, key=key)
        for number, call in enumerate(objects(message.get("tool_calls"))):
            for key in table.settings.get("refused_call_keys", ()):
                if key in call:
                    yield fault(f"{table.name}-unknown-call-key", index=at, call=number, key=key)
        for part in objects(parts(message)):
            if "cache_control" in part and "cache_control" in refused:
                yield fault(code, f"messages.{at}", index=at, role=role, key="cache_control")
        if table.name == "databricks":
            yield from _empty_texts(message)


def _empty_texts(message: Body) -> Iterator[Fault]:
    texts = [part.get("text") for part in objects(parts(message)) if part.get("type") == "text"]
    if message.get("role") != "tool" and (message.get("content") == "" or "" in texts):
        yield fault("databricks-text-empty")
