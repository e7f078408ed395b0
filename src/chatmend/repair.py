"""check, repair, replay: the engine. It cuts windows, lets the rules propose, applies, and keeps what it applied."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from chatmend.changes import Change, Effect
from chatmend.dialects import DIALECTS, Dialect, Scan, Traits, recognise, recognise_body
from chatmend.errors import ReplayError, TranscriptError
from chatmend.jsontext import is_same
from chatmend.policy import Policy
from chatmend.report import Reported
from chatmend.request import first_pass, last_pass
from chatmend.rules import Context, Request, rules_for
from chatmend.targets import Limits, Target, resolve
from chatmend.transcript import Thinking, is_unchanged
from chatmend.windows import Memory, Symptom, Window

if TYPE_CHECKING:
    from chatmend.changes import Fix
    from chatmend.images.recompressor import Recompressor
    from chatmend.rules import Rule
    from chatmend.transcript import Message, Part

Messages = list[Any]
_EARLIER = {"role": "user", "content": "earlier"}
"""Stands for all that came before a window when it is scanned again."""
_STORED = ("previous_response_id", "conversation", "prompt")
"""What a request names where the conversation so far is stored at the provider."""
_ALWAYS = frozenset({"emptied-window", "leading-assistant"})


@dataclass(frozen=True, slots=True)
class Repaired(Reported):
    """A transcript ready to send, with the account of what was done to it."""

    messages: Messages
    """What to send: the very list that came in when nothing was wrong."""
    changes: tuple[Change, ...] = ()
    """What was done, in order, and what was seen and left (``applied=False``)."""
    system: object = None
    """The top-level system prompt: the caller's own, then what the messages held."""
    tools: object = None
    """The declared tools: the caller's own, or the minimal declaration that the history needs."""


@dataclass(frozen=True, slots=True)
class RepairedRequest(Reported):
    """A request body ready to send, with the account of what was done to it."""

    body: dict[str, Any]
    changes: tuple[Change, ...] = ()


def repair(  # noqa: PLR0913 - what stands beside the messages counts
    messages: Messages,
    target: str | Target,
    *,
    system: object = None,
    tools: object = None,
    thinking: object = None,
    policy: Policy | None = None,
    dialect: str | Dialect | None = None,
    recompressor: Recompressor | None = None,
    continues: bool = False,
) -> Repaired:
    """Repair a transcript for a target.

    Args:
        messages: the messages of a request in any dialect, or LangChain's; never changed.
        target: a name as LiteLLM writes it (``"anthropic/claude-sonnet-4-5"``), or a provider alone.
        system: the top-level system prompt, text or blocks, where the request has one.
        tools: the tools that the request declares; ``[]``: none; ``None``: not known, so not judged.
        thinking: the request's thinking setting; a true value or ``{"type": "enabled"}`` counts as on.
        policy: the choices that only the caller can make.
        dialect: ``openai_chat``, ``anthropic_messages``, ``openai_responses`` or ``gemini_contents``, or an object that
            speaks another one; recognised when not given.
        recompressor: what recompresses images, with its cache; by default one that the whole process shares.
        continues: the provider stores what came before (``previous_response_id``): a result may answer a call there.

    Raises:
        TranscriptError: ``messages`` is no list.
        TargetError: no table describes ``target``.
    """
    if not _is_list(messages):
        text = f"messages must be a list, not {type(messages).__name__}; a request body goes to repair_request"
        raise TranscriptError(text)
    chosen = policy or Policy()
    place = resolve(target) if isinstance(target, str) else target
    spoken = DIALECTS[dialect] if isinstance(dialect, str) else dialect or recognise(messages)
    limits = chosen.apply(place.limits_in(spoken.NAME, hygiene=chosen.rules == "hygiene"))
    context = Context(limits, spoken, chosen, recompressor, thinking=_is_on(thinking), tools=bool(tools))
    run = _Run(messages, context, memory=Memory(elsewhere=continues))
    run.start()
    return run.finish(system, tools)


def _is_list(messages: object) -> bool:
    return isinstance(messages, list)


def _is_on(thinking: object) -> bool:
    if isinstance(thinking, dict):
        return thinking.get("type") not in ("disabled", None)
    return bool(thinking)


@dataclass(slots=True)
class _Run:
    """One repair on its way through the windows."""

    native: Messages
    context: Context
    out: Messages | None = None
    changes: list[Change] = field(default_factory=list)
    hoisted: list[str] = field(default_factory=list)
    signed: int = 0
    """How many of the changes stand in a window before one with signed thinking."""
    memory: Memory = field(default_factory=Memory)
    scan: Scan | None = None
    due: dict[tuple[int, int], int] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()

    def start(self) -> None:
        """Visit each window once; a clean one costs a scan."""
        self.rules = rules_for(self.context.limits, self.native)
        if not self.rules:
            return
        request, self.changes = first_pass(Request(self.native), self.context)
        messages = request.messages
        scan = self.scan = self.context.dialect.scanner(self.context.limits)
        memory, end, start = self.memory, len(messages), 0
        out: Messages | None = None
        becomes: Messages | None
        while start < end:
            had_user, becomes = memory.has_user, None
            stop, mask, ids = scan(messages, start, memory)
            if self._is_clean(messages, mask, (start, stop)):
                if out is not None:
                    out.extend(messages[start:stop])
            else:
                memory.has_user = had_user
                becomes = self._mend(messages, start, stop, mask)
                if becomes is not None and out is None:
                    out = messages[:start]
                if out is not None:
                    out.extend(messages[start:stop] if becomes is None else becomes)
            memory.has_turns = memory.has_turns or memory.has_user or stop > 1 or mask == 0
            memory.call_ids.update(ids)
            self.context.dialect.remember(messages[start:stop] if becomes is None else becomes, memory)
            start = stop
        self.out = out if out is not None else (messages if messages is not self.native else None)

    def _is_clean(self, messages: Messages, mask: int, span: tuple[int, int]) -> bool:
        limits, (start, stop) = self.context.limits, span
        if mask:
            return False
        if start == 0 and limits.first_user:
            said = map(self.context.dialect.read, messages[:stop])
            first = next((message for message in said if not message.is_system), None)
            if first is None or first.role != "user":
                return False
        if not limits.needs_user or self.memory.has_user:
            return True
        opening = start == 0 and not self.context.dialect.read(messages[0]).is_assistant
        return opening and stop < len(messages)

    def _mend(self, messages: Messages, start: int, stop: int, mask: int) -> Messages | None:
        read = self.context.dialect.read
        natives = messages[start:stop]
        said = [read(native) for native in natives]
        opening = start == 0 and not said[0].is_assistant
        followed = any(not message.is_assistant for message in said)
        window = Window(said, list(range(start, stop)), opening, followed, last=stop == len(messages))
        before = len(self.changes)
        thinks = bool(mask & Symptom.THINKING)
        place = self._next(mask, 0)
        while place < len(self.rules):
            rule = self.rules[place]
            if fixes := list(rule.find(window, self.memory, self.context)):
                known = len(self.changes)
                self._apply(rule, fixes, window, (start, stop))
                if len(self.changes) > known:
                    mask = self._symptoms(window)
            place = self._next(mask, place + 1)
        self._remember(window)
        if thinks:
            self._mark_invalidating(window, before)
        if len(self.changes) == before:
            return None
        return [message.whole for message in window.messages]

    def _next(self, mask: int, first: int) -> int:
        """The place of the next rule that these symptoms call for, from ``first`` on; the number of rules: none."""
        if (known := self.due.get((mask, first))) is not None:
            return known
        rules = self.rules
        due = (at for at in range(first, len(rules)) if rules[at].symptoms & mask or rules[at].name in _ALWAYS)
        place = self.due[mask, first] = next(due, len(rules))
        return place

    def _symptoms(self, window: Window) -> int:
        """What a scan sees in a window that a rule has changed: every rule where it is no longer one window."""
        natives = [message.whole for message in window.messages]
        if not natives or self.scan is None:
            return ~0
        head = [] if window.opening else [_EARLIER]
        had_user = self.memory.has_user
        stop, mask, _ = self.scan([*head, *natives], len(head), self.memory)
        self.memory.has_user = had_user
        return mask if stop == len(head) + len(natives) else ~0

    def _remember(self, window: Window) -> None:
        memory = self.memory
        for message in window.messages:
            memory.has_user = memory.has_user or message.role == "user"
            memory.has_turns = memory.has_turns or not message.is_system
            memory.call_ids.update(call.id for call in message.calls if isinstance(call.id, str))

    def _mark_invalidating(self, window: Window, before: int) -> None:
        """Mark the changes that signed thinking of this window stands behind; those of earlier windows at the end."""
        signed = [at for at, message in enumerate(window.messages) if any(map(_is_signed, message.parts))]
        if self.context.limits.thinking != "signed" or not signed:
            return
        self.signed = before
        for number, change in enumerate(self.changes[before:], before):
            if change.applied and change.at <= signed[-1]:
                self.changes[number] = replace(change, invalidates_thinking=True)

    def _apply(self, rule: Rule, fixes: list[Fix], window: Window, span: tuple[int, int]) -> None:
        shift = 0
        for fix in fixes:
            at = fix.start + shift
            replaced = window.messages[at : at + fix.stop - fix.start]
            before = tuple([message.whole for message in replaced])
            place = at if replaced else max(at - 1, 0)  # what is inserted concerns the message before it
            allowed = fix.effect <= self.context.policy.allow
            known = set(map(id, replaced))
            becomes = [m if id(m) in known else self._written(m) for m in fix.becomes] if allowed else []
            after = tuple([message.whole for message in becomes]) if allowed else before
            if allowed and is_unchanged(after, before):
                continue
            self.changes.append(
                Change(
                    rule.code, rule.name, fix.effect, window.origin(place), fix.why, before, after, span, at,
                    applied=allowed,
                )
            )  # fmt: skip
            if allowed:
                window.apply(fix, becomes, at)
                shift += len(becomes) - (fix.stop - fix.start)
                self.hoisted += fix.hoists

    def _written(self, message: Message) -> Message:
        dialect = self.context.dialect
        native = dialect.write(message)
        return dialect.read(native)

    def finish(self, system: object, tools: object) -> Repaired:
        """Add the last pass, and give back what stands beside the messages."""
        messages = self.native if self.out is None else self.out
        behind = [replace(change, invalidates_thinking=change.applied) for change in self.changes[: self.signed]]
        changes = [*behind, *self.changes[self.signed :]]
        if self.context.limits != Limits():
            request, more = last_pass(Request(messages, system, tools), self.hoisted, self.context)
            return Repaired(request.messages, (*changes, *more), request.system, request.tools)
        return Repaired(messages, tuple(changes), system, tools)


def _is_signed(part: Part) -> bool:
    return isinstance(part, Thinking) and bool(part.signature)


def repair_request(
    body: dict[str, Any], target: str | Target, *, policy: Policy | None = None, dialect: str | None = None
) -> RepairedRequest:
    """Repair a whole request body, in any dialect, with the system prompt, tools and thinking beside the messages.

    The messages stand under ``messages``, ``input`` (Responses; a text instead of a list is left) or ``contents``
    (Gemini).

    Raises:
        TranscriptError: ``body`` is no dict with a list of messages.
        TargetError: no table describes ``target``.
    """
    spoken = dialect or (recognise_body(body) if isinstance(body, dict) else None)
    traits = DIALECTS[spoken].TRAITS if spoken else Traits()
    key = traits.messages_key
    if isinstance(body, dict) and spoken == "openai_responses" and not isinstance(body.get(key), list):
        return RepairedRequest(body)
    if not isinstance(body, dict) or not isinstance(body.get(key), list):
        text = f"a request body is a dict with a list under {key!r}; a bare list of messages goes to repair"
        raise TranscriptError(text)
    tools = body.get("tools") or []
    beside = next((name for name in traits.system_keys if name in body), traits.system_keys[0])
    done = repair(
        body[key], target, system=body.get(beside), tools=tools, thinking=body.get("thinking"), policy=policy,
        dialect=spoken, continues=any(body.get(name) for name in _STORED),
    )  # fmt: skip
    changed = {
        name: value
        for name, old, value in (
            (key, body[key], done.messages),
            (beside, body.get(beside), done.system),
            ("tools", tools, done.tools),
        )
        if value is not old
    }
    return RepairedRequest({**body, **changed} if changed else body, done.changes)


def check(messages: Messages, target: str | Target, **beside: Any) -> tuple[Change, ...]:  # noqa: ANN401 - as repair
    """What ``repair`` would change, nothing changed. Takes the arguments of ``repair``."""
    return tuple(replace(change, applied=False) for change in repair(messages, target, **beside).changes)


def replay(messages: Messages, changes: tuple[Change, ...] | list[Change]) -> Messages:
    """Make recorded changes again on the transcript that they were recorded on.

    Raises:
        ReplayError: a change does not fit: the transcript is another one.
    """
    todo = [change for change in changes if change.applied and change.where == "messages"]
    if not todo:
        return messages
    current = list(messages)
    while todo and todo[0].window is None and todo[0].at < 0:
        current = list(todo.pop(0).after)
    out: Messages = []
    start, at = 0, 0
    while at < len(todo) and (span := todo[at].window) is not None:
        out += current[start : span[0]]
        inside = current[span[0] : span[1]]
        while at < len(todo) and todo[at].window == span:
            _splice(inside, todo[at])
            at += 1
        out += inside
        start = span[1]
    out += current[start:]
    for change in todo[at:]:
        _splice(out, change)
    return out


def _splice(messages: Messages, change: Change) -> None:
    stop = change.at + len(change.before)
    found = messages[change.at : stop]
    if len(found) != len(change.before) or not all(map(is_same, found, change.before)):
        text = f"{change.code} at message {change.index}: the transcript is not the one the change was recorded on"
        raise ReplayError(text)
    messages[change.at : stop] = change.after


__all__ = [
    "Change",
    "Dialect",
    "Effect",
    "Repaired",
    "RepairedRequest",
    "Symptom",
    "check",
    "repair",
    "repair_request",
    "replay",
]
