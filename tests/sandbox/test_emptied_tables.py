"""Reactions replace what a table does not know: each limit of a target is removed in turn.

Broken transcripts are repaired without the limit and sent to the sandbox. Each refusal is given to
``react``, at most twice; at least nine of ten of these conversations must end accepted.
"""

from __future__ import annotations

import json
from dataclasses import fields, replace
from random import Random
from typing import TYPE_CHECKING, Any

import httpx
import pytest

import chatmend
from chatmend.jsontext import is_too_deep
from chatmend.targets.image_limits import ImageLimits
from chatmend.targets.limits import Limits
from tests.broken import broken
from tests.sandbox.test_generated import HEADERS, PLACES
from tests.scale import examples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chatmend.sandbox import Sandbox
    from chatmend.targets import Target

COUNT = examples(8, 200)
"""Refused transcripts for each target."""
TARGETS = [
    "anthropic/claude-sonnet-4-6",
    "openai/gpt-4o",
    "mistral/mistral-large-2411",
    "gemini/gemini-2.5-flash",
]
MOST_REACTIONS = 2
DEEPEST = 900
"""Levels of nesting that Python 3.11 can write as JSON; later versions can write more."""
WANTED = 0.9
FORMS = {
    "gemini_contents": lambda model, messages: {"contents": messages},  # noqa: ARG005
    "anthropic_messages": lambda model, messages: {
        "model": model,
        "max_tokens": 99,
        "messages": messages,
    },
    "openai_chat": lambda model, messages: {"model": model, "messages": messages},
}


def limits_of(limits: Limits) -> list[str]:
    """The names of the limits that a table sets; those of images begin with ``images.``."""
    own = [
        field.name
        for field in fields(limits)
        if field.name not in ("images", "own")
        and getattr(limits, field.name) != getattr(Limits(), field.name)
    ]
    images = [
        f"images.{field.name}"
        for field in fields(limits.images)
        if getattr(limits.images, field.name) != getattr(ImageLimits(), field.name)
    ]
    return own + images


def without(target: Target, dialect: str, name: str) -> Target:
    """A target whose table does not know one limit."""
    limits = target.limits_in(dialect)
    if name.startswith("images."):
        key = name.removeprefix("images.")
        images = replace(limits.images, **{key: getattr(ImageLimits(), key)})
        limits = replace(limits, images=images)
    else:
        limits = replace(limits, **{name: getattr(Limits(), name)})
    spoken = {**target.spoken, dialect: (limits, target.hygiene)}
    return replace(target, limits=limits, spoken=spoken)


def bodies(name: str, dialect: str) -> Iterator[tuple[str, Target, dict[str, Any]]]:
    """Endless: for each limit in turn, a target without it and a broken request."""
    target = chatmend.resolve(name)
    removed = limits_of(target.limits_in(dialect))
    random = Random(name)
    while True:
        for limit in removed:
            seed = random.randrange(100_000)
            body = FORMS[dialect](name.partition("/")[2], broken(seed, dialect))
            yield f"{limit}, seed {seed}", without(target, dialect, limit), body


def ending(post: Callable[[Any], str], target: Target, body: dict[str, Any]) -> str | None:
    """The last refusal of a request with reactions; empty if accepted, None if at once."""
    dialect = PLACES[target.name][0]
    body = chatmend.repair_request(body, target, dialect=dialect).body
    refusal = post(body)
    if not refusal:
        return None
    lessons: list[chatmend.Lesson] = []
    for _ in range(MOST_REACTIONS):
        reaction = chatmend.react(body, target, refusal, lessons=lessons, dialect=dialect)
        if reaction is None:
            return refusal
        lessons += [reaction.lesson] if reaction.lesson else []
        body = reaction.body
        if not (refusal := post(body)):
            return ""
    return refusal


@pytest.mark.parametrize("name", TARGETS)
def test_conversations_survive_a_limit_that_the_table_does_not_know(
    sandbox: Sandbox, name: str
) -> None:
    dialect, path = PLACES[name]
    lost: list[str] = []
    refused = 0
    with httpx.Client(headers=HEADERS, timeout=30) as client:

        def post(body: dict[str, Any]) -> str:
            try:
                text = json.dumps(body)
            except (TypeError, ValueError, RecursionError):
                return ""  # no client can send it
            if is_too_deep(body, DEEPEST):
                return ""  # a client in another version of Python could not
            answer = client.post(sandbox.url(path), content=text)
            return "" if answer.status_code == 200 else answer.text

        for case, target, body in bodies(name, dialect):
            end = ending(post, target, body)
            if end is None:
                continue
            refused += 1
            lost += [f"{case}: {end}"] if end else []
            if refused == COUNT:
                break
    assert len(lost) <= (1 - WANTED) * COUNT, "\n".join(lost)
