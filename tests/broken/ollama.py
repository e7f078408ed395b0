"""Chat messages as messages of Ollama's ``/api/chat``."""

import json
from random import Random
from typing import Any

from .wires import Native

_DATA = "data:image/png;base64,"


def ollama_messages(messages: list[Any], rng: Random) -> list[Any]:
    """Chat messages with object arguments, images under their own key, and results with a name."""
    writer = _Ollama(rng)
    return [writer.message(message) for message in messages]


class _Ollama:
    """Writes messages; half of the transcripts have no call ids."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._ids = rng.random() < 0.5
        self._names: list[tuple[Any, Any]] = []

    def message(self, message: Any) -> Any:
        if not isinstance(message, dict):
            return message
        gone = {"thinking_blocks", "reasoning_content"}
        out = {key: value for key, value in message.items() if key not in gone}
        if isinstance(thought := message.get("reasoning_content"), str):
            out["thinking"] = thought
        if isinstance(message.get("content"), list) and self._rng.random() < 0.95:
            out |= _content(message["content"])
        if isinstance(message.get("tool_calls"), list):
            out["tool_calls"] = [self._call(call) for call in message["tool_calls"]]
        if message.get("role") == "tool":
            self._name_result(out)
        return out

    def _call(self, call: Any) -> Any:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict):
            return call
        self._names.append((call.get("id"), function.get("name")))
        gone = {"type"} if self._ids else {"type", "id"}
        arguments = function.get("arguments")
        if isinstance(arguments, str) and self._rng.random() < 0.9:
            arguments = _parsed(arguments)
        held = {**function, "arguments": arguments} if "arguments" in function else function
        return {**{key: value for key, value in call.items() if key not in gone}, "function": held}

    def _name_result(self, out: Native) -> None:
        call_id = out.get("tool_call_id")
        names = [name for known, name in self._names if known == call_id]
        if names and self._rng.random() < 0.9:
            out["tool_name"] = names[-1]
        if not self._ids:
            out.pop("tool_call_id", None)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _content(parts: list[Any]) -> Native:
    """The string content and the images of a list of parts; the list if another part is in it."""
    texts: list[str] = []
    images: list[str] = []
    for part in parts:
        held = part.get("image_url") if isinstance(part, dict) else None
        url = held.get("url") if isinstance(held, dict) else None
        if isinstance(url, str):
            images.append(url.removeprefix(_DATA))
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            texts.append(part["text"])
        else:
            return {"content": parts}
    return {"content": "\n".join(texts)} | ({"images": images} if images else {})
