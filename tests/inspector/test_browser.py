"""The local inspector in a real browser."""

from __future__ import annotations

import base64
import io
import json
import random
import re
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image

from tests.inspector.browser import PHONE, WIDE, Watch, accessibility_faults, chromium, missing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.showpiece,
    pytest.mark.skipif(bool(missing()), reason=missing() or "present"),
]

CLAUDE = "anthropic/claude-sonnet-4-6"
REFUSAL = (
    "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1."
)
CALL = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Paris"}}
BODY = {
    "model": "claude-sonnet-4-6",
    "max_tokens": 100,
    "tools": [{"name": "get_weather", "input_schema": {"type": "object"}}],
    "messages": [
        {"role": "user", "content": "In Paris?"},
        {"role": "assistant", "content": [CALL]},
        {"role": "user", "content": "Never mind."},
    ],
}
CLEAN = [{"role": "user", "content": "hi"}]


@contextmanager
def served(*arguments: str) -> Iterator[str]:
    """Run ``chatmend inspect`` and yield its address."""
    command = [sys.executable, "-m", "chatmend", "inspect", "--no-browser", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found is not None
        try:
            yield found[0]
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served() as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@contextmanager
def opened(browser: Any, address: str, **options: Any) -> Iterator[Any]:
    context = browser.new_context(**({"viewport": WIDE} | options))
    page = context.new_page()
    page.set_default_timeout(10_000)
    watch = Watch(page, address)
    try:
        page.goto(address)
        page.wait_for_selector("body[data-ready]")
        yield page
        assert watch.faults == []
    finally:
        context.close()


@pytest.fixture(scope="module")
def shared_page(browser: Any, address: str) -> Iterator[Any]:
    with opened(browser, address, permissions=["clipboard-read", "clipboard-write"]) as found:
        yield found


@pytest.fixture
def page(shared_page: Any) -> Any:
    """A page on which nothing is pasted: the same for all tests, because opening one is slow."""
    shared_page.get_by_role("button", name="Clear").click()
    shared_page.locator(".empty").wait_for()
    return shared_page


def paste(page: Any, text: object) -> None:
    """Replace the content of the editor."""
    page.locator("#editor .cm-content").click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text(text if isinstance(text, str) else json.dumps(text))


def open_file(page: Any, path: Path, value: object) -> None:
    text = value if isinstance(value, str) else json.dumps(value)
    path.write_text(text, "utf-8")
    page.set_input_files("#file", str(path))


def said(page: Any, text: str) -> None:
    page.locator("#said", has_text=text).wait_for()


def choose(page: Any, target: str) -> None:
    page.locator("#target").fill(target)
    page.keyboard.press("Enter")


def test_the_empty_page_offers_six_examples(page: Any) -> None:
    assert page.locator(".examples button").count() == 6
    assert "nothing leaves it" in page.locator("#promise").inner_text()


def test_each_example_opens(page: Any) -> None:
    titles = page.locator(".examples strong").all_inner_texts()
    for title in titles:
        page.get_by_role("button", name="Clear").click()
        page.locator(".examples button", has_text=title).click()
        page.wait_for_selector("#output .panel")


def test_a_pasted_request_shows_what_is_wrong_where_and_what_is_sent(page: Any) -> None:
    paste(page, BODY)
    page.wait_for_selector(".card")
    said(page, "A request body in the format of Anthropic Messages: 3 messages.")
    card = page.locator(".card")
    assert card.count() == 1
    assert card.locator(".code").inner_text() == "TOOL007"
    assert card.locator(".effect").inner_text() == "adds"
    assert card.locator(".position").inner_text() == "messages[1]"
    assert page.locator(".chips li").inner_text().startswith(CLAUDE)
    assert "No result was recorded" in card.locator(".cm-content").inner_text()
    assert "Refused as it is: status 400" in page.locator(".verdict").inner_text()
    assert "Accepted after the repair" in page.locator(".verdict").inner_text()
    page.get_by_role("tab", name="What is sent").click()
    page.locator("#panel .cm-content", has_text="toolu_1").wait_for()


def test_a_card_opens_the_page_of_its_rule_and_says_why(page: Any) -> None:
    paste(page, BODY)
    page.wait_for_selector(".card")
    link = page.locator(".card .code").get_attribute("href")
    assert link.endswith("/docs/rules/missing-tool-result.md")
    page.locator(".card .manual summary").click()
    assert "ids were found without" in page.locator(".card .manual").inner_text()


def test_the_error_text_leads_to_the_message(page: Any) -> None:
    paste(page, BODY)
    page.locator("#error").fill(REFUSAL)
    page.wait_for_selector(".card.cause")
    page.locator(".error button.position").first.click()
    row = page.locator(".message.named")
    assert row.get_attribute("data-index") == "1"
    assert "causes the error" in row.inner_text()
    assert page.evaluate("document.activeElement.dataset.index") == "1"


def test_the_transcript_shows_exchanges_and_what_stays_identical(page: Any) -> None:
    paste(page, BODY)
    page.get_by_role("tab", name="Transcript (3)").click()
    assert page.locator(".message").count() == 3
    assert page.locator(".message .lane.open").count() == 1
    assert "(2 messages) stays byte-identical" in page.locator(".prefix").inner_text()
    page.get_by_label("As chatmend would send it").check()
    assert page.locator(".message").count() == 4
    assert page.locator(".message.new").get_attribute("data-index") == "2"
    assert page.locator(".lane.start").count() == page.locator(".lane.end").count() == 1


def test_an_error_text_alone_is_explained(page: Any) -> None:
    paste(page, f"Error code: 400 - {REFUSAL}")
    page.wait_for_selector(".panel.error")
    assert "TOOL007" in page.locator(".panel.error").inner_text()
    assert "Paste the request as well" in page.locator("#output").inner_text()


def test_an_error_text_alone_in_its_own_field_is_explained(page: Any) -> None:
    page.locator("#error").fill(
        "Tool call id was call_abc but must be a-z, A-Z, 0-9, with a length of 9."
    )
    page.wait_for_selector(".panel.error")
    assert "TOOL010" in page.locator(".panel.error").inner_text()


def test_nonsense_is_said_to_be_nonsense(page: Any) -> None:
    paste(page, "lorem ipsum dolor")
    said(page, "Not recognised")
    assert page.locator(".examples button").count() == 6


def test_malformed_json_is_located(page: Any) -> None:
    paste(page, '{"messages": [\n  {"role": "user" "content": "hi"}]}')
    said(page, "line 2, column 19")


def test_a_clean_transcript_has_nothing_to_repair(page: Any) -> None:
    paste(page, CLEAN)
    page.wait_for_selector(".verdict .fine")
    assert "Nothing to repair" in page.locator(".verdict").inner_text()


def test_usage_is_normalised(page: Any) -> None:
    paste(page, {"model": "claude-sonnet-4-6", "type": "message",
                 "usage": {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 90}})  # fmt: skip
    page.wait_for_selector("table.usage")
    rows = page.locator("table.usage tr").all_inner_texts()
    assert rows[0].split("\t")[:2] == ["input tokens, with cache", "100"]


def test_a_curl_command_chooses_its_provider(page: Any) -> None:
    paste(
        page,
        f"curl https://api.deepseek.com/chat/completions -H 'a: sk-secret' -d '{json.dumps(BODY)}'",
    )
    page.wait_for_selector(".chips li")
    assert page.locator(".chips li").inner_text().startswith("deepseek/")
    assert "the request was sent to deepseek" in page.locator("#picker").inner_text()


def test_a_har_file_and_its_error_are_read(page: Any, tmp_path: Path) -> None:
    entry = {
        "request": {
            "url": "https://api.anthropic.com/v1/messages",
            "postData": {"text": json.dumps(BODY)},
        },
        "response": {
            "status": 400,
            "content": {"text": json.dumps({"error": {"message": REFUSAL}})},
        },
    }
    open_file(page, tmp_path / "session.har", {"log": {"entries": [entry]}})
    page.wait_for_selector(".card.cause")
    assert page.locator(".chips li").inner_text().startswith(CLAUDE)


def test_each_request_of_a_har_file_is_reached(page: Any, tmp_path: Path) -> None:
    def entry(body: object, status: int) -> dict[str, Any]:
        request = {
            "url": "https://api.anthropic.com/v1/messages",
            "headers": [{"name": "x-api-key", "value": "sk-secret"}],
            "postData": {"text": json.dumps(body)},
        }
        return {"request": request, "response": {"status": status, "content": {"text": REFUSAL}}}

    entries = [entry({**BODY, "messages": CLEAN}, 200), entry(BODY, 400), entry(BODY, 200)]
    open_file(page, tmp_path / "log.har", {"log": {"entries": entries}})
    said(page, "Request 2 of 3.")
    page.locator(".panel.error").wait_for()
    page.get_by_role("button", name="Previous").click()
    said(page, "Request 1 of 3.")
    page.locator(".verdict", has_text="Nothing to repair").wait_for()
    assert page.locator(".panel.error").count() == 0
    page.locator("#rows [role=status]", has_text="2 of 3 requests have findings.").wait_for()
    page.get_by_role("button", name="request 3: TOOL007").click()
    said(page, "Request 3 of 3.")
    page.wait_for_selector(".card")


def lines(number: int, broken: int, text: str = "") -> str:
    """Return JSON lines; every ``broken``-th request lacks the result of a call."""
    clean = json.dumps({**BODY, "messages": [{"role": "user", "content": f"hi {text}"}]})
    return "\n".join(json.dumps(BODY) if at % broken == 0 else clean for at in range(1, number + 1))


def test_rows_of_json_lines_are_chosen(page: Any, tmp_path: Path) -> None:
    open_file(page, tmp_path / "chats.jsonl", lines(12, 5))
    said(page, "Line 1 of 12.")
    page.locator("#rows [role=status]", has_text="2 of 12 lines have findings.").wait_for()
    assert page.locator(".found-rows button").all_inner_texts() == ["5", "10"]
    page.get_by_label("only those with findings").check()
    page.get_by_role("button", name="Next").click()
    said(page, "Line 5 of 12.")
    page.wait_for_selector(".card")
    page.get_by_role("button", name="Copy: Repaired body").click()
    page.locator("#notice", has_text="Copied").wait_for()
    copied = json.loads(page.evaluate("navigator.clipboard.readText()"))
    assert copied["messages"][0]["content"] == "In Paris?"
    page.get_by_label("Line", exact=True).fill("11")
    page.keyboard.press("Enter")
    said(page, "Line 11 of 12.")
    page.get_by_role("button", name="Next").click()
    said(page, "Line 11 of 12.")
    assert accessibility_faults(page) == []
    page.get_by_label("only those with findings").uncheck()
    # An edit keeps the row.
    page.locator("#editor .cm-content").press("Control+End")
    page.keyboard.insert_text("\n" + json.dumps(BODY))
    said(page, "Line 11 of 13.")
    page.locator("#rows [role=status]", has_text="3 of 13 lines have findings.").wait_for()


def test_a_large_file_of_json_lines_is_examined_in_part(page: Any, tmp_path: Path) -> None:
    open_file(page, tmp_path / "huge.jsonl", lines(2_500, 900, "x" * 800))
    said(page, "Line 1 of 2,500.")
    report = page.locator("#rows [role=status]", has_text="of the first")
    report.filter(has_not_text="Examining").wait_for(timeout=30_000)
    assert report.inner_text() == "2 of the first 2,000 lines have findings."
    page.get_by_label("Line", exact=True).fill("1800")
    page.keyboard.press("Enter")
    said(page, "Line 1,800 of 2,500.")
    page.wait_for_selector(".card")
    page.get_by_role("button", name="Examine more").click()
    page.locator("#rows [role=status]", has_text="2 of 2,500 lines have findings.").wait_for()
    page.get_by_role("button", name="Clear").click()
    page.locator("#rows").wait_for(state="hidden")


def test_messages_stored_by_langchain_are_read(page: Any) -> None:
    call = {"name": "f", "args": {}, "id": "c1"}
    paste(page, [{"type": "human", "data": {"content": "go"}},
                 {"type": "ai", "data": {"content": "", "tool_calls": [call]}},
                 {"type": "human", "data": {"content": "hurry"}}])  # fmt: skip
    said(page, "stored by LangChain: 3 messages")
    assert page.locator(".card .code").first.inner_text() == "TOOL007"


def test_targets_are_compared_side_by_side(page: Any) -> None:
    paste(page, [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}])
    page.wait_for_selector(".chips li")
    for target in ("openai/gpt-4o", "strict", "nonsense/"):
        choose(page, target)
    page.locator(".column >> nth=3").wait_for()
    columns = page.locator(".column").all_inner_texts()
    assert "Nothing to repair" in columns[1]
    assert "1 change" in columns[2]
    page.get_by_role("tab", name="Transcript").click()
    page.locator(".chooser select").select_option(label="strict")
    assert page.locator(".message.found").count() == 1


def test_the_picker_is_used_with_the_keyboard(page: Any) -> None:
    paste(page, CLEAN)
    page.wait_for_selector(".chips li")
    page.locator("#target").fill("openrouter anthropic")
    assert page.locator("#target-list li").count() > 0
    page.keyboard.press("ArrowDown")
    assert page.locator("#target").get_attribute("aria-activedescendant") == "target-0"
    page.keyboard.press("Enter")
    chip = page.locator(".chips li").last
    assert chip.inner_text().startswith("openrouter/anthropic/")
    page.keyboard.press("Backspace")
    assert page.locator(".chips li").count() == 1
    page.locator("#target").fill("x")
    page.keyboard.press("Escape")
    assert page.locator("#target-list").is_hidden()


def test_the_views_are_switched_with_the_keyboard(page: Any) -> None:
    paste(page, BODY)
    page.get_by_role("tab", name="Findings").focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "tab-transcript"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("document.activeElement.id") == "tab-send"


@pytest.mark.parametrize(
    ("button", "expected"),
    [
        ("Repaired body", "No result was recorded for this tool call."),
        ("Python", f'chatmend.repair_request(body, "{CLAUDE}")'),
        ("Command line", f"chatmend repair request.json --target {CLAUDE} --diff"),
        ("Redacted report", "<9 characters>"),
    ],
)
def test_results_are_copied(page: Any, button: str, expected: str) -> None:
    paste(page, BODY)
    page.get_by_role("button", name=f"Copy: {button}").click()
    page.locator("#notice", has_text=f"Copied: {button}").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert expected in copied
    assert ("Never mind" in copied) == (button == "Repaired body")


def test_pasted_content_is_never_markup(page: Any) -> None:
    attack = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    paste(page, [{"role": attack, "content": attack, "name": attack},
                 {"role": "assistant", "content": "", "tool_calls": [{"id": attack, "function": {"name": attack}}]}])  # fmt: skip
    page.locator("#error").fill(f"error: {attack}")
    page.get_by_role("tab", name="Transcript").click()
    page.wait_for_selector(".message")
    assert page.title() == "chatmend inspector"
    assert page.locator("#output img").count() == 0


def test_a_thousand_messages_are_shown_step_by_step(page: Any, tmp_path: Path) -> None:
    chat: list[dict[str, Any]] = []
    for number in range(250):
        call = {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": "f", "arguments": "{}"},
        }
        chat += [
            {"role": "user", "content": f"question {number}"},
            {"role": "assistant", "content": "", "tool_calls": [call]},
        ]
        chat += (
            [{"role": "tool", "tool_call_id": call["id"], "content": "1"}]
            if number % 2
            else [{"role": "user", "content": "?"}]
        )
        chat.append({"role": "assistant", "content": "done"})
    open_file(page, tmp_path / "long.json", chat)
    page.wait_for_selector(".card")
    assert page.locator(".card").count() == 100
    assert page.locator("#output .more").inner_text() == "Show 25 more"
    page.get_by_role("tab", name="Transcript (1,000)").click()
    page.wait_for_function("document.querySelectorAll('.message').length === 150")
    # By keyboard: rows get their true height as they scroll into view, so that the
    # button may move between the press and the release of a pointer.
    page.get_by_role("button", name="Show more of 1,000 messages").press("Enter")
    page.wait_for_function("document.querySelectorAll('.message').length === 300")
    page.locator("#error").fill("messages[998]: something is invalid")
    page.wait_for_selector(".panel.error")
    page.locator(".error button.position").click()
    assert page.evaluate("document.activeElement.dataset.index") == "998"


def test_fifty_megabytes_are_kept_without_an_editor(page: Any, tmp_path: Path) -> None:
    chat = [
        {"role": "user", "content": "x" * 5_000_000},
        {"role": "assistant", "content": "y"},
    ] * 10
    open_file(
        page,
        tmp_path / "huge.json",
        [*chat, {"role": "tool", "tool_call_id": "c1", "content": "5"}],
    )
    page.wait_for_selector(".card", timeout=30_000)
    assert "50 MB, kept in memory" in page.locator("#large").inner_text()
    assert page.locator("#editor").is_hidden()
    page.get_by_role("button", name="Clear").click()
    assert page.locator("#editor").is_visible()


def test_a_large_image_is_shown_before_and_after(page: Any, tmp_path: Path) -> None:
    out = io.BytesIO()
    noise = Image.frombytes("RGB", (100, 75), random.Random(1).randbytes(100 * 75 * 3))
    noise.resize((4000, 3000)).save(out, "PNG", compress_level=1)
    source = {
        "type": "base64",
        "media_type": "image/png",
        "data": base64.b64encode(out.getvalue()).decode(),
    }
    body = {
        **BODY,
        "messages": [{"role": "user", "content": [{"type": "image", "source": source}]}],
    }
    open_file(page, tmp_path / "image.json", body)
    page.wait_for_selector(".card figure", timeout=30_000)
    captions = page.locator(".card figcaption").all_inner_texts()
    assert len(captions) == 2
    assert captions[0].startswith("PNG, 4000 x 3000")
    assert "tokens" in captions[1]
    assert page.locator(".card figure img").count() == 2
    widths = page.evaluate(
        "[...document.querySelectorAll('.card figure img')].map(i => i.naturalWidth)"
    )
    assert all(widths)


def test_a_file_is_opened_from_the_command_line(browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "request.json"
    file.write_text(json.dumps(BODY), "utf-8")
    with served(str(file)) as address, opened(browser, address) as page:
        page.wait_for_selector(".card")
        assert "Never mind." in page.locator("#editor .cm-content").inner_text()


def test_without_codemirror_a_plain_field_does_the_work(browser: Any, address: str) -> None:
    context = browser.new_context(viewport=WIDE)
    page = context.new_page()
    page.route("**/codemirror.js", lambda route: route.abort())
    page.goto(address)
    page.wait_for_selector("body[data-ready]")
    page.locator("#editor textarea").fill(json.dumps(BODY))
    page.wait_for_selector(".card")
    assert "No result was recorded" in page.locator(".card pre").last.inner_text()
    context.close()


def test_a_stopped_server_is_reported(browser: Any) -> None:
    context = browser.new_context(viewport=WIDE)
    page = context.new_page()
    with served() as address:
        page.goto(address)
        page.wait_for_selector("body[data-ready]")
    paste(page, CLEAN)
    said(page, "could not be inspected")
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
def test_the_page_is_accessible_and_fits(
    browser: Any, address: str, scheme: str, viewport: Any
) -> None:
    with opened(browser, address, color_scheme=scheme, viewport=viewport) as page:
        assert accessibility_faults(page) == []
        paste(page, BODY)
        page.locator("#error").fill(REFUSAL)
        page.wait_for_selector(".card.cause")
        page.locator(".card .manual summary").click()
        assert accessibility_faults(page) == []
        page.get_by_role("tab", name="Transcript").click()
        assert accessibility_faults(page) == []
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= viewport["width"]
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        bright = sum(map(int, re.findall(r"\d+", background)[:3])) > 384
        assert bright == (scheme == "light")
