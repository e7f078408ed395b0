"""A request to the sandbox: the native body, the sender and the state of the server."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from chatmend.sandbox.script import ScriptedChanges

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from chatmend.sandbox.memory import SandboxMemory

Body = dict[str, Any]
_FILE_KEYS = ("file_id", "fileUri", "file_uri")


@dataclass(slots=True)
class SandboxRequest:
    """A request whose body is a JSON object."""

    provider: str
    """The provider whose endpoint was called: ``"anthropic"``, ``"bedrock"``, ``"vertex"``, ..."""
    model: str
    body: Body
    memory: SandboxMemory
    table: str = "openai"
    """The provider's table of rules and settings; some providers share one."""
    headers: Mapping[str, str] = field(default_factory=dict)
    key: str = ""
    """A hash of the credential, which separates caches and stored responses."""
    stream: bool = False
    strict_signatures: bool = False
    """Whether to refuse signatures and stored ids that this sandbox did not create."""
    raw: bytes = b""
    changes: ScriptedChanges = field(default_factory=ScriptedChanges)
    """What a script lets the providers refuse in addition to their tables."""

    def expired_files(self) -> list[str]:
        """Return the ids of the files in the body that the provider does not find any more."""
        expired = self.changes.expired
        return [name for name in file_references(self.body) if name in expired] if expired else []

    @property
    def messages(self) -> list[Any]:
        """The messages; an empty list if they are malformed."""
        found = self.body.get("messages")
        return found if isinstance(found, list) else []

    def claude_betas(self) -> frozenset[str]:
        """Return the betas that a request to a Claude model uses.

        Anthropic reads them from a header, Bedrock from the body, Vertex from both.
        """
        named = self.body.get("anthropic_beta") if self.provider != "anthropic" else None
        betas = [str(beta) for beta in named] if isinstance(named, list) else []
        if self.provider != "bedrock":
            betas += self.headers.get("anthropic-beta", "").split(",")
        return frozenset(beta.strip() for beta in betas)

    def digest(self) -> str:
        """Return a hash of the request, from which the ids of its answer are made."""
        text = self.raw or json.dumps(self.body, sort_keys=True).encode()
        return hashlib.sha256(self.model.encode() + b"\0" + text).hexdigest()


def objects(value: object) -> list[Body]:
    """Return the JSON objects in a list; an empty list for any other value."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def file_references(value: object) -> Iterator[str]:
    """Yield the ids of the uploaded files that a JSON value refers to."""
    if isinstance(value, list):
        for item in value:
            yield from file_references(item)
    if not isinstance(value, dict):
        return
    for key, held in value.items():
        if key in _FILE_KEYS and isinstance(held, str):
            # Gemini: https://generativelanguage.googleapis.com/v1beta/files/{id}
            yield held.rpartition("/")[2]
        else:
            yield from file_references(held)


def mapping(value: object) -> Body:
    """Return a JSON object; an empty one for any other value."""
    return value if isinstance(value, dict) else {}


def json_type_name(value: object) -> str:
    """Return the JSON type of a value with its article, as in OpenAI's error texts."""
    names = {
        bool: "a boolean",
        int: "an integer",
        float: "a decimal",
        str: "a string",
        list: "an array",
    }
    if value is None:
        return "null"
    return names.get(type(value), "an object")
