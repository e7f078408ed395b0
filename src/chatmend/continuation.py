"""Repairs a request of a conversation of which earlier requests are known."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Protocol

from chatmend.changes import Change, Effect
from chatmend.lessons import Lesson, digest_of
from chatmend.rules import accepted_prefix, refused_block
from chatmend.session_memory import (
    MOST_TURNS,
    SentTurn,
    SessionMemory,
    digest_of_json,
    digest_of_message,
    edits_between,
    join_digests,
    with_most_blocks,
)
from chatmend.thinking_parameter import with_dropped_blocks
from chatmend.transcript import Thinking

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from chatmend.dialects import Dialect
    from chatmend.policy import Policy
    from chatmend.rules import Request
    from chatmend.transcript import Message, Part


class Repair(Protocol):
    """Repairs a request, with further lessons."""

    def __call__(
        self, request: Request, *more: Lesson, accepted: int = 0
    ) -> tuple[Request, tuple[Change, ...]]:
        """Return the repaired request and the changes.

        ``accepted`` is the number of messages at the beginning that no rule changes.
        """


@dataclass(slots=True)
class Comparison:
    """Compares the thinking of a request with the prompts for which it was made."""

    known: Mapping[str, str]
    """The prompts of blocks in earlier requests."""
    is_bound: bool
    """Whether thinking is outdated if the prompt before it has changed."""
    head: str
    """A digest of what comes before the messages."""
    before: str
    """A digest of the messages so far, without their outdated thinking."""
    prompts: dict[str, str] = field(default_factory=dict)
    """The prompt for which each block was made."""
    outdated: set[str] = field(default_factory=set)
    """The names of the blocks before which the prompt has changed.

    ``DIGEST`` means all occurrences of a block, ``DIGEST#2`` the second and later ones.
    """
    counts: Counter[str] = field(default_factory=Counter)
    """How many messages so far have each block."""

    @property
    def prompt(self) -> str:
        """A digest of the whole prompt so far."""
        return self.head + self.before

    def add(self, block: str, other: str | None) -> bool:
        """Add a block of the next message; return whether it is outdated.

        ``other`` is another prompt for which it was made, if it is new and that is known.
        """
        self.counts[block] += 1
        count = self.counts[block]
        name = block if count == 1 else f"{block}#{count}"
        made_for = known = self.known.get(name)
        if made_for is None and self.is_bound:
            first = self.known.get(block) or self.prompts.get(block)
            made_for = other if count == 1 else first
        if self.is_bound and made_for not in (None, self.prompt):
            self.outdated.add(name)
            self.prompts[name] = made_for or ""
            return True
        self.prompts[name] = known or self.prompt
        return False


@dataclass(frozen=True, slots=True)
class Continuation:
    """What is known of a conversation when its next request is repaired."""

    memory: SessionMemory
    target: str
    lessons: tuple[Lesson, ...]
    dialect: Dialect
    policy: Policy
    is_bound: bool
    """Whether the target refuses thinking if the prompt before it has changed."""
    digests: dict[int, tuple[object, str]] = field(default_factory=dict, init=False)
    """Cache: messages and their digests, by the identity of the messages."""
    totals: dict[int, tuple[object, list[str]]] = field(default_factory=dict, init=False)
    """Cache: lists of messages and their cumulative digests."""
    readings: dict[int, tuple[object, Message, list[str]]] = field(default_factory=dict, init=False)
    """Cache: messages, their typed form, and the digests of their thinking."""

    def repair(
        self, request: Request, run: Repair
    ) -> tuple[Request, tuple[Change, ...], SessionMemory]:
        """Return the repaired request, the changes, and the memory for the next request.

        Accepted messages are sent in the same form again. Thinking before which the caller has
        changed the prompt is removed.
        """
        done, changes = self._with_accepted_messages(request, run, frozenset())
        compared = self._compare(done, is_bound=self.is_bound)
        outdated, removed = frozenset(compared.outdated), frozenset[str]()
        is_allowed = self.policy.allow >= Effect.DROPS and self.policy.bound_thinking != "report"
        if outdated and not is_allowed:
            changes = (*changes, _finding())
        elif outdated and (ignoring := self._ignoring(request)) is not None:
            done = replace(done, thinking=ignoring)
            changes = (*changes, _ignored(request, ignoring))
        elif outdated:
            removed = outdated
            done, changes = self._with_accepted_messages(request, run, removed)
            rest = self._compare(done, is_bound=False)
            compared = replace(rest, prompts={**compared.prompts, **rest.prompts}, is_bound=True)
        return done, changes, self._memory_after(request, done, compared, removed)

    def record(self, request: Request, sent: Request) -> SessionMemory:
        """Return the memory after a request that is sent without a repair."""
        compared = self._compare(sent, is_bound=False)
        return self._memory_after(request, sent, compared, frozenset())

    def _ignoring(self, request: Request) -> dict[str, Any] | None:
        """Return the parameter with which the provider ignores outdated thinking, if wanted."""
        is_wanted = self.policy.bound_thinking == "drop_block"
        return with_dropped_blocks(request.thinking) if is_wanted else None

    def _with_accepted_messages(
        self, request: Request, run: Repair, outdated: frozenset[str]
    ) -> tuple[Request, tuple[Change, ...]]:
        """Repair a request, such that it begins with the messages that the provider accepted."""
        more = [Lesson(self.target, "outdated_blocks", tuple(outdated))] if outdated else []
        done, changes = run(request, *more)
        turn = self._accepted_turn(request.messages, outdated)
        if turn is None or self._begins(done.messages, turn):
            return done, changes
        given = request.messages
        if not turn.edits:
            return run(request, *more, accepted=turn.count)
        accepted = turn.apply(given)
        messages = [*accepted, *given[turn.count :]]
        done, changes = run(replace(request, messages=messages), *more, accepted=len(accepted))
        shift = turn.count - len(accepted)
        moved = [
            change if change.index is None else replace(change, index=max(0, change.index + shift))
            for change in changes
        ]
        return done, (accepted_prefix.make_change(given, messages), *moved)

    def _accepted_turn(self, messages: Sequence[Any], outdated: frozenset[str]) -> SentTurn | None:
        """Return the longest earlier request that these messages continue with its answer.

        The answer shows that the provider has accepted the request, unless it came from another
        provider. A request that was repaired with other lessons is left out: the provider has
        refused something since.
        """
        known, totals = self._known(outdated), self._totals(messages)
        matching = [
            turn
            for turn in self.memory.turns
            if _continues(totals, turn, self.target)
            and turn.known == known
            and not turn.has_failed
            and self._is_answered(messages, turn.count)
        ]
        return max(matching, key=lambda turn: turn.count, default=None)

    def _is_answered(self, messages: Sequence[Any], count: int) -> bool:
        """Return whether the first ``count`` messages are a request that an answer follows.

        If they end with a message of the assistant, the next one may belong to the same answer.
        """
        if not 0 < count < len(messages):
            return False
        (before, _), (answer, _) = map(self._read, messages[count - 1 : count + 1])
        return answer.is_assistant and not before.is_assistant

    def _known(self, outdated: frozenset[str]) -> str:
        """Return a digest of what is known of the target in addition to its tables, if anything."""
        if not self.lessons and not outdated:
            return ""
        lessons = sorted(f"{one.target} {one.limit} {one.value}" for one in self.lessons)
        return digest_of_json([lessons, sorted(outdated)])

    def _compare(self, sent: Request, *, is_bound: bool) -> Comparison:
        """Compare the prompt before each thinking block with the one for which it was made.

        A block is compared with the prompt before which it was sent earlier, a new block with the
        requests to which it can be the answer. A prompt does not contain outdated thinking. If the
        target does not compare (``is_bound``), or nothing was sent before, none is outdated.
        """
        head, totals = _digest_of_head(sent), self._totals(sent.messages)
        is_bound = is_bound and bool(self.memory.turns)
        first = self._compared_count(sent.messages, head, is_bound=is_bound)
        readings = list(map(self._read, sent.messages[first:]))
        starts = _starts_of_answers([message for message, _ in readings])
        new = {
            start
            for start, (_, blocks) in zip(starts, readings, strict=True)
            if not self.memory.prompts.keys() >= set(blocks)
        }
        answered = {
            start: self._answered_prompts(sent.messages, first + start, is_only=len(new) == 1)
            for start in (new if is_bound else ())
        }
        found = Comparison(self.memory.prompts, is_bound, head, totals[first])
        for at, (message, blocks) in enumerate(readings):
            if starts[at] == at:
                prompts = answered.get(at, set())
                other = None if not prompts or found.prompt in prompts else min(prompts)
            removed = {block for block in dict.fromkeys(blocks) if found.add(block, other)}
            native = sent.messages[first + at]
            kept = self._without(message, removed) if removed else native
            if not found.outdated:
                found.before = totals[first + at + 1]
            elif kept is not None:
                found.before = join_digests(found.before, self._digest(kept))
        return found

    def _compared_count(self, messages: Sequence[Any], head: str, *, is_bound: bool) -> int:
        """Return how many messages at the beginning were compared when they were sent before."""
        totals = self._totals(messages)
        counts = [
            turn.sent_count
            for turn in self.memory.turns
            if turn.target == self.target
            and (turn.is_compared or not is_bound)
            and 0 < turn.sent_count <= len(messages)
            and turn.prompt == head + totals[turn.sent_count]
        ]
        count = max(counts, default=0)
        if not count or self._read(messages[count - 1])[0].is_assistant:
            return 0
        later = {block for message in messages[count:] for block in self._read(message)[1]}
        return 0 if later & self.memory.prompts.keys() else count

    def _without(self, message: Message, removed: AbstractSet[str]) -> object:
        """Return the message to send without some thinking; None if nothing is left of it."""
        parts = tuple(part for part in message.parts if not removed & set(_thinking_in([part])))
        return self.dialect.write(message.with_parts(parts)) if parts else None

    def _answered_prompts(self, sent: Sequence[Any], start: int, *, is_only: bool) -> set[str]:
        """Return the prompts of earlier requests to which the message at ``start`` may answer.

        These are the requests with the same last message, or with the same messages before it. If
        there is none, and all other thinking is known, the message answers the last request, of
        which the caller has changed more. A request that is sent again has its answer directly
        after it.
        """
        if not start:
            return set()
        last, before = self._digest(sent[start - 1]), self._totals(sent)[start - 1]
        turns = [
            turn
            for turn in self.memory.turns
            if turn.sent_count == start or not self._begins(sent, turn)
        ]
        found = {
            turn.prompt
            for turn in turns
            if turn.last == last or (turn.sent_count == start and turn.before == before)
        }
        answered = [turn for turn in self.memory.turns if not turn.has_failed]
        is_changed = bool(answered) and answered[-1] in turns
        return found or ({answered[-1].prompt} if is_only and is_changed else set())

    def _memory_after(
        self, request: Request, sent: Request, compared: Comparison, removed: frozenset[str]
    ) -> SessionMemory:
        """Return the memory after a request: what the caller gave, and what was sent."""
        came, totals = self._totals(request.messages), self._totals(sent.messages)
        is_same = totals[-1] == came[-1]
        turn = SentTurn(
            target=self.target,
            known=self._known(removed),
            count=len(request.messages),
            came=came[-1],
            sent_count=len(sent.messages),
            sent=totals[-1],
            prompt=compared.prompt,
            before=totals[-2] if sent.messages else "",
            last=self._digest(sent.messages[-1]) if sent.messages else "",
            edits=() if is_same else edits_between(request.messages, sent.messages, self._digest),
            is_compared=compared.is_bound or not self.memory.turns,
        )
        # Nothing shows yet that this request is accepted, so the last accepted one is kept, too.
        accepted = self._accepted_turn(request.messages, removed)
        others = [
            old
            for old in self.memory.turns
            if old is accepted or not _continues(came, old, self.target)
        ]
        known = self.memory.prompts
        prompts = with_most_blocks({**known, **compared.prompts, **known})
        return SessionMemory((*others, turn)[-MOST_TURNS:], prompts)

    def _begins(self, messages: Sequence[Any], turn: SentTurn) -> bool:
        """Return whether messages begin with those that were sent in a turn."""
        count = turn.sent_count
        return count <= len(messages) and self._totals(messages)[count] == turn.sent

    def _totals(self, messages: Sequence[Any]) -> list[str]:
        """Return a digest of the first 0, 1, 2, ... messages."""
        if id(messages) not in self.totals:
            totals = list(accumulate(map(self._digest, messages), join_digests, initial=""))
            self.totals[id(messages)] = messages, totals
        return self.totals[id(messages)][1]

    def _read(self, native: object) -> tuple[Message, list[str]]:
        """Return a message, and the digests of its thinking."""
        if id(native) not in self.readings:
            message = self.dialect.read(native)
            self.readings[id(native)] = native, message, list(_thinking_in(message.parts))
        return self.readings[id(native)][1:]

    def _digest(self, message: object) -> str:
        if id(message) not in self.digests:
            self.digests[id(message)] = message, digest_of_message(message)
        return self.digests[id(message)][1]


def _continues(came: list[str], turn: SentTurn, target: str) -> bool:
    """Return whether messages with these cumulative digests begin with those of a turn."""
    return turn.target == target and turn.count < len(came) and came[turn.count] == turn.came


def _starts_of_answers(messages: Sequence[Message]) -> list[int]:
    """Return for each message the index at which its run of assistant messages begins."""
    starts: list[int] = []
    for at, message in enumerate(messages):
        continues = at > 0 and message.is_assistant and messages[at - 1].is_assistant
        starts.append(starts[-1] if continues else at)
    return starts


def _digest_of_head(sent: Request) -> str:
    """Return a digest of what comes before the messages."""
    system = sent.system
    if isinstance(system, str):
        system = [{"type": "text", "text": system}]
    return digest_of_json([system or None, sent.tools or None])


def _thinking_in(parts: Iterable[Part]) -> Iterator[str]:
    """Yield the digest of each thinking block."""
    for part in parts:
        if isinstance(part, Thinking) and part.is_object:
            yield digest_of(part.extra)


def _ignored(request: Request, becomes: dict[str, Any]) -> Change:
    """Return the change of the thinking parameter."""
    return Change(
        refused_block.RULE.code, refused_block.RULE.name, Effect.DROPS, None,
        refused_block.WHY_OUTDATED, (request.thinking,), (becomes,), where="thinking",
    )  # fmt: skip


def _finding() -> Change:
    """Return the finding for thinking that the provider will probably refuse."""
    return Change(
        refused_block.RULE.code, refused_block.RULE.name, Effect.DROPS, None,
        refused_block.WHY_OUTDATED, (), (), applied=False, finding=True,
    )  # fmt: skip
