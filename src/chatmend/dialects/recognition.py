"""Recognises the wire format of a conversation by what only one format defines.

The evidence is a key that only one format has (``tool_calls``, ``parts``), a type of item or part
that only one format defines (``formats``, generated from the SDKs), and the other parameters of a
request body. If it points to a format that chatmend does not repair, or contradicts itself, the
result is ``Unsure``. Messages in the layout of a training data set or a framework, which no
provider accepts, raise an error that names the layout.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chatmend.dialects import (
    anthropic_messages,
    bedrock_converse,
    gemini_contents,
    ollama_chat,
    openai_chat,
    openai_responses,
)
from chatmend.dialects.formats import ENTRIES, KEYS, PARTS
from chatmend.errors import TranscriptError

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from chatmend.transcript import Native

CHAT: str = openai_chat.NAME
BLOCKS: str = anthropic_messages.NAME
ITEMS: str = openai_responses.NAME
CONTENTS: str = gemini_contents.NAME
CONVERSE: str = bedrock_converse.NAME
OLLAMA: str = ollama_chat.NAME
UNDER_MESSAGES = frozenset({CHAT, BLOCKS, CONVERSE, OLLAMA})
"""The dialects whose request bodies have their messages under ``messages``."""
EVERY = UNDER_MESSAGES | {ITEMS, CONTENTS}


@dataclass(frozen=True, slots=True)
class Unsure:
    """No dialect of chatmend was recognised: the messages must not be changed."""

    why: str
    """The reason, for warnings and errors."""


INTERACTIONS = Unsure(
    "the input is in the format of Gemini's Interactions API, which chatmend does not repair yet"
)
COHERE = Unsure("the chat is in the format of Cohere's API v1, which chatmend does not repair")
MIXED = Unsure(
    "the list mixes chat messages and items of the Responses API; set the format with dialect="
)
NOTHING = Unsure("no message has a role, content or another key that a wire format defines")

_ONLY_BLOCKS = PARTS[BLOCKS].difference(*(found for name, found in PARTS.items() if name != BLOCKS))
_ONLY_STEPS = ENTRIES["gemini_interactions"] - ENTRIES[ITEMS]
_ONLY_ITEMS = (ENTRIES[ITEMS] | openai_responses.ITEMS) - {"message", "reasoning", "compaction"}
_ITEM_PARTS = PARTS[ITEMS] - PARTS[CHAT]
_CHAT_PARTS = PARTS[CHAT] - PARTS[ITEMS]
_ONLY_CONVERSE = KEYS["bedrock_converse"] - {"text"}
_OTHER_PART_KEYS = frozenset({"source"}).union(KEYS[CONTENTS], *PARTS.values())
"""Keys that may hold the content of a part in other formats, also where its type is missing."""
_CHAT_KEYS = frozenset({"tool_calls", "tool_call_id", "function_call"})
_CHAT_ROLES = ("tool", "function")
_DISTINCTIVE_KEYS = _CHAT_KEYS | {"type", "parts"}
"""Keys that may identify the format of a message whose content is a string."""
_ROLE_AND_CONTENT = _TYPE_AND_TEXT = 2
_ANY_FORMAT_KEYS = _DISTINCTIVE_KEYS | {"role", "content", "name"}
"""A message of any wire format has at least one of these keys."""
_ANTHROPIC_PARAMETERS = ("anthropic_version", "anthropic_beta", "stop_sequences")
_CONVERSE_PARAMETERS = ("inferenceConfig", "toolConfig", "modelId", "additionalModelRequestFields")
DECIDING_KEYS = frozenset(
    {*_ANTHROPIC_PARAMETERS, *_CONVERSE_PARAMETERS, "options", "system", "tools"}
)
"""The keys next to ``messages`` that may decide the format of a body."""
_WITHOUT_RESPONSES = ("anthropic", "bedrock", "cohere", "gemini", "mistral", "vertex_ai")
"""Providers that have no Responses API."""


def format_of(
    natives: Sequence[Native], among: Container[str] = EVERY, provider: str = ""
) -> str | Unsure:
    """Return the name of the dialect of a list of messages.

    The first message that only one format can contain decides; without one it is Chat Completions.
    Part types of the Responses API in otherwise neutral messages decide only if nothing else
    does and no part is of another format, because frameworks leave such parts in chats.

    Args:
        natives: the messages.
        among: the dialects that the rest of the request body allows.
        provider: the provider of the target, if it is known.

    Raises:
        TranscriptError: a message has the layout of a training data set or a framework. The error
            names the layout.
    """
    if provider == "ollama" and _has_ollama_message(natives):
        return OLLAMA
    part_types: set[object] = set()
    if (found := _first_recognised(natives, among, part_types)) is not None:
        return found
    if (found := _format_of_all(natives, among, provider)) is not None:
        return found
    if (unsure := _format_without_messages(natives)) is not None:
        return unsure
    if ITEMS not in among or provider in _WITHOUT_RESPONSES:
        return CHAT
    return (
        CHAT
        if part_types.isdisjoint(_ITEM_PARTS) or not part_types.isdisjoint(_CHAT_PARTS)
        else ITEMS
    )


def _format_of_all(natives: Sequence[Native], among: Container[str], provider: str) -> str | None:
    """Return the format that all messages together show; None if they show none."""
    if CONTENTS in among and _are_texts_under_parts(natives):
        return CONTENTS
    is_typeless = provider == "bedrock" and is_converse([*filter(_is_filled, natives)])
    return CONVERSE if is_typeless else None


def _are_texts_under_parts(natives: Sequence[Native]) -> bool:
    """Return whether all messages have a string as ``parts`` and no content.

    Gemini needs a list there, so a single one of them may be a part of a chat.
    """
    return bool(natives) and all(
        isinstance(native, dict)
        and isinstance(native.get("parts"), str)
        and "content" not in native
        for native in natives
    )


def _is_filled(native: Native) -> bool:
    return isinstance(native, dict) and bool(native)


def _format_without_messages(natives: Sequence[Native]) -> Unsure | None:
    """Return what a list is that holds no message of a known format; None if it may hold one."""
    if any(isinstance(native, dict) and "role" in native for native in natives):
        return None
    entries: list[Any] = [*filter(_is_filled, natives)]
    if not entries:
        return None
    if all(map(_ANY_FORMAT_KEYS.isdisjoint, entries)):
        return NOTHING
    return INTERACTIONS if all(map(_is_bare_part, entries)) else None


def _first_recognised(
    natives: Sequence[Native], among: Container[str], part_types: set[object]
) -> str | Unsure | None:
    """Return the format of the first message that shows one; None if no message does.

    Messages in the layout of a training data set or a framework raise an error at any position.
    The part types of messages that show no format are added to ``part_types``.
    """
    first: str | Unsure | None = None
    has_items = False
    for native in natives:
        if not isinstance(native, dict):
            continue
        content = native.get("content", natives)
        # The most common form; messages of other layouts do not have it.
        if (content.__class__ is str or content is None) and "role" in native:
            if first is None and (
                native["role"] in _CHAT_ROLES or not _DISTINCTIVE_KEYS.isdisjoint(native)
            ):
                first = _recognise_message(native, among, part_types)
            continue
        if _is_text_message(native, part_types):
            continue
        _refuse_other_layouts(native)
        has_items = has_items or ("role" not in native and _has_type(native, _ONLY_ITEMS))
        first = _recognise_message(native, among, part_types) if first is None else first
    return MIXED if has_items and (first == CHAT or ITEMS not in among) else first


def _is_text_message(native: dict[str, Any], part_types: set[object]) -> bool:
    """Return whether a message is only a role and a list of text parts, as in any format."""
    content = native.get("content")
    if (
        len(native) != _ROLE_AND_CONTENT
        or content.__class__ is not list
        or native.get("role", "tool") in _CHAT_ROLES
    ):
        return False
    for part in content:
        if part.__class__ is not dict or len(part) != _TYPE_AND_TEXT or part.get("type") != "text":
            return False
        if part.get("text").__class__ is not str:
            return False
    if content:
        part_types.add("text")
    return True


def _recognise_message(
    native: dict[str, Any], among: Container[str], part_types: set[object]
) -> str | Unsure | None:
    """Return the format that one message shows; None if it shows none."""
    if (found := _recognise_by_keys(native, among)) is not None:
        return found
    for part in _parts(native, "content"):
        if (found := _recognise_by_part(part, part_types)) is not None:
            return found
    return None


def _recognise_by_keys(native: dict[str, Any], among: Container[str]) -> str | Unsure | None:
    if not _CHAT_KEYS.isdisjoint(native) or native.get("role") in _CHAT_ROLES:
        return CONTENTS if CONTENTS in among and _has_contents(native) else CHAT
    if _has_type(native, _ONLY_STEPS):
        return INTERACTIONS
    if "message" in native and "role" in native and "content" not in native:
        return COHERE
    if ITEMS in among and openai_responses.is_item(native):
        return ITEMS
    return CONTENTS if CONTENTS in among and _has_contents(native) else None


def _recognise_by_part(part: dict[str, Any], part_types: set[object]) -> str | Unsure | None:
    kind = part.get("type")
    if kind.__class__ is not str:
        typeless = kind is None and any(
            isinstance(part[key], dict) for key in _ONLY_CONVERSE & part.keys()
        )
        return CONVERSE if typeless else BLOCKS if isinstance(part.get("source"), dict) else None
    part_types.add(kind)
    signed = kind == "thinking" and isinstance(part.get("signature"), str)
    return (
        BLOCKS if kind in _ONLY_BLOCKS or signed or isinstance(part.get("source"), dict) else None
    )


def _has_ollama_message(natives: Sequence[Native]) -> bool:
    """Return whether a message has a form that only Ollama's ``/api/chat`` has.

    Other providers get chats with the same keys, which only Ollama reads. So this counts only for
    Ollama as the target.
    """
    return any(isinstance(native, dict) and ollama_chat.is_own(native) for native in natives)


def _parts(native: dict[str, Any], key: str) -> list[dict[str, Any]]:
    held = native.get(key)
    return [part for part in held if isinstance(part, dict)] if isinstance(held, list) else []


def _has_type(value: dict[str, Any], types: Container[str]) -> bool:
    kind = value.get("type")
    return isinstance(kind, str) and kind in types


def _has_contents(native: dict[str, Any]) -> bool:
    """Return whether a message has ``parts`` without types, as only Gemini's messages have."""
    parts = _parts(native, "parts")
    return gemini_contents.has_parts(native) and not (
        parts and all("type" in part for part in parts)
    )


def _is_bare_part(native: dict[str, Any]) -> bool:
    """Return whether this is a content part instead of a message, as in the Interactions API."""
    return _has_type(native, PARTS["gemini_interactions"])


def is_converse(natives: Sequence[Native]) -> bool:
    """Return whether all content is parts without a type, as Converse has them.

    At least one part must be of a known kind. Others may be newer than chatmend, or than the boto3
    that read the answer: it writes ``SDK_UNKNOWN_MEMBER`` for them.
    """
    has_known = False
    for native in natives:
        if not isinstance(native, dict):
            continue
        content = native.get("content")
        if not isinstance(content, list) or not all(map(_is_typeless, content)):
            return False
        has_known = has_known or not all(map(KEYS[CONVERSE].isdisjoint, content))
    return has_known


def _is_typeless(part: object) -> bool:
    """Return whether this may be a part of Converse: a known key, or an object under a new one."""
    if not isinstance(part, dict) or "type" in part:
        return False
    if not KEYS[CONVERSE].isdisjoint(part):
        return True
    is_new = len(part) == 1 and _OTHER_PART_KEYS.isdisjoint(part)
    return is_new and all(isinstance(value, dict) for value in part.values())


def format_of_body(body: dict[str, Any], provider: str = "") -> str | Unsure | None:
    """Return the dialect of a request body; None if no known key holds messages.

    Raises:
        TranscriptError: a message has the layout of a training data set or a framework. The error
            names the layout.
    """
    if isinstance(messages := body.get("messages"), list):
        return _format_under_messages(body, messages, provider)
    if isinstance(entries := body.get("input"), list):
        if entries and all(isinstance(entry, str) for entry in entries):
            return Unsure("the input is a list of strings, as for embeddings")
        found = format_of(entries, {ITEMS}) if entries else ITEMS
        return found if found is INTERACTIONS else ITEMS
    if "contents" in body:
        return CONTENTS if isinstance(body["contents"], list) else Unsure("contents is not a list")
    if isinstance(body.get("input"), str) or "prompt" in body:
        return ITEMS
    for key in ("conversations", "conversation"):
        for row in _parts(body, key):
            _refuse_other_layouts(row)
    return COHERE if isinstance(body.get("message"), str) else None


def _format_under_messages(
    body: dict[str, Any], messages: list[Any], provider: str
) -> str | Unsure:
    typeless = is_converse(messages)
    if typeless and (
        not body.keys().isdisjoint(_CONVERSE_PARAMETERS)
        or is_converse([{"content": body.get("system")}])
    ):
        return CONVERSE
    found = format_of(messages, UNDER_MESSAGES, provider)
    if found != CHAT:
        return found
    if provider == "ollama" and isinstance(body.get("options"), dict):
        return OLLAMA
    if "system" in body:
        return BLOCKS
    named = not body.keys().isdisjoint(_ANTHROPIC_PARAMETERS) or any(
        "input_schema" in tool for tool in _parts(body, "tools")
    )
    return BLOCKS if named and _first_recognised(messages, UNDER_MESSAGES, set()) is None else CHAT


def _refuse_other_layouts(native: dict[str, Any]) -> None:
    if _LAYOUT_KEYS.isdisjoint(native) and not _has_layout_part(native):
        return
    whole = "role" in native and "content" in native
    for name, advice, has_layout in _LAYOUTS[-1:] if whole else _LAYOUTS:
        if has_layout(native):
            text = f"these are {name}, not messages of a request; {advice}"
            raise TranscriptError(text)


def _has_layout_part(native: dict[str, Any]) -> bool:
    for key, others in (("content", _LAYOUT_PART_KEYS), ("parts", _LAYOUT_PART_KEYS | {"type"})):
        held = native.get(key)
        for part in held if isinstance(held, list) else ():
            if isinstance(part, dict) and not others.isdisjoint(part):
                return True
    return False


def _has_text_under(native: dict[str, Any], key: str, names: tuple[str, ...]) -> bool:
    """Return whether a list under ``key`` holds a dict with text under one of the names."""
    return any(isinstance(part.get(name), str) for part in _parts(native, key) for name in names)


def _is_telemetry(native: dict[str, Any]) -> bool:
    """Return whether a message is logged as OpenTelemetry's conventions for ``gen_ai`` define it.

    A text part has its text under ``content``, where other formats have ``text``. See
    ``gen-ai-input-messages.json`` of open-telemetry/semantic-conventions.
    """
    return "content" not in native and any(
        part.get("type") in ("tool_call", "tool_call_response")
        or isinstance(part.get("modality"), str)
        or ("type" in part and isinstance(part.get("content"), str))
        for part in _parts(native, "parts")
    )


def _is_semantic_kernel(native: dict[str, Any]) -> bool:
    """Return whether a message has the contents of Semantic Kernel's ``ChatMessageContent``."""
    if "content" in native:
        return False
    is_python = "items" in native and native.get("content_type") == "message"
    return is_python or any(
        _has_text_under(native, key, ("content_type", "$type")) for key in ("items", "Items")
    )


def _is_exported(native: dict[str, Any]) -> bool:
    """Return whether this is a message of a chat application, or a conversation of Claude.ai."""
    if "role" in native:
        return False
    return (
        isinstance(native.get("isCreatedByUser"), bool)
        or isinstance(native.get("chat_messages"), list)
        or native.get("sender") in ("human", "assistant")
    )


_LAYOUT_KEYS = frozenset(
    {
        "from", "instruction", "lc", "data", "blocks", "items", "Items", "isCreatedByUser",
        "chat_messages", "sender",
    }
)  # fmt: skip
_LAYOUT_PART_KEYS = frozenset({"toolCallId", "kind", "part_kind"})
"""Each of these layouts has one of these keys in the message or a part, or parts with a type."""
# Only messages of the last layout have both a role and a content.
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
        "LangChain messages stored as dicts",
        "load them with langchain_core.messages.messages_from_dict or langchain_core.load.load",
        lambda m: (m.get("type") == "constructor" and "lc" in m) or _is_stored_langchain(m),
    ),
    (
        "messages of a framework (UI messages of the AI SDK, pydantic-ai, A2A)",
        "convert them with the framework first (convertToModelMessages in the AI SDK)",
        lambda m: (
            "content" not in m and _has_text_under(m, "parts", ("toolCallId", "kind", "part_kind"))
        ),
    ),
    (
        "LlamaIndex messages ('blocks')",
        "convert them with the provider package of LlamaIndex first",
        lambda m: "content" not in m and _has_text_under(m, "blocks", ("block_type",)),
    ),
    (
        "messages of OpenTelemetry ('parts' with 'type' and 'content')",
        "repair the messages of the request itself, which the telemetry was recorded from",
        _is_telemetry,
    ),
    (
        "messages of Semantic Kernel ('items')",
        "convert them with the connector of the provider first",
        _is_semantic_kernel,
    ),
    (
        "messages exported from a chat application (LibreChat, Claude.ai)",
        "write each as {'role': ..., 'content': ...}: role is user or assistant",
        _is_exported,
    ),
    (
        "model messages of the AI SDK ('tool-call' and 'tool-result' parts)",
        "convert them with a provider package of the AI SDK first",
        lambda m: _has_text_under(m, "content", ("toolCallId",)),
    ),
)


def _is_stored_langchain(native: dict[str, Any]) -> bool:
    kinds = ("human", "ai", "system", "tool", "function", "chat", "remove")
    return (
        native.get("type") in kinds
        and isinstance(native.get("data"), dict)
        and "role" not in native
    )
