"""What Gemini refuses in ``contents``. Each fact carries its id in ``provider_rules.jsonl``.

LiteLLM writes some keys in snake_case and some in camelCase; Google reads both, so do these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TypeAlias

from .reading import merged, objects
from .request import Json

_Turns: TypeAlias = list[dict[str, Json]]
_Fact: TypeAlias = Callable[[_Turns], Iterator[str]]
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
_DATA = frozenset(
    [
        "text",
        "inlineData",
        "fileData",
        "functionCall",
        "functionResponse",
        "executableCode",
        "codeExecutionResult",
        "toolCall",
        "toolResponse",
    ]
)


def refusals(contents: Json, target: str) -> list[str]:
    """Every certain fact that ``contents`` break."""
    turns = _read(contents)
    facts = FACTS + (GEMINI_3_FACTS if "gemini-3" in target else ())
    facts += VERTEX_FACTS if target.startswith("vertex_ai/") else ()
    return [f"{rule}: {what}" for rule, fact in facts for what in fact(turns)]


def _read(contents: Json) -> _Turns:
    """Turns in camelCase without null fields, with ``user`` for the legacy role ``function``."""
    return [
        {
            "role": "user" if turn.get("role", "user") == "function" else turn.get("role", "user"),
            "parts": [*map(_read_part, _parts(turn))],
        }
        for turn in objects(contents)
    ]


def _read_part(part: dict[str, Json]) -> dict[str, Json]:
    """A field with null is not set (protobuf's JSON mapping, ProtoJSON)."""
    return {_camel(key): item for key, item in part.items() if item is not None}


def _parts(turn: dict[str, Json]) -> list[dict[str, Json]]:
    """The API reads a single object for a list of one."""
    held = turn.get("parts")
    return [held] if isinstance(held, dict) else objects(held)


def _camel(key: str) -> str:
    head, *rest = key.split("_")
    return head + "".join(word.title() for word in rest)


def _parts_empty(turns: _Turns) -> Iterator[str]:
    yield from (f"contents[{index}]" for index, turn in enumerate(turns) if not turn["parts"])


def _text_empty(turns: _Turns) -> Iterator[str]:
    """Contents of empty texts only; Gemini itself sends empty ones that hold its signature."""
    for index, turn in enumerate(turns):
        empty = [part for part in turn["parts"] if part.get("text") == ""]
        signed = any({"thought", "thoughtSignature"} & part.keys() for part in empty)
        if empty == turn["parts"] and not signed:
            yield f"contents[{index}]"


def _part_without_data(turns: _Turns) -> Iterator[str]:
    for index, turn in enumerate(turns):
        # A part that holds nothing but a signature is recorded as accepted.
        bad = [
            part
            for part in turn["parts"]
            if len(_DATA & part.keys()) != 1 and "thoughtSignature" not in part
        ]
        yield from (f"contents[{index}] holds {sorted(part)}" for part in bad)


def _names(turns: _Turns) -> Iterator[str]:
    for call in _held(turns, "functionCall"):
        if not _NAME.fullmatch(str(call.get("name"))):
            yield repr(call.get("name"))


def _response_name_empty(turns: _Turns) -> Iterator[str]:
    yield from (repr(held) for held in _held(turns, "functionResponse") if not held.get("name"))


def _response_object(turns: _Turns) -> Iterator[str]:
    for held in _held(turns, "functionResponse"):
        if not isinstance(held.get("response"), dict):
            yield repr(held.get("response"))


def _args_object(turns: _Turns) -> Iterator[str]:
    for held in _held(turns, "functionCall"):
        if not isinstance(held.get("args"), dict | None):
            yield repr(held.get("args"))


def _response_turn(turns: _Turns) -> Iterator[str]:
    blank: dict[str, Json] = {"parts": []}
    for before, turn in pairwise([blank, *merged(turns, "parts")]):
        if _held([turn], "functionResponse") and not _held([before], "functionCall"):
            yield "a response without a call in the turn before"


def _response_count(turns: _Turns) -> Iterator[str]:
    for before, turn in pairwise(merged(turns, "parts")):
        made, given = len(_held([before], "functionCall")), len(_held([turn], "functionResponse"))
        # A call that plain user text answers is accepted (gemini-accepts-split-function-responses).
        if given and made and made != given:
            yield f"{made} calls, {given} responses"


def _unsigned_call(turns: _Turns) -> Iterator[str]:
    current: _Turns = []
    for turn in merged(turns, "parts"):
        is_new_turn = turn["role"] == "user" and not _held([turn], "functionResponse")
        current = [] if is_new_turn else [*current, turn]
    for step in current:
        first = next((part for part in step["parts"] if "functionCall" in part), None)
        if first is not None and not first.get("thoughtSignature"):
            yield "the first call of a step in the current turn has no thoughtSignature"


def _response_name_differs(turns: _Turns) -> Iterator[str]:
    """watt-mind/coach#280 and archestra-ai/archestra#7583, live; Gemini 2 accepts any name."""
    for before, turn in pairwise(merged(turns, "parts")):
        calls, answers = _held([before], "functionCall"), _held([turn], "functionResponse")
        names = {str(id_): call.get("name") for call in calls if (id_ := call.get("id"))}
        for call, answer in zip(calls, answers, strict=False):
            if answer.get("name") != names.get(str(answer.get("id")), call.get("name")):
                yield f"{answer.get('name')!r} answers {call.get('name')!r}"


def _equal_call_ids(turns: _Turns) -> Iterator[str]:
    """watt-mind/coach#280, live: equal ids are refused in one content, not in different turns."""
    for turn in turns:
        ids = [str(id_) for call in _held([turn], "functionCall") if (id_ := call.get("id"))]
        if len(set(ids)) < len(ids):
            yield f"calls with the ids {ids}"


def _held(turns: _Turns, kind: str) -> list[dict[str, Json]]:
    held = [part.get(kind) for turn in turns for part in turn["parts"]]
    return [item for item in held if isinstance(item, dict)]


FACTS: tuple[tuple[str, _Fact], ...] = (
    ("gemini-parts-empty", _parts_empty),
    ("gemini-part-empty-data", _part_without_data),
    ("gemini-function-name", _names),
    ("gemini-function-response-name-empty", _response_name_empty),
    ("gemini-function-response-object", _response_object),
    ("gemini-function-args-object", _args_object),
    ("gemini-function-response-turn", _response_turn),
    # Has counter-evidence, but only where responses are split over turns: runs are merged before they are counted.
    ("gemini-function-response-count", _response_count),
)

VERTEX_FACTS: tuple[tuple[str, _Fact], ...] = (("gemini-text-empty-vertex", _text_empty),)
GEMINI_3_FACTS: tuple[tuple[str, _Fact], ...] = (
    ("gemini-thought-signature-missing", _unsigned_call),
    ("gemini-function-response-name-differs", _response_name_differs),
    ("gemini-function-call-ids-equal", _equal_call_ids),
)
