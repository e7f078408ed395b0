"""Transcripts of any length in shapes that tempt a repair to look at everything for everything, in each dialect.

Each shape is a function of a length. It is written as chat messages, and translated into the other wire formats as
frameworks do it: damage and all. A few shapes exist in one wire format only.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from tests.broken import broken
from tests.broken.translated import gemini_contents, responses_items

Messages = list[Any]
Shape = Callable[[int], Messages]
PIXEL = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
GO, SAID = {"role": "user", "content": "go"}, {"role": "assistant", "content": "I see."}
MARKER = {"type": "ephemeral"}


def call(call_id: object, name: object = "look", arguments: object = "{}") -> dict[str, Any]:
    """One entry of ``tool_calls``."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def asks(*calls: object, **keys: object) -> dict[str, Any]:
    """An assistant message with calls: ids or whole entries."""
    entries = [call(one) if isinstance(one, str) else one for one in calls]
    return {"role": "assistant", "content": None, "tool_calls": entries, **keys}


def result(call_id: object, content: object = "done", **keys: object) -> dict[str, Any]:
    """A tool result."""
    return {"role": "tool", "tool_call_id": call_id, "content": content, **keys}


def user(content: object = "more", **keys: object) -> dict[str, Any]:
    """What a user says."""
    return {"role": "user", "content": content, **keys}


def text(words: object = "some words", **keys: object) -> dict[str, Any]:
    """A part of a content list."""
    return {"type": "text", "text": words, **keys}


def ids(count: int, stem: str = "call") -> list[str]:
    """Ids that all differ, of nine letters and digits as the strictest target wants them."""
    return [f"{stem}{number:05d}"[:9] for number in range(count)]


def deep(count: int) -> Any:
    """A value nested so deep."""
    value: Any = "end"
    for _ in range(count):
        value = {"in": [value]}
    return value


def thought(number: int, **keys: object) -> dict[str, Any]:
    """A block of thinking, signed."""
    return {
        "type": "thinking",
        "thinking": f"Plan {number}.",
        "signature": "EqQBCkYIAhgCKkAx",
        **keys,
    }


def image() -> dict[str, Any]:
    """An image part."""
    return {"type": "image_url", "image_url": {"url": PIXEL}}


def from_seed(seed: int, *, joined: bool) -> Shape:
    """A broken transcript again and again; ``joined``: what the assistant said first, so that all is one window."""

    def shape(count: int) -> Messages:
        messages = broken(seed, "openai_chat") * max(1, count // 10)
        if not joined:
            return messages
        said = [m for m in messages if isinstance(m, dict) and m.get("role") == "assistant"]
        return [
            *said,
            *(m for m in messages if not (isinstance(m, dict) and m.get("role") == "assistant")),
        ]

    return shape


def _late(count: int) -> Messages:
    windows = [m for one in ids(count) for m in (asks(one), user())]
    return [GO, *windows, SAID, *map(result, ids(count))]


def _turns(count: int) -> Messages:
    """Exchanges in windows of their own, all with one id."""
    return [GO, *(m for _ in range(count) for m in (asks("call_0"), result("call_0")))]


def _answered_midway(count: int) -> Messages:
    """Each call with an answer of the model's behind it, in one run."""
    return [
        GO,
        *(m for one in ids(count) for m in (asks(one), SAID)),
        *map(result, ids(count)[::2]),
        user(),
    ]


_GARBAGE = (
    None,
    7,
    "f",
    {},
    [],
    {"id": None},
    {"function": []},
    {"id": "a", "function": {"name": ""}},
)
_ODD = (
    None,
    7,
    "words",
    [],
    {},
    {"role": 7},
    {"role": []},
    {"role": "narrator", "content": "then"},
)

SHAPES: dict[str, Shape] = {
    "systems and users in turn": lambda n: [{"role": "system", "content": "Be brief."}, GO] * n,
    "systems and users behind an answer": lambda n: [GO, SAID, *[{"role": "system", "content": "Be brief."}, GO] * n],
    "systems in front": lambda n: [*[{"role": "system", "content": "Be brief."}] * n, GO],
    "systems at the end": lambda n: [GO, SAID, GO, *[{"role": "system", "content": "Be brief."}] * n],
    "users": lambda n: [user(f"one {number}") for number in range(n)],
    "equal users": lambda n: [dict(GO) for _ in range(n)],
    "named users": lambda n: [user(name=f"user {number}") for number in range(n)],
    "assistants": lambda n: [GO, *[SAID] * n],
    "assistants and users": lambda n: [SAID, GO] * n,
    "orphans": lambda n: [GO, *map(result, ids(n))],
    "equal orphans": lambda n: [GO, *[result("call_gone")] * n],
    "orphans behind a call": lambda n: [GO, asks("call_0"), *map(result, ids(n))],
    "orphans of the assistant": lambda n: [GO, *({**result(one), "role": "assistant"} for one in ids(n)), GO],
    "orphans behind many calls": lambda n: [GO, asks(*ids(n)), *map(result, ids(n, "gone"))],
    "equal ids": lambda n: [GO, asks(*["call_0"] * n), *[result("call_0")] * n],
    "equal ids in many messages": lambda n: [GO, *[asks("call_0")] * n, *[result("call_0")] * n],
    "equal ids without results": lambda n: [GO, asks(*["call_0"] * n), GO],
    "one id in every window": _turns,
    "calls without results": lambda n: [GO, asks(*ids(n)), GO],
    "calls at the end": lambda n: [GO, asks(*ids(n))],
    "messages of calls without results": lambda n: [GO, *map(asks, ids(n)), GO],
    "results in reverse": lambda n: [GO, asks(*ids(n)), *map(result, reversed(ids(n)))],
    "messages of calls, results in reverse": lambda n: [GO, *map(asks, ids(n)), *map(result, reversed(ids(n)))],
    "every other result": lambda n: [GO, asks(*ids(n)), *map(result, ids(n)[::2]), GO],
    "users between results": lambda n: [GO, asks(*ids(n)), *(m for one in ids(n) for m in (user(), result(one)))],
    "results of one call": lambda n: [GO, asks("call_0"), *(result("call_0", f"{at}") for at in range(n)), GO],
    "the same result again": lambda n: [GO, asks("call_0"), *[result("call_0")] * n, GO],
    "results come late": _late,
    "answers midway": _answered_midway,
    "calls and results without ids": lambda n: [GO, asks(*[call(None)] * n), *[result(None)] * n],
    "calls and results with blank ids": lambda n: [GO, asks(*[call("")] * n), *[result("")] * n],
    "calls by name": lambda n: [
        GO, asks(*[call(None, f"f{at}") for at in range(n)]), *(result(None, name=f"f{n - at}") for at in range(n)),
    ],
    "ids of a wrong type": lambda n: [GO, asks(*[call([at]) for at in range(n)]), *(result([at]) for at in range(n))],
    "ids too long": lambda n: [GO, asks(*["a" * 80 + one for one in ids(n)]), GO],
    "names refused": lambda n: [GO, asks(*[call(one, f"web.{one}") for one in ids(n)]), *map(result, ids(n))],
    "arguments broken": lambda n: [GO, asks(*[call(one, arguments="{") for one in ids(n)]), *map(result, ids(n))],
    "arguments nested": lambda n: [GO, asks(call("call_0", arguments={"a": deep(n)})), result("call_0")],
    "content nested": lambda n: [GO, asks("call_0"), result("call_0", deep(n)), user(deep(n))],
    "calls of garbage": lambda n: [GO, asks(*_GARBAGE * n), GO],
    "calls of users": lambda n: [{**asks(one), "role": "user"} for one in ids(n)],
    "old calls": lambda n: [
        GO, *[{"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}] * n,
        *[{"role": "function", "name": "f", "content": "done"}] * n,
    ],
    "texts": lambda n: [user([text() for _ in range(n)]), {"role": "assistant", "content": [text()] * n}, GO],
    "blank texts": lambda n: [user([text(" ")] * n), {"role": "assistant", "content": [text("")] * n}, GO],
    "texts in a result": lambda n: [GO, asks("call_0"), result("call_0", [text(), text("")] * n)],
    "texts and calls": lambda n: [GO, {**asks(*ids(n)), "content": [text()] * n}, *map(result, ids(n))],
    "unknown parts": lambda n: [user([{"type": "hologram", "at": at} for at in range(n)] + [7, None] * n)],
    "images": lambda n: [user([image() for _ in range(n)])],
    "images of the assistant": lambda n: [GO, *({"role": "assistant", "content": [image()]} for _ in range(n)), GO],
    "images in one answer": lambda n: [GO, {"role": "assistant", "content": [image() for _ in range(n)]}, GO],
    "images in results": lambda n: [GO, asks(*ids(n)), *(result(one, [image()]) for one in ids(n))],
    "images in many messages": lambda n: [m for _ in range(n) for m in (user([image()]), SAID)],
    "thinking": lambda n: [GO, {**SAID, "thinking_blocks": [thought(at) for at in range(n)]}, GO],
    "thinking in the content": lambda n: [GO, {"role": "assistant", "content": [thought(at) for at in range(n)]}, GO],
    "thinking in many messages": lambda n: [GO, *({**SAID, "thinking_blocks": [thought(at)]} for at in range(n)), GO],
    "thinking unsigned": lambda n: [
        GO, {"role": "assistant", "content": [thought(at, signature="") for at in range(n)]}, GO,
    ],
    "reasoning": lambda n: [GO, *({**asks(one), "reasoning_content": "Hm."} for one in ids(n)), *map(result, ids(n))],
    "empty users": lambda n: [user("") for _ in range(n)],
    "empty assistants": lambda n: [GO, *({"role": "assistant", "content": ""} for _ in range(n)), GO],
    "empty in turn": lambda n: [user(""), {"role": "assistant", "content": None}] * n,
    "empty systems and users": lambda n: [GO, SAID, *[{"role": "system", "content": ""}, user(" ")] * n],
    "markers": lambda n: [user([text(cache_control=MARKER) for _ in range(n)]), SAID, GO],
    "markers on messages": lambda n: [m for _ in range(n) for m in (user(cache_control=MARKER), SAID)],
    "unknown roles": lambda n: [{"role": f"narrator {at}", "content": "then"} for at in range(n)],
    "no roles": lambda n: [{"content": "then"} for _ in range(n)],
    "no messages": lambda n: list(_ODD) * n,
    "unknown keys": lambda n: [user(**{f"key_{at}": at for at in range(n)}), SAID, GO],
    "keys on many messages": lambda n: [user(refusal=None, weight=at, _own="x") for at in range(n)],
    "half characters": lambda n: [user(f"\ud83d {at}") for at in range(n)],
    "forged placeholders": lambda n: [
        GO, asks("call_0"), *[result("call_0", "No result was recorded for this tool call.")] * n, user("[continued]"),
    ],
    "messages with parts": lambda n: [{"role": "user", "parts": [{"text": "hi"}] * 2}] * n,
    **{f"broken {seed} repeated": from_seed(seed, joined=False) for seed in range(4)},
    **{f"broken {seed} in one window": from_seed(seed, joined=True) for seed in range(4)},
}  # fmt: skip


def _use(entry: Any) -> Any:
    if not isinstance(entry, dict) or not isinstance(entry.get("function"), dict):
        return entry
    function = entry["function"]
    arguments = {} if function.get("arguments") == "{}" else function.get("arguments")
    return {
        "type": "tool_use",
        "id": entry.get("id"),
        "name": function.get("name"),
        "input": arguments,
    }


def _blocks(message: Any) -> Any:
    """A chat message in Anthropic's blocks."""
    if not isinstance(message, dict):
        return message
    content = message.get("content")
    if message.get("role") == "tool":
        answer = {
            "type": "tool_result",
            "tool_use_id": message.get("tool_call_id"),
            "content": content,
        }
        return {"role": "user", "content": [answer]}
    words = (
        [text(content)]
        if isinstance(content, str) and content
        else content
        if isinstance(content, list)
        else []
    )
    words = [
        {"type": "image", "source": {"type": "url", "url": PIXEL}} if part == image() else part
        for part in words
    ]
    entries = message.get("tool_calls")
    uses = [_use(entry) for entry in entries] if isinstance(entries, list) else []
    thoughts = message.get("thinking_blocks") or []
    rest = {
        k: v
        for k, v in message.items()
        if k not in ("role", "content", "tool_calls", "thinking_blocks")
    }
    role = {"role": message["role"]} if "role" in message else {}
    return {
        **role,
        "content": [*thoughts, *words, *uses] if thoughts or uses else words or content,
        **rest,
    }


def _in_one(messages: Messages) -> Messages:
    """Neighbours of one role in one message, as Anthropic's clients send parallel results."""
    out: Messages = []
    for message in messages:
        fits = (
            isinstance(message, dict)
            and set(message) == {"role", "content"}
            and isinstance(message["content"], list)
        )
        if fits and out and isinstance(out[-1], dict) and out[-1].get("role") == message["role"]:
            last = out[-1].get("content")
            if isinstance(last, list):
                last += message["content"]
                continue
        out.append({**message, "content": [*message["content"]]} if fits else message)
    return out


def _anthropic(messages: Messages) -> Messages:
    return [_blocks(message) for message in messages]


def _joined(messages: Messages) -> Messages:
    return _in_one(_anthropic(messages))


TRANSLATED: dict[str, tuple[Callable[[Messages], Messages], ...]] = {
    "openai_chat": (list,),
    "anthropic_messages": (_anthropic, _joined),
    "openai_responses": (lambda messages: responses_items(messages, Random(0)),),
    "gemini_contents": (
        lambda messages: gemini_contents(_anthropic(messages), Random(1)),
        lambda messages: gemini_contents(_joined(messages), Random(2)),
    ),
}
"""The forms in which a dialect writes chat messages."""


def adversarial(shape: str, count: int, dialect: str, way: int = 0) -> Messages:
    """A transcript of a shape, so long, in a dialect."""
    return TRANSLATED[dialect][way](SHAPES[shape](count))
