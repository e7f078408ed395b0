"""Finds the rules that must run on a window, from what they found in windows of the same structure.

For each structure of a window, under the limits of a target, the ``find`` functions of the rules
run once and the answer is cached. So only the rules themselves decide what is invalid, and a clean
window costs no more than its sketch.
"""

from __future__ import annotations

from collections import ChainMap
from dataclasses import replace
from functools import reduce
from itertools import accumulate
from operator import or_
from typing import TYPE_CHECKING, Any

from chatmend.letters import UNKNOWN_OTHER, Reader
from chatmend.renaming import learn, make_plan
from chatmend.rule_cache import MAX_ENTRIES, CleanWindow, cache_for
from chatmend.sketch import Group, WindowSketch, equality_pattern
from chatmend.transcript import Role

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from chatmend.context import Context
    from chatmend.rule_cache import StructureInfo
    from chatmend.rules import Rule
    from chatmend.windows import Memory, Window

FIRST, LAST = "<", ">"
"""Mark the first and the last window of a transcript; a single window has both marks."""
_SHORT_RUN = 8
"""Fewer windows than this are passed one by one, and so are the next ones."""
_SMALL = 16
"""The maximum number of ids and names of a window in the key of a clean window."""


class Scan:
    """Goes through the windows of one transcript in order and finds the rules that must run."""

    def __init__(
        self,
        context: Context,
        rules: tuple[Rule, ...],
        memory: Memory,
    ) -> None:
        """``memory`` is the memory of the repair."""
        self._context, self._rules, self._memory = context, rules, memory
        context.dialect.set_limits(context.limits)
        self.cache = cache_for(context, rules)
        self.reader = Reader(context, self.cache)
        self._ids, self._names = self.reader.ids, self.reader.names
        self._id_at = self._name_at = 0
        """How many of the ids and names belong to windows that are already done."""
        self._clean: dict[object, CleanWindow] = {}
        self._single_until = 0
        """The windows before this position are not passed with others."""
        self._unchanged: tuple[list[Any], WindowSketch]
        """The messages of the current window before any rule changed it, and their sketch."""
        self._kept: dict[int, tuple[Any, str, list[str], list[str]]] = {}
        """By identity, the messages of the current window with their letter, ids and names.

        Empty until a rule changes the window.
        """
        self.key: tuple[object, ...] = ()
        """The key of the current window, if its structure is known."""
        self.new_key: tuple[object, ...] | None = None
        """The key of the current window if its structure is new."""
        self.all = self.cache.all
        """The bit mask of all rules."""
        self.turn_rules_start = self.cache.turn_rules_start

    def read(self, natives: Sequence[Any], reader: Reader | None = None) -> str:
        """Return the letters of the transcript, which ``reader`` may have read already."""
        if reader is None:
            return self.reader.read(natives)
        self.reader = reader
        self._ids, self._names = reader.ids, reader.names
        return reader.letters

    def group(self, word: str, natives: Sequence[Any]) -> Group:
        """Return the facts about the messages of a window."""
        cache = self.cache
        if (group := cache.groups.get(word)) is None:
            known = [cache.structure_of_letter.get(letter) for letter in word]
            if None in known:
                messages = map(self._context.dialect.read, natives)
                described = [
                    info or self.reader.describe(UNKNOWN_OTHER, message)
                    for info, message in zip(known, messages, strict=True)
                ]
                return _group(word, described)
            group = _group(word, [info for info in known if info is not None], is_known=True)
            cache.groups[word] = group
            cache.has_room(cache.groups)
        return group

    def next_window(self, group: Group, *, last: bool) -> WindowSketch:
        """Return the sketch of the next window, and move past it."""
        ids, names = self._id_at, self._name_at
        self._id_at, self._name_at = ids + group.id_count, names + group.name_count
        return WindowSketch(
            group,
            self._ids[ids : self._id_at],
            self._names[names : self._name_at],
            last,
            self.reader.last_text if last else None,
        )

    def start_window(self, natives: list[Any], window: WindowSketch) -> None:
        """Begin a window in which rules must run."""
        self._kept = {}
        self._unchanged = natives, window

    def _keep_messages(
        self, natives: list[Any], letters: str, ids: list[str], names: list[str]
    ) -> None:
        """Keep the letter, ids and names of each message."""
        id_at = name_at = 0
        for native, letter in zip(natives, letters, strict=True):
            known = self.cache.structure_of_letter.get(letter)
            id_end, name_end = (
                (id_at, name_at)
                if known is None
                else (id_at + known.id_count, name_at + known.name_count)
            )
            self._kept[id(native)] = native, letter, ids[id_at:id_end], names[name_at:name_end]
            id_at, name_at = id_end, name_end

    def turns(
        self, natives: list[Any], starts: list[int], *, last: bool, is_changed: bool
    ) -> list[WindowSketch]:
        """Sketch each turn of the current window, whose messages are now ``natives``.

        ``starts`` are the indexes of their first messages. ``is_changed`` tells whether a rule has
        changed the window.
        """
        ends = [*starts[1:], len(natives)]
        if is_changed:
            return [
                self.rescan(natives[start:end], last=last and end == len(natives))
                for start, end in zip(starts, ends, strict=True)
            ]
        window = self._unchanged[1]
        out: list[WindowSketch] = []
        id_at = name_at = 0
        for start, end in zip(starts, ends, strict=True):
            is_last = last and end == len(natives)
            group = self.group(window.group.word[start:end], natives[start:end])
            id_end, name_end = id_at + group.id_count, name_at + group.name_count
            ids, names = window.ids[id_at:id_end], window.names[name_at:name_end]
            last_text = window.last_text if is_last else None
            out.append(WindowSketch(group, ids, names, is_last, last_text))
            id_at, name_at = id_end, name_end
        return out

    def rescan(self, natives: list[Any], *, last: bool) -> WindowSketch:
        """Sketch a window that a rule has changed; unchanged messages are not walked again."""
        word, kept = "", self._kept
        if not kept:
            unchanged, window = self._unchanged
            self._keep_messages(unchanged, window.group.word, window.ids, window.names)
        ids: list[str] = []
        names: list[str] = []
        if new := [native for native in natives if id(native) not in kept]:
            self._scan_new(new)
        for native in natives:
            _, letter, own_ids, own_names = kept[id(native)]
            word += letter
            ids += own_ids
            names += own_names
        last_text = self.reader.class_of_last_text(natives, word) if last else None
        return WindowSketch(self.group(word, natives), ids, names, last, last_text)

    def _scan_new(self, natives: list[Any]) -> None:
        id_at, name_at = len(self._ids), len(self._names)
        letters = self.reader.letters_of(natives)
        self._keep_messages(natives, letters, self._ids[id_at:], self._names[name_at:])
        del self._ids[id_at:], self._names[name_at:]

    def due(
        self, sketch: WindowSketch, flags: tuple[bool, ...], read_window: Callable[[], Window]
    ) -> int:
        """Return the rules that must run, as a bit mask of their positions.

        When a window occurs for the first time, all rules must run, and ``new_key`` is set: most
        broken structures never occur again. When it occurs for the second time, ``read_window``
        reads it, and the rules are tried.
        """
        cache, group = self.cache, sketch.group
        self.key, self.new_key = (), None
        if not group.is_known:
            return cache.all
        patterns = self._patterns(sketch.ids, sketch.names)
        key = self.key = (group.word, *patterns, flags, sketch.last_text, self._facts())
        if (due := cache.windows.get(key)) is None:
            if key not in cache.met:
                cache.met.add(key)
                cache.has_room(cache.met)
                self.new_key = key
                return cache.all
            due = self._try_rules(read_window()) | cache.always | self._watching(sketch)
            cache.windows[key] = due
        return due

    def renames_only(self, due: int, group: Group) -> bool:
        """Whether only the rule that renames calls is due, on a window that is one turn."""
        position = self.cache.renaming
        return position >= 0 and due == 1 << position and not group.may_span_turns

    @property
    def judge_of_new_ids(self) -> Callable[[str], object] | None:
        """The judge of ids that the rule has chosen, if another rule judges them."""
        return self.cache.sketches.judges["ids"] if self.cache.judges_new_ids else None

    def remember_renaming(
        self, key: tuple[object, ...], window: WindowSketch, read: Window, becomes: list[Any]
    ) -> None:
        """Record how the rule renamed the calls of a window, to repeat it in others."""
        known = [self.cache.structure_of_letter[letter] for letter in window.group.word]
        natives = [message.list_item for message in read.messages]
        plan = make_plan(read.messages, [info.id_count for info in known], window.ids)
        learnt = learn(plan, window, natives, becomes, self.judge_of_new_ids) if plan else None
        self.cache.renamings[key] = learnt

    def record_clean(self, key: tuple[object, ...], sketch: WindowSketch) -> None:
        """Record that no rule proposed a fix for a window with this key."""
        self.cache.windows[key] = self.cache.always | self._watching(sketch)

    def _watching(self, sketch: WindowSketch) -> int:
        """Return the rules that run on every window of this structure."""
        return sum([bit for bit, watch in self.cache.watches if watch(sketch)])

    def _try_rules(self, window: Window) -> int:
        """Return the rules that propose a fix for the window, without changing it."""
        due, context = (
            0,
            replace(
                self._context,
                recompressor=_no_recompressor,  # type: ignore[arg-type]  # always raises
            ),
        )
        own = self._memory
        memory = replace(own)
        for position, rule in enumerate(self._rules):
            if rule.judges is None:
                continue
            # No rule assigns to another field.
            memory.id_counts, memory.server_calls = ChainMap({}, own.id_counts), own.server_calls
            try:
                has_fix = any(True for _ in rule.find(window, memory, context))
            except Exception:  # noqa: BLE001
                # It needs an image, or expects a window that earlier rules have repaired.
                has_fix = True
            # Skipped, the rule would not record the open calls.
            has_fix |= memory.server_calls != own.server_calls
            due |= has_fix << position
        return due

    def _patterns(
        self, ids: list[str], names: list[str]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        memory = self._memory
        return equality_pattern(
            ids, memory.call_ids, memory.item_ids, memory.server_calls.keys()
        ), equality_pattern(names)

    def _facts(self) -> tuple[bool, ...]:
        memory = self._memory
        return (
            memory.has_user,
            memory.has_turns,
            memory.has_reasoning,
            memory.has_stored_history,
            not memory.server_calls,
        )

    def refresh(self) -> None:
        """Select the clean windows that match the facts now in the memory."""
        self._clean = self.cache.clean.setdefault(self._facts(), {})

    def pass_clean(self, words: Sequence[str], at: int) -> int:
        """Pass the windows from a position on that are known to be clean; return how many.

        All that ``find_clean`` checks for each window is checked for all of them at once: their ids
        have the same pattern and are new, and no fact in the memory changes.
        """
        if at < self._single_until or not at:
            return 0
        layout: tuple[tuple[int, ...], ...] = ()
        windows, end = 0, at
        for position in range(at, len(words) - 1):
            known = self._clean.get(words[position])
            if known is None or known.layout is None:
                break
            if known.layout:
                layout = layout or known.layout
                if known.layout != layout:
                    break
                windows += 1
            end += 1
        if end - at < _SHORT_RUN:
            self._single_until = at + 2 * _SHORT_RUN
            return 0
        if windows and not self._pass_columns(windows, *layout):
            self._single_until = end
            return 0
        return end - at

    def _pass_columns(
        self,
        windows: int,
        id_pattern: tuple[int, ...],
        name_pattern: tuple[int, ...],
        calls: tuple[int, ...],
        items: tuple[int, ...],
    ) -> bool:
        """Pass the ids and names of clean windows; False if they do not match this layout."""
        ids, id_end = _columns(self._ids, self._id_at, windows, len(id_pattern))
        names, name_end = _columns(self._names, self._name_at, windows, len(name_pattern))
        distinct = [column for at, column in enumerate(ids) if id_pattern[at] == at]
        new = set[str]().union(*distinct)
        if (
            len(new) != windows * len(distinct)
            or ids != [ids[at] for at in id_pattern]
            or not self._are_new(new)
            or any(
                tuple(map(row.index, row)) != name_pattern for row in {*zip(*names, strict=True)}
            )
        ):
            return False
        for at in calls:
            self._memory.call_ids.update(ids[at])
        for at in items:
            self._memory.item_ids.update(ids[at])
        self._id_at, self._name_at = id_end, name_end
        return True

    def find_clean(self, word: str, position: str) -> CleanWindow | None:
        """Return the facts about the next window if it is known to be clean, else None.

        A clean window is passed: its ids are added to the memory. ``position`` tells whether it is
        the first or last window; it is empty for all others.
        """
        known = self._clean.get(word + position)
        if known is None or (self.reader.last_text and position.endswith(LAST)):
            return None
        group, memory = known.group, self._memory
        if group.id_count or group.name_count > 1:
            id_end = self._id_at + group.id_count
            ids = self._ids[self._id_at : id_end]
            if not self._has_clean_ids(known, word, position, ids):
                return None
            for at in group.call_positions:
                memory.call_ids.add(ids[at])
            for at in group.item_positions:
                memory.item_ids.add(ids[at])
            self._id_at = id_end
        self._name_at += group.name_count
        return known

    def _has_clean_ids(self, known: CleanWindow, word: str, position: str, ids: list[str]) -> bool:
        """Whether a window is clean with these ids and with its names."""
        count = known.group.name_count
        if count > 1:
            names = self._names[self._name_at : self._name_at + count]
            return self._clean_key(word, position, ids, names) in self._clean
        if known.pattern and tuple(map(ids.index, ids)) == known.pattern:
            return self._are_new(ids)
        return self._clean_key(word, position, ids, ()) in self._clean

    def _are_new(self, ids: Collection[str]) -> bool:
        """Whether no id of a window occurred before."""
        memory = self._memory
        return (
            memory.call_ids.isdisjoint(ids)
            and (not memory.item_ids or memory.item_ids.isdisjoint(ids))
            and (not memory.server_calls or memory.server_calls.keys().isdisjoint(ids))
        )

    def remember_clean(self, sketch: WindowSketch, position: str) -> None:
        """Record a window in which no rule must run."""
        memory, group, cache = self._memory, sketch.group, self.cache
        if not group.is_known or len(self._clean) >= MAX_ENTRIES or sketch.last_text:
            return
        updates_run = (
            (group.has_user and not memory.has_user)
            or (group.has_turns and not memory.has_turns)
            or (group.has_reasoning and not memory.has_reasoning)
            or group.updates_memory
            or bool(group.counted)
        )
        is_small = max(group.id_count, group.name_count) <= _SMALL
        pattern = tuple(map(sketch.ids.index, sketch.ids)) if is_small else ()
        layout: tuple[tuple[int, ...], ...] | None = None
        if is_small and not updates_run:
            names = tuple(map(sketch.names.index, sketch.names))
            has_columns = pattern or names
            layout = (pattern, names, group.call_positions, group.item_positions)
            layout = layout if has_columns else ()
        known = CleanWindow(group, updates_run, pattern, layout)
        if group.id_count or group.name_count > 1:
            if not (
                key := self._clean_key(
                    group.word, position, sketch.ids, sketch.names if group.name_count > 1 else ()
                )
            ):
                return
            self._clean[key] = known
        self._clean[group.word + position] = known
        cache.has_room(self._clean)

    def _clean_key(
        self, word: str, position: str, ids: list[str], names: Sequence[str]
    ) -> tuple[object, ...]:
        """Return the key of a window with ids; empty if there are too many or one occurred before.

        Ids and names are represented by the position of their first occurrence.
        """
        if len(ids) > _SMALL or len(names) > _SMALL or not self._are_new(ids):
            return ()
        return (word, position, *map(ids.index, ids), *map(names.index, names))


def _columns(
    values: list[str], start: int, windows: int, width: int
) -> tuple[list[list[str]], int]:
    """Return the values of windows that have ``width`` each, by position, and where they end."""
    end = start + windows * width
    return [values[start + position : end : width] for position in range(width)], end


def _no_recompressor(*_: object) -> None:
    """Replace the recompressor while rules are tried: a rule that needs an image must run.

    Raises:
        LookupError: always.
    """
    raise LookupError


def _group(word: str, messages: list[StructureInfo], *, is_known: bool = False) -> Group:
    roles = {known.role for known in messages}
    turns = roles - {Role.SYSTEM, Role.DEVELOPER}
    starts = list(accumulate((known.id_count for known in messages), initial=0))
    return Group(
        word,
        is_known,
        sum(known.is_assistant for known in messages),
        _may_span_turns(messages),
        bool(roles - {Role.ASSISTANT}),
        bool(turns - {Role.ASSISTANT}),
        Role.USER in roles,
        bool(turns),
        reduce(or_, (known.counted for known in messages), 0),
        any(known.updates_memory for known in messages),
        any(known.has_reasoning for known in messages),
        sum(known.id_count for known in messages),
        sum(known.name_count for known in messages),
        tuple(
            start + position
            for start, known in zip(starts, messages, strict=False)
            for position in known.call_positions
        ),
        tuple(
            start + position
            for start, known in zip(starts, messages, strict=False)
            for position in known.item_positions
        ),
    )


def _may_span_turns(messages: list[StructureInfo]) -> bool:
    """Whether the assistant adds text or media after a call, or anything after another role."""
    has_called, was_assistant = False, True
    for known in messages:
        if known.is_assistant and ((has_called and known.has_text_or_media) or not was_assistant):
            return True
        has_called, was_assistant = has_called or known.has_calls, known.is_assistant
    return False
