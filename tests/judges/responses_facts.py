"""What OpenAI's Responses API refuses in ``input``. Each fact carries its id in ``provider_rules.jsonl``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from .reading import objects
from .request import Json
from .responses_servers import SERVERS

if TYPE_CHECKING:
    from .request import Request

_Items: TypeAlias = list[dict[str, Json]]
_Fact: TypeAlias = Callable[[_Items], Iterator[str]]
_CALLS = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "computer_call": "computer_call_output",
    "local_shell_call": "local_shell_call_output",
    "shell_call": "shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
}
_PREFIXES = {
    "function_call": "fc",
    "custom_tool_call": "ctc",
    "reasoning": "rs",
    "message": "msg",
    "web_search_call": "ws",
}
_HOSTED = (
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "image_generation_call",
    "mcp_call",
    "mcp_approval_request",
    "tool_search_call",
    "program",
    "compaction",
)
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")


def responses_facts(request: Request) -> list[str]:
    """Every certain fact that the items break."""
    items = objects(request.messages)
    facts = FACTS if request.provider in SERVERS else FACTS + HOSTED_FACTS
    facts += OPENAI_FACTS if request.provider in ("openai", "azure") else ()
    facts += XAI_FACTS if request.provider == "xai" else ()
    facts += DEEPSEEK_FACTS if request.provider == "deepseek" else ()
    return [f"{rule}: {what}" for rule, fact in facts for what in fact(items)]


def _kind(item: dict[str, Json]) -> Json:
    return item.get("type", "message")


def _empty(items: _Items) -> Iterator[str]:
    if not items:
        yield "no item"


def _unanswered(items: _Items) -> Iterator[str]:
    """Calls that no output of their type behind them answers, by occurrence."""
    yield from (fault for fault in _unpaired(items) if fault.startswith("call "))


def _orphans(items: _Items) -> Iterator[str]:
    """Outputs with no call of their type before them."""
    yield from (fault for fault in _unpaired(items) if not fault.startswith("call "))


def _unpaired(items: _Items) -> Iterator[str]:
    waiting: list[tuple[str, Json]] = []
    for item in items:
        kind = _kind(item)
        if kind in _CALLS:
            waiting.append((_CALLS[kind], item.get("call_id")))
        elif kind in _CALLS.values():
            found = [pair for pair in waiting if _answers(item, pair)]
            if found:
                waiting.remove(found[0])
            else:
                yield f"{kind} {item.get('call_id')!r} without its call"
    yield from (f"call {call_id!r} without {kind}" for kind, call_id in waiting)


def _answers(item: dict[str, Json], waiting: tuple[str, Json]) -> bool:
    """Whether an output is that of a waiting call; Codex answers a local shell like a function."""
    kinds = {waiting[0]}
    if waiting[0] == "local_shell_call_output":
        kinds.add("function_call_output")
    return _kind(item) in kinds and item.get("call_id") == waiting[1]


def _call_ids(items: _Items) -> Iterator[str]:
    for item in items:
        call_id = item.get("call_id", "fine")
        if call_id is None and str(_kind(item)).startswith("tool_search"):
            continue  # null if the server searched
        if not isinstance(call_id, str) or not 1 <= len(call_id) <= 64:
            yield repr(call_id)[:90]


def _names(items: _Items) -> Iterator[str]:
    for item in items:
        if _kind(item) in ("function_call", "custom_tool_call") and not _NAME.fullmatch(
            str(item.get("name"))
        ):
            yield repr(item.get("name"))[:90]


def _parts(items: _Items, roles: tuple[str, ...], known: tuple[str, ...]) -> Iterator[str]:
    for item in items:
        if (
            _kind(item) == "message"
            and item.get("role") in roles
            and isinstance(item.get("content"), list)
        ):
            kinds = [
                part.get("type") if isinstance(part, dict) else part for part in item["content"]
            ]
            yield from (repr(kind)[:90] for kind in kinds if kind not in known)


def _user_parts(items: _Items) -> Iterator[str]:
    known = ("input_text", "input_image", "input_file", "scoped_content", "input_audio")
    yield from _parts(items, ("user", "system", "developer"), known)


def _assistant_parts(items: _Items) -> Iterator[str]:
    yield from _parts(items, ("assistant",), ("output_text", "refusal"))


def _begins(*kinds: str) -> _Fact:
    def fact(items: _Items) -> Iterator[str]:
        for item in items:
            kind = _kind(item)
            if "id" in item and kind in kinds and not str(item["id"]).startswith(_PREFIXES[kind]):
                yield f"{kind} {item['id']!r}"[:90]

    return fact


def _id_lengths(items: _Items) -> Iterator[str]:
    yield from (
        repr(item["id"])[:90] for item in items if "id" in item and len(str(item["id"])) > 64
    )


def _duplicates(items: _Items) -> Iterator[str]:
    ids = [
        item["id"]
        for item in items
        if isinstance(item.get("id"), str) and _kind(item) != "item_reference"
    ]
    yield from (found for at, found in enumerate(ids) if found in ids[:at])


def _statuses(items: _Items) -> Iterator[str]:
    yield from (str(_kind(item)) for item in items if "status" in item and item["status"] is None)


def _reasoning_texts(items: _Items) -> Iterator[str]:
    yield from (
        repr(item)[:90] for item in items if _kind(item) == "reasoning" and item.get("content")
    )


def _followed(items: _Items) -> Iterator[str]:
    """Reasoning with an id is followed by what it led to: more reasoning, words, or a call."""
    made = {*_CALLS, "message", "reasoning", *_HOSTED}
    for at, item in enumerate(items):
        if _kind(item) == "reasoning" and "id" in item:
            later = (item for item in items[at + 1 :] if _kind(item) != "mcp_list_tools")
            after = next(later, {"role": "nobody"})
            if _kind(after) not in made or after.get("role", "assistant") != "assistant":
                yield repr(item["id"])


def _unknown_keys(items: _Items) -> Iterator[str]:
    bad = ("tool_calls", "tool_call_id", "cache_control", "thinking_blocks", "reasoning_content")
    yield from (f"input[{at}].{key}" for at, item in enumerate(items) for key in bad if key in item)


def _reasoning_empty(items: _Items) -> Iterator[str]:
    for item in items:
        if (
            _kind(item) == "reasoning"
            and not item.get("summary")
            and not item.get("encrypted_content")
        ):
            yield "reasoning"


def _interleaved(items: _Items) -> Iterator[str]:
    calls_open = False
    for item in items:
        calls_open = calls_open and not str(_kind(item)).endswith("_output")
        if calls_open and _kind(item) == "message" and item.get("role") == "assistant":
            yield "an assistant's message between a call and its output"
        calls_open = calls_open or _kind(item) in _CALLS


FACTS: tuple[tuple[str, _Fact], ...] = (
    ("openai-responses-input-empty", _empty),
    ("openai-responses-function-call-no-output", _unanswered),
    ("openai-responses-function-output-no-call", _orphans),
    ("openai-responses-call-id-64", _call_ids),
    ("openai-responses-tool-name-128", _names),
)
"""What every server refuses."""
HOSTED_FACTS: tuple[tuple[str, _Fact], ...] = (
    ("openai-responses-content-user-output-text", _user_parts),
    ("openai-responses-content-assistant-input-text", _assistant_parts),
    ("openai-responses-item-id-prefix-fc", _begins("function_call")),
    ("openai-responses-item-id-prefix-ctc", _begins("custom_tool_call")),
    ("openai-responses-item-id-prefix-other", _begins("reasoning", "message", "web_search_call")),
    ("openai-responses-item-id-64", _id_lengths),
    ("openai-responses-duplicate-item", _duplicates),
    ("openai-responses-reasoning-status-null", _statuses),
    # Uncertain for keys that nobody knows; of these five LiteLLM's issues say so.
    ("openai-responses-item-unknown-member", _unknown_keys),
)
OPENAI_FACTS: tuple[tuple[str, _Fact], ...] = (
    ("openai-responses-reasoning-without-following", _followed),
    ("openai-responses-reasoning-content", _reasoning_texts),
)
XAI_FACTS: tuple[tuple[str, _Fact], ...] = (("xai-reasoning-item-empty", _reasoning_empty),)
DEEPSEEK_FACTS: tuple[tuple[str, _Fact], ...] = (("deepseek-responses-interleaved", _interleaved),)
