"""Short conversations with each small defect: a key that does not belong there, a value that is replaced or missing.

python -m tests.small_defects [PAIRS] [TARGET-PART]

Tries every defect at every place of the conversations below, for every target, and PAIRS random pairs of defects for
each conversation (200). Prints the first example of each broken promise; exit status 1 if there is one. The fuzzer has
longer conversations, but its defects are those that someone has thought of.
"""

from __future__ import annotations

import copy
import sys
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.broken import expected_tokens, paths
from tests.pasteable import commands
from tests.promises import broken_promises
from tests.targets import ALL

if TYPE_CHECKING:
    from collections.abc import Iterator

WORD, OTHER = "tok1111111111x", "tok2222222222x"
"""Texts whose loss is noticed."""
_THOUGHT = {"type": "thinking", "thinking": "I see.", "signature": "c2lnbmVk"}
_QUESTION = {
    "gemini_contents": {"role": "user", "parts": [{"text": "q"}]},
    "bedrock_converse": {"role": "user", "content": [{"text": "q"}]},
}


def _call(call_id: str, arguments: str = "{}") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": "n", "arguments": arguments}}


CONVERSATIONS: dict[str, list[list[dict[str, Any]]]] = {
    "openai_chat": [
        [{"role": "user", "content": "q"}],
        [{"role": "assistant", "content": "a"}],
        [{"role": "system", "content": "s"}],
        [
            {"role": "assistant", "content": None, "tool_calls": [_call("call_c")]},
            {"role": "tool", "tool_call_id": "call_c", "content": "o"},
        ],
        [
            {"role": "assistant", "content": [{"type": "text", "text": "a"}], "tool_calls": [_call("call_c")]},
            {"role": "tool", "tool_call_id": "call_c", "content": [{"type": "text", "text": "o"}]},
        ],
        [
            {"role": "assistant", "content": "a", "reasoning_content": "r", "tool_calls": [_call("c1"), _call("c2")]},
            {"role": "tool", "tool_call_id": "c1", "content": "o"},
            {"role": "tool", "tool_call_id": "c2", "content": "o"},
            {"role": "assistant", "content": "b"},
        ],
        [{"role": "user", "content": [
            {"type": "text", "text": "q"},
            {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
        ]}],
    ],
    "anthropic_messages": [
        [{"role": "user", "content": "q"}],
        [{"role": "assistant", "content": [{"type": "text", "text": "a"}]}],
        [
            {"role": "assistant", "content": [
                _THOUGHT, {"type": "tool_use", "id": "toolu_1", "name": "n", "input": {}},
            ]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "o"}]},
        ],
        [
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "toolu_1", "name": "n", "input": {}},
                {"type": "tool_use", "id": "toolu_2", "name": "n", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "o"}]},
                {"type": "tool_result", "tool_use_id": "toolu_2", "content": "o"},
                {"type": "text", "text": "q"},
            ]},
        ],
    ],
    "gemini_contents": [
        [{"role": "user", "parts": [{"text": "q"}]}],
        [{"role": "model", "parts": [{"text": "a"}]}],
        [
            {"role": "model", "parts": [{"functionCall": {"name": "n", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "n", "response": {"output": "o"}}}]},
        ],
    ],
    "bedrock_converse": [
        [{"role": "user", "content": [{"text": "q"}]}],
        [{"role": "assistant", "content": [{"text": "a"}]}],
        [
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c", "name": "n", "input": {}}}]},
            {"role": "user", "content": [{"toolResult": {"toolUseId": "c", "content": [{"text": "o"}]}}]},
        ],
    ],
    "ollama_chat": [
        [{"role": "user", "content": "q"}],
        [{"role": "assistant", "content": "a"}],
        [
            {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "n", "arguments": {}}}]},
            {"role": "tool", "tool_name": "n", "content": "o"},
        ],
    ],
    "openai_responses": [
        [{"role": "user", "content": [{"type": "input_text", "text": "q"}]}],
        [{"role": "assistant", "content": "a"}],
        [{"type": "message", "role": "assistant", "id": "msg_1", "status": "completed", "content": [
            {"type": "output_text", "text": "a", "annotations": []},
        ]}],
        [
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
            {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "n", "arguments": "{}"},
            {"type": "function_call", "call_id": "c2", "name": "n", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "o"}]},
            {"type": "function_call_output", "call_id": "c2", "output": "o"},
        ],
        [
            {"type": "custom_tool_call", "call_id": "c", "name": "n", "input": "x"},
            {"type": "custom_tool_call_output", "call_id": "c", "output": "o"},
        ],
    ],
}  # fmt: skip
"""What stands between two questions of the user, by dialect."""

KEYS: list[dict[str, Any]] = [
    {"refusal": WORD}, {"refusal": None}, {"audio": None}, {"audio": {"id": "a", "transcript": WORD}},
    {"text": WORD}, {"value": WORD}, {"name": "bob"}, {"name": None},
    {"content": WORD}, {"content": None}, {"content": ""}, {"content": []}, {"content": {"text": WORD}},
    {"content": [{"type": "text", "text": WORD}]}, {"parts": [{"text": WORD}]}, {"parts": None}, {"parts": []},
    {"tool_calls": [_call("k", f'{{"a": "{OTHER}"}}')]}, {"tool_calls": []}, {"tool_calls": None},
    {"function_call": {"name": "n", "arguments": "{}"}}, {"function_call": None}, {"tool_call_id": "c"},
    {"thinking_blocks": [_THOUGHT]}, {"reasoning_content": WORD}, {"reasoning_content": ""}, {"thinking": OTHER},
    {"reasoning": WORD}, {"reasoning_details": [{"type": "reasoning.text", "text": WORD}]},
    {"role": "assistant"}, {"role": "user"}, {"role": "tool"}, {"role": "system"}, {"role": None},
    {"output": OTHER}, {"arguments": f'{{"a": "{OTHER}"}}'}, {"input": OTHER}, {"annotations": []},
    {"tool_responses": [{"tool_call_id": "c", "role": "tool", "content": OTHER}]},
    {"id": None}, {"id": "m1"}, {"status": None}, {"cache_control": {"type": "ephemeral"}}, {"prefix": True},
    {"toolUse": {"toolUseId": "c", "name": "n", "input": {}}}, {"functionCall": {"name": "n", "args": {}}},
]  # fmt: skip
"""Keys of all formats, which are added to a message, a part or a call, or replace its own."""
VALUES: list[Any] = [
    None, "", " ", WORD, 0, True, [], [WORD], [None], {}, {"x": WORD}, {"type": "text", "text": WORD},
    [{"type": "text", "text": WORD}],
]  # fmt: skip
_IDENTIFIERS = frozenset(
    {
        "role", "type", "id", "call_id", "tool_call_id", "tool_use_id", "toolUseId", "status", "signature",
        "encrypted_content", "annotations", "tool_name",
    }
)  # fmt: skip
"""Keys whose values are not replaced: what they hold is not content, so that its loss is not reported."""

_PARTS = frozenset({"function", "functionCall", "functionResponse", "toolResult", "toolUse"})
"""Keys of the dicts of parts."""

_Path = tuple[str | int, ...]


class Defect(NamedTuple):
    """A change of a conversation at one place."""

    path: _Path
    added: dict[str, Any] | None = None
    """The keys that the dict at this place gets."""
    values: tuple[Any, ...] = ()
    """The value that replaces the one at this place; empty: it is removed."""


def defects(conversation: list[dict[str, Any]]) -> list[Defect]:
    """Return every defect of a conversation; those of whole messages come first."""
    found = sorted(paths(conversation), key=len)
    added = [
        Defect(path, added=keys)
        for path in found
        if isinstance(_value_at(conversation, path), dict)
        for keys in KEYS
    ]
    return added + [
        Defect(path, values=values)
        for path in found
        if len(path) > 1 and not _is_identifier(path)
        for values in [*((value,) for value in VALUES), ()]
    ]


def _is_identifier(path: _Path) -> bool:
    return path[-1] in _IDENTIFIERS or path[-2:] == ("functionResponse", "name")


def _value_at(value: Any, path: _Path) -> Any:
    for key in path:
        value = value[key]
    return value


def with_defects(conversation: list[dict[str, Any]], *found: Defect) -> list[Any] | None:
    """Return a copy with these defects; None if one of them leaves no place for another."""
    out = copy.deepcopy(conversation)
    for defect in sorted(found, key=lambda defect: -len(defect.path)):
        try:
            held = _value_at(out, defect.path[:-1])
            if defect.added is not None:
                held[defect.path[-1]].update(copy.deepcopy(defect.added))
            elif defect.values:
                held[defect.path[-1]] = copy.deepcopy(defect.values[0])
            else:
                del held[defect.path[-1]]
        except (AttributeError, IndexError, KeyError, TypeError):
            return None
    return out


def broken_by(
    conversation: list[dict[str, Any]], target: str, dialect: str, *found: Defect
) -> tuple[list[Any], list[str]]:
    """Return a conversation with defects, and the promises that its repair breaks."""
    if (changed := with_defects(conversation, *found)) is None:
        return [], []
    question = _QUESTION.get(dialect, {"role": "user", "content": "q"})
    messages = [question, *changed, question]
    faults = broken_promises(messages, target, dialect)
    place = f"{dialect} {target}"
    return messages, [fault for fault in faults if not _is_exempt(fault, place, found)]


class Exemption(NamedTuple):
    """A refusal by a judge that says nothing about the provider."""

    places: str
    """What the dialect and the target contain."""
    fault: str
    reason: str


EXEMPTIONS = (
    Exemption(
        "openai_responses",
        "].content: Input should be iterable",
        "the SDK's type of reasoning has a list; no refusal of null by these providers is known",
    ),
    Exemption(
        "minimax/",
        "no block of a known type",
        "no table lists MiniMax's types of blocks, so unknown ones are sent unchanged",
    ),
    Exemption(
        "hosted_vllm/mistralai/",
        "continue_final_message=True requires",
        "the judge takes `prefix` of a last message of any role for a prefill, as Mistral's own API does",
    ),
)


def _is_exempt(fault: str, place: str, found: tuple[Defect, ...]) -> bool:
    """Return whether only the judge refuses it, or only text under unknown keys within parts is lost.

    A rule that converts a part may lose such text.
    """
    if fault.startswith("4 lost"):
        held = [one.added for one in found if one.added is not None and len(one.path) > 1]
        held += [one.values[0] for one in found if one.values and one.path[-1] in _PARTS]
        return expected_tokens(fault) <= expected_tokens(held)
    return any(one.places in place and one.fault in fault for one in EXEMPTIONS)


def faults_at(
    dialect: str, target: str, pairs: int
) -> Iterator[tuple[int, tuple[Defect, ...], list[Any], list[str]]]:
    """Yield each conversation's number, defects, messages and broken promises, for one target."""
    for number, conversation in enumerate(CONVERSATIONS[dialect]):
        single, rng = defects(conversation), Random(f"{target} {number}")
        chosen: list[tuple[Defect, ...]] = [(one,) for one in single]
        chosen += [tuple(rng.sample(single, 2)) for _ in range(pairs)]
        for found in chosen:
            yield number, found, *broken_by(conversation, target, dialect, *found)


def main() -> int:
    """Print what breaks a promise."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    part = sys.argv[2] if len(sys.argv) > 2 else ""
    tried, seen = 0, set[tuple[str, int, str]]()
    for dialect, target in ALL:
        if target == "other" or part not in f"{dialect} {target}":
            continue
        for number, found, messages, faults in faults_at(dialect, target, pairs):
            tried += 1
            kinds = {(dialect, number, fault[:60]): fault for fault in faults}
            for kind in kinds.keys() - seen:
                print(dialect, target, found, kinds[kind][:500])
                print(commands(messages, target, dialect), flush=True)
            seen |= kinds.keys()
        print(
            f"{dialect} {target}: {tried:,} conversations, {len(seen)} kinds of faults", flush=True
        )
    return int(bool(seen))


if __name__ == "__main__":
    sys.exit(main())
