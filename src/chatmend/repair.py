"""The public functions: ``repair``, ``repair_request``, ``check``, ``replay``, ``is_synthetic``."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from chatmend import passes
from chatmend.changes import Change, Effect
from chatmend.context import Context
from chatmend.dialects import (
    DIALECTS,
    Dialect,
    Traits,
    Unsure,
    adapter_of,
    format_of_body,
    recognise,
)
from chatmend.dialects.traits import continues_stored
from chatmend.engine import NotPlainError, Run
from chatmend.errors import ReplayError, TranscriptError
from chatmend.hostile_values import carries_hostile_values
from chatmend.jsontext import equality_key, is_same, value_at
from chatmend.known_transcripts import reads_objects, source_of_request
from chatmend.last_turn import ends_with_assistant
from chatmend.lessons import Lesson, with_lessons
from chatmend.objects import PlainMessages
from chatmend.placeholders import CONTINUED, is_placeholder
from chatmend.policy import DEFAULT, Policy, resolve_policy
from chatmend.report import Reportable
from chatmend.request_rules import run_last_rules
from chatmend.rules import Request, lost_thinking, offline_order, unknown_format
from chatmend.targets import Target, ending_with_assistant, resolve_for
from chatmend.thinking_parameter import (
    disable,
    drops_blocks,
    is_thinking_disabled,
    is_thinking_on,
    without_clearing,
)
from chatmend.transcript import Text, ToolResult
from chatmend.windows import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from chatmend.images.recompressor import Recompressor
    from chatmend.known_transcripts import Lookup
    from chatmend.session_memory import SessionMemory
    from chatmend.targets.limits import Limits
    from chatmend.transcript import Part

    _Pass = Callable[[Request, Context, Lookup | None], tuple[Request, tuple[Change, ...]]]

Messages = list[Any]
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Repaired(Reportable):
    """A transcript that is ready to send, with the changes that were made."""

    messages: Messages
    """The messages to send: the same list object as the input if nothing was wrong."""
    changes: tuple[Change, ...] = ()
    """The changes in order, including problems that were only reported (``applied=False``)."""
    system: object = None
    """The top-level system prompt: the caller's, then texts that were moved from the messages."""
    tools: object = None
    """The declared tools: the caller's, or the minimal declaration that the history needs."""
    cache_control: object = None
    """The automatic cache marker: the caller's, or a shorter one."""
    thinking: object = None
    """The thinking parameter: the caller's, or one that disables thinking for this request."""
    memory: SessionMemory | None = None
    """The memory for the next request of the conversation; None if the caller gave none."""


@dataclass(frozen=True, slots=True)
class RepairedRequest(Reportable):
    """A request body that is ready to send, with the changes that were made."""

    body: dict[str, Any]
    changes: tuple[Change, ...] = ()
    memory: SessionMemory | None = None
    """The memory for the next request of the conversation; None if the caller gave none."""


@carries_hostile_values
def repair(  # noqa: PLR0913 - request parameters affect the repair
    messages: Messages,
    target: str | Target,
    *,
    system: object = None,
    tools: object = None,
    thinking: object = None,
    cache_control: object = None,
    policy: Policy | str | None = None,
    dialect: str | Dialect | None = None,
    recompressor: Recompressor | None = None,
    continues: bool = False,
    store: bool | None = None,
    lessons: Iterable[Lesson] = (),
    memory: SessionMemory | None = None,
) -> Repaired:
    """Repair a transcript for a target.

    Args:
        messages: the messages of a request, in any dialect or as LangChain messages; they are
            never modified.
        target: a model name as in LiteLLM (``"anthropic/claude-sonnet-4-5"``), or only a provider.
        system: the top-level system prompt of the request, if any: a text or blocks.
        tools: the tools that the request declares; ``[]`` means none; with ``None`` they are
            unknown, and are not checked.
        thinking: the thinking parameter of the request: ``True``, ``{"type": "enabled"}``,
            ``"low"``, ``{"effort": "low"}``.
        cache_control: the automatic cache marker of the request (Anthropic), which counts as one
            of the markers that a request may have: ``{"type": "ephemeral"}``.
        policy: a policy, or the name of a predefined one (``"offline"``).
        dialect: ``openai_chat``, ``anthropic_messages``, ``openai_responses``,
            ``gemini_contents``, ``bedrock_converse`` or ``ollama_chat``, or an object that
            implements another dialect; recognised from the messages if not given.
        recompressor: recompresses images and caches the results; by default the one that the whole
            process shares.
        continues: whether the provider stores earlier messages (``previous_response_id``, or
            Anthropic's ``thread``), so that a result may belong to a call among them.
        store: the parameter of the same name of a Responses request; if it is false, the provider
            can look up no items.
        lessons: limits of the target that its refusals have shown; see ``chatmend.react``.
        memory: what was sent in this conversation, as the ``memory`` of its previous repair;
            ``SessionMemory()`` at the beginning. Messages that the provider has accepted are then
            sent in the same form again, and thinking behind a changed prompt is removed.

    Raises:
        TranscriptError: ``messages`` is not a list, no dialect has the given name, or a dialect is
            named for LangChain messages.
        TargetError: the provider or model of ``target`` is unknown.
        PolicyError: ``policy`` is neither a policy nor the name of one.
    """
    if not _is_list(messages):
        text = (
            f"messages must be a list, not {type(messages).__name__}; "
            "pass a request body to repair_request"
        )
        raise TranscriptError(text)
    chosen_policy = resolve_policy(policy) or DEFAULT
    shown = {"thinking": thinking} if isinstance(thinking, dict) else {}
    resolved = target if isinstance(target, Target) else resolve_for(target, shown)
    request = Request(messages, system, tools, cache_control, thinking)
    lookup: Lookup | None = None
    if not lessons and memory is None and not continues:
        lookup = _look_up(request, resolved, chosen_policy, dialect, stored=store is not False)
        if lookup and (done := _repair_known(request, lookup, recompressor)) is not None:
            return done
    if isinstance(dialect, str) and dialect not in DIALECTS:
        text = f"unknown dialect {dialect!r}; use one of {', '.join(DIALECTS)}"
        raise TranscriptError(text)
    job = _Job(
        request, resolved, chosen_policy,
        DIALECTS[dialect] if isinstance(dialect, str) else dialect, recompressor, continues,
        store, tuple(lessons), memory, lookup,
    )  # fmt: skip
    if memory is None and {*map(type, messages)} == {dict}:
        with suppress(NotPlainError, TranscriptError):
            return job.run(PlainMessages(messages, is_plain=True), assumes_plain=True)
    if isinstance(dialect, str) and any(map(adapter_of, messages)):
        text = (
            f"these are LangChain messages, not messages in the format {dialect!r}; "
            "pass the list to repair without a dialect"
        )
        raise TranscriptError(text)
    return job.run(PlainMessages(messages, is_plain=reads_objects(dialect)))


def _look_up(
    request: Request, target: Target, policy: Policy, dialect: str | Dialect | None, *, stored: bool
) -> Lookup | None:
    """Look the transcript up among those whose windows are known to be clean."""
    if dialect is None or isinstance(dialect, str):
        source = source_of_request(request, target, policy, dialect or "", stored=stored)
        return source.find(request.messages, needs_dialect=dialect is None)
    if not reads_objects(dialect):
        return None
    if dialect.lookup is not None and dialect.lookup.is_of(request.messages):
        return dialect.lookup
    source = source_of_request(request, target, policy, (dialect.cache_key(),), stored=stored)
    return source.find(request.messages, dialect)


def _repair_known(
    request: Request, lookup: Lookup, recompressor: Recompressor | None
) -> Repaired | None:
    """Repair a request whose windows are known to be clean; None if this is not known."""
    if (context := lookup.context) is None:
        return None
    if recompressor is not context.recompressor:
        context = replace(context, recompressor=recompressor)
    done, changes = run_last_rules(request, [], context, counted=lookup.counted)
    if changes and context.policy != DEFAULT:
        return None  # several passes may be needed
    return _repaired(done, done.messages, tuple(changes), None)


@dataclass(frozen=True, slots=True)
class _Job:
    """The arguments of a repair, after they were checked."""

    request: Request
    target: Target
    policy: Policy
    dialect: Dialect | None
    recompressor: Recompressor | None
    continues: bool
    store: bool | None
    lessons: tuple[Lesson, ...]
    memory: SessionMemory | None
    lookup: Lookup | None

    def run(self, plain: PlainMessages, *, assumes_plain: bool = False) -> Repaired:
        """Find the dialect of the messages and repair them.

        Raises:
            NotPlainError: with ``assumes_plain``, the messages hold other objects than JSON.
        """
        given, memory, target = self.request, self.memory, self.target
        known = None if self.lookup is None else self.lookup.dialect
        found = self.dialect or known or plain.recognise(target.provider)
        if isinstance(found, Unsure):
            if assumes_plain:
                raise NotPlainError
            findings = (unknown_format.make_finding(found.why),)
            return _repaired(given, given.messages, findings, memory)
        # The package that converts message objects has limits, too.
        find_target = None if self.dialect else getattr(found, "find_target", None)
        limited = find_target(target) if find_target else target
        run = partial(_one_pass, continues=self.continues, assumes_plain=assumes_plain)
        request = replace(given, messages=plain.messages)
        if memory is None:
            context = self._context_without_memory(found, limited)
            request, changes = _passes(request, context, run, self.lookup)
        else:
            # Loads OpenSSL, which only digests need.
            from chatmend.continuation import Continuation  # noqa: PLC0415

            limits = self._limits_of(limited, found)

            def pass_through_rules(
                request: Request, *more: Lesson, accepted: int = 0
            ) -> tuple[Request, tuple[Change, ...]]:
                context = self._context(found, limits, *more)
                return _passes(request, context, partial(run, accepted=accepted), self.lookup)

            continuation = Continuation(
                memory, target.name, self.lessons, found, self.policy,
                is_bound=limits.thinking_bound,
            )  # fmt: skip
            request, changes, memory = continuation.repair(request, pass_through_rules)
        messages = plain.restore_messages(request.messages)
        return _repaired(request, messages, plain.restore_changes(changes), memory)

    def _limits_of(self, target: Target, dialect: Dialect) -> Limits:
        is_hygiene = self.policy.rules == "hygiene"
        return self.policy.apply(target.limits_in(dialect.NAME, hygiene=is_hygiene))

    def _context_without_memory(self, dialect: Dialect, target: Target) -> Context:
        # The limits of one source are always the same if the caller gives the dialect.
        source = None if self.lookup is None or self.dialect is None else self.lookup.source
        if source is not None and source.limits is not None:
            return Context(source.limits, dialect, self.policy, self.recompressor)
        context = self._context(dialect, self._limits_of(target, dialect))
        if source is not None:
            source.limits = context.limits
        return context

    def _context(self, dialect: Dialect, limits: Limits, *more: Lesson) -> Context:
        limits = with_lessons(limits, (*self.lessons, *more), self.target.name)
        thinking, tools = is_thinking_on(self.request.thinking), bool(self.request.tools)
        stored = self.store is not False or not dialect.TRAITS.messages_are_items
        limits = limits.beside(
            thinking=thinking,
            tools=tools,
            stored=stored,
            thinking_disabled=is_thinking_disabled(self.request.thinking),
            ends_with_assistant=self.target.ends_with_assistant,
        )
        return Context(limits, dialect, self.policy, self.recompressor)


def _repaired(
    request: Request,
    messages: Messages,
    changes: tuple[Change, ...],
    memory: SessionMemory | None,
) -> Repaired:
    return Repaired(
        messages, changes, request.system, request.tools, request.cache_control, request.thinking,
        memory,
    )  # fmt: skip


def _passes(
    request: Request, context: Context, run: _Pass, lookup: Lookup | None
) -> tuple[Request, tuple[Change, ...]]:
    """Run the rules; with policies other than the default, until nothing changes.

    ``lookup`` has read the transcript, or remembers it if it is clean.
    """
    done, changes = _ordered_pass(request, context, run, lookup)
    if done.messages is request.messages or context.policy == DEFAULT:
        return done, changes
    for _ in range(passes.MAX_PASSES - 1):
        becomes, more = _ordered_pass(done, context, run)
        if becomes.messages is done.messages:
            break
        changes = passes.join_changes(request.messages, changes, done.messages, more)
        done = becomes
    return done, changes


def _ordered_pass(
    request: Request, context: Context, run: _Pass, lookup: Lookup | None = None
) -> tuple[Request, tuple[Change, ...]]:
    """Run the rules once; look for late results that could move only if a window is not clean."""
    if offline_order.moves_only_results(request.messages, context):
        policy = _without_moves(context.policy)
        in_place = Context(context.limits, context.dialect, policy, context.recompressor)
        done, changes = run(request, in_place, lookup)
        if not changes or not offline_order.RULE.apply(request, context)[1]:
            return done, changes
    return run(request, context, lookup)


@lru_cache(maxsize=16)
def _without_moves(policy: Policy) -> Policy:
    return replace(policy, late_results="note")


def _one_pass(
    request: Request,
    context: Context,
    lookup: Lookup | None,
    *,
    continues: bool,
    **fields: Any,  # noqa: ANN401 - other fields of Run
) -> tuple[Request, tuple[Change, ...]]:
    memory = Memory(has_stored_history=continues)
    run = Run(request.messages, context, memory=memory, lookup=lookup, **fields)
    run.start()
    return run.finish(request)


def _is_list(messages: object) -> bool:
    return isinstance(messages, list)


@carries_hostile_values
def repair_request(  # noqa: PLR0913 - as in repair
    body: dict[str, Any],
    target: str | Target,
    *,
    policy: Policy | str | None = None,
    dialect: str | Dialect | None = None,
    recompressor: Recompressor | None = None,
    lessons: Iterable[Lesson] = (),
    memory: SessionMemory | None = None,
) -> RepairedRequest:
    """Repair a whole request body in any dialect, with its system prompt, tools and thinking.

    The messages are under ``messages``, ``input`` (Responses; a text instead of a list stays
    unchanged) or ``contents`` (Gemini). A body without a declaration of tools has no tools.
    With ``Policy(bound_thinking="drop_block")`` the body may get ``thinking.block_binding``; such a
    request needs ``thinking-binding-controls-2026-08-01`` in the header ``anthropic-beta``.
    ``policy``, ``dialect``, ``recompressor``, ``lessons`` and ``memory`` work as in ``repair``. The
    arguments of a LiteLLM call can be passed as a body, too.

    Raises:
        TranscriptError: ``body`` is not a dict with a list of messages, or holds LangChain
            messages, which only ``repair`` accepts.
        TargetError: the provider or model of ``target`` is unknown.
    """
    resolved = resolve_for(target, body)
    found = dialect or (format_of_body(body, resolved.provider) if isinstance(body, dict) else None)
    if isinstance(found, Unsure):
        return RepairedRequest(body, (unknown_format.make_finding(found.why),), memory)
    traits = DIALECTS[found].TRAITS if found in DIALECTS else Traits()
    key = traits.messages_key
    if (
        isinstance(body, dict)
        and found == "openai_responses"
        and not isinstance(body.get(key), list)
    ):
        return RepairedRequest(body, memory=memory)
    if not isinstance(body, dict) or not isinstance(body.get(key), list):
        text = (
            f"a request body must be a dict with a list under {key!r}; "
            "pass a list of messages to repair"
        )
        raise TranscriptError(text)
    given = read_body(body, traits)
    if ends_with_assistant(body, _limits_of(resolved, found)):
        resolved = ending_with_assistant(resolved)
    done = repair(
        given.messages, resolved, system=given.system, tools=given.tools, thinking=given.thinking,
        cache_control=given.cache_control, policy=policy, dialect=found,
        recompressor=recompressor, continues=continues_stored(body, traits),
        store=body.get("store"), lessons=lessons, memory=memory,
    )  # fmt: skip
    if not done.changes:
        return RepairedRequest(body, (), done.memory)
    results = (
        (key, body[key], done.messages),
        (_system_key(body, traits), given.system, done.system),
        (traits.tools_keys[0], given.tools, done.tools),
        ("cache_control", given.cache_control, done.cache_control),
    )
    request = body
    for name, old, value in results:
        if value is not old:
            is_removed = value is None  # an empty system prompt
            request = (
                _without_key(request, name) if is_removed else _with_value(request, name, value)
            )
    changes = done.changes
    if drops_blocks(done.thinking) and done.thinking is not given.thinking:
        key = next(key for key in traits.thinking_keys if value_at(body, key) is given.thinking)
        request = _with_value(request, key, done.thinking)
    elif done.thinking is not given.thinking:
        request, more = _without_clearing_edit(_without_thinking(request, traits))
        changes += more
    return RepairedRequest(request, changes, done.memory)


def _limits_of(target: Target, dialect: str | Dialect | None) -> Limits:
    """Return the limits of a target in the dialect of a request."""
    if dialect is None:
        return target.limits
    return target.limits_in(dialect if isinstance(dialect, str) else dialect.NAME)


def read_body(body: dict[str, Any], traits: Traits) -> Request:
    """Return the messages of a body and the parameters that affect their repair."""
    tools, thinking = read_tools_and_thinking(body, traits)
    if traits.stores_tools and not tools and continues_stored(body, traits):
        tools = None  # an earlier request may have declared them
    messages, system = body[traits.messages_key], body.get(_system_key(body, traits))
    return Request(messages, system, tools, body.get("cache_control"), thinking)


def _system_key(body: dict[str, Any], traits: Traits) -> str:
    """Return the key of the system prompt: the first one that is set."""
    for name in traits.system_keys:
        if body.get(name) is not None:
            return name
    return traits.system_keys[0]


def _with_value(body: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    """Return a body with another value under a key, or under nested keys."""
    key, _, rest = path.partition(".")
    if not rest:
        return {**body, key: value}
    held = body.get(key)
    return {**body, key: _with_value(held if isinstance(held, dict) else {}, rest, value)}


def _without_thinking(body: dict[str, Any], traits: Traits) -> dict[str, Any]:
    """Return a body in which no parameter enables thinking."""
    for key in traits.thinking_keys:
        if is_thinking_on(value := value_at(body, key)):
            off = disable(value)
            body = _without_key(body, key) if off is None else _with_value(body, key, off)
    return body


def _without_clearing_edit(body: dict[str, Any]) -> tuple[dict[str, Any], tuple[Change, ...]]:
    """Return a body without the context edit that needs thinking, and the change."""
    key = "context_management"
    old = body.get(key)
    if (new := without_clearing(old)) is old:
        return body, ()
    why = "the edit that clears thinking is refused while thinking is disabled"
    change = Change(
        lost_thinking.CODE, lost_thinking.NAME, Effect.RESHAPES, None, why, (old,), (new,),
        where=key,
    )  # fmt: skip
    return (_without_key(body, key) if new is None else {**body, key: new}), (change,)


def _without_key(body: dict[str, Any], path: str) -> dict[str, Any]:
    """Return a body without a key, which may be nested."""
    outer, _, key = path.rpartition(".")
    held = value_at(body, outer) if outer else body
    assert isinstance(held, dict)  # noqa: S101 - it has the key
    kept = {name: value for name, value in held.items() if name != key}
    return _with_value(body, outer, kept) if outer else kept


def read_tools_and_thinking(body: dict[str, Any], traits: Traits) -> tuple[object, object]:
    """Return the tools that a body declares, and its thinking parameter.

    If several parameters are set, one that enables thinking is returned.
    """
    tools: object = None
    for key in traits.tools_keys:
        tools = tools or value_at(body, key)
    found = [value for key in traits.thinking_keys if (value := value_at(body, key)) is not None]
    thinking = next(filter(is_thinking_on, found), found[0]) if found else None
    return tools or [], thinking


def check(
    messages: Messages,
    target: str | Target,
    **options: Any,  # noqa: ANN401 - the options of repair
) -> tuple[Change, ...]:
    """Return the changes that ``repair`` would make; takes the same arguments."""
    return tuple(
        replace(change, applied=False) for change in repair(messages, target, **options).changes
    )


def is_synthetic(message: object) -> bool:
    """Return whether a message holds only placeholders that chatmend inserts.

    chatmend inserts one where a provider requires a message that is missing: a tool result with
    exactly the text "No result was recorded for this tool call.", or a turn with exactly
    ``[continued]``. A message with the same text from another source cannot be distinguished.
    """
    plain = PlainMessages([message]).messages[0]
    try:
        found = recognise([plain])
    except TranscriptError:
        return False
    parts = () if isinstance(found, Unsure) else found.read(plain).parts
    return bool(parts) and all(map(_is_synthetic_part, parts))


def _is_synthetic_part(part: Part) -> bool:
    if isinstance(part, ToolResult):
        return is_placeholder(part)
    return isinstance(part, Text) and part.text == CONTINUED


def replay(messages: Messages, changes: tuple[Change, ...] | list[Change]) -> Messages:
    """Apply recorded changes again to the transcript that they were recorded on.

    Messages that no change rewrites are the same objects, also if a change moves them.

    Raises:
        ReplayError: a change does not match the messages: this is a different transcript.
    """
    applied = [change for change in changes if change.applied and change.where == "messages"]
    return _replay(messages, applied, _replacement) if applied else messages


def source_indexes(total: int, changes: Iterable[Change]) -> list[int]:
    """Return for each repaired message the index of the message from which it was made.

    A new message has the index of a message next to it. ``total`` is the number of messages before
    the repair.
    """
    applied = [change for change in changes if change.applied and change.where == "messages"]
    return _replay(list(range(total)), applied, _indexes_of_replacement)


def _replay(
    items: list[_T], changes: list[Change], replacement: Callable[[Change, list[_T]], list[_T]]
) -> list[_T]:
    """Apply changes to a list with an item for each message.

    ``replacement`` returns what a change makes of the items in its place.
    """
    current = list(items)
    out: list[_T] = []
    start, at = 0, 0
    while at < len(changes) and changes[at].window is None and changes[at].at < 0:
        current = replacement(changes[at], current)
        at += 1
    while at < len(changes) and (span := changes[at].window) is not None:
        out += current[start : span[0]]
        inside = current[span[0] : span[1]]
        first = at
        while at < len(changes) and changes[at].window == span:
            at += 1
        out += _apply_changes(inside, changes[first:at], replacement)
        start = span[1]
    out += current[start:]
    return _apply_changes(out, changes[at:], replacement)


def _apply_changes(
    items: list[_T], changes: list[Change], replacement: Callable[[Change, list[_T]], list[_T]]
) -> list[_T]:
    """Apply changes, each to the result of those before it.

    The list is kept in two halves, split where the next change starts. So the cost of a change
    depends on its distance from the previous one, not on the length of the list.
    """
    front, back = list[_T](), items[::-1]
    for change in changes:
        while front and len(front) > change.at:
            back.append(front.pop())
        while back and len(front) < change.at:
            front.append(back.pop())
        found = back[: -len(change.before) - 1 : -1]
        if len(front) != change.at:
            raise _mismatch(change)
        becomes = replacement(change, found)
        del back[len(back) - len(found) :]
        front += becomes
    return front + back[::-1]


def _mismatch(change: Change) -> ReplayError:
    text = (
        f"cannot replay {change.code} at messages[{change.index}]: "
        "the change was recorded on a different transcript"
    )
    return ReplayError(text)


def _is_equal(one: object, other: object) -> bool:
    """Return whether two messages are equal, where NaN equals NaN."""
    return is_same(one, other) or equality_key(one) == equality_key(other)


def _replacement(change: Change, found: Messages) -> Messages:
    """Return what replaces the messages ``found``: those that the change keeps stay as found."""
    if len(found) != len(change.before) or not all(map(_is_equal, found, change.before)):
        raise _mismatch(change)
    kept = {id(old): message for old, message in zip(change.before, found, strict=False)}
    return [kept.get(id(message), message) for message in change.after]


def _indexes_of_replacement(change: Change, found: list[int]) -> list[int]:
    """Return the indexes of the messages from which the new messages of a change were made."""
    known: dict[int, list[int]] = {}
    for message, index in zip(change.before, found, strict=True):
        known.setdefault(id(message), []).append(index)
    queues = {key: iter(indexes) for key, indexes in known.items()}
    out: list[int] = []
    for at, message in enumerate(change.after):
        nearest = out[-1] if out else found[0] if found else change.index or 0
        if len(change.after) == len(found):
            nearest = found[at]
        out.append(next(queues.get(id(message), iter(())), nearest))
    return out


__all__ = [
    "Change",
    "Dialect",
    "Effect",
    "Repaired",
    "RepairedRequest",
    "check",
    "is_synthetic",
    "repair",
    "repair_request",
    "replay",
]
