"""Stories about images in conversations."""

from __future__ import annotations

from typing import Any

import pytest

import chatmend
from tests import corpus
from tests.images.pictures import part, said, samples, shapes
from tests.judges import judge
from tests.sandbox import posting

CLAUDE, GPT = "anthropic/claude-sonnet-4-5", "openai/gpt-4o"
CASES = {row["id"]: row for row in corpus.rows("repair_cases")}
GOOGLE = {
    "gemini/gemini-2.5-flash": "gemini/v1beta/models/gemini-2.5-flash:generateContent",
    "vertex_ai/gemini-2.5-flash": "vertex/v1/projects/p/locations/l/publishers/google/models/"
    "gemini-2.5-flash:generateContent",
}
"""Targets of Gemini, with the paths of the sandbox."""
IMAGE = part(samples()["one pixel"])
BLOCK = part(samples()["one pixel"], "anthropic")


def call(call_id: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": "look", "arguments": "{}"}}


def shots(*contents: Any) -> list[Any]:
    """A turn with one call and one result for each content, and a user who goes on."""
    ids = [f"call{at}" for at in range(len(contents))]
    return [
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": None, "tool_calls": [call(name) for name in ids]},
        *(
            {"role": "tool", "tool_call_id": n, "content": c}
            for n, c in zip(ids, contents, strict=True)
        ),
        {"role": "user", "content": "what do you see?"},
    ]


def test_an_image_in_a_tool_result_stays_where_the_target_takes_it() -> None:
    messages = shots([IMAGE])
    for target in ("openai/gpt-4.1", "xai/grok-4", CLAUDE, "mistral/mistral-medium-latest"):
        done = chatmend.repair(messages, target)
        assert "IMG011" not in [change.code for change in done.changes], target


FLASH = (
    "deepseek/deepseek-flash",
    "deepseek/deepseek-v4-flash",
    "deepseek/deepseek-v4-flash-vision-exp",
    "deepseek/deepseek-v4.1-flash",
)


def thoughtful_shots(*contents: Any) -> list[Any]:
    """The same turn with the reasoning that DeepSeek's models require."""
    first, answer, *others = shots(*contents)
    return [first, answer | {"reasoning_content": "I look."}, *others]


def deepseek_says(sandbox: Any, messages: list[Any], model: str) -> str:
    body = {"model": model.partition("/")[2], "messages": messages}
    answer = posting.post(sandbox.url("deepseek/chat/completions"), json=body)
    return "" if answer.status_code == 200 else answer.text


@pytest.mark.parametrize("target", FLASH)
def test_deepseeks_flash_models_read_images_of_users_and_tools(target: str, sandbox: Any) -> None:
    stored = {"type": "file", "file": {"file_id": "file-api-0a1b2c3d4e5f60718293a4b5c6d7e8f9"}}
    asked = {"role": "user", "content": [{"type": "text", "text": "What is it?"}, IMAGE]}
    filed = {"role": "user", "content": [{"type": "text", "text": "What is it?"}, stored]}
    text = {"type": "text", "text": "taken"}
    for messages in ([asked], [filed], thoughtful_shots([text, IMAGE])):
        assert chatmend.repair(messages, target).messages is messages
        assert not deepseek_says(sandbox, messages, target)


@pytest.mark.parametrize("model", ["deepseek-v4-pro", "deepseek-chat", "deepseek-reasoner"])
def test_deepseeks_other_models_read_none(model: str, sandbox: Any) -> None:
    messages = [{"role": "user", "content": [{"type": "text", "text": "What is it?"}, IMAGE]}]
    assert "image_url" in deepseek_says(sandbox, messages, f"deepseek/{model}")
    done = chatmend.repair(messages, f"deepseek/{model}")
    assert [change.code for change in done.changes] == ["IMG010"]


def test_an_image_that_deepseek_cannot_decode_or_that_the_assistant_shows_is_repaired(
    sandbox: Any,
) -> None:
    torn = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGVsbG8="}}
    shown = {"role": "assistant", "content": [{"type": "text", "text": "See."}, IMAGE]}
    asked = {"role": "user", "content": "Show it."}
    for messages, code in (
        ([asked | {"content": [torn]}], "IMG002"),
        ([asked, shown, asked], "IMG011"),
    ):
        assert deepseek_says(sandbox, messages, FLASH[0])
        done = chatmend.repair(messages, FLASH[0])
        assert code in [change.code for change in done.changes]
        assert not deepseek_says(sandbox, done.messages, FLASH[0])


def test_an_image_in_a_result_of_anthropics_format_moves_for_deepseek() -> None:
    use = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
    thought = {"type": "thinking", "thinking": "I look.", "signature": ""}
    given = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [BLOCK]}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "look"}, BLOCK]},
        {"role": "assistant", "content": [thought, use]},
        {"role": "user", "content": [given]},
    ]
    done = chatmend.repair(messages, FLASH[0], dialect="anthropic_messages")
    assert [change.code for change in done.changes] == ["IMG011"]
    assert done.messages[2]["content"][-1] == BLOCK


def messages_shot(*content: Any) -> list[Any]:
    """A call and its result with the content, in the Messages API."""
    use = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
    given = {"type": "tool_result", "tool_use_id": "toolu_1", "content": list(content)}
    return [
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [given]},
    ]


@pytest.mark.parametrize("target", ["ollama/qwen3.5", "llamacpp/qwen3.6-27b", CLAUDE])
def test_an_image_in_a_result_of_the_messages_api_stays_where_it_is_accepted(target: str) -> None:
    messages = messages_shot({"type": "text", "text": "taken"}, BLOCK)
    assert chatmend.repair(messages, target, dialect="anthropic_messages").messages is messages


@pytest.mark.parametrize(
    "target",
    ["lm_studio/qwen/qwen3.6-27b", "ollama/glm-5.3-flash:cloud", "ollama/gemma4:31b-cloud"],
)
def test_an_image_in_a_result_of_the_messages_api_moves_behind_the_result(target: str) -> None:
    text = {"type": "text", "text": "taken"}
    answer = {"role": "assistant", "content": "A line."}
    messages = messages_shot(text, BLOCK)
    assert judge("anthropic_messages", target, messages)
    done = chatmend.repair(messages, target, dialect="anthropic_messages")
    assert judge("anthropic_messages", target, done.messages) == []
    assert [change.code for change in done.changes] == ["IMG011"]
    given, _, moved = done.messages[2]["content"]
    assert given["content"][0] is text
    assert moved == BLOCK
    further = [*messages, answer, {"role": "user", "content": "And?"}]
    longer = chatmend.repair(further, target, dialect="anthropic_messages")
    assert longer.messages[:3] == done.messages
    chat = shots([{"type": "text", "text": "taken"}, IMAGE])
    assert chatmend.repair(chat, target).messages[2:] == chat[2:]


def test_a_result_of_lm_studio_has_only_texts() -> None:
    document = {
        "type": "document",
        "source": {"type": "text", "data": "x", "media_type": "text/plain"},
    }
    reference = {"type": "tool_reference", "tool_name": "look"}
    target, dialect = "lm_studio/qwen/qwen3.6-27b", "anthropic_messages"
    for block in (document, reference):
        messages = messages_shot(block)
        assert judge(dialect, target, messages)
        done = chatmend.repair(messages, target, dialect=dialect)
        assert judge(dialect, target, done.messages) == []


def test_else_it_is_in_a_user_message_behind_all_results_of_the_turn() -> None:
    text = {"type": "text", "text": "taken"}
    done = chatmend.repair(shots([IMAGE], "no image", [text, IMAGE]), GPT)
    assert [m["role"] for m in done.messages] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "tool",
        "user",
        "user",
    ]
    first, plain, third, images, last = done.messages[2:]
    assert first["content"] == [
        {"type": "text", "text": "The image of this tool result is in the next user message."}
    ]
    assert plain["content"] == "no image"
    assert third["content"][0] is text
    assert [item["type"] for item in images["content"]] == [
        "text",
        "image_url",
        "text",
        "image_url",
    ]
    assert images["content"][1] is IMAGE
    assert last["content"] == "what do you see?"
    assert chatmend.repair(done.messages, GPT).messages is done.messages


def test_an_image_of_the_assistant_goes_to_the_user_who_follows() -> None:
    messages = [
        {"role": "user", "content": "draw"},
        {"role": "assistant", "content": [{"type": "text", "text": "here"}, IMAGE]},
        {"role": "user", "content": "thanks"},
    ]
    sent = chatmend.repair(messages, GPT).messages
    assert [m["role"] for m in sent] == ["user", "assistant", "user", "user"]
    assert sent[1]["content"][0] is messages[1]["content"][0]  # type: ignore[index]
    assert sent[2]["content"][1] is IMAGE


def test_a_failed_result_of_claude_holds_text_alone() -> None:
    result = {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": [BLOCK]}
    messages = [
        {"role": "user", "content": "look"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": {}}],
        },
        {"role": "user", "content": [result, {"type": "text", "text": "and?"}]},
    ]
    sent = chatmend.repair(messages, CLAUDE, dialect="anthropic_messages").messages
    assert [block["type"] for block in sent[2]["content"]] == [
        "tool_result",
        "text",
        "text",
        "image",
    ]
    assert sent[2]["content"][0]["content"][0]["type"] == "text"
    assert sent[2]["content"][3] is BLOCK


def test_a_model_without_vision_is_told_that_an_image_stood_here() -> None:
    link = {"type": "image_url", "image_url": {"url": "https://example.invalid/a.png"}}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "what is this?"}, IMAGE, link]}
    ]
    done = chatmend.repair(messages, "deepseek/deepseek-chat")
    told = {"type": "text", "text": "Image removed: this model takes no images."}
    assert done.messages[0]["content"] == [messages[0]["content"][0], told, told]  # type: ignore[index]
    assert [change.effect.name for change in done.changes] == ["DROPS"]


@pytest.mark.parametrize("shape", sorted(set(shapes()) - {"image_url object", "image_url string"}))
def test_an_image_in_a_foreign_form_is_written_in_the_form_around_it(shape: str) -> None:
    sample = samples()["one pixel"]
    messages = [{"role": "user", "content": [{"type": "text", "text": "see"}, part(sample, shape)]}]
    sent = chatmend.repair(messages, GPT, dialect="openai_chat").messages
    if shape != "file":  # a type that the target knows
        assert sent[0]["content"][1] == part(sample)
    blocks = chatmend.repair(messages, CLAUDE, dialect="anthropic_messages").messages
    assert blocks[0]["content"][1] == part(sample, "anthropic")


def test_a_link_in_a_foreign_form_stays_a_link() -> None:
    link = {"type": "image", "source": {"type": "url", "url": "https://example.invalid/a.png"}}
    sent = chatmend.repair(
        [{"role": "user", "content": [link]}], GPT, dialect="openai_chat"
    ).messages
    assert sent[0]["content"] == [
        {"type": "image_url", "image_url": {"url": "https://example.invalid/a.png"}}
    ]
    back = chatmend.repair(sent, CLAUDE, dialect="anthropic_messages").messages
    assert back[0]["content"] == [link]


@pytest.mark.parametrize(
    ("key", "label"), [("inlineData", "mimeType"), ("inline_data", "mime_type")]
)
def test_an_image_of_gemini_without_a_media_type_gets_it(key: str, label: str) -> None:
    data = IMAGE["image_url"]["url"].partition(",")[2]
    messages = [{"role": "user", "parts": [{key: {"data": data}}]}]
    done = chatmend.repair(messages, "gemini/gemini-2.5-flash")
    assert done.messages == [{"role": "user", "parts": [{key: {"data": data, label: "image/png"}}]}]
    assert [change.code for change in done.changes] == ["IMG001"]


@pytest.mark.parametrize("label", ["png", "image", "jpeg", "application/octet-stream"])
def test_an_image_of_gemini_whose_label_is_no_media_type_is_no_document(
    sandbox: Any, label: str
) -> None:
    """Clients send ``png`` from the name of the file, and what a store gave for any bytes."""
    data = {"mimeType": label, "data": IMAGE["image_url"]["url"].partition(",")[2]}
    for target, path in GOOGLE.items():
        messages = [{"role": "user", "parts": [{"text": "Look:"}, {"inlineData": data}]}]
        done = chatmend.repair(messages, target)
        right = {"inlineData": {**data, "mimeType": "image/png"}}
        assert done.messages == [{"role": "user", "parts": [{"text": "Look:"}, right]}]
        assert [change.code for change in done.changes] == ["IMG001"]
        answers = [
            posting.post(sandbox.url(path), json={"contents": sent}, timeout=30)
            for sent in (messages, done.messages)
        ]
        assert [answer.status_code for answer in answers] == [400, 200]
        assert label in answers[0].json()["error"]["message"]


def test_what_begins_otherwise_is_no_image_whatever_its_label_says() -> None:
    for data in ("JVBERi0xLjQK", "aGVsbG8="):
        part = {"inlineData": {"mimeType": "png", "data": data}}
        done = chatmend.repair([{"role": "user", "parts": [part]}], "gemini/gemini-2.5-flash")
        assert [change.code for change in done.changes] == ["DOC005"]


def test_vertex_refuses_an_image_without_a_media_type(sandbox: Any) -> None:
    data = IMAGE["image_url"]["url"].partition(",")[2]
    for label in ({}, {"mimeType": ""}, {"mimeType": None}):
        contents = [{"role": "user", "parts": [{"inlineData": {**label, "data": data}}]}]
        path = GOOGLE["vertex_ai/gemini-2.5-flash"]
        answer = posting.post(sandbox.url(path), json={"contents": contents}, timeout=30)
        assert answer.status_code == 400
        assert "empty mimeType parameter in inlineData" in answer.json()["error"]["message"]


def test_a_wrong_media_type_is_set_right_and_the_data_is_the_same_text() -> None:
    messages = said(samples()["jpeg called png"], "anthropic")
    done = chatmend.repair(messages, CLAUDE, dialect="anthropic_messages")
    before, after = messages[0]["content"][1]["source"], done.messages[0]["content"][1]["source"]
    assert after["media_type"] == "image/jpeg"
    assert after["data"] == before["data"]
    assert [(change.code, change.effect.name) for change in done.changes] == [
        ("IMG001", "RESHAPES")
    ]


def test_other_keys_of_a_part_survive_recompression() -> None:
    image = part(samples()["large photo"])
    image |= {"cache_control": {"type": "ephemeral"}, "app": {"kept": True}}
    image["image_url"] |= {"detail": "high"}
    done = chatmend.repair([{"role": "user", "content": [image]}], CLAUDE)
    becomes = done.messages[0]["content"][0]
    assert (becomes["cache_control"], becomes["app"]) == ({"type": "ephemeral"}, {"kept": True})
    assert becomes["image_url"]["detail"] == "high"
    assert becomes["image_url"]["url"].startswith("data:image/jpeg;base64,/9j/")


def test_the_report_says_what_became_of_it_and_what_was_saved() -> None:
    line = chatmend.repair(
        said(samples()["photo as png"]), CLAUDE, policy=chatmend.Policy(images="native")
    ).report()
    assert "PNG, 2200 x 1500, 6.5 MB became WebP, 1316 x 897" in line
    low = part(samples()["large on its side"])
    low["image_url"]["detail"] = "low"
    assert (
        "became JPEG, 341 x 512"
        in chatmend.repair([{"role": "user", "content": [low]}], GPT).report()
    )


def test_a_note_with_the_factor_stands_behind_an_image_that_was_scaled() -> None:
    policy = chatmend.Policy(image_notes=True)
    done = chatmend.repair(said(samples()["large screenshot"]), CLAUDE, policy=policy)
    note = done.messages[0]["content"][2]
    words = (
        "This image is shown at 2000 x 1125 of 2560 x 1440 pixels; multiply coordinates by 1.28."
    )
    assert note == {"type": "text", "text": words}
    assert chatmend.repair(done.messages, CLAUDE, policy=policy).messages is done.messages


def test_an_animation_says_that_one_frame_is_left() -> None:
    content = chatmend.repair(said(samples()["animated gif"]), GPT).messages[0]["content"]
    assert content[2] == {
        "type": "text",
        "text": "Only the first frame of this animation is shown.",
    }


def test_images_off_touches_none() -> None:
    for sample in samples().values():
        messages = said(sample)
        assert (
            chatmend.repair(messages, CLAUDE, policy=chatmend.Policy(images="off")).messages
            is messages
        )


def test_what_is_not_allowed_is_left_and_reported() -> None:
    parts = [
        part(samples()["truncated png"]),
        part(samples()["large photo"]),
        part(samples()["jpeg called png"]),
    ]
    messages = [{"role": "user", "content": parts}]
    gentle = chatmend.repair(
        messages, CLAUDE, policy=chatmend.Policy(allow=chatmend.Effect.RESHAPES)
    )
    assert {(change.code, change.applied) for change in gentle.changes} == {
        ("IMG001", True),
        ("IMG002", False),
        ("IMG007", False),
    }
    assert gentle.messages[0]["content"][:2] == parts[:2]
    assert gentle.messages[0]["content"][2]["image_url"]["url"].startswith("data:image/jpeg")


def test_progress_is_told_for_each_image_that_was_worked_on() -> None:
    seen: list[int] = []
    made = chatmend.images.Recompressor(progress=seen.append)
    for _ in range(2):
        chatmend.repair(
            [*said(samples()["large photo"]), *said(samples()["bmp"])], CLAUDE, recompressor=made
        )
    assert seen == [1, 2, 3, 4]


@pytest.mark.skipif(not CASES, reason="the corpus of repair cases is not at hand")
def test_case_img_02_an_image_of_a_tool_reaches_the_model_that_takes_none_there() -> None:
    row = CASES["IMG-02"]
    sent = chatmend.repair(row["messages"], GPT).messages
    assert [m["role"] for m in sent] == ["user", "assistant", "tool", "user", "user"]
    assert sent[2]["content"][0]["text"]
    assert sent[3]["content"][1] is row["messages"][2]["content"][0]
    assert sent[4] is row["messages"][3]


@pytest.mark.skipif(not CASES, reason="the corpus of repair cases is not at hand")
def test_case_img_04_the_media_type_is_taken_from_the_bytes() -> None:
    row = CASES["IMG-04"]
    before = row["messages"][0]["content"][0]["image_url"]["url"]
    sent = chatmend.repair(row["messages"], CLAUDE).messages
    assert sent[0]["content"][0]["image_url"]["url"] == before.replace("image/jpeg", "image/png")
