"""Parts of Gemini's contents: which key holds the data of one, and what it is by that."""

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
"""The keys of a part that hold its data, and what they mean."""
SHAPES = ("inline",)
"""How an image stands in a part: see ``pictures.Picture``."""
CALL_KEYS = frozenset({"id", "name", "args", "partialArgs", "partial_args", "willContinue", "will_continue"})
RESPONSE_KEYS = frozenset({"id", "name", "response", "parts", "scheduling", "willContinue", "will_continue"})
"""The fields of FunctionCall and FunctionResponse in google-genai 2; others are unknown names."""
_OBJECTS = frozenset(DATA.values()) - {"text"}


def data_key(native: dict[str, Any]) -> str | None:
    """Under which key a part has its data; None where it has none, or several."""
    if len(native) == 1 and (only := next(iter(native))).__class__ is str:
        return only if only in DATA else None
    keys = [key for key in native if key.__class__ is str and key in DATA]
    return keys[0] if len(keys) == 1 else None


def kind_of(native: object) -> str | None:
    """What a part is: the camelCase name of its data; ``thought`` without any; None for what the API cannot read."""
    if not isinstance(native, dict):
        return None
    if (key := data_key(native)) is None:
        signed = native.get("thoughtSignature") or native.get("thought_signature")
        bare = not any(isinstance(name, str) and name in DATA for name in native)
        return "thought" if bare and signed else None
    kind, value = DATA[key], native[key]
    fits = isinstance(value, dict) if kind in _OBJECTS else isinstance(value, str)
    return kind if fits else None
