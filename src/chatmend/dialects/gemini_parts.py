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
    """Return the key that holds the data of a part; None if it has no such key or several."""
    if len(native) == 1 and (only := next(iter(native))).__class__ is str:
        return only if only in DATA else None
    keys = [key for key in native if key.__class__ is str and key in DATA]
    return keys[0] if len(keys) == 1 else None


def kind_of(native: object) -> str | None:
    """Return the kind of a part.

    The kind is the camelCase name of its data key, or ``thought`` for a signature without data.
    None if the API cannot read the part.
    """
    if not isinstance(native, dict):
        return None
    if (key := data_key(native)) is None:
        signed = native.get("thoughtSignature") or native.get("thought_signature")
        bare = not any(isinstance(name, str) and name in DATA for name in native)
        return "thought" if bare and signed else None
    kind, value = DATA[key], native[key]
    fits = isinstance(value, dict) if kind in _OBJECTS else isinstance(value, str)
    return kind if fits else None
