"""Repairs the conversations of one row and decides whether the row is usable."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from chatmend.changes import Effect
from chatmend.data.loss_masks import find_changed_mask
from chatmend.data.wire import StoredMessages
from chatmend.dialects.roles import ALIASES
from chatmend.errors import ChatmendError, PolicyError, TranscriptError
from chatmend.policy import CHOICES, Policy, resolve_policy
from chatmend.repair import is_synthetic, repair, repair_request
from chatmend.report import is_left, line
from chatmend.rules import (
    late_tool_result,
    missing_tool_result,
    orphan_tool_result,
    unknown_role,
)
from chatmend.targets import Target, resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chatmend.changes import Change
    from chatmend.data.formats import Format
    from chatmend.repair import Repaired, RepairedRequest

Row = dict[str, Any]
VALID, REPAIRED, QUARANTINED = STATUSES = ("valid", "repaired", "quarantined")
INCOMPLETE = ("repair", "quarantine")
"""The values of ``incomplete``; the first is the default."""
_MESSAGE_KEYS = ("messages", "input", "contents")
"""The keys of request bodies that hold messages."""
_MISSING = frozenset({missing_tool_result.RULE.name, orphan_tool_result.RULE.name})
"""The rules that find a call without a result, or a result without a call."""


class QuarantineError(ChatmendError):
    """A row cannot be repaired; the text is the reason. Layouts raise it."""


@dataclass(frozen=True, slots=True)
class RowSettings:
    """The options that apply to every row; can be pickled."""

    target: Target
    policy: Policy
    incomplete: str = "repair"
    """What becomes of a row whose tool exchanges are incomplete."""

    @property
    def for_template(self) -> bool:
        """Whether a chat template reads the rows.

        It does not read conversations that are sent, nor files for a training API that requires
        the arguments of calls as texts.
        """
        needs_texts = self.target.limits.arguments in ("text", "text-or-object")
        return self.policy.purpose == "train" and not needs_texts

    @property
    def needs_ids(self) -> bool:
        """Whether calls and results must have ids: in requests, and if a template checks them.

        If a template knows no tools, calls and results become texts, which need no ids.
        """
        limits = self.target.limits
        return not self.for_template or limits.call_id_pattern is not None or not limits.tools_taken


def make_settings(
    target: str | Target,
    *,
    purpose: str = "train",
    policy: Policy | str | Mapping[str, Any] | None = None,
    incomplete: str = "repair",
) -> RowSettings:
    """Return the settings that the options of ``repair_table`` mean.

    Raises:
        TargetError: the target is unknown.
        PolicyError: the purpose, the policy or ``incomplete`` is invalid.
    """
    if purpose not in CHOICES["purpose"]:
        choices = ", ".join(map(repr, CHOICES["purpose"]))
        raise PolicyError(f"purpose={purpose!r}: choose one of {choices}")
    if incomplete not in INCOMPLETE:
        choices = ", ".join(map(repr, INCOMPLETE))
        raise PolicyError(f"incomplete={incomplete!r}: choose one of {choices}")
    named = Policy.train() if purpose == "train" else Policy()
    chosen = resolve_policy(policy) or named
    if isinstance(policy, dict):
        chosen = replace(named, **{field: getattr(chosen, field) for field in policy})
    if chosen.purpose != purpose:
        chosen = replace(chosen, purpose=purpose)
    resolved = target if isinstance(target, Target) else resolve(target)
    return RowSettings(resolved, chosen, incomplete)


@dataclass(frozen=True, slots=True)
class Recorded:
    """What the repair of one conversation of a row has changed: enough to repeat it."""

    changes: tuple[Change, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """The other keys of a request body that changed, with their values; None: removed."""
    original: list[Any] = field(default_factory=list, repr=False)
    """The messages before the repair."""
    digest: str | None = None
    """The digest of the original messages, if these were not stored; see ``replaying``."""


@dataclass(frozen=True, slots=True)
class RowResult:
    """The outcome for one row."""

    row: Row
    """The repaired row: the same object if it is valid or quarantined."""
    status: str
    """``valid``, ``repaired`` or ``quarantined``."""
    changes: tuple[Change, ...] = ()
    """The changes of the repair; those of a quarantined row were not applied."""
    error: str | None = None
    """The reason why the row is quarantined."""
    conversations: tuple[Recorded, ...] = ()
    """The changes of each conversation of the row, in the order of their repair."""

    @property
    def rules(self) -> dict[str, int]:
        """The number of changes by the code of their rule."""
        return dict(sorted(Counter(change.code for change in self.changes).items()))

    @property
    def effect(self) -> str | None:
        """The strongest effect of the changes; None if there are none."""
        if not self.changes:
            return None
        return max(change.effect for change in self.changes).name.lower()


class Conversations:
    """Repairs the conversations of one row and collects the changes; layouts call it."""

    def __init__(self, settings: RowSettings, *, has_nulls: bool = True) -> None:
        """Start without changes; ``has_nulls``: whether keys that are absent may be null."""
        self._settings, self._has_nulls = settings, has_nulls
        self.changes: list[Change] = []
        self.recorded: list[Recorded] = []
        """What each call has changed, in order: ``repair``, ``preview``, ``repair_request``."""

    def calls_per_message(self, read: Callable[[int], list[Any]]) -> int:  # noqa: ARG002 - for a replay
        """Return how many calls the target accepts in a message: none, one, or more (2).

        ``read`` returns the messages of a row for a target that accepts so many.
        """
        limits = self._settings.target.limits
        return 0 if not limits.tools_taken else 1 if limits.max_calls_per_message == 1 else 2

    def repair(self, messages: object, *, system: object = None) -> list[Any]:
        """Repair a list of messages; returns the same list if nothing changed.

        Raises:
            QuarantineError: this is not a list of messages, or the repair would put the system
                prompt elsewhere.
        """
        repaired, moved = self.repair_with_system(messages, system=system)
        if moved is not system:
            raise QuarantineError(
                "the target requires the system prompt outside of the messages; store it under "
                "'system'"
            )
        return repaired

    def repair_with_system(
        self, messages: object, *, system: object = None
    ) -> tuple[list[Any], object]:
        """Like ``repair``, but return the system prompt too, to which texts may have moved."""
        if not isinstance(messages, list) or not messages:
            raise QuarantineError("the conversation is empty or not a list of messages")
        stored = self._stored(messages)
        done = self._repair(stored.messages, system)
        self.changes += done.changes
        if done.messages is stored.messages:
            return messages, done.system
        self._check_learnt(stored.messages, done.messages)
        return stored.restore(done.messages), done.system

    def preview(self, messages: list[Any]) -> list[Any]:
        """Return the repaired form of the beginning of a conversation; records no changes."""
        stored = self._stored(messages)
        return stored.restore(self._repair(stored.messages, None).messages)

    def count_once(self) -> None:
        """Drop changes that are equal to an earlier one, of conversations that share messages."""
        unique: dict[tuple[object, ...], list[Change]] = {}
        for change in self.changes:
            alike = unique.setdefault((change.code, change.window, change.at, change.index), [])
            if change not in alike:
                alike.append(change)
        self.changes = [change for alike in unique.values() for change in alike]

    def repair_request(self, body: dict[str, Any]) -> dict[str, Any]:
        """Repair a request body; returns the same dict if nothing changed.

        Raises:
            QuarantineError: it has no list of messages.
        """
        key = next((key for key in _MESSAGE_KEYS if isinstance(body.get(key), list)), None)
        if key is None:
            raise QuarantineError(f"no list of messages under {', '.join(_MESSAGE_KEYS)}")
        stored = self._stored(body[key], needs_ids=True)
        sent = body if stored.messages is body[key] else {**body, key: stored.messages}
        done = self._repair_request(sent, key)
        self.changes += done.changes
        if done.body is sent:
            return body
        self._check_learnt(stored.messages, done.body[key])
        return {**done.body, key: stored.restore(done.body[key])}

    def _stored(self, messages: list[Any], *, needs_ids: bool = False) -> StoredMessages:
        return StoredMessages(
            messages,
            has_nulls=self._has_nulls,
            for_template=self._settings.for_template,
            needs_ids=needs_ids or self._settings.needs_ids,
        )

    def _repair(self, messages: list[Any], system: object) -> Repaired:
        settings = self._settings
        done = repair(messages, settings.target, system=system, policy=settings.policy)
        self.recorded.append(Recorded(done.changes, original=messages))
        return done

    def _repair_request(self, body: dict[str, Any], key: str) -> RepairedRequest:
        """Repair a body whose messages are under ``key``."""
        done = repair_request(body, self._settings.target, policy=self._settings.policy)
        parameters = {
            name: done.body.get(name)
            for name in {**body, **done.body}
            if name != key and done.body.get(name) is not body.get(name)
        }
        self.recorded.append(Recorded(done.changes, parameters, body[key]))
        return done

    def _check_learnt(self, before: list[Any], after: list[Any]) -> None:
        """Check that a model would learn the same texts, and none that the repair has written."""
        if self._settings.policy.purpose != "train" or not after:
            return
        if (error := find_changed_mask(before, after)) is not None:
            raise QuarantineError(error)
        given = set(map(id, before))
        added = [message for message in after if id(message) not in given]
        if id(after[-1]) not in given:
            if is_synthetic(after[-1]):
                raise QuarantineError("nothing to learn: the repair would end with a placeholder")
            if _is_empty_answer(after[-1]):
                raise QuarantineError("nothing to learn: the last answer is empty")
        if any(_is_assistant(message) and is_synthetic(message) for message in added):
            raise QuarantineError(
                "the model would learn a placeholder: the repair needs a synthetic answer"
            )


def repair_row(
    row: Row, format_: Format, settings: RowSettings, *, has_nulls: bool = True
) -> RowResult:
    """Repair the conversations of a row; never raises because of its content.

    A row that causes an unexpected exception is quarantined, so that the other rows go on.

    Args:
        row: the values by column; never modified.
        format_: the layout of the row.
        settings: the target and the options.
        has_nulls: whether absent keys may be null.
    """
    conversations = Conversations(settings, has_nulls=has_nulls)
    try:
        if not format_.matches(row):
            raise QuarantineError(f"empty or not in the layout {format_.NAME} ({format_.LAYOUT})")  # noqa: TRY301 - one place turns reasons into results
        repaired = format_.repair(row, conversations)
        error = _reason(conversations.changes, settings)
    except (QuarantineError, TranscriptError) as failure:
        repaired, error = row, str(failure)
    except RecursionError:
        repaired, error = row, "nested too deeply"
    except Exception as failure:  # noqa: BLE001 - its text may quote the row
        name = type(failure).__name__
        repaired, error = row, f"internal error of chatmend ({name}); please report it"
    changes, recorded = tuple(conversations.changes), tuple(conversations.recorded)
    if error is not None:
        return RowResult(row, QUARANTINED, changes, error, recorded)
    if repaired is row:
        return RowResult(row, VALID)
    return RowResult(repaired, REPAIRED, changes, None, recorded)


def _reason(changes: list[Change], settings: RowSettings) -> str | None:
    """Return why a row with these changes is not usable; None if it is."""
    if (left := next(filter(is_left, changes), None)) is not None:
        return f"left unchanged: {line(left)}"
    if settings.policy.purpose == "train" and (error := _unknown_role(changes)) is not None:
        return error
    if settings.incomplete == "quarantine":
        found = next(filter(_is_incomplete, changes), None)
        return None if found is None else f"incomplete tool exchange: {line(found)}"
    return None


def _unknown_role(changes: list[Change]) -> str | None:
    """Return why a model would learn to answer a message as the user's that is not; None if not.

    Examples are results of tools under ``environment`` (OLMo) and ``ipython`` (Llama).
    """
    for change in changes:
        if change.rule != unknown_role.RULE.name:
            continue
        for native in change.before:
            role = native.get("role") if isinstance(native, dict) else None
            if isinstance(role, str) and role.strip() and role not in ALIASES:
                return (
                    f"messages[{change.index}] has the role {role!r}, which the target does not "
                    "know; rename it, for example results of tools to 'tool'"
                )
    return None


def _is_incomplete(change: Change) -> bool:
    """Return whether a change completes a tool exchange instead of only moving its parts."""
    if change.rule in _MISSING:
        return True
    return change.rule == late_tool_result.RULE.name and change.effect > Effect.RESHAPES


def _is_empty_answer(message: object) -> bool:
    """Return whether an assistant message has neither content nor anything else to learn."""
    return (
        isinstance(message, dict)
        and message.get("role") == "assistant"
        and not any(value for key, value in message.items() if key not in ("role", "name", "id"))
    )


def _is_assistant(message: object) -> bool:
    return isinstance(message, dict) and message.get("role") in ("assistant", "model")
