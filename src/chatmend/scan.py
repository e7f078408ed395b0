"""Which rules are due in a window: what the rules themselves said of a window that looked the same.

A rule's ``find`` is asked once for each structure of a window, under the limits of a target; what it said is kept.
So there is one judgement of what is wrong, the rule's own, and a clean window costs its sketch.
"""

from __future__ import annotations

import re
from collections import ChainMap
from dataclasses import dataclass, replace
from itertools import accumulate, count
from typing import TYPE_CHECKING, Any

from chatmend.jsontext import is_sound
from chatmend.rules import LAST
from chatmend.sketch import Group, Seen, Sketch, Unsketched, Values, pattern
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

_MOST = 4096
"""How many structures of messages, and of windows, are remembered; what comes then is looked at by every rule, and the
next repair begins to learn anew."""
_FEW = 16
"""Up to how many ids and names a window may have to be known by them without a look."""
_OTHERS, _MODELS = 0x1000, 0x3000
"""Each structure of a message has a letter; those of the model's messages begin at ``_MODELS``."""
_STRANGE, _STRANGE_ANSWER = chr(_OTHERS - 1), chr(_MODELS - 1)
"""The letters of messages that cannot be sketched, or not be remembered: a user's, say, and the model's."""
_SPEAKS = f"{_STRANGE_ANSWER}-\U0010ffff"
_WINDOW = re.compile(f"[{_SPEAKS}]+[^{_SPEAKS}]*|[^{_SPEAKS}]+")
"""A window in the letters of its messages."""


@dataclass(frozen=True, slots=True)
class Known:
    """What holds for every message of one structure."""

    letter: str
    role: Role
    speaks: bool
    """Whether it is the model's."""
    is_signed: bool
    is_laden: bool
    """Whether there may be an image or a cache marker in it: these are counted in the end."""
    is_remembered: bool
    """Whether the dialect notes something of it, besides the ids of entries and that there is reasoning."""
    reasons: bool
    """Whether it is an entry of reasoning."""
    speaks_words: bool
    """Whether words, or something that is neither a call nor thinking, stand in it."""
    has_calls: bool
    ids: int = 0
    """How many ids stand in it: of calls, results and entries."""
    names: int = 0
    calls: tuple[int, ...] = ()
    """The places of the ids of its calls among its ids."""
    entries: tuple[int, ...] = ()
    """The places of the ids of entries."""


@dataclass(frozen=True, slots=True)
class Clean:
    """What is known of windows in which nothing was due."""

    group: Group
    has_trace: bool
    """Whether anything of it must be noted."""


class Learned:
    """What was learnt for a target. Threads share it: entries are added, and at last all are left behind."""

    def __init__(self, traits: Traits, limits: Limits, rules: tuple[Rule, ...]) -> None:
        """Nothing is known."""
        self.rules = rules
        """Held, so that no others are ever known by the same number."""
        self.always = 0
        self.watches: list[tuple[int, Callable[[Seen], bool]]] = []
        columns: dict[str, dict[object, tuple[frozenset[str] | None, Callable[[Any], object]]]] = {}
        for place, rule in enumerate(rules):
            if rule.judges is None:
                self.always |= 1 << place
                continue
            for column, make in rule.judges.items():
                if (judge := make(limits, traits)) is not None:
                    columns.setdefault(column, {}).setdefault(make, (getattr(make, "keys", None), judge))
            if rule.watches is not None and (watch := rule.watches(limits, traits)) is not None:
                self.watches.append((1 << place, watch))
        self.all = (1 << len(rules)) - 1
        self.values = Values({column: list(judges.values()) for column, judges in columns.items()})
        self.plain: dict[str, str] = {}
        """By role, the letter of messages of a role and a text like most."""
        self.messages: dict[object, Known] = {}
        self.letters: dict[str, Known] = {}
        self.numbers = count()
        self.groups: dict[str, Group] = {}
        self.windows: dict[tuple[object, ...], int] = {}
        """Which rules are due, a bit for the place of each."""
        self.met: set[tuple[object, ...]] = set()
        """The windows that came at least once."""
        self.clean: dict[tuple[bool, ...], dict[object, Clean]] = {}
        """For what the memory knows, the windows in which none is due, with and without their ids."""
        self.is_full = False
        """Whether nothing more is learnt."""


_STORES: dict[tuple[object, ...], Learned] = {}
"""What was learnt, by dialect, limits, policy and rules."""
_TARGETS = 64
"""For how many of these something is known at a time."""


def learned(context: Context, rules: tuple[Rule, ...]) -> Learned:
    """What was learnt so far for a dialect, limits and a policy."""
    key = (context.dialect.key(), context.limits, context.policy, id(rules))
    store = _STORES.get(key)
    if store is None or store.is_full or len(store.values.plans) >= _MOST:
        if store is not None or len(_STORES) >= _TARGETS:
            _STORES.clear()
        store = _STORES[key] = Learned(context.dialect.TRAITS, context.limits, rules)
    return store


class Scan:
    """The looks at the windows of one transcript, in order."""

    def __init__(self, context: Context, rules: tuple[Rule, ...], memory: Memory) -> None:
        """``memory``: that of the repair."""
        self._context, self._rules, self._memory = context, rules, memory
        context.dialect.expect(context.limits)
        self._store = learned(context, rules)
        self._sketch = Sketch(self._store.values)
        self._ids, self._names = self._sketch.ids, self._sketch.names
        self._id_at = self._name_at = 0
        """How many of the ids and names stand in windows that were looked at."""
        self._clean: dict[object, Clean] = {}
        self.fresh: tuple[object, ...] | None = None
        self.all = self._store.all
        """Every rule."""

    def words(self, natives: Sequence[Any]) -> list[str]:
        """The windows, each as the letters of its messages."""
        return _WINDOW.findall(self._spelled(natives))

    def _spelled(self, natives: Sequence[Any]) -> str:
        """The letters of messages, whose ids and names are gathered."""
        letters: list[str] = []
        store, sketch, form_of = self._store, self._sketch, self._context.dialect.sketch
        push, plain, forms, ids, names = letters.append, store.plain, store.messages, sketch.ids, sketch.names
        takes_words, takes_forms = store.values.takes_words, store.values.takes_forms
        for native in natives:
            if native.__class__ is dict and len(native) == 2 and takes_words:  # noqa: PLR2004 - as most are
                text, role = native.get("content"), native.get("role")
                if (
                    text.__class__ is str and text and not text.isspace() and role.__class__ is str
                    and (text.isascii() or is_sound(text))
                ):  # fmt: skip
                    push(plain[role] if role in plain else self._plain(native, role))
                    continue
            id_at, name_at = len(ids), len(names)
            form = form_of(native, sketch) if takes_forms else None
            known = None if form is None else forms.get(form)
            push(self._known(native, form, id_at, name_at).letter if known is None else known.letter)
        return "".join(letters)

    def _plain(self, native: dict[str, Any], role: str) -> str:
        """The letter of a message of a role and a text like most."""
        letter = self._known(native, None, len(self._ids), len(self._names)).letter
        if letter not in (_STRANGE, _STRANGE_ANSWER):
            self._store.plain[role] = letter
        return letter

    def _known(self, native: Any, form: object, id_at: int, name_at: int) -> Known:  # noqa: ANN401 - anything may come
        """What holds for messages like one, of a usual form or of none; its ids and names stand behind the places."""
        messages, sketch = self._store.messages, self._sketch
        try:
            if form is None:
                del sketch.ids[id_at:], sketch.names[name_at:]
                form = self._walked(native)
            known = messages.get(form)
            if known is None:
                known = messages[form] = self._read(native, sketch.ids[id_at:], len(sketch.names) - name_at)
                self._store.letters[known.letter] = known
        except Unsketched:
            del sketch.ids[id_at:], sketch.names[name_at:]
            message = self._context.dialect.read(native)
            return self._described(_STRANGE_ANSWER if message.is_assistant else _STRANGE, message)
        return known

    def _walked(self, native: Any) -> object:  # noqa: ANN401
        if native.__class__ is dict:
            return self._sketch.message(native)
        shown = self._context.dialect.read(native).native
        if shown.__class__ is not dict:
            raise Unsketched
        return (native.__class__, *self._sketch.message(shown))

    def _read(self, native: Any, ids: list[str], names: int) -> Known:  # noqa: ANN401
        """What is learnt of a message.

        Raises:
            Unsketched: its calls and entries cannot be told by their ids, or no more is remembered.
        """
        message = self._context.dialect.read(native)
        made = [part.id for part in message.calls if isinstance(part.id, str)] if message.is_assistant else []
        if len(self._store.messages) >= _MOST:
            self._store.is_full = True
            raise Unsketched
        noted = _entries(message, self._context.dialect)
        are_told_apart = not made or len(set(ids)) == len(ids)
        if not are_told_apart or not {*made, *noted}.issubset(ids):
            raise Unsketched
        letter = chr((_MODELS if message.is_assistant else _OTHERS) + next(self._store.numbers))
        calls, entries = tuple(map(ids.index, made)), tuple(map(ids.index, noted))
        return replace(self._described(letter, message), ids=len(ids), names=names, calls=calls, entries=entries)

    def _described(self, letter: str, message: Message) -> Known:
        memory = Memory()
        self._context.dialect.remember([message.whole], memory)
        reasons = memory.has_reasoning
        memory.item_ids, memory.has_reasoning = set(), False
        parts, role = message.parts, message.role
        laden = any(rule.counts(message) for rule in LAST if rule.counts is not None)
        words = any(isinstance(part, Text | Media) for part in parts)
        noted, calls = memory != Memory(), bool(message.calls)
        return Known(letter, role, role is Role.ASSISTANT, is_signed(parts), laden, noted, reasons, words, calls)

    def group(self, word: str, natives: Sequence[Any]) -> Group:
        """What holds for the messages of a window."""
        store = self._store
        if (group := store.groups.get(word)) is None:
            known = [store.letters.get(letter) for letter in word]
            if None in known:
                read = map(self._context.dialect.read, natives)
                described = [one or self._described(_STRANGE, said) for one, said in zip(known, read, strict=True)]
                return _group(word, described)
            group = _group(word, [one for one in known if one is not None], is_known=True)
            store.groups[word] = group
            store.is_full = store.is_full or len(store.groups) >= _MOST
        return group

    def look(self, group: Group, *, last: bool) -> Seen:
        """The next window."""
        ids, names = self._id_at, self._name_at
        self._id_at, self._name_at = ids + group.ids, names + group.names
        return Seen(group, self._ids[ids : self._id_at], self._names[names : self._name_at], last)

    def again(self, natives: list[Any], *, last: bool) -> Seen:
        """A window that a rule has changed."""
        ids, names = len(self._ids), len(self._names)
        group = self.group(self._spelled(natives), natives)
        seen = Seen(group, self._ids[ids:], self._names[names:], last)
        del self._ids[ids:], self._names[names:]
        return seen

    def due(self, seen: Seen, flags: tuple[bool, ...], window: Callable[[], Window]) -> int:
        """Which rules are due, a bit for the place of each; ``window`` reads the window, where it has to be learnt.

        Of a window that is met for the first time nothing is learnt: all are due, and ``fresh`` is what it is known by.
        Most structures that are broken never come again.
        """
        store, group = self._store, seen.group
        self.fresh = None
        if not group.is_known:
            return store.all
        key = (group.word, *self._patterns(seen.ids, seen.names), flags, self._facts())
        if (due := store.windows.get(key)) is None:
            if key not in store.met:
                store.met.add(key)
                store.is_full = store.is_full or len(store.met) >= _MOST
                self.fresh = key
                return store.all
            due = self._asked(window()) | store.always | self._watched(seen)
            store.windows[key] = due
        return due

    def learn_clean(self, key: tuple[object, ...], seen: Seen) -> None:
        """Note that no rule said anything of a window."""
        self._store.windows[key] = self._store.always | self._watched(seen)

    def _watched(self, seen: Seen) -> int:
        """The rules that look at every window of a structure."""
        return sum([bit for bit, watch in self._store.watches if watch(seen)])

    def _asked(self, window: Window) -> int:
        """What the rules say: each is asked of the window as it came, and changes nothing."""
        due, context = 0, replace(self._context, recompressor=_asked_for)  # type: ignore[arg-type]  # nobody gets anything
        for place, rule in enumerate(self._rules):
            if rule.judges is None:
                continue
            memory = replace(self._memory, id_counts=ChainMap({}, self._memory.id_counts))
            try:
                says = any(True for _ in rule.find(window, memory, context))
            except Exception:  # noqa: BLE001 - it wants an image, or expects what the rules before it leave: it is due
                says = True
            due |= says << place
        return due

    def _patterns(self, ids: list[str], names: list[str]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        memory = self._memory
        return pattern(ids, memory.call_ids, memory.item_ids, memory.server_calls), pattern(names)

    def _facts(self) -> tuple[bool, ...]:
        memory = self._memory
        return memory.has_user, memory.has_turns, memory.has_reasoning, memory.elsewhere, not memory.server_calls

    def refresh(self) -> None:
        """Take note of what the memory knows now."""
        self._clean = self._store.clean.setdefault(self._facts(), {})

    def known_clean(self, word: str, place: str) -> Clean | None:
        """What is known of the next window where it is like one in which nothing was due; else None.

        ``place``: where it stands; nothing for one amid others.
        """
        known = self._clean.get(word + place)
        if known is None:
            return None
        group = known.group
        if group.ids or group.names > 1:
            id_end, name_end = self._id_at + group.ids, self._name_at + group.names
            ids, names = self._ids[self._id_at : id_end], self._names[self._name_at : name_end]
            if self._form(word, place, ids, names if group.names > 1 else ()) not in self._clean:
                return None
            for at in group.calls:
                self._memory.call_ids.add(ids[at])
            for at in group.entries:
                self._memory.item_ids.add(ids[at])
            self._id_at = id_end
        self._name_at += group.names
        return known

    def remember_clean(self, seen: Seen, place: str) -> None:
        """Note a window in which nothing was due."""
        memory, group, store = self._memory, seen.group, self._store
        if not group.is_known or len(self._clean) >= _MOST:
            return
        has_trace = (group.has_user and not memory.has_user) or (group.has_turns and not memory.has_turns)
        has_trace = has_trace or (group.reasons and not memory.has_reasoning)
        known = Clean(group, has_trace=has_trace or group.is_remembered or group.is_signed or group.is_laden)
        if group.ids or group.names > 1:
            if not (form := self._form(group.word, place, seen.ids, seen.names if group.names > 1 else ())):
                return
            self._clean[form] = known
        self._clean[group.word + place] = known
        store.is_full = store.is_full or len(self._clean) >= _MOST

    def _form(self, word: str, place: str, ids: list[str], names: Sequence[str]) -> tuple[object, ...]:
        """A window with its ids and names, by the first place of each; nothing where one is known already."""
        memory = self._memory
        if (
            len(ids) > _FEW or len(names) > _FEW or not memory.call_ids.isdisjoint(ids)
            or (memory.item_ids and not memory.item_ids.isdisjoint(ids))
            or (memory.server_calls and not memory.server_calls.isdisjoint(ids))
        ):  # fmt: skip
            return ()
        return (word, place, *map(ids.index, ids), *map(names.index, names))


def _asked_for(*_: object) -> None:
    """In the place of what recompresses images while rules are asked: a rule that wants one has something to say.

    Raises:
        LookupError: always.
    """
    raise LookupError


def _group(word: str, messages: list[Known], *, is_known: bool = False) -> Group:
    roles = {known.role for known in messages}
    turns = roles - {Role.SYSTEM, Role.DEVELOPER}
    starts = list(accumulate((known.ids for known in messages), initial=0))
    return Group(
        word,
        is_known,
        sum(known.speaks for known in messages),
        _goes_on([known for known in messages if known.speaks]),
        bool(roles - {Role.ASSISTANT}),
        bool(turns - {Role.ASSISTANT}),
        Role.USER in roles,
        bool(turns),
        any(known.is_signed for known in messages),
        any(known.is_laden for known in messages),
        any(known.is_remembered for known in messages),
        any(known.reasons for known in messages),
        sum(known.ids for known in messages),
        sum(known.names for known in messages),
        tuple(start + place for start, known in zip(starts, messages, strict=False) for place in known.calls),
        tuple(start + place for start, known in zip(starts, messages, strict=False) for place in known.entries),
    )


def _entries(message: Message, dialect: Dialect) -> list[str]:
    """The ids by which the dialect remembers a message."""
    memory = Memory()
    dialect.remember([message.whole], memory)
    return sorted(memory.item_ids)


def _goes_on(run: list[Known]) -> bool:
    first = next((at for at, known in enumerate(run) if known.has_calls), len(run))
    return any(known.speaks_words for known in run[first + 1 :])
