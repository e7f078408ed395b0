"""The dialect of LangChain: message objects, read and written one by one, copied only where something changes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)  # fmt: skip

from chatmend.dialects import Traits, anthropic_messages, openai_chat, traits
from chatmend.jsontext import is_same
from chatmend.langchain.calls import SIGNATURES, text_of
from chatmend.langchain.fields import KNOWN_ROLES, PROVENANCE, SOURCE, fields, is_result_block
from chatmend.langchain.writing import Source, build
from chatmend.transcript import Message, Opaque, Part, Role, Thinking, ToolCall, ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmend.sketch import Sketch
    from chatmend.transcript import Native


class Dialect:
    """LangChain's message objects. One instance serves one repair: it remembers what it has read."""

    NAME = "langchain"
    TRAITS = Traits(
        typed_calls=True, results_may_be_named=True, signs_calls=True, image_shapes=(), own_keys=frozenset({SOURCE})
    )
    filled, kind_of, remember = staticmethod(traits.filled), staticmethod(traits.kind_of), staticmethod(traits.remember)
    translated, with_system = staticmethod(traits.translated), staticmethod(traits.with_system)

    def __init__(self, *, chat_messages: bool = True) -> None:
        """``chat_messages``: the partner package can send a ``ChatMessage``; most can not."""
        self._chat_messages = chat_messages
        self._read: dict[int, Source] = {}
        self._objects: dict[int, Any] = {}
        self._reasoning = False

    def read(self, native: Native) -> Message:
        """Read one message, or the dict that shows it. Never raises."""
        if not isinstance(native, BaseMessage):
            return self._parsed(openai_chat.read(native), None)
        known = self._read.get(id(native))
        if known is None:
            known = self._read[id(native)] = self._source(native)
        read = self._parsed(openai_chat.read(known.fields), native)
        if isinstance(native, ChatMessage) and not self._chat_messages and native.role in KNOWN_ROLES:
            return replace(read, spelling=None)
        return read

    def _source(self, native: BaseMessage) -> Source:
        return Source(native, fields(native, self._number, reasoning=self._reasoning))

    def _number(self, item: object) -> int:
        """Where an object is found again. It is kept, so the number stays its own."""
        self._objects[id(item)] = item
        return id(item)

    @staticmethod
    def _parsed(message: Message, wrapper: Native) -> Message:
        parts = message.parts
        if any(isinstance(part, Opaque) for part in parts):
            parts = tuple(_known(part) for part in parts)
        return replace(message, parts=parts, wrapper=wrapper)

    def write(self, message: Message) -> Native:
        """Write one message: the object it was read from, itself, when nothing in it changed."""
        parts = message.parts
        if message.role is not Role.TOOL:
            parts = tuple(_plain(part, answer=message.is_assistant) for part in parts)
        out = openai_chat.write(replace(message, parts=parts, wrapper=None))
        if not isinstance(out, dict):
            return out
        number = out.get(SOURCE)
        source = self._read.get(number) if isinstance(number, int) else None
        if source is not None and self._is_same(out, source, message):
            return source.message
        return build(out, source, self._objects)

    def _is_same(self, out: dict[str, object], source: Source, message: Message) -> bool:
        if isinstance(source.message, ChatMessage) and message.spelling is not None and not self._chat_messages:
            return source.message.role not in KNOWN_ROLES and is_same(out, source.fields)
        kept = source.fields if PROVENANCE in out else {k: v for k, v in source.fields.items() if k != PROVENANCE}
        return is_same(out, kept)

    def sketch(self, native: Native, look: Sketch) -> object:
        """What messages of the usual forms share: a text, an answer with or without calls, a result."""
        form = _FORMS.get(native.__class__)
        return None if form is None or (self._reasoning and native.__class__ is AIMessage) else form(native, look)

    def expect(self, limits: Any) -> None:
        """Where the target wants no reasoning back, nobody sends what a message keeps of it: it is no content."""
        self._reasoning = limits.reasoning_content == "required"

    def key(self) -> object:
        """What a message says depends on the partner package, and on what is asked."""
        return self.NAME, self._chat_messages, self._reasoning


def _form_of_text(message: BaseMessage, look: Sketch) -> object:
    if message.name is not None or message.additional_kwargs or not look.is_text(message.content):
        return None
    return message.__class__


def _form_of_result(message: ToolMessage, look: Sketch) -> object:
    if message.name is not None and not look.is_name(message.name):
        return None
    usual = look.is_id(message.tool_call_id) and look.is_text(message.content)
    return (ToolMessage, message.name is None) if usual else None


def _form_of_answer(message: AIMessage, look: Sketch) -> object:
    content, provider = message.content, message.response_metadata.get("model_provider")
    if message.name is not None or message.invalid_tool_calls or not _TOLD.isdisjoint(message.additional_kwargs):
        return None
    if (content != "" and not look.is_text(content)) or not (provider is None or provider.__class__ is str):
        return None
    calls = message.tool_calls
    if calls.__class__ is not list or not all(_is_usual_call(call, look) for call in calls):
        return None
    return AIMessage, content == "", len(calls), provider


def _is_usual_call(call: Any, look: Sketch) -> bool:
    if call.__class__ is not dict or len(call) != _CALL or call.get("type") != "tool_call":
        return False
    return (
        look.is_id(call.get("id")) and look.is_name(call.get("name")) and look.is_arguments(text_of(call.get("args")))
    )


_CALL = 4
"""A call has its type, an id, a name and arguments."""
_TOLD = frozenset({"tool_calls", "function_call", "prefix", SIGNATURES})
"""What is looked at in an answer's further keys."""
_FORMS: dict[type, Callable[[Any, Sketch], object]] = {
    HumanMessage: _form_of_text,
    SystemMessage: _form_of_text,
    AIMessage: _form_of_answer,
    ToolMessage: _form_of_result,
}


def _known(part: Part) -> Part:
    """A block that OpenAI's dialect does not know and LangChain's messages hold."""
    if not isinstance(part, Opaque) or not isinstance(part.native, dict):
        return part
    block = part.native
    if is_result_block(block) or block.get("type") == "tool_use":
        return anthropic_messages.read({"role": "user", "content": [block]}).parts[0]
    if block.get("type") == "reasoning":
        return Thinking(str(block.get("reasoning") or ""), _signature(block), native=block)
    return part


def _signature(block: dict[str, Any]) -> str | None:
    extras = block.get("extras")
    found = block.get("signature", extras.get("signature") if isinstance(extras, dict) else None)
    return found if isinstance(found, str) else None


def _plain(part: Part, *, answer: bool) -> Part:
    """A tool result inside a message of blocks as the block that it is; and a call that a user said."""
    if isinstance(part, ToolCall) and not answer:
        return Opaque(part.native)
    if not isinstance(part, ToolResult):
        return part
    written: Any = anthropic_messages.write(Message(Role.USER, (part,)))
    return Opaque(written["content"][0])
