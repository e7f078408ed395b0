"""What the chat-completions dialects have in common: messages, parts, tool calls and the results that answer them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from chatmend.sandbox.request import objects

if TYPE_CHECKING:
    from collections.abc import Iterator

Body = dict[str, Any]


@dataclass(slots=True)
class Exchange:
    """An assistant message with tool calls, and the tool messages that stand directly after it."""

    at: int
    ids: list[str]
    results: list[tuple[int, str]] = field(default_factory=list)
    """Message index and ``tool_call_id``, in order."""
    ends: bool = False
    """Nothing follows the results."""

    @property
    def missing(self) -> list[str]:
        """The ids that nothing answers."""
        answered = {call for _, call in self.results}
        return [call for call in self.ids if call not in answered]


def calls(message: Body) -> list[Body]:
    """The tool calls of a message."""
    return objects(message.get("tool_calls"))


def function(call: Body) -> Body:
    """The function of a tool call or of a tool; empty where there is none."""
    found = call.get("function")
    return found if isinstance(found, dict) else {}


def exchanges(messages: list[Any]) -> list[Exchange]:
    """Every assistant message with calls, with what answers it."""
    found = []
    for at, message in enumerate(messages):
        if isinstance(message, dict) and message.get("role") == "assistant" and calls(message):
            exchange = Exchange(at, [str(call.get("id")) for call in calls(message)])
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
    """Tool messages that answer no call of the assistant message before them: index and id."""
    answered = {at for exchange in exchanges(messages) for at, call in exchange.results if call in exchange.ids}
    for at, message in enumerate(messages):
        if _role(message) == "tool" and at not in answered:
            yield at, str(message.get("tool_call_id"))


def parts(message: Body) -> list[Any]:
    """The parts of a message's content; nothing where it is a string."""
    content = message.get("content")
    return content if isinstance(content, list) else []


def image_urls(messages: list[Any]) -> Iterator[tuple[int, int, str]]:
    """Every image of the messages: message index, part index, URL."""
    for at, message in enumerate(messages):
        for i, part in enumerate(parts(message) if isinstance(message, dict) else []):
            if isinstance(part, dict) and part.get("type") == "image_url":
                image = part.get("image_url")
                url = image.get("url") if isinstance(image, dict) else image
                yield at, i, str(url)


def text_of(content: object) -> str:
    """The text of a content, whichever form it has."""
    if isinstance(content, str):
        return content
    return "\n".join(str(part["text"]) for part in objects(content) if isinstance(part.get("text"), str))


def tool_names(body: Body) -> list[str]:
    """The names of the functions that a request offers."""
    return [str(function(tool).get("name")) for tool in objects(body.get("tools")) if "function" in tool]
