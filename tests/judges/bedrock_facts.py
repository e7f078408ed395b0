"""What Bedrock refuses on Converse beyond its own service model.

Each fact carries its id in ``provider_rules.jsonl``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TypeAlias

from .reading import merged, objects
from .request import Json

_Fact: TypeAlias = Callable[[list[dict[str, Json]], str], Iterator[str]]
_TEXT_RESULTS = re.compile(
    r"(openai|xai|google|mistral|writer|qwen|moonshot|moonshotai|zai|minimax|nvidia)\."
)
"""Makers whose models refuse an image in a tool result (anomalyco/opencode#49443, live)."""


def refusals(messages: Json, model: str) -> list[str]:
    """Every certain fact that a Converse body breaks."""
    turns = objects(messages)
    return [f"{rule}: {what}" for rule, fact in FACTS for what in fact(turns, model)]


def as_blocks(messages: Json) -> list[dict[str, Json]]:
    """The tool blocks of a Converse body in Anthropic's shape, for the pairing judge."""
    return [
        {
            "role": message.get("role"),
            "content": [_as_block(b) for b in objects(message.get("content")) if _says(b)],
        }
        for message in objects(messages)
    ]


def _says(block: dict[str, Json]) -> bool:
    """Whether a block is content; a cache point between two results is not."""
    return "cachePoint" not in block


def _as_block(block: dict[str, Json]) -> dict[str, Json]:
    if isinstance(use := block.get("toolUse"), dict):
        return {"type": "tool_use", "id": use.get("toolUseId")}
    if isinstance(result := block.get("toolResult"), dict):
        return {"type": "tool_result", "tool_use_id": result.get("toolUseId")}
    return {"type": "text"}


def _content_empty(turns: list[dict[str, Json]], _: str) -> Iterator[str]:
    yield from (f"messages[{i}]" for i, turn in enumerate(turns) if not turn.get("content"))


def _use_input_object(turns: list[dict[str, Json]], _: str) -> Iterator[str]:
    for use in _of_kind(turns, "toolUse"):
        if not isinstance(use.get("input"), dict):
            yield f"input of {use.get('toolUseId')!r}"


def _duplicate(kind: str) -> _Fact:
    def fact(turns: list[dict[str, Json]], _: str) -> Iterator[str]:
        for turn in merged(turns):
            counts = Counter(str(block.get("toolUseId")) for block in _of_kind([turn], kind))
            yield from (
                f"{call_id!r} {n} times in one turn" for call_id, n in counts.items() if n > 1
            )

    return fact


def _media_role(turns: list[dict[str, Json]], _: str) -> Iterator[str]:
    for index, turn in enumerate(turns):
        held = {key for block in objects(turn.get("content")) for key in block}
        if turn.get("role") != "user" and held & {"image", "document", "video"}:
            yield f"messages[{index}]"


def _result_image(turns: list[dict[str, Json]], model: str) -> Iterator[str]:
    if not _TEXT_RESULTS.search(model):
        return
    for result in _of_kind(turns, "toolResult"):
        if any("image" in part for part in objects(result.get("content"))):
            yield f"an image in the result of {result.get('toolUseId')!r}"


def _document_alone(turns: list[dict[str, Json]], _: str) -> Iterator[str]:
    for turn in merged(turns):
        held = {key for block in turn["content"] for key in block}
        if "document" in held and "text" not in held:
            yield "a document without a text in the same message"


def _unsigned_reasoning(turns: list[dict[str, Json]], model: str) -> Iterator[str]:
    if "anthropic" not in model:
        return
    for reasoning in _of_kind(turns, "reasoningContent"):
        text = reasoning.get("reasoningText")
        if isinstance(text, dict) and not text.get("signature"):
            yield "reasoningText without a signature"


def _foreign_signature(turns: list[dict[str, Json]], model: str) -> Iterator[str]:
    if "anthropic" in model:
        return
    for reasoning in _of_kind(turns, "reasoningContent"):
        text = reasoning.get("reasoningText")
        if isinstance(text, dict) and text.get("signature"):
            yield "reasoningText with a signature"


def _of_kind(turns: list[dict[str, Json]], kind: str) -> list[dict[str, Json]]:
    held = [block.get(kind) for turn in turns for block in objects(turn.get("content"))]
    return [block for block in held if isinstance(block, dict)]


FACTS: tuple[tuple[str, _Fact], ...] = (
    ("bedrock-content-empty", _content_empty),
    ("bedrock-tool-input-object", _use_input_object),
    ("bedrock-tool-use-duplicate", _duplicate("toolUse")),
    ("bedrock-tool-result-duplicate", _duplicate("toolResult")),
    ("bedrock-image-role", _media_role),
    ("bedrock-tool-result-media", _result_image),
    ("bedrock-document-needs-text", _document_alone),
    ("bedrock-reasoning-signature", _foreign_signature),
    ("bedrock-reasoning-unsigned", _unsigned_reasoning),
)
