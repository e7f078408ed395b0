"""Finds the letter of each message: messages of one structure have one letter."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend.jsontext import is_encodable
from chatmend.rule_cache import MAX_ENTRIES, StructureInfo
from chatmend.rules import LAST
from chatmend.sketch import NO_FORM, Sketch, Unsketched, equality_pattern
from chatmend.transcript import Media, Role, Text
from chatmend.windows import Memory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmend.context import Context
    from chatmend.dialects import Dialect
    from chatmend.rule_cache import RuleCache
    from chatmend.sketch import WalkPlan
    from chatmend.transcript import Message

FIRST_OTHER, FIRST_ASSISTANT = 0x1000, 0x3000
"""Each structure of a message gets a letter.

The letters of assistant messages start at ``FIRST_ASSISTANT``, all others at ``FIRST_OTHER``.
"""
MAX_MESSAGES = 64
"""The maximum number of messages of a transcript that is recognised as a whole."""
UNKNOWN_OTHER, UNKNOWN_ASSISTANT = chr(FIRST_OTHER - 1), chr(FIRST_ASSISTANT - 1)
"""The letters of messages that cannot be sketched or cached; the second is for the assistant's."""

_ASSISTANT_LETTERS = f"{UNKNOWN_ASSISTANT}-\U0010ffff"
_WINDOW = re.compile(f"[{_ASSISTANT_LETTERS}]+[^{_ASSISTANT_LETTERS}]*|[^{_ASSISTANT_LETTERS}]+")
"""Matches the letters of one window."""


def cut(letters: str) -> list[str]:
    """Cut the letters of a transcript into words, one for each window."""
    return _WINDOW.findall(letters)


def has_unknown(letters: str) -> bool:
    """Whether a message could not be sketched or cached."""
    return UNKNOWN_OTHER in letters or UNKNOWN_ASSISTANT in letters


def without_repetition(letters: str) -> str:
    """Return each letter once, in the order of first occurrence, until there are too many.

    The result is longer than ``MAX_MESSAGES`` if there are more letters than that.
    """
    first = ""
    while letters and len(first) <= MAX_MESSAGES:
        first += letters[0]
        letters = letters.replace(letters[0], "")
    return first


class Reader:
    """Reads the letters of messages, and collects their ids and names in ``ids`` and ``names``."""

    __slots__ = ("_cache", "_context", "_sketch", "ids", "last_text", "letters", "names")

    def __init__(self, context: Context, cache: RuleCache) -> None:
        """``cache`` is shared by threads and transcripts."""
        self._context, self._cache = context, cache
        self._sketch = Sketch(cache.sketches)
        self.ids, self.names = self._sketch.ids, self._sketch.names
        self.last_text: object = None
        """The class of the text at the end of the transcript."""
        self.letters = ""
        """The letters of the transcript."""

    def read(self, natives: Sequence[Any], among: set[str] | None = None) -> str:
        """Read a transcript; return the letters of all its messages.

        If ``among`` is given and a letter of the first messages is not in it, the rest is not read,
        and the result is empty.
        """
        if among is None:
            letters = self.letters = self.letters_of(natives)
        else:
            letters = self.letters_of(natives[:MAX_MESSAGES])
            if not among.issuperset(letters):
                return ""
            letters = self.letters = letters + self.letters_of(natives[MAX_MESSAGES:])
        if letters and letters[-1] >= UNKNOWN_ASSISTANT:
            self.last_text = self.class_of_last_text(natives, letters)
        return letters

    def class_of_last_text(self, natives: Sequence[Any], letters: str) -> object:
        """Return the class of the text at the end, if the assistant wrote it."""
        judge = self._cache.last_text
        if judge is None or not letters or letters[-1] < UNKNOWN_ASSISTANT:
            return None
        known, last = self._cache.structure_of_letter.get(letters[-1]), natives[-1]
        if known is not None and known.ends_with_content and last.__class__ is dict:
            return judge(last["content"])
        parts = self._context.dialect.read(last).parts
        return judge(parts[-1].text) if parts and isinstance(parts[-1], Text) else None

    def find_clean(self) -> int | None:
        """Return the request rules that must run if all windows are known to be clean, else None.

        They are a bit mask of positions in ``LAST``: those rules that count content. Only for a
        transcript at the beginning of a conversation, with an empty memory.
        """
        known = self._cache.transcripts.get(self.letters)
        if known is None or self.last_text:
            return None
        columns, counted = known
        if columns and self._key(columns) not in self._cache.transcripts:
            return None
        return counted

    def remember_clean(self, counted: int) -> bool:
        """Record that no rule must run on a window; return whether this can be found again.

        ``counted`` are the request rules that count content of the messages.
        """
        letters = self.letters
        if len(letters) > MAX_MESSAGES or self.last_text:
            return False
        transcripts, groups = self._cache.transcripts, map(self._cache.groups.get, cut(letters))
        if len(transcripts) >= MAX_ENTRIES:
            transcripts.clear()
        has_names = any(group is None or group.name_count > 1 for group in groups)
        columns = 2 if has_names else 1 if self.ids else 0
        if columns:
            transcripts[self._key(columns)] = columns, counted
        transcripts[letters] = columns, counted
        return True

    def _key(self, columns: int) -> tuple[object, ...]:
        ids, names = self.ids, self.names if columns > 1 else ()
        return (self.letters, *equality_pattern(ids), *equality_pattern(names))

    def letters_of(self, natives: Sequence[Any]) -> str:
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
        ignores_text_values, ignores_common_parts, plans, inner = (
            cache.sketches.ignores_text_values,
            cache.sketches.ignores_common_parts,
            cache.sketches.message_plans,
            cache.sketches.plans,
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
            id_at = sketch.id_start = len(ids)
            name_at = sketch.name_start = len(names)
            form = form_of(native, sketch)
            if not ignores_common_parts and form is not NO_FORM:
                form = None
            if unusual:
                form = None if form is None else (form, *unusual)
                unusual.clear()
            known = forms.get(form) if form is not None else None
            if known is not None:
                push(known.letter)
            elif form is None and native.__class__ is dict:
                plan = plans.get((*native, *map(type, native.values())))
                letter = None if plan is None else plan.find_letter(native, inner)
                push(letter or self._letter_by_keys(native, plan, id_at, name_at))
            else:
                push(self._info_for(native, form, id_at, name_at).letter)
        return "".join(letters)

    def _letter_by_keys(
        self, native: dict[Any, Any], plan: WalkPlan | None, id_at: int, name_at: int
    ) -> str:
        """Return the letter of a message with other keys than the most frequent messages."""
        if plan is not None and plan.letters is None:
            return self._info_for(native, None, id_at, name_at, plan).letter
        letter = self._info_for(native, None, id_at, name_at, plan).letter
        if plan is not None and letter not in (UNKNOWN_OTHER, UNKNOWN_ASSISTANT):
            plan.remember_letter(native, self._cache.sketches.plans, letter)
        return letter

    def _letter_for_role(self, native: dict[str, Any], role: str) -> str:
        """Find and cache the letter of a message with only a role and an ordinary text."""
        letter = self._info_for(native, None, len(self.ids), len(self.names)).letter
        if letter not in (UNKNOWN_OTHER, UNKNOWN_ASSISTANT):
            self._cache.letter_of_role[role] = letter
        return letter

    def _info_for(
        self,
        native: Any,  # noqa: ANN401 - callers may pass any object as a message
        form: object,
        id_at: int,
        name_at: int,
        plan: WalkPlan | None = None,
    ) -> StructureInfo:
        """Return the facts about a message's structure.

        ``form`` is the structure found by the dialect, or None. The ids and names of the message
        start at ``id_at`` and ``name_at``. ``plan`` is its walk plan, if it is known.
        """
        structures, sketch = self._cache.structures, self._sketch
        try:
            if form is None or form is NO_FORM:
                del sketch.ids[id_at:], sketch.names[name_at:]
                form = self._walk(native, form, plan)
            own_ids = sketch.ids[id_at:]
            # Calls and items are at the same positions only in messages with the same repeated ids.
            if len(set(own_ids)) < len(own_ids):
                form = form, equality_pattern(own_ids)
            known = structures.get(form)
            if known is None:
                known = structures[form] = self._make_info(native, own_ids, sketch.names[name_at:])
                self._cache.structure_of_letter[known.letter] = known
        except Unsketched:
            del sketch.ids[id_at:], sketch.names[name_at:]
            message = self._context.dialect.read(native)
            return self.describe(
                UNKNOWN_ASSISTANT if message.is_assistant else UNKNOWN_OTHER, message
            )
        return known

    def _walk(self, native: Any, form: object, plan: WalkPlan | None) -> object:  # noqa: ANN401
        """Return the structure of a message for which the dialect has found no form.

        Raises:
            Unsketched: the message cannot be sketched, or must not be (``NO_FORM``).
        """
        if form is NO_FORM:
            raise Unsketched
        if native.__class__ is dict:
            return self._sketch.message(native, plan)
        as_dict = self._context.dialect.read(native).native
        if as_dict.__class__ is not dict:
            raise Unsketched
        return (native.__class__, *self._sketch.message(as_dict))

    def _make_info(
        self,
        native: Any,  # noqa: ANN401
        ids: list[str],
        names: list[str],
    ) -> StructureInfo:
        """Collect the facts about a new structure, from one message that has it.

        Raises:
            Unsketched: an id or name by which rules match its calls, results and items is not
                among those of the sketch, or the cache is full.
        """
        message = self._context.dialect.read(native)
        call_ids = (
            [part.id for part in message.calls if isinstance(part.id, str)]
            if message.is_assistant
            else []
        )
        result_ids = [part.call_id for part in message.results if isinstance(part.call_id, str)]
        if not self._cache.has_room(self._cache.structures):
            raise Unsketched
        item_ids = _item_ids(message, self._context.dialect)
        if not {*call_ids, *result_ids, *item_ids}.issubset(ids):
            raise Unsketched
        matched = [call.name for call in message.calls]
        matched += [result.name for result in message.results]
        if not {name for name in matched if isinstance(name, str)}.issubset(names):
            raise Unsketched
        letter = chr(
            (FIRST_ASSISTANT if message.is_assistant else FIRST_OTHER) + next(self._cache.numbers)
        )
        call_positions, item_positions = (
            tuple(map(ids.index, call_ids)),
            tuple(map(ids.index, item_ids)),
        )
        return replace(
            self.describe(letter, message),
            id_count=len(ids),
            name_count=len(names),
            call_positions=call_positions,
            item_positions=item_positions,
        )

    def describe(self, letter: str, message: Message) -> StructureInfo:
        """Return the facts about a message, for the structure with this letter."""
        memory = Memory()
        self._context.dialect.remember([message.list_item], memory)
        has_reasoning = memory.has_reasoning
        memory.item_ids, memory.has_reasoning = set(), False
        parts, role = message.parts, message.role
        counted = sum(
            1 << position
            for position, rule in enumerate(LAST)
            if rule.has_counted_content is not None and rule.has_counted_content(message)
        )
        ends_with_content = (
            bool(parts) and isinstance(parts[-1], Text) and message.native.__class__ is dict
            and parts[-1].text is message.native.get("content")
        )  # fmt: skip
        has_text_or_media = message.words_beside_content is not None or any(
            isinstance(part, Text | Media) for part in parts
        )
        updates_memory, has_calls = memory != Memory(), bool(message.calls)
        return StructureInfo(
            letter,
            role,
            role is Role.ASSISTANT,
            counted,
            updates_memory,
            has_reasoning,
            has_text_or_media,
            has_calls,
            ends_with_content,
        )


def _item_ids(message: Message, dialect: Dialect) -> list[str]:
    """Return the item ids that the dialect remembers from a message."""
    memory = Memory()
    dialect.remember([message.list_item], memory)
    return sorted(memory.item_ids)
