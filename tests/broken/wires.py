"""How the two dialects write a user, an assistant, a call and a result. Nothing here is broken."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

Dialect = Literal["openai_chat", "anthropic_messages"]
"""The wire formats that transcripts are made in."""

Native = dict[str, Any]
"""A message, part, call or result in its wire format."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of the made-up agent: its name and the names of its string arguments."""

    name: str
    arguments: tuple[str, ...]

    def schema(self) -> Native:
        """The JSON schema of the arguments."""
        return {
            "type": "object",
            "properties": {name: {"type": "string"} for name in self.arguments},
            "required": list(self.arguments),
        }


TOOLS: Final = (
    Tool("read_file", ("path",)),
    Tool("run_command", ("command", "directory")),
    Tool("search", ("query",)),
    Tool("now", ()),
    Tool("edit-file", ("path", "old", "new")),
)


def text_part(text: str) -> Native:
    """A text part; both dialects write it alike."""
    return {"type": "text", "text": text}


class Wire(Protocol):
    """What a dialect can write."""

    dialect: Dialect

    def image(self, data: str) -> Native:
        """A PNG given as base64."""

    def linked_image(self, url: str) -> Native:
        """An image given by its address."""

    def document(self, text: str) -> Native:
        """A document part that holds or names ``text``."""

    def call(self, call_id: str, name: str, arguments: Native) -> Native:
        """One tool call."""

    def assistant(
        self, content: Any, calls: Sequence[Native] = (), thinking: Sequence[Native] = ()
    ) -> Native:
        """An assistant message. ``content`` is a string, a list of parts or None."""

    def results(self, contents: Sequence[tuple[str, Any]]) -> list[Native]:
        """The messages that carry these results, each an id and its content."""

    def offer(self, tool: Tool) -> Native:
        """An entry of the request's ``tools``."""


class OpenAIChat:
    """Chat Completions as LiteLLM and most servers speak it."""

    dialect: Dialect = "openai_chat"

    def image(self, data: str) -> Native:
        return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}

    def linked_image(self, url: str) -> Native:
        return {"type": "image_url", "image_url": {"url": url, "detail": "low"}}

    def document(self, text: str) -> Native:
        return {"type": "file", "file": {"file_id": f"file-{text}"}}

    def call(self, call_id: str, name: str, arguments: Native) -> Native:
        return {
            "id": call_id,
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }

    def assistant(
        self, content: Any, calls: Sequence[Native] = (), thinking: Sequence[Native] = ()
    ) -> Native:
        message: Native = {"role": "assistant", "content": content}
        if calls:
            message["tool_calls"] = list(calls)
        if thinking:
            message["thinking_blocks"] = list(thinking)
            message["reasoning_content"] = "".join(block.get("thinking", "") for block in thinking)
        return message

    def results(self, contents: Sequence[tuple[str, Any]]) -> list[Native]:
        return [
            {"role": "tool", "tool_call_id": call_id, "content": content}
            for call_id, content in contents
        ]

    def offer(self, tool: Tool) -> Native:
        function = {
            "name": tool.name,
            "description": f"The tool {tool.name}.",
            "parameters": tool.schema(),
        }
        return {"type": "function", "function": function}


class AnthropicMessages:
    """The Messages API: calls and results are content blocks, system stands apart."""

    dialect: Dialect = "anthropic_messages"

    def image(self, data: str) -> Native:
        return {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": data},
        }

    def linked_image(self, url: str) -> Native:
        return {"type": "image", "source": {"type": "url", "url": url}}

    def document(self, text: str) -> Native:
        return {
            "type": "document",
            "source": {"type": "text", "media_type": "text/plain", "data": text},
        }

    def call(self, call_id: str, name: str, arguments: Native) -> Native:
        return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}

    def assistant(
        self, content: Any, calls: Sequence[Native] = (), thinking: Sequence[Native] = ()
    ) -> Native:
        if isinstance(content, str) and not calls and not thinking:
            return {"role": "assistant", "content": content}
        said = [text_part(content)] if isinstance(content, str) else content or []
        return {"role": "assistant", "content": [*thinking, *said, *calls]}

    def results(self, contents: Sequence[tuple[str, Any]]) -> list[Native]:
        blocks = [
            {"type": "tool_result", "tool_use_id": call_id, "content": content}
            for call_id, content in contents
        ]
        return [{"role": "user", "content": blocks}]

    def offer(self, tool: Tool) -> Native:
        return {
            "name": tool.name,
            "description": f"The tool {tool.name}.",
            "input_schema": tool.schema(),
        }


WIRES: Final[dict[Dialect, Wire]] = {
    "openai_chat": OpenAIChat(),
    "anthropic_messages": AnthropicMessages(),
}
