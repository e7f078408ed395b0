"""Repairs a request of a conversation of which earlier requests are known."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Protocol

from chatmend.changes import Change, Effect
from chatmend.lessons import Lesson, digest_of
from chatmend.rules import accepted_prefix, refused_block
from chatmend.session_memory import (
    SentTurn,
    SessionMemory,
    digest_of_json,
    digest_of_message,
    join_digests,
    without_markers,
)
from chatmend.thinking_parameter import with_dropped_blocks
from chatmend.transcript import Thinking

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from chatmend.dialects import Dialect
    from chatmend.policy import Policy
    from chatmend.rules import Request
    from chatmend.transcript import Message, Part

_MOST_TURNS = 16
"""Requests that are kept; a conversation may be continued in several ways."""
_MOST_BLOCKS = 20_000
"""Thinking blocks whose prompt is kept."""


class Repair(Protocol):
    """Repairs a request, with further lessons."""

    def __call__(
        self, request: Request, *more: Lesson, accepted: int = 0
    ) -> tuple[Request, tuple[Change, ...]]:
        """Return the repaired request and the changes.

        ``accepted`` is the number of messages at the beginning that no rule changes.
        """


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
    readings: dict[int, tuple[object, Message, list[str]]] = field(default_factory=dict, init=False)
    """Cache: messages, as they were read, and the digests of their thinking."""

    def repair(
        self, request: Request, run: Repair
    ) -> tuple[Request, tuple[Change, ...], SessionMemory]:
        """Return the repaired request, the changes, and the memory for the next request.

        Accepted messages are sent in the same form again. Thinking before which the caller has
        changed the prompt is removed.
        """
        done, changes = self._with_accepted_messages(request, run, frozenset())
        outdated = self._outdated_thinking(done) if self.is_bound else {}
        removed = frozenset[str]()
        is_allowed = self.policy.allow >= Effect.DROPS and self.policy.bound_thinking != "report"
        if outdated and not is_allowed:
            changes = (*changes, _finding())
        elif outdated and (ignoring := self._ignoring(request)) is not None:
            done = replace(done, thinking=ignoring)
            changes = (*changes, _ignored(request, ignoring))
        elif outdated:
            removed = frozenset(outdated)
            done, changes = self._with_accepted_messages(request, run, removed)
        memory = self._memory_after(request, done, removed)
        return done, changes, replace(memory, prompts={**memory.prompts, **outdated})

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
        if turn.messages is None:
            return run(request, *more, accepted=turn.count)
        messages = [*turn.messages, *given[turn.count :]]
        accepted = len(turn.messages)
        done, changes = run(replace(request, messages=messages), *more, accepted=accepted)
        shift = turn.count - accepted
        moved = [
            change if change.index is None else replace(change, index=max(0, change.index + shift))
            for change in changes
        ]
        return done, (accepted_prefix.make_change(given, messages), *moved)

    def _accepted_turn(self, messages: Sequence[Any], outdated: frozenset[str]) -> SentTurn | None:
        """Return the longest earlier request that these messages continue with its answer.

        The answer shows that the provider has accepted the request. A request that was repaired
        with other lessons is left out: the provider has refused something since.
        """
        known = self._known(outdated)
        candidates = [
            turn
            for turn in self.memory.turns
            if turn.target == self.target
            and turn.known == known
            and self._is_answered(messages, turn.count)
        ]
        if not candidates:
            return None
        digests = self._cumulative_digests(messages[: max(turn.count for turn in candidates)])
        matching = [turn for turn in candidates if digests[turn.count] == turn.came]
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
        """Return a digest of what is known of the target in addition to its tables."""
        lessons = sorted(f"{one.target} {one.limit} {one.value}" for one in self.lessons)
        return digest_of_json([lessons, sorted(outdated)])

    def _outdated_thinking(self, sent: Request) -> dict[str, str]:
        """Return the thinking blocks before which the prompt has changed, and their prompts.

        A block is compared with the prompt before which it was sent earlier. A new block is
        compared with the requests to which it can be the answer: those with the same last message,
        or with the same messages before it. If there is none, and all other thinking is known, it
        answers the last request, of which the caller has changed more.

        A prompt does not contain the thinking that is removed from it.
        """
        if not self.memory.turns:
            return {}
        readings = list(map(self._read, sent.messages))
        messages = [message for message, _ in readings]
        thinking = [set(blocks) for _, blocks in readings]
        starts = _starts_of_answers(messages)
        new = {
            starts[at] for at, blocks in enumerate(thinking) if blocks - self.memory.prompts.keys()
        }
        prompts = {
            start: self._answered_prompts(sent.messages, start, is_only=len(new) == 1)
            for start in new
        }
        outdated, before, head = dict[str, str](), "", _digest_of_head(sent)
        for at, blocks in enumerate(thinking):
            prompt = join_digests(head, before)
            if starts[at] == at:
                start_prompt = prompt
            removed = dict[str, str]()
            for block in blocks:
                answers = prompts.get(starts[at], set())
                if known := self.memory.prompts.get(block):
                    if known != prompt:
                        removed[block] = known
                elif answers and start_prompt not in answers:
                    removed[block] = min(answers)
            outdated |= removed
            kept = self._without(messages[at], removed) if removed else sent.messages[at]
            before = before if kept is None else join_digests(before, self._digest(kept))
        return outdated

    def _without(self, message: Message, removed: Mapping[str, str]) -> object:
        """Return the message to send without some thinking; None if nothing is left of it."""
        parts = tuple(
            part for part in message.parts if not removed.keys() & set(_thinking_in([part]))
        )
        return self.dialect.write(message.with_parts(parts)) if parts else None

    def _answered_prompts(self, messages: Sequence[Any], start: int, *, is_only: bool) -> set[str]:
        """Return the prompts of earlier requests to which the message at ``start`` may answer."""
        if not start:
            return set()
        last = self._digest(messages[start - 1])
        before = self._cumulative_digests(messages[: start - 1])[-1]
        turns = self.memory.turns
        found = {
            turn.prompt
            for turn in turns
            if turn.last == last or (turn.sent_count == start and turn.before == before)
        }
        return found or ({turns[-1].prompt} if is_only and turns else set())

    def _memory_after(
        self, request: Request, sent: Request, outdated: frozenset[str]
    ) -> SessionMemory:
        """Return the memory after a request: what the caller gave, and what was sent."""
        came = digests = self._cumulative_digests(request.messages)
        if sent.messages is not request.messages:
            digests = self._cumulative_digests(sent.messages)
        head = _digest_of_head(sent)
        prompts = [join_digests(head, digest) for digest in digests]
        turn = SentTurn(
            target=self.target,
            known=self._known(outdated),
            count=len(request.messages),
            came=came[-1],
            sent_count=len(sent.messages),
            sent=digests[-1],
            prompt=prompts[-1],
            before=digests[-2] if sent.messages else "",
            last=self._digest(sent.messages[-1]) if sent.messages else "",
            messages=(
                None if digests[-1] == came[-1] else tuple(map(without_markers, sent.messages))
            ),
        )
        # Nothing shows yet that this request is accepted, so the last accepted one is kept, too.
        accepted = self._accepted_turn(request.messages, outdated)
        others = [
            old
            for old in self.memory.turns
            if old is accepted or not _continues(came, old, self.target)
        ]
        blocks = dict(self.memory.prompts)
        for prompt, (_, thinking) in zip(prompts, map(self._read, sent.messages), strict=False):
            for block in thinking:
                blocks.setdefault(block, prompt)
        for block in list(blocks)[: max(0, len(blocks) - _MOST_BLOCKS)]:
            del blocks[block]
        return SessionMemory((*others, turn)[-_MOST_TURNS:], blocks)

    def _begins(self, messages: Sequence[Any], turn: SentTurn) -> bool:
        """Return whether messages begin with those that were sent in a turn."""
        head = messages[: turn.sent_count]
        return len(head) == turn.sent_count and self._cumulative_digests(head)[-1] == turn.sent

    def _cumulative_digests(self, messages: Sequence[Any]) -> list[str]:
        """Return a digest of the first 0, 1, 2, ... messages."""
        return list(accumulate(map(self._digest, messages), join_digests, initial=""))

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
