"""The manual of each rule, read from the rules' docstrings: one text for the command line, the pages, the tests.

A manual is a docstring in paragraphs: what the rule finds (the first is the summary); ``Why:`` with the text of the
provider that refuses it; ``Repair:``; and examples, each a transcript as JSON before and after the repair::

    Before (mistral/mistral-large-latest):
        [{"role": "user", "content": "go"}, {"role": "assistant", "content": "partial answer"}]
    After:
        [{"role": "user", "content": "go"}, ...]

An example is a list of messages, or a request body where what stands beside the messages matters. Behind the target a
policy may stand: ``Before (openai/gpt-4o, Policy.offline()):``.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from textwrap import dedent
from typing import Any

from chatmend.policy import Policy
from chatmend.repair import repair, repair_request
from chatmend.rules import RULES

_EXAMPLE = re.compile(
    r"^Before \((?P<target>[^),]+)(?:, Policy\.(?P<policy>\w+)\(\))?\):\n(?P<before>(?:    .*\n)+)"
    r"After:\n(?P<after>(?:    .*\n)+)",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Example:
    """A transcript before and after the repair for a target."""

    target: str
    policy: str
    """The name of one of the ways to make a ``Policy``; empty for the default."""
    before: Any
    """A list of messages, or a request body."""
    after: Any
    shown: tuple[str, str]
    """Both as they stand in the manual."""

    def run(self, target: str = "") -> tuple[Any, list[str]]:
        """What a repair makes of ``before``, for the example's target or another, and the codes of its changes."""
        policy = getattr(Policy, self.policy)() if self.policy else None
        if isinstance(self.before, dict):
            request = repair_request(self.before, target or self.target, policy=policy)
            return request.body, [change.code for change in request.changes]
        done = repair(self.before, target or self.target, policy=policy)
        return done.messages, [change.code for change in done.changes]


@dataclass(frozen=True, slots=True)
class Manual:
    """What there is to know of a rule."""

    code: str
    name: str
    text: str
    """The whole manual."""

    @property
    def summary(self) -> str:
        """The first sentence: the defect."""
        return " ".join(self.text.partition("\n\n")[0].split())

    @property
    def prose(self) -> str:
        """The manual without its examples."""
        return _EXAMPLE.sub("", f"{self.text}\n").strip()

    def paragraph(self, name: str) -> str:
        """The paragraph that begins with ``name:``, in one line and without the name; empty if there is none."""
        found = next((p for p in self.text.split("\n\n") if p.startswith(f"{name}:")), "")
        return " ".join(found.removeprefix(f"{name}:").split())

    @property
    def examples(self) -> list[Example]:
        """The examples, in order.

        Raises:
            ValueError: one is no JSON.
        """
        return [_example(found) for found in _EXAMPLE.finditer(f"{self.text}\n")]


def _example(found: re.Match[str]) -> Example:
    before, after = found["before"], found["after"]
    shown = (dedent(before).rstrip(), dedent(after).rstrip())
    return Example(found["target"], found["policy"] or "", json.loads(before), json.loads(after), shown)


_BESIDE = (
    Manual(
        "TOOL014",
        "undeclared-tools",
        """The history holds tool calls, but the request declares no tools.

Why: ``Requests which include `tool_use` or `tool_result` blocks must define tools.`` (Anthropic); ``The toolConfig
field must be defined when using toolUse and toolResult content blocks.`` (Bedrock).

Repair: the smallest declaration that the history needs: each tool's name, with a schema that asks for nothing. A stored
conversation does not say which tools were declared, so only a request body is judged.

Before (anthropic/claude-sonnet-4-5):
    {"model": "claude-sonnet-4-5",
     "messages": [
      {"role": "user", "content": "go"},
      {"role": "assistant", "content": null, "tool_calls": [
          {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
      {"role": "tool", "tool_call_id": "a", "content": "done"}]}
After:
    {"model": "claude-sonnet-4-5",
     "messages": [
      {"role": "user", "content": "go"},
      {"role": "assistant", "content": null, "tool_calls": [
          {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
      {"role": "tool", "tool_call_id": "a", "content": "done"}],
     "tools": [
      {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]}""",
    ),
    Manual(
        "CACHE001",
        "too-many-cache-markers",
        """More cache markers than the target takes, or one where none may be.

Why: ``A maximum of 4 blocks with cache_control may be provided. Found 5.`` and
``messages.1.content.0.thinking.cache_control: Extra inputs are not permitted`` (Anthropic).

Repair: the oldest markers in the messages go, and those on thinking. Content stays as it is.

Before (anthropic/claude-sonnet-4-5):
    [{"role": "user", "content": [
         {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}},
         {"type": "text", "text": "b", "cache_control": {"type": "ephemeral"}},
         {"type": "text", "text": "c", "cache_control": {"type": "ephemeral"}},
         {"type": "text", "text": "d", "cache_control": {"type": "ephemeral"}},
         {"type": "text", "text": "e", "cache_control": {"type": "ephemeral"}}]}]
After:
    [{"role": "user", "content": [
         {"type": "text", "text": "a"},
         {"type": "text", "text": "b", "cache_control": {"type": "ephemeral"}},
         {"type": "text", "text": "c", "cache_control": {"type": "ephemeral"}},
         {"type": "text", "text": "d", "cache_control": {"type": "ephemeral"}},
         {"type": "text", "text": "e", "cache_control": {"type": "ephemeral"}}]}]""",
    ),
    Manual(
        "OFF001",
        "offline-order",
        """An order that only a stored transcript may be given, as the policy asked for.

Why: moving a late result back to its call, or a system message to the front, rewrites what was already sent. Where
nothing was sent it gives the better transcript.

Repair: with ``Policy.offline()`` and its like, before all other rules: late results return to their calls, messages
that repeat their neighbour word for word go, system messages move to the front.

Before (openai/gpt-4o, Policy.offline()):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "user", "content": "hurry!"},
     {"role": "assistant", "content": "I am waiting."},
     {"role": "tool", "tool_call_id": "call_a", "content": "done"}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "call_a", "content": "done"},
     {"role": "user", "content": "hurry!"},
     {"role": "assistant", "content": "I am waiting."}]""",
    ),
)
"""What no rule's file tells of: it looks at the whole request."""


@lru_cache(maxsize=1)
def manuals() -> dict[str, Manual]:
    """Every manual by code, sorted."""
    told = [Manual(rule.code, rule.name, rule.manual.strip()) for rule in RULES]
    every = {manual.code: manual for manual in (*_BESIDE, *told)}
    return dict(sorted(every.items()))


def find(word: str) -> Manual | None:
    """The manual for a code or a name, in any case."""
    wanted = word.strip().lower()
    return next((m for m in manuals().values() if wanted in (m.code.lower(), m.name)), None)
