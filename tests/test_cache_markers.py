"""Cache markers of a request: their number, with the automatic one, and the order of their lifetimes."""

from __future__ import annotations

from typing import Any

import pytest

import chatmend
from tests.targets import ALL

CLAUDE = "anthropic/claude-sonnet-4-5"
SHORT = {"type": "ephemeral"}
LONG = {"type": "ephemeral", "ttl": "1h"}
FIVE = {"type": "ephemeral", "ttl": "5m"}


def block(words: str, marker: Any = None) -> dict[str, Any]:
    return {"type": "text", "text": words, **({"cache_control": marker} if marker else {})}


def tool(marker: Any = None) -> dict[str, Any]:
    schema = {"name": "f", "input_schema": {"type": "object"}}
    return {**schema, **({"cache_control": marker} if marker else {})}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def body(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 9, "messages": list(messages), **more}


@pytest.mark.parametrize(
    "request_body",
    [
        body(user(*(block(word, SHORT) for word in "abcd"))),
        body(user(*(block(word, SHORT) for word in "abc")), cache_control=SHORT),
        body(user(block("a", SHORT)), tools=[tool(LONG)], system=[block("s", LONG)]),
        body(user(block("a", LONG), block("b")), tools=[tool(LONG)], cache_control=SHORT),
    ],
)
def test_what_the_provider_accepts_stays_the_same_object(request_body: Any) -> None:
    assert chatmend.repair_request(request_body, CLAUDE).body is request_body


def test_the_automatic_marker_counts() -> None:
    given = body(user(*(block(word, SHORT) for word in "abcd")), cache_control=SHORT)
    done = chatmend.repair_request(given, CLAUDE)
    kept = [block("a"), *(block(word, SHORT) for word in "bcd")]
    assert done.body == {**given, "messages": [user(*kept)]}
    assert chatmend.repair_request(done.body, CLAUDE).body is done.body
    alone = chatmend.repair(given["messages"], CLAUDE, cache_control=SHORT)
    assert alone.messages == [user(*kept)]


def test_a_long_marker_after_a_short_one_is_shortened_wherever_it_is() -> None:
    given = body(
        user(block("a", LONG)),
        tools=[tool(SHORT)],
        system=[block("s", LONG)],
        cache_control=LONG,
    )
    done = chatmend.repair_request(given, CLAUDE)
    assert done.body == body(
        user(block("a", FIVE)),
        tools=[tool(SHORT)],
        system=[block("s", FIVE)],
        cache_control=FIVE,
    )
    assert {change.where for change in done.changes} == {"messages", "system", "cache_control"}
    assert {change.effect for change in done.changes} == {chatmend.Effect.RESHAPES}
    assert chatmend.repair_request(done.body, CLAUDE).body is done.body


def test_only_the_system_prompt_changes_where_only_it_is_late() -> None:
    given = body(user(block("a")), tools=[tool(SHORT)], system=[block("s", LONG)])
    done = chatmend.repair_request(given, CLAUDE).body
    assert done["messages"] is given["messages"]
    assert done["tools"] is given["tools"]
    assert done["system"] == [block("s", FIVE)]


SONNET = "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0"
NOVA = "bedrock/us.amazon.nova-pro-v1:0"
LLAMA = "bedrock/meta.llama3-3-70b-instruct-v1:0"
SPEC = {"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}


def point(ttl: str | None = None) -> dict[str, Any]:
    return {"cachePoint": {"type": "default", **({"ttl": ttl} if ttl else {})}}


def document(form: str) -> dict[str, Any]:
    return {"document": {"format": form, "name": "a", "source": {"text": "x"}}}


def cited(form: str, *, enabled: bool = True) -> dict[str, Any]:
    held = {**document(form)["document"], "citations": {"enabled": enabled}}
    return {"document": held}


def said(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


REASONING = {"reasoningContent": {"reasoningText": {"text": "t", "signature": "EqoBCkYIARgCKkA="}}}
ASKED = [{"role": "user", "content": [{"text": "go"}]}]
CALL = {"toolUse": {"toolUseId": "a", "name": "f", "input": {}}}
TOLD = {"text": "Done."}
ANSWER = {"toolResult": {"toolUseId": "a", "content": [{"text": "r"}]}}


def converse(request_body: dict[str, Any], target: str) -> dict[str, Any]:
    done = chatmend.repair_request(request_body, target, dialect="bedrock_converse").body
    again = chatmend.repair_request(done, target, dialect="bedrock_converse")
    assert again.body is done, again.report()
    return done


@pytest.mark.parametrize(
    "request_body",
    [
        {"messages": [user({"text": "a"}, point())], "system": [{"text": "s"}, point("1h")]},
        {"messages": [user({"text": "a"}, document("pdf"), point())]},
        {"messages": [user({"text": "a"}, cited("txt"), point())]},
        {"messages": [*ASKED, said({"text": "b"}, point(), REASONING, TOLD), *ASKED]},
        {"messages": [*ASKED, said(REASONING, {"text": "b"}, point()), *ASKED]},
    ],
)
def test_cache_points_that_bedrock_accepts_stay_the_same_object(request_body: Any) -> None:
    assert converse(request_body, SONNET) is request_body


def test_lifetimes_of_cache_points_are_in_order() -> None:
    given = {
        "toolConfig": {"tools": [SPEC, point()]},
        "system": [{"text": "s"}, point("1h")],
        "messages": [user({"text": "a"}, point("1h"))],
    }
    assert converse(given, SONNET) == {
        "toolConfig": {"tools": [SPEC, point()]},
        "system": [{"text": "s"}, point("5m")],
        "messages": [user({"text": "a"}, point("5m"))],
    }


def test_the_oldest_of_five_cache_points_goes_and_none_follows_a_document() -> None:
    blocks = [block for word in "abcde" for block in ({"text": word}, point())]
    done = converse({"messages": [user(*blocks)]}, SONNET)
    assert done["messages"] == [user({"text": "a"}, *blocks[2:])]
    done = converse({"messages": [user({"text": "a"}, document("txt"), point())]}, SONNET)
    assert done["messages"] == [user({"text": "a"}, document("txt"))]


@pytest.mark.parametrize(
    ("content", "sent"),
    [
        ([{"text": ""}, point(), {"text": "c"}], [{"text": "c"}]),
        ([{"text": "a"}, {"text": " "}, point()], [{"text": "a"}, point()]),
        ([{"text": ""}, point()], None),
        ([point()], None),
        ([{"text": " "}, point(), point()], None),
        ([{"text": "a"}, {"text": ""}, point(), {"text": ""}, point()], [{"text": "a"}, point()]),
    ],
)
def test_a_cache_point_needs_content_before_it(content: Any, sent: Any) -> None:
    answered = {"messages": [*ASKED, said({"text": "b"}), user(*content), *ASKED]}
    expected = [*ASKED, said({"text": "b"}), *([user(*sent)] if sent else []), *ASKED]
    assert converse(answered, SONNET)["messages"] == expected
    assert converse(answered, NOVA)["messages"] == expected
    alone = converse({"messages": [user(*content)]}, SONNET)
    assert alone["messages"] == [user(*(sent or [{"text": "[continued]"}]))]


@pytest.mark.parametrize(
    "content",
    [
        [{"text": ""}, point()],
        [{"text": " "}, point()],
        [{"text": " "}, {"text": ""}, point()],
        [{"text": ""}, point(), {"text": " "}, point()],
    ],
)
def test_an_empty_answer_with_a_cache_point_gets_a_placeholder(content: Any) -> None:
    given = {"messages": [*ASKED, said(*content), *ASKED]}
    assert converse(given, SONNET)["messages"] == [*ASKED, said({"text": "[continued]"}), *ASKED]


@pytest.mark.parametrize(
    ("content", "sent"),
    [
        ([{"text": "b"}, REASONING, point()], [{"text": "b"}, REASONING, {"text": "[continued]"}]),
        ([REASONING, point(), {"text": "b"}, point()], [REASONING, {"text": "b"}, point()]),
        ([REASONING, {"text": ""}, point(), {"text": "b"}], [REASONING, {"text": "b"}]),
    ],
)
def test_no_cache_point_follows_the_reasoning_of_claude(content: Any, sent: Any) -> None:
    done = converse({"messages": [*ASKED, said(*content), *ASKED]}, SONNET)
    assert done["messages"] == [*ASKED, said(*sent), *ASKED]


def test_no_cache_point_is_between_the_reasoning_of_claude_and_its_call() -> None:
    tools = {"toolConfig": {"tools": [SPEC]}}
    given = {"messages": [*ASKED, said(REASONING, point(), CALL), user(ANSWER)], **tools}
    assert converse(given, SONNET)["messages"] == [*ASKED, said(REASONING, CALL), user(ANSWER)]


def test_a_refused_cache_point_is_removed_after_the_refusal() -> None:
    messages = [*ASKED, said({"text": "b"}, point(), REASONING, point(), TOLD), *ASKED]
    error = (
        "ValidationException: Cache point cannot be inserted after reasoning block. Please remove "
        "the invalid cache point and try again."
    )
    again = chatmend.react({"messages": messages}, SONNET, error, dialect="bedrock_converse")
    assert again is not None
    assert again.body["messages"][1] == said({"text": "b"}, point(), REASONING, TOLD)
    assert [change.code for change in again.changes] == ["CACHE002"]


def test_a_document_with_disabled_citations_has_no_cache_point() -> None:
    cold = cited("txt", enabled=False)
    done = converse({"messages": [user({"text": "a"}, cold, point())]}, SONNET)
    assert done["messages"] == [user({"text": "a"}, cold)]


def test_a_model_without_a_cache_gets_no_cache_points() -> None:
    given = {
        "toolConfig": {"tools": [SPEC, point()]},
        "system": [{"text": "s"}, point()],
        "messages": [user({"text": "a"}, point())],
    }
    assert converse(given, LLAMA) == {
        "toolConfig": {"tools": [SPEC]},
        "system": [{"text": "s"}],
        "messages": [user({"text": "a"})],
    }


USE = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "a", "content": "r"}
THOUGHT = {"type": "thinking", "thinking": "t", "signature": "EqoBCkYIARgCKkA="}
TEXT = {"type": "text", "text": "hi"}


@pytest.mark.parametrize(
    ("content", "sent"),
    [
        ("hi", [{**TEXT, "cache_control": LONG}]),
        ([RESULT], [{**RESULT, "cache_control": LONG}]),
        ([RESULT, TEXT], [RESULT, {**TEXT, "cache_control": LONG}]),
        ([RESULT, {**TEXT, "cache_control": SHORT}], [RESULT, {**TEXT, "cache_control": SHORT}]),
    ],
)
def test_the_marker_of_a_message_moves_to_its_last_block(content: Any, sent: Any) -> None:
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "on" if content == "hi" else [USE]},
        {"role": "user", "content": content, "cache_control": LONG},
    ]
    done = chatmend.repair(messages, CLAUDE, dialect="anthropic_messages")
    assert done.messages == [*messages[:2], {"role": "user", "content": sent}]
    assert [(change.code, change.effect.name) for change in done.changes] == [
        ("CACHE002", "RESHAPES")
    ]
    again = chatmend.repair(done.messages, CLAUDE, dialect="anthropic_messages")
    assert again.messages is done.messages


def test_the_marker_of_a_message_does_not_move_to_its_thinking() -> None:
    said = {"role": "assistant", "content": [THOUGHT, USE], "cache_control": SHORT}
    messages = [{"role": "user", "content": "go"}, said, {"role": "user", "content": [RESULT]}]
    done = chatmend.repair(messages, CLAUDE, dialect="anthropic_messages")
    assert done.messages[1]["content"] == [THOUGHT, {**USE, "cache_control": SHORT}]
    blank = {**said, "content": [THOUGHT, {"type": "text", "text": " "}]}
    done = chatmend.repair([messages[0], blank, messages[0]], CLAUDE, dialect="anthropic_messages")
    assert "cache_control" not in str(done.messages)


def test_the_marker_of_a_chat_message_stays() -> None:
    messages = [{"role": "user", "content": "go", "cache_control": SHORT}]
    assert chatmend.repair(messages, CLAUDE, dialect="openai_chat").messages is messages


@pytest.mark.parametrize(
    "target", sorted({target for form, target in ALL if form == "anthropic_messages"})
)
def test_the_marker_of_a_message_is_lost_at_no_host(target: str) -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "go", "cache_control": SHORT},
        {"role": "assistant", "content": "on", "tool_calls": [call], "cache_control": SHORT},
        {"role": "tool", "tool_call_id": "a", "content": "r", "cache_control": SHORT},
    ]
    for given in (messages[:1], messages):
        sent = chatmend.repair(given, target, dialect="anthropic_messages").messages
        assert str(sent).count("cache_control") == len(given), sent


POINT = {"cachePoint": {"type": "default"}}
LOOP = [
    {"role": "user", "content": [{"text": "go"}, POINT]},
    {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t1", "name": "f", "input": {}}}]},
]
LOOP_RESULT = {"toolResult": {"toolUseId": "t1", "content": [{"text": "r"}]}}


@pytest.mark.parametrize("inside", [False, True])
def test_nova_gets_no_cache_point_with_a_result(inside: bool) -> None:  # noqa: FBT001
    held = {**LOOP_RESULT["toolResult"], "content": [{"text": "r"}, POINT]}
    content = [{"toolResult": held}] if inside else [LOOP_RESULT, POINT]
    done = chatmend.repair([*LOOP, {"role": "user", "content": content}], NOVA)
    assert done.messages == [*LOOP, {"role": "user", "content": [LOOP_RESULT]}]
    assert [change.code for change in done.changes] == ["CACHE002"]


def test_claude_on_bedrock_gets_a_cache_point_with_a_result() -> None:
    messages = [*LOOP, {"role": "user", "content": [LOOP_RESULT, POINT]}]
    target = "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0"
    assert chatmend.repair(messages, target).messages is messages


@pytest.mark.parametrize("place", ["message", "part"])
def test_nova_gets_no_marker_that_litellm_would_put_behind_a_result(place: str) -> None:
    marker = {"cache_control": {"type": "ephemeral"}}
    part, more = {"type": "text", "text": "r"}, marker if place == "message" else {}
    call = {"id": "t1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    result = {"role": "tool", "tool_call_id": "t1", "content": [part]}
    asked = [
        {"role": "user", "content": [{"type": "text", "text": "go", **marker}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
    ]
    marked = {**result, "content": [part if more else {**part, **marker}], **more}
    done = chatmend.repair([*asked, marked], NOVA)
    assert done.messages == [*asked, result]
    assert [change.code for change in done.changes] == ["CACHE002"]


GLOBAL = {"type": "ephemeral", "scope": "global"}
SCOPE_REFUSED = "system.1.cache_control.ephemeral.scope: Extra inputs are not permitted"
SCOPELESS = (
    "github_copilot/claude-opus-4.6",
    "bedrock/us.anthropic.claude-sonnet-4-6",
    "vertex_ai/claude-sonnet-4-6",
)


def marked(marker: Any, automatic: Any = None) -> dict[str, Any]:
    found = {"type": "tool_result", "tool_use_id": "t1", "content": [block("r", marker)]}
    messages = [
        user(block("a", marker)),
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}]},
        user(found),
    ]  # fmt: skip
    return body(
        *messages, system=[block("s", marker)], tools=[tool()], cache_control=automatic or marker
    )


def messages_repair(request_body: dict[str, Any], target: str, **choices: Any) -> Any:
    return chatmend.repair_request(request_body, target, dialect="anthropic_messages", **choices)


@pytest.mark.parametrize("target", ["anthropic/claude-sonnet-4-6", "other/x"])
def test_the_scope_of_a_marker_stays_where_it_is_accepted(target: str) -> None:
    request_body = marked(GLOBAL)
    assert messages_repair(request_body, target).body is request_body


@pytest.mark.parametrize("target", SCOPELESS)
def test_markers_without_a_scope_stay_the_same_object(target: str) -> None:
    request_body = marked(SHORT)
    assert messages_repair(request_body, target).body is request_body


@pytest.mark.parametrize("target", SCOPELESS)
def test_only_the_scope_of_markers_is_removed_where_it_is_refused(target: str) -> None:
    done = messages_repair(marked(GLOBAL), target)
    assert done.body == marked(SHORT)
    assert {change.code for change in done.changes} == {"CACHE002"}
    assert messages_repair(done.body, target).body is done.body


def test_an_automatic_marker_alone_loses_its_scope() -> None:
    done = messages_repair(body(user(block("a")), cache_control=GLOBAL), SCOPELESS[0])
    assert done.body == body(user(block("a")), cache_control=SHORT)


def test_a_refused_key_of_a_marker_is_learnt() -> None:
    target, request_body = "my/claude-opus-4-8", marked({**LONG, "scope": "global"}, SHORT)
    learnt = chatmend.react(request_body, target, SCOPE_REFUSED, dialect="anthropic_messages")
    assert learnt is not None
    assert learnt.lesson is not None
    assert learnt.body == marked(LONG, SHORT)
    assert (learnt.lesson.limit, learnt.lesson.value) == ("refused_marker_keys", ("scope",))
    done = messages_repair(request_body, target, lessons=[learnt.lesson])
    assert done.body == learnt.body
    error = SCOPE_REFUSED.replace("scope", "ttl")
    more = chatmend.react(
        learnt.body, target, error, dialect="anthropic_messages", lessons=[learnt.lesson]
    )
    assert more is not None
    assert more.body == marked(SHORT)


SPEC = {"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}


def with_tools(*tools: Any) -> dict[str, Any]:
    message = {"role": "user", "content": [{"text": "a"}, point()]}
    return {"messages": [message], "toolConfig": {"tools": list(tools), "toolChoice": {"auto": {}}}}


@pytest.mark.parametrize(
    ("target", "request_body"),
    [
        ("bedrock/amazon.nova-pro-v1:0", with_tools(SPEC)),
        ("bedrock/us.anthropic.claude-3-7-sonnet-20250219-v1:0", with_tools(SPEC, point())),
    ],
)
def test_tools_that_bedrock_accepts_stay_the_same_object(target: str, request_body: Any) -> None:
    assert chatmend.repair_request(request_body, target).body is request_body


def test_nova_gets_no_cache_point_among_the_tools() -> None:
    target = "bedrock/amazon.nova-pro-v1:0"
    error = (
        "ValidationException: Malformed input request: #/toolConfig/tools/18: extraneous key "
        "[cachePoint] is not permitted, please reformat your input and try again."
    )
    done = chatmend.repair_request(with_tools(SPEC, point()), target)
    assert done.body == with_tools(SPEC)
    assert [(change.code, change.where) for change in done.changes] == [("CACHE002", "tools")]
    assert chatmend.repair_request(done.body, target).body is done.body
    reaction = chatmend.react(with_tools(SPEC, point()), target, error)
    assert reaction is not None
    assert (reaction.body, reaction.lesson) == (with_tools(SPEC), None)


def test_nova_gets_no_marker_of_a_tool_that_litellm_would_convert() -> None:
    function = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    request_body = {
        "messages": [{"role": "user", "content": "a"}],
        "tools": [{**function, "cache_control": SHORT}],
    }
    done = chatmend.repair_request(request_body, "bedrock/amazon.nova-pro-v1:0")
    assert done.body == {**request_body, "tools": [function]}
