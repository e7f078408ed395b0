"""The dialect of LangChain's message objects; a message is copied only if it changes."""

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

from chatmend.dialects import Traits, anthropic_messages, blocks, openai_chat, traits
from chatmend.errors import TargetError
from chatmend.jsontext import dumps_if_json, is_same
from chatmend.langchain.calls import (
    SIGNATURES,
    content_without_calls,
    id_of,
    is_call,
)
from chatmend.langchain.fields import (
    BARE,
    COMPUTER,
    KNOWN_ROLES,
    OBJECT_KWARGS,
    OUTPUT_VERSION,
    PRIVATE_KEYS,
    SOURCE,
    STORED_THINKING,
    TOOL_OUTPUTS,
    answered_continuations,
    fields_of,
    has_standard_content,
    is_computer_output,
    stored_thinking,
)
from chatmend.langchain.reports import REPORT
from chatmend.langchain.writing import SourceMessage, build, with_class
from chatmend.rules import unresolved_reference, unsendable_part
from chatmend.sketch import NO_FORM
from chatmend.targets import resolve
from chatmend.targets.converter_limits import ConverterLimits
from chatmend.transcript import Media, Message, Opaque, Part, Role, Thinking, ToolCall, ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from collections.abc import Set as AbstractSet

    from chatmend.known_transcripts import Lookup
    from chatmend.sketch import Sketch
    from chatmend.targets import Target
    from chatmend.targets.limits import Limits
    from chatmend.transcript import Native
    from chatmend.windows import Memory


_NO_LIMITS = ConverterLimits()


class LangChainDialect:
    """Reads and writes LangChain's message objects.

    Each repair needs its own instance, because an instance remembers the messages that it has
    read.
    """

    NAME = "langchain"
    READS_OBJECTS = True
    """Messages are not converted to dicts before they are read."""
    TRAITS = Traits(
        has_calls_key=True,
        typed_calls=True,
        results_may_be_named=True,
        signs_calls=True,
        marks_errors=True,
        image_shapes=(),
        private_keys=PRIVATE_KEYS,
    )
    fill_content, kind_of = staticmethod(traits.fill_content), staticmethod(traits.kind_of)
    translate_foreign, with_system = (
        staticmethod(traits.translate_foreign),
        staticmethod(traits.with_system),
    )

    def __init__(
        self, *, chat_messages: bool = True, unsent: AbstractSet[int] = frozenset()
    ) -> None:
        """Create a dialect.

        Args:
            chat_messages: whether the partner package can send a ``ChatMessage``; most cannot.
            unsent: the ``id()`` of each block of stored thinking that the package does not send.
        """
        self.chat_messages, self.unsent = chat_messages, unsent
        self._read: dict[int, SourceMessage] = {}
        self._registered: dict[int, Any] = {}
        self._reasoning = self._needs_strings = self._parses_results = False
        self._thinking = ""
        self._converter = _NO_LIMITS
        self._limits: Limits | None = None
        self._sketches = _SKETCHES
        self.lookup: Lookup | None = None
        """What was found when the messages of this repair were looked up."""

    @property
    def reads_alike(self) -> bool:
        """Whether a message that has not changed is read as in other repairs."""
        return not self.unsent

    def for_another_repair(self) -> LangChainDialect:
        """Return a dialect that has read nothing, with the same limits."""
        new = LangChainDialect.__new__(LangChainDialect)
        new.__dict__ = {**self.__dict__, "_read": {}, "_registered": {}, "lookup": None}
        return new

    def find_target(self, target: Target) -> Target:
        """Return a target with the limits of its usual partner package.

        For callers that do not know the model. A target whose limits the caller has changed is
        returned unchanged.
        """
        # Loads the table of partner packages, which a dialect with a target does not need.
        from chatmend.langchain.partners import find_destination_by_name  # noqa: PLC0415

        try:
            is_changed = resolve(target.name) != target
            return target if is_changed else find_destination_by_name(target.name).target
        except TargetError:
            return target

    def read(self, native: Native) -> Message:
        """Read a message, or the dict made from one; never raises."""
        if not isinstance(native, BaseMessage):
            return self._parsed(openai_chat.read(native), None)
        source = self._read.get(id(native))
        if source is None:
            whole = with_class(native)
            source = self._read[id(native)] = self._read[id(whole)] = self._source(whole)
            if whole is not native:
                source.fields[BARE] = True
        chat = openai_chat.read(source.fields)
        # The message that was read refers to these fields, so rules see the added key.
        if self._parses_results and any(map(unresolved_reference.find_referring_text, chat.parts)):
            source.fields[unresolved_reference.REFERRING] = True
        read = self._parsed(chat, native)
        needs_class = source.message is not native or (
            isinstance(native, ChatMessage)
            and not self.chat_messages
            and native.role in KNOWN_ROLES
        )
        return replace(read, native_role=None) if needs_class else read

    def _source(self, native: BaseMessage) -> SourceMessage:
        key = self._key_of_thinking(native)
        return SourceMessage(
            native,
            fields_of(
                native,
                self._register,
                self._converter,
                includes_reasoning=self._reasoning,
                thinking_key=key,
            ),
            has_standard_content(native) and not self._needs_strings,
            "" if key else self._thinking,
        )

    def _key_of_thinking(self, native: BaseMessage) -> str:
        blocks = stored_thinking(native, self._thinking) if self.unsent else ()
        return "" if any(id(block) in self.unsent for block in blocks) else self._thinking

    def _register(self, item: object) -> int:
        """Return a number for an object, and keep the object so that the number stays valid."""
        self._registered[id(item)] = item
        return id(item)

    def _parsed(self, message: Message, wrapper: Native) -> Message:
        parts, has_items = message.parts, self._converter.item_ids
        is_answer = has_items and message.is_assistant
        if is_answer or any(isinstance(part, Opaque | Thinking) for part in parts):
            read = _read_item if is_answer else _read_langchain_block
            parts = tuple(map(read, parts))
        if has_items and COMPUTER in message.extra:
            parts = tuple(replace(result, kind="computer") for result in message.results)
        return replace(message, parts=parts, wrapper=wrapper)

    def write(self, message: Message) -> Native:
        """Write a message; return the object that it was read from if nothing changed."""
        parts = message.parts
        if message.role is not Role.TOOL:
            parts = tuple(_as_block(part, is_assistant=message.is_assistant) for part in parts)
        out = openai_chat.write(replace(message, parts=parts, wrapper=None))
        if not isinstance(out, dict):
            return out
        key = out.get(SOURCE)
        source = self._read.get(key) if isinstance(key, int) else None
        if source is not None and self._is_same(out, source, message):
            return source.message
        raw = self._converter.raw_calls
        return build(out, source, self._registered, writes_raw_calls=raw)

    def _is_same(self, out: dict[str, object], source: SourceMessage, message: Message) -> bool:
        if (
            isinstance(source.message, ChatMessage)
            and message.native_role is not None
            and not self.chat_messages
        ):
            return source.message.role not in KNOWN_ROLES and is_same(out, source.fields)
        return is_same(out, source.fields)

    def sketch(self, native: Native, checker: Sketch) -> object:
        """Return a value shared by messages of one common structure; None for any other.

        Common are texts, assistant messages with texts, signed thinking and calls, and tool
        results. ``NO_FORM`` for a dict if rules depend on the texts of results: ``read`` can mark
        only message objects that hold such a text.
        """
        if self._parses_results and not isinstance(native, BaseMessage):
            return NO_FORM
        sketch_message = self._sketches.get(native.__class__)
        return None if sketch_message is None else sketch_message(native, checker)

    def set_limits(self, limits: Limits) -> None:
        """Read the reasoning and thinking in ``additional_kwargs`` only if the target requires it.

        For any other target no partner package sends the reasoning. Thinking needs no repair there
        if the package that has stored it checks it.
        """
        if limits is self._limits:
            return
        self._limits, self._sketches = limits, _SKETCHES
        self._reasoning = limits.reasoning_content in ("required", "always")
        self._needs_strings = Role.ASSISTANT in limits.text_content
        self._converter = limits.of(unsendable_part.LIMIT) or _NO_LIMITS
        is_read = limits.thinking_first != "no" or not self._converter.checks_thinking
        self._thinking = self._converter.stored_thinking if is_read else ""
        self._parses_results = unresolved_reference.parses_results(limits)
        if self._reasoning or self._converter.raw_calls:  # more of `additional_kwargs` counts
            self._sketches = {cls: _SKETCHES[cls] for cls in _SKETCHES if cls is not AIMessage}
        if self._parses_results:
            self._sketches = {**self._sketches, ToolMessage: _sketch_parsed_result}

    def remember(self, natives: Sequence[Native], memory: Memory) -> None:
        """Record the ids of items, which may be sent only once, and the names of documents."""
        for native in natives:
            held: Any = native.get("content") if isinstance(native, dict) else None
            content = held or getattr(native, "content", None)
            if not isinstance(content, list):
                continue
            if self._converter.item_ids and isinstance(native, AIMessage):
                memory.item_ids.update(blocks.item_ids(content_without_calls(native)))
            memory.item_ids.update(blocks.names_of_files(content))

    def cache_key(self) -> object:
        """Return what the content of a message depends on, apart from the message."""
        sent = self._converter
        read = self._reasoning, self._thinking, sent.raw_calls, sent.spare_raw_calls, sent.item_ids
        return self.NAME, self.chat_messages, self._parses_results, *read


def _sketch_text(message: BaseMessage, checker: Sketch) -> object:
    kwargs = message.additional_kwargs
    if message.name is not None or kwargs.__class__ is not dict or _ROLE_KEY in kwargs:
        return None
    form = "text" if checker.is_text(message.content) else _form_of_other(message.content, checker)
    return None if form is False else (message.__class__, form)


def _sketch_result(message: ToolMessage, checker: Sketch) -> object:
    if message.name is not None and not checker.is_name(message.name):
        return None
    if message.additional_kwargs and is_computer_output(message):
        return None
    form = "text" if checker.is_text(message.content) else _form_of_other(message.content, checker)
    is_usual = form is not False and checker.is_id(message.tool_call_id)
    return (ToolMessage, form, message.name is None, message.status) if is_usual else None


def _form_of_other(content: Any, checker: Sketch) -> object:
    """Return the form of a content that is no ordinary text; False if it cannot be sketched."""
    form = checker.form_of_content(content)
    return checker.form_of_list(content) if form is False and content.__class__ is list else form


def _sketch_parsed_result(message: ToolMessage, checker: Sketch) -> object:
    """Return the form of a result for a sender that parses its text."""
    content = message.content
    if isinstance(content, str) and unresolved_reference.may_refer(content):
        return None
    return _sketch_result(message, checker)


def _sketch_answer(message: AIMessage, checker: Sketch) -> object:
    calls, metadata = message.tool_calls, message.response_metadata
    if metadata.__class__ is not dict or message.additional_kwargs.__class__ is not dict:
        return None
    provider = metadata.get("model_provider")
    if (
        message.name is not None
        or message.invalid_tool_calls
        or not _INSPECTED_KWARGS.isdisjoint(message.additional_kwargs)
        or message.additional_kwargs.get("refusal")  # null in each answer of ChatOpenAI
        or (REPORT in metadata and answered_continuations(message))
    ):
        return None
    if calls.__class__ is not list or not (provider is None or provider.__class__ is str):
        return None
    content: Any = message.content
    if content.__class__ is str and checker.is_text(content):
        form: object = "text"
    elif content.__class__ is list:
        form = _form_of_blocks(content, calls, checker)
        form = None if form is None else (form, metadata.get(OUTPUT_VERSION) == "v1")
    else:
        form = (content,) if content in (None, "") else None
    if form is None:
        return None
    for call in calls:
        if not _is_common_call(call, checker):
            return None
    return AIMessage, form, len(calls), provider


def _form_of_blocks(content: list[Any], calls: list[Any], checker: Sketch) -> object:
    """Return the form of the content blocks of an answer; None if they cannot be sketched.

    All that rules see of a call is in ``tool_calls``, apart from the structure of its block. A call
    that is only in the content has no form.
    """
    ids: list[object] = [call.get("id") for call in calls if call.__class__ is dict]
    form = _form_of_usual_blocks(content, ids, checker)
    if form is False:
        form = checker.form_of_content(content)
    if form is False and all(id_of(block) in ids for block in content if is_call(block)):
        form = checker.form_of_list(content)
    return None if form is False else form


def _form_of_usual_blocks(content: list[Any], ids: list[object], checker: Sketch) -> object:
    """Return the form of texts, signed thinking and calls with these ids; False for other blocks.

    It is found faster than that of any list.
    """
    form: list[object] = []
    for block in content:
        if block.__class__ is not dict:
            return False
        kind = block.get("type")
        if kind == "text" and len(block) == _TEXT_KEYS and checker.is_text(block.get("text")):
            form.append("text")
        elif kind == "tool_use" and (found := block.get("id")).__class__ is str and found in ids:
            form.append((ids.index(found), block.get("input").__class__ is dict, *block))
        elif checker.is_thinking(block):
            form.append("thinking")
        else:
            return False
    return tuple(form)


def _is_common_call(call: Any, checker: Sketch) -> bool:
    if call.__class__ is not dict or len(call) != _CALL_KEYS or call.get("type") != "tool_call":
        return False
    return (
        checker.is_id(call.get("id"))
        and checker.is_name(call.get("name"))
        and checker.is_arguments(dumps_if_json(call.get("args")))
    )


_ROLE_KEY = "__openai_role__"
"""The key of ``additional_kwargs`` that makes a system message one of the developer."""
_CALL_KEYS, _TEXT_KEYS = 4, 2
"""The numbers of keys of a call (type, id, name, arguments) and of a text."""
_INSPECTED_KWARGS = OBJECT_KWARGS | {
    "tool_calls", "prefix", SIGNATURES, TOOL_OUTPUTS, *STORED_THINKING
}  # fmt: skip
"""Keys of ``additional_kwargs`` that affect how an assistant message is read."""
_SKETCHES: dict[type, Callable[[Any, Sketch], object]] = {
    HumanMessage: _sketch_text,
    SystemMessage: _sketch_text,
    AIMessage: _sketch_answer,
    ToolMessage: _sketch_result,
}


def _read_langchain_block(part: Part) -> Part:
    """Read a block that the OpenAI dialect does not know but LangChain's messages contain."""
    if not isinstance(part, Opaque | Thinking) or not isinstance(part.native, dict):
        return part
    block = part.native
    if isinstance(part, Thinking) and (block.get("type") != "reasoning" or part.signature):
        return part
    if (result := blocks.as_result_block(block)) is not None or block.get("type") == "tool_use":
        read = anthropic_messages.read({"role": "user", "content": [result or block]}).parts[0]
        return read if result is None or result is block else replace(read, native=block)
    if block.get("type") == "reasoning" and (signature := blocks.signature_of(block)):
        return Thinking(str(block.get("reasoning") or ""), signature, native=block)
    if block.get("type") == "reasoning_content":
        return _read_bedrock_reasoning(block)
    return part


def _read_bedrock_reasoning(block: dict[str, Any]) -> Part:
    """Read the thinking of Bedrock's Converse API, in either spelling of its keys."""
    held = block.get("reasoning_content", block.get("reasoningContent"))
    if not isinstance(held, dict):
        return Opaque(block)
    if redacted := held.get("redacted_content", held.get("redactedContent")):
        data = redacted if isinstance(redacted, str) else "redacted"  # bytes are no signature
        return Thinking("", data, redacted=True, native=block)
    text, signature = held.get("text"), held.get("signature")
    return Thinking(
        text if isinstance(text, str) else "",
        signature if isinstance(signature, str) and signature else None,
        native=block,
    )


def _read_item(part: Part) -> Part:
    """Read a block that becomes an item of the Responses API, also the call of a computer."""
    block = part.native
    if isinstance(part, Media) and isinstance(block, dict) and blocks.is_generated_image(block):
        return Opaque(block)
    value = blocks.unwrap(block) if isinstance(part, Opaque) and isinstance(block, dict) else {}
    if value.get("type") != "computer_call":
        return _read_langchain_block(part)
    return ToolCall(value.get("call_id"), None, value.get("action"), native=block, kind="computer")


def _as_block(part: Part, *, is_assistant: bool) -> Part:
    """Convert a tool result in a content to a block, which is the native one if nothing changed.

    A call in a content stays its native block.
    """
    if isinstance(part, ToolCall) and part.is_hosted and isinstance(part.native, dict):
        return Opaque(blocks.with_call_id(part.native, part.id))
    if isinstance(part, ToolCall) and not is_assistant:
        return Opaque(part.native)
    if not isinstance(part, ToolResult):
        return part
    own = blocks.as_result_block(part.extra)
    native = part.native if own is None else own
    message: Any = anthropic_messages.write(Message(Role.USER, (replace(part, native=native),)))
    (written,) = message["content"]
    return Opaque(part.native if written == own else written)
