"""The engine: it cuts windows, lets the rules propose, applies what they propose, and keeps what it applied."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from chatmend.changes import Change
from chatmend.exchanges import cuts
from chatmend.request import first_pass, last_pass
from chatmend.rules import Request, cut_of, rules_for
from chatmend.scan import Scan
from chatmend.transcript import Role, ToolCall, is_signed, is_unchanged
from chatmend.windows import Edit, Memory, Window

if TYPE_CHECKING:
    from chatmend.changes import Fix
    from chatmend.context import Context
    from chatmend.rules import Rule
    from chatmend.sketch import Group
    from chatmend.transcript import Message

Messages = list[Any]
_FIRST, _LAST = "<", ">"
"""Where a window stands in the transcript."""


@dataclass(slots=True)
class Run:
    """One repair on its way through the windows."""

    native: Messages
    context: Context
    out: Messages | None = None
    changes: list[Change] = field(default_factory=list)
    hoisted: list[str] = field(default_factory=list)
    signed: int = 0
    """How many of the changes stand in a window before one with signed thinking."""
    laden: bool = False
    """Whether there may be an image or a cache marker."""
    memory: Memory = field(default_factory=Memory)
    scan: Scan | None = None
    rules: tuple[Rule, ...] = ()
    fired: bool = False
    """Whether a rule had something to say of the window."""
    cut: int = 0
    """The place in the rules of the first that sees each turn of a window by itself."""

    def start(self) -> None:
        """Visit each window once; one in which no rule is due costs a sketch."""
        self.rules = rules_for(self.context.limits, self.native)
        if not self.rules:
            return
        self.cut = cut_of(self.rules)
        request, self.changes = first_pass(Request(self.native), self.context)
        messages = request.messages
        scan = self.scan = Scan(self.context, self.rules, self.memory)
        start = 0
        out: Messages | None = None
        scan.refresh()
        words = scan.words(messages)
        places = _places(len(words))
        for word, place in zip(words, places, strict=True):
            stop = start + len(word)
            becomes: Messages | None = None
            if (known := scan.known_clean(word, place)) is None:
                becomes = self._visit(scan, word, messages[start:stop], start, place)
                scan.refresh()
            elif known.has_trace:
                self._leave(known.group, messages[start:stop])
                scan.refresh()
            if becomes is not None and out is None:
                out = messages[:start]
            if out is not None:
                out += messages[start:stop] if becomes is None else becomes
            start = stop
        self.out = out if out is not None else (messages if messages is not self.native else None)

    def _leave(self, group: Group, natives: Messages) -> None:
        """Leave a window as it is, and note what later ones must know."""
        memory = self.memory
        self.laden = self.laden or group.is_laden
        if group.is_signed and self.context.limits.thinking == "signed":
            self.signed = len(self.changes)
        memory.has_user = memory.has_user or group.has_user
        memory.has_turns = memory.has_turns or group.has_turns
        memory.has_reasoning = memory.has_reasoning or group.reasons
        if group.is_remembered:
            self.context.dialect.remember(natives, memory)

    def _visit(self, scan: Scan, word: str, natives: Messages, start: int, place: str) -> Messages | None:
        """Look at a window, and run the rules that are due in it; what it becomes, if it changes."""
        group, last = scan.group(word, natives), _LAST in place
        seen = scan.look(group, last=last)
        flags = (not start and not group.run, group.followed, group.heard, last)
        due = scan.due(seen, flags, lambda: self._window(natives, start, flags))
        if not due:
            scan.remember_clean(seen, place)
            self._leave(group, natives)
            self.memory.call_ids.update(seen.calls)
            self.memory.item_ids.update(seen.entries)
            return None
        self.laden = self.laden or group.is_laden
        window, span = self._window(natives, start, flags), (start, start + len(natives))
        fresh, self.fired, came = scan.fresh, False, _call_ids([said for said in window.messages if said.is_assistant])
        becomes = self._mend(window, span, due, group)
        if fresh is not None and not self.fired:
            scan.learn_clean(fresh, seen)
        self.memory.call_ids.update(came)
        self.context.dialect.remember(natives if becomes is None else becomes, self.memory)
        return becomes

    def _window(self, natives: Messages, start: int, flags: tuple[bool, ...]) -> Window:
        opening, followed, heard, last = flags
        said = list(map(self.context.dialect.read, natives))
        return Window(said, list(range(start, start + len(said))), opening, followed, heard, last)

    def _mend(self, window: Window, span: tuple[int, int], due: int, group: Group) -> Messages | None:
        before = len(self.changes)
        changed = self._run(window, span, due, goes_on=group.goes_on or not group.is_known)
        self._remember(window)
        if group.is_signed:
            self._mark_invalidating(window, before)
        return [message.whole for message in window.messages] if changed else None

    def _run(self, window: Window, span: tuple[int, int], due: int, *, goes_on: bool) -> bool:
        """Run the rules that are due; whether one changed the window. As it came, it is one turn unless it goes on."""
        changed, due = self._run_rules(window, span, due, (0, self.cut))
        starts = cuts(window, self.context) if self.cut and (changed or goes_on) else [0]
        if len(starts) == 1:
            return self._run_rules(window, span, due, (self.cut, len(self.rules)))[0] or changed
        return self._run_turns(window, span, starts) or changed

    def _run_turns(self, window: Window, span: tuple[int, int], starts: list[int]) -> bool:
        """Run the rules behind the cut on each turn of a window; whether one changed anything."""
        changed = False
        messages: list[Message] = []
        origins: list[int | None] = []
        for start, stop in pairwise([*starts, len(window.messages)]):
            turn = window.part(start, stop)
            turn.offset = len(messages)
            changed = self._run_rules(turn, span, self._due(turn, 0), (self.cut, len(self.rules)))[0] or changed
            self._remember(turn)
            self.context.dialect.remember([message.whole for message in turn.messages], self.memory)
            messages += turn.messages
            origins += turn.origins
        window.become(messages, origins)
        return changed

    def _run_rules(self, window: Window, span: tuple[int, int], due: int, places: tuple[int, int]) -> tuple[bool, int]:
        """Run the rules between two places that are due.

        Returns whether one of them changed the window, and which are due in it then.
        """
        changed, (place, end) = False, places
        while place < end:
            if not due >> place & 1:
                place += 1
                continue
            rule = self.rules[place]
            if fixes := list(rule.find(window, self.memory, self.context)):
                self.fired = True
                if self._apply(rule, fixes, window, span):
                    changed, due = True, self._due(window, due)
            place += 1
        return changed, due

    def _due(self, window: Window, before: int) -> int:
        """Which rules are due in a window that has changed; all, where all were."""
        assert self.scan is not None  # noqa: S101 - a window was looked at
        if before == self.scan.all:
            return before
        natives = [message.whole for message in window.messages]
        flags = (window.opening, window.followed, window.heard, window.last)
        return self.scan.due(self.scan.again(natives, last=window.last), flags, lambda: window)

    def _remember(self, window: Window) -> None:
        memory = self.memory
        for message in window.messages:
            memory.has_user = memory.has_user or message.role is Role.USER
            memory.has_turns = memory.has_turns or not message.is_system
        memory.call_ids.update(_call_ids(window.messages))

    def _mark_invalidating(self, window: Window, before: int) -> None:
        """Mark the changes that signed thinking of this window stands behind; those of earlier windows at the end."""
        signed = [at for at, message in enumerate(window.messages) if is_signed(message.parts)]
        if self.context.limits.thinking != "signed" or not signed:
            return
        self.signed = before
        for number, change in enumerate(self.changes[before:], before):
            if change.applied and change.at <= signed[-1]:
                self.changes[number] = replace(change, invalidates_thinking=True)

    def _apply(self, rule: Rule, fixes: list[Fix], window: Window, span: tuple[int, int]) -> bool:
        """Make the changes that a rule proposes, or note them where the caller does not allow them; whether one was."""
        edit, made = Edit(window), False
        for fix in fixes:
            replaced, at, index = edit.reach(fix)
            before = tuple([message.whole for message in replaced])
            allowed = fix.effect <= self.context.policy.allow and not fix.finding
            becomes = self._written(fix.becomes, replaced) if allowed else replaced
            after = tuple([message.whole for message in becomes])
            if allowed and is_unchanged(after, before):
                continue
            at += window.offset
            self.changes.append(
                Change(
                    rule.code, rule.name, fix.effect, index, fix.why, before, after, span, at,
                    applied=allowed, finding=fix.finding,
                )
            )  # fmt: skip
            if allowed:
                made = True
                edit.replace(fix, becomes)
                self.hoisted += fix.hoists
        if made:
            edit.finish()
        return made

    def _written(self, becomes: tuple[Message, ...], replaced: list[Message]) -> list[Message]:
        """Messages bound to what they are sent as; those that stay are the same."""
        stay = set(map(id, replaced))
        return [m if id(m) in stay else self._bound(m) for m in becomes]

    def _bound(self, said: Message) -> Message:
        """A message as it reads when it is written; what the assistant said stays the assistant's in this window."""
        bound = self.context.dialect.read(self.context.dialect.write(said))
        return bound if bound.is_assistant or not said.is_assistant else replace(bound, role=said.role)

    def finish(self, system: object, tools: object) -> tuple[Request, tuple[Change, ...]]:
        """Add the last pass: the messages with what stands beside them, and the whole account."""
        messages = self.native if self.out is None else self.out
        behind = [replace(change, invalidates_thinking=change.applied) for change in self.changes[: self.signed]]
        changes = [*behind, *self.changes[self.signed :]]
        request = Request(messages, system, tools)
        if self.rules:
            request, more = last_pass(request, self.hoisted, self.context, laden=self.laden)
            changes += more
        return request, tuple(changes)


def _places(number: int) -> list[str]:
    """Where windows stand: the first, the last, and those amid others."""
    places = [""] * number
    if places:
        places[0] = _FIRST
        places[-1] += _LAST
    return places


def _call_ids(messages: list[Message]) -> list[str]:
    parts = (part for message in messages for part in message.parts)
    return [part.id for part in parts if isinstance(part, ToolCall) and isinstance(part.id, str)]
