"""What providers refused in the failures of ``corpus/field_cases.jsonl``: a predicate for each class of cause.

A predicate asks whether the cause that the provider's error names is in a body. It is written from that error and from
what a repair must give, not from chatmend's rules.
"""

from __future__ import annotations

import base64
import io
import itertools
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.field_turns import MODEL, Turn, messages_of, pairing, turns_of, walk
from tests.judges.reading import objects

if TYPE_CHECKING:
    from collections.abc import Callable

Json = Any


@dataclass(frozen=True, slots=True)
class Sent:
    """A body, and what is known of the failure."""

    body: dict[str, Json]
    form: str
    target: str
    error: str

    @property
    def turns(self) -> list[Turn]:
        """The body as turns."""
        return turns_of(self.form, self.body)

    @property
    def messages(self) -> list[dict[str, Json]]:
        """The messages, contents or items."""
        return objects(messages_of(self.form, self.body))

    def named(self, pattern: str) -> str:
        """What the error names."""
        found = re.search(pattern, self.error)
        assert found, f"{pattern} in {self.error}"
        return found[1]


# Calls and results.


def unanswered_call(sent: Sent) -> bool:
    return bool(pairing(sent.turns)[0])


def orphan_result(sent: Sent) -> bool:
    return bool(pairing(sent.turns)[1])


def duplicate_call_ids(sent: Sent) -> bool:
    called = [call.id for turn in sent.turns for call in turn.calls]
    answered = [call_id for turn in sent.turns for kind, call_id in turn.pieces if kind == "result"]
    return len(set(called)) < len(called) or len(set(answered)) < len(answered)


def refused_call_ids(sent: Sent) -> bool:
    """Ids of at most 64 letters, digits, ``_`` and ``-`` on both sides; an item's own id begins with ``fc``."""
    ids = [call.id for turn in sent.turns for call in turn.calls]
    ids += [call_id for turn in sent.turns for kind, call_id in turn.pieces if kind == "result"]
    own = [
        item["id"]
        for item in sent.messages
        if item.get("type") == "function_call" and item.get("id") is not None
    ]
    return any(not re.fullmatch(r"[\w-]{1,64}", str(one), re.ASCII) for one in ids) or any(
        not re.fullmatch(r"fc[\w-]{0,62}", str(one), re.ASCII) for one in own
    )


def refused_names(sent: Sent) -> bool:
    names = [call.name for turn in sent.turns for call in turn.calls]
    return any(not re.fullmatch(r"[\w-]{1,64}", str(name), re.ASCII) for name in names)


def malformed_arguments(sent: Sent) -> bool:
    """OpenAI wants a text that spells an object, everyone else the object."""
    return any(
        not _is_object(call.arguments, sent.form) for turn in sent.turns for call in turn.calls
    )


def _is_object(arguments: Json, form: str) -> bool:
    if form not in ("openai_chat", "openai_responses"):
        return isinstance(arguments, dict)
    try:
        return isinstance(json.loads(arguments), dict)
    except (TypeError, ValueError):
        return False


def undeclared_tools(sent: Sent) -> bool:
    return any(turn.calls or turn.role == "tool" for turn in sent.turns) and not sent.body.get(
        "tools"
    )


def unpaired_server_tool(sent: Sent) -> bool:
    """A result of a server tool whose call is not before it in the same turn of the assistant."""
    called: set[Json] = set()
    for turn in sent.turns:
        if turn.role not in MODEL:
            called = set()
        for block in turn.parts:
            kind = str(block.get("type"))
            if kind in ("server_tool_use", "mcp_tool_use"):
                called.add(block.get("id"))
            elif kind.endswith("_tool_result") and block.get("tool_use_id") not in called:
                return True
    return False


def empty_result(sent: Sent) -> bool:
    return any(
        not one["toolResult"].get("content") for one in walk(sent.messages) if "toolResult" in one
    )


def listed_json_result(sent: Sent) -> bool:
    results = [one["toolResult"] for one in walk(sent.messages) if "toolResult" in one]
    return any(not isinstance(one["json"], dict) for one in walk(results) if "json" in one)


# Gemini's turns.


def miscounted_responses(sent: Sent) -> bool:
    """Each call has its response in the content that follows, and nothing else is among them.

    AI Studio reads neighbouring contents of the user as one (recorded for 2.0 to 3 Flash, refused by 3 Pro).
    """
    folds = sent.target.startswith("gemini/") and "gemini-3-pro" not in sent.target
    if folds:
        return bool(pairing(sent.turns)[0])
    turns = sent.turns
    for at, turn in enumerate(turns):
        after = turns[at + 1].pieces if at + 1 < len(turns) else []
        if turn.calls and [kind for kind, _ in after] != ["result"] * len(turn.calls):
            return True
    return False


def misplaced_call_turn(sent: Sent) -> bool:
    turns = sent.turns
    return any(
        turn.calls and (at == 0 or turns[at - 1].role in MODEL) for at, turn in enumerate(turns)
    )


def missing_thought_signature(sent: Sent) -> bool:
    """In the current turn, the first call of each content needs a signature."""
    begins = [
        at
        for at, turn in enumerate(sent.turns)
        if turn.role == "user" and any("text" in part for part in turn.parts)
    ]
    firsts = [
        next((part for part in turn.parts if "functionCall" in part), None)
        for turn in sent.turns[begins[-1] + 1 :]
    ]
    return any(part is not None and not part.get("thoughtSignature") for part in firsts)


def empty_parts(sent: Sent) -> bool:
    return any(not turn.parts or not all(turn.parts) for turn in sent.turns)


# Roles and their order.


def trailing_assistant(sent: Sent) -> bool:
    return sent.turns[-1].role in MODEL


def user_after_tool(sent: Sent) -> bool:
    roles = [turn.role for turn in sent.turns]
    return ("tool", "user") in itertools.pairwise(roles)


def roles_not_in_turn(sent: Sent) -> bool:
    roles = [turn.role for turn in sent.turns if turn.role != "system"]
    return roles[:1] != ["user"] or any(one == other for one, other in itertools.pairwise(roles))


def system_role(sent: Sent) -> bool:
    return any(turn.role == "system" for turn in sent.turns)


def system_not_first(sent: Sent) -> bool:
    return any(turn.role == "system" for turn in sent.turns[1:])


def no_user(sent: Sent) -> bool:
    return system_not_first(sent) or not any(turn.role == "user" for turn in sent.turns)


# Texts and keys.


def empty_text(sent: Sent) -> bool:
    """An empty text; a refusal is read only as content."""
    for turn in sent.turns:
        texts = [part.get("text") for part in turn.parts if part.get("type") == "text"]
        if "" in texts or (turn.native.get("refusal") and turn.native["refusal"] not in texts):
            return True
    return False


def lone_surrogate(sent: Sent) -> bool:
    try:
        json.dumps(sent.body, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def listed_content(sent: Sent) -> bool:
    return any(
        turn.role != "user" and isinstance(turn.native.get("content"), list) for turn in sent.turns
    )


def refused_key(sent: Sent) -> bool:
    """Each of these keys is refused by those who refuse one of them, and they are named one at a time."""
    keys = {"reasoning_content", "reasoning_details", "annotations"}
    return any(keys & turn.native.keys() for turn in sent.turns)


def input_text_of_assistant(sent: Sent) -> bool:
    kinds = [part.get("type") for turn in sent.turns if turn.role in MODEL for part in turn.parts]
    return "input_text" in kinds


def unknown_item(sent: Sent) -> bool:
    kind = sent.named(r"Invalid value: '(\w+)'")
    return any(item.get("type") == kind for item in sent.messages)


# Reasoning.


def missing_reasoning(sent: Sent) -> bool:
    return any(turn.calls and not turn.native.get("reasoning_content") for turn in sent.turns)


def refused_thinking(sent: Sent) -> bool:
    """Thinking that the provider has refused is sent again, and nothing says that it may be dropped."""
    binding = (sent.body.get("thinking") or {}).get("block_binding") or {}
    if binding.get("prefix_mismatch_behavior") == "drop_block":
        return False
    blocks = [block for turn in sent.turns for block in turn.parts]
    signed = any(block.get("type") in ("thinking", "redacted_thinking") for block in blocks)
    return signed or any(one.get("signature") for turn in sent.turns for one in walk(turn.native))


def no_leading_thinking(sent: Sent) -> bool:
    """Thinking is on, and the assistant's last turn does not begin with any."""
    if (sent.body.get("thinking") or {}).get("type") not in ("enabled", "adaptive"):
        return False
    last = [turn for turn in sent.turns if turn.role in MODEL][-1]
    held = objects(last.native.get("thinking_blocks")) + last.parts
    return not held or held[0].get("type") not in ("thinking", "redacted_thinking")


def unverifiable_reasoning(sent: Sent) -> bool:
    return any(item.get("encrypted_content") for item in sent.messages)


def lonely_reasoning(sent: Sent) -> bool:
    """Reasoning that no item follows which the model wrote with it; one that was rebuilt has no id."""
    follows = [*sent.messages[1:], {}]
    return any(
        item.get("type") == "reasoning"
        and not (after.get("id") and after.get("type") != "function_call_output")
        for item, after in zip(sent.messages, follows, strict=True)
    )


def message_without_reasoning(sent: Sent) -> bool:
    before = [{}, *sent.messages]
    return any(
        item.get("type") == "message" and item.get("id") and last.get("type") != "reasoning"
        for item, last in zip(sent.messages, before, strict=False)
    )


def duplicate_item_ids(sent: Sent) -> bool:
    ids = [item["id"] for item in sent.messages if item.get("id") is not None]
    return len(set(ids)) < len(ids)


def item_not_stored(sent: Sent) -> bool:
    """An item is referred to by an id, and its content is not sent."""
    known = sent.named(r"Item with id '(\w+)'")
    return any(
        item.get("id") == known and not item.get("encrypted_content") for item in sent.messages
    )


# Cache markers.


def _markers(sent: Sent) -> list[dict[str, Json]]:
    """In the order in which they are processed: tools, system, messages, and that of the request."""
    held = [one for key in ("tools", "system", "messages") for one in walk(sent.body.get(key))]
    return objects(
        [one.get("cache_control") for one in [*held, sent.body] if one.get("cache_control")]
    )


def marker_lives_longer_than_earlier(sent: Sent) -> bool:
    lives = [str(marker.get("ttl", "5m")) for marker in _markers(sent)]
    return "1h" in lives[lives.index("5m") :] if "5m" in lives else False


def too_many_markers(sent: Sent) -> bool:
    return len(_markers(sent)) > 4


# Images and documents.


def _media(sent: Sent, kind: str) -> list[bytes]:
    sources = [one for one in walk(sent.messages) if str(one.get("media_type")).startswith(kind)]
    urls = [
        str(one["url"])
        for one in walk(sent.messages)
        if str(one.get("url")).startswith(f"data:{kind}")
    ]
    return [
        base64.b64decode(data)
        for data in [str(s["data"]) for s in sources] + [u.partition(",")[2] for u in urls]
    ]


def image_too_wide(sent: Sent) -> bool:
    from PIL import Image  # noqa: PLC0415 - only where a case needs it

    return any(max(Image.open(io.BytesIO(data)).size) > 2_000 for data in _media(sent, "image/"))


def image_too_heavy(sent: Sent) -> bool:
    """5 MB of base64, as the provider counts."""
    return any(len(base64.b64encode(data)) > 5 << 20 for data in _media(sent, "image/"))


def too_many_pages(sent: Sent) -> bool:
    return (
        sum(len(re.findall(rb"/Type\s*/Page\b", data)) for data in _media(sent, "application/pdf"))
        > 100
    )


def no_pdf(sent: Sent) -> bool:
    return any(not data.startswith(b"%PDF-") for data in _media(sent, "application/pdf"))


CAUSES: dict[str, Callable[[Sent], bool]] = {
    r"following tool_call_ids|`tool_use` ids were found without|toolUse block must be accompanied": unanswered_call,
    r"Expected toolResult .*functions\.bash:0": refused_call_ids,
    r"Expected toolResult blocks|missing result added": unanswered_call,
    r"must be unique|Duplicate value for 'tool_call_id'|must have a single result": duplicate_call_ids,
    r"unexpected `tool_use_id` found in `advisor_tool_result`": unpaired_server_tool,
    r"unexpected `tool_use_id`|exceeds the number of toolUse|after role 'user'|tool id\(.*not found": orphan_result,
    r"No tool call found|must be a response to a prec|no previous assistant message with a tool call": orphan_result,
    r"toolUseId'|\.call_id'|'input\[\d+\]\.id'": refused_call_ids,
    r"toolUse\.name|tool_use\.name": refused_names,
    r"arguments are|arguments become|tool_use\.input": malformed_arguments,
    r"without `tools=`|toolConfig field must be defined": undeclared_tools,
    r"cannot be empty when status value is error": empty_result,
    r"Provide a json object": listed_json_result,
    r"number of function response parts": miscounted_responses,
    r"function call turn comes immediately after": misplaced_call_turn,
    r"missing a `?thought_signature": missing_thought_signature,
    r"required oneof field 'data'|at least one parts field": empty_parts,
    r"prefill|must end with|end with a user role|final position|last message": trailing_assistant,
    r"'user' after role 'tool'": user_after_tool,
    r"must alternate": roles_not_in_turn,
    r"No user query|a user behind the system message": no_user,
    r"System message must be at the beginning": system_not_first,
    r"role 'system'|\"system\"|role must be 'user' or 'assistant'": system_role,
    r"must be non-empty|must have non-empty content": empty_text,
    r"no low surrogate": lone_surrogate,
    r"as a list is only supported for user": listed_content,
    r"is unsupported|Extra inputs are not permitted": refused_key,
    r"'input_text'": input_text_of_assistant,
    r"'context_compaction'": unknown_item,
    r"`?reasoning_content`? .*(missing|must be passed back)": missing_reasoning,
    r"cannot be modified|different conversation|[Ii]nvalid `?signature": refused_thinking,
    r"must start with a thinking block": no_leading_thinking,
    r"could not be verified|continuation identities": unverifiable_reasoning,
    r"without its required following item": lonely_reasoning,
    r"without its required 'reasoning' item": message_without_reasoning,
    r"Duplicate item found": duplicate_item_ids,
    r"Items are not persisted": item_not_stored,
    r"must not come after a ttl='5m'": marker_lives_longer_than_earlier,
    r"maximum of 4 blocks with cache_control": too_many_markers,
    r"many-image requests": image_too_wide,
    r"image exceeds 5 MB": image_too_heavy,
    r"PDF pages": too_many_pages,
    r"Could not process PDF": no_pdf,
}
"""Which cause an error, or what a repair must give, names: the first that matches."""


def cause_of(case: dict[str, Json]) -> Callable[[Sent], bool]:
    """The predicate for the class of a case."""
    told = f"{case['error']} | {case['must']}"
    return next(cause for pattern, cause in CAUSES.items() if re.search(pattern, told))
