"""Gemini contents: first those that must stay unchanged, then each repair."""

from __future__ import annotations

import base64
from typing import Any

import pytest

import chatmend
from chatmend.dialects import DIALECTS, recognise
from chatmend.placeholders import NO_RESULT, NOTE, SYSTEM_NOTE
from tests.corpus import PIXEL
from tests.judges import judge

FLASH, PRO3, VERTEX = (
    "gemini/gemini-2.5-flash",
    "gemini/gemini-3-pro-preview",
    "vertex_ai/gemini-2.5-pro",
)
SIGNED = "c2lnbmVkIGJ5IGdlbWluaQ=="


def user(*parts: Any) -> dict[str, Any]:
    return {
        "role": "user",
        "parts": [{"text": part} if isinstance(part, str) else part for part in parts],
    }


def model(*parts: Any) -> dict[str, Any]:
    return {**user(*parts), "role": "model"}


def call(name: str = "weather", **more: Any) -> dict[str, Any]:
    return {
        "functionCall": {"name": name, "args": {"city": "Oslo"}, **more},
        "thoughtSignature": SIGNED,
    }


def answer(text: str, name: str = "weather", **more: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": {"output": text}, **more}}


def repaired(contents: list[Any], target: str = FLASH, **choices: Any) -> list[Any]:
    """Return the repaired contents, after checking that an independent judge accepts them and a second repair changes nothing."""
    done = chatmend.repair(contents, target, dialect="gemini_contents", **choices)
    assert judge("gemini_contents", target, done.messages, system=done.system) == []
    assert chatmend.replay(contents, done.changes) == done.messages
    again = chatmend.repair(
        done.messages, target, dialect="gemini_contents", system=done.system, **choices
    )
    assert again.messages is done.messages
    return done.messages


@pytest.mark.parametrize("target", [FLASH, VERTEX, "other"])
def test_a_whole_conversation_comes_back_as_the_very_same_list(target: str) -> None:
    thought = {"thought": True, "text": "I ask.", "thoughtSignature": SIGNED}
    contents = [
        user("Oslo?", {"inlineData": {"mimeType": "image/png", "data": PIXEL}}),
        model(thought, "Let me look.", call(), {"functionCall": {"name": "now", "args": {}}}),
        user(answer("21"), answer("noon", "now"), "and quick!"),
        model({"text": "21.", "thoughtSignature": SIGNED}),
        user("Thanks"),
        user("Really"),
    ]
    done = chatmend.repair(contents, target)
    assert (done.messages is contents, done.changes) == (True, ()), done.report()


def test_from_gemini_3_on_the_results_of_a_turn_are_in_one_content_alone() -> None:
    called = model(
        {**call(), "thoughtSignature": SIGNED}, {"functionCall": {"name": "now", "args": {}}}
    )
    sound = [user("q"), called, user(answer("21"), answer("noon", "now")), user("and quick!")]
    assert chatmend.repair(sound, PRO3).messages is sound
    split = [user("q"), called, user(answer("21")), user(answer("noon", "now"), "and quick!")]
    assert chatmend.repair(split, PRO3).messages == sound
    assert chatmend.repair(split, FLASH).messages is split
    together = [*sound[:2], user(answer("21"), answer("noon", "now")), user("and quick!")]
    assert chatmend.repair(split, VERTEX).messages[:3] != split[:3]
    assert chatmend.repair(together, VERTEX).messages is together


def test_a_trailing_turn_of_the_model_is_followed_by_the_user() -> None:
    ends = [user("q"), model("I think")]
    assert chatmend.repair(ends, "gemini/gemini-2.5-pro").messages[:2] == ends
    assert chatmend.repair(ends, "gemini/gemini-2.5-pro").messages[2]["role"] == "user"
    assert chatmend.repair(ends, FLASH).messages is ends


@pytest.mark.parametrize(
    "contents",
    [
        [user("q"), model(call()), {**user(answer("21")), "role": "function"}],
        [user("q"), model(call()), user(answer("21", "4a6dd8c7-any-name"))],
        [user("q"), {"role": "model", "parts": {"text": "a part alone"}}, user("r")],
        [
            user("q"),
            model({"function_call": {"name": "f", "args": {}}}),
            user({"function_response": {"name": "f", "response": {}}}),
        ],
        [user("q"), model(call(), call()), user(answer("1")), user(answer("2")), user("more")],
        [user("q"), model({"thought": True, "thoughtSignature": SIGNED}, ""), user("")],
        [
            user("q"),
            model(
                {"thoughtSignature": "CvgCAb4-9vup_w", "functionCall": {"name": "f", "args": {}}}
            ),
            user(answer("1", "f")),
        ],
    ],
)
def test_what_google_was_seen_to_accept_is_not_touched(contents: list[Any]) -> None:
    assert chatmend.repair(contents, FLASH).messages is contents


def test_a_screenshot_stays_in_a_result_of_the_model_that_uses_a_computer() -> None:
    held = {
        "name": "click_at",
        "response": {"url": "https://example.com", "safety_acknowledgement": "true"},
        "parts": [{"inlineData": {"mimeType": "image/png", "data": PIXEL}}],
    }
    clicks = model({"functionCall": {"name": "click_at", "args": {"x": 1, "y": 2}}})
    contents = [user({"text": "q"}), clicks, user({"functionResponse": held})]
    target = "gemini/gemini-2.5-computer-use-preview-10-2025"
    assert chatmend.repair(contents, target).messages is contents


def test_every_content_is_written_as_the_very_object_that_was_read() -> None:
    dialect = DIALECTS["gemini_contents"]
    contents = [
        user(
            "a",
            {},
            3,
            None,
            {"functionCall": 1},
            {"text": "b", "bogus": [1]},
            answer("x"),
            {"executableCode": {}},
        ),
        {"role": "model"},
        {"role": 7, "parts": "x"},
        {"parts": [[]]},
        {"role": "assistant", "content": "chat"},
        {"role": "tool", "tool_call_id": "a", "content": None},
    ]
    assert all(dialect.write(dialect.read(content)) is content for content in contents)


def test_the_dialect_is_recognised_by_its_parts() -> None:
    assert recognise([user("a")]).NAME == "gemini_contents"
    assert (
        recognise([{"role": "user", "content": [{"type": "text", "text": "x"}]}]).NAME
        == "openai_chat"
    )


def test_a_clean_body_comes_back_as_the_very_same_dict() -> None:
    body = {
        "contents": [user("hi")],
        "systemInstruction": {"parts": [{"text": "s"}]},
        "generationConfig": {},
    }
    assert chatmend.repair_request(body, FLASH).body is body


@pytest.mark.parametrize("key", ["systemInstruction", "system_instruction"])
def test_a_system_content_at_the_front_joins_the_system_instruction(key: str) -> None:
    own = {"role": "user", "parts": [{"text": "Be kind."}]}
    body = {
        "contents": [{"role": "system", "parts": [{"text": "Be brief."}]}, user("hi")],
        key: own,
    }
    sent = chatmend.repair_request(body, FLASH).body
    assert sent == {
        "contents": [user("hi")],
        key: {**own, "parts": [{"text": "Be kind."}, {"text": "Be brief."}]},
    }
    assert own["parts"] == [{"text": "Be kind."}]


def test_a_system_content_in_mid_conversation_is_told_in_place() -> None:
    sent = repaired(
        [user("a"), model("b"), {"role": "system", "parts": [{"text": "new rule"}]}, user("c")]
    )
    assert sent[2] == user(f"{SYSTEM_NOTE}new rule")


def test_a_model_without_system_instructions_gets_them_told() -> None:
    done = chatmend.repair(
        [{"role": "system", "parts": [{"text": "s"}]}, user("hi")], "gemini/gemma-3-27b-it"
    )
    assert (done.system, done.messages) == (None, [user(f"{SYSTEM_NOTE}s"), user("hi")])


def test_a_call_without_a_response_gets_one_of_its_name() -> None:
    sent = repaired([user("q"), model(call(), call("now")), user("go on")])
    assert [part["functionResponse"] for part in sent[2]["parts"]] == [
        {"name": "weather", "response": {"output": NO_RESULT}},
        {"name": "now", "response": {"output": NO_RESULT}},
    ]


def test_a_missing_response_takes_its_place_among_those_that_are_there() -> None:
    sent = repaired(
        [
            user("q"),
            model(call(), call("now"), call()),
            user(answer("noon", "now"), answer("21"), "so?"),
        ]
    )
    said = [
        part["functionResponse"]
        for content in sent[2:]
        for part in content["parts"]
        if "text" not in part
    ]
    assert [(held["name"], held["response"]["output"]) for held in said] == [
        ("weather", "21"),
        ("now", "noon"),
        ("weather", NO_RESULT),
    ]


def test_responses_with_ids_are_matched_by_them() -> None:
    contents = [
        user("q"),
        model(call(id="a"), call(id="b")),
        user(answer("of b", id="b"), answer("of a", id="a")),
    ]
    sent = repaired(contents)
    assert [content["parts"] for content in sent[2:]] == [
        [answer("of a", id="a"), answer("of b", id="b")],
    ]


def test_among_calls_with_the_same_id_the_name_decides() -> None:
    signature = {"thoughtSignature": "c2lnbmVkIGJ5IGdlbWluaQ=="}
    calls = (call("price", id="a") | signature, call("weather", id="a"))
    rain, euros = answer("rain", "weather", id="a"), answer("5 EUR", "price", id="a")
    for given in ([rain, euros], [euros, rain], [rain]):
        contents = [user("q"), model(*calls), user(*given)]
        sent = chatmend.repair(contents, "gemini/gemini-3-flash-preview").messages
        held = [part["functionResponse"] for part in sent[2]["parts"]]
        said = {one["name"]: one["response"] for one in held}
        assert said["weather"] == rain["functionResponse"]["response"]
        assert said["price"] == (
            euros["functionResponse"]["response"] if len(given) > 1 else {"output": NO_RESULT}
        )


def test_a_result_stays_with_the_call_at_its_rank_if_the_names_tell_nothing_else() -> None:
    contents = [
        user("q"),
        model(call("read", id="a"), call("search", id="a")),
        user(answer("one", "search", id="a"), answer("two", "search", id="a")),
    ]
    sent = repaired(contents)
    held = [part["functionResponse"]["response"]["output"] for part in sent[2]["parts"]]
    assert held == ["one", "two"]


def test_a_response_without_a_call_is_told() -> None:
    media = {"inlineData": {"mimeType": "image/png", "data": PIXEL}}
    sent = repaired([user("q"), model("a"), user(answer("lost", parts=[media]))])
    assert sent[2] == user(f'{NOTE}"lost"', media)


def test_a_response_gets_the_name_of_its_call_and_is_an_object() -> None:
    odd = {"functionResponse": {"name": "", "response": "21 degrees"}}
    assert repaired([user("q"), model(call()), user(odd)])[2] == user(answer("21 degrees"))


PLAIN = {"functionCall": {"name": "now", "args": {}}}


@pytest.mark.parametrize("ids", [({}, {}), ({"id": "a"}, {"id": "b"})])
def test_responses_with_the_names_of_their_calls_are_unchanged(ids: tuple[Any, Any]) -> None:
    calls = model(call(**ids[0]), {"functionCall": {**PLAIN["functionCall"], **ids[1]}})
    sound = [user("q"), calls, user(answer("21", **ids[0]), answer("noon", "now", **ids[1]))]
    assert chatmend.repair(sound, PRO3).messages is sound


def test_gemini_2_accepts_a_response_with_another_name() -> None:
    accepted = [user("q"), model(call()), user(answer("21", "call_1"))]
    assert chatmend.repair(accepted, FLASH).messages is accepted
    assert chatmend.repair(accepted, VERTEX).messages is accepted


@pytest.mark.parametrize("name", ["tool_result", "unknown", "call_1073557", "no name!"])
@pytest.mark.parametrize("target", [PRO3, "vertex_ai/gemini-3.7-flash"])
@pytest.mark.parametrize("ids", [{}, {"id": "x"}])
def test_from_gemini_3_on_a_response_gets_the_name_of_its_call(
    name: str, target: str, ids: dict[str, Any]
) -> None:
    sent = repaired([user("q"), model(call(**ids)), user(answer("21", name, **ids))], target)
    assert sent[2] == user(answer("21", **ids))


def test_parallel_responses_without_names_get_those_of_the_calls_at_their_positions() -> None:
    sent = repaired(
        [user("q"), model(call(), PLAIN), user(answer("21", "?"), answer("noon", "?"))], PRO3
    )
    assert sent[2] == user(answer("21"), answer("noon", "now"))


def test_a_response_that_is_named_by_the_id_of_its_call_belongs_to_this_call() -> None:
    calls = model(call(id="a"), {"functionCall": {**PLAIN["functionCall"], "id": "b"}})
    sent = repaired([user("q"), calls, user(answer("noon", "b"), answer("21", "a"))], PRO3)
    assert sent[2] == user(answer("21", id="a"), answer("noon", "now", id="b"))


def test_a_response_with_the_id_of_no_call_keeps_no_claim_to_a_call_with_another_id() -> None:
    contents = [
        user("q"),
        model(call(id="a")),
        user(answer("21", id="a"), answer("x", "g", id="y")),
    ]
    sent = repaired(contents, PRO3)
    assert sent[2:] == [user(answer("21", id="a")), user(f'{NOTE}"x"')]


def test_equal_ids_in_different_turns_are_unchanged() -> None:
    turn = [model(call(id="x")), user(answer("21", id="x"))]
    sound = [user("q"), *turn, *turn]
    assert chatmend.repair(sound, PRO3).messages is sound


def test_from_gemini_3_on_calls_of_one_content_have_different_ids() -> None:
    calls = model(call(id="x"), {"functionCall": {**PLAIN["functionCall"], "id": "x"}})
    contents = [user("q"), calls, user(answer("21", id="x"), answer("noon", "now", id="x"))]
    assert chatmend.repair(contents, FLASH).messages is contents
    sent = repaired(contents, PRO3)
    first, second = (part["functionCall"]["id"] for part in sent[1]["parts"])
    assert (first, second != "x") == ("x", True)
    assert sent[2] == user(answer("21", id="x"), answer("noon", "now", id=second))


def test_a_signature_that_cannot_be_one_is_left_out() -> None:
    sent = repaired(
        [
            user("q"),
            model({**call(), "thoughtSignature": "rs_1"}, {"text": "x", "thoughtSignature": "@"}),
            user(answer("1")),
        ]
    )
    assert [sorted(part) for part in sent[1]["parts"]] == [["functionCall"], ["text"]]


def test_gemini_3_gets_the_documented_value_on_the_first_call_of_a_step() -> None:
    bare = {"functionCall": {"name": "weather", "args": {}}}
    sent = repaired([user("q"), model(bare, bare), model(bare), user(*[answer("1")] * 3)], PRO3)
    assert ["thoughtSignature" in part for content in sent[1:3] for part in content["parts"]] == [
        True,
        False,
        False,
    ]


def test_words_from_chat_and_anthropic_become_contents() -> None:
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
    function = {"name": "weather", "arguments": '{"city": "Oslo"}'}
    thought = {"type": "thinking", "thinking": "t", "signature": "EqQB"}
    contents = [
        {"role": "user", "content": [{"type": "text", "text": "q"}, image]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "21"},
        {"role": "assistant", "content": [thought, {"type": "text", "text": "a"}]},
        user("thanks"),
    ]
    sent = repaired(contents)
    assert sent[0] == user("q", {"inlineData": {"mimeType": "image/png", "data": PIXEL}})
    assert sent[1]["parts"][0]["functionCall"] == {
        "name": "weather",
        "args": {"city": "Oslo"},
        "id": "c",
    }
    assert sent[2] == user(answer("21", id="c"))
    assert sent[3] == model("a")


def test_keys_that_google_refuses_are_left_out_and_reported() -> None:
    done = chatmend.repair(
        [{**user({"text": "a", "cache_control": {"type": "ephemeral"}}), "name": "Ann"}], FLASH
    )
    assert done.messages == [user("Ann: a")]
    assert {change.code for change in done.changes} == {"KEY001"}


@pytest.mark.parametrize(
    "name", ["strict_alternation", "provider_hygiene", "drop_instead_of_note", "offline"]
)
def test_every_named_policy_is_accepted(name: str) -> None:
    policy = getattr(chatmend.Policy, name)()
    contents = [
        user("a"),
        user("b"),
        model("c"),
        model(call()),
        user("x"),
        user(answer("1")),
        model("d"),
        user(answer("2")),
    ]
    sent = chatmend.repair(contents, FLASH, policy=policy).messages
    assert judge("gemini_contents", FLASH, sent) == []


def test_a_typed_part_with_a_signature_that_is_none_is_mended_at_once() -> None:
    odd = {"role": "model", "parts": [{"type": "text", "text": "Hi.", "thoughtSignature": 5}]}
    said = [
        {"role": "user", "parts": [{"text": "go"}]},
        odd,
        {"role": "user", "parts": [{"text": "on"}]},
    ]
    sent = chatmend.repair(said, FLASH).messages
    assert sent[1] == {"role": "model", "parts": [{"text": "Hi."}]}
    assert chatmend.repair(sent, FLASH).messages is sent


def test_a_thought_that_is_spelled_otherwise_stays_a_thought() -> None:
    said = {"role": "model", "parts": [{"text": "hm", "thought": "true"}, {"text": "hi"}]}
    messages = [
        {"role": "user", "parts": [{"text": "go"}]},
        said,
        {"role": "user", "parts": [{"text": "on"}]},
    ]
    done = chatmend.repair(messages, "gemini/gemini-2.5-flash")
    assert done.messages[1]["parts"] == [{"text": "hm", "thought": True}, {"text": "hi"}]


IMAGE_PART = {
    "inlineData": {
        "mimeType": "image/png",
        "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    }
}


@pytest.mark.parametrize("target", ["gemini/gemini-2.5-flash", "gemini/gemini-3-pro-preview"])
@pytest.mark.parametrize(
    ("received", "behind"),
    [
        ([[answer("ok", "g"), answer("ok", "f")]], []),
        ([[answer("ok", "f"), {"text": "hey"}, answer("ok", "g")]], [[{"text": "hey"}]]),
        ([[answer("ok", "f"), IMAGE_PART, answer("ok", "g")]], [[IMAGE_PART]]),
        ([[answer("ok", "f")], [{"text": "hey"}], [answer("ok", "g")]], [[{"text": "hey"}]]),
        ([[answer("ok", "g")]], []),
        ([[{"text": "hey"}]], [[{"text": "hey"}]]),
    ],
)
def test_responses_to_parallel_calls_are_in_one_content_in_the_order_of_the_calls(
    target: str, received: list[list[Any]], behind: list[list[Any]]
) -> None:
    signed = {"thoughtSignature": "c2lnbmVkIGJ5IGdlbWluaSBhbmQgbG9uZyBlbm91Z2g="}
    calls = [{"functionCall": {"name": name, "args": {}}} for name in ("f", "g")]
    said = {"role": "model", "parts": [{**calls[0], **signed}, calls[1]]}
    contents = [user({"text": "go"}), said, *(user(*parts) for parts in received)]
    done = chatmend.repair(contents, target, dialect="gemini_contents").messages
    responses = [part["functionResponse"]["name"] for part in done[2]["parts"]]
    assert responses == ["f", "g"]
    assert [content["parts"] for content in done[3:]] == behind
    assert chatmend.repair(done, target, dialect="gemini_contents").messages is done


@pytest.mark.parametrize("target", [FLASH, PRO3])
@pytest.mark.parametrize("key", ["functionCall", "function_call"])
@pytest.mark.parametrize("name", ["thoughtSignature", "thought_signature"])
def test_a_signature_inside_a_call_moves_to_its_part(target: str, key: str, name: str) -> None:
    used = {"name": "weather", "args": {"city": "Oslo"}}
    contents = [user("q"), model({key: {**used, name: SIGNED}}), user(answer("21"))]
    done = chatmend.repair(contents, target)
    assert [(change.code, change.effect.name) for change in done.changes] == [
        ("THINK003", "RESHAPES")
    ]
    (_, sent, _) = repaired(contents, target)
    assert sent["parts"] == [{key: used, "thoughtSignature": SIGNED}]


def test_an_invalid_signature_inside_a_call_is_removed() -> None:
    used = {"name": "weather", "args": {"city": "Oslo"}}
    contents = [user("q"), model({"functionCall": {**used, "thoughtSignature": "rs_1"}})]
    contents.append(user(answer("21")))
    (_, sent, _) = repaired(contents)
    assert sent["parts"] == [{"functionCall": used}]
    (_, sent, _) = repaired(contents, PRO3)
    assert sent["parts"][0]["thoughtSignature"].startswith("c2tpcF90aG91Z2h0")


def test_a_call_with_two_signatures_keeps_that_of_its_part() -> None:
    used = {"name": "weather", "args": {"city": "Oslo"}}
    contents = [user("q"), model(call(thoughtSignature="b" * 64)), user(answer("21"))]
    (_, sent, _) = repaired(contents, PRO3)
    assert sent["parts"] == [{"functionCall": used, "thoughtSignature": SIGNED}]


@pytest.mark.parametrize("kind", ["audio/mpeg", "video/mp4"])
def test_a_recording_in_a_result_moves_after_the_results_for_gemini_3(kind: str) -> None:
    recording = {"inlineData": {"mimeType": kind, "data": "SUQzBAAAAAAAAAAA"}}
    image = {"inlineData": {"mimeType": "image/png", "data": PIXEL}}
    held = {"name": "weather", "response": {"a": 1}, "parts": [image, recording]}
    contents = [user("q"), model(call()), user({"functionResponse": held})]
    assert repaired(contents) != contents, "Gemini 2.5 takes no images in results"
    sent = repaired(contents, PRO3)
    found = sent[2]["parts"][0]["functionResponse"]
    assert found["parts"] == [image]
    assert found["response"]["output"].startswith('{"a": 1}\n')
    assert sent[3]["parts"][1:] == [recording]
    assert sent[3]["role"] == "user"
    longer = [*contents, model("Done."), user("Thanks")]
    assert repaired(longer, PRO3)[: len(sent)] == sent


def test_a_pdf_in_a_result_stays_for_gemini_3() -> None:
    pdf = {"inlineData": {"mimeType": "application/pdf", "data": "JVBERi0xLjQK"}}
    held = {"name": "weather", "response": {"a": 1}, "parts": [pdf]}
    contents = [user("q"), model(call()), user({"functionResponse": held})]
    assert chatmend.repair(contents, PRO3).messages[2:] == contents[2:]


UNSET = dict.fromkeys(
    [
        *("text", "thought", "thought_signature", "inline_data", "file_data", "function_call"),
        *("function_response", "executable_code", "code_execution_result", "video_metadata"),
    ]
)
"""The fields of a part as ``model_dump`` of google-genai writes them."""
SIGNATURE_BYTES = base64.b64decode("CrAB" + "A" * 160)


def dumped(**fields: Any) -> dict[str, Any]:
    return UNSET | fields


@pytest.mark.parametrize("target", [FLASH, PRO3, VERTEX, "other"])
@pytest.mark.parametrize("signature", [SIGNED, SIGNATURE_BYTES])
def test_contents_dumped_by_google_genai_stay_unchanged(target: str, signature: object) -> None:
    used = {"id": None, "name": "f", "args": {"city": "Oslo"}, "partial_args": None}
    result = {"id": None, "name": "f", "response": {"output": "18"}, "parts": None}
    contents = [
        user(dumped(text="weather?")),
        model(
            dumped(text="I ask.", thought=True),
            dumped(function_call=used, thought_signature=signature),
        ),
        user(dumped(function_response=result)),
        model(dumped(text="18 degrees")),
        user(dumped(text="thanks")),
    ]
    assert chatmend.repair(contents, target).messages is contents
    assert chatmend.repair(contents, target, dialect="gemini_contents").messages is contents


@pytest.mark.parametrize(
    "part",
    [
        {"text": "hi", "inlineData": None},
        {"text": "hi", "thoughtSignature": None},
        {"text": None, "inline_data": None, "thoughtSignature": SIGNED},
    ],
)
def test_a_field_with_null_is_not_set(part: dict[str, Any]) -> None:
    contents = [user("q"), model(part), user("go on")]
    assert repaired(contents, PRO3) is contents


def test_a_call_without_arguments_may_have_null() -> None:
    used = {"functionCall": {"name": "f", "args": None}, "text": None}
    contents = [user("q"), model(used), user(answer("ok", "f")), model("done"), user("next")]
    assert repaired(contents) is contents


def test_a_call_with_null_fields_gets_a_result_and_a_signature() -> None:
    used = {"functionCall": {"name": "f", "args": {}}, "text": None, "thought_signature": None}
    (_, said, result, _) = repaired([user("q"), model(used), user("go on")], PRO3)
    assert said["parts"][0]["functionCall"] == used["functionCall"]
    assert said["parts"][0]["thoughtSignature"].startswith("c2tpcF90aG91Z2h0")
    assert "thought_signature" not in said["parts"][0]
    assert result["parts"][0]["functionResponse"]["name"] == "f"


@pytest.mark.parametrize("more", [{}, {"thought": True}])
def test_a_signature_may_be_the_bytes_that_google_genai_has(more: dict[str, Any]) -> None:
    part = {"text": "hi", "thought_signature": SIGNATURE_BYTES, **more}
    contents = [user("q"), model(part), user("go on")]
    assert chatmend.repair(contents, PRO3).messages is contents


def test_bytes_that_cannot_be_a_signature_are_removed() -> None:
    (_, said, _) = repaired([user("q"), model({"text": "a", "thoughtSignature": b"a"}), user("b")])
    assert said["parts"] == [{"text": "a"}]


def test_the_bytes_of_a_signature_become_base64_in_a_chat() -> None:
    call = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "f", "arguments": "{}"},
        "provider_specific_fields": {"thought_signature": SIGNATURE_BYTES},
    }
    chat = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "r"},
    ]
    done = chatmend.repair(chat, PRO3)
    fields = done.messages[1]["tool_calls"][0]["provider_specific_fields"]
    assert fields == {"thought_signature": base64.b64encode(SIGNATURE_BYTES).decode()}
    assert chatmend.repair(done.messages, PRO3).messages is done.messages


@pytest.mark.parametrize("dialect", [None, "gemini_contents"])
def test_a_string_under_parts_becomes_a_text(dialect: str | None) -> None:
    contents = [
        {"role": "user", "parts": "Hello"},
        {"role": "model", "parts": "Hi"},
        {"role": "user", "parts": '"Bye"'},
    ]
    sent = [user("Hello"), model("Hi"), user('"Bye"')]
    assert chatmend.repair(contents, FLASH, dialect=dialect).messages == sent
    assert chatmend.repair(contents[:1], FLASH, dialect=dialect).messages == sent[:1]
    assert repaired(contents) == sent


@pytest.mark.parametrize("held", ["Hi", {"text": "Hi"}, ["Hi"]])
@pytest.mark.parametrize("dialect", ["openai_chat", "anthropic_messages", "ollama_chat"])
def test_parts_in_a_chat_become_its_content(dialect: str, held: object) -> None:
    chat = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "parts": held},
        {"role": "user", "content": "Bye"},
    ]
    done = chatmend.repair(chat, "openai/gpt-4o", dialect=dialect)
    assert "parts" not in done.messages[1]
    assert "Hi" in str(done.messages[1]["content"])


def test_a_chat_stays_a_chat_if_one_message_has_a_string_under_parts() -> None:
    chat = [{"role": "user", "content": "Hello"}, {"role": "assistant", "parts": "Hi"}]
    chat.append({"role": "user", "content": "Bye"})
    done = chatmend.repair(chat, "openai/gpt-4o")
    assert done.messages == [chat[0], {"role": "assistant", "content": "Hi"}, chat[2]]


def test_a_part_whose_fields_are_all_null_is_an_empty_text() -> None:
    contents = [user("q"), model(dumped(), {"text": "a"}), user("go on")]
    assert repaired(contents) == [user("q"), model("", "a"), user("go on")]


def _with_function_role(role: str) -> list[dict[str, Any]]:
    return [
        user("a"),
        model({**call(), "thoughtSignature": SIGNED}),
        {**user(answer("x")), "role": role},
    ]


@pytest.mark.parametrize(
    "target",
    [
        *("gemini/gemini-2.5-flash", "vertex_ai/gemini-3.1-pro-preview", "gemini/gemini-pro"),
        *("gemini/gemini-3-flash-preview", "other"),
    ],
)
def test_the_role_function_stays_for_models_that_accept_it(target: str) -> None:
    contents = _with_function_role("function")
    assert repaired(contents, target) is contents


@pytest.mark.parametrize(
    "target",
    [
        *("gemini/gemini-3.5-flash", "gemini/gemini-3.6-flash", "vertex_ai/gemini-3.7-flash"),
        *("gemini/gemini-4-pro", "gemini/gemini-flash-latest"),
    ],
)
def test_results_of_the_role_function_are_the_users_where_it_is_refused(target: str) -> None:
    contents = _with_function_role("function")
    sent = repaired(contents, target)
    assert sent == _with_function_role("user")
    assert repaired(sent, target) is sent
    done = chatmend.repair(contents, target)
    assert [change.code for change in done.changes] == ["ROLE001"]
    assert chatmend.replay(contents, done.changes) == sent


def test_the_role_function_is_learnt_from_a_refusal() -> None:
    body = {"contents": _with_function_role("function")}
    error = (
        "Error 400: Role 'function' is not supported. Please use a valid role: SYSTEM, SYSTEM_1, "
        "USER, ASSISTANT, DEVELOPER, CONTEXT, USER_CONTEXT, MODEL, USER."
    )
    reaction = chatmend.react(body, "gemini/gemini-2.5-pro", error)
    assert reaction is not None
    assert reaction.lesson is not None
    assert reaction.body == {"contents": _with_function_role("user")}
    assert (reaction.lesson.limit, reaction.lesson.value) == ("function_role", False)
    lessons = [reaction.lesson]
    assert chatmend.react(reaction.body, "gemini/gemini-2.5-pro", error, lessons=lessons) is None
    ordinary = chatmend.react(body, "gemini/gemini-3.6-flash", error)
    assert ordinary is not None
    assert ordinary.lesson is None
    assert ordinary.body == reaction.body
