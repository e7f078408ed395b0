"""Finds clean transcripts by their structure, before their dialect and limits are determined.

Most stored transcripts are short and clean, and many have the same structure. The dialect and
whether the windows are clean depend only on the structure, so both are looked up at once.
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
    """The transcripts that were recognised as one dialect and whose windows are clean."""

    limits: Limits
    policy: Policy
    context: Context | None
    """None if each repair has a dialect of its own, which remembers the messages it has read."""
    cache: RuleCache
    letters: set[str]


class Lookup:
    """One transcript that was looked up in a source.

    If it is not known, its repair continues with what the lookup has read.
    """

    __slots__ = ("_messages", "_reader", "context", "counted", "known", "letters", "source")

    def __init__(
        self,
        source: Source,
        messages: Sequence[Any],
        known: _Known | None,
        dialect: Dialect | None = None,
    ) -> None:
        """Read the transcript as the one that was recognised last, if it is short enough.

        ``dialect`` reads message objects; without it, messages are dicts.
        """
        self.source, self._messages, self.known = source, messages, known
        self._reader: Reader | None = None
        self.letters = ""
        self.context: Context | None = None
        """What applies to the request, if the windows of the transcript are known to be clean."""
        self.counted = 0
        """The request rules that must run on a known transcript, as in ``Reader.find_clean``."""
        if known is None or known.cache.is_full or not 0 < len(messages) <= MAX_MESSAGES:
            return
        context = known.context
        if dialect is not None:
            dialect.set_limits(known.limits)
            context = Context(known.limits, dialect, known.policy)
        elif messages[0].__class__ is not dict:
            return
        if context is None:
            return
        reader = self._reader = Reader(context, known.cache)
        self.letters = reader.read(messages)
        counted = reader.find_clean() if self.letters in known.letters else None
        if counted is not None:
            self.context, self.counted = context, counted

    def take_reader(self, messages: Sequence[Any], cache: RuleCache) -> Reader | None:
        """Return the reader of these messages if it used this cache; only one repair gets it."""
        reader, self._reader = self._reader, None
        is_same = self.known is not None and self.known.cache is cache
        return reader if is_same and messages is self._messages else None


class Source:
    """Transcripts whose dialect and limits are determined in the same way."""

    __slots__ = ("_known", "_owners")

    def __init__(self, *owners: object) -> None:
        """Start with no transcripts.

        Args:
            owners: objects to keep, so that no other object can get the ``id()`` of one of them.
        """
        self._owners = owners
        self._known: _Known | None = None
        """Those of the dialect recognised last."""

    def find(self, messages: Sequence[Any], dialect: Dialect | None = None) -> Lookup:
        """Look up a transcript; ``dialect`` reads it if it consists of message objects."""
        return Lookup(self, messages, self._known, dialect)

    def has(self, messages: Sequence[Any]) -> bool:
        """Whether a transcript is known to be clean, and holds nothing that request rules count."""
        found = self.find(messages)
        return found.context is not None and not found.counted

    def remember(self, letters: str, context: Context, cache: RuleCache) -> None:
        """Remember a transcript with clean windows, after its dialect was determined."""
        dialect, known = context.dialect, self._known
        is_shared = DIALECTS.get(dialect.NAME) is dialect
        if not is_shared and not reads_objects(dialect):
            return
        if known is None or known.cache is not cache or len(known.letters) >= MAX_ENTRIES:
            shared = context if is_shared else None
            known = self._known = _Known(context.limits, context.policy, shared, cache, set())
        known.letters.add(letters)

    def adopt(self, other: Source, messages: Sequence[Any]) -> None:
        """Remember a transcript that ``other`` knows to be clean, in the same dialect."""
        found = other.find(messages)
        if found.context is not None and found.known is not None:
            self.remember(found.letters, found.context, found.known.cache)


def reads_objects(dialect: object) -> bool:
    """Whether a dialect reads message objects; each repair then has a dialect of its own."""
    return bool(getattr(dialect, "READS_OBJECTS", False))


_SOURCES: dict[tuple[Hashable, ...], Source] = {}


def source_of(
    target: Target,
    policy: Policy,
    kind: Hashable,
    parameters: tuple[bool, bool, bool] = (False, False, True),
) -> Source:
    """Return the source for a target and a policy.

    Args:
        target: the target.
        policy: the policy.
        kind: how the dialect is determined.
        parameters: whether the request enables thinking, whether it declares tools, and whether
            the provider can look up stored items. The limits depend on them.
    """
    key = (id(target), id(policy), kind, parameters)
    source = _SOURCES.get(key)
    if source is None:
        if len(_SOURCES) >= _MAX_SOURCES:
            _SOURCES.clear()
        source = _SOURCES[key] = Source(target, policy)
    return source
