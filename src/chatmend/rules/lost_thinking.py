"""A tool loop that lacks the thinking of its request, or has thinking that is not enabled.

A tool loop is a sequence of assistant turns, each with calls and their results. Its thinking is
lost if another model made the calls, if the framework does not store thinking, or if thinking is
enabled while a call is pending.

Why: ``messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.
When `thinking` is enabled, a final `assistant` message must start with a thinking block`` (Claude
3.7 to 4.6 on every host); ``When thinking is disabled, an `assistant` message in the final position
cannot contain `thinking`.`` (Claude 3.7 to 4.5).

Repair: Thinking is disabled for this request. The same happens to each request until the loop
ends, so the messages stay unchanged. Only thinking after the beginning of such a turn is removed,
because Claude refuses it while thinking is disabled. The later turns of a loop that begins with
thinking need none. With ``lost_thinking="text"``, or if the model cannot disable thinking, the
calls and results of such loops are converted to text instead. Only request bodies show whether
thinking is enabled.

If the request itself disables thinking, the thinking of the current tool loop is removed; when the
loop has ended, it is sent again. Without the parameter it stays until the provider refuses it,
because the parameter may be set elsewhere. Then ``react`` removes it from all tool loops. If the
conversation enables thinking later, loops without thinking are converted to text.

Before (anthropic/claude-sonnet-4-5):
    {"model": "claude-sonnet-4-5", "max_tokens": 4096,
     "thinking": {"type": "enabled", "budget_tokens": 2048},
     "tools": [{"name": "f", "input_schema": {"type": "object"}}],
     "messages": [
      {"role": "user", "content": "go"},
      {"role": "assistant", "content": [
          {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}]},
      {"role": "user", "content": [
          {"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"}]}]}
After:
    {"model": "claude-sonnet-4-5", "max_tokens": 4096,
     "thinking": {"type": "disabled"},
     "tools": [{"name": "f", "input_schema": {"type": "object"}}],
     "messages": [
      {"role": "user", "content": "go"},
      {"role": "assistant", "content": [
          {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}]},
      {"role": "user", "content": [
          {"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"}]}]}
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from chatmend.changes import Change, Effect
from chatmend.dialects.thinking import can_be_signature, is_signed_detail, is_thinking
from chatmend.notes import convert_to_text
from chatmend.placeholders import continued
from chatmend.rules.rule import Request, RequestRule
from chatmend.signatures import last_signed
from chatmend.thinking_parameter import (
    disable,
    is_manual,
    is_thinking_disabled,
    is_thinking_on,
)
from chatmend.transcript import Message, Role, Thinking, is_unchanged, location_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from chatmend.context import Context
    from chatmend.transcript import Part

CODE, NAME = "THINK008", "lost-thinking"
_WHY = "the tool loop does not begin with thinking"
_WHY_UNUSED = "the request does not enable thinking"
_WHY_DISABLED = "the request disables thinking"
_OPAQUE_KEYS = ("reasoning_opaque", "reasoning_text")
"""Keys of Copilot's assistant messages that hold thinking."""


@dataclass(frozen=True, slots=True)
class _Turn:
    """Consecutive assistant messages and what follows them until the next assistant message."""

    start: int
    """The index of its first message."""
    stop: int
    """The index behind its last message."""
    run: tuple[Message, ...]
    """Its assistant messages."""
    followers: tuple[Message, ...]

    @property
    def has_results(self) -> bool:
        """Whether tool results follow the assistant messages."""
        return any(message.results for message in self.followers)

    @property
    def is_checked(self) -> bool:
        """Whether the caller's tools were called, and no tool that the provider runs."""
        calls = [call for message in self.run for call in message.calls]
        return bool(calls) and not any(call.is_hosted for call in calls)

    @property
    def may_be_refused(self) -> bool:
        """Whether its thinking can be refused: in a loop, or in an answer to be continued."""
        return self.is_checked or not self.followers


def apply(request: Request, context: Context) -> tuple[Request, list[Change]]:
    """Disable thinking while the current tool loop lacks it; remove it where it is refused."""
    request, changes = _with_thinking_at_beginnings(request, context)
    more = list[Change]()
    if _is_unused(request.thinking, context):
        request, more = _without_unused_thinking(request, context)
    elif _is_refused(request.thinking, context):
        loop = [turn for turn in _current_loop(request.messages, context) if turn.may_be_refused]
        request, more = _without_thinking(request, loop[::-1], _WHY_DISABLED, context)
    return request, [*changes, *more]


def _is_idle(request: Request, context: Context) -> bool:
    thinking = request.thinking
    return not (
        _needs_thinking(thinking, context)
        or _is_unused(thinking, context)
        or _is_refused(thinking, context)
    )


def _is_unused(thinking: object, context: Context) -> bool:
    """Return whether no thinking may be sent, because the request does not enable it."""
    return not context.limits.unused_thinking and not is_thinking_on(thinking)


def _is_refused(thinking: object, context: Context) -> bool:
    """Return whether the current tool loop may have no thinking, because it is disabled."""
    return not context.limits.disabled_thinking and is_thinking_disabled(thinking)


def _with_thinking_at_beginnings(
    request: Request, context: Context
) -> tuple[Request, list[Change]]:
    """Repair the loops that do not begin with thinking, if the request requires it."""
    if not _needs_thinking(request.thinking, context):
        return request, []
    messages, limits = request.messages, context.limits
    can_disable = limits.thinking_optional and limits.unused_thinking
    as_text = context.policy.lost_thinking == "text" or not can_disable
    is_clean = not as_text and _is_intact(messages, context) and not _has_late_thinking(messages)
    turns = [] if is_clean else list(_read_from_end(messages, context))[::-1]
    lost = list(_lost_turns(turns, context, as_text=as_text))
    if not lost:
        return request, []
    is_open = lost[-1] is turns[-1]
    if context.policy.lost_thinking == "report":
        return request, [_disabling(request, context, applied=False)] if is_open else []
    if as_text:
        return _converted(request, lost, context)
    request, changes = _without_thinking(request, lost, _WHY, context)
    if not is_open:
        return request, changes
    allowed = context.policy.allow >= Effect.DEGRADES and all(change.applied for change in changes)
    change = _disabling(request, context, applied=allowed)
    return (replace(request, thinking=change.after[0]) if allowed else request), [*changes, change]


def _needs_thinking(thinking: object, context: Context) -> bool:
    """Return whether tool loops must begin with thinking in this request."""
    match context.limits.thinking_first:
        case "always":
            is_enabled = is_thinking_on(thinking)
        case "manual":
            is_enabled = is_manual(thinking)
        case _:
            is_enabled = False
    return is_enabled


def _without_unused_thinking(request: Request, context: Context) -> tuple[Request, list[Change]]:
    """Remove the thinking of each tool loop, also of earlier ones, which were sent without it."""
    turns = [turn for turn in _read_from_end(request.messages, context) if turn.may_be_refused]
    return _without_thinking(request, turns[::-1], _WHY_UNUSED, context)


def _read_from_end(messages: list[Any], context: Context) -> Iterator[_Turn]:
    """Yield the turns that begin with an assistant message, the last one first."""
    stop, run, followers = len(messages), list[Message](), list[Message]()
    for at in range(len(messages) - 1, -1, -1):
        message = context.dialect.read(messages[at])
        if message.is_assistant:
            run.append(message)
            continue
        if run:
            yield _Turn(at + 1, stop, tuple(run[::-1]), tuple(followers[::-1]))
            stop, run, followers = at + 1, [], []
        followers.append(message)
    if run:
        yield _Turn(0, stop, tuple(run[::-1]), tuple(followers[::-1]))


def _current_loop(messages: list[Any], context: Context) -> Iterator[_Turn]:
    """Yield the turns that the model must continue, the last one first.

    The thinking of a loop is sent again after its end. Of the models that refuse it in the current
    loop, only Claude Opus 4.5 reads it there (Anthropic, "Extended thinking"); for the others the
    cache stays valid.
    """
    for turn in _read_from_end(messages, context):
        if turn.followers and not turn.has_results:
            return
        yield turn


def _is_intact(messages: list[Any], context: Context) -> bool:
    """Return whether the current tool loop, if any, has thinking; reads only its latest turns."""
    is_open = False
    for turn in _read_from_end(messages, context):
        if not turn.has_results:
            break
        if _begins_with_thinking(turn.run, context):
            return True
        is_open = True
    return not is_open


def _has_late_thinking(messages: list[Any]) -> bool:
    """Return whether thinking may follow other content; a fast check that reads no message."""
    follows_assistant = False
    for native in messages:
        if native.__class__ is not dict:
            return True
        content = native.get("content")
        is_assistant = native.get("role") == "assistant"
        if is_assistant and follows_assistant:
            return True
        if content.__class__ is list and len(content) > 1 and any(map(_may_think, content[1:])):
            return True
        follows_assistant = is_assistant
    return False


def _may_think(block: Any) -> bool:  # noqa: ANN401 - callers may send any value
    return is_thinking(block) or (block.__class__ is dict and "reasoningContent" in block)


def _lost_turns(turns: list[_Turn], context: Context, *, as_text: bool) -> Iterator[_Turn]:
    """Yield the turns with results whose loop has not begun with thinking until then.

    Later turns do not matter, so every later request gives the same result for a turn. With
    ``as_text`` such a turn ends its loop, because its results become texts of the user.
    """
    has_thinking = False
    for turn in turns:
        has_thinking = has_thinking or _begins_with_thinking(turn.run, context)
        is_lost = turn.has_results and turn.is_checked and not has_thinking
        if is_lost:
            yield turn
        if not turn.has_results or (is_lost and as_text):
            has_thinking = False


def _begins_with_thinking(run: tuple[Message, ...], context: Context) -> bool:
    if context.traits.messages_are_items:
        return any(map(_is_claude_thinking, (part for item in run for part in item.parts)))
    first = run[0]
    reads_keys = context.limits.thinking != "signed" and context.traits.has_calls_key
    if reads_keys and _has_thinking_keys(first.extra):
        return True
    parts = [part for part in first.parts if location_of(part) != "reasoning_content"]
    return bool(parts) and _is_claude_thinking(parts[0])


def _is_claude_thinking(part: Part) -> bool:
    return isinstance(part, Thinking) and can_be_signature(part.signature)


def _has_thinking_keys(native: dict[str, Any]) -> bool:
    """Return whether a message has signed thinking under a key of its host."""
    details = native.get("reasoning_details")
    has_details = isinstance(details, list) and any(map(is_signed_detail, details))
    return has_details or any(native.get(key) for key in _OPAQUE_KEYS)


def _disabling(request: Request, context: Context, *, applied: bool) -> Change:
    off = disable(request.thinking)
    is_finding = context.policy.lost_thinking == "report"
    why = f"{_WHY}, so thinking is disabled until it ends" if applied else _WHY
    return Change(
        CODE, NAME, Effect.DEGRADES, None, why, (request.thinking,), (off,),
        where="thinking", applied=applied, finding=is_finding,
    )  # fmt: skip


def _without_thinking(
    request: Request, turns: list[_Turn], why: str, context: Context
) -> tuple[Request, list[Change]]:
    """Remove the thinking of such turns; a message that holds nothing else gets a placeholder."""
    edits = (
        (turn.start + number, message.with_parts(kept or continued(Role.ASSISTANT).parts))
        for turn in turns
        for number, message in enumerate(turn.run)
        if not is_unchanged(message.parts, kept := tuple(filter(_is_kept, message.parts)))
    )
    return _rewritten(request, edits, Effect.DROPS, why, context)


def _is_kept(part: Part) -> bool:
    return not isinstance(part, Thinking) or part.location in ("reasoning_content", "own")


def _converted(
    request: Request, lost: list[_Turn], context: Context
) -> tuple[Request, list[Change]]:
    """Convert the calls and results of such turns to text."""
    edits = (
        (at, convert_to_text(message, context.traits))
        for turn in lost
        for at, message in enumerate((*turn.run, *turn.followers), turn.start)
        if message.calls or message.results
    )
    return _rewritten(request, edits, Effect.DEGRADES, _WHY, context)


def _rewritten(
    request: Request,
    edits: Iterable[tuple[int, Message]],
    effect: Effect,
    why: str,
    context: Context,
) -> tuple[Request, list[Change]]:
    """Replace single messages, if the policy allows it."""
    out, changes = list(request.messages), list[Change]()
    is_finding = context.policy.lost_thinking == "report"
    allowed = context.policy.allow >= effect and not is_finding
    signed: int | None = None
    for at, becomes in edits:
        signed = last_signed(request.messages, context) if signed is None else signed
        native = request.messages[at]
        out[at] = context.dialect.write(becomes) if allowed else native
        changes.append(
            Change(
                CODE, NAME, effect, at, why, (native,), (out[at],), None, at,
                applied=allowed, invalidates_thinking=allowed and at < signed, finding=is_finding,
            )
        )  # fmt: skip
    return (replace(request, messages=out) if changes and allowed else request), changes


RULE = RequestRule(CODE, NAME, apply, is_idle=_is_idle)
