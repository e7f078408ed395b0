"""In which wire format a conversation is written, told by what only one format defines.

What tells: a key that only one format has (``tool_calls``, ``parts``), a type of entry or of part that only one format
defines (``formats``, made from the SDKs), and what stands beside the messages in a request body. Where that names a
format that chatmend does not repair, or contradicts itself, nobody may guess: the answer is ``Unsure``. Messages of a
training set or a framework, which no provider takes, are an error that names them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chatmend.dialects import anthropic_messages, gemini_contents, openai_chat, openai_responses
from chatmend.dialects.formats import ENTRIES, KEYS, PARTS
from chatmend.errors import TranscriptError

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from chatmend.transcript import Native

CHAT: str = openai_chat.NAME
BLOCKS: str = anthropic_messages.NAME
ITEMS: str = openai_responses.NAME
CONTENTS: str = gemini_contents.NAME
UNDER_MESSAGES = frozenset({CHAT, BLOCKS})
"""The dialects whose requests have their messages under ``messages``."""
EVERY = frozenset({CHAT, BLOCKS, ITEMS, CONTENTS})


@dataclass(frozen=True, slots=True)
class Unsure:
    """No dialect of chatmend's can be named: the messages must stay as they are."""

    why: str
    """What was seen."""


CONVERSE = Unsure("the messages are written for Bedrock's Converse API, which is not repaired yet")
INTERACTIONS = Unsure("the input is written for Gemini's Interactions API, which is not repaired yet")
COHERE = Unsure("the chat is written for Cohere's API v1, which is not repaired")
MIXED = Unsure("chat messages and items of the Responses API stand in one list; name the format (dialect=)")
NOTHING = Unsure("no message has a role, a content or anything else that a wire format defines")

_ONLY_BLOCKS = PARTS[BLOCKS].difference(*(found for name, found in PARTS.items() if name != BLOCKS))
_ONLY_STEPS = ENTRIES["gemini_interactions"] - ENTRIES[ITEMS]
_ONLY_ITEMS = (ENTRIES[ITEMS] | openai_responses.ITEMS) - {"message", "reasoning", "compaction"}
_ITEM_PARTS = PARTS[ITEMS] - PARTS[CHAT]
_CHAT_PARTS = PARTS[CHAT] - PARTS[ITEMS]
_ONLY_CONVERSE = KEYS["bedrock_converse"] - {"text"}
_CHAT_KEYS = frozenset({"tool_calls", "tool_call_id", "function_call"})
_CHAT_ROLES = ("tool", "function")
_TELLING = _CHAT_KEYS | {"type", "parts"}
"""Keys for which a message with a text is looked at more closely."""
_ROLE_AND_CONTENT = _TYPE_AND_TEXT = 2
_SOME_FORMAT = _TELLING | {"role", "content", "name"}
"""Keys of which a message of any wire format has one."""
_OF_ANTHROPIC = ("anthropic_version", "anthropic_beta", "stop_sequences")
_OF_CONVERSE = ("inferenceConfig", "toolConfig", "modelId", "additionalModelRequestFields")
_WITHOUT_RESPONSES = ("anthropic", "bedrock", "cohere", "gemini", "mistral", "vertex_ai")
"""Providers that have no Responses API."""


def format_of(natives: Sequence[Native], among: Container[str] = EVERY, provider: str = "") -> str | Unsure:
    """The name of the dialect that a list of messages is written in, by the first message that tells; else a chat.

    Parts that only Responses have, in messages that any dialect could have, tell only where nothing else does, no part
    of another format among them: frameworks leave such parts in chats.

    Args:
        natives: the messages.
        among: the dialects that what stands around the messages leaves possible.
        provider: the target's, where it is known.

    Raises:
        TranscriptError: a message has a layout of a training set or a framework; the text names it.
    """
    kinds: set[object] = set()
    if (told := _first_told(natives, among, kinds)) is not None:
        return told
    messages = [native for native in natives if isinstance(native, dict) and native]
    if provider == "bedrock" and is_converse(messages):
        return CONVERSE
    if messages and all(_SOME_FORMAT.isdisjoint(native) for native in messages):
        return NOTHING
    if messages and all("role" not in native and _is_bare_part(native) for native in messages):
        return INTERACTIONS
    if ITEMS not in among or provider in _WITHOUT_RESPONSES:
        return CHAT
    return CHAT if kinds.isdisjoint(_ITEM_PARTS) or not kinds.isdisjoint(_CHAT_PARTS) else ITEMS


def _first_told(natives: Sequence[Native], among: Container[str], kinds: set[object]) -> str | Unsure | None:
    """What the first message that tells anything tells. Every message is asked whether it may stand here at all.

    ``kinds`` gets the types of the parts of those that tell nothing.
    """
    first: str | Unsure | None = None
    has_items = False
    for native in natives:
        if not isinstance(native, dict):
            continue
        content = native.get("content", natives)
        if (content.__class__ is str or content is None) and "role" in native:  # as most, and then of no other layout
            if first is None and (native["role"] in _CHAT_ROLES or not _TELLING.isdisjoint(native)):
                first = _told(native, among, kinds)
            continue
        if _is_words(native, kinds):
            continue
        _refuse_other_layouts(native)
        has_items = has_items or ("role" not in native and _has_type(native, _ONLY_ITEMS))
        first = _told(native, among, kinds) if first is None else first
    return MIXED if has_items and (first == CHAT or ITEMS not in among) else first


def _is_words(native: dict[str, Any], kinds: set[object]) -> bool:
    """Whether a message of a role and a list of words tells nothing, as most do."""
    content = native.get("content")
    if len(native) != _ROLE_AND_CONTENT or content.__class__ is not list or native.get("role", "tool") in _CHAT_ROLES:
        return False
    for part in content:
        if part.__class__ is not dict or len(part) != _TYPE_AND_TEXT or part.get("type") != "text":
            return False
        if part.get("text").__class__ is not str:
            return False
    if content:
        kinds.add("text")
    return True


def _told(native: dict[str, Any], among: Container[str], kinds: set[object]) -> str | Unsure | None:
    """What one message tells; None: nothing."""
    if (told := _told_by_keys(native, among)) is not None:
        return told
    for part in _parts(native, "content"):
        if (told := _told_by_part(part, kinds)) is not None:
            return told
    return None


def _told_by_keys(native: dict[str, Any], among: Container[str]) -> str | Unsure | None:
    if not _CHAT_KEYS.isdisjoint(native) or native.get("role") in _CHAT_ROLES:
        return CONTENTS if CONTENTS in among and _has_contents(native) else CHAT
    if _has_type(native, _ONLY_STEPS):
        return INTERACTIONS
    if "message" in native and "role" in native and "content" not in native:
        return COHERE
    if ITEMS in among and openai_responses.speaks(native):
        return ITEMS
    return CONTENTS if CONTENTS in among and _has_contents(native) else None


def _told_by_part(part: dict[str, Any], kinds: set[object]) -> str | Unsure | None:
    kind = part.get("type")
    if kind.__class__ is not str:
        typeless = kind is None and any(isinstance(part[key], dict) for key in _ONLY_CONVERSE & part.keys())
        return CONVERSE if typeless else BLOCKS if isinstance(part.get("source"), dict) else None
    kinds.add(kind)
    signed = kind == "thinking" and isinstance(part.get("signature"), str)
    return BLOCKS if kind in _ONLY_BLOCKS or signed or isinstance(part.get("source"), dict) else None


def _parts(native: dict[str, Any], key: str) -> list[dict[str, Any]]:
    held = native.get(key)
    return [part for part in held if isinstance(part, dict)] if isinstance(held, list) else []


def _has_type(value: dict[str, Any], types: Container[str]) -> bool:
    kind = value.get("type")
    return isinstance(kind, str) and kind in types


def _has_contents(native: dict[str, Any]) -> bool:
    """Whether a message has parts as Gemini's do, which have no type."""
    parts = _parts(native, "parts")
    return gemini_contents.speaks(native) and not (parts and all("type" in part for part in parts))


def _is_bare_part(native: dict[str, Any]) -> bool:
    """Whether it is a part and no message, as Interactions takes them."""
    return _has_type(native, PARTS["gemini_interactions"])


def is_converse(natives: Sequence[Native]) -> bool:
    """Whether each message holds a list of parts without a type, as Converse wants it, and nothing else."""
    held = [native.get("content") for native in natives if isinstance(native, dict)]
    parts = [part for content in held for part in (content if isinstance(content, list) else (None,))]
    return bool(parts) and all(
        isinstance(part, dict) and "type" not in part and not KEYS["bedrock_converse"].isdisjoint(part)
        for part in parts
    )


def format_of_body(body: dict[str, Any], provider: str = "") -> str | Unsure | None:
    """The dialect of a request body; None where it holds no messages under a known key.

    Raises:
        TranscriptError: a message has a layout of a training set or a framework; the text names it.
    """
    if isinstance(messages := body.get("messages"), list):
        return _under_messages(body, messages, provider)
    if isinstance(entries := body.get("input"), list):
        if entries and all(isinstance(entry, str) for entry in entries):
            return Unsure("the input is a list of texts, as for embeddings")
        told = format_of(entries, {ITEMS}) if entries else ITEMS
        return told if told is INTERACTIONS else ITEMS
    if "contents" in body:
        return CONTENTS if isinstance(body["contents"], list) else Unsure("there is no list of contents")
    if isinstance(body.get("input"), str) or "prompt" in body:
        return ITEMS
    for key in ("conversations", "conversation"):
        for row in _parts(body, key):
            _refuse_other_layouts(row)
    return COHERE if isinstance(body.get("message"), str) else None


def _under_messages(body: dict[str, Any], messages: list[Any], provider: str) -> str | Unsure:
    typeless = is_converse(messages)
    if typeless and (not body.keys().isdisjoint(_OF_CONVERSE) or is_converse([{"content": body.get("system")}])):
        return CONVERSE
    told = format_of(messages, UNDER_MESSAGES, provider)
    if told != CHAT:
        return told
    if "system" in body:
        return BLOCKS
    named = not body.keys().isdisjoint(_OF_ANTHROPIC) or any("input_schema" in tool for tool in _parts(body, "tools"))
    return BLOCKS if named and _first_told(messages, UNDER_MESSAGES, set()) is None else CHAT


def _refuse_other_layouts(native: dict[str, Any]) -> None:
    whole = "role" in native and "content" in native
    for name, way, is_one in _LAYOUTS[-1:] if whole else _LAYOUTS:
        if is_one(native):
            text = f"these are {name}, not messages of a request; {way}"
            raise TranscriptError(text)


def _some(native: dict[str, Any], key: str, names: tuple[str, ...]) -> bool:
    """Whether a list under a key holds a dict that has a text under one of the names."""
    return any(isinstance(part.get(name), str) for part in _parts(native, key) for name in names)


# The last one is the only one whose messages have a role and a content.
_LAYOUTS: tuple[tuple[str, str, Callable[[dict[str, Any]], bool]], ...] = (
    (
        "rows of the ShareGPT layout ('from' and 'value')",
        "write each as {'role': ..., 'content': ...}: human is user, gpt is assistant",
        lambda m: "from" in m and "value" in m and "role" not in m and "content" not in m,
    ),
    (
        "rows of the Alpaca layout ('instruction' and 'output')",
        "write each as a user and an assistant message",
        lambda m: "instruction" in m and "output" in m and "role" not in m and "type" not in m,
    ),
    (
        "LangChain's messages as stored dicts",
        "load them with langchain_core.messages.messages_from_dict or langchain_core.load.load",
        lambda m: (m.get("type") == "constructor" and "lc" in m) or _is_stored_langchain(m),
    ),
    (
        "messages of a framework (AI SDK's UI messages, pydantic-ai, A2A)",
        "let it convert them first (convertToModelMessages in the AI SDK)",
        lambda m: "content" not in m and _some(m, "parts", ("toolCallId", "kind", "part_kind")),
    ),
    (
        "LlamaIndex's messages ('blocks')",
        "convert them with its provider package first",
        lambda m: "content" not in m and _some(m, "blocks", ("block_type",)),
    ),
    (
        "the AI SDK's model messages ('tool-call' and 'tool-result' parts)",
        "let its provider package write the request",
        lambda m: _some(m, "content", ("toolCallId",)),
    ),
)


def _is_stored_langchain(native: dict[str, Any]) -> bool:
    kinds = ("human", "ai", "system", "tool", "function", "chat", "remove")
    return native.get("type") in kinds and isinstance(native.get("data"), dict) and "role" not in native
