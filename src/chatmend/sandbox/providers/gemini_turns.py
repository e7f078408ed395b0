"""Finds faults in the order of a Gemini conversation.

Checked are function calls, their responses and thought signatures. Consecutive contents of one
role are one turn, as recorded requests show; ``function`` counts as ``user``.
"""

from __future__ import annotations

import base64
import binascii
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any

from chatmend.sandbox.refusals import Fault, fault
from chatmend.sandbox.request import SandboxRequest, objects
from chatmend.sandbox.signatures import SignatureStatus, verify
from chatmend.sandbox.wires.gemini import either

if TYPE_CHECKING:
    from collections.abc import Iterator

Body = dict[str, Any]
Turn = tuple[str, list[tuple[int, Body]]]
_MIN_SIGNATURE_SIZE = 16
"""Decoded bytes; recorded signatures have at least 96."""
_PASSES = (b"skip_thought_signature_validator", b"context_engineering_is_the_way_to_go")
"""Documented values that disable the check."""


def turns(body: Body) -> list[Turn]:
    """Return the role and the parts of each turn; each part has the index of its content."""
    contents = body.get("contents")
    spoken = [
        (at, content)
        for at, content in enumerate(contents if isinstance(contents, list) else [])
        if isinstance(content, dict)
    ]
    found: list[Turn] = []
    for role, run in groupby(
        spoken, key=lambda entry: "model" if entry[1].get("role") == "model" else "user"
    ):
        found.append(
            (role, [(at, part) for at, content in run for part in objects(content.get("parts"))])
        )
    return found


def _of(turn: Turn | None, key: str) -> list[tuple[int, Body]]:
    return [
        (at, part) for at, part in (turn[1] if turn else []) if isinstance(either(part, key), dict)
    ]


def _are_scattered(turn: Turn | None) -> bool:
    """Return whether other parts are between the responses of a turn."""
    places = [
        place
        for place, (_, part) in enumerate(turn[1] if turn else [])
        if isinstance(either(part, "functionResponse"), dict)
    ]
    return places[-1] - places[0] != len(places) - 1


def faults(request: SandboxRequest) -> Iterator[Fault]:
    """Yield the faults in the order of turns."""
    runs = turns(request.body)
    return chain(_pairs(runs), _signed(request, runs), _ending(runs))


def _pairs(runs: list[Turn]) -> Iterator[Fault]:
    for at, turn in enumerate(runs):
        before = runs[at - 1] if at else None
        after = runs[at + 1] if at + 1 < len(runs) else None
        calls, responses = _of(turn, "functionCall"), _of(turn, "functionResponse")
        if turn[0] == "model" and calls and before is None:
            yield fault("gemini-function-call-turn")
        if responses and not _of(before, "functionCall"):
            yield fault("gemini-function-response-turn")
        answered = _of(after, "functionResponse")
        is_answered = calls and after is not None and answered
        if is_answered and (len(answered) != len(calls) or _are_scattered(after)):
            yield fault("gemini-function-response-count")
        if len({content for content, _ in responses}) > 1:
            yield fault("gemini-function-response-split")
            yield fault("gemini-function-response-split-vertex")
        yield from _identities(turn, after)
        if _has_content_beside(turn, {content for content, _ in responses}):
            yield fault("gemini-function-response-beside-text")
        if calls and after is not None and not answered:
            yield fault("gemini-function-call-last-unanswered")


def _identities(turn: Turn, after: Turn | None) -> Iterator[Fault]:
    """Yield equal ids of calls in one content, and responses that do not name their call.

    A response belongs to the call with its id, else to the call at its position.
    """
    calls = [(at, either(part, "functionCall")) for at, part in _of(turn, "functionCall")]
    ids = [(at, call["id"]) for at, call in calls if isinstance(call.get("id"), str)]
    if len(set(ids)) < len(ids):
        yield fault("gemini-function-call-ids-equal")
    names = {call["id"]: call.get("name") for _, call in calls if isinstance(call.get("id"), str)}
    answered = [either(part, "functionResponse") for _, part in _of(after, "functionResponse")]
    for (_, call), response in zip(calls, answered, strict=False):
        if response.get("name") != names.get(str(response.get("id")), call.get("name")):
            yield fault("gemini-function-response-name-differs")


def _has_content_beside(turn: Turn, contents: set[int]) -> bool:
    """Return whether a content with responses has other parts."""
    return any(
        at in contents and not isinstance(either(part, "functionResponse"), dict)
        for at, part in turn[1]
    )


def _current(runs: list[Turn]) -> int:
    """Return the index of the last turn with text of the user, where the current turn starts."""
    for at in range(len(runs) - 1, -1, -1):
        role, parts = runs[at]
        if role == "user" and not any(
            isinstance(either(part, "functionResponse"), dict) for _, part in parts
        ):
            return at
    return 0


def _signed(request: SandboxRequest, runs: list[Turn]) -> Iterator[Fault]:
    start = _current(runs)
    for at, turn in enumerate(runs):
        for _, part in turn[1]:
            yield from _signature(request, part)
        calls = _of(turn, "functionCall")
        if (
            at > start
            and turn[0] == "model"
            and calls
            and not either(calls[0][1], "thoughtSignature")
        ):
            name = either(calls[0][1], "functionCall").get("name")
            yield fault("gemini-thought-signature-missing", name=name, number=calls[0][0] + 1)
            yield fault(
                "gemini-thought-signature-missing-aistudio", name=name, number=calls[0][0] + 1
            )


def _signature(request: SandboxRequest, part: Body) -> Iterator[Fault]:
    said, call = either(part, "thoughtSignature"), either(part, "functionCall")
    if not isinstance(said, str) or not said:
        return
    status = verify(said, request.model, str(call.get("name")) if isinstance(call, dict) else "")
    try:
        data = base64.b64decode(said.replace("-", "+").replace("_", "/") + "=" * (-len(said) % 4))
    except (binascii.Error, ValueError):
        data = b""
    if data in _PASSES or said.encode() in _PASSES:
        return
    foreign = status in (SignatureStatus.FOREIGN, SignatureStatus.MALFORMED)
    if status is SignatureStatus.MODIFIED or (
        foreign and (request.strict_signatures or len(data) < _MIN_SIGNATURE_SIZE)
    ):
        yield fault("gemini-thought-signature-corrupted")


def _ending(runs: list[Turn]) -> Iterator[Fault]:
    if runs and runs[-1][0] == "model":
        yield fault("gemini-last-role")
