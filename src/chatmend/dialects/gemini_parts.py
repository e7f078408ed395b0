"""Parts of Gemini's contents: finds the key that holds the data of a part and its kind."""

from __future__ import annotations

from typing import Any

DATA = {
    "text": "text",
    "inlineData": "inlineData",
    "inline_data": "inlineData",
    "fileData": "fileData",
    "file_data": "fileData",
    "functionCall": "functionCall",
    "function_call": "functionCall",
    "functionResponse": "functionResponse",
    "function_response": "functionResponse",
    "executableCode": "executableCode",
    "executable_code": "executableCode",
    "codeExecutionResult": "codeExecutionResult",
    "code_execution_result": "codeExecutionResult",
    "toolCall": "toolCall",
    "tool_call": "toolCall",
    "toolResponse": "toolResponse",
    "tool_response": "toolResponse",
}
"""The keys of a part that hold its data, each with its camelCase name."""
SIGNATURE_KEYS = ("thoughtSignature", "thought_signature")
"""Keys of the signature of a part; parts of all types may have one."""
SHAPES = ("inline",)
"""Shapes of images in parts; see ``pictures.Picture.shape``."""
CALL_KEYS = frozenset(
    {"id", "name", "args", "partialArgs", "partial_args", "willContinue", "will_continue"}
)
RESPONSE_KEYS = frozenset(
    {"id", "name", "response", "parts", "scheduling", "willContinue", "will_continue"}
)
"""The fields of FunctionCall and FunctionResponse in google-genai 2; the API refuses others."""
_OBJECTS = frozenset(DATA.values()) - {"text"}


def data_key(native: dict[str, Any]) -> str | None:
    """Return the key that holds the data of a part; None if it has no such key or several.

    A key with null is not set, for the API as for google-genai, whose dumps have every key.
    """
    if len(native) == 1 and (only := next(iter(native))).__class__ is str:
        return only if only in DATA and native[only] is not None else None
    keys = data_keys(native)
    return keys[0] if len(keys) == 1 else None


def data_keys(native: dict[Any, Any]) -> list[str]:
    """Return the keys of a part that hold data."""
    return [
        key
        for key, value in native.items()
        if key.__class__ is str and key in DATA and value is not None
    ]


def signature_of(native: dict[Any, Any]) -> Any:  # noqa: ANN401 - a part may hold any value
    """Return the signature of a part; None if it has none."""
    return next((native[key] for key in SIGNATURE_KEYS if native.get(key) is not None), None)


def kind_of(native: object) -> str | None:
    """Return the kind of a part.

    The kind is the camelCase name of its data key, or ``thought`` for a signature without data.
    None if the API cannot read the part.
    """
    if not isinstance(native, dict):
        return None
    if (key := data_key(native)) is None:
        return "thought" if signature_of(native) and not data_keys(native) else None
    kind, value = DATA[key], native[key]
    fits = isinstance(value, dict) if kind in _OBJECTS else isinstance(value, str)
    return kind if fits else None
