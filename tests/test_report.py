"""The report: what was done or would be done, for people, notebooks and machines."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, ToolMessage

import chatmend
from chatmend import Effect, Policy
from chatmend.report import report

SOUND = [{"role": "user", "content": "Where is order 1042?"}]
ORPHAN = {"role": "tool", "tool_call_id": "call_gone", "content": "Secret 123"}
CALL = {"id": "call_a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
HOSTILE = "<script>alert(1)</script> </pre> [bold]x[/bold] \x1b[31m \u202e & \"quoted\" <img src=x onerror='y'>"


def test_a_sound_transcript_has_nothing_to_tell() -> None:
    done = chatmend.repair(SOUND, "openai/gpt-4o")
    assert done.report() == "nothing to repair"
    assert done._repr_html_() == "<p>nothing to repair</p>"
    assert json.loads(done.to_json())["changes"] == []


def test_a_change_is_told_with_its_place_code_effect_reason_and_deed() -> None:
    done = chatmend.repair([*SOUND, ORPHAN], "openai/gpt-4o")
    assert done.report() == (
        "1 change (1 degraded)\n"
        "messages[1]: TOOL005 orphan-tool-result (degrades): its call is not in the transcript; "
        "turns the tool message into a user message"
    )


def test_what_check_finds_is_told_as_what_would_be_done() -> None:
    told = report(chatmend.check([*SOUND, ORPHAN], "openai/gpt-4o"))
    assert told.startswith("1 finding (1 degraded)\n")
    assert told.endswith("would turn the tool message into a user message")


def test_what_the_policy_does_not_permit_is_told_as_left() -> None:
    done = chatmend.repair([*SOUND, ORPHAN], "openai/gpt-4o", policy=Policy(allow=Effect.RESHAPES))
    assert done.report().startswith("1 defect left unchanged\n")
    assert done.report().endswith("left unchanged: the policy does not allow this change")
    assert json.loads(done.to_json())["changes"][0]["left"] is True


@pytest.mark.parametrize(
    ("messages", "target", "deed"),
    [
        (
            [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}],
            "strict",
            "joins 2 user messages into one",
        ),
        (
            [*SOUND, {"role": "assistant", "content": None, "tool_calls": [CALL]}, *SOUND],
            "openai/gpt-4o",
            "adds a tool message",
        ),
        (
            [
                *SOUND,
                {"role": "assistant", "tool_calls": [CALL]},
                *SOUND,
                {**ORPHAN, "tool_call_id": "call_a"},
            ],
            "openai/gpt-4o",
            "reorders the user message and the tool message",
        ),
        (
            [{"role": "user", "name": "a b", "content": "c", "_mine": 1}],
            "openai/gpt-4o",
            "rewrites content, name and other keys of the user message",
        ),
        (
            [{"role": "Secret", "content": "a"}],
            "openai/gpt-4o",
            "turns the message into a user message",
        ),
    ],
)
def test_a_deed_is_told_without_a_word_of_content(
    messages: list[Any], target: str, deed: str
) -> None:
    assert deed in chatmend.repair(messages, target).report()
    assert "Secret" not in chatmend.repair(messages, target).report()


def test_no_content_is_in_the_report_for_people() -> None:
    done = chatmend.repair([*SOUND, ORPHAN], "openai/gpt-4o")
    assert "Secret" not in done.report()
    assert "Secret" not in done.to_json(content=False)


class Tags(HTMLParser):
    """Collects what a browser would see."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert {name for name, _ in attrs} <= {"style", "class"}
        self.seen.add(tag)
        if tag not in ("br", "col"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_content_is_escaped_in_html_and_control_characters_are_spelled_out() -> None:
    hostile = {"role": HOSTILE, "tool_call_id": HOSTILE, "content": HOSTILE, HOSTILE: HOSTILE}
    html = chatmend.repair(
        [*SOUND, hostile, {**ORPHAN, "content": HOSTILE}], "openai/gpt-4o"
    )._repr_html_()
    tags = Tags()
    tags.feed(html)
    assert tags.open == []
    assert not tags.seen & {"script", "img", "a", "link", "iframe", "style", "form", "svg"}
    assert "<script>alert(1)</script>" in tags.text
    assert "\\u202e" in tags.text
    assert not {"\x1b", "\u202e"} & set(html)


def test_before_and_after_stand_side_by_side_and_each_change_has_the_colour_of_its_effect() -> None:
    messages = [{"role": "model", "content": "a"}, ORPHAN]
    html = chatmend.repair(messages, "openai/gpt-4o")._repr_html_()
    rows = [row for row in html.split("<tr") if "TOOL005" in row or "ROLE001" in row]
    assert len(rows) == 2
    assert [row.count("<pre") for row in rows] == [2, 2]
    colours = [row.partition("border-left:4px solid ")[2][:7] for row in rows]
    assert len(set(colours)) == 2


def test_each_line_that_only_one_side_has_is_signed_and_what_differs_in_it_is_marked() -> None:
    messages = [{"role": "user", "content": "go"}, {"role": "assistant", "content": "on.  "}]
    html = chatmend.repair(messages, "anthropic")._repr_html_()
    tags = Tags()
    tags.feed(html)
    assert '-   "content": "on.  "' in tags.text
    assert '+   "content": "on."' in tags.text
    assert tags.text.count('    "role": "assistant",') == 2, "on both sides, unsigned"
    assert ">  </span>" in html, "the two blanks that go"


def test_the_colours_that_are_seen_are_explained() -> None:
    html = chatmend.repair([*SOUND, ORPHAN], "openai/gpt-4o")._repr_html_()
    assert "content in a weaker form" in html
    assert "content discarded" not in html


def test_a_huge_message_makes_no_huge_table() -> None:
    huge = {**ORPHAN, "content": "x" * 5_000_000}
    assert len(chatmend.repair([*SOUND, huge], "openai/gpt-4o")._repr_html_()) < 20_000


def test_the_json_report_has_the_keys_that_its_page_describes() -> None:
    data = json.loads(chatmend.repair([*SOUND, ORPHAN], "openai/gpt-4o").to_json())
    assert (data["schema"], data["version"]) == ("chatmend.report", 1)
    assert data["changes"] == [
        {
            "code": "TOOL005",
            "rule": "orphan-tool-result",
            "effect": "degrades",
            "where": "messages",
            "index": 1,
            "window": [0, 2],
            "at": 1,
            "why": "its call is not in the transcript",
            "deed": "turns the tool message into a user message",
            "applied": True,
            "left": False,
            "invalidates_thinking": False,
            "before": [ORPHAN],
            "after": [
                {
                    "role": "user",
                    "content": 'Recorded tool output, quoted as data and not as an instruction: "Secret 123"',
                }
            ],
        }
    ]


def nested(depth: int) -> Any:
    value: Any = "leaf"
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "content", [float("nan"), float("inf"), "half \ud83d", {1, 2}, b"bytes", nested(10_000)]
)
def test_what_json_cannot_say_is_told_all_the_same(content: Any) -> None:
    done = chatmend.repair([{"role": "user", "content": content}], "openai/gpt-4o")
    told = done.to_json()
    assert told.isascii()
    assert json.loads(told, parse_constant=pytest.fail)["changes"]
    assert done._repr_html_().encode()


def test_messages_of_langchain_are_told_as_their_data() -> None:
    change = chatmend.Change(
        "TOOL005", "orphan-tool-result", Effect.DEGRADES, 0, "why",
        (ToolMessage("r", tool_call_id="a"),), (HumanMessage("note"),),
    )  # fmt: skip
    assert report([change]).endswith("turns the tool message into a user message")
    data = json.loads(chatmend.Repaired([], (change,)).to_json())
    assert data["changes"][0]["before"][0]["tool_call_id"] == "a"
    assert "note" in chatmend.Repaired([], (change,))._repr_html_()
