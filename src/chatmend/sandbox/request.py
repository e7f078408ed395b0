"""One request as the sandbox sees it: the native body, who sent it, and what the server remembers."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatmend.sandbox.memory import Memory

Body = dict[str, Any]


@dataclass(slots=True)
class Request:
    """A request that could be read as a JSON object."""

    provider: str
    """Whose endpoint was called: ``"anthropic"``, ``"bedrock"``, ``"vertex"``, ..."""
    model: str
    body: Body
    memory: Memory
    table: str = "openai"
    """The provider's table of rules and settings; some providers share one."""
    headers: Mapping[str, str] = field(default_factory=dict)
    key: str = ""
    """A hash of the credential: caches and stored responses are kept apart by it."""
    stream: bool = False
    strict_signatures: bool = False
    """Refuse signatures and stored ids that this sandbox did not make."""
    raw: bytes = b""

    @property
    def messages(self) -> list[Any]:
        """The messages, or nothing where they are no list."""
        found = self.body.get("messages")
        return found if isinstance(found, list) else []

    def digest(self) -> str:
        """A hash of the request: ids of an answer are made from it, so that answers are deterministic."""
        text = self.raw or json.dumps(self.body, sort_keys=True).encode()
        return hashlib.sha256(self.model.encode() + b"\0" + text).hexdigest()


def objects(value: object) -> list[Body]:
    """The JSON objects in a list; nothing where it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def kind(value: object) -> str:
    """How OpenAI's texts name the JSON type of a value, with its article."""
    names = {bool: "a boolean", int: "an integer", float: "a decimal", str: "a string", list: "an array"}
    if value is None:
        return "null"
    return names.get(type(value), "an object")
