"""Helpers for all chat-completions formats: messages, parts, tool calls and their results."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from chatmend.sandbox.request import objects

if TYPE_CHECKING:
    from collections.abc import Iterator

Body = dict[str, Any]


@dataclass(slots=True)
class ToolExchange:
    """An assistant message with tool calls, and the tool messages directly after it."""

    at: int
    ids: list[str]
    results: list[tuple[int, str]] = field(default_factory=list)
    """Message index and ``tool_call_id``, in order."""
    ends: bool = False
    """Whether the conversation ends after the results."""

    @property
    def missing(self) -> list[str]:
        """The ids of calls without a result."""
        answered = {call for _, call in self.results}
        return [call for call in self.ids if call not in answered]


def calls(message: Body) -> list[Body]:
    """Return the tool calls of a message."""
    return objects(message.get("tool_calls"))


def function(call: Body) -> Body:
    """Return the function of a tool call or of a tool; empty if it is malformed."""
    found = call.get("function")
    return found if isinstance(found, dict) else {}


def exchanges(messages: list[Any]) -> list[ToolExchange]:
    """Return every assistant message with calls, with its results."""
    found = []
    for at, message in enumerate(messages):
        if isinstance(message, dict) and message.get("role") == "assistant" and calls(message):
            exchange = ToolExchange(at, [str(call.get("id")) for call in calls(message)])
            stop = at + 1
            while stop < len(messages) and _role(messages[stop]) == "tool":
                exchange.results.append((stop, str(messages[stop].get("tool_call_id"))))
                stop += 1
            exchange.ends = stop == len(messages)
            found.append(exchange)
    return found


def _role(message: object) -> object:
    return message.get("role") if isinstance(message, dict) else None


def orphans(messages: list[Any]) -> Iterator[tuple[int, str]]:
    """Yield index and id of tool messages without a call in the assistant message before them."""
    answered = {
        at
        for exchange in exchanges(messages)
        for at, call in exchange.results
        if call in exchange.ids
    }
    for at, message in enumerate(messages):
        if _role(message) == "tool" and at not in answered:
            yield at, str(message.get("tool_call_id"))


def parts(message: Body) -> list[Any]:
    """Return the parts of a message's content; an empty list if it is a string."""
    content = message.get("content")
    return content if isinstance(content, list) else []


def image_urls(messages: list[Any]) -> Iterator[tuple[int, int, str]]:
    """Yield every image of the messages: message index, part index, URL."""
    for at, message in enumerate(messages):
        for i, part in enumerate(parts(message) if isinstance(message, dict) else []):
            if isinstance(part, dict) and part.get("type") == "image_url":
                image = part.get("image_url")
                url = image.get("url") if isinstance(image, dict) else image
                yield at, i, str(url)


def text_of(content: object) -> str:
    """Return the text of a content, a string or a list of parts."""
    if isinstance(content, str):
        return content
    return "\n".join(
        str(part["text"]) for part in objects(content) if isinstance(part.get("text"), str)
    )


def is_empty(content: object) -> bool:
    """Return whether a content is null, or has only empty texts."""
    return not text_of(content) and all(part.get("type") == "text" for part in objects(content))


def tool_names(body: Body) -> list[str]:
    """Return the names of the functions that a request declares."""
    return [
        str(function(tool).get("name")) for tool in objects(body.get("tools")) if "function" in tool
    ]
