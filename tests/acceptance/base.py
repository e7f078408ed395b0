"""What every judge shares: the request under judgement and tolerant accessors.

Judges read transcripts that may still be broken, so every accessor here answers
something sensible for any JSON value instead of raising.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

OPENAI_FAMILY = frozenset(
    "openai azure deepseek xai groq moonshot dashscope zai minimax openrouter hosted_vllm ollama".split()
)
BLANK_PNG = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@dataclass(frozen=True)
class Request:
    """One body; frozen so that no judge can change what the next one sees."""

    dialect: str
    target: str
    messages: list[Any]
    system: Any = None
    tools: Any = None

    @property
    def provider(self) -> str:
        return self.target.split("/", 1)[0]

    @property
    def model(self) -> str:
        return self.target.split("/", 1)[-1]

    @property
    def family(self) -> bool:
        return self.provider in OPENAI_FAMILY

    @property
    def chat(self) -> list[dict[str, Any]]:
        """The messages as an OpenAI list, with a separate `system` put in front."""
        head = [{"role": "system", "content": self.system}] if self.system else []
        return [*head, *self.messages]


def blocks(content: Any) -> list[dict[str, Any]]:
    """Content as blocks: a string is one text block, as the providers read it."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []


def calls(message: Any) -> list[dict[str, Any]]:
    """The tool calls of an OpenAI message; [] for anything malformed."""
    found = message.get("tool_calls") if isinstance(message, dict) else None
    return [c for c in found if isinstance(c, dict)] if isinstance(found, list) else []


def function(call: dict[str, Any]) -> dict[str, Any]:
    """The `function` (or `custom`) part of a call, {} when it is not an object."""
    part = call.get("function", call.get("custom"))
    return part if isinstance(part, dict) else {}


def native_ollama(req: Request) -> bool:
    """Ollama's own API has no call ids (recorded r01946); neither types nor pairing can read it."""
    found = [c for m in req.messages for c in calls(m)]
    return req.provider == "ollama" and bool(found) and not any("id" in c for c in found)


def text_of(content: Any) -> str:
    """All text of a content value, to ask whether anything is said at all."""
    return "".join(t for b in blocks(content) if isinstance(t := b.get("text") or b.get("refusal"), str))


def local_images(value: Any) -> Any:
    """A deep copy with remote images made local: LiteLLM would download them."""
    if isinstance(value, dict):
        return {k: local_images(v) for k, v in value.items()} | (
            {"url": BLANK_PNG} if str(value.get("url", "")).startswith(("http://", "https://")) else {}
        ) | ({"image_url": BLANK_PNG} if str(value.get("image_url", "")).startswith("http") else {})
    return [local_images(v) for v in value] if isinstance(value, list) else value


def runs(messages: list[Any], roles: dict[str, str]) -> Iterator[tuple[str, list[Any]]]:
    """Same-role runs, because most APIs merge them into one turn."""
    current: tuple[str, list[Any]] | None = None
    for message in messages:
        role = roles.get(message.get("role"), "user")
        if current and current[0] == role:
            current[1].append(message)
        else:
            if current:
                yield current
            current = (role, [message])
    if current:
        yield current
