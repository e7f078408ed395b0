"""``chatmend explain``: finds the page for a provider's error, and the position in a file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

import chatmend
from chatmend.cli import app
from chatmend.manuals import manuals
from chatmend.refusals import search, topics
from tests import corpus

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result

CALL = {"id": "toolu_01", "type": "function", "function": {"name": "f", "arguments": "{}"}}
OPEN = [
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "user", "content": "hurry"},
]
UNANSWERED = "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01. Each ..."
REFUSED = [row for row in corpus.rows("requests_rejected") if row["category"] == "messages"]


def run(*words: object, stdin: str = "") -> Result:
    return CliRunner().invoke(app, ["explain", *map(str, words)], input=stdin)


def stored(path: Path, *values: object) -> Path:
    path.write_text("\n".join(map(json.dumps, values)), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "page"),
    [
        (UNANSWERED, "TOOL007"),
        ("messages.1:  ids were found without  blocks immediately after: toolu_01", "TOOL007"),
        ("Tool call id was call_abc but must be a-z, A-Z, 0-9, with a length of 9.", "TOOL010"),
        (
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with",
            "TOOL005",
        ),
        (
            "user or tool message(s) should alternate with assistant message(s).",
            "TURN004",
        ),
        (
            "jinja2.exceptions.TemplateError: Conversation roles must alternate user/assistant/...",
            "TURN004",
        ),
        ("Unexpected role 'system' after role 'assistant'", "SYS001"),
        ("A maximum of 4 blocks with cache_control may be provided. Found 5.", "CACHE001"),
        (
            "litellm.BadRequestError: AnthropicException - messages: text content blocks must be non-empty",
            "TEXT004",
        ),
        ("Unknown parameter: 'input[4].action.query'.", "KEY001"),
        (
            "messages.0.content.0.document.source.text.media_type: Input should be 'text/plain'",
            "DOC008",
        ),
        ("Computer tool has unacknowledged safety check for ['cu_sc_1']", "safety-checks"),
        ("prompt is too long: 214513 tokens > 200000 maximum", "too-long"),
        ("No tool call found for custom tool call output with call_id call_1.", "TOOL005"),
        ("No tool call found for local shell call output with call_id call_1.", "TOOL005"),
        ("No tool output found for computer call call_1.", "TOOL007"),
        ('functionResponse.id "x" does not match functionCall.id "a"', "TOOL006"),
        ("Unknown method: items at row 91, column 22: {% for k, v in _args.items() %}", "TOOL013"),
        ("Conversation blocks and tool use blocks cannot be provided in the same turn.", "TOOL006"),
        (
            'request.messages.2.content.0.content.0.type: Invalid literal value, expected "text"',
            "TOOL019",
        ),
        ("Assistant message must have either content or tool_calls, but not both.", "TEXT004"),
        ("Input should be <ChatMessageRole.TOOL: 'tool'>", "TOOL005"),
        (
            "Role 'function' is not supported. Please use a valid role: SYSTEM, SYSTEM_1, USER, ASSISTANT, DEVELOPER, CONTEXT, USER_CONTEXT, MODEL, USER.",
            "ROLE001",
        ),
        ("Invalid Responses API request: Invalid input: expected array, received null", "ITEM005"),
        (
            "Malformed input request: #/toolConfig/tools/18: extraneous key [cachePoint] is not permitted",
            "CACHE002",
        ),
        ("#/messages/2/content/1: extraneous key [cachePoint] is not permitted", "CACHE002"),
        ("system.0.cache_control.ephemeral.scope: Extra inputs are not permitted", "CACHE002"),
        (
            "messages.0.content.0.text.cache_control.ephemeral.ttl: Extra inputs are not permitted",
            "CACHE002",
        ),
        (
            "ContentBlock object at messages.0.content.0 can only set one of the following keys: text, image, document",
            "PART001",
        ),
        (
            "Invalid 'input[1].id': string too long. Expected a string with maximum length 64",
            "ITEM001",
        ),
        (
            "Invalid 'input[1].name': string too long. Expected a string with maximum length 64",
            "TOOL012",
        ),
        (
            "Invalid 'messages[1].name': string too long. Expected a string with maximum length 64",
            "KEY001",
        ),
        (
            "Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64",
            "tools",
        ),
        ("Invalid 'user': string too long. Expected a string with maximum length 64", "parameters"),
        (
            "Invalid 'input[3].content': string too long. Expected a string with maximum length 10485760",
            "too-long",
        ),
        ("Missing required parameter: 'input[1].arguments'", "TOOL013"),
        ("Missing required parameter: 'input[1].call_id'", "TOOL002"),
        ("Missing required parameter: 'input[1].id'", "responses-items"),
        ("Incorrect API key provided: sk-...", "access"),
        ("Rate limit reached for gpt-4o", "rate"),
        (
            "Invalid schema for function 'f': schema must be a JSON Schema of 'type: \"object\"'",
            "tools",
        ),
    ],
)
def test_what_a_provider_says_leads_to_its_page(text: str, page: str) -> None:
    body = json.dumps({"error": {"message": text, "type": "invalid_request_error"}})
    wrapped = json.dumps(
        {"error": {"message": "Provider returned error", "metadata": {"raw": body}}}
    )
    for pasted in (text, text.upper(), body, wrapped, f"Traceback ...\n  {text}\n"):
        found = search(pasted)
        assert found, pasted
        assert found.pages[0] == page, pasted


@pytest.mark.skipif(not REFUSED, reason="the recorded requests are not at hand")
@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row["id"])
def test_every_recorded_refusal_of_messages_finds_its_page(row: dict[str, Any]) -> None:
    body = row["response_body"]
    done = run("-", stdin=body if isinstance(body, str) else json.dumps(body))
    found = search(body if isinstance(body, str) else json.dumps(body))
    assert found
    page = manuals()[found.pages[0]] if found.pages[0] in manuals() else topics()[found.pages[0]]
    assert done.exit_code == 0
    assert "Why: " in done.stdout
    assert (page.name if found.pages[0] in manuals() else page.title) in done.stdout  # type: ignore[union-attr]


NOT_FOUND_IN_BODY = {"F072"}
"""Cases whose body does not show the reported defect in the form in which it is repaired."""


@pytest.mark.skipif(not corpus.rows("field_cases"), reason="the corpus is not here")
@pytest.mark.parametrize("case", corpus.rows("field_cases"), ids=lambda case: str(case["id"]))
def test_the_page_of_a_reported_refusal_is_that_of_what_is_found_in_the_request(
    case: dict[str, Any],
) -> None:
    found = search(case["error"])
    assert found, case["error"]
    changes = chatmend.repair_request(case["body"], case["target"]).changes
    codes = {change.code for change in changes} if case["needs"] == "body" else set()
    if codes and case["id"] not in NOT_FOUND_IN_BODY:
        assert not codes.isdisjoint(found.pages)


@pytest.mark.skipif(not REFUSED, reason="the recorded requests are not at hand")
@pytest.mark.parametrize(
    "row", [row for row in REFUSED if row["format"] in corpus.DIALECTS], ids=lambda row: row["id"]
)
def test_the_page_of_a_recorded_refusal_is_that_of_what_is_found_in_the_request(
    row: dict[str, Any], tmp_path: Path
) -> None:
    body = row["response_body"]
    text = body if isinstance(body, str) else json.dumps(body)
    file = stored(tmp_path / "body.json", row["body"])
    told = run("-", "--file", file, "--target", corpus.target_of(row), stdin=text).stdout
    found = search(text)
    assert found
    if found.pages[0] in manuals():
        assert "No matching problem found in this file" not in told
        assert any(f": {code} " in told for code in found.pages)
    else:
        assert "There are no other findings." in told


def test_the_text_may_be_given_in_quotes_without_and_on_standard_input() -> None:
    told = {
        run(UNANSWERED).stdout,
        run(*UNANSWERED.split()).stdout,
        run("-", stdin=UNANSWERED).stdout,
    }
    assert len(told) == 1
    (text,) = told
    assert text.startswith("TOOL007 missing-tool-result\n\nA tool call without a result.\n\nWhy: ")
    assert (
        "Or: TOOL006 late-tool-result: A tool result that does not directly follow its call."
        in text
    )


def test_what_is_not_about_messages_is_told_as_such() -> None:
    told = run("rate_limit_error: This request would exceed your organization's rate limit").stdout
    assert told.startswith("Not about the transcript: too many requests")
    assert "Repair: Nothing" in told


def test_a_text_that_nobody_knows_is_told_the_next_step() -> None:
    done = run("the quick brown fox")
    assert done.exit_code == 2
    assert "chatmend check FILE --target" in done.stderr


def test_with_a_file_the_place_is_told_and_the_messages_that_hold_the_id(tmp_path: Path) -> None:
    file = stored(tmp_path / "chat.json", OPEN)
    told = run(UNANSWERED, "--file", file).stdout
    assert f"{file}\n  messages[1]: TOOL007 missing-tool-result (adds)" in told
    assert "the id toolu_01 from the error message is in messages[1]" in told


def test_of_several_rules_behind_a_text_the_one_that_the_file_breaks_comes_first(
    tmp_path: Path,
) -> None:
    late = [*OPEN, {"role": "tool", "tool_call_id": "toolu_01", "content": "done"}]
    done = run(UNANSWERED, "--file", stored(tmp_path / "chat.json", late))
    assert done.exit_code == 0
    assert "messages[2]: TOOL006" in done.stdout.partition("\n\n")[0]
    assert "\n\nTOOL006 late-tool-result\n" in done.stdout
    assert "Or: TOOL007 missing-tool-result" in done.stdout


def test_the_findings_come_first_and_the_command_that_repairs_the_file_last(
    tmp_path: Path,
) -> None:
    file = stored(tmp_path / "my chat.json", OPEN)
    lines = run(UNANSWERED, "--file", file, "--set", "orphans=drop").stdout.splitlines()
    assert lines[0] == str(file)
    assert lines[1].startswith("  messages[1]: TOOL007 ")
    assert lines[-2] == (
        f"To repair the file: chatmend repair '{file}' --target anthropic --set orphans=drop"
    )
    assert not [line for line in lines if line.startswith("Before")], "examples are on the page"
    clean = stored(tmp_path / "clean.json", OPEN[:1])
    assert "chatmend repair" not in run(UNANSWERED, "--file", clean).stdout


def test_the_model_of_the_file_selects_the_target_unless_another_provider_sends_the_error(
    tmp_path: Path,
) -> None:
    for model, target in (
        ("claude-sonnet-4-6", "anthropic/claude-sonnet-4-6"),
        ("gpt-4o", "anthropic"),
    ):
        file = stored(tmp_path / "body.json", {"model": model, "messages": OPEN})
        assert f"--target {target}\n" in run(UNANSWERED, "--file", file).stdout
    assert "--target openai/gpt-4o\n" in run("TOOL007", "--file", file).stdout


def test_an_id_or_a_position_that_the_file_does_not_have_is_named(tmp_path: Path) -> None:
    file = stored(tmp_path / "chat.json", OPEN)
    told = run(UNANSWERED.replace("toolu_01", "toolu_99"), "--file", file).stdout
    assert "toolu_99 from the error message is not in this file" in told
    assert "the id toolu_01" not in told, "it is a part of no other id"
    told = run(UNANSWERED.replace("messages.1", "messages.2"), "--file", file).stdout
    assert "the error names messages[2]; the finding is at messages[1]" in told
    told = run(UNANSWERED.replace("messages.1", "messages.7"), "--file", file).stdout
    assert "the error names messages[7], but the file has 3 messages; the finding is at" in told
    agreeing = run(UNANSWERED, "--file", file).stdout
    assert "the error names" not in agreeing
    assert "is not in this file" not in agreeing


def test_an_id_whose_messages_have_no_finding_is_told_as_such(tmp_path: Path) -> None:
    answered = {"role": "tool", "tool_call_id": "toolu_00", "content": "done"}
    calls = {"role": "assistant", "content": "", "tool_calls": [{**CALL, "id": "toolu_00"}]}
    file = stored(tmp_path / "chat.json", [OPEN[0], calls, answered, *OPEN])
    told = run(UNANSWERED.replace("toolu_01", "toolu_00"), "--file", file).stdout
    assert (
        "the id toolu_00 from the error message is in messages[1], messages[2]; no finding" in told
    )


def test_an_id_in_an_enclosing_log_entry_or_shortened_in_the_text_is_present(
    tmp_path: Path,
) -> None:
    file = stored(tmp_path / "log.json", {"body": {"model": "claude-sonnet-4-6", "messages": OPEN}})
    for text in (UNANSWERED, UNANSWERED.replace("toolu_01.", "toolu_0…")):
        assert "is not in this file" not in run(text, "--file", file).stdout


@pytest.mark.parametrize(
    "text", ["the  blocks are wrong", "the quick brown fox …", "messages.1:  are wrong: ."]
)
def test_an_unknown_text_with_gaps_names_the_quotes_that_keep_backticks(text: str) -> None:
    done = run(text)
    assert done.exit_code == 2
    assert "chatmend explain - < error.txt" in done.stderr
    assert "error.txt" not in run("the quick brown fox").stderr


def test_with_a_file_of_lines_the_line_is_told(tmp_path: Path) -> None:
    file = stored(tmp_path / "many.jsonl", OPEN[:1], OPEN, OPEN[:1])
    told = run("TOOL007", "--file", file, "--target", "anthropic").stdout
    assert f"{file}: line 2\n  messages[1]: TOOL007" in told
    assert "line 1" not in told


def test_where_nothing_of_the_kind_is_found_the_others_are_told(tmp_path: Path) -> None:
    file = stored(tmp_path / "chat.json", OPEN)
    told = run("messages: text content blocks must be non-empty", "--file", file).stdout
    assert "No matching problem found in this file for anthropic. There are other findings:" in told
    assert "messages[1]: TOOL007" in told
    sound = stored(tmp_path / "sound.json", OPEN[:1])
    told = run("TEXT004", "--file", sound, "--target", "anthropic").stdout
    assert (
        "There are no other findings. The request that was sent may differ from this file." in told
    )


def test_a_code_with_a_file_needs_to_know_who_refused_it(tmp_path: Path) -> None:
    done = run("TOOL007", "--file", stored(tmp_path / "chat.json", OPEN))
    assert done.exit_code == 2
    assert "--target anthropic/claude-sonnet-4-5" in done.stderr


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("[", encoding="utf-8")
    broken = run(UNANSWERED, "--file", tmp_path / "broken.json")
    assert (broken.exit_code, "line 1, column 2: could not be read" in broken.stderr) == (2, True)
    absent = run(UNANSWERED, "--file", tmp_path / "none.json")
    assert (absent.exit_code, "could not be read: No such file" in absent.stderr) == (2, True)


def test_rules_and_explain_show_the_text_of_the_pages() -> None:
    listed = CliRunner().invoke(app, ["rules"]).stdout
    for manual in manuals().values():
        assert f"{manual.code:<9} {manual.name:<26} {manual.summary}\n" in listed
        told = run(manual.code).stdout.splitlines()
        assert told[2:] == [
            "".join(c for c in row if c.isprintable()) for row in manual.text.splitlines()
        ]
