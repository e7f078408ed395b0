"""The scan of a window of OpenAI-style messages: one look at each native message, nothing read, nothing copied.

It may see a symptom where no rule finds a defect; the other way round is a bug (a test compares the two).
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from chatmend.dialects.content import is_thought_signature, signature_of
from chatmend.dialects.image_scan import image_holders
from chatmend.dialects.part_scan import part_scanner
from chatmend.dialects.roles import role_of
from chatmend.dialects.thinking_scan import is_thinking, thinking_check
from chatmend.jsontext import is_object, is_sound, is_sound_json, is_sound_value
from chatmend.windows import Memory, Symptom

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from chatmend.dialects import Scan
    from chatmend.targets.limits import Limits

_PLAIN = {
    "system": frozenset({"role", "content"}),
    "user": frozenset({"role", "content"}),
    "assistant": frozenset({"role", "content", "tool_calls"}),
    "tool": frozenset({"role", "content", "tool_call_id"}),
}
_KNOWN_NAMES = 1_000
"""How many legal names are known again without a look; a server's tools are few."""
_TOLD_APART = frozenset({"function_call", "parts", "tool_calls", "tool_call_id"})
"""Keys by which rules tell what a message is."""
_ODD_ROLE = Symptom.SURROGATE | Symptom.PAIRING | Symptom.TURNS | Symptom.SYSTEM | Symptom.EMPTY | Symptom.MEDIA
_ODD_KEY = Symptom.KEYS | Symptom.SURROGATE | Symptom.LEGACY


def call_scanner(limits: Limits) -> Callable[[list[Any], list[str]], int]:
    """A function that looks at ``tool_calls``, appends their ids to a list, and returns the symptoms."""
    matches = re.compile(limits.call_id_pattern).fullmatch if limits.call_id_pattern else None
    longest = limits.max_call_id_length or 1 << 30
    named = re.compile(limits.tool_name_pattern).fullmatch if limits.tool_name_pattern else None
    names: set[str] = set()
    arguments, signatures = limits.arguments, limits.thought_signatures
    single, distinct, tools = limits.single_call, not limits.equal_calls, limits.tools_taken

    def scan_call(call: Any, ids: list[str]) -> int:  # noqa: ANN401 - anything may stand here
        try:
            name, call_id, text = call["function"]["name"], call["id"], call["function"]["arguments"]
        except (KeyError, TypeError):
            return Symptom.CALLS | Symptom.IDS | Symptom.NAMES | Symptom.ARGUMENTS | Symptom.SURROGATE | Symptom.PAIRING
        mask = 0
        if call_id.__class__ is not str or not call_id:
            mask |= Symptom.CALLS | Symptom.PAIRING
        else:
            ids.append(call_id)
            if not call_id.isascii():
                mask |= Symptom.IDS | Symptom.SURROGATE
            elif len(call_id) > longest or (matches and not matches(call_id)):
                mask |= Symptom.IDS
        if name.__class__ is not str or not name:
            mask |= Symptom.CALLS | Symptom.NAMES
        elif name not in names:
            if not is_sound(name):
                mask |= Symptom.NAMES | Symptom.SURROGATE
            elif named and not named(name):
                mask |= Symptom.NAMES
            elif len(names) < _KNOWN_NAMES:
                names.add(name)
        if text.__class__ is not str:
            mask |= Symptom.ARGUMENTS | Symptom.SURROGATE
        else:
            if not text.isascii() or "\\u" in text:
                mask |= 0 if is_sound_json(text) else Symptom.SURROGATE
            if arguments in ("json", "object") and not is_object(text):
                mask |= Symptom.ARGUMENTS
        if len(call) > 3 or len(call["function"]) > 2:  # noqa: PLR2004 - id, type, function; name, arguments
            mask |= 0 if is_sound_value(call) else Symptom.SURROGATE
            if signatures != "any" and (proof := signature_of(call)) is not None and not is_thought_signature(proof):
                mask |= Symptom.THINKING
        if call.get("type") != "function":
            mask |= Symptom.CALLS | Symptom.SURROGATE
        return mask

    def scan_calls(calls: list[Any], ids: list[str]) -> int:
        mask = 0
        for call in calls:
            mask |= scan_call(call, ids)
        if not tools or (len(calls) > 1 and (single or (distinct and _have_one_name(calls)))):
            mask |= Symptom.CALLS
        return mask

    return scan_calls


def _have_one_name(calls: list[Any]) -> bool:
    """Whether two calls may be equal."""
    try:
        return len({call["function"]["name"] for call in calls}) < len(calls)
    except (KeyError, TypeError):
        return True


def key_scanner(limits: Limits) -> Callable[[dict[str, Any], str], int]:
    """A function that looks at the keys of a message that are not those of every message of its role."""
    asked = _TOLD_APART | limits.refused_keys | limits.refused_beside_content | {limits.prefill_key or ""}
    known, is_clean_thinking, takes_trailing = limits.known_keys, thinking_check(limits), limits.trailing_thinking
    named = re.compile(limits.tool_name_pattern).fullmatch if limits.tool_name_pattern else None
    spelled = re.compile(limits.message_name_pattern).fullmatch if limits.message_name_pattern else None

    def is_taken_name(name: Any, role: str) -> bool:  # noqa: ANN401 - anything may stand here
        if limits.message_name is not None and role not in limits.message_name:
            return False
        fits = named if role == "tool" else spelled
        return name.__class__ is str and (fits is None or bool(fits(name)))

    def scan_blocks(native: dict[str, Any], role: str) -> int:
        blocks = native["thinking_blocks"]
        if blocks is None or blocks == [] or role != "assistant":
            return 0
        if blocks.__class__ is not list or not all(map(is_clean_thinking, blocks)):
            return Symptom.THINKING | Symptom.SIGNED
        silent = not takes_trailing and not native.get("content") and not native.get("tool_calls")
        return Symptom.SIGNED | Symptom.THINKING if silent else Symptom.SIGNED

    def scan_keys(native: dict[str, Any], role: str) -> int:
        mask, plain = 0, _PLAIN[role]
        for key, value in native.items():
            if key in plain:
                continue
            if key.__class__ is not str or key[:1] == "_" or key in asked or (known is not None and key not in known):
                mask |= _ODD_KEY
                mask |= 0 if key in _TOLD_APART else Symptom.THINKING | Symptom.SIGNED
            elif key == "thinking_blocks":
                mask |= scan_blocks(native, role)
            elif key == "reasoning_content":
                mask |= 0 if value is None or value.__class__ is str else Symptom.THINKING
            elif key == "name":
                mask |= 0 if is_taken_name(value, role) else _ODD_KEY
            elif "cache" in key:
                mask |= Symptom.MARKERS
            if not is_sound_value(value) or (key.__class__ is str and not is_sound(key)):
                mask |= Symptom.SURROGATE
        return mask

    return scan_keys


def trailing_scanner(limits: Limits) -> Callable[[Any], int]:
    """A function that looks at a message of the model's that nothing follows: may it be the last?"""
    mode = limits.trailing_assistant

    def scan_last(native: Any) -> int:  # noqa: ANN401 - anything may stand here
        if mode != "no-trailing-space" or native.__class__ is not dict:
            return 0 if mode == "accepted" else Symptom.TURNS
        said = native.get("content")
        last = said[-1] if said.__class__ is list and said else None
        text = last.get("text") if last.__class__ is dict else said
        return Symptom.TURNS if text.__class__ is not str or text[-1:].isspace() else 0

    return scan_last


@lru_cache(maxsize=64)
def scanner(limits: Limits) -> Scan:
    """A scan for windows under these limits. It keeps nothing of what it sees but names of tools that are legal."""
    scan_calls, scan_parts = call_scanner(limits), part_scanner(limits, limits.part_types)
    scan_told = part_scanner(limits, limits.part_types, told=True)
    scan_keys, takes_trailing = key_scanner(limits), limits.trailing_thinking
    roles, holders = limits.roles, image_holders(limits)
    spelled = frozenset(_PLAIN) if roles is None else frozenset(_PLAIN) & roles
    system_anywhere, leading_system = limits.system == "anywhere", limits.system != "never"
    strict = limits.alternation or not limits.user_after_tool
    unique = limits.unique_call_ids
    pairing, ordered = limits.pairing, limits.results_in_order
    trailing = trailing_scanner(limits)
    nulls = limits.null_content is not None and "assistant+calls" in limits.null_content

    plain_content = limits.text_content
    thinks, signs = limits.reasoning_content == "required", limits.thought_signatures == "required"

    def ends_with_thinking(native: dict[str, Any], content: list[Any]) -> bool:
        return not takes_trailing and not native.get("tool_calls") and is_thinking(content[-1])

    def lacks_thought(native: dict[str, Any], calls: list[Any]) -> bool:
        """Whether what the model wrote before it called is not there, or not the proof of it."""
        thought = native.get("reasoning_content")
        if thinks and not (thought.__class__ is str and thought):
            return True
        return signs and not (calls[0].__class__ is dict and is_thought_signature(signature_of(calls[0])))

    def scan_message(native: dict[str, Any], role: str) -> int:
        mask = 0
        content = native.get("content")
        if content.__class__ is str:
            if not content.isascii() and not is_sound(content):
                mask |= Symptom.SURROGATE
            if (not content or content.isspace()) and not native.get("tool_calls"):
                mask |= Symptom.EMPTY
        elif content.__class__ is list:
            mask |= scan_told(content) if role == "tool" else scan_parts(content)
            mask |= Symptom.CONTENT if role in plain_content else 0
            if mask & Symptom.MEDIA and role in holders:
                mask ^= Symptom.MEDIA
            if mask & Symptom.SIGNED and (role != "assistant" or ends_with_thinking(native, content)):
                mask |= Symptom.THINKING
        elif content is None:
            if nulls or role != "assistant" or not native.get("tool_calls"):
                mask |= Symptom.EMPTY | Symptom.CONTENT
        else:
            mask |= Symptom.UNREADABLE | Symptom.CONTENT | Symptom.EMPTY
        return mask if _PLAIN[role].issuperset(native) else mask | scan_keys(native, role)

    def scan(natives: Sequence[Any], start: int, memory: Memory) -> tuple[int, int, list[str]]:
        mask, followed, last = 0, False, "" if start == 0 else "assistant"
        ids: list[str] = []
        open_ids: list[str] = []
        answered = 0
        waiting: Counter[str] | None = None  # of open ids, once a result is not that of the next
        count = len(natives)
        at = start
        while at < count:
            native = natives[at]
            try:
                role = native["role"]
                if role not in spelled or (role == "tool" and "tool_calls" in native):
                    mask |= Symptom.ROLE | Symptom.LEGACY | Symptom.KEYS
                    role = ""
            except (KeyError, TypeError, IndexError):
                mask |= Symptom.UNREADABLE | Symptom.ROLE
                role = ""
            if role == "":
                role = _role_of(native)
                mask |= _ODD_ROLE
            if role == "assistant":
                if followed or (at > start and start == 0 and last != "assistant"):
                    break
                mask |= scan_message(native, role) if native.__class__ is dict else Symptom.UNREADABLE
                if last == "assistant" and at > start:
                    mask |= Symptom.TURNS | (Symptom.PAIRING if answered < len(open_ids) else 0)
                calls = native.get("tool_calls") if native.__class__ is dict else None
                if calls:
                    if calls.__class__ is list:
                        before = len(ids)
                        mask |= scan_calls(calls, ids)
                        if (thinks or signs) and lacks_thought(native, calls):
                            mask |= Symptom.THINKING
                        open_ids += ids[before:]
                    else:
                        mask |= Symptom.CALLS | Symptom.SURROGATE
                elif calls is not None or (native.__class__ is dict and "tool_calls" in native):
                    mask |= Symptom.CALLS
            else:
                followed = True
                mask |= scan_message(native, role) if native.__class__ is dict else Symptom.UNREADABLE
                if role == "tool":
                    call_id = native.get("tool_call_id") if native.__class__ is dict else None
                    due = answered < len(open_ids) and last in ("assistant", "tool")
                    if due and waiting is None and open_ids[answered] == call_id:
                        answered += 1
                    else:
                        waiting = Counter(open_ids[answered:]) if waiting is None else waiting
                        if due and call_id.__class__ is str and waiting[call_id]:
                            waiting[call_id] -= 1
                            answered += 1
                            mask |= Symptom.PAIRING if ordered else 0
                        else:
                            sound = call_id.__class__ is str and call_id.isascii()  # the id of a call was looked at
                            mask |= Symptom.PAIRING if sound else Symptom.PAIRING | Symptom.SURROGATE
                elif answered < len(open_ids):
                    mask |= Symptom.PAIRING
                if role == "user":
                    memory.has_user = True
                    if strict and last in ("user", "tool"):
                        mask |= Symptom.TURNS
                elif role == "system":
                    if not system_anywhere and (at or not leading_system):
                        mask |= Symptom.SYSTEM
            last = role
            at += 1
        if answered < len(open_ids) and pairing:
            mask |= Symptom.PAIRING
        if last == "assistant":
            mask |= trailing(natives[at - 1])
        if unique != "no" and ids:
            known = memory.call_ids
            fresh = set(ids)
            if len(fresh) != len(ids) or (unique == "request" and not known.isdisjoint(fresh)):
                mask |= Symptom.IDS
        return at, mask, ids

    return scan


def _role_of(native: object) -> str:
    role = role_of(native) if isinstance(native, dict) else "user"
    return "system" if role == "developer" else str(role)
