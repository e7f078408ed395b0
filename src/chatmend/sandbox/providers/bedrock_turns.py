"""Finds faults in the order of a Converse conversation.

Checked are turns, tool pairing, documents, signed reasoning and prefill.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import chain, groupby, pairwise
from typing import TYPE_CHECKING, Any

from chatmend.sandbox.refusals import Fault, fault
from chatmend.sandbox.request import SandboxRequest, objects
from chatmend.sandbox.signatures import SignatureStatus, verify

if TYPE_CHECKING:
    from collections.abc import Iterator

Body = dict[str, Any]
_MAX_IMAGES = 20
_MAX_DOCUMENTS, _MAX_DOCUMENT_BYTES = 5, 4_718_592


@dataclass(slots=True)
class BedrockTurn:
    """Consecutive messages of one role, which AWS merges."""

    role: str
    start: int
    blocks: list[tuple[int, int, Body]] = field(default_factory=list)

    def ids(self, key: str) -> list[str]:
        """Return the ids of its tool uses or results."""
        return [
            str(b[key].get("toolUseId")) for _, _, b in self.blocks if isinstance(b.get(key), dict)
        ]


def turns(messages: list[Any]) -> list[BedrockTurn]:
    """Return the turns of a conversation."""
    spoken = [(at, message) for at, message in enumerate(messages) if isinstance(message, dict)]
    found = []
    for role, run in groupby(spoken, key=lambda entry: str(entry[1].get("role"))):
        members = list(run)
        turn = BedrockTurn(role, members[0][0])
        for at, message in members:
            turn.blocks += [
                (at, i, block) for i, block in enumerate(objects(message.get("content")))
            ]
        found.append(turn)
    return found


def faults(request: SandboxRequest) -> Iterator[Fault]:
    """Yield the faults in the order of messages."""
    runs = turns(request.messages)
    return chain(
        _shape(request.messages, runs),
        _pairs(request, runs),
        _mixed(runs),
        _documents(request.messages),
        _texts(request.messages),
        _reasoning(request),
    )


def _shape(messages: list[Any], runs: list[BedrockTurn]) -> Iterator[Fault]:
    if runs and runs[0].role == "assistant":
        yield fault("bedrock-first-user")
    for at, message in enumerate(objects(messages)):
        if message.get("content") == []:
            yield fault("bedrock-content-empty", f"messages.{at}")
        images = sum("image" in block for block in objects(message.get("content")))
        if images > _MAX_IMAGES:
            yield fault("bedrock-image-limits", f"messages.{at}")


def _pairs(request: SandboxRequest, runs: list[BedrockTurn]) -> Iterator[Fault]:
    used = any(turn.ids("toolUse") or turn.ids("toolResult") for turn in runs)
    if used and not request.body.get("toolConfig"):
        yield fault("bedrock-tool-config-required")
    for before, turn in pairwise([BedrockTurn("assistant", -1), *runs]):
        results, uses = (
            turn.ids("toolResult"),
            before.ids("toolUse") if before.role == "assistant" else [],
        )
        for key, ids in (("toolUse", turn.ids("toolUse")), ("toolResult", results)):
            doubled = [call for call, number in Counter(ids).items() if number > 1]
            if doubled:
                yield fault(
                    f"bedrock-tool-{'use' if key == 'toolUse' else 'result'}-duplicate",
                    f"messages.{turn.start}.content",
                    ids=", ".join(doubled),
                )
        missing = [call for call in uses if call not in results]
        if missing and turn.role == "user":
            yield fault(
                "bedrock-tool-result-missing",
                f"messages.{turn.start}.content",
                ids=", ".join(missing),
            )
        if len(results) > len(uses) or set(results) - set(uses):
            yield fault("bedrock-tool-result-orphan", f"messages.{turn.start}.content")
    if runs and runs[-1].role == "assistant" and runs[-1].ids("toolUse"):
        yield fault(
            "bedrock-tool-result-missing",
            f"messages.{len(request.messages)}.content",
            ids=", ".join(runs[-1].ids("toolUse")),
        )


def _mixed(runs: list[BedrockTurn]) -> Iterator[Fault]:
    for at, turn in enumerate(runs):
        kinds = [next(iter(block), "") for _, _, block in turn.blocks]
        spoken = [kind for kind in kinds if kind not in ("toolResult", "cachePoint")]
        if "toolResult" in kinds and spoken:
            yield fault("bedrock-tool-result-mixed-content")
        media = [i for i, kind in enumerate(kinds) if kind in ("document", "video")]
        if "toolResult" in kinds and media:
            path = f"messages.{turn.blocks[media[0]][0]}.content.{turn.blocks[media[0]][1]}"
            yield fault("bedrock-document-source-translation", path)
        follows = "toolUse" in kinds and "text" in kinds[kinds.index("toolUse") :]
        if turn.role == "assistant" and follows and at + 1 < len(runs):
            yield fault(
                "bedrock-text-before-tool-use",
                f"messages.{runs[at + 1].start}.content",
                ids=", ".join(turn.ids("toolUse")),
            )


def _documents(messages: list[Any]) -> Iterator[Fault]:
    names: list[str] = []
    for message in objects(messages):
        blocks = objects(message.get("content"))
        found = [block["document"] for block in blocks if isinstance(block.get("document"), dict)]
        if found and not any("text" in block for block in blocks):
            yield fault("bedrock-document-needs-text")
        names += [str(document.get("name")) for document in found]
        for document in found:
            source = document.get("source")
            data = source.get("bytes") if isinstance(source, dict) else None
            if isinstance(data, str) and len(data) // 4 * 3 - 2 > _MAX_DOCUMENT_BYTES:
                yield fault("bedrock-document-bytes", str(document.get("name")))
    if len(names) > _MAX_DOCUMENTS:
        yield fault("bedrock-document-count")
    if len(set(names)) < len(names):
        yield fault("bedrock-document-name-duplicate")


def _texts(messages: list[Any]) -> Iterator[Fault]:
    for at, message in enumerate(objects(messages)):
        blocks = objects(message.get("content"))
        for i, block in enumerate(blocks):
            text = block.get("text")
            # A recorded request with a line break between two texts of the user was accepted.
            counts = not text or len(blocks) == 1 or message.get("role") == "assistant"
            if isinstance(text, str) and not text.strip() and counts:
                yield fault("bedrock-text-blank-claude", kind="whitespace" if text else "empty")
                yield fault("bedrock-text-blank", f"messages.{at}.content.{i}")


def _reasoning(request: SandboxRequest) -> Iterator[Fault]:
    for at, message in enumerate(objects(request.messages)):
        for i, block in enumerate(objects(message.get("content"))):
            inner = block.get("reasoningContent")
            signed = inner.get("reasoningText") if isinstance(inner, dict) else None
            if not isinstance(signed, dict):
                continue
            if "signature" not in signed:
                yield fault("bedrock-reasoning-unsigned", f"messages.{at}.content.{i}")
                continue
            yield fault("bedrock-reasoning-signature")
            status = verify(str(signed["signature"]), request.model, str(signed.get("text")))
            if status is SignatureStatus.MODIFIED or (
                status is SignatureStatus.FOREIGN and request.strict_signatures
            ):
                yield fault("bedrock-reasoning-invalid", f"messages.{at}.content.{i}")


def final_turn_faults(request: SandboxRequest) -> Iterator[Fault]:
    """Yield the faults of a final assistant turn, which the model would have to continue."""
    runs = turns(request.messages)
    if runs and runs[-1].role == "assistant":
        if request.body.get("toolConfig"):
            used = len(runs) > 1 and bool(runs[-2].ids("toolResult"))
            yield fault("bedrock-prefill-with-tools" if used else "bedrock-prefill-beside-tools")
        yield fault("bedrock-last-user")
