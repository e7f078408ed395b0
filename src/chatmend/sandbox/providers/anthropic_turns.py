"""The order of an Anthropic conversation: turns, tool pairing, thinking and its signatures, prefill.

Consecutive messages of one role are one turn: recorded requests show that the API merges them before it looks.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import chain, groupby, pairwise
from typing import TYPE_CHECKING, Any

from chatmend.sandbox.memory import unmarked
from chatmend.sandbox.refusals import Fault, fault
from chatmend.sandbox.request import Request, objects
from chatmend.sandbox.signatures import Verdict, verify

if TYPE_CHECKING:
    from collections.abc import Iterator

Body = dict[str, Any]
_THOUGHTS = ("thinking", "redacted_thinking")


@dataclass(slots=True)
class Turn:
    """A run of messages of one role."""

    role: str
    start: int
    """The index of its first message."""
    blocks: list[tuple[int, int, Body]] = field(default_factory=list)
    """Message index, block index, block. A string is one text block."""

    def of(self, *tags: str) -> list[tuple[int, int, Body]]:
        """The blocks of these types."""
        return [entry for entry in self.blocks if entry[2].get("type") in tags]


def turns(messages: list[Any]) -> list[Turn]:
    """The turns of a conversation; system messages between them do not count."""
    spoken = [(at, message) for at, message in enumerate(messages) if isinstance(message, dict)]
    spoken = [(at, message) for at, message in spoken if message.get("role") in ("user", "assistant")]
    found = []
    for role, run in groupby(spoken, key=lambda entry: str(entry[1]["role"])):
        members = list(run)
        turn = Turn(role, members[0][0])
        for at, message in members:
            turn.blocks += [(at, i, block) for i, block in enumerate(blocks(message.get("content")))]
        found.append(turn)
    return found


def blocks(content: object) -> list[Body]:
    """Content as blocks: an empty string has none."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return objects(content)


def faults(request: Request) -> Iterator[Fault]:
    """Faults of the order of messages."""
    runs = turns(request.messages)
    return chain(
        _torn(request.messages, runs),
        _systems(request.messages),
        _empties(request, runs),
        _blanks(request.messages),
        _unanswered(runs),
        _orphans(runs),
        _tool_definitions(request, runs),
        _server_calls(runs),
        _misplaced(runs),
        _thinking_first(request, runs),
        _signatures(request, runs),
        _last(request, runs),
    )


def _torn(messages: list[Any], runs: list[Turn]) -> Iterator[Fault]:
    """Calls that a system message tears from their results: said before anything about the system message."""
    for turn, follower in pairwise(runs):
        calls = turn.of("tool_use") if _system_follows(messages, turn, follower) else []
        if calls:
            ids = ", ".join(str(block.get("id")) for _, _, block in calls)
            yield fault("anthropic-tool-use-without-result", f"messages.{calls[0][0]}", ids=ids)


def _systems(messages: list[Any]) -> Iterator[Fault]:
    for at, message in enumerate(messages):
        if not isinstance(message, dict) or message.get("role") != "system":
            continue
        content, place = message.get("content"), f"messages.{at}"
        yield fault("anthropic-role-system-old-text")
        yield fault("anthropic-role-system-unsupported-model")
        if any(b.get("type") not in ("text", "tool_addition", "tool_removal") for b in objects(content)):
            yield fault("anthropic-role-system-content-types", place)
        if not content and "output_config" not in message:
            yield fault("anthropic-system-message-empty", place)
        if at == 0 and content:
            yield fault("anthropic-role-system-first", place)
        follower = messages[at + 1] if at + 1 < len(messages) else None
        if content and isinstance(follower, dict) and follower.get("role") == "user":
            yield fault("anthropic-role-system-placement", place)
        if any(not str(b.get("text", "x")).strip() for b in blocks(content)):
            yield fault("anthropic-system-message-whitespace", place)


def _empties(request: Request, runs: list[Turn]) -> Iterator[Fault]:
    last = len(request.messages) - 1
    for at, message in enumerate(request.messages):
        if isinstance(message, dict) and message.get("content") in ("", []) and message.get("role") != "system":
            final = at == last and message.get("role") == "assistant"
            yield from () if final else (fault("anthropic-message-content-empty", f"messages.{at}"),)
    for turn in runs:
        if turn.role == "user" and not turn.blocks:
            yield fault("anthropic-user-content-empty-2026", f"messages.{turn.start}")
        elif not turn.blocks and turn is not runs[-1]:
            yield fault("anthropic-message-content-empty-2026", f"messages.{turn.start}")


def _blanks(messages: list[Any]) -> Iterator[Fault]:
    for message in objects(messages):
        content = [b for b in blocks(message.get("content")) if message.get("role") != "system"]
        inner = [part for block in content for part in objects(block.get("content"))]
        for block in content + inner:
            if block.get("type") == "text" and block.get("text") == "":
                yield fault("anthropic-text-empty")
        alone = len(content) == 1 or message.get("role") == "user"
        for block in content if alone else ():
            text = block.get("text")
            if block.get("type") == "text" and isinstance(text, str) and text and not text.strip():
                yield fault("anthropic-text-whitespace")


def _tool_definitions(request: Request, runs: list[Turn]) -> Iterator[Fault]:
    if "tools" not in request.body and any(turn.of("tool_use", "tool_result") for turn in runs):
        yield fault("anthropic-tools-required-with-tool-blocks")
    names = {tool.get("name") for tool in objects(request.body.get("tools"))}
    for turn in runs:
        for at, _, block in turn.of("tool_result"):
            for part in objects(block.get("content")):
                if part.get("type") == "tool_reference" and part.get("tool_name") not in names:
                    yield fault("anthropic-tool-reference-unknown", f"messages.{at}", name=part.get("tool_name"))


def _leading_results(turn: Turn | None) -> list[str]:
    """The ids that a user turn answers before it says anything else."""
    found = []
    for _, _, block in turn.blocks if turn is not None else ():
        if block.get("type") != "tool_result":
            break
        found.append(str(block.get("tool_use_id")))
    return found


def _unanswered(runs: list[Turn]) -> Iterator[Fault]:
    seen: set[str] = set()
    for at, turn in enumerate(runs):
        calls = turn.of("tool_use") if turn.role == "assistant" else []
        for message, i, block in calls:
            if str(block.get("id")) in seen:
                yield fault("anthropic-tool-use-duplicate-id", f"messages.{message}.content.{i}")
            seen.add(str(block.get("id")))
        follower = runs[at + 1] if at + 1 < len(runs) else None
        answered = _leading_results(follower)
        missing = [(message, str(b.get("id"))) for message, _, b in calls if str(b.get("id")) not in answered]
        if missing:
            yield fault(
                "anthropic-tool-use-without-result",
                f"messages.{missing[0][0]}",
                ids=", ".join(call for _, call in missing),
            )


def _system_follows(messages: list[Any], turn: Turn, follower: Turn) -> bool:
    """Whether a system message stands between a turn and the next one."""
    return any(isinstance(m, dict) and m.get("role") == "system" for m in messages[turn.start : follower.start])


def _orphans(runs: list[Turn]) -> Iterator[Fault]:
    for before, turn in pairwise([Turn("assistant", -1), *runs]):
        calls = {str(b.get("id")) for _, _, b in before.of("tool_use")} if turn.role == "user" else set()
        seen: set[str] = set()
        for at, i, block in turn.of("tool_result") if turn.role == "user" else ():
            call = str(block.get("tool_use_id"))
            if call not in calls:
                yield fault("anthropic-tool-result-orphan", f"messages.{at}.content.{i}", id=call)
            if call in seen:
                yield fault("anthropic-tool-result-duplicate", f"messages.{at}.content.{i}", id=call)
            seen.add(call)


def _server_calls(runs: list[Turn]) -> Iterator[Fault]:
    for turn in runs[:-1]:
        results = {str(b.get("tool_use_id")) for _, _, b in turn.blocks if "tool_use_id" in b}
        for at, _, block in turn.of("server_tool_use"):
            if str(block.get("id")) not in results:
                yield fault(
                    "anthropic-server-tool-use-unpaired", f"messages.{at}", id=block.get("id"), name=block.get("name")
                )


def _misplaced(runs: list[Turn]) -> Iterator[Fault]:
    for turn in (turn for turn in runs if turn.role == "assistant"):
        tags = [str(block.get("type")) for _, _, block in turn.blocks]
        if tags and tags[-1] in _THOUGHTS and (turn is not runs[-1] or "text" in tags):
            yield fault("anthropic-thinking-final-block", f"messages.{turn.blocks[-1][0]}", tag=tags[-1])
        if "tool_use" in tags and tags[-1] == "text":
            yield fault("anthropic-prefill-misleading-tool-use-not-last")
        if "compaction" in tags and (turn is not runs[0] or tags[0] != "compaction"):
            yield fault("anthropic-compaction-misplaced", f"messages.{turn.start}")
    latest = next((turn for turn in reversed(runs) if turn.role == "assistant"), None)
    tags = [str(block.get("type")) for _, _, block in latest.blocks] if latest else []
    if any(pair == ("thinking", "thinking") for pair in pairwise(tags)):
        yield fault("anthropic-thinking-adjacent")


def _thinking_first(request: Request, runs: list[Turn]) -> Iterator[Fault]:
    thinking = request.body.get("thinking")
    if not isinstance(thinking, dict) or thinking.get("type") != "enabled":
        return
    final = bool(runs) and runs[-1].role == "assistant"
    loop = _first_of_loop(runs)
    if loop is not None and loop.blocks and loop.blocks[0][2].get("type") not in _THOUGHTS:
        at, i, block = loop.blocks[0]
        code = "anthropic-prefill-with-thinking" if final else "anthropic-thinking-first-block"
        server_side = any(str(b.get("type", "")).startswith("server_tool") for _, _, b in loop.blocks)
        yield from () if server_side else (fault(code, f"messages.{at}.content.{i}.type", tag=block.get("type")),)


def _first_of_loop(runs: list[Turn]) -> Turn | None:
    """The assistant turn that answers for the current tool loop, or a final one."""
    if runs and runs[-1].role == "assistant":
        return runs[-1]
    if len(runs) > 1 and runs[-1].of("tool_result"):
        return runs[-2]
    return None


def prefix(request: Request, stop: int) -> str:
    """What a thinking block is bound to: system, tools and the messages before it, cache markers aside."""
    before = [
        unmarked(request.body.get("system")),
        unmarked(request.body.get("tools")),
        [unmarked(message) for message in request.messages[:stop]],
    ]
    return json.dumps(before, sort_keys=True)


def _signatures(request: Request, runs: list[Turn]) -> Iterator[Fault]:
    latest = next((turn for turn in reversed(runs) if turn.role == "assistant"), None)
    for turn in runs:
        for at, i, block in turn.of(*_THOUGHTS):
            place, redacted = f"messages.{at}.content.{i}", block.get("type") == "redacted_thinking"
            text = "" if redacted else str(block.get("thinking", ""))
            said = str(block.get("data" if redacted else "signature", ""))
            verdict = verify(said, request.model, text, prefix(request, turn.start))
            invalid = "anthropic-redacted-thinking-data" if redacted else "anthropic-thinking-signature-invalid"
            if verdict is Verdict.MODIFIED:
                yield fault("anthropic-thinking-modified" if turn is latest else invalid, place)
            elif verdict is Verdict.MALFORMED or (verdict is Verdict.FOREIGN and request.strict_signatures):
                yield fault(invalid, place)
            elif verdict is Verdict.MOVED:
                yield fault("anthropic-thinking-bound-conversation", place)


def _last(request: Request, runs: list[Turn]) -> Iterator[Fault]:
    if not runs or runs[-1].role != "assistant":
        return
    config = request.body.get("output_config")
    if isinstance(config, dict) and isinstance(config.get("format"), dict):
        yield fault("anthropic-output-format-prefill")
    server_side = any("server_tool" in str(block.get("type")) for _, _, block in runs[-1].blocks)
    if not server_side:
        yield fault("anthropic-prefill-unsupported")
    text = runs[-1].blocks[-1][2].get("text") if runs[-1].blocks else None
    if isinstance(text, str) and text != text.rstrip():
        yield fault("anthropic-trailing-whitespace-prefill")
