"""Judges: mistral_common's request validators, the ones that Mistral serves with."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from .openai_types import without_images
from .reading import objects

if TYPE_CHECKING:
    from mistral_common.protocol.instruct.validator import MistralRequestValidator

    from .request import Json, Judge, Request


@cache
def _validator(version: str) -> MistralRequestValidator[Any, Any, Any, Any]:
    from mistral_common.protocol.instruct.validator import ValidationMode, get_validator
    from mistral_common.tokens.tokenizers.base import TokenizerVersion

    return get_validator(TokenizerVersion(version), ValidationMode.serving)


def _validates(request: Request, version: str) -> list[str]:
    from mistral_common.exceptions import MistralCommonException
    from mistral_common.protocol.instruct.request import ChatCompletionRequest

    messages = objects(request.messages)
    if messages != request.messages:
        return ["a message is not an object"]
    try:
        body = ChatCompletionRequest.from_openai(
            [_as_openai(message, version) for message in messages],
            objects(request.tools) or None,
            # from_openai forgets `prefix`, which Mistral's own API takes to mean this.
            continue_final_message=bool(messages) and messages[-1].get("prefix") is True,
            model="judged",
        )
        _validator(version).validate_request(body)
    except (MistralCommonException, ValueError, TypeError, KeyError, AttributeError) as error:
        return [f"mistral_common {version}: {type(error).__name__}: {error}"[:300]]
    return []


def _as_openai(message: dict[str, Json], version: str) -> dict[str, Json]:
    """Tell the parts that Mistral's own API takes, and mistral_common's OpenAI door does not, in a way it does."""
    if version == "v7":
        # from_openai makes thinking chunks of these, which v7 has not; whether a server refuses the keys is uncertain.
        message = {
            key: item
            for key, item in message.items()
            if key not in ("reasoning", "reasoning_content")
        }
    content = message.get("content")
    if not isinstance(content, list):
        return dict(message)
    if message.get("role") == "tool":
        # Hosted models take images in results (mistral-accepts-image-in-tool), mistral_common from v15 on.
        content = without_images(content)
    return {
        **message,
        "content": [told for part in content if (told := _part_as_openai(part)) is not None],
    }


def _part_as_openai(part: Json) -> Json:
    if not isinstance(part, dict):
        return part
    if part.get("type") in ("document_url", "file", "resource", "resource_link"):
        return None
    if part.get("type") == "thinking" and isinstance(part.get("thinking"), list):
        return {
            **part,
            "thinking": "".join(str(inner.get("text", "")) for inner in objects(part["thinking"])),
        }
    return part


def validates_as(version: str) -> Judge:
    """The validator of one tokenizer version: ``v7`` and ``v11`` want ids of nine characters, ``v13`` any id."""

    def mistral_request(request: Request) -> list[str]:
        return _validates(request, version)

    mistral_request.__doc__ = f"mistral_common's validator {version} in serving mode."
    return mistral_request
