"""Replaces the content of a conversation by its length, for reports that anybody may read."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from chatmend.dialects.formats import ENTRIES, KEYS, PARTS
from chatmend.report import line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chatmend.changes import Change

_KEPT = frozenset(
    {"role", "type", "detail", "media_type", "mimeType", "mime_type", "format", "status"}
    | {"stop_reason", "finish_reason", "object", "ttl", "model", "modelId", "effort"}
)
"""Keys whose values are words of a wire format."""
_PLAIN = re.compile(r"[A-Za-z0-9_./:+-]{1,80}")
_IDS = frozenset({"id", "tool_call_id", "tool_use_id", "call_id", "toolUseId"})
_CALLER_OBJECTS = frozenset(
    {"arguments", "input", "args", "parameters", "input_schema", "metadata", "properties"}
    | {"json", "response", "json_schema", "schema", "parametersJsonSchema"}
)
"""Keys whose values have keys that the caller chose, unless they hold a list of messages."""
_NAMES = """
    additional_kwargs additionalModelRequestFields annotations anthropic_beta anthropic_version
    args arguments audio author bytes cache_control cachePoint call_id candidates choices content
    contents context_management conversation data description detail disable_parallel_tool_use
    effort encrypted_content error example extra_content file_data file_id file_url fileData
    filename finish_reason format frequency_penalty function function_call functionCall
    functionDeclarations functionResponse functions generation_config generationConfig id image
    image_url inferenceConfig inline_data inlineData input input_audio input_schema inputSchema
    instructions invalid_tool_calls is_error items json kwargs lc logprobs max_completion_tokens
    max_output_tokens max_tokens maxOutputTokens maxTokens media_type messages metadata mime_type
    mimeType model modelId n name object options output parallel_tool_calls parameters params
    parts prefix presence_penalty previous_response_id prompt properties provider_specific_fields
    reasoning reasoning_content reasoning_details redacted_thinking refusal request required
    response response_format response_metadata role safetySettings schema seed signature source
    status stop stop_reason stop_sequences store stream stream_options strict summary system
    system_instruction systemInstruction temperature text thinking thinking_blocks thought
    thought_signature thoughtSignature title tokens tool tool_call_id tool_calls tool_choice
    tool_use_id toolConfig toolResult tools toolSpec toolUse toolUseId top_k top_p topK topP
    truncation ttl type url usage usage_metadata user video
"""
_KNOWN_KEYS = frozenset(_NAMES.split()).union(*KEYS.values())
"""Keys of wire formats and of the dumps of LangChain. Other keys come from the caller."""
_ROLES = "system developer user assistant tool function model human ai bot"
_TYPES = "object string number integer boolean array base64 url ephemeral enabled disabled adaptive"
_KNOWN_WORDS = frozenset((*_ROLES.split(), *_TYPES.split())).union(
    *PARTS.values(), *ENTRIES.values()
)
"""Values of ``role`` and ``type`` that wire formats define."""
_DEEPEST = 60


@dataclass(slots=True)
class _Redaction:
    ids: dict[str, int] = field(default_factory=dict)

    def of(self, value: object, key: str = "", depth: int = 0) -> object:
        if isinstance(value, str):
            return self._text(value, key)
        if depth > _DEEPEST:
            return "…"
        if isinstance(value, list):
            return [self.of(item, key, depth + 1) for item in value]
        if not isinstance(value, dict):
            return value if value is None or isinstance(value, bool) else self._number(value, key)
        if key in _CALLER_OBJECTS:
            return f"<object, {len(json.dumps(value, default=str))} characters>"
        return {
            name if name in _KNOWN_KEYS else f"<key, {len(name)} characters>": self.of(
                item, "" if name == "input" and _is_list_of_items(item) else name, depth + 1
            )
            for name, item in value.items()
        }

    def _text(self, text: str, key: str) -> str:
        is_word = text in _KNOWN_WORDS if key in ("role", "type") else key in _KEPT
        if is_word and _PLAIN.fullmatch(text):
            return text
        if key in _IDS and text:
            number = self.ids.setdefault(text, len(self.ids) + 1)
            return f"<id {number}, {len(text)} characters>"
        if not text.strip():
            return text
        return f"<{len(text)} characters>"

    @staticmethod
    def _number(value: object, key: str) -> object:
        return value if key not in _CALLER_OBJECTS else "<number>"


def _is_list_of_items(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict) for item in value)


def redacted(conversation: object) -> Any:  # noqa: ANN401 - JSON of the same shape
    """Return a conversation with texts, arguments and unknown words replaced by their lengths."""
    return _Redaction().of(conversation)


def redacted_report(
    conversation: object, target: str, changes: Iterable[Change], pages: Iterable[str]
) -> str:
    """Return a report for an issue in Markdown, without content of the conversation.

    Args:
        conversation: the messages or the request body.
        target: the name of the target.
        changes: what the repair changes.
        pages: the rules or topics that the error text belongs to.
    """
    listed = [f"- {line(change)}" for change in changes] or ["- nothing to repair"]
    told = ", ".join(pages)
    shape = json.dumps(redacted(conversation), indent=1, ensure_ascii=False)
    return "\n".join(
        [
            f"chatmend {version('chatmend')}, target `{target}`",
            *([f"The error text belongs to: {told}"] if told else []),
            "",
            *listed,
            "",
            "The request, with texts replaced by their lengths:",
            "",
            "```json",
            shape,
            "```",
            "",
        ]
    )
