"""Finds clean transcripts by their structure, before their dialect and limits are determined.

Most stored transcripts are short and clean, and many have the same structure. The dialect and
whether the transcript is clean depend only on the structure, so both are looked up at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from chatmend.context import Context
from chatmend.dialects import DIALECTS
from chatmend.letters import MAX_MESSAGES, Reader
from chatmend.rule_cache import MAX_ENTRIES

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from chatmend.dialects import Dialect
    from chatmend.policy import Policy
    from chatmend.rule_cache import RuleCache
    from chatmend.targets import Target
    from chatmend.targets.limits import Limits

_MAX_SOURCES = 256


class _Known(NamedTuple):
    """The transcripts that were recognised as one dialect and found clean."""

    context: Context
    cache: RuleCache
    letters: set[str]


class Source:
    """Transcripts whose dialect is determined in the same way, for one target and policy."""

    __slots__ = ("_known", "_only_texts", "_owners")

    def __init__(self, *owners: object, only_texts: bool = False) -> None:
        """Start with no transcripts.

        Args:
            owners: objects to keep, so that no other object can get the ``id()`` of one of them.
            only_texts: whether to remember only transcripts whose messages have a role and a text.
        """
        self._owners = owners
        self._only_texts = only_texts
        self._known: _Known | None = None
        """Those of the dialect recognised last."""

    def has(self, messages: Sequence[Any]) -> bool:
        """Whether a transcript is known to be clean."""
        return self._find(messages) is not None

    def _find(self, messages: Sequence[Any]) -> str | None:
        """Return the letters of a transcript if it is known to be clean."""
        known = self._known
        if known is None or known.cache.is_full or not 0 < len(messages) <= MAX_MESSAGES:
            return None
        if messages[0].__class__ is not dict:
            return None
        reader = Reader(known.context, known.cache)
        letters = reader.read(messages)
        return letters if letters in known.letters and reader.is_known_clean(letters) else None

    def remember(self, letters: str, context: Context, cache: RuleCache) -> None:
        """Remember a clean transcript, after its dialect was determined."""
        if DIALECTS.get(context.dialect.NAME) is not context.dialect:
            return  # each repair has another object
        if self._only_texts and not set(letters).issubset(cache.letter_of_role.values()):
            return
        known = self._known
        if known is None or known.cache is not cache or len(known.letters) >= MAX_ENTRIES:
            known = self._known = _Known(context, cache, set())
        known.letters.add(letters)

    def adopt(self, other: Source, messages: Sequence[Any]) -> None:
        """Remember a transcript that ``other`` knows to be clean, in the same dialect."""
        letters, known = other._find(messages), other._known
        if letters is not None and known is not None:
            self.remember(letters, known.context, known.cache)


class ObjectSource:
    """Transcripts of message objects that a dialect reads in the same way, for the same requests.

    The dialect of a repair remembers what it has read, so each repair has its own.
    """

    __slots__ = ("_known", "_owners")

    def __init__(self, *owners: object) -> None:
        """Start with no transcripts; ``owners`` are objects to keep, as in ``Source``."""
        self._owners = owners
        self._known: tuple[Limits, Policy, RuleCache] | None = None

    def read(self, messages: Sequence[Any], dialect: Dialect) -> tuple[Context, Reader] | None:
        """Return the messages as a reader has read them; None if no transcript is known."""
        if self._known is None or self._known[2].is_full or not 0 < len(messages) <= MAX_MESSAGES:
            return None
        limits, policy, cache = self._known
        dialect.set_limits(limits)
        context = Context(limits, dialect, policy)
        reader = Reader(context, cache)
        reader.read(messages)
        return context, reader

    def remember(self, _: str, context: Context, cache: RuleCache) -> None:
        """Remember the limits and the cache of a clean transcript."""
        self._known = context.limits, context.policy, cache


_SOURCES: dict[tuple[Hashable, ...], Source | ObjectSource] = {}


def source_of(target: Target, policy: Policy, kind: str, *, only_texts: bool = False) -> Source:
    """Return the source for a target and a policy.

    Args:
        target: the target.
        policy: the policy.
        kind: how the dialect is determined.
        only_texts: for requests that declare no tools. Whether calls and references are clean then
            depends on more than the structure of the messages.
    """
    key = (Source, id(target), id(policy), kind, only_texts)
    source = _SOURCES.get(key)
    if not isinstance(source, Source):
        source = Source(target, policy, only_texts=only_texts)
        _keep(key, source)
    return source


def source_of_objects(target: Target, policy: Policy, *kind: Hashable) -> ObjectSource:
    """Return the source for a target, a policy and what else the limits of a request depend on."""
    key = (ObjectSource, id(target), id(policy), *kind)
    source = _SOURCES.get(key)
    if not isinstance(source, ObjectSource):
        source = ObjectSource(target, policy)
        _keep(key, source)
    return source


def _keep(key: tuple[Hashable, ...], source: Source | ObjectSource) -> None:
    if len(_SOURCES) >= _MAX_SOURCES:
        _SOURCES.clear()
    _SOURCES[key] = source
