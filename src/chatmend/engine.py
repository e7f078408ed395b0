"""The engine: it cuts windows, lets the rules propose, applies what they propose, and keeps what it applied."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from chatmend.changes import Change, Effect
from chatmend.request import first_pass, last_pass
from chatmend.rules import Context, Request, cuts, rules_for
from chatmend.transcript import Role, Thinking, ToolCall, is_unchanged
from chatmend.windows import Edit, Memory, Symptom, Window

if TYPE_CHECKING:
    from chatmend.changes import Fix
    from chatmend.dialects import Scan
    from chatmend.rules import Rule
    from chatmend.transcript import Message, Part

Messages = list[Any]
_EARLIER = {"role": "user", "content": "earlier"}
"""Stands for all that came before a window when it is scanned again."""


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
    due: dict[int, list[int]] = field(default_factory=dict)
    """For the symptoms of a window: from each place in the rules on, the place of the next one to run."""
    rules: tuple[Rule, ...] = ()
    cut: int = 0
    """The place in the rules of the first that sees each turn of a window by itself."""

    def start(self) -> None:
        """Visit each window once; a clean one costs a scan."""
        self.rules = rules_for(self.context.limits, self.native)
        if not self.rules:
            return
        self.cut = next((place for place, rule in enumerate(self.rules, 1) if rule.cuts), 0)
        request, self.changes = first_pass(Request(self.native), self.context)
        messages = request.messages
        scan = self.scan = self.context.dialect.scanner(self.context.limits)
        memory, end, start = self.memory, len(messages), 0
        out: Messages | None = None
        becomes: Messages | None
        asks_user = self.context.limits.first_user or self.context.limits.needs_user
        while start < end:
            had_user, becomes = memory.has_user, None
            stop, mask, ids = scan(messages, start, memory)
            signed, self.laden = mask & Symptom.SIGNED, self.laden or mask & ~Symptom.SIGNED != 0
            mask &= ~Symptom.HARMLESS
            settled = had_user and memory.has_turns
            if asks_user and not settled and self._lacks_user(messages, (start, stop), mask, had_user=had_user):
                mask |= Symptom.USERLESS
            if mask:
                memory.has_user = had_user
                becomes = self._mend(messages, (start, stop), mask, ids, signed=bool(signed))
                if becomes is not None and out is None:
                    out = messages[:start]
            elif signed and self.context.limits.thinking == "signed":
                self.signed = len(self.changes)
            if out is not None:
                out.extend(messages[start:stop] if becomes is None else becomes)
            memory.has_turns = memory.has_turns or memory.has_user or stop > 1 or mask == 0
            memory.call_ids.update(ids)
            self.context.dialect.remember(messages[start:stop] if becomes is None else becomes, memory)
            start = stop
        self.out = out if out is not None else (messages if messages is not self.native else None)

    def _lacks_user(self, messages: Messages, span: tuple[int, int], mask: int, *, had_user: bool) -> bool:
        """Whether no user may have spoken yet where the target wants one; of a window with symptoms it may turn out."""
        limits, (start, stop) = self.context.limits, span
        first, needed = limits.first_user and not self.memory.has_turns, limits.needs_user and not had_user
        if mask or not (first or needed):
            return first or needed
        read = self.context.dialect.read
        if first:
            said = map(read, messages[:stop])
            turn = next((message for message in said if not message.is_system), None)
            return turn is None or turn.role is not Role.USER
        if self.memory.has_user:
            return False
        opening = start == 0 and not read(messages[0]).is_assistant
        return not opening or stop == len(messages)

    def _mend(
        self, messages: Messages, span: tuple[int, int], mask: int, ids: list[str], *, signed: bool
    ) -> Messages | None:
        start, stop = span
        natives, place, renamed = messages[start:stop], self._due(mask)[0], False
        if mask == Symptom.IDS and not signed:
            given = natives
            natives, mask, place = self._renamed(given, ids, span)
            renamed = natives is not given
            if place == len(self.rules):
                return natives if renamed else None
        said = list(map(self.context.dialect.read, natives))
        opening = start == 0 and said[0].role is not Role.ASSISTANT
        others = [message for message in said if message.role is not Role.ASSISTANT]
        heard = any(not message.is_system for message in others)
        last = stop == len(messages)
        window = Window(said, list(range(start, stop)), opening, bool(others), heard, last)
        before = len(self.changes)
        changed = self._run(window, span, mask, place) or renamed
        self._remember(window)
        if signed:
            self._mark_invalidating(window, before)
        return [message.whole for message in window.messages] if changed else None

    def _renamed(self, natives: Messages, ids: list[str], span: tuple[int, int]) -> tuple[Messages, int, int]:
        """Run the rules that give calls other ids, as far as that can be done without reading the window.

        Returns the window, its symptoms, and the place in the rules of the next one to run: behind the last, mostly. It
        has calls, so it is no opening.
        """
        memory, mask, due = self.memory, Symptom.IDS, self._due(Symptom.IDS)
        place, end = due[0], len(self.rules)
        while place < end and (renaming := self.rules[place].renaming) is not None:
            if (choose := renaming.chooser(set(ids), memory, self.context)) is not None:
                if (named := self.context.dialect.renamed(natives, choose)) is None:
                    return natives, mask, place
                if self._keep_renamed(self.rules[place], renaming.why, natives, named, span):
                    natives = named
                    mask, ids = self._scanned(natives, opening=False)
                    due = self._due(mask)
            place = due[place + 1]
        if place == end:  # nobody is to read it, so what `_remember` would is remembered here
            memory.has_user = memory.has_user or any(native["role"] == "user" for native in natives)
            memory.has_turns = True
            memory.call_ids.update(ids)
        return natives, mask, place

    def _keep_renamed(self, rule: Rule, why: str, old: Messages, new: Messages, span: tuple[int, int]) -> bool:
        """Keep what a renaming has changed, which every policy allows; whether it was anything."""
        before = len(self.changes)
        for at, (one, other) in enumerate(zip(old, new, strict=True)):
            if one is not other:
                index = span[0] + at
                self.changes.append(
                    Change(rule.code, rule.name, Effect.RESHAPES, index, why, (one,), (other,), span, at)
                )
        return len(self.changes) > before

    def _run(self, window: Window, span: tuple[int, int], mask: int, place: int) -> bool:
        """Run the rules that the symptoms call for, from a place in them on; whether one changed the window."""
        changed, mask = self._run_rules(window, span, mask, (place, self.cut))
        starts = cuts(window, self.context) if self.cut and mask & Symptom.PAIRING else [0]
        if len(starts) == 1:
            return self._run_rules(window, span, mask, (max(place, self.cut), len(self.rules)))[0] or changed
        return self._run_turns(window, span, mask, starts) or changed

    def _run_turns(self, window: Window, span: tuple[int, int], mask: int, starts: list[int]) -> bool:
        """Run the rules behind the cut on each turn of a window; whether one changed anything."""
        changed = False
        messages: list[Message] = []
        origins: list[int | None] = []
        for start, stop in pairwise([*starts, len(window.messages)]):
            turn = window.part(start, stop)
            turn.offset = len(messages)
            mask = self._symptoms(turn) | (mask & Symptom.USERLESS)
            changed = self._run_rules(turn, span, mask, (self.cut, len(self.rules)))[0] or changed
            self._remember(turn)
            self.context.dialect.remember([message.whole for message in turn.messages], self.memory)
            messages += turn.messages
            origins += turn.origins
        window.become(messages, origins)
        return changed

    def _run_rules(self, window: Window, span: tuple[int, int], mask: int, places: tuple[int, int]) -> tuple[bool, int]:
        """Run the rules between two places that the symptoms call for.

        Returns whether one of them changed the window, and the symptoms that it has then.
        """
        changed, (place, end) = False, places
        due = self._due(mask)
        place = due[place]
        while place < end:
            rule = self.rules[place]
            if (fixes := list(rule.find(window, self.memory, self.context))) and self._apply(rule, fixes, window, span):
                changed = True
                mask = self._symptoms(window) | (mask & Symptom.USERLESS)
                due = self._due(mask)
            place = due[place + 1]
        return changed, mask

    def _due(self, mask: int) -> list[int]:
        """For each place in the rules that of the next one, from there on, that these symptoms call for."""
        if (known := self.due.get(mask)) is not None:
            return known
        count = len(self.rules)
        due = [count] * (count + 1)
        for place in reversed(range(count)):
            due[place] = place if self.rules[place].symptoms & mask else due[place + 1]
        self.due[mask] = due
        return due

    def _symptoms(self, window: Window) -> int:
        """What a scan sees in a window that a rule has changed: every rule where it is no longer one window."""
        mask, _ = self._scanned([message.whole for message in window.messages], opening=window.opening)
        if window.followed and window.messages and window.messages[-1].is_assistant:
            mask |= Symptom.TURNS  # what followed is gone
        return mask

    def _scanned(self, natives: Messages, *, opening: bool) -> tuple[int, list[str]]:
        """The symptoms of a window and the ids of its calls; every symptom where it is no longer one window."""
        if not natives or self.scan is None:
            return ~0, []
        head = [] if opening else [_EARLIER]
        had_user = self.memory.has_user
        stop, mask, ids = self.scan([*head, *natives], len(head), self.memory)
        self.memory.has_user = had_user
        return mask if stop == len(head) + len(natives) else ~0, ids

    def _remember(self, window: Window) -> None:
        memory = self.memory
        for message in window.messages:
            memory.has_user = memory.has_user or message.role is Role.USER
            memory.has_turns = memory.has_turns or not message.is_system
            for part in message.parts:
                if isinstance(part, ToolCall) and isinstance(part.id, str):
                    memory.call_ids.add(part.id)

    def _mark_invalidating(self, window: Window, before: int) -> None:
        """Mark the changes that signed thinking of this window stands behind; those of earlier windows at the end."""
        signed = [at for at, message in enumerate(window.messages) if any(map(_is_signed, message.parts))]
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


def _is_signed(part: Part) -> bool:
    return isinstance(part, Thinking) and bool(part.signature)
