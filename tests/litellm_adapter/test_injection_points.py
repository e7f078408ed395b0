"""LiteLLM's cache markers by message index stay on their messages when a repair inserts others."""

from __future__ import annotations

import asyncio
import copy
from typing import TYPE_CHECKING, Any

import litellm
import pytest

from chatmend.litellm.injection_points import move_points

if TYPE_CHECKING:
    from chatmend.litellm import ChatMend

CALL = {"id": "toolu_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
MESSAGES: list[Any] = [
    {"role": "user", "content": "one"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "user", "content": "two"},
    {"role": "assistant", "content": "three"},
    {"role": "user", "content": "four"},
]
"""The call has no result, so a placeholder is inserted before the third message."""


def at(index: Any) -> list[dict[str, Any]]:
    return [{"location": "message", "index": index}]


def marked(body: dict[str, Any]) -> list[str]:
    """The texts that have a cache marker in the request that the provider received."""
    return [
        str(block.get("text", block.get("content")))
        for message in body["messages"]
        for block in message["content"]
        if "cache_control" in block
    ]


@pytest.mark.parametrize(
    ("index", "text"),
    [(0, "one"), (2, "two"), ("3", "three"), (4, "four"), (-1, "four"), (-3, "two")],
)
@pytest.mark.parametrize("through", ["sdk", "router"])
def test_the_marker_is_on_the_message_that_the_caller_named(
    sandbox: Any, mend: ChatMend, index: Any, text: str, through: str
) -> None:
    where = {"api_base": sandbox.url("anthropic"), "api_key": "any"}
    request = {"messages": copy.deepcopy(MESSAGES), "tools": [TOOL]}
    points = {"cache_control_injection_points": at(index)}
    if through == "sdk":
        model = "anthropic/claude-sonnet-4-5"
        asyncio.run(litellm.acompletion(model=model, **request, **where, **points))
    else:
        params = {"model": "anthropic/claude-sonnet-4-5", **where, **points}
        router = litellm.Router([{"model_name": "claude", "litellm_params": params}])
        asyncio.run(router.acompletion(model="claude", **request))
    assert marked(sandbox.requests[-1].body) == [text]


A, B, C = ({"role": role, "content": "x"} for role in ("user", "assistant", "user"))
NEW = {"role": "tool", "content": "new"}
OTHER = {"role": "assistant", "content": "rewritten"}


@pytest.mark.parametrize(
    ("index", "after", "expected"),
    [
        (1, [A, B, C], 1),
        (1, [A, OTHER, C], 1),
        (1, [A, NEW, OTHER, C], 2),
        (2, [A, OTHER, NEW, C], 3),
        (-1, [A, B, C, NEW], -2),
        (-3, [NEW, A, B, C], -3),
        (3, [A, NEW, B, C], 4),  # outside of the list, before and after
        (-4, [A, NEW, B, C], -5),
        (1, [A, C], 0),  # the message was dropped
        ("x", [A, NEW, B, C], "x"),
    ],
)
def test_an_index_follows_its_message(index: Any, after: list[Any], expected: Any) -> None:
    assert move_points(at(index), [A, B, C], after) == at(expected)


def test_points_without_an_index_stay_the_same_object() -> None:
    points = [{"location": "message", "role": "system"}, {"location": "tool_config"}, "odd"]
    assert move_points(points, [A, B, C], [A, NEW, B, C]) is points
