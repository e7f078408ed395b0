"""Runs the rules on each window of a transcript, applies the fixes and records the changes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from chatmend.changes import Change, Effect
from chatmend.jsontext import is_identical
from chatmend.letters import cut, has_unknown
from chatmend.renaming import apply_plan
from chatmend.repaired_windows import Repair
from chatmend.request_rules import EVERY, run_first_rules, run_last_rules
from chatmend.rules import Request, offline_order, rules_for
from chatmend.scan import FIRST, LAST, Scan
from chatmend.transcript import Role, ToolCall
from chatmend.turns import cut_positions
from chatmend.windows import Edit, Memory, Window

if TYPE_CHECKING:
    from chatmend.changes import Fix
    from chatmend.context import Context
    from chatmend.known_transcripts import Lookup
    from chatmend.renaming import Renaming
    from chatmend.rules import Rule
    from chatmend.sketch import Group, WindowSketch
    from chatmend.transcript import Message

Messages = list[Any]


class NotPlainError(Exception):
    """The messages cannot be examined as they are: they may hold objects of other classes."""


@dataclass(slots=True)
class Run:
    """The state of one repair."""

    native: Messages
    context: Context
    out: Messages | None = None
    """The repaired messages; None if none has changed."""
    changes: list[Change] = field(default_factory=list)
    hoisted: list[str | dict[str, Any]] = field(default_factory=list)
    """Texts that move from the messages to the top-level system prompt."""
    declared: list[dict[str, Any]] = field(default_factory=list)
    """Tools that move from the messages to the tools of the request."""
    counted: int = 0
    """The rules in ``LAST`` that count content which the messages may hold, as a bit mask."""
    memory: Memory = field(default_factory=Memory)
    scan: Scan | None = None
    rules: tuple[Rule, ...] = ()
    has_fixes: bool = False
    """Whether a rule has proposed a fix for the current window."""
    cut: int = 0
    """The position of the first rule that runs on each turn of a window separately."""
    accepted: int = 0
    """Messages at the beginning that the provider has accepted; no rule changes them."""
    lookup: Lookup | None = None
    """Has read the transcript, or remembers it if it is clean."""
    assumes_plain: bool = False
    """Whether to stop before any rule runs if the messages may hold objects of other classes."""
    depends_on_structure: bool = True
    """Whether any transcript of the same structure is known to be clean."""

    def start(self) -> None:
        """Process each window once; clean windows cost only their sketch.

        Raises:
            NotPlainError: ``assumes_plain`` is set, and the structure of a message is unknown.
        """
        self.rules = rules_for(self.context.limits, self.native)
        if not self.rules:
            return
        # Before any message is read: what the dialect reads depends on the limits.
        scan = self.scan = Scan(self.context, self.rules, self.memory)
        given = Request(self.native)
        request, self.changes = run_first_rules(given, self.context, self.accepted)
        lookup = self.lookup
        reader = None if lookup is None else lookup.take_reader(request.messages, scan.cache)
        letters = scan.read(request.messages, reader)
        if self.assumes_plain and has_unknown(letters):
            raise NotPlainError
        if lookup is not None:
            lookup.remember_dialect(request.messages, letters, self.context, scan.cache)
        self.depends_on_structure = not (
            self.accepted or self.memory.has_stored_history or offline_order.rewrites(self.context)
        )
        known = scan.reader.find_clean() if self.depends_on_structure else None
        if known is not None:
            self.counted = known
        else:
            self._process_windows(request.messages, letters, scan)
            if not self.depends_on_structure or not scan.reader.remember_clean(self.counted):
                return
        if self.depends_on_structure and lookup is not None:
            lookup.source.remember(letters, self.context, scan.cache)

    def _process_windows(self, messages: Messages, letters: str, scan: Scan) -> None:
        self.cut = scan.turn_rules_start
        start = 0
        out: Messages | None = None
        scan.refresh()
        words = cut(letters)
        positions = _window_positions(len(words))
        at = 0
        while at < len(words):
            becomes: Messages | None = None
            if count := scan.pass_clean(words, at):
                stop = start + sum(map(len, words[at : at + count]))
            else:
                word, position, count = words[at], positions[at], 1
                stop = start + len(word)
                if (known := scan.find_clean(word, position)) is None:
                    becomes = self._process(scan, word, messages[start:stop], start, position)
                    scan.refresh()
                elif known.updates_run:
                    self._pass(known.group, messages[start:stop])
                    scan.refresh()
            if becomes is not None and out is None:
                out = messages[:start]
            if out is not None:
                out += messages[start:stop] if becomes is None else becomes
            start, at = stop, at + count
        self.out = out if out is not None else (messages if messages is not self.native else None)

    def _pass(self, group: Group, natives: Messages) -> None:
        """Update the memory after an unchanged window."""
        memory = self.memory
        if group.updates_memory or not group.is_known:
            self.depends_on_structure = False
        self.counted |= group.counted
        memory.has_user = memory.has_user or group.has_user
        memory.has_turns = memory.has_turns or group.has_turns
        memory.has_reasoning = memory.has_reasoning or group.has_reasoning
        if group.updates_memory:
            self.context.dialect.remember(natives, memory)

    def _process(
        self, scan: Scan, word: str, natives: Messages, start: int, position: str
    ) -> Messages | None:
        """Run the due rules on a window; return its new messages, None if it is unchanged."""
        group, last = scan.group(word, natives), LAST in position
        sketch = scan.next_window(group, last=last)
        flags = (not start and not group.run_length, group.has_other_roles, group.has_input, last)
        is_accepted = start + len(natives) <= self.accepted
        due = (
            0
            if is_accepted
            else scan.due(sketch, flags, lambda: self._read_window(natives, start, flags))
        )
        if not due:
            if not is_accepted:
                scan.remember_clean(sketch, position)
            self._pass(group, natives)
            self.memory.call_ids.update(sketch.call_ids)
            self.memory.item_ids.update(sketch.item_ids)
            return None
        self.depends_on_structure = False
        key = scan.key if scan.renames_only(due, group) else ()
        renaming = scan.cache.renamings.get(key) if key else None
        if renaming and (renamed := self._rename(renaming, sketch, natives, start)) is not None:
            return renamed
        self.counted = EVERY if group.counted else self.counted
        changes, known_as = len(self.changes), () if key else self._key_of_repair(scan, group)
        if known_as and (repaired := scan.cache.repaired_windows.find(known_as, natives, start)):
            return self._repeat(repaired)
        window = self._read_window(natives, start, flags)
        if known_as:
            return self._process_and_remember(window, sketch, due, natives, known_as)
        becomes = self._process_due(window, sketch, due, natives)
        if key and becomes is not None and key not in scan.cache.renamings:
            rule = self.rules[scan.cache.renaming].code
            if all(change.code == rule for change in self.changes[changes:]):
                read = self._read_window(natives, start, flags)
                scan.remember_renaming(key, sketch, read, becomes)
        return becomes

    def _rename(
        self, renaming: Renaming, sketch: WindowSketch, natives: Messages, start: int
    ) -> Messages | None:
        """Rename the calls of a window in which nothing else is wrong.

        None if this may lead to other defects; then nothing has changed.
        """
        assert self.scan is not None  # noqa: S101 - set before the first window
        memory, limits, judge = self.memory, self.context.limits, self.scan.judge_of_new_ids
        rule = self.rules[self.scan.cache.renaming]
        call_ids, span = sketch.call_ids, (start, start + len(natives))
        taken, counts = set(call_ids), {key: memory.id_counts.get(key) for key in call_ids}
        choose = rule.rename
        assert choose is not None  # noqa: S101 - the cache has found the rule by it
        changed = dict(
            apply_plan(
                renaming.plan, natives, sketch.ids, lambda old: choose(old, memory, limits, taken)
            )
        )
        new_ids = taken.difference(call_ids)
        if judge is not None and any(judge(new) != renaming.id_class for new in new_ids):
            memory.id_counts.update({key: count or 0 for key, count in counts.items()})
            return None
        self.changes += [
            Change(
                rule.code, rule.name, Effect.RESHAPES, start + at, rule.why, (natives[at],),
                (native,), span, at,
            )
            for at, native in changed.items()
        ]  # fmt: skip
        out = [changed.get(at, native) for at, native in enumerate(natives)]
        self._pass(sketch.group, out)
        memory.call_ids |= taken
        memory.item_ids.update(sketch.item_ids)
        return out

    def _key_of_repair(self, scan: Scan, group: Group) -> tuple[object, ...]:
        """Return the key by which the repair of a window of objects is remembered; empty if not."""
        limits, dialect = self.context.limits, self.context.dialect
        if (
            not getattr(dialect, "reads_alike", False)
            or scan.new_key is not None
            or group.updates_memory
            or self.memory.id_counts
            or self.memory.server_calls
            or limits.refused_blocks
            or limits.outdated_blocks
        ):
            return ()
        return scan.key

    def _repeat(self, repaired: Repair) -> Messages:
        """Repair a window as before; return its new messages."""
        self.changes += repaired.changes
        memory = self.memory
        memory.call_ids |= repaired.call_ids
        memory.has_user, memory.has_turns = repaired.has_user, repaired.has_turns
        return list(repaired.becomes)

    def _process_and_remember(
        self,
        window: Window,
        sketch: WindowSketch,
        due: int,
        natives: Messages,
        known_as: tuple[object, ...],
    ) -> Messages | None:
        """Do the same as ``_process_due``, and remember a repair that depends on nothing else."""
        assert self.scan is not None  # noqa: S101 - set before the first window
        memory, start, number = self.memory, window.origins[0] or 0, len(self.changes)
        new_ids, (call_ids, *others) = {*sketch.ids} - memory.call_ids, self._effects()
        becomes = self._process_due(window, sketch, due, natives)
        changes, added = tuple(self.changes[number:]), new_ids & memory.call_ids
        if (
            becomes is not None
            and self._effects() == (call_ids + len(added), *others)
            # What becomes of an image depends on the recompressor.
            and not any(change.code.startswith("IMG") for change in changes)
        ):
            facts = frozenset(added), memory.has_user, memory.has_turns
            repair = Repair(tuple(becomes), changes, *facts)
            self.scan.cache.repaired_windows.remember(known_as, natives, start, repair)
        return becomes

    def _effects(self) -> tuple[int, ...]:
        """Return numbers that show what a rule changes apart from the messages."""
        memory = self.memory
        return (
            len(memory.call_ids), len(memory.item_ids), memory.has_reasoning, len(self.hoisted),
            len(self.declared), len(memory.id_counts), len(memory.server_calls),
        )  # fmt: skip

    def _process_due(
        self, window: Window, sketch: WindowSketch, due: int, natives: Messages
    ) -> Messages | None:
        """Read a window and run the due rules; return its new messages, None if unchanged."""
        assert self.scan is not None  # noqa: S101 - set before the first window
        scan, group, start = self.scan, sketch.group, window.origins[0] or 0
        span = (start, start + len(natives))
        new_key, self.has_fixes = scan.new_key, False
        scan.start_window(natives, sketch)
        original_ids = (
            sketch.call_ids
            if group.is_known
            else _call_ids([message for message in window.messages if message.is_assistant])
        )
        had_server_calls = bool(self.memory.server_calls)
        changed = self._run_due(window, span, due, group)
        becomes = [message.list_item for message in window.messages] if changed else None
        # A window that opens or answers a call of a hosted tool changes the memory by its ids.
        is_learnt = not (self.has_fixes or had_server_calls or self.memory.server_calls)
        if new_key is not None and is_learnt:
            scan.record_clean(new_key, sketch)
        self.memory.call_ids.update(original_ids)
        self.context.dialect.remember(natives if becomes is None else becomes, self.memory)
        return becomes

    def _read_window(self, natives: Messages, start: int, flags: tuple[bool, ...]) -> Window:
        is_opening, has_other_roles, has_input, last = flags
        messages = list(map(self.context.dialect.read, natives))
        return Window(
            messages,
            list(range(start, start + len(messages))),
            is_opening,
            has_other_roles,
            has_input,
            last,
        )

    def _run_due(
        self, window: Window, span: tuple[int, int], due: int, group: Group | None
    ) -> bool:
        """Run the due rules; return whether one changed the window."""
        changed, due, group = self._run_rules(window, span, due, (0, self.cut), group)
        is_one_turn = group is not None and group.is_known and not group.may_span_turns
        starts = [0] if is_one_turn or not self.cut else cut_positions(window, self.context)
        if len(starts) > 1:
            return self._run_turns(window, span, starts, is_changed=changed) or changed
        after_cut = (self.cut, len(self.rules))
        changed = self._run_rules(window, span, due, after_cut, group)[0] or changed
        self._remember_window(window)
        return changed

    def _run_turns(
        self, window: Window, span: tuple[int, int], starts: list[int], *, is_changed: bool
    ) -> bool:
        """Run the rules after the cut on each turn; return whether one changed anything."""
        assert self.scan is not None  # noqa: S101 - set before the first window
        changed = False
        messages: list[Message] = []
        origins: list[int | None] = []
        natives = [message.list_item for message in window.messages]
        sketches = self.scan.turns(natives, starts, last=window.is_last, is_changed=is_changed)
        ends = [*starts[1:], len(natives)]
        for start, end, sketch in zip(starts, ends, sketches, strict=True):
            turn = window.subwindow(start, end)
            turn.offset = len(messages)
            self.scan.start_window(natives[start:end], sketch)
            changed = self._run_turn(turn, span, sketch) or changed
            messages += turn.messages
            origins += turn.origins
        window.set_messages(messages, origins)
        return changed

    def _run_turn(self, turn: Window, span: tuple[int, int], sketch: WindowSketch) -> bool:
        """Run the rules after the cut on one turn; return whether one changed it."""
        assert self.scan is not None  # noqa: S101 - set before the first window
        due = self.scan.due(sketch, _flags(turn), lambda: turn)
        after_cut = (self.cut, len(self.rules))
        changed = self._run_rules(turn, span, due, after_cut, sketch.group)[0]
        self._remember_window(turn)
        natives = [message.list_item for message in turn.messages]
        self.context.dialect.remember(natives, self.memory)
        return changed

    def _run_rules(
        self,
        window: Window,
        span: tuple[int, int],
        due: int,
        positions: tuple[int, int],
        group: Group | None,
    ) -> tuple[bool, int, Group | None]:
        """Run the due rules between two positions.

        ``group`` is the group of the window, if it is known. Returns whether a rule changed the
        window, the rules that are due after that, and its group.
        """
        assert self.scan is not None  # noqa: S101 - set before the first window
        changed, (position, end), every_rule = False, positions, self.scan.all
        rules, memory, context = self.rules, self.memory, self.context
        while position < end:
            if due != every_rule and (position := _next_due(due, position, end)) == end:
                break
            rule, position = rules[position], position + 1
            if fixes := list(rule.find(window, memory, context)):
                self.has_fixes = True
                if self._apply(rule, fixes, window, span):
                    changed = True
                    # While the structure is new, every rule runs.
                    due, group = (due, None) if due == every_rule else self._due(window)
        return changed, due, group

    def _due(self, window: Window) -> tuple[int, Group]:
        """Return the rules due in a changed window, and its group."""
        assert self.scan is not None  # noqa: S101 - set before the first window
        natives = [message.list_item for message in window.messages]
        sketch = self.scan.rescan(natives, last=window.is_last)
        return self.scan.due(sketch, _flags(window), lambda: window), sketch.group

    def _remember_window(self, window: Window) -> None:
        memory = self.memory
        if not (memory.has_user and memory.has_turns):
            for message in window.messages:
                memory.has_user = memory.has_user or message.role is Role.USER
                memory.has_turns = memory.has_turns or not message.is_system
        memory.call_ids.update(_call_ids(window.messages))

    def _apply(self, rule: Rule, fixes: list[Fix], window: Window, span: tuple[int, int]) -> bool:
        """Apply the fixes of a rule, or only record those that the policy does not allow.

        Returns whether one was applied.
        """
        edit, made = Edit(window), False
        for fix in fixes:
            allowed = fix.effect <= self.context.policy.allow and not fix.finding
            if allowed and edit.has_replaced(fix):
                continue  # Two fixes of one message would repeat its content.
            replaced, at, index = edit.advance_to(fix)
            before = tuple([message.list_item for message in replaced])
            becomes = self._write(fix.becomes, replaced) if allowed else replaced
            after = tuple([message.list_item for message in becomes])
            if allowed and is_identical(after, before):
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
                self.declared += fix.declares
        if made:
            edit.finish()
        return made

    def _write(self, becomes: tuple[Message, ...], replaced: list[Message]) -> list[Message]:
        """Write the new messages in the dialect; messages that stay are the same objects."""
        kept = set(map(id, replaced))
        return [m if id(m) in kept else self._write_and_read(m) for m in becomes]

    def _write_and_read(self, message: Message) -> Message:
        """Return a message as it reads once written; an assistant's keeps its role here."""
        written = self.context.dialect.read(self.context.dialect.write(message))
        return (
            written
            if written.is_assistant or not message.is_assistant
            else replace(written, role=message.role)
        )

    def finish(self, request: Request) -> tuple[Request, tuple[Change, ...]]:
        """Run the rules on the whole request; return the request and all changes.

        The messages of ``request`` are replaced by the repaired ones.
        """
        messages = self.native if self.out is None else self.out
        changes = self.changes
        if messages is not request.messages:
            request = replace(request, messages=messages)
        if self.rules:
            request, more = run_last_rules(
                request,
                self.hoisted,
                self.context,
                counted=self.counted,
                declared=self.declared,
            )
            changes = [*changes, *more]
        return request, tuple(changes)


def _window_positions(number: int) -> list[str]:
    """Return the position marks of windows: of the first, the last, and those between."""
    positions = [""] * number
    if positions:
        positions[0] = FIRST
        positions[-1] += LAST
    return positions


def _next_due(due: int, start: int, end: int) -> int:
    """Return the position of the first due rule from ``start`` on; ``end`` if there is none."""
    remaining = due >> start & (1 << end - start) - 1
    return start + (remaining & -remaining).bit_length() - 1 if remaining else end


def _flags(window: Window) -> tuple[bool, ...]:
    return window.is_opening, window.has_other_roles, window.has_input, window.is_last


def _call_ids(messages: list[Message]) -> list[str]:
    return [
        part.id
        for message in messages
        for part in message.parts
        if isinstance(part, ToolCall) and isinstance(part.id, str)
    ]
