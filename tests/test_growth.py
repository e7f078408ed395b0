"""The work of a repair grows no faster than the length of the transcript, for any shape.

The tests count steps instead of seconds, so their results are the same on every machine.
"""

from __future__ import annotations

import ast
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import chatmend
from chatmend import Policy, jsontext
from tests.adversarial import SHAPES, TRANSLATED, adversarial
from tests.scale import examples, sampled
from tests.steps import steep
from tests.targets import ALL

if TYPE_CHECKING:
    from collections.abc import Callable

OURS = Path(chatmend.__file__).parent
POLICIES = (
    Policy(),
    Policy.strict_alternation(),
    Policy.offline(),
    Policy.provider_hygiene(),
    Policy.drop_instead_of_note(),
    Policy(turns="insert"),
    Policy(allow=chatmend.Effect.RESHAPES),
)
_FAR = 37
"""Distance between the first pairs of consecutive shapes. It divides no number of pairs, so every pair is used."""
REPORTED = (
    ("openai_chat", "anthropic/claude-sonnet-4-5", Policy()),
    ("openai_chat", "gemini/gemini-2.5-flash", Policy()),
    ("openai_chat", "strict", Policy()),
    ("openai_chat", "openai/gpt-4o", Policy.strict_alternation()),
    ("openai_chat", "openai/gpt-4o", Policy.offline()),
)
"""Cases in which 4 times the input once took 9 to 18 times the work."""
REPORTED_SHAPES = (
    "systems and users in turn",
    "orphans",
    "orphans behind a call",
    "equal ids",
    "equal ids in many messages",
)
ONCE_SQUARE = list(product(REPORTED_SHAPES, REPORTED))
"""Every sixth has each shape and each case once."""
SPOKEN = list(product(SHAPES, TRANSLATED))
"""Shapes and dialects. A step that is odd takes every dialect in turn."""


def repairs(
    shape: str, dialect: str, way: int, target: str, policy: Policy
) -> Callable[[int], Callable[[], object]]:
    """Return a function that prepares the repair of a transcript of the given shape and any length."""

    def prepare(length: int) -> Callable[[], object]:
        messages = adversarial(shape, length, dialect, way)
        return lambda: chatmend.repair(messages, target, dialect=dialect, policy=policy)

    return prepare


@pytest.mark.parametrize(("shape", "dialect"), sampled(SPOKEN, SPOKEN[::37]))
def test_a_longer_transcript_costs_as_much_more_for_each_target_and_policy(
    shape: str, dialect: str
) -> None:
    """Each shape is tested with a few pairs of target and policy, and the next shape with others."""
    targets = [target for known, target in ALL if known == dialect]
    pairs = list(product(targets, POLICIES, range(len(TRANSLATED[dialect]))))
    first = list(SHAPES).index(shape) * _FAR
    for at in range(first, first + examples(1, 12)):
        target, policy, way = pairs[at % len(pairs)]
        assert not steep(repairs(shape, dialect, way, target, policy)), (way, target, policy)


@pytest.mark.parametrize(("shape", "case"), sampled(ONCE_SQUARE, ONCE_SQUARE[::6]))
def test_what_once_took_the_square_of_the_length(shape: str, case: tuple[str, str, Policy]) -> None:
    dialect, target, policy = case
    assert not steep(repairs(shape, dialect, 0, target, policy))


@pytest.mark.parametrize(
    "shape", ["systems and users in turn", "orphans", "texts and calls", "answers midway"]
)
def test_a_replay_costs_no_more_for_many_changes(shape: str) -> None:
    def prepare(length: int) -> Callable[[], object]:
        messages = adversarial(shape, length, "openai_chat")
        done = chatmend.repair(messages, "strict")
        assert chatmend.replay(messages, done.changes) == done.messages
        return lambda: chatmend.replay(messages, done.changes)

    assert not steep(prepare)


def test_work_that_looks_at_everything_for_everything_is_seen() -> None:
    def prepare(length: int) -> Callable[[], object]:
        return lambda: [
            jsontext.is_same(one, other)
            for one in range(length // 4)
            for other in range(length // 4)
        ]

    assert steep(prepare)


FROM_THE_FRONT = {"pop": 0, "insert": 0}
"""List methods that move all other elements, with the first argument for which they do."""


def test_nothing_is_taken_from_the_front_of_a_list_or_looked_up_in_one() -> None:
    """Counting steps does not show this: lists move or compare all their elements in one step."""
    found = []
    for path in [
        *OURS.glob("*.py"),
        *OURS.glob("rules/*.py"),
        *OURS.glob("dialects/*.py"),
        *OURS.glob("images/*.py"),
    ]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and _is_costly(node, node.func.attr)
            ):
                found.append(f"{path.name}:{node.lineno} {ast.unparse(node)}")
            if isinstance(node, ast.Delete) and any(
                ast.unparse(target).endswith("[0]") for target in node.targets
            ):
                found.append(f"{path.name}:{node.lineno} {ast.unparse(node)}")
    assert not found


def _is_costly(node: ast.Call, name: str) -> bool:
    first = node.args[0] if node.args else None
    at = FROM_THE_FRONT.get(name)
    return name == "index" or (
        at is not None and isinstance(first, ast.Constant) and first.value == at
    )
