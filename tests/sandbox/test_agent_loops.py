"""The sandbox and the repair agree on damaged agent loops with hosted tools, in both directions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
import pytest

import chatmend
from tests.broken.agent_loops import damaged, with_references
from tests.scale import examples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.sandbox import Sandbox

SEEDS = range(examples(10, 2_000))
BLOCKS, ITEMS = "anthropic_messages", "openai_responses"


def bodies(dialect: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Damaged loops as request bodies, for Responses with and without storage."""
    for seed in SEEDS:
        if dialect == BLOCKS:
            messages = damaged(seed, dialect)
            body = {"model": "claude-opus-4-8", "max_tokens": 99, "messages": messages}
            yield seed, {**body, "tools": [{"name": "search", "input_schema": {"type": "object"}}]}
            continue
        for store in (True, False):
            items = damaged(seed, dialect, stored=store)
            items = items if store else with_references(items, seed)
            yield seed, {"model": "gpt-5", "input": items, "store": store}


NOT_CHECKED = {"THINK006", "TOOL006"}
"""What the sandbox cannot know or does not check: which items reasoning led to, and their order."""
PATHS = {BLOCKS: "anthropic/v1/messages", ITEMS: "openai/v1/responses"}
HEADERS = {"authorization": "Bearer any", "x-api-key": "any", "anthropic-version": "2023-06-01"}


@pytest.mark.parametrize("dialect", PATHS)
def test_the_sandbox_refuses_what_is_repaired_and_accepts_the_repair(
    sandbox: Sandbox, dialect: str
) -> None:
    target = {BLOCKS: "anthropic/claude-opus-4-8", ITEMS: "openai/gpt-5"}[dialect]
    unexplained: list[tuple[int, str]] = []
    with httpx.Client(headers=HEADERS, timeout=30) as client:
        for seed, body in bodies(dialect):
            done = chatmend.repair_request(body, target, dialect=dialect)
            answer = client.post(sandbox.url(PATHS[dialect]), json=done.body)
            assert answer.status_code == 200, (seed, answer.text)
            refused = client.post(sandbox.url(PATHS[dialect]), json=body)
            if refused.status_code != 200 and not done.changes:
                unexplained.append((seed, refused.text))
            codes = {change.code for change in done.changes}
            if refused.status_code == 200 and codes and codes.isdisjoint(NOT_CHECKED):
                unexplained.append((seed, f"accepted, but {sorted(codes)}"))
    assert "\n".join(map(str, unexplained)) == ""
