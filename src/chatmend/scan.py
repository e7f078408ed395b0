"""Finds the rules that must run on a window, from what they found in windows of the same structure.

For each structure of a window, under the limits of a target, the ``find`` functions of the rules
run once and the answer is cached. So only the rules themselves decide what is invalid, and a clean
window costs no more than its sketch.
"""

from __future__ import annotations

import re
from collections import ChainMap
from dataclasses import dataclass, replace
from itertools import accumulate, count
from typing import TYPE_CHECKING, Any

from chatmend.jsontext import is_encodable
from chatmend.rules import LAST
from chatmend.sketch import (
    Group,
    Sketch,
    SketchCache,
    Unsketched,
    WindowSketch,
    equality_pattern,
)
from chatmend.transcript import Media, Role, Text, is_signed
from chatmend.windows import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from chatmend.context import Context
    from chatmend.dialects import Dialect, Traits
    from chatmend.rules import Rule
    from chatmend.targets.limits import Limits
    from chatmend.transcript import Message
    from chatmend.windows import Window

_MAX_ENTRIES = 4096
"""The maximum number of structures of messages, and of windows, in a cache.

Beyond it, every rule runs on new structures, and the next repair starts with an empty cache.
"""
_SMALL = 16
"""The maximum number of ids and names of a window in the key of a clean window."""
_FIRST_OTHER, _FIRST_ASSISTANT = 0x1000, 0x3000
"""Each structure of a message gets a letter.

The letters of assistant messages start at ``_FIRST_ASSISTANT``, all others at ``_FIRST_OTHER``.
"""
_UNKNOWN_OTHER, _UNKNOWN_ASSISTANT = chr(_FIRST_OTHER - 1), chr(_FIRST_ASSISTANT - 1)
"""The letters of messages that cannot be sketched or cached; the second is for the assistant's."""
_ASSISTANT_LETTERS = f"{_UNKNOWN_ASSISTANT}-\U0010ffff"
_WINDOW = re.compile(f"[{_ASSISTANT_LETTERS}]+[^{_ASSISTANT_LETTERS}]*|[^{_ASSISTANT_LETTERS}]+")
"""Matches the letters of one window."""


@dataclass(frozen=True, slots=True)
class StructureInfo:
    """Facts about all messages of one structure."""

    letter: str
    role: Role
    is_assistant: bool
    is_signed: bool
    has_counted_content: bool
    """Whether it may hold an image or a cache marker, which request rules count at the end."""
    updates_memory: bool
    """Whether the dialect remembers more than item ids and the presence of reasoning."""
    has_reasoning: bool
    """Whether it is a reasoning item."""
    has_text_or_media: bool
    has_calls: bool
    id_count: int = 0
    """How many ids it holds: of calls, results and items."""
    name_count: int = 0
    call_positions: tuple[int, ...] = ()
    """The positions, among its ids, of the ids of calls."""
    item_positions: tuple[int, ...] = ()
    """The positions, among its ids, of the ids of items."""


@dataclass(frozen=True, slots=True)
class CleanWindow:
    """Facts about windows in which no rule must run."""

    group: Group
    updates_run: bool
    """Whether the state of the repair must be updated after such a window."""


class RuleCache:
    """What is known about structures under one set of limits and rules.

    Threads share it. Entries are only added; a full cache is replaced by an empty one.
    """

    def __init__(self, traits: Traits, limits: Limits, rules: tuple[Rule, ...]) -> None:
        """Start with no structures."""
        self.rules = rules
        """Kept so that no other tuple of rules can get the same ``id()``."""
        self.always = 0
        self.watches: list[tuple[int, Callable[[WindowSketch], bool]]] = []
        columns: dict[str, dict[object, tuple[frozenset[str] | None, Callable[[Any], object]]]] = {}
        for position, rule in enumerate(rules):
            if rule.judges is None:
                self.always |= 1 << position
                continue
            for column, make in rule.judges.items():
                if (judge := make(limits, traits)) is not None:
                    columns.setdefault(column, {}).setdefault(
                        make, (getattr(make, "keys", None), judge)
                    )
            if rule.watches is not None and (watch := rule.watches(limits, traits)) is not None:
                self.watches.append((1 << position, watch))
        self.all = (1 << len(rules)) - 1
        self.turn_rules_start = next(
            (position for position, rule in enumerate(rules, 1) if rule.splits_window), 0
        )
        """The position of the first rule that runs on each turn separately; 0 if none does."""
        self.sketches = SketchCache(
            {column: list(judges.values()) for column, judges in columns.items()}
        )
        self.letter_of_role: dict[str, str] = {}
        """For each role, the letter of messages with only that role and an ordinary text."""
        self.structures: dict[object, StructureInfo] = {}
        self.structure_of_letter: dict[str, StructureInfo] = {}
        self.numbers = count()
        self.groups: dict[str, Group] = {}
        self.windows: dict[tuple[object, ...], int] = {}
        """The rules that must run, as a bit mask of their positions."""
        self.met: set[tuple[object, ...]] = set()
        """The keys of the windows that occurred at least once."""
        self.clean: dict[tuple[bool, ...], dict[object, CleanWindow]] = {}
        """For each set of facts in the memory, the clean windows, with and without their ids."""
        self.is_full = False
        """Whether no more entries are added."""


_CACHES: dict[tuple[object, ...], RuleCache] = {}
"""The caches by dialect, limits, policy and rules."""
_MAX_CACHES = 64
_REFUSED_BLOCKS = frozenset({""})
"""The refused blocks in the key of a cache, in place of their digests."""


def cache_for(context: Context, rules: tuple[Rule, ...]) -> RuleCache:
    """Return the cache for a dialect, limits and a policy."""
    limits = context.limits
    if limits.refused_blocks or limits.outdated_blocks:
        # The rule of refused blocks runs on each window, whichever blocks these are, so all
        # conversations with refused blocks share one cache.
        limits = replace(limits, refused_blocks=_REFUSED_BLOCKS, outdated_blocks=frozenset())
    key = (context.dialect.cache_key(), limits, context.policy, id(rules))
    cache = _CACHES.get(key)
    if cache is None or cache.is_full or len(cache.sketches.plans) >= _MAX_ENTRIES:
        if cache is not None or len(_CACHES) >= _MAX_CACHES:
            _CACHES.clear()
        cache = _CACHES[key] = RuleCache(context.dialect.TRAITS, limits, rules)
    return cache


class Scan:
    """Goes through the windows of one transcript in order and finds the rules that must run."""

    def __init__(self, context: Context, rules: tuple[Rule, ...], memory: Memory) -> None:
        """``memory`` is the memory of the repair."""
        self._context, self._rules, self._memory = context, rules, memory
        context.dialect.set_limits(context.limits)
        self._cache = cache_for(context, rules)
        self._sketch = Sketch(self._cache.sketches)
        self._ids, self._names = self._sketch.ids, self._sketch.names
        self._id_at = self._name_at = 0
        """How many of the ids and names belong to windows that are already done."""
        self._clean: dict[object, CleanWindow] = {}
        self._unchanged: tuple[list[Any], WindowSketch]
        """The messages of the current window before any rule changed it, and their sketch."""
        self._kept: dict[int, tuple[Any, str, list[str], list[str]]] = {}
        """By identity, the messages of the current window with their letter, ids and names.

        Empty until a rule changes the window.
        """
        self.new_key: tuple[object, ...] | None = None
        """The key of the current window if its structure is new."""
        self.all = self._cache.all
        """The bit mask of all rules."""
        self.turn_rules_start = self._cache.turn_rules_start

    def words(self, natives: Sequence[Any]) -> list[str]:
        """Cut the transcript into windows, each as a word of the letters of its messages."""
        return _WINDOW.findall(self._letters_of(natives))

    def _letters_of(self, natives: Sequence[Any]) -> str:
        """Return the letters of messages, and collect their ids and names."""
        letters: list[str] = []
        cache, sketch, form_of = self._cache, self._sketch, self._context.dialect.sketch
        push, letter_of_role, forms, ids, names, unusual = (
            letters.append,
            cache.letter_of_role,
            cache.structures,
            sketch.ids,
            sketch.names,
            sketch.unusual,
        )
        ignores_text_values, ignores_common_parts = (
            cache.sketches.ignores_text_values,
            cache.sketches.ignores_common_parts,
        )
        for native in natives:
            if (
                native.__class__ is dict
                and len(native) == 2  # noqa: PLR2004 - most messages have only a role and a text
                and ignores_text_values
            ):
                text, role = native.get("content"), native.get("role")
                if (
                    text.__class__ is str and text and not text.isspace() and role.__class__ is str
                    and (text.isascii() or is_encodable(text))
                ):  # fmt: skip
                    push(
                        letter_of_role[role]
                        if role in letter_of_role
                        else self._letter_for_role(native, role)
                    )
                    continue
            id_at, name_at = len(ids), len(names)
            form = form_of(native, sketch) if ignores_common_parts else None
            if unusual:
                own = sketch.take_unusual(id_at, name_at)
                form = None if form is None else (form, *own)
            known = None if form is None else forms.get(form)
            push(
                self._info_for(native, form, id_at, name_at).letter
                if known is None
                else known.letter
            )
        return "".join(letters)

    def _letter_for_role(self, native: dict[str, Any], role: str) -> str:
        """Find and cache the letter of a message with only a role and an ordinary text."""
        letter = self._info_for(native, None, len(self._ids), len(self._names)).letter
        if letter not in (_UNKNOWN_OTHER, _UNKNOWN_ASSISTANT):
            self._cache.letter_of_role[role] = letter
        return letter

    def _info_for(
        self,
        native: Any,  # noqa: ANN401 - callers may pass any object as a message
        form: object,
        id_at: int,
        name_at: int,
    ) -> StructureInfo:
        """Return the facts about a message's structure.

        ``form`` is the structure found by the dialect, or None. The ids and names of the message
        start at ``id_at`` and ``name_at``.
        """
        structures, sketch = self._cache.structures, self._sketch
        try:
            if form is None:
                del sketch.ids[id_at:], sketch.names[name_at:]
                form = (
                    sketch.message(native)
                    if native.__class__ is dict
                    else self._walk_object(native)
                )
            known = structures.get(form)
            if known is None:
                known = structures[form] = self._make_info(
                    native, sketch.ids[id_at:], len(sketch.names) - name_at
                )
                self._cache.structure_of_letter[known.letter] = known
        except Unsketched:
            del sketch.ids[id_at:], sketch.names[name_at:]
            message = self._context.dialect.read(native)
            return self._describe(
                _UNKNOWN_ASSISTANT if message.is_assistant else _UNKNOWN_OTHER, message
            )
        return known

    def _walk_object(self, native: Any) -> object:  # noqa: ANN401
        as_dict = self._context.dialect.read(native).native
        if as_dict.__class__ is not dict:
            raise Unsketched
        return (native.__class__, *self._sketch.message(as_dict))

    def _make_info(
        self,
        native: Any,  # noqa: ANN401
        ids: list[str],
        name_count: int,
    ) -> StructureInfo:
        """Collect the facts about a new structure, from one message that has it.

        Raises:
            Unsketched: its calls and items cannot be found by their ids, or the cache is full.
        """
        message = self._context.dialect.read(native)
        call_ids = (
            [part.id for part in message.calls if isinstance(part.id, str)]
            if message.is_assistant
            else []
        )
        if len(self._cache.structures) >= _MAX_ENTRIES:
            self._cache.is_full = True
            raise Unsketched
        item_ids = _item_ids(message, self._context.dialect)
        are_unique = not call_ids or len(set(ids)) == len(ids)
        if not are_unique or not {*call_ids, *item_ids}.issubset(ids):
            raise Unsketched
        letter = chr(
            (_FIRST_ASSISTANT if message.is_assistant else _FIRST_OTHER) + next(self._cache.numbers)
        )
        call_positions, item_positions = (
            tuple(map(ids.index, call_ids)),
            tuple(map(ids.index, item_ids)),
        )
        return replace(
            self._describe(letter, message),
            id_count=len(ids),
            name_count=name_count,
            call_positions=call_positions,
            item_positions=item_positions,
        )

    def _describe(self, letter: str, message: Message) -> StructureInfo:
        memory = Memory()
        self._context.dialect.remember([message.list_item], memory)
        has_reasoning = memory.has_reasoning
        memory.item_ids, memory.has_reasoning = set(), False
        parts, role = message.parts, message.role
        has_counted_content = any(
            rule.has_counted_content(message)
            for rule in LAST
            if rule.has_counted_content is not None
        )
        has_text_or_media = any(isinstance(part, Text | Media) for part in parts)
        updates_memory, has_calls = memory != Memory(), bool(message.calls)
        return StructureInfo(
            letter,
            role,
            role is Role.ASSISTANT,
            is_signed(parts),
            has_counted_content,
            updates_memory,
            has_reasoning,
            has_text_or_media,
            has_calls,
        )

    def group(self, word: str, natives: Sequence[Any]) -> Group:
        """Return the facts about the messages of a window."""
        cache = self._cache
        if (group := cache.groups.get(word)) is None:
            known = [cache.structure_of_letter.get(letter) for letter in word]
            if None in known:
                messages = map(self._context.dialect.read, natives)
                described = [
                    info or self._describe(_UNKNOWN_OTHER, message)
                    for info, message in zip(known, messages, strict=True)
                ]
                return _group(word, described)
            group = _group(word, [info for info in known if info is not None], is_known=True)
            cache.groups[word] = group
            cache.is_full = cache.is_full or len(cache.groups) >= _MAX_ENTRIES
        return group

    def next_window(self, group: Group, *, last: bool) -> WindowSketch:
        """Return the sketch of the next window, and move past it."""
        ids, names = self._id_at, self._name_at
        self._id_at, self._name_at = ids + group.id_count, names + group.name_count
        return WindowSketch(
            group, self._ids[ids : self._id_at], self._names[names : self._name_at], last
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
            known = self._cache.structure_of_letter.get(letter)
            id_end, name_end = (
                (id_at, name_at)
                if known is None
                else (id_at + known.id_count, name_at + known.name_count)
            )
            self._kept[id(native)] = native, letter, ids[id_at:id_end], names[name_at:name_end]
            id_at, name_at = id_end, name_end

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
        return WindowSketch(self.group(word, natives), ids, names, last)

    def _scan_new(self, natives: list[Any]) -> None:
        id_at, name_at = len(self._ids), len(self._names)
        letters = self._letters_of(natives)
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
        cache, group = self._cache, sketch.group
        self.new_key = None
        if not group.is_known:
            return cache.all
        key = (group.word, *self._patterns(sketch.ids, sketch.names), flags, self._facts())
        if (due := cache.windows.get(key)) is None:
            if key not in cache.met:
                cache.met.add(key)
                cache.is_full = cache.is_full or len(cache.met) >= _MAX_ENTRIES
                self.new_key = key
                return cache.all
            due = self._try_rules(read_window()) | cache.always | self._watching(sketch)
            cache.windows[key] = due
        return due

    def record_clean(self, key: tuple[object, ...], sketch: WindowSketch) -> None:
        """Record that no rule proposed a fix for a window with this key."""
        self._cache.windows[key] = self._cache.always | self._watching(sketch)

    def _watching(self, sketch: WindowSketch) -> int:
        """Return the rules that run on every window of this structure."""
        return sum([bit for bit, watch in self._cache.watches if watch(sketch)])

    def _try_rules(self, window: Window) -> int:
        """Return the rules that propose a fix for the window, without changing it."""
        due, context = (
            0,
            replace(
                self._context,
                recompressor=_no_recompressor,  # type: ignore[arg-type]  # always raises
            ),
        )
        for position, rule in enumerate(self._rules):
            if rule.judges is None:
                continue
            memory = replace(self._memory, id_counts=ChainMap({}, self._memory.id_counts))
            try:
                has_fix = any(True for _ in rule.find(window, memory, context))
            except Exception:  # noqa: BLE001
                # It needs an image, or expects a window that earlier rules have repaired.
                has_fix = True
            # Skipped, the rule would not record the open calls.
            has_fix |= memory.server_calls != self._memory.server_calls
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
        self._clean = self._cache.clean.setdefault(self._facts(), {})

    def find_clean(self, word: str, position: str) -> CleanWindow | None:
        """Return the facts about the next window if it is known to be clean, else None.

        A clean window is passed: its ids are added to the memory. ``position`` tells whether it is
        the first or last window; it is empty for all others.
        """
        known = self._clean.get(word + position)
        if known is None:
            return None
        group = known.group
        if group.id_count or group.name_count > 1:
            id_end, name_end = self._id_at + group.id_count, self._name_at + group.name_count
            ids, names = self._ids[self._id_at : id_end], self._names[self._name_at : name_end]
            if (
                self._clean_key(word, position, ids, names if group.name_count > 1 else ())
                not in self._clean
            ):
                return None
            for at in group.call_positions:
                self._memory.call_ids.add(ids[at])
            for at in group.item_positions:
                self._memory.item_ids.add(ids[at])
            self._id_at = id_end
        self._name_at += group.name_count
        return known

    def remember_clean(self, sketch: WindowSketch, position: str) -> None:
        """Record a window in which no rule must run."""
        memory, group, cache = self._memory, sketch.group, self._cache
        if not group.is_known or len(self._clean) >= _MAX_ENTRIES:
            return
        updates_run = (group.has_user and not memory.has_user) or (
            group.has_turns and not memory.has_turns
        )
        updates_run = updates_run or (group.has_reasoning and not memory.has_reasoning)
        known = CleanWindow(
            group,
            updates_run=updates_run
            or group.updates_memory
            or group.is_signed
            or group.has_counted_content,
        )
        if group.id_count or group.name_count > 1:
            if not (
                key := self._clean_key(
                    group.word, position, sketch.ids, sketch.names if group.name_count > 1 else ()
                )
            ):
                return
            self._clean[key] = known
        self._clean[group.word + position] = known
        cache.is_full = cache.is_full or len(self._clean) >= _MAX_ENTRIES

    def _clean_key(
        self, word: str, position: str, ids: list[str], names: Sequence[str]
    ) -> tuple[object, ...]:
        """Return the key of a window with ids; empty if there are too many or one occurred before.

        Ids and names are represented by the position of their first occurrence.
        """
        memory = self._memory
        if (
            len(ids) > _SMALL or len(names) > _SMALL or not memory.call_ids.isdisjoint(ids)
            or (memory.item_ids and not memory.item_ids.isdisjoint(ids))
            or (memory.server_calls and not memory.server_calls.keys().isdisjoint(ids))
        ):  # fmt: skip
            return ()
        return (word, position, *map(ids.index, ids), *map(names.index, names))


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
        any(known.is_signed for known in messages),
        any(known.has_counted_content for known in messages),
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


def _item_ids(message: Message, dialect: Dialect) -> list[str]:
    """Return the item ids that the dialect remembers from a message."""
    memory = Memory()
    dialect.remember([message.list_item], memory)
    return sorted(memory.item_ids)


def _may_span_turns(messages: list[StructureInfo]) -> bool:
    """Whether the assistant adds text or media after a call, or anything after another role."""
    has_called, was_assistant = False, True
    for known in messages:
        if known.is_assistant and ((has_called and known.has_text_or_media) or not was_assistant):
            return True
        has_called, was_assistant = has_called or known.has_calls, known.is_assistant
    return False
