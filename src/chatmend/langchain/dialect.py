"""The dialect of LangChain: message objects, read and written one by one, copied only where something changes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from langchain_core.messages import BaseMessage, ChatMessage

from chatmend.dialects import Traits, anthropic_messages, openai_chat, traits
from chatmend.dialects.openai_scan import scanner as openai_scanner
from chatmend.jsontext import is_same
from chatmend.langchain.fields import KNOWN_ROLES, PROVENANCE, SOURCE, fields, is_result_block, sketcher
from chatmend.langchain.writing import Source, build
from chatmend.transcript import Message, Opaque, Part, Role, Thinking, ToolCall, ToolResult
from chatmend.windows import Symptom

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmend.dialects import Scan
    from chatmend.transcript import Native
    from chatmend.windows import Memory

_RESULTS = (
    Symptom.PAIRING | Symptom.CALLS | Symptom.PART | Symptom.EMPTY | Symptom.CONTENT
    | Symptom.IMAGES | Symptom.MEDIA | Symptom.MARKERS
)  # fmt: skip
"""What results among the blocks of a message may hide."""


class Dialect:
    """LangChain's message objects. One instance serves one repair: it remembers what it has read."""

    NAME = "langchain"
    TRAITS = Traits(typed_calls=True, signs_calls=True, image_shapes=(), own_keys=frozenset({SOURCE}))
    filled, kind_of, remember = staticmethod(traits.filled), staticmethod(traits.kind_of), staticmethod(traits.remember)
    translated, with_system = staticmethod(traits.translated), staticmethod(traits.with_system)
    renamed = staticmethod(traits.renamed)

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

    def scanner(self, limits: Any) -> Scan:
        """A scan for windows under these limits: the one of OpenAI's dialect, over a sketch of each message."""
        self._reasoning = limits.reasoning_content == "required"  # elsewhere nobody sends it: it is no content
        sketch = sketcher(limits, chat_messages=self._chat_messages)
        look = openai_scanner(limits)
        main: list[Any] = []
        results: set[int] = set()

        def scan(natives: Sequence[Native], start: int, memory: Memory) -> tuple[int, int, list[str]]:
            if not main:
                main.extend((natives, list(map(sketch, natives))))
                results.update(at for at, shown in enumerate(main[1]) if _has_results(shown))
            if natives is main[0]:
                stop, mask, ids = look(main[1], start, memory)
                if results and not results.isdisjoint(range(start, stop)):
                    mask |= _RESULTS
                return stop, mask, ids
            sketches = list(map(sketch, natives))
            stop, mask, ids = look(sketches, start, memory)
            return stop, mask | (_RESULTS if any(map(_has_results, sketches[start:stop])) else 0), ids

        return scan


def _has_results(shown: Any) -> bool:
    """Whether a message that is not the model's holds blocks of an exchange; the model's have left its sketch."""
    content = shown.get("content") if shown.__class__ is dict else None
    return content.__class__ is list and any(map(_is_exchange, content))


def _is_exchange(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") in ("tool_result", "tool_use")


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
