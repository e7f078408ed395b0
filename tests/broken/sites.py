"""Finding the things to break in a transcript that may already be broken: calls, results, thoughts, texts."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, TypeVar

from .nested import copied
from .tokens import fresh
from .wires import Native, Wire, text_part

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Site:
    """``holder[at]``, a dict somewhere inside ``messages[index]``. For a tool message the holder is the transcript."""

    index: int
    holder: list[Any]
    at: int

    @property
    def native(self) -> Native:
        """The dict itself."""
        found: Native = self.holder[self.at]
        return found


def pick(rng: Random, found: list[T]) -> list[T]:
    """One of ``found`` as a list, or none if there is none: ``for site in pick(rng, sites)``."""
    return [rng.choice(found)] if found else []


def dicts(messages: list[Any], *roles: str) -> list[int]:
    """The positions of the messages that are dicts and have one of ``roles`` (any role if none is named)."""
    return [
        index
        for index, message in enumerate(messages)
        if isinstance(message, dict) and (not roles or message.get("role") in roles)
    ]


def _within(messages: list[Any], key: str, wanted: Callable[[Native], bool]) -> Iterator[Site]:
    for index in dicts(messages):
        holder = messages[index].get(key)
        if not isinstance(holder, list):
            continue
        for at, item in enumerate(holder):
            if isinstance(item, dict) and wanted(item):
                yield Site(index, holder, at)


def _typed(*types: str) -> Callable[[Native], bool]:
    return lambda item: item.get("type") in types


def parts(messages: list[Any]) -> list[Site]:
    """The content parts of all messages."""
    return list(_within(messages, "content", lambda _: True))


def calls(messages: list[Any]) -> list[Site]:
    """The tool calls of both dialects, in order."""
    found = [
        *_within(messages, "tool_calls", lambda _: True),
        *_within(messages, "content", _typed("tool_use")),
    ]
    return sorted(found, key=lambda site: (site.index, site.at))


def results(messages: list[Any]) -> list[Site]:
    """The tool results of both dialects, in order."""
    found = [Site(index, messages, index) for index in dicts(messages, "tool")]
    found += _within(messages, "content", _typed("tool_result"))
    return sorted(found, key=lambda site: (site.index, site.at))


def thoughts(messages: list[Any]) -> list[Site]:
    """The thinking blocks, redacted or not."""
    kinds = _typed("thinking", "redacted_thinking")
    return [*_within(messages, "thinking_blocks", kinds), *_within(messages, "content", kinds)]


def parallel(messages: list[Any]) -> list[list[Site]]:
    """The calls of every message that has at least two."""
    grouped: dict[int, list[Site]] = defaultdict(list)
    for site in calls(messages):
        grouped[site.index].append(site)
    return [group for group in grouped.values() if len(group) > 1]


def exchanges(messages: list[Any]) -> list[tuple[Site, Site]]:
    """Calls with their results, matched by occurrence: a result belongs to the oldest open call with its id."""
    waiting: dict[str, deque[Site]] = defaultdict(deque)
    for site in calls(messages):
        if isinstance(site.native.get("id"), str):
            waiting[site.native["id"]].append(site)
    found = []
    for site in results(messages):
        call_id = site.native.get(id_key(site.native))
        if isinstance(call_id, str) and waiting[call_id]:
            found.append((waiting[call_id].popleft(), site))
    return found


def id_key(native: Native) -> str:
    """Under which key a call or a result has its id."""
    if native.get("type") == "tool_result":
        return "tool_use_id"
    return "tool_call_id" if native.get("role") == "tool" else "id"


def rename(exchange: tuple[Site, Site], call_id: Any) -> None:
    """Give a call and its result another id."""
    for site in exchange:
        site.native[id_key(site.native)] = copied(call_id)


def texts(messages: list[Any]) -> list[tuple[Native, str]]:
    """The dicts that hold a text, with the key: messages, parts, results, parts of results."""
    holders = [messages[index] for index in dicts(messages)] + [
        site.native for site in parts(messages)
    ]
    holders += [
        site.native
        for site in _within([site.native for site in results(messages)], "content", lambda _: True)
    ]
    return [
        (holder, key)
        for holder in holders
        for key in ("content", "text")
        if isinstance(holder.get(key), str)
    ]


def take(messages: list[Any], site: Site) -> Native:
    """Remove a result and return it as a separate message. A message without remaining parts is removed, too."""
    native: Native = site.holder.pop(site.at)
    if site.holder is messages:
        return native
    if not site.holder:
        del messages[site.index]
    return {"role": "user", "content": [native]}


def exchange_with(rng: Random, wire: Wire) -> list[Native]:
    """A question, thinking, two parallel calls and their results."""
    ids = [f"call_{fresh(rng)[3:13]}" for _ in range(2)]
    thought = {"type": "thinking", "thinking": f"Plan {fresh(rng)}.", "signature": "c2lnbmF0dXJl"}
    made = [wire.call(call_id, "read_file", {"path": fresh(rng)}) for call_id in ids]
    return [
        {"role": "user", "content": f"Go on with {fresh(rng)}."},
        wire.assistant([text_part(f"Reading {fresh(rng)}.")], made, [thought]),
        *wire.results([(call_id, f"read {fresh(rng)}") for call_id in ids]),
    ]


def plant(messages: list[Any], rng: Random, wire: Wire) -> None:
    """Append an exchange, its answer and a next question, so that every defect finds something to break."""
    messages.extend(exchange_with(rng, wire))
    messages.append(wire.assistant([text_part(f"I have read {fresh(rng)}.")]))
    messages.append({"role": "user", "content": f"Thanks, now {fresh(rng)}."})
