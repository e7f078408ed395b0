"""Links of images for Kimi, whose own API reads only stored files and encoded images."""

from __future__ import annotations

from typing import Any

import pytest

import chatmend
from chatmend import Effect

LINK, STORED = "https://example.com/a.png", "ms://file-1"


def asked(url: str) -> list[Any]:
    image = {"type": "image_url", "image_url": {"url": url}}
    return [{"role": "user", "content": [{"type": "text", "text": "see"}, image]}]


@pytest.mark.parametrize(
    ("target", "url"),
    [
        ("moonshot/kimi-k2.6", STORED),
        ("azure_ai/kimi-k2.5", LINK),
        ("openrouter/moonshotai/kimi-k2.5", LINK),
    ],
)
def test_links_that_the_host_reads_are_unchanged(target: str, url: str) -> None:
    messages = asked(url)
    assert chatmend.repair(messages, target).messages is messages


def test_any_other_link_becomes_a_text_that_states_it() -> None:
    done = chatmend.repair(asked(LINK), "moonshot/kimi-k2.6")
    assert done.messages[0]["content"][1] == {
        "type": "text",
        "text": f"Image not available: the model cannot read the address {LINK}.",
    }
    assert [(one.code, one.effect) for one in done.changes] == [("IMG014", Effect.DEGRADES)]
