"""Finds the dialect of transcripts by their structure, and whether short ones are clean.

Most stored transcripts are short and clean, and many have the same structure. The dialect and
whether the windows are clean depend only on the structure, so both are looked up at once. A long
transcript seldom has the structure of another, but the same structures of messages: they are enough
to know its dialect.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeGuard, TypeVar

from chatmend.context import Context
from chatmend.dialects import DIALECTS, Dialect
from chatmend.letters import MAX_MESSAGES, Reader, has_unknown, without_repetition
from chatmend.request_rules import finds_nothing
from chatmend.rule_cache import MAX_ENTRIES
from chatmend.thinking_parameter import is_thinking_disabled, is_thinking_on

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from chatmend.policy import Policy
    from chatmend.rule_cache import RuleCache
    from chatmend.rules import Request
    from chatmend.targets import Target
    from chatmend.targets.limits import Limits

_MAX_SOURCES = 256


@dataclass(frozen=True, slots=True)
class _Known:
    """The transcripts that were recognised as one dialect and whose windows are clean."""

    limits: Limits
    policy: Policy
    context: Context | None
    """None if each repair has a dialect of its own, which remembers the messages it has read."""
    cache: RuleCache
    letters: set[str] = field(default_factory=set)
    """The letters of the transcripts whose windows are clean."""
    first_letters: set[str] = field(default_factory=set)
    """The letters of the recognised transcripts, without repetition.

    The dialect depends on the structures that occur and on their order of first occurrence.
    """
    common: set[str] = field(default_factory=set)
    """All letters in ``first_letters``."""

    @property
    def is_full(self) -> bool:
        """Whether no more transcripts are added."""
        return max(len(self.letters), len(self.first_letters)) >= MAX_ENTRIES


class Lookup:
    """One transcript that was looked up in a source.

    If it is not known, its repair continues with what the lookup has read.
    """

    __slots__ = (
        "_messages", "_needs_dialect", "_reader", "context", "counted", "dialect", "known",
        "letters", "source",
    )  # fmt: skip

    def __init__(
        self,
        source: Source,
        messages: Sequence[Any],
        known: _Known | None,
        dialect: Dialect | None = None,
        *,
        needs_dialect: bool = False,
    ) -> None:
        """Read the transcript as the one that was recognised last.

        ``dialect`` reads message objects; without it, messages are dicts. A long transcript is read
        only to find its dialect, with ``needs_dialect``.
        """
        self.source, self._messages, self.known = source, messages, known
        self._reader: Reader | None = None
        self.letters = ""
        self.context: Context | None = None
        """What applies to the request, if the windows of the transcript are known to be clean."""
        self.counted = 0
        """The request rules that must run on a known transcript, as in ``Reader.find_clean``."""
        self.dialect: Dialect | None = None
        """The dialect of the transcript, if it was needed and is known."""
        self._needs_dialect = needs_dialect
        is_long = len(messages) > MAX_MESSAGES
        if known is None or known.cache.is_full or not messages or (is_long and not needs_dialect):
            return
        context = known.context
        if dialect is not None:
            dialect.set_limits(known.limits)
            context = Context(known.limits, dialect, known.policy)
        elif messages[0].__class__ is not dict:
            return
        if context is None:
            return
        reader = Reader(context, known.cache)
        if not reader.read(messages, among=known.common if is_long else None):
            return
        self._reader, self.letters = reader, reader.letters
        if needs_dialect and without_repetition(reader.letters) in known.first_letters:
            self.dialect, self._needs_dialect = context.dialect, False
        counted = reader.find_clean() if self.letters in known.letters else None
        if counted is not None:
            self.context, self.counted = context, counted

    def is_of(self, messages: Sequence[Any]) -> bool:
        """Whether this is the transcript that was looked up."""
        return messages is self._messages

    def take_reader(self, messages: Sequence[Any], cache: RuleCache) -> Reader | None:
        """Return the reader of these messages if it used this cache; only one repair gets it."""
        reader, self._reader = self._reader, None
        is_same = self.known is not None and self.known.cache is cache
        return reader if is_same and messages is self._messages else None

    def remember_dialect(
        self, messages: Sequence[Any], letters: str, context: Context, cache: RuleCache
    ) -> None:
        """Remember the dialect of the transcript, if it was needed and not known."""
        is_read = messages is self._messages and not has_unknown(letters)
        if self._needs_dialect and is_read:
            self._needs_dialect = False
            self.source.remember_dialect(letters, context, cache)


class Source:
    """Transcripts whose dialect and limits are determined in the same way."""

    __slots__ = ("_owners", "known", "limits")

    def __init__(self, *owners: object) -> None:
        """Start with no transcripts.

        Args:
            owners: objects to keep, so that no other object can get the ``id()`` of one of them.
        """
        self._owners = owners
        self.known: _Known | None = None
        """Those of the dialect recognised last."""
        self.limits: Limits | None = None
        """The limits of its requests; None if they are not known or depend on the dialect."""

    def find(
        self,
        messages: Sequence[Any],
        dialect: Dialect | None = None,
        *,
        needs_dialect: bool = False,
    ) -> Lookup:
        """Look up a transcript; the arguments are those of ``Lookup``."""
        return Lookup(self, messages, self.known, dialect, needs_dialect=needs_dialect)

    def has(self, messages: Sequence[Any]) -> bool:
        """Whether a transcript is known to be clean, and holds nothing that request rules count."""
        found = self.find(messages)
        return found.context is not None and not found.counted

    def remember(self, letters: str, context: Context, cache: RuleCache) -> None:
        """Remember a transcript with clean windows, after its dialect was determined."""
        if (known := self._known_for(context, cache)) is not None:
            known.letters.add(letters)

    def remember_dialect(self, letters: str, context: Context, cache: RuleCache) -> None:
        """Remember that transcripts with these structures of messages have this dialect.

        A transcript of very many structures will not come again, except with more of them.
        """
        first = without_repetition(letters)
        if len(first) > MAX_MESSAGES:
            return
        if (known := self._known_for(context, cache)) is not None:
            known.first_letters.add(first)
            known.common.update(first)

    def _known_for(self, context: Context, cache: RuleCache) -> _Known | None:
        """Return the transcripts of a dialect; None if this dialect cannot be shared."""
        dialect, known = context.dialect, self.known
        is_shared = DIALECTS.get(dialect.NAME) is dialect
        if not is_shared and not reads_objects(dialect):
            return None
        if known is None or known.cache is not cache or known.is_full:
            shared = context if is_shared else None
            known = self.known = _Known(context.limits, context.policy, shared, cache)
        return known

    def adopt(self, other: Source, messages: Sequence[Any]) -> None:
        """Remember a transcript that ``other`` knows to be clean, in the same dialect."""
        found = other.find(messages)
        if found.context is not None and found.known is not None:
            self.remember(found.letters, found.context, found.known.cache)


class ObjectDialect(Dialect, Protocol):
    """A dialect of message objects; each repair has an instance of its own."""

    lookup: Lookup | None
    """What was found when the messages of this repair were looked up; None if they were not."""

    @property
    def reads_alike(self) -> bool:
        """Whether a message that has not changed is read as in other repairs."""

    def for_another_repair(self) -> Self:
        """Return a dialect that has read nothing, with the same limits."""


def reads_objects(dialect: object) -> TypeGuard[ObjectDialect]:
    """Whether a dialect reads message objects; each repair then has a dialect of its own."""
    return bool(getattr(dialect, "READS_OBJECTS", False))


_SOURCES: dict[tuple[Hashable, ...], Source] = {}


def source_of(
    target: Target,
    policy: Policy,
    kind: Hashable,
    parameters: tuple[bool, bool, bool, bool] = (False, False, False, True),
) -> Source:
    """Return the source for a target and a policy.

    Args:
        target: the target.
        policy: the policy.
        kind: how the dialect is determined.
        parameters: whether the request enables thinking, whether it disables thinking, whether it
            declares tools, and whether the provider can look up stored items. The limits depend on
            them (``Limits.beside``).
    """
    key = (id(target), id(policy), kind, parameters)
    source = _SOURCES.get(key)
    if source is None:
        if len(_SOURCES) >= _MAX_SOURCES:
            _SOURCES.clear()
        source = _SOURCES[key] = Source(target, policy)
    return source


def source_of_request(
    request: Request, target: Target, policy: Policy, kind: Hashable, *, stored: bool = True
) -> Source:
    """Return the source for a request; ``stored``: whether the provider can look up its items."""
    thinking = request.thinking
    enabled, disabled = is_thinking_on(thinking), is_thinking_disabled(thinking)
    return source_of(target, policy, kind, (enabled, disabled, bool(request.tools), stored))


_D = TypeVar("_D", bound=ObjectDialect)


class RequestKind(Generic[_D]):
    """Requests of an adapter that differ only in their messages, which are message objects."""

    __slots__ = ("_dialect", "_finds_nothing", "_request", "_source")

    def __init__(self, request: Request, target: Target, policy: Policy, dialect: _D) -> None:
        """``request`` has the parameters that all of them share."""
        self._request, self._dialect = request, dialect
        self._source = source_of_request(request, target, policy, (dialect.cache_key(),))
        self._finds_nothing: bool | None = None
        """Whether the parameters are fine; None if the limits are not known yet."""

    def look_up(self, messages: Sequence[Any]) -> tuple[bool, _D]:
        """Return whether a request with these messages is known to need no repair.

        If not, its repair with the returned dialect continues with what was read.
        """
        dialect = self._dialect.for_another_repair()
        try:
            found = dialect.lookup = Lookup(self._source, messages, self._source.known, dialect)
        except Exception:  # noqa: BLE001 - of an object in a message; the repair carries it
            return False, dialect
        if found.context is None or found.counted:
            return False, dialect
        if self._finds_nothing is None:
            self._finds_nothing = finds_nothing(self._request, found.context)
            self._dialect = dialect.for_another_repair()
        return self._finds_nothing, dialect
