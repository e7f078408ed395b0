"""What Anthropic refuses in a Messages body. Each fact carries its id in ``provider_rules.jsonl``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from .reading import blocks, merged, objects

if TYPE_CHECKING:
    from .request import Json, Request

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_NO_PREFILL = re.compile(r"claude-((opus|sonnet|haiku)-(4[-.]([6-9]|1\d)\b|[5-9]\b)|fable|mythos)")
_TAKES_SYSTEM_ROLE = re.compile(
    r"claude-((opus|sonnet|haiku)-(4[-.]([89]|1\d)\b|[5-9]\b)|fable|mythos)"
)
_MOST_CACHE_MARKERS = 4


@dataclass(frozen=True, slots=True)
class Body:
    """A Messages body; ``tools=None`` means that nobody told."""

    model: str
    messages: Json
    system: Json
    tools: Json


_Fact: TypeAlias = Callable[[Body], Iterator[str]]


def anthropic_wire(request: Request) -> list[str]:
    """Judge a native body."""
    return refusals(Body(request.model, request.messages, request.system, request.tools))


def refusals(body: Body) -> list[str]:
    """Every certain fact that a body breaks."""
    return [f"{rule}: {what}" for rule, fact in FACTS for what in fact(body)]


def _turns(body: Body) -> list[dict[str, Json]]:
    """Same-role runs merged, as the API reads them. A system message stands outside of the turns."""
    return merged(
        [message for message in objects(body.messages) if message.get("role") != "system"]
    )


def _all_blocks(body: Body, role: str | None = None) -> list[dict[str, Json]]:
    said = [message for message in objects(body.messages) if role in (None, message.get("role"))]
    return [block for message in said for block in blocks(message.get("content"))]


def _of_type(held: list[dict[str, Json]], *names: str) -> list[dict[str, Json]]:
    return [block for block in held if block.get("type") in names]


def _texts(held: list[dict[str, Json]]) -> list[str]:
    return [text for block in _of_type(held, "text") if isinstance(text := block.get("text"), str)]


def _no_messages(body: Body) -> Iterator[str]:
    if not objects(body.messages):
        yield "no message"


def _use_ids(body: Body) -> Iterator[str]:
    for use in _of_type(_all_blocks(body), "tool_use"):
        if not _ID.fullmatch(str(use.get("id"))):
            yield repr(use.get("id"))


def _result_ids(body: Body) -> Iterator[str]:
    for result in _of_type(_all_blocks(body), "tool_result"):
        if not _ID.fullmatch(str(result.get("tool_use_id"))):
            yield repr(result.get("tool_use_id"))


def _use_ids_twice(body: Body) -> Iterator[str]:
    counts = Counter(str(use.get("id")) for use in _of_type(_all_blocks(body), "tool_use"))
    yield from (f"{call_id!r} {count} times" for call_id, count in counts.items() if count > 1)


def _results_twice(body: Body) -> Iterator[str]:
    for turn in _turns(body):
        counts = Counter(
            str(result.get("tool_use_id")) for result in _of_type(turn["content"], "tool_result")
        )
        yield from (f"{call_id!r} {count} times" for call_id, count in counts.items() if count > 1)


def _results_not_first(body: Body) -> Iterator[str]:
    for turn in _turns(body):
        kinds = [block.get("type") == "tool_result" for block in turn["content"]]
        if turn["role"] == "user" and kinds != sorted(kinds, reverse=True):
            yield "a tool_result after another block of its turn"


def _use_input(body: Body) -> Iterator[str]:
    for use in _of_type(_all_blocks(body), "tool_use"):
        if not isinstance(use.get("input"), dict):
            yield f"input of {use.get('id')!r}"


def _declared_names(body: Body) -> Iterator[str]:
    for tool in objects(body.tools):
        name = tool.get(
            "name",
            tool.get("function", {}).get("name")
            if isinstance(tool.get("function"), dict)
            else None,
        )
        if isinstance(name, str) and not _TOOL_NAME.fullmatch(name):
            yield repr(name)


def _empty_text(body: Body) -> Iterator[str]:
    # A turn's content "" is the next fact's matter; an empty one inside of a run is accepted.
    listed = [
        block for message in objects(body.messages) for block in objects(message.get("content"))
    ]
    yield from ("an empty text block" for text in _texts(listed) if not text)


def _blank_text(body: Body) -> Iterator[str]:
    yield from (
        "a blank text block"
        for text in _texts(_all_blocks(body, "user"))
        if text and not text.strip()
    )


def _blank_system(body: Body) -> Iterator[str]:
    if isinstance(body.system, str) and not body.system.strip():
        yield "a blank system prompt"
    if isinstance(body.system, list):
        yield from (
            "a blank system block" for text in _texts(objects(body.system)) if not text.strip()
        )


def _empty_turn(body: Body) -> Iterator[str]:
    turns = _turns(body)
    for index, turn in enumerate(turns):
        is_final_assistant = turn["role"] == "assistant" and index == len(turns) - 1
        held = [
            block for block in turn["content"] if block.get("type") != "text" or block.get("text")
        ]
        if not held and not is_final_assistant:
            yield f"turn {index} ({turn['role']}) is empty"


def _null_content(body: Body) -> Iterator[str]:
    for index, message in enumerate(objects(body.messages)):
        if message.get("content") is None:
            yield f"messages[{index}]"


def _result_content(body: Body) -> Iterator[str]:
    for result in _of_type(_all_blocks(body), "tool_result"):
        if result.get("content") == []:
            yield f"content of {result.get('tool_use_id')!r} is []"


def _result_empty_text(body: Body) -> Iterator[str]:
    for result in _of_type(_all_blocks(body), "tool_result"):
        if "" in _texts(objects(result.get("content"))):
            yield f"an empty text block in the result of {result.get('tool_use_id')!r}"


def _failed_result(body: Body) -> Iterator[str]:
    for result in _of_type(_all_blocks(body), "tool_result"):
        kinds = {block.get("type") for block in objects(result.get("content"))}
        if result.get("is_error") and kinds - {"text"}:
            yield f"the failed result of {result.get('tool_use_id')!r} is not only text"


def _failed_result_empty(body: Body) -> Iterator[str]:
    for result in _of_type(_all_blocks(body), "tool_result"):
        content = result.get("content")
        held = content if isinstance(content, str) else "".join(_texts(objects(content)))
        others = [block for block in objects(content) if block.get("type") != "text"]
        if result.get("is_error") and not held.strip() and not others:
            yield f"the failed result of {result.get('tool_use_id')!r} is empty"


def _cache_markers(body: Body) -> list[dict[str, Json]]:
    held = objects(body.system) + _all_blocks(body) + objects(body.tools)
    held += [inner for result in _all_blocks(body) for inner in objects(result.get("content"))]
    return [block for block in held if block.get("cache_control")]


def _many_markers(body: Body) -> Iterator[str]:
    if len(_cache_markers(body)) > _MOST_CACHE_MARKERS:
        yield f"{len(_cache_markers(body))} blocks with cache_control"


def _marker_on_empty(body: Body) -> Iterator[str]:
    yield from ("cache_control on empty text" for text in _texts(_cache_markers(body)) if not text)


def _marker_on_thinking(body: Body) -> Iterator[str]:
    marked = _of_type(_cache_markers(body), "thinking", "redacted_thinking")
    yield from ("cache_control on a thinking block" for _ in marked)


def _ends_with_thinking(body: Body) -> Iterator[str]:
    for turn in _turns(body):
        if (
            turn["role"] == "assistant"
            and turn["content"]
            and _of_type(turn["content"][-1:], "thinking")
        ):
            yield "the last block of an assistant turn is thinking"


def _prefill(body: Body) -> Iterator[str]:
    turns = _turns(body)
    if not turns or turns[-1]["role"] != "assistant" or not _NO_PREFILL.search(body.model):
        return
    if not _of_type(
        turns[-1]["content"], "server_tool_use"
    ):  # a paused turn is resumed by sending it back
        yield "the last turn is the assistant's"


def _tools_missing(body: Body) -> Iterator[str]:
    if body.tools == [] and _of_type(_all_blocks(body), "tool_use", "tool_result"):
        yield "tool blocks, but no tools"


def _system_first(body: Body) -> Iterator[str]:
    said = objects(body.messages)
    if said and said[0].get("role") == "system" and said[0].get("content"):
        yield "messages[0] is a system message"


def _system_unknown(body: Body) -> Iterator[str]:
    if not _TAKES_SYSTEM_ROLE.search(body.model):
        yield from (
            "a system message"
            for message in objects(body.messages)
            if message.get("role") == "system"
        )


def _system_misplaced(body: Body) -> Iterator[str]:
    roles = [message.get("role") for message in objects(body.messages)]
    for index, role in enumerate(roles[:-1]):
        if role == "system" and roles[index + 1] == "user":
            yield f"messages[{index}] is a system message before a user message"


def _server_pairs(body: Body) -> tuple[list[Json], list[Json]]:
    """The ids of calls of hosted tools without a result, and of results without a call before them."""
    lone: list[Json] = []
    orphans: list[Json] = []
    waiting: list[Json] = []
    for turn in _turns(body):
        kinds = [str(block.get("type")) for block in turn["content"]]
        for kind, block in zip(kinds, turn["content"], strict=True):
            if kind in ("server_tool_use", "mcp_tool_use"):
                waiting.append(block.get("id"))
            elif kind.endswith("_tool_result") and block.get("tool_use_id") not in waiting:
                orphans.append(block.get("tool_use_id"))
            elif kind.endswith("_tool_result"):
                waiting.remove(block.get("tool_use_id"))
        if turn["role"] == "user" and set(kinds) != {"tool_result"}:
            lone, waiting = [*lone, *waiting], []
    return lone, orphans


def _server_use_unpaired(body: Body) -> Iterator[str]:
    lone, orphans = _server_pairs(body)
    yield from (f"call {call_id!r} without its result" for call_id in lone)
    yield from (f"result of {call_id!r} without its call" for call_id in orphans)


FACTS: tuple[tuple[str, _Fact], ...] = (
    ("anthropic-messages-empty", _no_messages),
    ("anthropic-tool-use-id-pattern", _use_ids),
    ("anthropic-tool-result-id-pattern", _result_ids),
    ("anthropic-tool-use-duplicate-id", _use_ids_twice),
    ("anthropic-tool-result-duplicate", _results_twice),
    ("anthropic-tool-result-first-in-content", _results_not_first),
    ("anthropic-tool-use-input-object", _use_input),
    ("anthropic-tool-name-pattern", _declared_names),
    ("anthropic-text-empty", _empty_text),
    # Has counter-evidence for assistant turns only; those are let be.
    ("anthropic-text-whitespace", _blank_text),
    ("anthropic-system-whitespace", _blank_system),
    ("anthropic-user-content-empty-2026", _empty_turn),
    ("anthropic-content-null", _null_content),
    ("anthropic-tool-result-content-empty-list", _result_content),
    ("anthropic-tool-result-empty-text", _result_empty_text),
    # Reported since for a tool_reference (caozhiyuan/copilot-api#196).
    ("anthropic-tool-result-error-text-only", _failed_result),
    # Reported since (bytedance/trae-agent#230, anthropics/claude-agent-sdk-python#248).
    ("anthropic-tool-result-error-empty", _failed_result_empty),
    ("anthropic-cache-control-max4", _many_markers),
    ("anthropic-cache-control-empty-text", _marker_on_empty),
    ("anthropic-cache-control-thinking", _marker_on_thinking),
    ("anthropic-thinking-final-block", _ends_with_thinking),
    # Has counter-evidence for 4.5 and older only; the pattern names the models that refuse.
    ("anthropic-prefill-unsupported", _prefill),
    ("anthropic-tools-required-with-tool-blocks", _tools_missing),
    ("anthropic-role-system-first", _system_first),
    ("anthropic-role-system-unsupported-model", _system_unknown),
    ("anthropic-role-system-placement", _system_misplaced),
    ("anthropic-server-tool-use-unpaired", _server_use_unpaired),
)
