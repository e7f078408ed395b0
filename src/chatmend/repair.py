"""repair, check and replay: what is asked of a transcript, handed to the engine and given back with its account."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from chatmend import passes
from chatmend.changes import Change, Effect
from chatmend.context import Context
from chatmend.dialects import DIALECTS, Dialect, Traits, Unsure, format_of_body, recognise
from chatmend.engine import Run
from chatmend.errors import ReplayError, TranscriptError
from chatmend.jsontext import is_same
from chatmend.objects import Shown
from chatmend.placeholders import CONTINUED, is_placeholder
from chatmend.policy import Policy, named
from chatmend.report import Reported
from chatmend.rules import Request, unknown_format
from chatmend.targets import Target, resolve
from chatmend.transcript import Text, ToolResult
from chatmend.windows import Memory

if TYPE_CHECKING:
    from chatmend.images.recompressor import Recompressor
    from chatmend.transcript import Part

Messages = list[Any]
_DEFAULT = Policy()
_OFF = ("none", "disable", "disabled")
"""How requests say that the model shall not think, where they say it: OpenAI's, LiteLLM's and Anthropic's words."""


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
    policy: Policy | str | None = None,
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
        thinking: the request's thinking setting: ``True``, ``{"type": "enabled"}``, ``"low"``, ``{"effort": "low"}``.
        policy: the choices that only the caller can make, or the name of such a combination (``"offline"``).
        dialect: ``openai_chat``, ``anthropic_messages``, ``openai_responses`` or ``gemini_contents``, or an object that
            speaks another one; recognised when not given.
        recompressor: what recompresses images, with its cache; by default one that the whole process shares.
        continues: the provider stores what came before (``previous_response_id``): a result may answer a call there.

    Raises:
        TranscriptError: ``messages`` is no list, or no ``dialect`` has that name.
        TargetError: no table describes ``target``.
        PolicyError: ``policy`` is not a policy, nor the name of one.
    """
    if not _is_list(messages):
        text = f"messages must be a list, not {type(messages).__name__}; a request body goes to repair_request"
        raise TranscriptError(text)
    chosen = named(policy) or _DEFAULT
    place = target if isinstance(target, Target) else resolve(target)
    if isinstance(dialect, str) and dialect not in DIALECTS:
        text = f"no dialect {dialect!r}; take one of {', '.join(DIALECTS)}"
        raise TranscriptError(text)
    thinks = is_on(thinking)
    shown = Shown(messages)
    if isinstance(dialect, str):
        spoken: Dialect | Unsure = DIALECTS[dialect]
    else:
        words = DIALECTS["openai_chat"] if shown.are_words else None  # which is how chats are told from others
        spoken = dialect or words or recognise(shown.messages, place.provider, dicts=shown.is_plain)
    if isinstance(spoken, Unsure):
        return Repaired(messages, (unknown_format.finding(spoken.why),), system, tools)
    limits = chosen.apply(place.limits_in(spoken.NAME, hygiene=chosen.rules == "hygiene"))
    limits = limits.beside(thinking=thinks, tools=bool(tools))
    context = Context(limits, spoken, chosen, recompressor)
    request, changes = _one_pass(Request(shown.messages, system, tools), context, continues=continues)
    if chosen != _DEFAULT and request.messages is not shown.messages:
        request, changes = _further_passes(shown.messages, request, changes, context, continues=continues)
    return Repaired(shown.back(request.messages), shown.changed(changes), request.system, request.tools)


def _one_pass(request: Request, context: Context, *, continues: bool) -> tuple[Request, tuple[Change, ...]]:
    run = Run(request.messages, context, memory=Memory(elsewhere=continues))
    run.start()
    return run.finish(request.system, request.tools)


def _further_passes(
    given: Messages, request: Request, changes: tuple[Change, ...], context: Context, *, continues: bool
) -> tuple[Request, tuple[Change, ...]]:
    """Repair what a pass has left under a policy that is not the default, until nothing changes."""
    for _ in range(passes.MOST - 1):
        becomes, more = _one_pass(request, context, continues=continues)
        if becomes.messages is request.messages:
            break
        changes = passes.joined(given, changes, request.messages, more)
        request = becomes
    return request, changes


def _is_list(messages: object) -> bool:
    return isinstance(messages, list)


def is_on(thinking: object) -> bool:
    """Whether a request's thinking setting means on."""
    told = thinking.get("type", thinking.get("effort")) if isinstance(thinking, dict) else thinking
    return bool(told) and told not in _OFF


def repair_request(
    body: dict[str, Any],
    target: str | Target,
    *,
    policy: Policy | str | None = None,
    dialect: str | None = None,
    recompressor: Recompressor | None = None,
) -> RepairedRequest:
    """Repair a whole request body, in any dialect, with the system prompt, tools and thinking beside the messages.

    The messages stand under ``messages``, ``input`` (Responses; a text instead of a list is left) or ``contents``
    (Gemini). A body that declares no tools has none. ``policy``, ``dialect`` and ``recompressor`` are those of
    ``repair``; LiteLLM's arguments of a call are a body, too.

    Raises:
        TranscriptError: ``body`` is no dict with a list of messages.
        TargetError: no table describes ``target``.
    """
    place = target if isinstance(target, Target) else resolve(target)
    spoken = dialect or (format_of_body(body, place.provider) if isinstance(body, dict) else None)
    if isinstance(spoken, Unsure):
        return RepairedRequest(body, (unknown_format.finding(spoken.why),))
    traits = DIALECTS[spoken].TRAITS if spoken in DIALECTS else Traits()
    key = traits.messages_key
    if isinstance(body, dict) and spoken == "openai_responses" and not isinstance(body.get(key), list):
        return RepairedRequest(body)
    if not isinstance(body, dict) or not isinstance(body.get(key), list):
        text = f"a request body is a dict with a list under {key!r}; a bare list of messages goes to repair"
        raise TranscriptError(text)
    beside = next((name for name in traits.system_keys if body.get(name) is not None), traits.system_keys[0])
    system = body.get(beside)
    tools, thinking = set_beside(body, traits)
    done = repair(
        body[key], place, system=system, tools=tools, thinking=thinking, policy=policy, dialect=spoken,
        recompressor=recompressor, continues=any(map(body.get, traits.stored_keys)),
    )  # fmt: skip
    goes = ((key, body[key], done.messages), (beside, system, done.system), ("tools", tools, done.tools))
    changed = {name: value for name, old, value in goes if value is not old}
    return RepairedRequest({**body, **changed} if changed else body, done.changes)


def set_beside(body: dict[str, Any], traits: Traits) -> tuple[object, object]:
    """The tools that a body declares, and its thinking setting."""
    tools: object = next(filter(None, map(body.get, traits.tools_keys)), [])
    for key in traits.thinking_keys:
        if (thinking := body.get(key)) is not None:
            return tools, thinking
    return tools, None


def check(messages: Messages, target: str | Target, **beside: Any) -> tuple[Change, ...]:  # noqa: ANN401 - as repair
    """What ``repair`` would change, nothing changed. Takes the arguments of ``repair``."""
    return tuple(replace(change, applied=False) for change in repair(messages, target, **beside).changes)


def is_synthetic(message: object) -> bool:
    """Whether a message holds nothing but what chatmend puts where a provider wants something that nobody said.

    That is a tool result that says exactly "No result was recorded for this tool call.", or a turn that says exactly
    ``[continued]``. Somebody else who says the same cannot be told apart.
    """
    shown = Shown([message]).messages[0]
    try:
        spoken = recognise([shown])
    except TranscriptError:
        return False
    parts = () if isinstance(spoken, Unsure) else spoken.read(shown).parts
    return bool(parts) and all(map(_is_ours, parts))


def _is_ours(part: Part) -> bool:
    if isinstance(part, ToolResult):
        return is_placeholder(part)
    return isinstance(part, Text) and part.text == CONTINUED


def replay(messages: Messages, changes: tuple[Change, ...] | list[Change]) -> Messages:
    """Make recorded changes again on the transcript that they were recorded on.

    Raises:
        ReplayError: a change does not fit: the transcript is another one.
    """
    todo = [change for change in changes if change.applied and change.where == "messages"]
    if not todo:
        return messages
    current = list(messages)
    out: Messages = []
    start, at = 0, 0
    while at < len(todo) and todo[at].window is None and todo[at].at < 0:
        current = list(todo[at].after)
        at += 1
    while at < len(todo) and (span := todo[at].window) is not None:
        out += current[start : span[0]]
        inside = current[span[0] : span[1]]
        first = at
        while at < len(todo) and todo[at].window == span:
            at += 1
        out += _edited(inside, todo[first:at])
        start = span[1]
    out += current[start:]
    return _edited(out, todo[at:])


def _edited(messages: Messages, changes: list[Change]) -> Messages:
    """Make changes, each on what the ones before it have left.

    The list is held in two halves that meet where the next change begins, so a change costs how far it stands from the
    one before it, and not the length of the list.
    """
    front, back = list[Any](), messages[::-1]
    for change in changes:
        while front and len(front) > change.at:
            back.append(front.pop())
        while back and len(front) < change.at:
            front.append(back.pop())
        found = back[: -len(change.before) - 1 : -1]
        if len(front) != change.at or len(found) != len(change.before) or not all(map(is_same, found, change.before)):
            text = f"{change.code} at message {change.index}: the transcript is not the one the change was recorded on"
            raise ReplayError(text)
        del back[len(back) - len(found) :]
        front += change.after
    return front + back[::-1]


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
