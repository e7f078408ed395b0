"""What is known about structures of messages, windows and transcripts under the limits of a target.

Threads share these caches. They are limited in size and never affect a result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING

from chatmend.repaired_windows import RepairedWindows
from chatmend.sketch import LAST_TEXT, SketchCache, combine_judges

if TYPE_CHECKING:
    from collections.abc import Callable, Sized

    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.renaming import Renaming
    from chatmend.rules import Rule
    from chatmend.rules.rule import Judge
    from chatmend.sketch import Classes, Group, WindowSketch
    from chatmend.targets.limits import Limits
    from chatmend.transcript import Role

MAX_ENTRIES = 4096
"""The maximum number of structures of messages, and of windows, in a cache.

Beyond it, every rule runs on new structures, and the next repair starts with an empty cache.
"""


@dataclass(frozen=True, slots=True)
class StructureInfo:
    """Facts about all messages of one structure."""

    letter: str
    role: Role
    is_assistant: bool
    counted: int
    """The rules in ``LAST`` that count content of the message, as a bit mask of their positions."""
    updates_memory: bool
    """Whether the dialect remembers more than item ids and the presence of reasoning."""
    has_reasoning: bool
    """Whether it is a reasoning item."""
    has_text_or_media: bool
    """Whether it has a text, also one beside its content, or media."""
    has_calls: bool
    ends_with_content: bool
    """Whether the last part is the text under ``content``."""
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
    pattern: tuple[int, ...] = ()
    """For each of its ids, the position of its first occurrence."""
    layout: tuple[tuple[int, ...], ...] | None = None
    """Empty if the window has no ids and names.

    Otherwise the pattern of its ids, that of its names, and the positions of the ids of calls and
    of items. None if the window cannot be passed together with others.
    """


class RuleCache:
    """What is known about structures under one set of limits and rules.

    Threads share it. Entries are only added; a full cache is replaced by an empty one.
    """

    def __init__(self, traits: Traits, limits: Limits, rules: tuple[Rule, ...]) -> None:
        """Start with no structures."""
        self.rules = rules
        """Kept so that no other tuple of rules can get the same ``id()``."""
        self.always = sum(1 << at for at, rule in enumerate(rules) if rule.judges is None)
        self.watches = _watches(rules, traits, limits)
        columns = _judges_by_column(rules, traits, limits)
        self.all = (1 << len(rules)) - 1
        self.renaming = next((at for at, rule in enumerate(rules) if _only_renames(rule)), -1)
        """The position of the rule that renames calls; -1 if there is none."""
        self.judges_new_ids = len(columns.get("ids", ())) > 1
        """Whether another rule judges ids, too."""
        self.repaired_windows = RepairedWindows()
        """Windows of message objects that were repaired before."""
        self.renamings: dict[tuple[object, ...], Renaming | None] = {}
        """For windows in which only ids are wrong: how to rename them, if this is known."""
        self.turn_rules_start = next(
            (position for position, rule in enumerate(rules, 1) if rule.splits_window), 0
        )
        """The position of the first rule that runs on each turn separately; 0 if none does."""
        self.last_text = combine_judges(columns.pop(LAST_TEXT, []))
        """The judge of the text at the end of the last message, if a rule has one."""
        self.sketches = SketchCache(columns, has_item_ids=traits.messages_are_items)
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
        self.transcripts: dict[object, tuple[int, int]] = {}
        """The transcripts whose windows are clean, by their letters.

        The values are the number of columns, of ids and names, that matter, and the rules that
        count content. If columns matter, there is a second entry by the letters with their pattern.
        """
        self.is_full = False
        """Whether no more entries are added."""

    def has_room(self, entries: Sized) -> bool:
        """Whether an entry may be added; if not, the next repair starts with an empty cache."""
        self.is_full = self.is_full or len(entries) >= MAX_ENTRIES
        return not self.is_full

    @property
    def needs_renewal(self) -> bool:
        """Whether the next repair must start with an empty cache."""
        sketches = self.sketches
        plans = max(len(sketches.plans), len(sketches.message_plans))
        return self.is_full or plans >= MAX_ENTRIES


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
    if cache is None or cache.needs_renewal:
        if cache is not None or len(_CACHES) >= _MAX_CACHES:
            _CACHES.clear()
        cache = _CACHES[key] = RuleCache(context.dialect.TRAITS, limits, rules)
    return cache


def _judges_by_column(rules: tuple[Rule, ...], traits: Traits, limits: Limits) -> Classes:
    """Return the judges of all rules by column; rules that share a judge need it only once."""
    columns: dict[str, dict[object, Judge | None]] = {}
    for rule in rules:
        for column, make in (rule.judges or {}).items():
            known = columns.setdefault(column, {})
            if make not in known:
                known[make] = make(limits, traits)
    found = {
        column: [
            (getattr(make, "keys", None), judge)
            for make, judge in known.items()
            if judge is not None
        ]
        for column, known in columns.items()
    }
    return {column: judges for column, judges in found.items() if judges}


def _watches(
    rules: tuple[Rule, ...], traits: Traits, limits: Limits
) -> list[tuple[int, Callable[[WindowSketch], bool]]]:
    """Return the conditions under which a rule must run, each with the bit of the rule."""
    made = [
        (1 << at, rule.watches(limits, traits))
        for at, rule in enumerate(rules)
        if rule.judges is not None and rule.watches is not None
    ]
    return [(bit, watch) for bit, watch in made if watch is not None]


def _only_renames(rule: Rule) -> bool:
    """Return whether a rule renames calls and judges nothing but their ids."""
    return bool(rule.rename) and {*(rule.judges or ())} == {"ids"}
