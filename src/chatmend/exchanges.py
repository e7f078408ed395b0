"""Matches the results of a window to its calls, in the order in which they occur.

An id alone is not enough, because several calls may have the same id.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from chatmend.jsontext import equality_key
from chatmend.placeholders import is_placeholder
from chatmend.transcript import LOCAL_SHELL, REFERENCE, ToolCall, ToolResult, is_blank
from chatmend.windows import Exchanges, PartPosition

if TYPE_CHECKING:
    from chatmend.transcript import Message
    from chatmend.windows import Memory, Window


def _worth(result: ToolResult) -> int:
    """Rank a result: a real one above an empty one, and that above a placeholder of chatmend."""
    return 0 if is_placeholder(result) else 1 if is_blank(result.content) else 2


def match(window: Window) -> Exchanges:
    """Match results to calls; calls with the same id get their results in order."""
    if window.exchanges is None:
        window.exchanges = _matched(window)
    return window.exchanges


def _matched(window: Window) -> Exchanges:
    found = Exchanges()
    numbers: dict[str, list[int]] = {}
    results: list[tuple[ToolResult, PartPosition]] = []
    for at, message in enumerate(window.messages):
        is_assistant = message.is_assistant
        for part_at, part in enumerate(message.parts):
            if isinstance(part, ToolResult):
                if not part.legacy:
                    results.append((part, (at, part_at)))
            elif is_assistant and isinstance(part, ToolCall) and part.awaits_result:
                numbers.setdefault(_key(part), []).append(len(found.calls))
                found.calls.append(part)
    if results:
        _match_results(results, numbers, found, window)
    return found


def _match_results(
    results: list[tuple[ToolResult, PartPosition]],
    numbers: dict[str, list[int]],
    found: Exchanges,
    window: Window,
) -> None:
    """Match results to the calls that ``found`` holds; ``numbers`` has their numbers by key."""
    waiting = {key: deque(of_key) for key, of_key in numbers.items()}
    matching = _Matching(window, found, numbers, waiting, _choose_by_name(results, numbers, found))
    names_without_id = {equality_key(call.name) for call in found.calls if call.id is None}
    without_id: list[PartPosition] = []
    for part, position in results:
        if not part.is_hosted and (
            part.call_id in (None, "") or _is_matched_by_name(part, names_without_id, numbers)
        ):
            without_id.append(position)
        else:
            matching.add(part, position)
    if without_id:
        _match_without_id(without_id, found, window)
        found.strays.sort()


_COMPARED = 64
"""At most as many calls with the same id are compared by name."""


def _choose_by_name(
    results: list[tuple[ToolResult, PartPosition]], numbers: dict[str, list[int]], found: Exchanges
) -> dict[PartPosition, int]:
    """Return the calls of results whose key several calls share.

    A result belongs to the call at the same rank if their names are equal, else to the first other
    call of its name, else to the first that is left.
    """
    shared: dict[str, list[tuple[ToolResult, PartPosition]]] = {
        key: [] for key, of_key in numbers.items() if 1 < len(of_key) <= _COMPARED
    }
    if not shared:
        return {}
    for part, position in results:
        if (of_key := shared.get(_key(part))) is not None:
            of_key.append((part, position))
    chosen: dict[PartPosition, int] = {}
    for key, of_key in shared.items():
        if len(of_key) <= len(numbers[key]):
            chosen |= _choose(of_key, numbers[key], found)
    return chosen


def _choose(
    results: list[tuple[ToolResult, PartPosition]], numbers: list[int], found: Exchanges
) -> dict[PartPosition, int]:
    """Return the calls of results that share one key with the calls of these ``numbers``."""
    chosen: dict[PartPosition, int] = {}
    for (part, position), number in zip(results, numbers, strict=False):
        if part.name is None or part.name == found.calls[number].name:
            chosen[position] = number
    free = [number for number in numbers if number not in chosen.values()]
    for is_named in (True, False):
        for part, position in results:
            if position in chosen:
                continue
            fits = [n for n in free if not is_named or found.calls[n].name == part.name]
            if fits:
                chosen[position] = fits[0]
                free.remove(fits[0])
    return chosen


@dataclass(slots=True)
class _Matching:
    """The state of matching results to calls."""

    window: Window
    found: Exchanges
    numbers: dict[str, list[int]]
    """For each key that calls and results share, the numbers of the calls."""
    waiting: dict[str, deque[int]]
    """For each key, the numbers of the calls without a result."""
    chosen: dict[PartPosition, int]
    """The numbers of the calls of results that share their key with others."""

    def add(self, part: ToolResult, position: PartPosition) -> None:
        """Match a result to the call chosen for it, or to the first of its key that has none.

        If all calls have a result, the last call keeps the better of its result and this one.
        """
        key, found = _key(part), self.found
        if key not in self.numbers:
            found.strays.append(position)
            return
        if waiting := self.waiting[key]:
            number = self.chosen.get(position, waiting[0])
            waiting.remove(number)
            found.answers[number] = position
            return
        last = self.numbers[key][-1]
        at, part_at = found.answers[last]
        kept = self.window.messages[at].parts[part_at]
        if isinstance(kept, ToolResult) and _worth(part) > _worth(kept):
            found.answers[last], position = position, (at, part_at)
        found.duplicates.append((position, last))


def _key(part: ToolCall | ToolResult) -> str:
    """Return the key that a call and its result share: the id, plus the kind of a hosted tool.

    Codex answers calls of the local shell with outputs of functions.
    """
    call_id = part.call_id if isinstance(part, ToolResult) else part.id
    key = call_id if isinstance(call_id, str) else f"\0{equality_key(call_id)}"
    return f"{part.kind} {key}" if part.is_hosted and part.kind != LOCAL_SHELL else key


def _is_matched_by_name(
    part: ToolResult, names_without_id: set[str], numbers: dict[str, list[int]]
) -> bool:
    """Whether no call has the id of the result, and a call with its name has no id."""
    return (
        bool(names_without_id)
        and _key(part) not in numbers
        and equality_key(part.name) in names_without_id
    )


def _match_without_id(without_id: list[PartPosition], found: Exchanges, window: Window) -> None:
    """Match results without an id: each to the open call at the same rank if their names are equal.

    The remaining results are matched to the open calls of their name in order, then to the open
    call whose id is their name, then to any.
    """
    waiting = [
        n for n, call in enumerate(found.calls) if n not in found.answers and not call.is_hosted
    ]
    names = [
        getattr(window.messages[at].parts[part_at], "name", None) for at, part_at in without_id
    ]
    for number, position, name in zip(waiting, without_id, names, strict=False):
        if name and name == found.calls[number].name:
            found.answers[number] = position
    open_calls: dict[str, deque[int]] = {}
    for number in waiting:
        if number not in found.answers:
            open_calls.setdefault(equality_key(found.calls[number].name), deque()).append(number)
    matched = set(found.answers.values())
    rest: list[PartPosition] = []
    for position, name in zip(without_id, names, strict=True):
        if position in matched:
            continue
        if name and (named := open_calls.get(equality_key(name))):
            found.answers[named.popleft()] = position
        else:
            rest.append(position)
    rest = _match_ids_as_names(rest, found, window)
    left = [number for number in waiting if number not in found.answers]
    found.answers |= dict(zip(left, rest, strict=False))
    found.strays += rest[len(left) :]


def _match_ids_as_names(
    positions: list[PartPosition], found: Exchanges, window: Window
) -> list[PartPosition]:
    """Match results whose name is the id of an open call; return the other positions."""
    by_id = {
        call.id: number
        for number, call in reversed(list(enumerate(found.calls)))
        if isinstance(call.id, str) and number not in found.answers
    }
    rest: list[PartPosition] = []
    for at, part_at in positions:
        name = getattr(window.messages[at].parts[part_at], "name", None)
        number = by_id.pop(name, None) if isinstance(name, str) else None
        if number is None:
            rest.append((at, part_at))
        else:
            found.answers[number] = (at, part_at)
    return rest


def find_strays(window: Window, memory: Memory, *, called: bool) -> list[PartPosition]:
    """Return the positions of results that belong to no call of this window.

    ``called`` selects the results of calls in earlier windows, otherwise those of unknown calls.
    If the provider may store the calls, the list is empty.
    """
    found = match(window).strays
    if not found or memory.has_stored_history or any(map(_is_reference, window.messages)):
        return []
    return [position for position in found if _was_called(window, position, memory) is called]


def _is_reference(message: Message) -> bool:
    """Return whether an item refers to one that the provider stores; this may be a call."""
    return message.kind == REFERENCE


def _was_called(window: Window, position: PartPosition, memory: Memory) -> bool:
    """Return whether an earlier window had a call with the id of a stray result."""
    part = window.messages[position[0]].parts[position[1]]
    return (
        isinstance(part, ToolResult)
        and isinstance(part.call_id, str)
        and part.call_id in memory.call_ids
    )
