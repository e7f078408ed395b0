"""The engine: it cuts windows, lets the rules propose, applies what they propose, and keeps what it applied."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from chatmend.changes import Change
from chatmend.request import first_pass, last_pass
from chatmend.rules import Context, Request, rules_for
from chatmend.transcript import Thinking, is_unchanged
from chatmend.windows import Memory, Symptom, Window

if TYPE_CHECKING:
    from chatmend.changes import Fix
    from chatmend.dialects import Scan
    from chatmend.rules import Rule
    from chatmend.transcript import Message, Part

Messages = list[Any]
_EARLIER = {"role": "user", "content": "earlier"}
"""Stands for all that came before a window when it is scanned again."""
_ALWAYS = frozenset({"emptied-window", "leading-assistant"})


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
    memory: Memory = field(default_factory=Memory)
    scan: Scan | None = None
    due: dict[tuple[int, int], int] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()

    def start(self) -> None:
        """Visit each window once; a clean one costs a scan."""
        self.rules = rules_for(self.context.limits, self.native)
        if not self.rules:
            return
        request, self.changes = first_pass(Request(self.native), self.context)
        messages = request.messages
        scan = self.scan = self.context.dialect.scanner(self.context.limits)
        memory, end, start = self.memory, len(messages), 0
        out: Messages | None = None
        becomes: Messages | None
        while start < end:
            had_user, becomes = memory.has_user, None
            stop, mask, ids = scan(messages, start, memory)
            if self._is_clean(messages, mask, (start, stop)):
                if out is not None:
                    out.extend(messages[start:stop])
            else:
                memory.has_user = had_user
                becomes = self._mend(messages, start, stop, mask)
                if becomes is not None and out is None:
                    out = messages[:start]
                if out is not None:
                    out.extend(messages[start:stop] if becomes is None else becomes)
            memory.has_turns = memory.has_turns or memory.has_user or stop > 1 or mask == 0
            memory.call_ids.update(ids)
            self.context.dialect.remember(messages[start:stop] if becomes is None else becomes, memory)
            start = stop
        self.out = out if out is not None else (messages if messages is not self.native else None)

    def _is_clean(self, messages: Messages, mask: int, span: tuple[int, int]) -> bool:
        limits, (start, stop) = self.context.limits, span
        if mask:
            return False
        if start == 0 and limits.first_user:
            said = map(self.context.dialect.read, messages[:stop])
            first = next((message for message in said if not message.is_system), None)
            if first is None or first.role != "user":
                return False
        if not limits.needs_user or self.memory.has_user:
            return True
        opening = start == 0 and not self.context.dialect.read(messages[0]).is_assistant
        return opening and stop < len(messages)

    def _mend(self, messages: Messages, start: int, stop: int, mask: int) -> Messages | None:
        read = self.context.dialect.read
        natives = messages[start:stop]
        said = [read(native) for native in natives]
        opening = start == 0 and not said[0].is_assistant
        followed = any(not message.is_assistant for message in said)
        window = Window(said, list(range(start, stop)), opening, followed, last=stop == len(messages))
        before = len(self.changes)
        thinks = bool(mask & Symptom.THINKING)
        place = self._next(mask, 0)
        while place < len(self.rules):
            rule = self.rules[place]
            if fixes := list(rule.find(window, self.memory, self.context)):
                known = len(self.changes)
                self._apply(rule, fixes, window, (start, stop))
                if len(self.changes) > known:
                    mask = self._symptoms(window)
            place = self._next(mask, place + 1)
        self._remember(window)
        if thinks:
            self._mark_invalidating(window, before)
        if not any(change.applied for change in self.changes[before:]):
            return None
        return [message.whole for message in window.messages]

    def _next(self, mask: int, first: int) -> int:
        """The place of the next rule that these symptoms call for, from ``first`` on; the number of rules: none."""
        if (known := self.due.get((mask, first))) is not None:
            return known
        rules = self.rules
        due = (at for at in range(first, len(rules)) if rules[at].symptoms & mask or rules[at].name in _ALWAYS)
        place = self.due[mask, first] = next(due, len(rules))
        return place

    def _symptoms(self, window: Window) -> int:
        """What a scan sees in a window that a rule has changed: every rule where it is no longer one window."""
        natives = [message.whole for message in window.messages]
        if not natives or self.scan is None:
            return ~0
        head = [] if window.opening else [_EARLIER]
        had_user = self.memory.has_user
        stop, mask, _ = self.scan([*head, *natives], len(head), self.memory)
        self.memory.has_user = had_user
        return mask if stop == len(head) + len(natives) else ~0

    def _remember(self, window: Window) -> None:
        memory = self.memory
        for message in window.messages:
            memory.has_user = memory.has_user or message.role == "user"
            memory.has_turns = memory.has_turns or not message.is_system
            memory.call_ids.update(call.id for call in message.calls if isinstance(call.id, str))

    def _mark_invalidating(self, window: Window, before: int) -> None:
        """Mark the changes that signed thinking of this window stands behind; those of earlier windows at the end."""
        signed = [at for at, message in enumerate(window.messages) if any(map(_is_signed, message.parts))]
        if self.context.limits.thinking != "signed" or not signed:
            return
        self.signed = before
        for number, change in enumerate(self.changes[before:], before):
            if change.applied and change.at <= signed[-1]:
                self.changes[number] = replace(change, invalidates_thinking=True)

    def _apply(self, rule: Rule, fixes: list[Fix], window: Window, span: tuple[int, int]) -> None:
        shift = 0
        for fix in fixes:
            at = fix.start + shift
            replaced = window.messages[at : at + fix.stop - fix.start]
            before = tuple([message.whole for message in replaced])
            place = at if replaced else max(at - 1, 0)  # what is inserted concerns the message before it
            allowed = fix.effect <= self.context.policy.allow
            known = set(map(id, replaced))
            becomes = [m if id(m) in known else self._written(m) for m in fix.becomes] if allowed else []
            after = tuple([message.whole for message in becomes]) if allowed else before
            if allowed and is_unchanged(after, before):
                continue
            self.changes.append(
                Change(
                    rule.code, rule.name, fix.effect, window.origin(place), fix.why, before, after, span, at,
                    applied=allowed,
                )
            )  # fmt: skip
            if allowed:
                window.apply(fix, becomes, at)
                shift += len(becomes) - (fix.stop - fix.start)
                self.hoisted += fix.hoists

    def _written(self, message: Message) -> Message:
        dialect = self.context.dialect
        native = dialect.write(message)
        return dialect.read(native)

    def finish(self, system: object, tools: object) -> tuple[Request, tuple[Change, ...]]:
        """Add the last pass: the messages with what stands beside them, and the whole account."""
        messages = self.native if self.out is None else self.out
        behind = [replace(change, invalidates_thinking=change.applied) for change in self.changes[: self.signed]]
        changes = [*behind, *self.changes[self.signed :]]
        request = Request(messages, system, tools)
        if self.rules:
            request, more = last_pass(request, self.hoisted, self.context)
            changes += more
        return request, tuple(changes)


def _is_signed(part: Part) -> bool:
    return isinstance(part, Thinking) and bool(part.signature)
