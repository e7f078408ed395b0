"""Messages that a file format must not trip over, as Hypothesis strategies and by seed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

if TYPE_CHECKING:
    from random import Random

PIECES = (
    "<!--/MSG-->",
    "\n<!--/MSG-->\n",
    '<!--MSG role="user"-->',
    "\n<!--NEXT-->\n",
    "<!--JSON {}-->",
    "<!--BESIDE-->",
    "<!-- session_transcript\n",
    "\n-->\n",
    "<!",
    "<!\\",
    "<!\\--",
    "<!\\\\--",
    "<!\\ud800>",
    "<!\\\\ud800>",
    "<!ud800>",
    "\\",
    "--",
    "-->",
    "<1>",
    "<2>",
    "\0001",
    "\\u00001",
    "NaN",
    "-Infinity",
    "\r\n",
    "\r",
    "\n",
    " ",
    "\t",
    "",
    "\ufeff",
    "\u2028",
    "\u0085",
    "\x1b[31m",
    "\ud83d",
    "\ude00",
    "\U0001f600",
    "e\u0301",
    "日本語",
    "word ",
    '"',
    "data:image/png;base64,iVBORw0KGgo=",
)
"""What looks like our own delimiters, escapes and placeholders, and what other programs trip over."""

pieces = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)
texts = pieces | st.text(st.characters(codec=None), max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=8,
)
parts = st.dictionaries(
    st.sampled_from(("type", "text", "thinking", "content", "input", "x")), values, max_size=4
)
messages: st.SearchStrategy[Any] = (
    st.fixed_dictionaries({"role": st.sampled_from(("user", "assistant")), "content": texts})
    | st.fixed_dictionaries(
        {"role": texts, "content": st.lists(parts, max_size=3) | texts | values},
        optional={
            "tool_calls": values,
            "tool_call_id": texts,
            "reasoning_content": texts,
            "parts": st.lists(parts),
        },
    )
    | values
)
transcripts = st.lists(messages, max_size=6)


def hostile(text: str, rng: Random) -> str:
    """A text with some of the pieces in it."""
    for _ in range(rng.randint(0, 3)):
        at = rng.randint(0, len(text))
        text = text[:at] + rng.choice(PIECES) + text[at:]
    return text


def hostile_everywhere(value: Any, rng: Random) -> Any:
    """A JSON value with pieces in some of its texts and names."""
    if isinstance(value, str):
        return hostile(value, rng) if rng.random() < 0.3 else value
    if isinstance(value, dict):
        return {
            (
                hostile(key, rng) if isinstance(key, str) and rng.random() < 0.03 else key
            ): hostile_everywhere(inner, rng)
            for key, inner in value.items()
        }
    return [hostile_everywhere(inner, rng) for inner in value] if isinstance(value, list) else value


def as_sent(value: Any) -> bytes:
    """The bytes that a client sends for a JSON value: the order of keys counts, 1 is not True, and 1.0 is not 1."""
    return json.dumps(value).encode()
