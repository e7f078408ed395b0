"""Empty content in messages of every role, and text that cannot be encoded."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

from ..nested import same
from ..sites import calls, dicts, exchanges, parts, pick, rename, results, texts
from ..tokens import fresh
from ..wires import Native, Wire, text_part
from .defect import Defect, Defects

DEFECTS = Defects()

MISSING = object()
EMPTY: dict[str, Callable[[Random], Any]] = {
    "empty": lambda _: "",
    "blank": lambda rng: rng.choice((" ", "\n\n", "\t \n", "\u3000", "\u200b")),
    "empty-list": lambda _: [],
    "blank-parts": lambda rng: [
        text_part(rng.choice(("", " ", "\n"))) for _ in range(rng.randint(1, 3))
    ],
    "none": lambda _: None,
    "missing": lambda _: MISSING,
}
BLOCKS = ("tool_use", "tool_result")

HALF = "\ud83d"
"""Half of a surrogate pair: what is left when a stream is cut in the middle of an emoji."""


def _carriers(messages: list[Any], role: str) -> list[Native]:
    """The dicts that hold the content of a role, those without calls and results in it if there are any."""
    if role == "tool":
        return [site.native for site in results(messages)]
    if role == "system" and not dicts(messages, "system"):
        messages.insert(0, {"role": "system", "content": "You are an agent."})
    found = [messages[index] for index in dicts(messages, role)]
    framed = {
        id(messages[site.index]) for site in parts(messages) if site.native.get("type") in BLOCKS
    }
    return [message for message in found if id(message) not in framed] or found


def _emptied(role: str, make: Callable[[Random], Any]) -> Defect:
    def defect(messages: list[Any], rng: Random, wire: Wire) -> None:
        value = make(rng)
        others = [
            one for one in _carriers(messages, role) if not same(one.get("content", MISSING), value)
        ]
        for carrier in pick(rng, others):
            if value is MISSING:
                carrier.pop("content", None)
            else:
                carrier["content"] = value

    return defect


for _role in ("user", "assistant", "tool", "system"):
    for _kind, _make in EMPTY.items():
        DEFECTS.add(f"{_role}-content-{_kind}", _emptied(_role, _make))


@DEFECTS.both
def text_parts_blank_beside_content(messages: list[Any], rng: Random, wire: Wire) -> None:
    for index in pick(rng, dicts(messages, "user", "assistant")):
        content = messages[index].get("content")
        old = (
            content
            if isinstance(content, list)
            else [text_part(content)]
            if isinstance(content, str)
            else []
        )
        messages[index]["content"] = [text_part(""), *old, text_part(" \n")]


@DEFECTS.both
def message_empty(messages: list[Any], rng: Random, wire: Wire) -> None:
    hollow: tuple[Native, ...] = (
        {},
        {"role": "assistant"},
        {"role": "user"},
        {"role": "tool"},
        {"content": ""},
    )
    messages.insert(rng.randint(0, len(messages)), rng.choice(hollow))


@DEFECTS.both
def assistant_all_empty(messages: list[Any], rng: Random, wire: Wire) -> None:
    content: Any = rng.choice((None, "", []))
    messages.insert(rng.randint(0, len(messages)), {"role": "assistant", "content": content})


@DEFECTS.both
def surrogate_in_text(messages: list[Any], rng: Random, wire: Wire) -> None:
    for holder, key in pick(rng, texts(messages)):
        holder[key] += rng.choice((HALF, "\udc00", f"{HALF}{fresh(rng)}", "\udc4d\ud83d"))


@DEFECTS.both
def surrogate_in_result(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(rng, results(messages)):
        value = f"{HALF} {fresh(rng)}"
        site.native["content"] = rng.choice((value, [text_part(value)]))


def _surrogate_arguments(value: str) -> Defect:
    def defect(messages: list[Any], rng: Random, wire: Wire) -> None:
        for site in pick(rng, calls(messages)):
            token = fresh(rng)
            if site.native.get("type") == "tool_use":
                site.native["input"] = {
                    "path": f"{HALF}{token}",
                    f"{HALF}key": [{"deep": f"{token}{HALF}"}],
                }
            elif isinstance(site.native.get("function"), dict):
                site.native["function"]["arguments"] = f'{{"path": "{value}", "of": "{token}"}}'

    return defect


DEFECTS.add("surrogate-in-arguments", _surrogate_arguments(HALF))
DEFECTS.add(
    "surrogate-escaped-in-arguments", _surrogate_arguments(json.dumps(HALF)[1:-1]), ("openai_chat",)
)


@DEFECTS.both
def surrogate_in_tool_name(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(rng, calls(messages)):
        function = site.native.get("function")
        (function if isinstance(function, dict) else site.native)["name"] = f"read{HALF}"


@DEFECTS.both
def surrogate_in_id(messages: list[Any], rng: Random, wire: Wire) -> None:
    for exchange in pick(rng, exchanges(messages)):
        rename(exchange, f"call_{HALF}1")


@DEFECTS.both
def surrogate_in_system(messages: list[Any], rng: Random, wire: Wire) -> None:
    for carrier in pick(rng, _carriers(messages, "system")):
        carrier["content"] = f"You are {HALF} {fresh(rng)}."


@DEFECTS.both
def surrogate_in_key(messages: list[Any], rng: Random, wire: Wire) -> None:
    for index in pick(rng, dicts(messages)):
        messages[index][f"x_{HALF}"] = fresh(rng)
