"""The reaction to a refusal: from the error message to the mildest repair of what it says."""

from __future__ import annotations

import base64
import io
import json
import re
import tomllib
from copy import deepcopy
from dataclasses import replace
from functools import cache
from importlib.resources import files
from re import _constants as constants
from re import _parser as parser
from typing import Any

import httpx
import pytest
from PIL import Image

import chatmend
from chatmend import reaction, rule_cache
from chatmend.lessons import Lesson, digest_of, with_lessons
from chatmend.refusals import Refusal, compiled, refusals, search
from chatmend.refusals.positions import positions_in, with_paths
from chatmend.targets import Limits
from tests.broken import broken
from tests.corpus import rows, there
from tests.sandbox.triggers import image as picture
from tests.scale import seeds

DEMANDS = tomllib.loads(files("chatmend.refusals").joinpath("demands.toml").read_text("utf-8"))
CLAUDE, GPT, GEMINI = "anthropic/claude-opus-4-8", "openai/gpt-4o", "gemini/gemini-3-pro-preview"
USER, NEXT = {"role": "user", "content": "q"}, {"role": "user", "content": "n"}
THINKING = {"type": "thinking", "thinking": "hm", "signature": "EqoB" + "q" * 200}
OTHER = {"type": "thinking", "thinking": "so", "signature": "EqoC" + "r" * 200}
TEXT = {"type": "text", "text": "a"}


def thinking_body() -> dict[str, Any]:
    """Two turns of the assistant, each with signed thinking."""
    first = {"role": "assistant", "content": [THINKING, TEXT]}
    second = {"role": "assistant", "content": [OTHER, TEXT]}
    return {"messages": [USER, first, NEXT, second, NEXT], "max_tokens": 9, "model": "m"}


def two_users_body() -> dict[str, Any]:
    """Two messages of the user, which most servers accept."""
    return {"messages": [USER, NEXT], "model": "m"}


ALTERNATE = "Conversation roles must alternate user/assistant/user/assistant/..."
NOT_ABOUT_THE_TRANSCRIPT = [
    (429, "Rate limit reached for gpt-4o in organization org-1 on tokens per min (TPM)"),
    (429, "This request would exceed your organization's rate limit of 50 requests per minute"),
    (429, "Resource has been exhausted (e.g. check quota)."),
    (429, "You exceeded your current quota, please check your plan and billing details."),
    (429, "Too many requests, please wait before trying again."),
    (429, "ThrottlingException: Too many tokens, please wait before trying again."),
    (529, "Overloaded"),
    (503, "The model is overloaded. Please try again later."),
    (500, "Internal server error"),
    (500, "The server had an error while processing your request. Sorry about that!"),
    (502, "Bad gateway"),
    (504, "Gateway timeout"),
    (500, "An internal error has occurred. Please retry or report in the developer guide"),
    (401, "Incorrect API key provided: sk-x. You can find your API key at the website."),
    (401, "invalid x-api-key"),
    (401, "User not found."),
    (403, "Your API key was reported as leaked. Please use another API key."),
    (403, "Country, region, or territory not supported"),
    (403, "AccessDeniedException: You don't have access to the model with the specified model ID."),
    (402, "Insufficient credits. Add more using the website."),
    (400, "Your credit balance is too low to access the Anthropic API."),
    (404, "The model `gpt-9` does not exist or you do not have access to it."),
    (404, "model: claude-9"),
    (400, "This model's maximum context length is 8192 tokens. However, your messages resulted in"),
    (400, "prompt is too long: 210000 tokens > 200000 maximum"),
    (400, "Input is too long for requested model."),
    (400, "max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens"),
    (400, "temperature: range: 0..1"),
    (400, "Unsupported parameter: 'max_tokens' is not supported with this model."),
    (400, "Unknown parameter: 'foo'."),
    (400, "Output blocked by content filtering policy"),
    (
        400,
        "The response was filtered due to the prompt triggering Azure's content management policy",
    ),
    (400, "Your request was rejected as a result of our safety system."),
    (400, "Invalid schema for function 'search': None is not of type 'object'"),
    (400, "tools.0.input_schema: JSON schema is invalid"),
    (400, "tool_choice: Tool 'x' not found in provided tools"),
    (408, "Request timed out."),
    (None, "Connection error."),
    (None, "Request timed out."),
    (400, "Invalid JSON payload received. Unexpected token."),
]


class ApiError(Exception):
    """An exception like those of the SDKs."""

    def __init__(self, message: str, status_code: int | None = None, body: object = None) -> None:
        super().__init__(message)
        self.status_code, self.body = status_code, body


@pytest.mark.parametrize(("status", "text"), NOT_ABOUT_THE_TRANSCRIPT)
@pytest.mark.parametrize("body", [thinking_body(), two_users_body()])
def test_errors_that_are_not_about_the_transcript(
    status: int | None, text: str, body: dict[str, Any]
) -> None:
    for error in (ApiError(text, status), f"Error code: {status} - {text}" if status else text):
        assert chatmend.react(body, "my-server/model", error) is None
        assert chatmend.react(body, CLAUDE, error, dialect="anthropic_messages") is None


def test_a_status_that_no_repair_can_avoid_wins_over_the_text() -> None:
    assert chatmend.react(two_users_body(), "my-server/m", ApiError(ALTERNATE, 429)) is None
    assert chatmend.react(two_users_body(), "my-server/m", ApiError(ALTERNATE, 401)) is None


def test_the_refused_request_and_the_lessons_stay_as_they_are() -> None:
    body, lessons = two_users_body(), [Lesson("my-server/m", "max_calls_per_message", 1)]
    before = deepcopy((body, lessons))
    assert chatmend.react(body, "my-server/m", ALTERNATE, lessons=lessons) is not None
    assert (body, lessons) == before


def test_a_limit_that_the_table_does_not_know_is_learnt() -> None:
    reaction = chatmend.react(two_users_body(), "my-server/m", ApiError(ALTERNATE, 400))
    assert reaction is not None
    lesson = reaction.lesson
    assert (lesson.target, lesson.limit, lesson.value) == ("my-server/m", "alternation", True)
    assert ALTERNATE in lesson.evidence
    assert [change.code for change in reaction.changes] == ["TURN004"]
    assert reaction.body["messages"] == [{"role": "user", "content": "q\n\nn"}]


def test_the_same_repair_is_never_made_twice() -> None:
    first = chatmend.react(two_users_body(), "my-server/m", ALTERNATE)
    assert chatmend.react(first.body, "my-server/m", ALTERNATE, lessons=[first.lesson]) is None
    assert chatmend.react(first.body, "my-server/m", ALTERNATE) is None


@cache
def broken_and_repaired(
    seed: int, target: str, dialect: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A broken request and its repair without lessons, which is the same for every page."""
    body: dict[str, Any] = {"messages": broken(seed, dialect)}
    return body, chatmend.repair_request(body, target, dialect=dialect).body


PAGES = [*sorted(DEMANDS["limits"]), "BLOCK001"]


@pytest.mark.parametrize("page", PAGES)
def test_a_provider_that_refuses_everything_is_asked_a_few_times(
    page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each refusal leads to another repair, until none is left."""
    text = "messages.1.content.0: maximum length 9, pattern ^a$; at most 9 images, 99 pixels, 9 MB"
    known = Refusal(says="", pages=(page,), by=(), source="inferred")
    monkeypatch.setattr(reaction, "search", lambda _: known)
    most = len(DEMANDS["limits"].get(page, range(40))) + 2  # a limit each time, or a block
    for seed in seeds(1, 10, PAGES.index(page)):
        for target, dialect in (
            (CLAUDE, "anthropic_messages"),
            (GPT, "openai_chat"),
            ("my-server/m", "openai_chat"),
        ):
            body, done = broken_and_repaired(seed, target, dialect)
            lessons: list[Lesson] = []
            for _ in range(most):
                answer = chatmend.react(done, target, text, dialect=dialect, lessons=lessons)
                if answer is None:
                    break
                assert answer.lesson not in lessons
                lessons += [answer.lesson] if answer.lesson else []
                done = chatmend.repair_request(body, target, dialect=dialect, lessons=lessons).body
            else:
                pytest.fail(f"{seed} {target}: {lessons}")


def test_the_same_arguments_give_the_same_reaction() -> None:
    assert chatmend.react(two_users_body(), "my-server/m", ALTERNATE) == chatmend.react(
        two_users_body(), "my-server/m", ALTERNATE
    )


def test_a_lesson_is_an_input_of_the_next_repair() -> None:
    lesson = chatmend.react(two_users_body(), "my-server/m", ALTERNATE).lesson
    messages = two_users_body()["messages"]
    learnt = chatmend.repair(messages, "my-server/m", lessons=[lesson])
    assert [change.code for change in learnt.changes] == ["TURN004"]
    assert chatmend.repair(learnt.messages, "my-server/m", lessons=[lesson]).changes == ()
    assert chatmend.repair(messages, "my-server/m").changes == (), "nothing is remembered"
    assert chatmend.repair(messages, "other/m", lessons=[lesson]).changes == (), "another target"


def test_a_lesson_as_json_is_the_same_lesson() -> None:
    for lesson in (
        Lesson("openai/gpt-4o", "refused_keys", ("x", "a"), "Unknown parameter"),
        Lesson("openai/gpt-4o", "images.max_side", 2000),
    ):
        stored = json.loads(json.dumps(lesson.to_dict()))
        assert Lesson.from_dict(stored) == lesson


def test_two_messages_about_one_limit_give_one_lesson() -> None:
    """A request id or a position in the text makes no second lesson."""
    first, second = (Lesson("a/b", "alternation", value=True, evidence=said) for said in "xy")
    assert {first, second} == {first}
    assert second.to_dict()["evidence"] == "y"


@pytest.mark.parametrize("stored", [{}, {"target": "a/b", "limit": "no_such_limit", "value": 1}])
def test_an_invalid_lesson_is_an_error(stored: dict[str, Any]) -> None:
    with pytest.raises(chatmend.PolicyError):
        Lesson.from_dict(stored)


@pytest.mark.parametrize(
    ("limit", "values", "expected"),
    [
        ("refused_keys", [("x",), ("y",)], {"x", "y"}),
        ("images.max_side", [2000, 8000], 2000),
        ("call_id_pattern", ["^a$", "^b$"], "^b$"),
    ],
)
def test_lessons_about_one_limit_are_joined(limit: str, values: list[Any], expected: Any) -> None:
    """Refused keys add up, maximums only fall, and the newest pattern replaces a contradiction."""
    limits = with_lessons(Limits(), [Lesson("a/b", limit, value) for value in values], "a/b")
    held = limits.images if limit.startswith("images.") else limits
    found = getattr(held, limit.removeprefix("images."))
    assert (set(found) if isinstance(expected, set) else found) == expected


SIGNATURE = "messages.1.content.0: Invalid `signature` in `thinking` block"
BOUND = 'messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
LATEST = "messages.3.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response."


@pytest.mark.parametrize(
    ("error", "left"),
    [(SIGNATURE, [OTHER]), (BOUND, []), (LATEST, [THINKING])],
    ids=["forged", "bound", "latest"],
)
def test_only_the_refused_thinking_goes(error: str, left: list[Any]) -> None:
    """If thinking is bound to the messages before it, all thinking after it is removed too."""
    reaction = chatmend.react(thinking_body(), CLAUDE, error, dialect="anthropic_messages")
    blocks = [
        b for m in reaction.body["messages"] if m["role"] == "assistant" for b in m["content"]
    ]
    assert [block for block in blocks if block["type"] == "thinking"] == left
    assert [block for block in blocks if block["type"] == "text"] == [TEXT, TEXT]
    assert {change.code for change in reaction.changes} == {"BLOCK001"}


def test_thinking_of_later_turns_stays_with_the_lesson() -> None:
    lesson = chatmend.react(thinking_body(), CLAUDE, BOUND, dialect="anthropic_messages").lesson
    newer = {"type": "thinking", "thinking": "new", "signature": "EqoD" + "s" * 200}
    messages = [*thinking_body()["messages"], {"role": "assistant", "content": [newer, TEXT]}, NEXT]
    done = chatmend.repair(messages, CLAUDE, dialect="anthropic_messages", lessons=[lesson])
    assert [m["content"] for m in done.messages if m["role"] == "assistant"] == [
        [TEXT],
        [TEXT],
        [newer, TEXT],
    ]


def test_conversations_with_other_refused_blocks_are_told_apart() -> None:
    """They share what was computed for the target, which does not grow with each of them."""
    refused = {
        signature: {**THINKING, "signature": signature}
        for signature in (f"EqoB{i}" + "q" * 200 for i in range(5))
    }
    before = len(rule_cache._CACHES)
    for _ in range(2):
        for block in refused.values():
            lesson = Lesson(CLAUDE, "refused_blocks", (digest_of(block),))
            turns = [{"role": "assistant", "content": [one, TEXT]} for one in refused.values()]
            messages = [message for turn in turns for message in (USER, turn)] + [NEXT]
            done = chatmend.repair(messages, CLAUDE, dialect="anthropic_messages", lessons=[lesson])
            left = [m["content"][0] for m in done.messages if m["role"] == "assistant"]
            assert left == [TEXT if one is block else one for one in refused.values()]
    assert len(rule_cache._CACHES) <= before + 1


def test_encrypted_content_that_cannot_be_verified_goes() -> None:
    sealed = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA" * 9}
    kept = {**sealed, "id": "rs_2", "encrypted_content": "gBBBB" * 9}
    answer = {"type": "message", "role": "assistant", "content": "a"}
    items = [USER, sealed, answer, NEXT, kept, answer, NEXT]
    error = "The encrypted content gAAA...AAAA could not be verified."
    reaction = chatmend.react({"input": items, "model": "gpt-5"}, "openai/gpt-5", error)
    assert [item for item in reaction.body["input"] if item.get("type") == "reasoning"] == [kept]


@pytest.mark.parametrize(
    "error",
    [
        "Corrupted thought signature.",
        "Invalid thought signature.",
        "Unable to submit request because Thought signature is not valid.. Learn more: https://…",
    ],
)
def test_a_forged_thought_signature_is_replaced(error: str) -> None:
    call = {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "Zm9yZ2Vk" * 4}
    answer = {"functionResponse": {"name": "f", "response": {"r": 1}}}
    contents = [
        {"role": "user", "parts": [{"text": "q"}]},
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [answer]},
    ]
    reaction = chatmend.react({"contents": contents}, GEMINI, error)
    sent = reaction.body["contents"][1]["parts"][0]
    assert sent["functionCall"] == call["functionCall"]
    assert sent["thoughtSignature"] != call["thoughtSignature"]


def test_only_failed_results_lose_their_images_if_the_refusal_is_about_these() -> None:
    error = (
        "messages.2.content.0.tool_result: all content must be type `text` if `is_error` is true"
    )
    source = {"type": "base64", "media_type": "image/png", "data": picture()}
    image = {"type": "image", "source": source}
    use = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
    held = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [image], "is_error": True}
    turns = [USER, {"role": "assistant", "content": [use]}, {"role": "user", "content": [held]}]
    body = {"messages": turns, "max_tokens": 9, "model": "m"}
    target = "litellm_proxy/alias"
    reaction = chatmend.react(body, target, ApiError(error, 400), dialect="anthropic_messages")
    assert reaction.lesson is None, "the limit is known"
    assert "IMG011" in {change.code for change in reaction.changes}
    assert [block["type"] for block in reaction.body["messages"][2]["content"]] == [
        *("tool_result", "text", "image"),
    ]


def test_an_image_that_a_model_behind_an_arn_refuses_in_a_result_moves_out_of_it() -> None:
    image = {"image": {"format": "png", "source": {"bytes": picture()}}}
    held = {"toolResult": {"toolUseId": "c1", "content": [image]}}
    call = {"toolUse": {"toolUseId": "c1", "name": "f", "input": {}}}
    body = {
        "messages": [
            {"role": "user", "content": [{"text": "q"}]},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [held]},
        ]
    }
    target = "bedrock/arn:aws:bedrock:us-east-1:1:application-inference-profile/abc"
    error = (
        "This model doesn't support the image field for user messages. Remove image and try again."
    )
    reaction = chatmend.react(body, target, ApiError(error, 400))
    assert "IMG011" in {change.code for change in reaction.changes}
    assert [list(b) for b in reaction.body["messages"][2]["content"]] == [
        ["toolResult"],
        ["text"],
        ["image"],
    ]


@pytest.mark.parametrize(
    "error",
    [
        "Only text tool_result blocks are supported when tool_result.content is an array.",
        "Input should be a valid string (ref: a9065c14-5a11-4d60-a4ac-31554a0b8e35)",
    ],
)
def test_an_image_that_a_server_of_the_messages_api_refuses_in_a_result_moves(error: str) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": picture()}
    image = {"type": "image", "source": source}
    use = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
    held = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [image]}
    turns = [USER, {"role": "assistant", "content": [use]}, {"role": "user", "content": [held]}]
    body = {"messages": turns, "max_tokens": 9, "model": "m"}
    reaction = chatmend.react(
        body, "my-server/m", ApiError(error, 400), dialect="anthropic_messages"
    )
    assert reaction.lesson == Lesson("my-server/m", "images.roles", ("user",))
    assert [block["type"] for block in reaction.body["messages"][2]["content"]] == [
        *("tool_result", "text", "image"),
    ]


def test_a_stored_image_that_cannot_be_decoded_becomes_text() -> None:
    linked = {"type": "image", "source": {"type": "file", "file_id": "file_1"}}
    body = {"messages": [{"role": "user", "content": [TEXT, linked]}], "max_tokens": 9}
    error = "messages.0.content.1.image.source: Could not process image"
    reaction = chatmend.react(body, CLAUDE, error, dialect="anthropic_messages")
    assert reaction.lesson.limit == "refused_blocks"
    first, second = reaction.body["messages"][0]["content"]
    assert (first, second["type"]) == (TEXT, "text")
    assert "refused" in second["text"]


def claude_image(source: dict[str, Any]) -> dict[str, Any]:
    return {"type": "image", "source": source}


PREFIXED = {
    "type": "base64",
    "media_type": "image/png",
    "data": f"data:image/png;base64,{picture()}",
}
PICTURE = {"type": "base64", "media_type": "image/png", "data": picture()}
BARE_FILE = {"type": "file", "file": {"filename": "a.pdf", "file_data": "JVBERi0xLjQKMSAw"}}
NO_DATA_URL = (
    "Invalid file data: 'messages[0].content[1].file.file_data'. Expected a base64-encoded data URL "
    "with an application/pdf MIME type, but got a value without the 'data:' prefix."
)
OMITTED = {"type": "image_url", "image_url": {"url": "[image omitted]"}}
DRAWN = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture()}"}}


@pytest.mark.parametrize(
    ("target", "role", "block", "error"),
    [
        (CLAUDE, "user", claude_image(PREFIXED), "{}.image.source.base64: Could not process image"),
        (CLAUDE, "assistant", claude_image(PICTURE), "{}: Input tag 'image' found using 'type' does not match any of the expected tags: 'text', 'tool_use'"),
        (GPT, "user", BARE_FILE, NO_DATA_URL),
        (GPT, "user", OMITTED, "Invalid 'messages[0].content[1].image_url.url'. Expected a valid URL, but got a value with an invalid format."),
        (GPT, "assistant", DRAWN, "Invalid value: 'image_url'. Supported values are: 'text' and 'refusal'."),
    ],
    ids=["prefix", "image of the assistant", "file", "placeholder", "image of GPT"],
)  # fmt: skip
def test_a_block_that_the_ordinary_repair_repairs_stays(
    target: str, role: str, block: dict[str, Any], error: str
) -> None:
    """It is removed only if nothing else changes it."""
    messages = [{"role": role, "content": [TEXT, block]}, NEXT]
    messages = [USER, *messages] if role == "assistant" else messages
    error = error.format(f"messages.{len(messages) - 2}.content.1")
    body = {"messages": messages, "max_tokens": 9}
    done = chatmend.repair_request(body, target)
    assert done.changes
    reaction = chatmend.react(body, target, error)
    assert reaction.body == done.body
    assert reaction.lesson is None


def test_thinking_that_cannot_be_modified_stays_if_the_message_had_an_empty_text() -> None:
    use = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "r"}
    empty = {"type": "text", "text": ""}
    asked = {"role": "assistant", "content": [THINKING, empty, use]}
    body = {
        "messages": [USER, asked, {"role": "user", "content": [result]}],
        "max_tokens": 9999,
        "thinking": {"type": "adaptive"},
        "tools": [{"name": "f", "input_schema": {"type": "object"}}],
    }
    error = LATEST.replace("messages.3", "messages.1")
    first = chatmend.react(body, CLAUDE, error)
    assert first.body["messages"][1]["content"] == [THINKING, use]
    second = chatmend.react(first.body, CLAUDE, error)
    assert second.body["messages"][1]["content"] == [use]


LINK = {"type": "image_url", "image_url": {"url": "https://example.com/gone.png"}}
OTHER_LINK = {"type": "image_url", "image_url": {"url": "https://example.com/there.png"}}


@pytest.mark.parametrize("place", ["content.0.tool_result.content.1.image.source", "content.0"])
def test_a_picture_in_a_result_becomes_text_and_the_result_stays(place: str) -> None:
    image = {"type": "image", "source": {"type": "file", "file_id": "file_1"}}
    call = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [TEXT, image]}
    messages = [
        USER,
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    error = f"messages.2.{place}: Could not process image"
    body = {"messages": messages, "tools": [{"name": "f", "input_schema": {"type": "object"}}]}
    done = chatmend.react(body, CLAUDE, error, dialect="anthropic_messages").body["messages"]
    assert done[1]["content"] == [call]
    (kept,) = done[2]["content"]
    assert kept["tool_use_id"] == "toolu_1"
    assert [part["type"] for part in kept["content"]] == ["text", "text"]
    assert kept["content"][0] == TEXT


@pytest.mark.parametrize(
    "error",
    [
        "Error while downloading {}.",
        "Error while downloading {}. Upstream status code: 403.",
        "Timeout while downloading {}",
        "Failed to download image from {}. Image size exceeds the limit.",
    ],
)
def test_only_the_link_that_could_not_be_downloaded_goes(error: str) -> None:
    url = LINK["image_url"]["url"]
    named = {"type": "text", "text": url}
    body = {"messages": [{"role": "user", "content": [LINK, OTHER_LINK, named]}], "model": "m"}
    for raised in (error.format(url), ApiError(error.format(url), 400)):
        first, *others = chatmend.react(body, GPT, raised).body["messages"][0]["content"]
        assert first["type"] == "text"
        assert others == [OTHER_LINK, named]


def test_a_forbidden_request_is_not_a_failed_download() -> None:
    body = {"messages": [{"role": "user", "content": [LINK]}], "model": "m"}
    error = f"Error while downloading {LINK['image_url']['url']}."
    assert chatmend.react(body, GPT, f"status code: 403 {error}") is None


def document(size: int) -> dict[str, Any]:
    data = "JVBERi0x" * size
    source = {"type": "base64", "media_type": "application/pdf", "data": data}
    return {"type": "document", "source": source}


@pytest.mark.parametrize(
    ("error", "left"),
    [("A maximum of 100 PDF pages may be provided.", 1), ("Could not process PDF", 0)],
)
def test_the_longest_document_goes_first(error: str, left: int) -> None:
    content = [TEXT, document(10), document(20)]
    body = {"messages": [{"role": "user", "content": content}], "max_tokens": 9}
    reaction = chatmend.react(body, CLAUDE, error, dialect="anthropic_messages")
    sent = reaction.body["messages"][0]["content"]
    assert [part for part in sent if part["type"] == "document"] == [document(10)][:left]


WRAPPED = [
    ALTERNATE,
    f"litellm.BadRequestError: OpenAIException - {ALTERNATE}",
    {"error": {"message": ALTERNATE, "type": "invalid_request_error", "code": None}},
    json.dumps({"error": {"message": ALTERNATE}}),
    ALTERNATE.encode(),
    ApiError(f"Error code: 400 - {{'error': {{'message': \"{ALTERNATE}\"}}}}", 400),
    ApiError("Bad request", 400, {"message": ALTERNATE}),
    {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": ALTERNATE}}},
]


@pytest.mark.parametrize("error", WRAPPED, ids=range(len(WRAPPED)))
def test_errors_in_the_forms_in_which_they_arrive(error: object) -> None:
    reaction = chatmend.react(two_users_body(), "my-server/m", error)
    assert reaction is not None
    assert reaction.lesson.limit == "alternation"


def test_the_exception_of_httpx_and_one_that_a_framework_wraps() -> None:
    request = httpx.Request("POST", "https://example.com")
    answer = httpx.Response(400, json={"error": {"message": ALTERNATE}}, request=request)
    error = httpx.HTTPStatusError("400 Bad Request", request=request, response=answer)
    assert chatmend.react(two_users_body(), "my-server/m", error) is not None
    wrapped = RuntimeError("the model failed")
    wrapped.__cause__ = error
    assert chatmend.react(two_users_body(), "my-server/m", wrapped) is not None


LEARNT = [
    ("messages.1.annotations: Extra inputs are not permitted", "refused_keys", ("annotations",)),
    ("Unknown parameter: 'messages[1].reasoning_content'.", "refused_keys", ("reasoning_content",)),
    (
        "'messages.1' : [('messages.1' : property 'reasoning' is unsupported)]",
        "refused_keys",
        ("reasoning",),
    ),
]


@pytest.mark.parametrize(("error", "limit", "value"), LEARNT)
def test_the_refused_key_is_read_from_the_message(error: str, limit: str, value: Any) -> None:
    answer = {"role": "assistant", "content": "a", value[0]: "x", "other": 1}
    body = {"messages": [USER, answer, NEXT], "model": "m"}
    reaction = chatmend.react(body, "my-server/m", error, dialect="openai_chat")
    assert (reaction.lesson.limit, reaction.lesson.value) == (limit, value)
    assert reaction.body["messages"][1] == {"role": "assistant", "content": "a", "other": 1}


def pydantic_detail(*steps: str | int) -> dict[str, Any]:
    return {"type": "extra_forbidden", "loc": ["body", "messages", *steps], "msg": EXTRA}


EXTRA = "Extra inputs are not permitted"
WRITTEN = {
    "compact": lambda detail: json.dumps({"message": {"detail": [detail]}}, separators=(",", ":")),
    "spaced": lambda detail: json.dumps({"detail": [detail]}),
    "body": lambda detail: {"detail": [detail]},
    "printed": lambda detail: f"Error code: 422 - { ({'detail': [detail]}) }",
    "tuple": lambda detail: str([{**detail, "loc": tuple(detail["loc"])}]),
    "escaped": lambda detail: json.dumps({"message": json.dumps({"detail": [detail]})}),
}
"""The forms in which the validation errors of pydantic arrive."""


@pytest.mark.parametrize("form", WRITTEN)
@pytest.mark.parametrize(
    ("steps", "limit", "value"),
    [
        ((1, "assistant", "reasoning_content"), "refused_keys", ("reasoning_content",)),
        ((1, "reasoning_content"), "refused_keys", ("reasoning_content",)),
        ((1, "assistant", "tool_calls", 0, "index"), "refused_part_keys", ("index",)),
    ],
)
def test_a_position_that_pydantic_writes_as_a_list_is_read(
    steps: tuple[str | int, ...], limit: str, value: Any, form: str
) -> None:
    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "f"}}
    call["function"]["arguments"] = "{}"
    asked = {"role": "assistant", "content": "b", "reasoning_content": "r", "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "call_1", "content": "r"}
    error = WRITTEN[form](pydantic_detail(*steps))
    body = {"messages": [USER, asked, result], "model": "m"}
    reaction = chatmend.react(body, "my-server/m", error, dialect="openai_chat")
    assert (reaction.lesson.limit, reaction.lesson.value) == (limit, value)
    assert value[0] not in json.dumps(reaction.body)
    if isinstance(error, str):
        assert positions_in(error) == [1]


def test_other_lists_in_an_error_are_no_positions() -> None:
    for text in ('{"loc": []}', '"loc": {"a": 1}', "loc = ['body']", "x" * 50, "['body', 1]"):
        assert with_paths(text) == text


@pytest.mark.parametrize(
    "error",
    [
        "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.",
        "Tool call IDs should be alphanumeric strings with length 9!",
    ],
)
def test_ids_at_an_unknown_server_are_renamed_only_after_a_refusal(error: str) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    asked = {"role": "assistant", "content": None, "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "call_1", "content": "r"}
    body = {"messages": [USER, asked, result], "model": "m"}
    target = "my-server/mistral-small"
    assert chatmend.repair_request(body, target).body is body
    _, renamed, answered = chatmend.react(body, target, error).body["messages"]
    assert re.fullmatch("[a-zA-Z0-9]{9}", renamed["tool_calls"][0]["id"])
    assert answered == {**result, "tool_call_id": renamed["tool_calls"][0]["id"]}


GATEWAY = (
    "antigravity executor: invalid Gemini function call history: request.contents[2].parts[0]: functionResponse.name "
    '"call_1" does not match functionCall.name "f" at request.contents[1].parts[0]'
)


@pytest.mark.parametrize("error", [GATEWAY, "Request contains an invalid argument."])
def test_a_gateway_that_compares_names_gets_results_with_the_names_of_their_calls(
    error: str,
) -> None:
    called = {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]}
    answered = {"role": "user", "parts": [{"functionResponse": {"name": "call_1", "response": {}}}]}
    body = {"contents": [{"role": "user", "parts": [{"text": "q"}]}, called, answered]}
    target = "gemini/gemini-2.5-flash"
    assert chatmend.repair_request(body, target).body is body
    reaction = chatmend.react(body, target, error)
    assert reaction.body["contents"][2]["parts"][0]["functionResponse"]["name"] == "f"
    assert reaction.lesson.limit == "result_names_match"


@pytest.mark.parametrize(
    "error",
    [
        "'messages' array must only contain objects with a 'content' field that is not empty.",
        "Invalid request: the message at position 0 with role 'system' must not be empty",
    ],
)
def test_an_empty_system_message_goes_after_a_refusal(error: str) -> None:
    body = {"messages": [{"role": "system", "content": ""}, USER], "model": "m"}
    for target in ("lm_studio/qwen3", "my-server/kimi-k3"):
        assert chatmend.repair_request(body, target).body is body
        assert chatmend.react(body, target, error).body["messages"] == [USER]


@pytest.mark.parametrize(
    "error",
    [
        "messages: text content blocks must contain non-whitespace text",
        "The text field in the ContentBlock object at messages.1.content.0 is blank. Add text to the text field, and try again.",
        "messages: text content blocks must be non-empty",
    ],
)
@pytest.mark.parametrize("content", [" ", [{"type": "text", "text": "\n"}]])
def test_a_text_of_white_space_is_filled_once_a_server_has_refused_it(
    content: Any, error: str
) -> None:
    body = {"messages": [USER, {"role": "assistant", "content": content}, NEXT], "model": "m"}
    assert chatmend.repair_request(body, "my-server/m").body is body
    reaction = chatmend.react(body, "my-server/m", error)
    assert (reaction.lesson.limit, reaction.lesson.value) == ("blank_is_empty", True)
    assert reaction.body["messages"][1] == {"role": "assistant", "content": "[continued]"}
    done = chatmend.repair_request(reaction.body, "my-server/m", lessons=[reaction.lesson])
    assert done.body is reaction.body


def test_who_refuses_white_space_refuses_an_empty_text() -> None:
    lesson = Lesson("m", "blank_is_empty", value=True)
    limits = with_lessons(Limits(), [lesson], "m")
    assert limits.empty_parts is False
    assert {"user", "assistant", "system"} <= limits.empty_roles
    known = replace(Limits(), empty_roles=frozenset({"tool"}))
    learnt = with_lessons(known, [lesson], "m")
    assert learnt.empty_roles > known.empty_roles


def test_thinking_chunks_go_once_a_model_of_mistral_has_refused_them() -> None:
    chunk = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    body = {"messages": [USER, {"role": "assistant", "content": [chunk, TEXT]}, NEXT], "model": "m"}
    error = {"message": "Reasoning input is not enabled for this model", "code": "3051"}
    for target in ("mistral/mistral-large-latest", "my-server/mistral-large"):
        assert chatmend.repair_request(body, target).body is body
        reaction = chatmend.react(body, target, error)
        assert reaction.body["messages"][1] == {"role": "assistant", "content": [TEXT]}


def test_a_name_that_an_endpoint_does_not_support_goes() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    asked = {"role": "assistant", "content": None, "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "c1", "content": "r"}
    body = {"messages": [USER, asked, {**result, "name": "f"}], "model": "m"}
    error = '[invalid_request_error] messages[2]: "name" is not supported by this endpoint'
    for target in ("openai/glm-5.3-flash", "my-server/glm-5.3-flash"):
        assert chatmend.repair_request(body, target).body is body
        assert chatmend.react(body, target, error).body["messages"] == [USER, asked, result]


def test_reasoning_goes_once_groq_has_refused_it() -> None:
    said = {"role": "assistant", "content": "a"}
    body = {"messages": [USER, {**said, "reasoning": "hm"}, NEXT], "model": "m"}
    error = {"message": "`messages[1].reasoning`: reasoning is not supported with this model"}
    reaction = chatmend.react(body, "groq/gemma2-9b-it", error)
    assert reaction.body["messages"] == [USER, said, NEXT]


def test_calls_of_different_turns_get_different_ids_after_a_refusal() -> None:
    def turn(number: int) -> list[dict[str, Any]]:
        called = {"type": "function_call", "name": "f", "arguments": f'{{"a": {number}}}'}
        answered = {"type": "function_call_output", "output": f"r{number}"}
        return [{**item, "call_id": "terminal:0"} for item in (called, answered)]

    body = {"input": [USER, *turn(1), *turn(2)], "model": "m"}
    error = (
        "Duplicate function_call_output for call_id 'terminal:0'. Each function_call must have "
        "exactly one matching function_call_output"
    )
    assert chatmend.repair_request(body, "deepseek/deepseek-flash").body is body
    sent = chatmend.react(body, "deepseek/deepseek-flash", error).body["input"]
    assert sent[:3] == body["input"][:3]
    assert sent[3]["call_id"] == sent[4]["call_id"] != "terminal:0"


def test_a_list_of_texts_becomes_a_text_once_a_server_has_refused_it() -> None:
    listed = {"role": "user", "content": [TEXT, {"type": "text", "text": "b"}]}
    body = {"messages": [listed], "model": "m"}
    target = "ollama/deepseek-v4-flash:cloud"
    assert chatmend.repair_request(body, target).body is body
    reaction = chatmend.react(body, target, "400 invalid message format")
    assert reaction.body["messages"] == [{"role": "user", "content": "a\n\nb"}]
    image = {"type": "image_url", "image_url": {"url": "https://e.example/a.png"}}
    mixed = {"messages": [{"role": "user", "content": [TEXT, image]}], "model": "m"}
    assert chatmend.repair_request(mixed, target, lessons=[reaction.lesson]).body is mixed


def reasoned(number: int) -> list[dict[str, Any]]:
    """A call with its encrypted reasoning, and its result."""
    called = {"type": "function_call", "name": "f", "arguments": "{}"}
    return [
        {"type": "reasoning", "summary": [], "encrypted_content": f"gAAA{number}bbbb"},
        {**called, "call_id": f"c{number}"},
        {"type": "function_call_output", "call_id": f"c{number}", "output": "r"},
    ]


CACHE_POINT = {"cachePoint": {"type": "default"}}


def converse(*last: dict[str, Any]) -> dict[str, Any]:
    """A request to Claude on Bedrock with reasoning before the call, and a result at the end."""
    reasoning = {"reasoningText": {"text": "t", "signature": "EqQB" + "A" * 100}}
    called = [
        {"reasoningContent": reasoning},
        {"toolUse": {"toolUseId": "t1", "name": "f", "input": {}}},
    ]
    answered = {"toolResult": {"toolUseId": "t1", "content": [{"text": "r"}]}}
    spec = {"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}
    return {
        "messages": [
            {"role": "user", "content": [{"text": "q"}]},
            {"role": "assistant", "content": called},
            {"role": "user", "content": [answered, *last]},
        ],
        "toolConfig": {"tools": [spec, CACHE_POINT]},
    }


def test_cache_points_in_messages_go_if_bedrock_refuses_one_behind_reasoning() -> None:
    error = (
        "Cache point cannot be inserted after reasoning block. Please remove the invalid cache "
        "point and try again."
    )
    body = converse(CACHE_POINT)
    assert chatmend.repair_request(body, "bedrock/anthropic.claude-sonnet-4-6").body is body
    reaction = chatmend.react(body, "bedrock/anthropic.claude-sonnet-4-6", error)
    assert reaction.body == converse()


@pytest.mark.parametrize("target", ["moonshot/kimi-k2-thinking", "my-server/m"])
@pytest.mark.parametrize("kind", ["video", "audio"])
def test_only_the_kind_of_recording_that_is_refused_becomes_text(target: str, kind: str) -> None:
    def recording(kind: str) -> dict[str, Any]:
        data = {"url": f"data:{kind}/mp4;base64,AAAA"}
        return {"type": f"{kind}_url", f"{kind}_url": data}

    content = [TEXT, recording("video"), recording("audio"), DRAWN]
    error = f"the message at position 0 with role 'user' contains an invalid part type: {kind}_url"
    body = {"model": "m", "messages": [{"role": "user", "content": content}]}
    reaction = chatmend.react(body, target, error)
    assert reaction.lesson == Lesson(target, kind, value=False)
    (message,) = reaction.body["messages"]
    changed = [at for at, part in enumerate(message["content"]) if part != content[at]]
    assert [content[at]["type"] for at in changed] == [f"{kind}_url"]
    assert "removed" in message["content"][changed[0]]["text"]


AUDIO = {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}
VIDEO = {"type": "video_url", "video_url": {"url": "https://example.com/a.mp4"}}


@pytest.mark.parametrize(
    ("kind", "block", "page", "limit"),
    [
        ("image", DRAWN, "IMG010", "images.vision"),
        ("vision_chunk", DRAWN, "IMG010", "images.vision"),
        ("audio", AUDIO, "MEDIA001", "audio"),
        ("video", VIDEO, "MEDIA001", "video"),
    ],
)
@pytest.mark.parametrize("count", [1, 2])
def test_a_server_that_takes_none_of_a_kind_gets_none(
    kind: str, block: dict[str, Any], page: str, limit: str, count: int
) -> None:
    error = f"At most 0 {kind}(s) may be provided in one prompt."
    body = {"messages": [{"role": "user", "content": [*[block] * count, TEXT]}], "model": "m"}
    assert search(error).pages[0] == page
    reaction = chatmend.react(body, "my-server/m", error)
    assert (reaction.lesson.limit, reaction.lesson.value) == (limit, False)
    content = reaction.body["messages"][0]["content"]
    assert {part["type"] for part in content} == {"text"}
    assert content[-1] == TEXT


def test_a_server_that_takes_one_image_gets_the_last_one() -> None:
    error = "At most 1 image(s) may be provided in one prompt. Set `--limit-mm-per-prompt` to increase this limit."
    body = {"messages": [{"role": "user", "content": [DRAWN, DRAWN, TEXT]}], "model": "m"}
    assert search(error).pages == ("IMG012",)
    reaction = chatmend.react(body, "my-server/m", error)
    assert reaction.lesson == Lesson("my-server/m", "images.max_images", 1)
    content = reaction.body["messages"][0]["content"]
    assert [part["type"] for part in content] == ["text", "image_url", "text"]


def test_recordings_within_a_count_are_not_removed_altogether() -> None:
    error = "At most 1 audio(s) may be provided in one prompt."
    body = {"messages": [{"role": "user", "content": [AUDIO, AUDIO, TEXT]}], "model": "m"}
    assert search(error).pages == ("document",)
    assert chatmend.react(body, "my-server/m", error) is None


@pytest.mark.parametrize(
    "error",
    [
        "Cannot set `add_generation_prompt` to True when the last message is from the assistant. Consider using `continue_final_message` instead.",
        "The last message in the conversation is already an assistant message. Consider using `continue_final_message` instead.",
    ],
)
@pytest.mark.parametrize("target", ["my-server/m", "hosted_vllm/mistralai/Devstral-Small-2-24B"])
def test_a_message_to_answer_is_added_once_a_template_refuses_an_answer_at_the_end(
    error: str, target: str
) -> None:
    body = {"messages": [USER, {"role": "assistant", "content": "a"}], "model": "m"}
    assert search(error).pages == ("TURN005",)
    reaction = chatmend.react(body, target, error)
    assert reaction.body["messages"] == [
        *body["messages"],
        {"role": "user", "content": "[continued]"},
    ]


def test_an_item_that_an_error_names_with_its_index_goes() -> None:
    sealed = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA" * 9}
    body = {"model": "m", "input": [USER, sealed, NEXT]}
    reaction = chatmend.react(body, "my-server/m", "Invalid input type 'compaction' at index 1")
    assert reaction.body["input"] == [USER, NEXT]
    assert reaction.lesson == Lesson("my-server/m", "refused_items", ("compaction",))


CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "r"}


def test_all_lists_of_texts_become_texts_once_ollama_cannot_read_a_list() -> None:
    asked = {"role": "assistant", "content": [TEXT], "tool_calls": [CALL]}
    listed = {**RESULT, "content": [TEXT]}
    body = {"model": "qwen3:8b", "messages": [USER, asked, listed]}
    error = (
        "json: cannot unmarshal array into Go struct field ChatRequest.messages.content of type "
        "string"
    )
    for target in ("ollama_chat/qwen3:8b", "my-server/qwen3"):
        sent = chatmend.react(body, target, error).body["messages"]
        assert [message["content"] for message in sent] == ["q", "a", "a"]


def test_arguments_that_ollama_cannot_read_are_explained() -> None:
    call = {**CALL, "function": {"name": "f", "arguments": {"a": 1}}}
    body = {"messages": [USER, {"role": "assistant", "content": "", "tool_calls": [call]}, RESULT]}
    error = (
        "json: cannot unmarshal object into Go struct field "
        "ChatCompletionRequest.messages.tool_calls.function.arguments of type string"
    )
    sent = chatmend.react(body, "ollama/qwen3:8b", error).body["messages"]
    assert sent[1]["tool_calls"][0]["function"]["arguments"] == '{"a": 1}'


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning", "thinking"])
@pytest.mark.parametrize(
    "target", ["llamacpp/gpt-oss-120b", "lm_studio/gpt-oss-20b", "my-server/m"]
)
def test_reasoning_beside_content_and_calls_goes_for_the_template_of_gpt_oss(
    key: str, target: str
) -> None:
    said = {"role": "assistant", "content": "I look", "tool_calls": [CALL]}
    silent = {"role": "assistant", "content": "", key: "so", "tool_calls": [CALL]}
    answer = {"role": "assistant", "content": "done"}
    body = {"messages": [USER, {**said, key: "hm"}, RESULT, answer, USER, silent, RESULT]}
    error = (
        "Cannot pass both content and thinking in an assistant message with tool calls! Put the "
        "analysis message in one or the other, but not both."
    )
    sent = chatmend.react(body, target, error).body["messages"]
    assert sent == [USER, said, *body["messages"][2:]]


@pytest.mark.parametrize(
    ("kind", "text"), [("application/json", '{"a":1}'), ("text/markdown", "# hi")]
)
def test_a_document_whose_type_gemini_refuses_becomes_its_text(kind: str, text: str) -> None:
    def held(kind: str, text: str) -> dict[str, Any]:
        data = base64.b64encode(text.encode()).decode()
        return {"inlineData": {"mimeType": kind, "data": data}}

    pdf = held("application/pdf", "%PDF-1.4 aaaa")
    contents = [{"role": "user", "parts": [{"text": "q"}, held(kind, text), pdf]}]
    for target in ("gemini/gemini-2.5-pro", "vertex_ai/gemini-2.5-pro"):
        reaction = chatmend.react({"contents": contents}, target, f"Unsupported MIME type: {kind}")
        assert reaction.body["contents"][0]["parts"] == [{"text": "q"}, {"text": text}, pdf]


def test_a_signature_that_counts_as_missing_is_replaced() -> None:
    call = {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "Zm9yZ2Vk" * 4}
    answer = {"functionResponse": {"name": "f", "response": {"r": 1}}}
    turns = [[{"text": "q"}], [call], [answer]]
    contents = [
        {"role": role, "parts": parts}
        for role, parts in zip(("user", "model", "user"), turns, strict=True)
    ]
    error = (
        "Unable to submit request because function call `default_api:f` in the 2. content block "
        "is missing a `thought_signature`."
    )
    target = "vertex_ai/gemini-3-pro-preview"
    reaction = chatmend.react({"contents": contents}, target, error)
    sent = reaction.body["contents"][1]["parts"][0]["thoughtSignature"]
    assert base64.b64decode(sent) == b"skip_thought_signature_validator"


def test_a_reference_to_a_file_that_gemini_does_not_resolve_becomes_text() -> None:
    image = {"inlineData": {"mimeType": "image/png", "displayName": "a.png", "data": picture()}}
    response = {"image_ref": {"$ref": "a.png"}}
    answer = {"functionResponse": {"name": "f", "response": response, "parts": [image]}}
    call = {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "c2lnbmVkIGJ5IGdl"}
    contents = [
        {"role": "user", "parts": [{"text": "q"}]},
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [answer]},
    ]
    error = (
        "The referenced name `a.png` in function_response.response does not match to a "
        "display_name in the function_response.parts."
    )
    body, target = {"contents": contents}, "gemini/gemini-3.5-flash"
    assert chatmend.repair_request(body, target).body is body
    reaction = chatmend.react(body, target, error)
    (sent,) = reaction.body["contents"][2]["parts"]
    assert sent["functionResponse"]["response"] == {"output": json.dumps(response)}
    assert sent["functionResponse"]["parts"] == [image]


def test_deepseek_behind_another_name_gets_thinking_with_its_calls() -> None:
    use = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "r"}
    thought = {"type": "thinking", "thinking": "hm", "signature": "0b1c"}
    body = {
        "model": "deepseek-v4-pro",
        "max_tokens": 9999,
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        "messages": [
            USER,
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [result]},
        ],
    }
    target = "anthropic/deepseek-v4-pro"
    error = "The `content[].thinking` in the thinking mode must be passed back to the API."
    assert chatmend.repair_request(body, target).body is body
    reaction = chatmend.react(body, target, error)
    blank, kept = reaction.body["messages"][1]["content"]
    assert (blank["type"], blank["thinking"], kept) == ("thinking", " ", use)
    own = [USER, {"role": "assistant", "content": [thought, use]}, *body["messages"][2:]]
    learnt = chatmend.repair_request({**body, "messages": own}, target, lessons=[reaction.lesson])
    assert learnt.body["messages"] == own, "thinking of DeepSeek stays"


SKIPPED = {
    "type": "reasoning.encrypted",
    "data": "skip_thought_signature_validator",
    "id": "c1",
    "format": "google-gemini-v1",
    "index": 0,
}


@pytest.mark.parametrize(
    "error",
    [
        "Gemini models require OpenRouter reasoning details to be preserved in each request.",
        "Corrupted thought signature.",
        "Unable to submit request because Thought signature is not valid.. Learn more: https://…",
    ],
)
def test_details_without_a_valid_signature_get_the_value_that_skips_its_check(error: str) -> None:
    said = {"type": "reasoning.text", "text": "hm", "format": "google-gemini-v1", "index": 0}
    forged = [said, {**SKIPPED, "data": "Zm9yZ2Vk", "id": "c2"}]
    asked = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    answer = {"role": "assistant", "content": "a"}
    target = "openrouter/google/gemini-3-flash-preview"
    for given, expected in (({}, [SKIPPED]), ({"reasoning_details": forged}, [said, SKIPPED])):
        body = {"model": "m", "messages": [USER, {**asked, **given}, RESULT, answer, NEXT]}
        reaction = chatmend.react(body, target, error)
        sent = reaction.body["messages"]
        assert sent[1] == {**asked, "reasoning_details": expected}
        assert [sent[0], *sent[2:]] == [USER, RESULT, answer, NEXT]
        learnt = chatmend.repair_request(reaction.body, target, lessons=[reaction.lesson])
        assert learnt.body is reaction.body
        assert chatmend.repair_request(reaction.body, target).body is reaction.body
        assert chatmend.react(reaction.body, target, error, lessons=[reaction.lesson]) is None


def gemini_turns(call: Any, response: Any) -> dict[str, Any]:
    parts = [{"functionCall": {"name": "f", "args": call}}]
    answer = [{"functionResponse": {"name": "f", "response": response}}]
    turns = {"user": [{"text": "q"}], "model": parts}
    contents = [{"role": role, "parts": held} for role, held in turns.items()]
    return {"contents": [*contents, {"role": "user", "parts": answer}]}


def items(*others: dict[str, Any]) -> dict[str, Any]:
    return {"model": "m", "input": [USER, *others, NEXT]}


def said_by_converse(**fields: Any) -> dict[str, Any]:
    turns = [[{"text": "q"}], [{"text": "a", **fields}], [{"text": "n"}]]
    roles = ("user", "assistant", "user")
    return {"messages": [{"role": r, "content": c} for r, c in zip(roles, turns, strict=True)]}


NOT_REPEATING = "Invalid JSON payload received. Unknown name \"{}\" at '{}': Proto field is not repeating, cannot start list."
FUNCTION_CALL = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1"}
SHELL = {
    "type": "local_shell_call",
    "id": "lsh_1",
    "call_id": "c1",
    "action": {"type": "exec", "command": ["ls"], "env": {}},
    "status": "completed",
}
CUSTOM = {"type": "custom_tool_call", "call_id": "c1", "name": "x", "input": "a"}
SEALED = {"type": "reasoning", "id": "rs_1", "encrypted_content": "gAAA" * 9}
OUTPUT_TEXT = {"type": "output_text", "text": "a", "annotations": []}
SAID = {"type": "message", "role": "assistant", "content": [OUTPUT_TEXT]}
PICTURE_OBJECT = {"type": "input_image", "image_url": {"url": "https://example.com/a.png"}}
UNREPAIRED = [
    (
        "gemini/gemini-2.5-pro",
        gemini_turns({}, [1, 2]),
        NOT_REPEATING.format("response", "contents[2].parts[0].function_response"),
    ),
    (
        "gemini/gemini-2.5-pro",
        gemini_turns([1], {"a": 1}),
        NOT_REPEATING.format("args", "contents[1].parts[0].function_call"),
    ),
    (
        "gemini/gemini-2.5-pro",
        {"contents": [{"role": "user", "parts": [{"text": ["a", "b"]}]}]},
        NOT_REPEATING.format("text", "contents[0].parts[0]"),
    ),
    (
        "openai/gpt-5",
        items(FUNCTION_CALL, {**OUTPUT, "output": {"a": 1}}),
        "Invalid type for 'input[2].output': expected one of an array of objects or string, but got an object instead.",
    ),
    (
        "openai/gpt-5",
        items(FUNCTION_CALL, {**OUTPUT, "output": None}),
        "Invalid type for 'input[2].output': expected one of an array of objects or string, but got null instead.",
    ),
    (
        "openai/gpt-5",
        items({**FUNCTION_CALL, "arguments": {"a": 1}}, {**OUTPUT, "output": "r"}),
        "Invalid type for 'input[1].arguments': expected a string, but got an object instead.",
    ),
    (
        "openai/gpt-5",
        items({"role": "user", "content": [PICTURE_OBJECT]}),
        "Invalid type for 'input[1].content[0].image_url': expected a string, but got an object instead.",
    ),
    ("openai/gpt-5", items(SEALED, SAID), "Missing required parameter: 'input[1].summary'."),
    ("openai/gpt-5", items(SEALED, SAID), "input[1]: missing required field `summary`"),
    ("openai/gpt-5", items(SHELL), "No tool output found for local shell call c1."),
    ("openai/gpt-5", items(CUSTOM), "No tool output found for custom tool call c1."),
    (
        "cohere/command-a-03-2025",
        {"messages": [USER, {"role": "assistant", "content": ""}, NEXT]},
        "invalid request: all elements in history must have a message.",
    ),
    (
        "bedrock/amazon.nova-pro-v1:0",
        said_by_converse(cache_control={"type": "ephemeral"}),
        'Parameter validation failed:\nUnknown parameter in messages[1].content[0]: "cache_control", must be one of: text, image, document, video, toolUse, toolResult',
    ),
]  # fmt: skip


@pytest.mark.parametrize(("target", "body", "error"), UNREPAIRED)
def test_the_ordinary_repair_answers_a_refusal_that_its_rules_explain(
    target: str, body: dict[str, Any], error: str
) -> None:
    done = chatmend.repair_request(body, target)
    reaction = chatmend.react(body, target, error)
    assert reaction is not None
    assert reaction.body == done.body != body
    assert reaction.lesson is None


@pytest.mark.parametrize(
    ("known", "stated", "error"),
    [
        (
            Lesson("my-server/m", "images.max_bytes", 200_000),
            Lesson("my-server/m", "images.max_side", 150),
            "At least one of the image dimensions exceed max allowed size for many-image requests: 150 pixels",
        ),
        (
            Lesson("my-server/m", "images.max_side", 300),
            Lesson("my-server/m", "images.max_bytes", 40_000),
            "messages.0.content.0.image.source.base64: image exceeds 40 KB maximum: 640000 bytes > 40000 bytes",
        ),
    ],
)
def test_a_stated_limit_is_learnt_although_the_ordinary_repair_changes_the_image(
    known: Lesson, stated: Lesson, error: str
) -> None:
    out = io.BytesIO()
    Image.effect_noise((400, 400), 100).convert("RGB").save(out, "PNG")
    url = f"data:image/png;base64,{base64.b64encode(out.getvalue()).decode()}"
    shown = {"type": "image_url", "image_url": {"url": url}}
    body = {"messages": [{"role": "user", "content": [shown]}], "model": "m"}
    assert chatmend.repair_request(body, "my-server/m", lessons=[known]).changes
    reaction = chatmend.react(body, "my-server/m", error, lessons=[known])
    assert reaction.lesson == stated
    data = reaction.body["messages"][0]["content"][0]["image_url"]["url"].partition(",")[2]
    size = max(Image.open(io.BytesIO(base64.b64decode(data))).size)
    assert size == 150 if stated.limit == "images.max_side" else len(data) <= 40_000
    learnt = [known, stated]
    assert chatmend.react(reaction.body, "my-server/m", error, lessons=learnt) is None
    within = chatmend.react(body, "my-server/m", error, lessons=learnt)
    assert (within.body, within.lesson) == (reaction.body, None), "the limit is known"


@pytest.mark.parametrize(
    ("error", "limit", "value"),
    [
        ('messages[1].content[0]: "foo", must be one of: text, image', "refused_part_keys", "foo"),
        ('messages[1]: "foo", must be one of: role, content', "refused_keys", "foo"),
    ],
)
def test_botocore_names_the_key_that_it_does_not_know(error: str, limit: str, value: str) -> None:
    answer = {"role": "assistant", "content": [{**TEXT, "foo": 1}], "foo": 1}
    body = {"messages": [USER, answer, NEXT], "model": "m"}
    error = f"Parameter validation failed:\nUnknown parameter in {error}"
    reaction = chatmend.react(body, "my-server/m", error)
    assert (reaction.lesson.limit, reaction.lesson.value) == (limit, (value,))


def test_the_policy_limits_a_reaction() -> None:
    gentle = chatmend.Policy(allow=chatmend.Effect.RESHAPES)
    found = chatmend.react(
        thinking_body(), CLAUDE, SIGNATURE, dialect="anthropic_messages", policy=gentle
    )
    assert found is None


def expressions() -> list[str]:
    """All expressions that are searched in error messages."""
    return [*(refusal.says for refusal in refusals()), *(row["says"] for row in DEMANDS["read"])]


@pytest.mark.parametrize("says", expressions())
def test_an_expression_takes_no_quadratic_time(says: str) -> None:
    """Nothing that matches any text may repeat without end: each start would read all the rest."""
    assert not unlimited(parser.parse(compiled(says).pattern))


def unlimited(tree: Any) -> list[Any]:
    """Return the repeats without a maximum of "any character" and "any character but"."""
    found: list[Any] = []
    for kind, value in tree:
        if kind in (constants.MAX_REPEAT, constants.MIN_REPEAT):
            _, most, held = value
            (inner, argument), *_ = held
            is_any = inner in (constants.ANY, constants.NOT_LITERAL) or (
                inner is constants.IN and argument[0][0] is constants.NEGATE
            )
            found += [held] if most is constants.MAXREPEAT and is_any else unlimited(held)
        elif kind is constants.SUBPATTERN:
            found += unlimited(value[-1])
        elif kind is constants.BRANCH:
            found += [one for branch in value[1] for one in unlimited(branch)]
    return found


@pytest.mark.skipif(not there("field_cases"), reason="the corpus is not on this machine")
def test_reported_failures_that_only_the_answer_shows() -> None:
    unsolved = [
        case["id"]
        for case in rows("field_cases")
        if case["needs"] == "answer"
        and chatmend.react(case["body"], case["target"], case["error"]) is None
    ]
    assert unsolved == []


@pytest.mark.parametrize("number", ["0", "9" * 5000])
def test_a_number_that_is_no_limit_teaches_nothing(number: str) -> None:
    error = (
        "Invalid 'messages[1].tool_calls': array too long. Expected an array with maximum length "
    )
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    asked = {"role": "assistant", "content": "a", "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "c1", "content": "x"}
    body = {"model": "m", "messages": [USER, asked, result]}
    assert chatmend.react(body, "my-server/m", error + number) is None


@pytest.mark.parametrize(
    "error",
    [
        'messages[0]: "content" is not supported by this endpoint',
        "Request contains an invalid argument. Image size too large",
        "tool_choice.function.name f does not match tools.function.name",
    ],
)
def test_an_error_of_another_cause_teaches_nothing(error: str) -> None:
    called = {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]}
    answered = {"role": "user", "parts": [{"functionResponse": {"name": "x", "response": {}}}]}
    contents = [{"role": "user", "parts": [{"text": "q"}]}, called, answered]
    for body, target in (
        ({"model": "m", "messages": [{**USER, "name": "bob"}]}, "my-server/m"),
        ({"contents": contents}, "gemini/gemini-2.5-flash"),
    ):
        assert chatmend.react(body, target, error) is None


@pytest.mark.parametrize("kind", ["function_call", "function_response"])
def test_ids_of_calls_go_once_a_server_of_gemini_has_refused_them(kind: str) -> None:
    def part(key: str, **fields: Any) -> dict[str, Any]:
        return {key: {"id": "a", "name": "f", **fields}}

    call, result = part("functionCall", args={}), part("functionResponse", response={"output": "1"})
    contents = [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [result]},
    ]
    body, target = {"contents": contents}, "vertex_ai/gemini-2.5-flash"
    assert chatmend.repair_request(body, target).body is body, "never before a refusal"
    error = (
        'Invalid JSON payload received. Unknown name "id" at '
        f"'contents[2].parts[0].{kind}': Cannot find field."
    )
    done = chatmend.react(body, target, error)
    assert done is not None
    assert done.lesson is not None
    (_, answer, found) = done.body["contents"]
    assert answer["parts"] == [{"functionCall": {"name": "f", "args": {}}}]
    assert found["parts"] == [{"functionResponse": {"name": "f", "response": {"output": "1"}}}]
    again = chatmend.repair(done.body["contents"], target, lessons=[done.lesson])
    assert again.messages is done.body["contents"]
    assert chatmend.react(done.body, target, error, lessons=[done.lesson]) is None


def test_foreign_reasoning_details_are_removed_and_claudes_stay() -> None:
    """linanwx/nagobot#21, cline/cline#7620: a conversation moves from Gemini to Claude."""
    foreign = {
        "type": "reasoning.text",
        "text": "t",
        "signature": "b",
        "format": "google-gemini-v1",
    }
    own = {**foreign, "signature": "EqQB" + "A" * 200, "format": "anthropic-claude-v1"}

    def body(*details: Any) -> dict[str, Any]:
        held = {"reasoning_details": list(details)} if details else {}
        answer = {"role": "assistant", "content": "x", **held}
        return {
            "messages": [{"role": "user", "content": "a"}, answer, {"role": "user", "content": "b"}]
        }

    error = "messages.7.content.2: Invalid `signature` in `thinking` block"
    target = "openrouter/anthropic/claude-sonnet-4.5"
    for given, sent in ((body(foreign, own), body(own)), (body(foreign), body())):
        again = chatmend.react(given, target, error)
        assert again is not None
        assert again.body == sent
        assert [change.code for change in again.changes] == ["BLOCK001"]


EMPTY_TURN = {"role": "assistant", "content": "", "tool_calls": []}
TOO_LONG_ID = (
    "Invalid 'input[{}].id': string too long. Expected a string with maximum length 64, but got a "
    "string with length 408 instead."
)


@pytest.mark.parametrize(
    "error",
    [
        "Unknown parameter: 'messages[0].foo'.",
        "Invalid 'messages[1].content': string too long. Expected a string with maximum length 9.",
        "Invalid 'messages[9].tool_calls[0].id': string too long.",
    ],
    ids=["another message", "a topic without a limit", "no such message"],
)
def test_a_repair_of_something_else_is_no_answer(error: str) -> None:
    body = {"model": "m", "messages": [USER, EMPTY_TURN, NEXT]}
    assert chatmend.repair_request(body, "hosted_vllm/m").changes
    assert chatmend.react(body, "hosted_vllm/m", error) is None


POINT_IN_TOOLS = (
    "Malformed input request: #/toolConfig/tools/18: extraneous key [cachePoint] is not permitted, "
    "please reformat your input and try again."
)


def test_points_of_messages_stay_if_a_point_of_tools_is_refused() -> None:
    body = converse(CACHE_POINT)
    assert chatmend.react(body, "bedrock/anthropic.claude-sonnet-4-6", POINT_IN_TOOLS) is None


@pytest.mark.parametrize("key", ["call_id", "type", "name", "arguments"])
def test_a_key_that_the_type_of_an_item_requires_is_never_learnt(key: str) -> None:
    body = items(FUNCTION_CALL, {**OUTPUT, "output": "r"})
    assert chatmend.react(body, "openai/gpt-5", f"Unknown parameter: 'input[1].{key}'.") is None


BEDROCK = "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0"
DRAWN_ITEM = {"type": "input_image", "image_url": f"data:image/png;base64,{picture()}"}
FOREIGN_IMAGE = {"type": "image_url", "image_url": {"url": DRAWN_ITEM["image_url"]}}
UNION = {"error": {"message": "Invalid type for 'input'.", "code": "invalid_union"}}
MARKED = {**THINKING, "cache_control": {"type": "ephemeral"}}


def point_after_document() -> dict[str, Any]:
    document = {"format": "md", "name": "readme", "source": {"bytes": "aGVsbG8="}}
    content = [{"text": "q"}, {"document": document}, CACHE_POINT]
    return {"messages": [{"role": "user", "content": content}]}


def only_redacted() -> dict[str, Any]:
    turns = [[{"text": "q"}], [{"reasoningContent": {"redactedContent": "AAAA"}}], [{"text": "n"}]]
    roles = ("user", "assistant", "user")
    return {"messages": [{"role": r, "content": c} for r, c in zip(roles, turns, strict=True)]}


def point_in_result() -> dict[str, Any]:
    body = converse()
    body["messages"][2]["content"][0]["toolResult"]["content"].append(CACHE_POINT)
    return body


def shown(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"model": "m", "input": [{"role": "user", "content": list(parts)}]}


ANSWERED = [
    (
        "openai/gpt-5.6-sol",
        {**items({**SAID, "id": "x" * 408, "status": "completed"}), "store": False},
        TOO_LONG_ID.format(1),
    ),
    (
        "github_copilot/gpt-5.5",
        items({**SEALED, "summary": [], "id": "x" * 408}, SAID),
        TOO_LONG_ID.format(1),
    ),
    (
        CLAUDE,
        {
            "messages": [USER, {"role": "assistant", "content": [MARKED, TEXT]}, NEXT],
            "max_tokens": 9,
        },
        "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted",
    ),
    (
        "openai/gpt-4o-mini",
        shown({"type": "text", "text": "q"}, FOREIGN_IMAGE),
        "Invalid value: 'text'. Supported values are: 'input_text', 'input_image', 'output_text', 'refusal', and 'encrypted_content'.",
    ),
    (
        "lm_studio/gemma-4-e2b-it",
        items(FUNCTION_CALL, {**OUTPUT, "output": [DRAWN_ITEM]}),
        UNION,
    ),
    ("lm_studio/gemma-3-12b-it", shown({"type": "text", "text": "q"}, FOREIGN_IMAGE), UNION),
    (
        BEDROCK,
        point_after_document(),
        "The model returned the following errors: messages.0.content.3.type: Field required",
    ),
    (
        "bedrock/global.anthropic.claude-sonnet-5",
        only_redacted(),
        "This model does not support assistant message prefill. The conversation must end with a user message.",
    ),
    (
        "openai/gpt-5.6-sol",
        items(
            {k: v for k, v in FUNCTION_CALL.items() if k != "arguments"}, {**OUTPUT, "output": "r"}
        ),
        "Missing required parameter: 'input[1].arguments'",
    ),
    (
        "openai/gpt-5.6-sol",
        items({**FUNCTION_CALL, "name": "mcp__a::js"}, {**OUTPUT, "output": "r"}),
        "Invalid 'input[1].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
    ),
    (
        "hosted_vllm/meta-llama/Llama-3.1-8B-Instruct",
        {"messages": [USER, {**EMPTY_TURN, "content": "a"}, NEXT]},
        "This model only supports single tool-calls at once!",
    ),
    (
        "ollama_chat/qwen3:8b",
        {
            "messages": [
                USER,
                {
                    "role": "assistant",
                    "content": [TEXT],
                    "tool_calls": [{"function": {"name": "f", "arguments": {}}}],
                },
            ]
        },
        "json: cannot unmarshal array into Go struct field ChatRequest.messages.content of type string",
    ),
    (
        "openai/gpt-5.6-sol",
        items(SHELL, {"type": "local_shell_call_output", "id": "c1", "output": "r"}),
        "No tool output found for local shell call c1.",
    ),
    (
        BEDROCK,
        point_in_result(),
        'Unknown parameter in messages[2].content[0].toolResult.content[1]: "cachePoint", must be one of: json, text, image, document, video',
    ),
    (
        "openai/gpt-5.6-sol",
        items({"type": "shell_call_output", "call_id": "c1", "output": []}, SAID),
        "No tool call found for shell call output with call_id c1.",
    ),
    (
        "vertex_ai/gemini-2.5-pro",
        {
            "contents": [
                *gemini_turns({}, {})["contents"][:2],
                {
                    "role": "user",
                    "parts": [
                        {
                            "functionResponse": {
                                "name": "f",
                                "response": {"o": "x"},
                                "parts": [
                                    {"inlineData": {"mimeType": "image/png", "data": picture()}}
                                ],
                            }
                        }
                    ],
                },
            ]
        },
        "Unable to submit request because `function_response.parts` is not supported for this model.",
    ),
    (
        "cloudflare/@cf/qwen/qwen3-30b-a3b-fp8",
        {
            "messages": [
                USER,
                {"role": "assistant", "content": None, "tool_calls": [CALL]},
                {**RESULT, "content": [TEXT]},
            ]
        },
        "AiError: Bad input: Error: oneOf at '/' not met: 0 matches",
    ),
    (
        "my-server/GLM-5.3",
        {
            "messages": [
                USER,
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [{**CALL, "function": {"name": "f", "arguments": '"a"'}}],
                },
                RESULT,
            ]
        },
        "'str object' has no attribute 'items'",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("target", "body", "error"), ANSWERED)
def test_the_ordinary_repair_of_the_message_that_an_error_names_is_the_answer(
    target: str, body: dict[str, Any], error: object
) -> None:
    before = deepcopy(body)
    done = chatmend.repair_request(body, target)
    reaction = chatmend.react(body, target, error)
    assert reaction is not None
    assert reaction.body == done.body != before
    assert reaction.lesson is None


def test_a_key_that_an_error_states_is_learnt_although_its_message_is_repaired() -> None:
    body = {"model": "m", "messages": [USER, {**EMPTY_TURN, "content": "a", "foo": "x"}, NEXT]}
    reaction = chatmend.react(body, "hosted_vllm/m", "Unknown parameter: 'messages[1].foo'.")
    assert reaction.lesson == Lesson("hosted_vllm/m", "refused_keys", ("foo",))
    assert reaction.body["messages"][1] == {"role": "assistant", "content": "a"}


@pytest.mark.parametrize("target", ["openai/gpt-5.6-sol", "azure/gpt-5.6-sol", "my-server/m"])
@pytest.mark.parametrize("keys", [("namespace",), ("status",), ("namespace", "status")])
def test_refused_keys_of_an_item_are_learnt(target: str, keys: tuple[str, ...]) -> None:
    call = {**FUNCTION_CALL, "namespace": "mcp__a", "status": "completed"}
    body = items(call, {**OUTPUT, "output": "r"})
    error = " ".join(f"Unknown parameter: 'input[1].{key}'." for key in keys)
    reaction = chatmend.react(body, target, error)
    assert reaction.lesson == Lesson(target, "refused_keys", keys)
    kept = {key: value for key, value in call.items() if key not in keys}
    assert reaction.body["input"][1] == kept
    learnt = chatmend.repair_request(reaction.body, target, lessons=[reaction.lesson])
    assert learnt.body is reaction.body


def test_the_status_of_reasoning_is_learnt() -> None:
    sealed = {**SEALED, "summary": []}
    body = {**items({**sealed, "status": "completed"}, SAID), "store": False}
    reaction = chatmend.react(body, "openai/gpt-5.6-sol", "Unknown parameter: 'input[1].status'.")
    assert reaction.body["input"] == [USER, sealed, SAID, NEXT]


def test_all_keys_of_calls_that_one_error_names_are_learnt() -> None:
    call = {**CALL, "call_id": "c1", "response_item_id": "fc_1"}
    body = {"messages": [USER, {"role": "assistant", "content": "", "tool_calls": [call]}, RESULT]}
    error = "; ".join(
        f"Extra inputs are not permitted, field: 'messages[1].tool_calls[0].{key}', value: 'x'"
        for key in ("call_id", "response_item_id")
    )
    reaction = chatmend.react(body, "my-server/kimi", error)
    assert reaction.body["messages"][1]["tool_calls"] == [CALL]


@pytest.mark.parametrize("key", ["cachePoint", "foo"])
def test_a_refused_cache_point_never_becomes_a_text(key: str) -> None:
    content = [{"text": "q"}, CACHE_POINT, {"text": "a", **({"foo": 1} if key == "foo" else {})}]
    body = {"messages": [{"role": "user", "content": content}]}
    error = f'Unknown parameter in messages[0].content[1]: "{key}", must be one of: text, image'
    reaction = chatmend.react(body, BEDROCK, error)
    texts = [part["text"] for part in reaction.body["messages"][0]["content"] if "text" in part]
    assert texts == ["q", "a"]


def test_content_is_filled_for_a_template_that_reads_it() -> None:
    asked = {"role": "assistant", "tool_calls": [CALL]}
    for given, target, error in (
        (asked, "my-server/Qwen3", "'dict object' has no attribute 'content'"),
        ({**asked, "content": None}, "my-server/Qwen3", "TypeError: 'NoneType' object is not iterable"),
        ({**asked, "content": None}, "lm_studio/qwen3.6", "Invalid 'content': 'content' field must be a string or an array of objects."),
        ({**asked, "content": None}, "llamacpp/qwen3", "Expected 'content' to be a string or an array"),
    ):  # fmt: skip
        reaction = chatmend.react({"messages": [USER, given, RESULT]}, target, error)
        assert reaction.body["messages"] == [USER, {**asked, "content": ""}, RESULT]


def test_texts_of_public_threads_teach_what_they_state() -> None:
    called = {"role": "assistant", "content": "", "tool_calls": [CALL]}
    details = {"role": "assistant", "content": "a", "reasoning_details": [{"data": "x"}]}
    null = {**SEALED, "summary": [], "content": None}
    for body, target, error, limit, value in (
        (
            {"messages": [USER, called, {**RESULT, "content": [TEXT]}]},
            "my-server/doubao",
            "The parameter `messages.content` specified in the request are not valid: expected a string, but got `[map[text:a type:text]]` instead.",
            "text_content", ("assistant", "system", "tool"),
        ),
        (
            {"messages": [USER, details, NEXT]},
            "minimax/MiniMax-M2.5",
            "400 Mismatch type []*open_platform_oai.ReasoningDetail",
            "refused_keys", ("reasoning_details",),
        ),
        (items(null, SAID), "my-server/gpt-5.5", "Invalid Responses API request", "reasoning_form", "without-null"),
        ({"messages": [USER, called, RESULT]}, "snowflake/claude-sonnet-4-6", 'unknown role "tool"', "tools_taken", False),
        (
            {"messages": [USER, called, RESULT, NEXT]},
            "cohere/command-a",
            "invalid request: cannot specify message if the last entry in chat history contains tool results",
            "user_after_tool", False,
        ),
        (
            two_users_body(),
            "my-server/hunyuan-turbos",
            "messages 中 user 和 assistant 角色需交替出现 (一问一答)",
            "alternation", True,
        ),
        (
            {"messages": [{"role": "user", "content": [DRAWN]}]},
            "hosted_vllm/zai-org/GLM-4.5V",
            "height:16 or width:16 must be larger than factor:2800",
            "images.min_side", 2800,
        ),
    ):  # fmt: skip
        reaction = chatmend.react(body, target, error)
        assert reaction is not None, error
        assert (reaction.lesson.limit, reaction.lesson.value) == (limit, value)


def test_a_system_message_goes_where_only_user_and_assistant_are_known() -> None:
    said = {"role": "assistant", "content": "a"}
    messages = [USER, said, {"role": "system", "content": "s"}, NEXT]
    error = "unknown variant `system`, expected `user` or `assistant`"
    body = {"messages": messages, "max_tokens": 9}
    reaction = chatmend.react(body, "ollama/qwen3.6", error, dialect="anthropic_messages")
    assert {message["role"] for message in reaction.body["messages"]} == {"user", "assistant"}
