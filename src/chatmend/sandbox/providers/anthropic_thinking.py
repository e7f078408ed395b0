"""Finds faults of thinking: its parameters, its position, its signatures, its conversation.

Claude models with preserved thinking bind each thinking block to the content before it: system
prompt, tools and all earlier blocks. The sandbox computes a hash of that prefix, stores it in the
signatures that it creates, and compares it when a block is sent back.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from chatmend.sandbox.memory import SandboxMemory, without_cache_markers
from chatmend.sandbox.providers.anthropic_turns import AnthropicTurn, blocks, turns
from chatmend.sandbox.refusals import Fault, fault, load_table
from chatmend.sandbox.request import SandboxRequest, mapping, objects
from chatmend.sandbox.signatures import SignatureStatus, sign, verify

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Body = dict[str, Any]
THINKING_TYPES = ("thinking", "redacted_thinking")
CACHE_POINT = "cache_point"
"""The type to which a cache point of Converse is converted; it is not part of a prefix."""
_BETA = "thinking-binding-controls-2026-08-01"
_BEHAVIORS = (None, "error", "drop_block")
_MIN_THINKING_TOKENS = 1024


def thinks(body: Body) -> bool:
    """Return whether a request enables thinking."""
    return mapping(body.get("thinking")).get("type") in ("enabled", "adaptive")


def parameter_faults(request: SandboxRequest) -> Iterator[Fault]:
    """Yield the faults of the parameter ``thinking`` and of those that depend on it."""
    body, thinking = request.body, request.body.get("thinking")
    if isinstance(thinking, dict):
        kind = thinking.get("type")
        if kind is None:
            yield fault("anthropic-thinking-type-missing")
        if kind in ("enabled", "disabled", "adaptive"):
            yield fault(f"anthropic-thinking-{kind}-unsupported")
        yield from _block_binding_faults(request, thinking)
        if kind == "enabled":
            yield from _budget_faults(thinking.get("budget_tokens"), body.get("max_tokens"))
    edits = objects(mapping(body.get("context_management")).get("edits"))
    if any(edit.get("type") == "clear_thinking_20251015" for edit in edits) and not thinks(body):
        yield fault("anthropic-clear-thinking-needs-thinking")


def _budget_faults(budget: object, max_tokens: object) -> Iterator[Fault]:
    if not isinstance(budget, int):
        return
    if budget < _MIN_THINKING_TOKENS:
        yield fault("anthropic-thinking-budget-min")
    if isinstance(max_tokens, int) and max_tokens <= budget:
        yield fault("anthropic-thinking-budget-lt-max-tokens")


def _block_binding_faults(request: SandboxRequest, thinking: Body) -> Iterator[Fault]:
    """Yield the faults of ``block_binding``: it needs the beta and adaptive thinking."""
    binding, kind = thinking.get("block_binding"), thinking.get("type")
    if binding is None:
        return
    at = f"thinking.{kind}.block_binding"
    if kind != "adaptive" or _BETA not in request.claude_betas():
        yield fault("anthropic-block-binding-not-permitted", at)
    elif mapping(binding).get("prefix_mismatch_behavior") not in _BEHAVIORS:
        yield fault("anthropic-block-binding-value", f"{at}.prefix_mismatch_behavior")


def conversation_faults(request: SandboxRequest) -> Iterator[Fault]:
    """Yield the faults of the thinking blocks in the messages."""
    runs = turns(request.messages)
    return chain(_position_faults(request, runs), _signature_faults(request, runs))


def _position_faults(request: SandboxRequest, runs: list[AnthropicTurn]) -> Iterator[Fault]:
    """Yield faults of the last assistant turn, if the model must continue it.

    With manual thinking (``enabled``) it must start with thinking, without thinking it must
    contain none. Adaptive thinking requires neither.
    """
    loop = [turn for turn in _current_loop(runs) if turn.blocks]
    kind = mapping(request.body.get("thinking")).get("type")
    if not loop:
        return
    starts = [turn.blocks[0][2].get("type") for turn in loop]
    if kind == "enabled" and not any(tag in THINKING_TYPES for tag in starts):
        at, i, block = loop[-1].blocks[0]
        is_final = loop[-1] is runs[-1]
        code = "anthropic-prefill-with-thinking" if is_final else "anthropic-thinking-first-block"
        if not any(str(b.get("type", "")).startswith("server_tool") for _, _, b in loop[-1].blocks):
            yield fault(code, f"messages.{at}.content.{i}.type", tag=block.get("type"))
    if kind in (None, "disabled"):
        for at, i, block in loop[-1].of(*THINKING_TYPES):
            path = f"messages.{at}.content.{i}"
            yield fault("anthropic-thinking-disabled-block", path, tag=block.get("type"))


def _current_loop(runs: list[AnthropicTurn]) -> list[AnthropicTurn]:
    """Return the assistant turns of the current tool loop, or a final assistant turn.

    Without interleaved thinking, the model thinks only in the first turn of a loop.
    """
    if runs and runs[-1].role == "assistant":
        return runs[-1:]
    at = len(runs)
    while at > 1 and runs[at - 1].of("tool_result"):
        at -= 2
    return [turn for turn in runs[at:] if turn.role == "assistant"]


@dataclass(frozen=True, slots=True)
class ReplayedThinking:
    """A thinking block of a request."""

    message: int
    index: int
    block: Body
    status: SignatureStatus
    is_dropped: bool
    """Whether the provider removes it, because the request says so."""

    @property
    def path(self) -> str:
        """The position as in error texts."""
        return f"messages.{self.message}.content.{self.index}"


class _RunningPrefix:
    """A hash of the prompt so far.

    It covers contents, roles and the start of each message, except that consecutive messages of
    the assistant are one. (Whether the API compares where the other messages start is not known;
    the sandbox does, so that tests detect a later merge.) It does not cover cache markers, tools
    whose loading is deferred, and system messages with ``clear_at``, which the API removes itself
    after their turn. A text is the same as a list with one text block.
    """

    def __init__(self, body: Body) -> None:
        system = blocks(body.get("system"))
        tools = [tool for tool in objects(body.get("tools")) if not tool.get("defer_loading")]
        self._hash = hashlib.sha256()
        self.add("head", {"system": system, "tools": tools})

    def start_message(self, role: str) -> None:
        if role != "assistant":
            self._hash.update(b"\x1d")

    def add(self, role: str, block: Body) -> None:
        if block.get("type") == CACHE_POINT:
            return
        text = json.dumps([role, without_cache_markers(block)], sort_keys=True)
        self._hash.update(text.encode() + b"\x1e")

    def __str__(self) -> str:
        return self._hash.copy().hexdigest()


def prefix(request: SandboxRequest) -> str:
    """Return a hash of a whole request, to which the thinking of its answer is bound.

    Blocks that the provider drops are not part of it.
    """
    return _walk(request)[1]


def signed_thinking(body: Mapping[str, Any], text: str, *, model: str = "") -> Body:
    """Return a thinking block that the sandbox accepts as the start of the answer to a request.

    It makes a conversation with signed thinking without a round trip.

    Args:
        body: a Messages request (``system``, ``tools``, ``messages``, ``model``).
        text: the thinking.
        model: the model that signs; by default that of the body.
    """
    name = model or str(body.get("model", ""))
    request = SandboxRequest("anthropic", name, dict(body), SandboxMemory(), "anthropic")
    signature = sign(name, text, prefix(request))
    return {"type": "thinking", "thinking": text, "signature": signature}


def _walk(request: SandboxRequest) -> tuple[list[ReplayedThinking], str]:
    """Return the thinking blocks of a request, and the hash of the whole request."""
    running, found = _RunningPrefix(request.body), []
    drops, is_dropping = _drops_mismatches(request), False
    for at, message in enumerate(request.messages):
        if not isinstance(message, dict) or message.get("clear_at") is not None:
            continue
        running.start_message(str(message.get("role")))
        for i, block in enumerate(blocks(message.get("content"))):
            is_thinking = block.get("type") in THINKING_TYPES
            status = _verified(request, block, str(running)) if is_thinking else None
            # A drop takes the thinking blocks that directly follow it, too.
            is_dropping = drops and is_thinking and (is_dropping or status is SignatureStatus.MOVED)
            if status is not None:
                found.append(ReplayedThinking(at, i, block, status, is_dropping))
            if not is_dropping:
                running.add(str(message.get("role")), block)
    return found, str(running)


def _verified(request: SandboxRequest, block: Body, prefix_hash: str) -> SignatureStatus:
    if block.get("type") == "redacted_thinking":
        return verify(str(block.get("data", "")), request.model, "", prefix_hash)
    text = str(block.get("thinking", ""))
    return verify(str(block.get("signature", "")), request.model, text, prefix_hash)


def _drops_mismatches(request: SandboxRequest) -> bool:
    binding = mapping(mapping(request.body.get("thinking")).get("block_binding"))
    return binding.get("prefix_mismatch_behavior") == "drop_block" and is_bound(request)


def is_bound(request: SandboxRequest) -> bool:
    """Return whether the model of a request binds thinking to its conversation on this host."""
    settings = load_table("anthropic").settings
    if request.provider not in settings["bound_hosts"]:
        return False
    in_table = re.search(settings["bound_models"], request.model) is not None
    return in_table or request.changes.binds_thinking(request.model)


def _signature_faults(request: SandboxRequest, runs: list[AnthropicTurn]) -> Iterator[Fault]:
    if not any(turn.of(*THINKING_TYPES) for turn in runs):
        return
    latest = next((turn.start for turn in reversed(runs) if turn.role == "assistant"), 0)
    for replayed in _walk(request)[0]:
        is_redacted = replayed.block.get("type") == "redacted_thinking"
        invalid = (
            "anthropic-redacted-thinking-data"
            if is_redacted
            else "anthropic-thinking-signature-invalid"
        )
        if replayed.is_dropped:
            continue
        if replayed.status is SignatureStatus.MODIFIED:
            is_latest = replayed.message >= latest
            yield fault("anthropic-thinking-modified" if is_latest else invalid, replayed.path)
        elif replayed.status is SignatureStatus.MALFORMED or (
            replayed.status is SignatureStatus.FOREIGN and request.strict_signatures
        ):
            yield fault(invalid, replayed.path)
        elif replayed.status is SignatureStatus.MOVED and is_bound(request):
            yield fault("anthropic-thinking-bound-conversation", replayed.path)


def input_transformations(request: SandboxRequest) -> list[Body] | None:
    """Return the report of dropped blocks, or None if the request does not use its beta."""
    if _BETA not in request.claude_betas():
        return None
    return [
        {
            "type": "thinking_dropped",
            "path": replayed.path,
            "reason": "prefix_binding_mismatch",
        }
        for replayed in _walk(request)[0]
        if replayed.is_dropped
    ]
