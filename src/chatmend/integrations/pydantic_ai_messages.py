"""Converts the messages of pydantic-ai to Chat Completions and back.

`restore` returns the same object for an unchanged message, and for an unchanged part of a changed
one. Only what rules can change is converted: texts, images, tool calls and their results. All
other parts (thinking, native tools, files) stay in the response that they came in.
"""

from __future__ import annotations

import base64
from dataclasses import replace
from itertools import groupby
from operator import is_
from typing import TYPE_CHECKING, Any

from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelRequest,
    ModelResponse,
    RetryPromptPart,
    SystemPromptPart,
    TextContent,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pydantic_ai.messages import ModelMessage, ModelRequestPart, UserContent

    from chatmend.changes import Change

Chat = dict[str, Any]
_BETWEEN_TEXTS = "\n\n"
_UNREAD = "..."
"""The text of content that is not converted. It never leaves this module."""


class ChatMessages:
    """A history as messages of Chat Completions, which remembers the original objects."""

    def __init__(self, history: Sequence[ModelMessage]) -> None:
        """Convert a history."""
        self.messages: list[Chat] = []
        self._history = history
        self._owners: dict[int, ModelMessage] = {}
        self._parts: dict[int, ModelRequestPart] = {}
        self._sources: dict[int, ModelRequestPart] = {}
        """The part that a message, or a message that a repair made of it, has come from."""
        self._known: set[int] = set()
        """The identities of the parts that are messages."""
        self._contents: dict[int, UserContent] = {}
        self._names: dict[str, str] = {}
        self._unchanged: set[int] = set()
        for message in history:
            if isinstance(message, ModelResponse):
                self._add(message, self._from_response(message))
                continue
            for part in message.parts:
                chat = self._from_part(part)
                if chat is not None:
                    self._parts[id(chat)] = part
                    self._sources[id(chat)] = part
                    self._known.add(id(part))
                    self._add(message, chat)

    def restore(self, chats: list[Chat], changes: Iterable[Change]) -> list[ModelMessage]:
        """Return the history with the messages of a repair."""
        if chats is self.messages:
            return list(self._history)
        self._unchanged = set(map(id, self.messages))
        self._follow(changes)
        out: list[ModelMessage] = []
        for is_response, run in groupby(chats, lambda chat: chat.get("role") == "assistant"):
            convert = self._to_responses if is_response else self._to_requests
            out += convert(list(run))
        return out

    def _add(self, owner: ModelMessage, chat: Chat) -> None:
        self._owners[id(chat)] = owner
        self.messages.append(chat)

    def _from_response(self, response: ModelResponse) -> Chat:
        texts = [part.content for part in response.parts if isinstance(part, TextPart)]
        calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
        chat: Chat = {"role": "assistant", "content": _BETWEEN_TEXTS.join(texts) or None}
        if calls:
            self._names |= {part.tool_call_id: part.tool_name for part in calls}
            chat["tool_calls"] = [_from_call(part) for part in calls]
        elif not texts:
            # Thinking alone, or parts of native tools, which the framework converts.
            chat["content"] = _UNREAD if response.parts else ""
        return chat

    def _from_part(self, part: ModelRequestPart) -> Chat | None:
        """Return a part as a message; None if the framework alone converts it."""
        if isinstance(part, SystemPromptPart):
            return {"role": "system", "content": part.content}
        if isinstance(part, ToolReturnPart):
            content = part.model_response_str()
            return {"role": "tool", "tool_call_id": part.tool_call_id, "content": content}
        if isinstance(part, RetryPromptPart) and part.tool_name is not None:
            content = part.model_response()
            return {"role": "tool", "tool_call_id": part.tool_call_id, "content": content}
        if isinstance(part, UserPromptPart):
            if isinstance(part.content, str):
                return {"role": "user", "content": part.content}
            return {"role": "user", "content": [self._from_content(item) for item in part.content]}
        return None

    def _from_content(self, item: UserContent) -> Chat:
        block: Chat
        if isinstance(item, str | TextContent):
            block = {"type": "text", "text": item if isinstance(item, str) else item.content}
        elif isinstance(item, ImageUrl):
            block = {"type": "image_url", "image_url": {"url": item.url}}
        elif isinstance(item, BinaryContent) and item.is_image:
            block = {"type": "image_url", "image_url": {"url": item.data_uri}}
        else:  # documents, audio, cache points: the framework converts them
            block = {"type": "text", "text": _UNREAD}
        self._contents[id(block)] = item
        return block

    def _follow(self, changes: Iterable[Change]) -> None:
        """Note from which message and part each changed message was made."""
        for change in changes:
            for chat in change.after:
                same = [old for old in change.before if _role_of(old) == _role_of(chat)]
                if same and id(same[0]) in self._owners and id(chat) not in self._owners:
                    self._owners[id(chat)] = self._owners[id(same[0])]
                    if len(change.after) == len(same) == 1 and id(same[0]) in self._sources:
                        self._sources[id(chat)] = self._sources[id(same[0])]

    def _to_requests(self, chats: list[Chat]) -> list[ModelMessage]:
        """Return the messages between two responses: the original ones, if none has changed."""
        found = [self._owners.get(id(chat)) for chat in chats]
        owners = list({id(one): one for one in found if isinstance(one, ModelRequest)}.values())
        parts = [self._parts.get(id(chat)) or self._to_part(chat) for chat in chats]
        unread = [p for owner in owners for p in owner.parts if not self._is_message(p)]
        known = [p for owner in owners for p in owner.parts if self._is_message(p)]
        if len(known) == len(parts) and all(map(is_, known, parts)):
            return list(owners)
        return [replace(owners[-1] if owners else ModelRequest([]), parts=[*unread, *parts])]

    def _is_message(self, part: object) -> bool:
        return id(part) in self._known

    def _to_part(self, chat: Chat) -> ModelRequestPart:
        content = chat.get("content")
        if chat.get("role") == "tool":
            call = str(chat.get("tool_call_id"))
            source: Any = self._sources.get(id(chat))
            if isinstance(source, ToolReturnPart):
                is_same = source.model_response_str() == content
                return replace(
                    source,
                    tool_call_id=call,
                    content=source.content if is_same else _text_of(content),
                )
            return ToolReturnPart(self._names.get(call, "unknown"), _text_of(content), call)
        if chat.get("role") in {"system", "developer"}:
            return SystemPromptPart(_text_of(content))
        if not isinstance(content, list):
            return UserPromptPart(_text_of(content))
        return UserPromptPart([self._contents.get(id(b)) or _to_content(b) for b in content])

    def _to_responses(self, chats: list[Chat]) -> list[ModelMessage]:
        return [self._to_response(chat) for chat in chats]

    def _to_response(self, chat: Chat) -> ModelResponse:
        owner = self._owners.get(id(chat))
        if not isinstance(owner, ModelResponse):
            return ModelResponse([TextPart(_text_of(chat.get("content")))])
        if id(chat) in self._unchanged:
            return owner
        texts = [part for part in owner.parts if isinstance(part, TextPart)]
        calls = {p.tool_call_id: p for p in owner.parts if isinstance(p, ToolCallPart)}
        text, old = _text_of(chat.get("content")), _BETWEEN_TEXTS.join(p.content for p in texts)
        if text in {old, _UNREAD}:
            parts: list[Any] = [p for p in owner.parts if not isinstance(p, ToolCallPart)]
        else:
            parts = [p for p in owner.parts if not isinstance(p, TextPart | ToolCallPart)]
            parts += [TextPart(text)] if text else []
        sent = [_to_call(c, calls.get(c["id"])) for c in chat.get("tool_calls") or ()]
        self._names |= {call.tool_call_id: call.tool_name for call in sent}
        return replace(owner, parts=[*parts, *sent])


def _role_of(chat: object) -> object:
    return chat.get("role") if isinstance(chat, dict) else None


def _from_call(part: ToolCallPart) -> Chat:
    function = {"name": part.tool_name, "arguments": part.args_as_json_str()}
    return {"id": part.tool_call_id, "type": "function", "function": function}


def _to_call(call: Chat, old: ToolCallPart | None) -> ToolCallPart:
    function = call["function"]
    if old is not None and _from_call(old) == call:
        return old
    return ToolCallPart(function["name"], function["arguments"], call["id"])


def _to_content(block: Chat) -> UserContent:
    if block.get("type") != "image_url":
        return str(block.get("text", ""))
    url = str(block["image_url"]["url"])
    head, _, data = url.partition(";base64,")
    if not head.startswith("data:"):
        return ImageUrl(url)
    return BinaryContent(base64.b64decode(data), media_type=head.removeprefix("data:"))


def _text_of(content: object) -> str:
    if isinstance(content, list):
        texts = [block.get("text", "") for block in content if isinstance(block, dict)]
        return _BETWEEN_TEXTS.join(texts)
    return content if isinstance(content, str) else ""
