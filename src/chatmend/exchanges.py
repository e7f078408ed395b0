"""Which result of a window answers which call: by occurrence, in order, never by the id alone."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from chatmend.changes import Effect
from chatmend.jsontext import identity
from chatmend.placeholders import CALL_NOTE, CONTINUED, is_placeholder
from chatmend.transcript import Media, Text, ToolCall, ToolResult, is_blank
from chatmend.windows import Exchanges, Place

if TYPE_CHECKING:
    from chatmend.context import Context
    from chatmend.transcript import Message
    from chatmend.windows import Window


def _worth(result: ToolResult) -> int:
    """A real result beats an empty one, and an empty one a placeholder of ours."""
    return 0 if is_placeholder(result) else 1 if is_blank(result.content) else 2


def match(window: Window) -> Exchanges:
    """Match results to calls, first come, first served among calls of one id."""
    if window.exchanges is None:
        window.exchanges = _matched(window)
    return window.exchanges


def turns(window: Window, context: Context) -> list[int]:
    """Where the turns of a window begin: mostly it is one.

    An assistant message with text and no calls shows that the model went on: its earlier calls are over. They are also
    over when another role spoke after them. A message of thinking alone proves nothing: it may separate parallel calls.
    With ``words_behind_calls``, text proves nothing either while a result of an earlier call is still to come.
    """
    converted, latest = context.limits.words_behind_calls, -1
    answered, starts, called, number = match(window).answers, [0], False, 0
    silent: int | None = None
    for at, message in enumerate(window.messages):
        if not message.is_assistant:
            silent = None
            continue
        if at and not window.messages[at - 1].is_assistant:
            starts.append(at)
            called = False
        calls = [call for call in message.calls if not call.legacy]
        if calls:
            # nothing can be said in the place of a result that the provider itself makes
            called = called or any(not call.is_hosted or number + i in answered for i, call in enumerate(calls))
            places = [answered[number + i][0] for i in range(len(calls)) if number + i in answered]
            number, silent, latest = number + len(calls), None, max([latest, *places])
        elif called:
            silent = at if silent is None else silent
            if _says_something(message) and not (converted and latest > at):
                starts.append(silent)
                called, silent = False, None
    return starts


def cuts(window: Window, context: Context) -> list[int]:
    """Where a window is cut into its turns, once its results stand where they belong.

    Two turns are separated by a result. If there is none, and the policy allows no placeholder, they stay one turn.
    """
    if not context.limits.pairing:
        return [0]
    added = context.policy.allow >= Effect.ADDS
    return [at for at in turns(window, context) if added or not at or not window.messages[at - 1].is_assistant]


def _says_something(message: Message) -> bool:
    """Whether a message has words of the model's own: not a call that was told as text, nor a placeholder."""
    return any(isinstance(part, Media) or (isinstance(part, Text) and _is_said(part.text)) for part in message.parts)


def _is_said(text: str) -> bool:
    return bool(text.strip()) and text != CONTINUED and not text.startswith(CALL_NOTE)


def _matched(window: Window) -> Exchanges:
    found = Exchanges()
    numbers: dict[str, list[int]] = {}
    nameless: list[Place] = []
    for message in window.messages:
        for call in message.parts if message.is_assistant else ():
            if isinstance(call, ToolCall) and not call.legacy:
                numbers.setdefault(_key(call), []).append(len(found.calls))
                found.calls.append(call)
    matching = _Matching(window, found, numbers, dict.fromkeys(numbers, 0))
    idless = {identity(call.name) for call in found.calls if call.id is None}
    for at, message in enumerate(window.messages):
        for part_at, part in enumerate(message.parts):
            if isinstance(part, ToolResult) and not part.legacy:
                if not part.is_hosted and (part.call_id in (None, "") or _by_name(part, idless, numbers)):
                    nameless.append((at, part_at))
                else:
                    matching.place(part, (at, part_at))
    if nameless:
        _place_nameless(nameless, found, window)
        found.strays.sort()
    return found


@dataclass(slots=True)
class _Matching:
    """Results on their way to the calls that they answer."""

    window: Window
    found: Exchanges
    numbers: dict[str, list[int]]
    """For what a call and its result share, the numbers of the calls."""
    heads: dict[str, int]
    """How many of these are answered."""

    def place(self, part: ToolResult, place: Place) -> None:
        """Give a result to the first call of its id that has none; the better of two stays with the last."""
        key, found = _key(part), self.found
        if key not in self.numbers:
            found.strays.append(place)
            return
        head = self.heads[key]
        if head < len(self.numbers[key]):
            self.heads[key] += 1
            found.answers[self.numbers[key][head]] = place
            return
        last = self.numbers[key][-1]
        at, part_at = found.answers[last]
        kept = self.window.messages[at].parts[part_at]
        if isinstance(kept, ToolResult) and _worth(part) > _worth(kept):
            found.answers[last], place = place, (at, part_at)
        found.duplicates.append((place, last))


def _key(part: ToolCall | ToolResult) -> str:
    """What a call and its result share: the id, and the kind where the provider defines the tool."""
    known = part.call_id if isinstance(part, ToolResult) else part.id
    key = known if isinstance(known, str) else f"\0{identity(known)}"
    return f"{part.kind} {key}" if part.is_hosted else key


def _by_name(part: ToolResult, idless: set[str], numbers: dict[str, list[int]]) -> bool:
    """Whether a result has an id that no call has, while a call of its name has none."""
    return bool(idless) and _key(part) not in numbers and identity(part.name) in idless


def _place_nameless(nameless: list[Place], found: Exchanges, window: Window) -> None:
    """Results without an id answer the open call of their place, if that has their name.

    What is left answers the open calls of its name in order, then any.
    """
    waiting = [n for n, call in enumerate(found.calls) if n not in found.answers and not call.is_hosted]
    names = [getattr(window.messages[at].parts[part_at], "name", None) for at, part_at in nameless]
    for number, place, name in zip(waiting, nameless, names, strict=False):
        if name and name == found.calls[number].name:
            found.answers[number] = place
    open_calls: dict[str, deque[int]] = {}
    for number in waiting:
        if number not in found.answers:
            open_calls.setdefault(identity(found.calls[number].name), deque()).append(number)
    placed = set(found.answers.values())
    rest: list[Place] = []
    for place, name in zip(nameless, names, strict=True):
        if place in placed:
            continue
        if name and (named := open_calls.get(identity(name))):
            found.answers[named.popleft()] = place
        else:
            rest.append(place)
    left = [number for number in waiting if number not in found.answers]
    found.answers |= dict(zip(left, rest, strict=False))
    found.strays += rest[len(left) :]
