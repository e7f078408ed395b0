"""Finds faults in the order of an Anthropic conversation.

Checked are turns, tool pairing and prefill. Consecutive messages
of one role are one turn: recorded requests show that the API merges them before it validates.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain, groupby, pairwise
from typing import TYPE_CHECKING, Any

from chatmend.sandbox.refusals import Fault, fault
from chatmend.sandbox.request import SandboxRequest, objects

if TYPE_CHECKING:
    from collections.abc import Iterator

Body = dict[str, Any]
_THOUGHTS = ("thinking", "redacted_thinking")


@dataclass(slots=True)
class AnthropicTurn:
    """Consecutive messages of one role."""

    role: str
    start: int
    """The index of the first message."""
    blocks: list[tuple[int, int, Body]] = field(default_factory=list)
    """Message index, block index and block; a string is one text block."""

    def of(self, *tags: str) -> list[tuple[int, int, Body]]:
        """Return the blocks of these types."""
        return [entry for entry in self.blocks if entry[2].get("type") in tags]


def turns(messages: list[Any]) -> list[AnthropicTurn]:
    """Return the turns of a conversation; system messages do not separate turns."""
    spoken = [(at, message) for at, message in enumerate(messages) if isinstance(message, dict)]
    spoken = [
        (at, message) for at, message in spoken if message.get("role") in ("user", "assistant")
    ]
    found = []
    for role, run in groupby(spoken, key=lambda entry: str(entry[1]["role"])):
        members = list(run)
        turn = AnthropicTurn(role, members[0][0])
        for at, message in members:
            turn.blocks += [
                (at, i, block) for i, block in enumerate(blocks(message.get("content")))
            ]
        found.append(turn)
    return found


def blocks(content: object) -> list[Body]:
    """Return a content as blocks; an empty string has no blocks."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return objects(content)


def faults(request: SandboxRequest) -> Iterator[Fault]:
    """Yield the faults in the order of messages."""
    runs = turns(request.messages)
    return chain(
        _separated_calls(request.messages, runs),
        _systems(request.messages),
        _empties(request, runs),
        _blanks(request.messages),
        _unanswered(runs),
        _orphans(runs),
        _tool_definitions(request, runs),
        _server_pairs(request, runs),
        _misplaced(runs),
    )


def _separated_calls(messages: list[Any], runs: list[AnthropicTurn]) -> Iterator[Fault]:
    """Yield faults for calls that a system message separates from their results.

    The API reports these before faults of the system message.
    """
    for turn, follower in pairwise(runs):
        calls = turn.of("tool_use") if _system_follows(messages, turn, follower) else []
        if calls:
            ids = ", ".join(str(block.get("id")) for _, _, block in calls)
            yield fault("anthropic-tool-use-without-result", f"messages.{calls[0][0]}", ids=ids)


def _systems(messages: list[Any]) -> Iterator[Fault]:
    for at, message in enumerate(messages):
        if not isinstance(message, dict) or message.get("role") != "system":
            continue
        content, path = message.get("content"), f"messages.{at}"
        yield fault("anthropic-role-system-old-text")
        yield fault("anthropic-role-system-unsupported-model")
        if any(
            b.get("type") not in ("text", "tool_addition", "tool_removal") for b in objects(content)
        ):
            yield fault("anthropic-role-system-content-types", path)
        if not content and "output_config" not in message:
            yield fault("anthropic-system-message-empty", path)
        if at == 0 and content:
            yield fault("anthropic-role-system-first", path)
        follower = messages[at + 1] if at + 1 < len(messages) else None
        is_before_user = isinstance(follower, dict) and follower.get("role") == "user"
        if content and (is_before_user or _interrupts_assistant(messages[:at])):
            yield fault("anthropic-role-system-placement", path)
        if any(not str(b.get("text", "x")).strip() for b in blocks(content)):
            yield fault("anthropic-system-message-whitespace", path)


def _interrupts_assistant(before: list[Any]) -> bool:
    """Return whether the message before is the assistant's and ends with no hosted tool's result.

    Only after such a result may a system message follow the assistant.
    """
    last = before[-1] if before and isinstance(before[-1], dict) else {}
    return last.get("role") == "assistant" and not _ends_hosted(blocks(last.get("content")), "")


def _ends_hosted(found: list[Body], *call_tags: str) -> bool:
    """Return whether the last block is a hosted tool's result, or a call with one of these tags."""
    tag = str(found[-1].get("type")) if found else ""
    return tag.endswith("_tool_result") or tag in call_tags


def _empties(request: SandboxRequest, runs: list[AnthropicTurn]) -> Iterator[Fault]:
    last = len(request.messages) - 1
    for at, message in enumerate(request.messages):
        if (
            isinstance(message, dict)
            and message.get("content") in ("", [])
            and message.get("role") != "system"
        ):
            final = at == last and message.get("role") == "assistant"
            yield from (
                () if final else (fault("anthropic-message-content-empty", f"messages.{at}"),)
            )
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


def _tool_definitions(request: SandboxRequest, runs: list[AnthropicTurn]) -> Iterator[Fault]:
    if "tools" not in request.body and any(turn.of("tool_use", "tool_result") for turn in runs):
        yield fault("anthropic-tools-required-with-tool-blocks")
    names = {tool.get("name") for tool in objects(request.body.get("tools"))}
    for turn in runs:
        for at, _, block in turn.of("tool_result"):
            for part in objects(block.get("content")):
                if part.get("type") == "tool_reference" and part.get("tool_name") not in names:
                    yield fault(
                        "anthropic-tool-reference-unknown",
                        f"messages.{at}",
                        name=part.get("tool_name"),
                    )


def _leading_results(turn: AnthropicTurn | None) -> list[str]:
    """Return the ids of the tool results at the start of a user turn."""
    found = []
    for _, _, block in turn.blocks if turn is not None else ():
        if block.get("type") != "tool_result":
            break
        found.append(str(block.get("tool_use_id")))
    return found


def _unanswered(runs: list[AnthropicTurn]) -> Iterator[Fault]:
    seen: set[str] = set()
    for at, turn in enumerate(runs):
        calls = turn.of("tool_use") if turn.role == "assistant" else []
        for message, i, block in calls:
            if str(block.get("id")) in seen:
                yield fault("anthropic-tool-use-duplicate-id", f"messages.{message}.content.{i}")
            seen.add(str(block.get("id")))
        follower = runs[at + 1] if at + 1 < len(runs) else None
        answered = _leading_results(follower)
        missing = [
            (message, str(b.get("id")))
            for message, _, b in calls
            if str(b.get("id")) not in answered
        ]
        if missing:
            yield fault(
                "anthropic-tool-use-without-result",
                f"messages.{missing[0][0]}",
                ids=", ".join(call for _, call in missing),
            )


def _system_follows(messages: list[Any], turn: AnthropicTurn, follower: AnthropicTurn) -> bool:
    """Return whether there is a system message between the calls of a turn and the next turn."""
    first_call = min((at for at, _, _ in turn.of("tool_use")), default=follower.start)
    return any(
        isinstance(m, dict) and m.get("role") == "system"
        for m in messages[first_call : follower.start]
    )


def _orphans(runs: list[AnthropicTurn]) -> Iterator[Fault]:
    for before, turn in pairwise([AnthropicTurn("assistant", -1), *runs]):
        calls = (
            {str(b.get("id")) for _, _, b in before.of("tool_use")}
            if turn.role == "user"
            else set()
        )
        seen: set[str] = set()
        for at, i, block in turn.of("tool_result") if turn.role == "user" else ():
            call = str(block.get("tool_use_id"))
            if call not in calls:
                yield fault("anthropic-tool-result-orphan", f"messages.{at}.content.{i}", id=call)
            if call in seen:
                yield fault(
                    "anthropic-tool-result-duplicate", f"messages.{at}.content.{i}", id=call
                )
            seen.add(call)


def _server_pairs(request: SandboxRequest, runs: list[AnthropicTurn]) -> Iterator[Fault]:
    """Yield calls and results of hosted tools that are not paired.

    A call may wait for its result while nothing but results of the caller's tools follow.
    """
    systems = [
        at
        for at, message in enumerate(request.messages)
        if isinstance(message, dict) and message.get("role") == "system"
    ]
    waiting: dict[str, tuple[int, str]] = {}
    for turn in runs:
        if turn.role == "assistant":
            yield from _answered(turn, waiting, systems)
            continue
        for at, index, block in turn.blocks:
            if str(block.get("type")).endswith("_tool_result"):
                yield _orphan(at, index, block)
        if {block.get("type") for _, _, block in turn.blocks} != {"tool_result"}:
            for call, (at, name) in waiting.items():
                path = f"messages.{at}"
                yield fault("anthropic-server-tool-use-unpaired", path, id=call, name=name)
            waiting = {}
    runs_code = any("code_execution" in name for _, name in waiting.values())
    is_container_missing = runs_code and not request.body.get("container")
    if is_container_missing and runs[-1].role == "user" and _declares_code(request.body):
        yield fault("anthropic-container-required")


def _answered(
    turn: AnthropicTurn, waiting: dict[str, tuple[int, str]], systems: list[int]
) -> Iterator[Fault]:
    """Add the calls of a turn to those that wait, and remove those with a result."""
    for at, index, block in turn.blocks:
        tag = str(block.get("type"))
        if tag in ("server_tool_use", "mcp_tool_use"):
            if (call := str(block.get("id"))) in waiting:
                name = block.get("name")
                path = f"messages.{at}"
                yield fault("anthropic-server-tool-use-unpaired", path, id=call, name=name)
            waiting[str(block.get("id"))] = (at, str(block.get("name")))
        elif tag.endswith("_tool_result"):
            called_at, _ = waiting.pop(str(block.get("tool_use_id")), (-1, ""))
            is_separated = any(called_at < system < at for system in systems)
            if called_at < 0 or is_separated:
                yield _orphan(at, index, block)


def _orphan(at: int, index: int, block: Body) -> Fault:
    call, tag = block.get("tool_use_id"), block.get("type")
    return fault("anthropic-server-result-orphan", at=str(at), index=index, tag=tag, id=call)


def _declares_code(body: Body) -> bool:
    return any("code_execution" in str(tool.get("type")) for tool in objects(body.get("tools")))


def _misplaced(runs: list[AnthropicTurn]) -> Iterator[Fault]:
    for turn in (turn for turn in runs if turn.role == "assistant"):
        tags = [str(block.get("type")) for _, _, block in turn.blocks]
        if tags and tags[-1] in _THOUGHTS and (turn is not runs[-1] or "text" in tags):
            yield fault(
                "anthropic-thinking-final-block", f"messages.{turn.blocks[-1][0]}", tag=tags[-1]
            )
        if "tool_use" in tags and tags[-1] == "text":
            yield fault("anthropic-prefill-misleading-tool-use-not-last")
        if "compaction" in tags and (turn is not runs[0] or tags[0] != "compaction"):
            yield fault("anthropic-compaction-misplaced", f"messages.{turn.start}")
    latest = next((turn for turn in reversed(runs) if turn.role == "assistant"), None)
    tags = [str(block.get("type")) for _, _, block in latest.blocks] if latest else []
    if any(pair == ("thinking", "thinking") for pair in pairwise(tags)):
        yield fault("anthropic-thinking-adjacent")


def final_turn_faults(request: SandboxRequest) -> Iterator[Fault]:
    """Yield the faults of a final assistant turn, which the model would have to continue."""
    runs = turns(request.messages)
    if not runs or runs[-1].role != "assistant":
        return
    config = request.body.get("output_config")
    if isinstance(config, dict) and isinstance(config.get("format"), dict):
        yield fault("anthropic-output-format-prefill")
    last_blocks = [block for _, _, block in runs[-1].blocks]
    if not _ends_hosted(last_blocks, "server_tool_use", "mcp_tool_use"):
        yield fault("anthropic-prefill-unsupported")
    text = runs[-1].blocks[-1][2].get("text") if runs[-1].blocks else None
    if isinstance(text, str) and text != text.rstrip():
        yield fault("anthropic-trailing-whitespace-prefill")
