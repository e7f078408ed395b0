"""Items of OpenAI's Responses API: valid ids, valid statuses and the content of reasoning items."""

from __future__ import annotations

from typing import Any

from chatmend import jsontext
from chatmend.dialects.blocks import is_complete
from chatmend.dialects.formats import ANNOTATION_KEYS, ITEM_KEYS, SEARCH_ACTION_KEYS

PREFIXES = {
    "function_call": "fc", "custom_tool_call": "ctc", "reasoning": "rs", "message": "msg",
    "web_search_call": "ws", "file_search_call": "fs", "code_interpreter_call": "ci",
    "mcp_call": "mcp", "mcp_list_tools": "mcpl", "mcp_approval_request": "mcpr",
    "computer_call": "cu",
}  # fmt: skip
"""Prefixes of item ids by item type; types that are not listed have no known prefix."""
_OTHER_PREFIXES = {
    "image_generation_call": "ig", "local_shell_call": "lsh", "computer_call": "cu",
    "program": "prg", "program_output": "prgo",
}  # fmt: skip
"""Prefixes for new ids of types whose ids are not checked."""
_KNOWN_ANYWAY = frozenset({"id", "status", "type"})
"""Keys that every item may have: recorded answers have them where the SDK does not name them."""
_OPTIONAL_ANYWAY = {
    "reasoning": frozenset({"id"}),
    "message": frozenset({"content", "role"}),
    "function_call": frozenset({"arguments", "call_id", "name"}),
    "image_generation_call": frozenset({"result", "status"}),
    "function_call_output": frozenset({"output"}),
    "custom_tool_call": frozenset({"call_id", "input", "name"}),
    "custom_tool_call_output": frozenset({"call_id", "output"}),
    "local_shell_call_output": frozenset({"id"}),
}
"""Keys that are required, but may be missing in practice, or that other rules add."""
_REQUIRED_ANYWAY = {"local_shell_call_output": frozenset({"call_id"})}
"""Keys without which the API refuses an item, though the SDK does not name them.

``No tool output found for local shell call call_...`` (openai/openai-agents-python#1855).
"""
_NEUTRAL: dict[str, Any] = {
    "status": "completed", "pending_safety_checks": [], "summary": [], "outputs": None,
    "code": None, "result": None, "queries": [],
}  # fmt: skip
"""Values for missing keys that state nothing about the content."""
_NEUTRAL_BY_TYPE: dict[str, dict[str, Any]] = {
    "web_search_call": {"action": {"type": "search", "query": ""}},
    # langchain-openai leaves an empty list out of the items of `output_version="v1"`.
    "mcp_list_tools": {"tools": []},
}
"""The same for items of one type."""
UNREADABLE_ITEMS = frozenset(
    {
        "compaction", "compaction_trigger", "item_reference", "additional_tools",
        "configuration_update", "mcp_list_tools",
    }
)  # fmt: skip
"""Items that only the server which made them can read, or that hold settings and no content."""
LONGEST_ID = 64
"""Maximum length of an item id in characters."""
SHAPES = ("input",)
"""Shapes of images in content parts; see ``pictures.Picture.shape``."""
_STATUSES = ("in_progress", "completed", "incomplete")
_ACTION_KEYS = frozenset().union(*SEARCH_ACTION_KEYS.values())


def has_wrong_status(native: dict[str, Any]) -> bool:
    """Return whether an item has a ``status`` other than in_progress, completed or incomplete.

    Items of hosted tools may have other statuses: callers do not check those.
    """
    return "status" in native and native["status"] not in _STATUSES


def repair_reasoning(native: dict[str, Any]) -> dict[str, Any]:
    """Remove from a reasoning item what the API cannot read.

    Return the same object if the API can read all of it.
    """
    summary, content = native.get("summary"), native.get("content", [])
    encrypted = native.get("encrypted_content")
    texts = content if content is None else _typed(content, "reasoning_text")
    summaries, malformed = (
        _typed(summary, "summary_text"),
        encrypted is not None and encrypted.__class__ is not str,
    )
    if summaries is summary and texts is content and not malformed:
        return native
    kept = {
        key: value for key, value in native.items() if key != "encrypted_content" or not malformed
    }
    return {**kept, "summary": summaries, **({"content": texts} if "content" in native else {})}


def _typed(parts: Any, kind: str) -> list[Any]:  # noqa: ANN401 - callers may send any value
    """Return the text parts, each with its type; the same list if it has only such parts."""
    if parts.__class__ is list and all(_is_typed(part, kind) for part in parts):
        return parts
    listed = parts if isinstance(parts, list) else (parts,)
    listed = [{"text": part} if isinstance(part, str) else part for part in listed]
    return [
        {**part, "type": kind}
        for part in listed
        if isinstance(part, dict) and isinstance(part.get("text"), str)
    ]


def _is_typed(part: Any, kind: str) -> bool:  # noqa: ANN401
    return isinstance(part, dict) and part.get("type") == kind and isinstance(part.get("text"), str)


def is_nonempty_reasoning(native: dict[str, Any]) -> bool:
    """Return whether a reasoning item has a summary text or encrypted content."""
    summary = native.get("summary")
    has_text = any(
        isinstance(part, dict) and part.get("text")
        for part in (summary if isinstance(summary, list) else ())
    )
    return has_text or has_encrypted_content(native)


def has_encrypted_content(native: dict[str, Any]) -> bool:
    """Return whether a reasoning item has encrypted content, which must be a text."""
    encrypted = native.get("encrypted_content")
    return isinstance(encrypted, str) and bool(encrypted)


def texts_of(parts: object) -> list[str]:
    """Return the texts in the content or the summary of a reasoning item."""
    listed = parts if isinstance(parts, list) else ()
    found = (part.get("text") for part in listed if isinstance(part, dict))
    return [text for text in found if isinstance(text, str)]


def is_legal_id(native: dict[str, Any]) -> bool:
    """Return whether an item has no id, or a valid one: its length and the prefix of its type."""
    if "id" not in native:
        return True
    item_id, kind = native["id"], native.get("type", "message")
    if not isinstance(item_id, str) or not item_id or len(item_id) > LONGEST_ID:
        return False
    return not isinstance(kind, str) or item_id.startswith(PREFIXES.get(kind, ""))


def known_keys(kind: object) -> frozenset[str] | None:
    """Return the keys that an item of this type may have; None for a type that is not known."""
    required, others = ITEM_KEYS.get(kind, (None, None)) if isinstance(kind, str) else (None, None)
    if required is None or others is None:
        return None
    return required | others | _KNOWN_ANYWAY | _REQUIRED_ANYWAY.get(str(kind), frozenset())


def with_known_action_keys(native: dict[str, Any]) -> dict[str, Any]:
    """Return a web search without keys of other actions; the same object if it has none.

    The classes of SDKs write ``"query": null`` into actions that are not searches.
    """
    action = native.get("action") if native.get("type") == "web_search_call" else None
    kind = action.get("type") if isinstance(action, dict) else None
    known = SEARCH_ACTION_KEYS.get(kind) if isinstance(kind, str) else None
    foreign = frozenset() if known is None else _ACTION_KEYS - known
    if not isinstance(action, dict) or foreign.isdisjoint(action):
        return native
    return {**native, "action": {key: action[key] for key in action if key not in foreign}}


def missing_keys(native: dict[str, Any]) -> frozenset[str]:
    """Return the required keys that an item does not have."""
    kind = native.get("type", "message")
    if not isinstance(kind, str) or kind not in ITEM_KEYS:
        return frozenset()
    required = ITEM_KEYS[kind][0] | _REQUIRED_ANYWAY.get(kind, frozenset())
    return required - native.keys() - _OPTIONAL_ANYWAY.get(kind, frozenset())


def call_id_of_output(native: dict[str, Any]) -> object:
    """Return the id of the call that an output belongs to.

    The SDK describes the ``id`` of a ``local_shell_call_output`` as the id of the call.
    """
    if "call_id" not in native and native.get("type") in _REQUIRED_ANYWAY:
        return native.get("id")
    return native.get("call_id")


def with_required_keys(native: dict[str, Any]) -> dict[str, Any] | None:
    """Return an item with neutral values for the keys that it lacks; None if one has no such value.

    A missing id is made from the content of the item.
    """
    missing, kind = missing_keys(native), native.get("type")
    neutral = {**_NEUTRAL, **_NEUTRAL_BY_TYPE.get(str(kind), {})}
    if isinstance(call_id := call_id_of_output(native), str):
        neutral["call_id"] = call_id
    if kind == "item_reference" or not missing.issubset(neutral.keys() | {"id"}):
        return None
    filled = {key: neutral[key] for key in sorted(missing - {"id"})}
    new_id = {"id": new_item_id(native, jsontext.dumps(native))} if "id" in missing else {}
    return {**native, **new_id, **filled}


def with_annotations(native: dict[str, Any]) -> dict[str, Any]:
    """Return a message of the model with annotations in its texts; the same object if they have.

    Only a message with an id needs them: it has the form of an answer. Null is refused in any
    message, and so are annotations without a key that their type requires.
    """
    content = native.get("content")
    if native.get("role") != "assistant" or not isinstance(content, list):
        return native
    is_answer = isinstance(native.get("id"), str)
    parts = [
        _with_complete_annotations(part, required=is_answer) if _is_text(part) else part
        for part in content
    ]
    same = all(new is old for new, old in zip(parts, content, strict=True))
    return native if same else {**native, "content": parts}


def _with_complete_annotations(text: dict[str, Any], *, required: bool) -> dict[str, Any]:
    """Return a text without incomplete annotations; with an empty list if one is ``required``."""
    held = text.get("annotations")
    if held is None and ("annotations" in text or required):
        return {**text, "annotations": []}
    if not isinstance(held, list):
        return text
    complete = [one for one in held if is_complete(one, ANNOTATION_KEYS)]
    return text if len(complete) == len(held) else {**text, "annotations": complete}


def _is_text(part: Any) -> bool:  # noqa: ANN401 - callers may send any value
    return isinstance(part, dict) and part.get("type") == "output_text"


def needs_id(kind: object) -> bool:
    """Return whether items of this type cannot be sent without their id."""
    required, _ = ITEM_KEYS.get(kind, ((), ())) if isinstance(kind, str) else ((), ())
    return "id" in required and "id" not in _OPTIONAL_ANYWAY.get(str(kind), ())


def new_item_id(native: dict[str, Any], seed: str) -> str:
    """Return a valid id for the type of an item; the same seed gives the same id."""
    from hashlib import sha256  # noqa: PLC0415 - `import chatmend` stays fast

    kind = str(native.get("type", "message"))
    prefix = PREFIXES.get(kind) or _OTHER_PREFIXES.get(kind, "item")
    return f"{prefix}_{sha256(seed.encode('utf-8', 'surrogatepass')).hexdigest()[:40]}"
