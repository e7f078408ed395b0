"""Every rule is needed and named only in the table, and cached answers for windows equal those of all rules."""

from __future__ import annotations

import ast
import json
from collections import OrderedDict
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import chatmend
from chatmend import Effect, engine, known_transcripts
from chatmend.dialects import DIALECTS
from chatmend.rules import FIRST, IMAGE_RULES, LAST, RULES
from chatmend.targets import known_providers
from tests import corpus
from tests.broken import broken
from tests.every_rule import account, every_rule
from tests.promises import broken_promises
from tests.scale import IS_NIGHTLY, seeds
from tests.targets import ALL

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOM = Path(chatmend.__file__).parent / "rules"
OPENAI, CLAUDE, STRICT = "openai/gpt-4o", "anthropic/claude-sonnet-4-5", "strict"
GPT = "openai/gpt-5"
GEMMA, LLAMA = "hosted_vllm/google/gemma-2-9b-it", "hosted_vllm/meta-llama/Llama-3.1-8B-Instruct"

NEEDED = {
    "unreadable-message": ("openai_responses", GPT, "own:item-of-unknown-type"),
    "lone-surrogate": ("openai_chat", OPENAI, "surrogate-in-text"),
    "foreign-thinking": ("anthropic_messages", CLAUDE, "thinking-unsigned"),
    "unknown-role": ("openai_chat", OPENAI, "role-model"),
    "legacy-function": ("openai_chat", CLAUDE, "legacy-function-call"),
    "invalid-document": (
        "bedrock_converse",
        "bedrock/us.amazon.nova-pro-v1:0",
        "own:document-with-a-file-name",
    ),
    "unknown-part": ("openai_chat", OPENAI, "part-a-number"),
    "malformed-tool-call": ("openai_chat", OPENAI, "call-in-user"),
    "unsupported-tools": ("openai_chat", GEMMA, "result-after-next-assistant"),
    "missing-call-id": ("openai_chat", "gemini/gemini-2.5-flash", "call-without-id"),
    "duplicate-tool-result": ("openai_chat", CLAUDE, "duplicate-result"),
    "orphan-tool-result": ("openai_chat", OPENAI, "orphan-result"),
    "late-tool-result": ("openai_chat", OPENAI, "result-behind-user"),
    "missing-tool-result": ("openai_chat", OPENAI, "result-after-next-assistant"),
    "split-assistant-turn": ("openai_chat", OPENAI, "assistant-split-between-calls"),
    "tool-result-order": ("openai_chat", "gemini/gemini-2.5-flash", "result-after-next-assistant"),
    "parallel-calls": ("openai_chat", LLAMA, "result-after-next-assistant"),
    "duplicate-call-id": ("openai_chat", CLAUDE, "same-id-in-one-message"),
    "invalid-call-id": ("openai_chat", OPENAI, "id-too-long"),
    "invalid-tool-name": ("openai_chat", OPENAI, "tool-name-illegal"),
    "invalid-tool-arguments": ("openai_chat", OPENAI, "arguments-none"),
    "invalid-cache-marker": ("openai_chat", CLAUDE, "cache-marker-on-thinking"),
    "refused-key": ("gemini_contents", "gemini/gemini-2.5-flash", "orphan-result"),
    "null-content": ("openai_chat", OPENAI, "user-content-none"),
    "listed-content": ("openai_chat", "groq/llama-3.3-70b-versatile", "tool-content-empty-list"),
    "misplaced-system": ("openai_chat", STRICT, "several-systems"),
    "empty-text": ("openai_chat", CLAUDE, "tool-content-empty-list"),
    "trailing-thinking": ("openai_chat", CLAUDE, "thinking-last"),
    "leading-assistant": ("openai_chat", STRICT, "forged-continuation"),
    "consecutive-roles": ("openai_chat", STRICT, "orphan-result"),
    "trailing-assistant": ("openai_chat", "mistral/open-mistral-7b", "no-user"),
    "foreign-message": ("openai_responses", GPT, "own:chat-messages-left"),
    "orphan-reasoning": ("openai_responses", GPT, "own:reasoning-orphan"),
    "invalid-item-id": ("openai_responses", GPT, "own:item-id-of-another-type"),
    "unsupported-item": (
        "openai_responses",
        "llamacpp/openai/gpt-oss-20b",
        "own:provider-tool-used",
    ),
    "unnamed-result": ("gemini_contents", "gemini/gemini-2.5-flash", "own:response-not-an-object"),
}
"""For each rule, the mutation of a transcript whose repair breaks a promise without the rule."""
TOLD_ELSEWHERE = {
    "refused-block",
    "missing-reasoning-details",
    "late-thinking",
    "media-marker",
    "stored-delta",
    "split-server-tool",
    "scattered-results",
    "invalid-thought-signature",
    "misspelt-signature",
    "missing-reasoning",
    "misnamed-reasoning",
    "emptied-window",
    "unstored-item",
    "incomplete-item",
    "unreadable-document",
    "foreign-document-part",
    "refused-document-type",
    "oversized-document",
    "mislabelled-document",
    "unsupported-recording",
    "foreign-file",
    "mirrored-call",
    "unsendable-key",
    "unsendable-part",
    "repeated-item",
    "nested-result",
    "nested-type-key",
    "unresolved-reference",
}
"""Rules for defects that no mutation makes or no independent judge knows: stories and cases check their output."""


def test_each_rule_has_its_proof() -> None:
    """The rules about images are tested in tests/images."""
    assert set(NEEDED) | TOLD_ELSEWHERE == {rule.name for rule in RULES if rule not in IMAGE_RULES}


@pytest.mark.parametrize("name", NEEDED)
def test_without_the_rule_a_promise_is_broken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dialect, target, mutation = NEEDED[name]
    seed = 2 if name in ("unreadable-message", "foreign-message") else 1
    messages = broken(seed, dialect, [mutation])
    assert not list(broken_promises(messages, target, dialect))
    others = tuple(rule for rule in RULES if rule.name != name)
    monkeypatch.setattr(engine, "rules_for", lambda *_: others)
    # What is clean without the rule is not remembered for other tests.
    monkeypatch.setattr(known_transcripts, "_SOURCES", {})
    assert list(broken_promises(messages, target, dialect))


def test_a_dropped_result_does_not_join_two_answers_that_were_sent_apart() -> None:
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "one"},
        {"role": "tool", "tool_call_id": "gone", "content": "whose?"},
        {"role": "assistant", "content": "two"},
    ]
    done = chatmend.repair(messages, STRICT, policy=chatmend.Policy.drop_instead_of_note())
    assert done.messages[2] == {"role": "user", "content": "[continued]"}
    assert (
        done.messages[:3]
        == chatmend.repair(
            messages[:3], STRICT, policy=chatmend.Policy.drop_instead_of_note()
        ).messages[:3]
    )


def test_a_call_without_the_reasoning_that_the_model_wants_back_gets_a_blank_one() -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "done"},
    ]
    sent = chatmend.repair(
        messages, "moonshot/kimi-k2-thinking", thinking={"type": "enabled"}
    ).messages
    assert sent[1]["reasoning_content"] == " "
    assert sent[1]["tool_calls"] == [call]


@pytest.mark.parametrize(
    ("target", "wants_all"),
    [
        ("deepseek/deepseek-v4-pro", True),
        ("openrouter/deepseek/deepseek-v4-flash", True),
        ("deepseek/deepseek-chat", False),
        ("fireworks_ai/deepseek-v4-pro", False),
        ("moonshot/kimi-k2-thinking", False),
    ],
)
def test_with_tools_deepseek_gets_a_blank_reasoning_in_every_answer(
    target: str,
    wants_all: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """Kimi wants it only with calls; other hosts of DeepSeek do not check."""
    answers: list[Any] = [{"role": "assistant", "content": "a"}, {"role": "user", "content": "on"}]
    own = {"role": "assistant", "content": "b", "reasoning_content": "hm"}
    messages = [{"role": "user", "content": "go"}, *answers, own, answers[1]]
    tools = [{"type": "function", "function": {"name": "f"}}]
    assert chatmend.repair(messages, target).changes == ()
    done = chatmend.repair(messages, target, tools=tools)
    assert [(c.code, c.index) for c in done.changes] == [("THINK002", 1)] * wants_all
    assert done.messages[1].get("reasoning_content") == (" " if wants_all else None)
    assert done.messages[3] == own
    again = chatmend.repair(done.messages, target, tools=tools)
    assert again.messages is done.messages
    off = chatmend.repair(messages, target, tools=tools, thinking={"type": "disabled"})
    assert off.messages is messages
    prefix = [messages[0], {"role": "assistant", "content": "a", "prefix": True}]
    assert chatmend.repair(prefix, target, tools=tools).messages is prefix


@pytest.mark.parametrize(
    "target",
    ["deepseek/deepseek-v4-pro", "moonshot/kimi-k3", "openrouter/deepseek/deepseek-v4-pro"],
)
@pytest.mark.parametrize("wire", ["openai_chat", "anthropic_messages"])
def test_a_request_that_disables_thinking_needs_no_reasoning(target: str, wire: str) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    chat: list[Any] = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "done"},
    ]
    blocks: list[Any] = [
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"}],
        },
    ]
    messages = chat if wire == "openai_chat" else blocks
    for _ in range(2):  # the second time, the structure is known
        off = chatmend.repair(messages, target, dialect=wire, thinking={"type": "disabled"})
        assert "THINK002" not in {change.code for change in off.changes}
    if wire == "openai_chat" or target.startswith("deepseek"):
        for thinking in (None, {"keep": "all"}):
            unsaid = chatmend.repair(messages, target, dialect=wire, thinking=thinking)
            assert "THINK002" in {change.code for change in unsaid.changes}


def test_deepseeks_other_api_gets_a_blank_thinking_block_with_calls() -> None:
    """Answers without calls need none; models that do not think get none."""
    use = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"}
    thinking = {"type": "thinking", "thinking": "hm", "signature": "abc"}
    messages: list[Any] = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": "a"},
        {"role": "user", "content": "on"},
        {"role": "assistant", "content": [thinking, {**use, "id": "toolu_2"}]},
        {"role": "user", "content": [{**result, "tool_use_id": "toolu_2"}]},
    ]
    wire = {"dialect": "anthropic_messages"}
    done = chatmend.repair(messages, "deepseek/deepseek-v4-pro", **wire)
    blank = {"type": "thinking", "thinking": " ", "signature": ""}
    assert done.messages[1]["content"] == [blank, use]
    assert [(c.code, c.index, c.effect) for c in done.changes] == [
        ("THINK002", 1, chatmend.Effect.ADDS)
    ]
    again = chatmend.repair(done.messages, "deepseek/deepseek-v4-pro", **wire)
    assert again.messages is done.messages
    assert chatmend.repair(messages, "deepseek/deepseek-chat", **wire).messages is messages


@pytest.mark.parametrize(
    "block",
    [
        {"type": "thinking", "thinking": "", "signature": "abc"},
        {"type": "redacted_thinking", "data": "abc"},
    ],
)
def test_encrypted_thinking_is_kept_at_deepseeks_other_api(block: dict[str, Any]) -> None:
    use = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"}
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [block, use]},
        {"role": "user", "content": [result]},
    ]
    done = chatmend.repair(messages, "deepseek/deepseek-v4-pro", dialect="anthropic_messages")
    assert block in done.messages[1]["content"]


@pytest.mark.parametrize("target", ["ollama/qwen3.8:27b", "ollama/qwen3.5:27b"])
def test_qwen_at_ollama_gets_a_user_message_if_its_renderer_needs_one(target: str) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "system", "content": "s"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "done"},
    ]
    sent = chatmend.repair(messages, target).messages
    assert sent[:3] == messages
    assert sent[3:] == ([{"role": "user", "content": "[continued]"}] if "3.8" in target else [])


def same_as_with_every_rule(said: list[tuple[list[Any], str]], dialect: str) -> None:
    """Compare three repairs: the first of a structure, one that fills the cache, and one from the cache."""
    for messages, target in said:
        with every_rule():
            everything = account(chatmend.repair(messages, target, dialect=dialect))
        for _ in range(3):
            assert account(chatmend.repair(messages, target, dialect=dialect)) == everything


@pytest.mark.parametrize(("dialect", "target"), ALL)
def test_what_is_learnt_to_be_clean_no_rule_would_change(dialect: str, target: str) -> None:
    same_as_with_every_rule(
        [(broken(seed, dialect), target) for seed in seeds(1, 200, ALL.index((dialect, target)))],
        dialect,
    )


@pytest.mark.skipif(not corpus.ROOT.exists(), reason="the recorded requests are not at hand")
@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@pytest.mark.parametrize("name", ["requests_accepted", "requests_rejected"])
def test_in_recorded_requests_too(name: str, dialect: str) -> None:
    rows = [row for row in corpus.spoken(name) if corpus.DIALECTS[row["format"]] == dialect]
    same_as_with_every_rule(
        [
            (corpus.messages_of(row), corpus.target_of(row))
            for row in rows[:: 1 if IS_NIGHTLY else 5]
        ],
        dialect,
    )


USER: dict[str, Any] = {"role": "user", "content": "hi"}
CALL = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
CLAUDE, XAI, FLASH = "anthropic/claude-sonnet-4-5", "xai/grok-4", "gemini/gemini-2.5-flash"
CHAT, BLOCKS, ITEMS, CONTENTS = (
    "openai_chat",
    "anthropic_messages",
    "openai_responses",
    "gemini_contents",
)


def said(**keys: Any) -> dict[str, Any]:
    return {"role": "assistant", **keys}


def model(*parts: Any) -> list[Any]:
    return [
        {"role": role, "parts": parts}
        for role, parts in (("user", [{"text": "x"}]), ("model", list(parts)))
    ]


class Listed(list[Any]):
    """A subclass of list, as YAML readers return."""


ODD: list[tuple[str, str, list[Any], str]] = [
    (CHAT, GPT, [USER, OrderedDict(said(content=None, tool_calls=[CALL])), USER], "missing-tool-result"),
    (CHAT, GPT, [USER, said(content=None, tool_calls=Listed([CALL])), USER], "missing-tool-result"),
    (CHAT, CLAUDE, [OrderedDict(role="user", content="")], "empty-text"),
    (BLOCKS, CLAUDE, [USER, said(content=Listed([OrderedDict(type="tool_use", id="a", name="f", input={})])), USER],
     "missing-tool-result"),
    (CHAT, GPT, [USER, said(content=None, tool_calls=[{**CALL, "function": {**CALL["function"], "x": "\ud800"}}])],
     "lone-surrogate"),
    (CHAT, GPT, [USER, said(tool_calls="\ud800"), USER], "lone-surrogate"),
    (CHAT, "mistral/mistral-medium-latest", [{**USER, "prefix": True}], "refused-key"),
    (BLOCKS, CLAUDE, [{"role": "user", "content": [{"type": {}, "image_url": 1}]}], "unknown-part"),
    (ITEMS, GPT, [{**USER, "phase": "\ud800"}], "lone-surrogate"),
    (ITEMS, GPT, [{"role": "user", "content": [{"type": [], "image_url": 1}]}], "unknown-part"),
    (ITEMS, XAI, [USER, {"type": "reasoning", "summary": [{"type": "summary_text", "text": ""}]}, said(content="x")],
     "orphan-reasoning"),
    (CONTENTS, FLASH, [*model({"text": "y"}, {"thoughtSignature": "rs_1"}), *model()[:1]], "invalid-thought-signature"),
    (CONTENTS, FLASH, [{"role": "user", "parts": {"thoughtSignature": "CpcBAcu98PCQCpcBAcu98PCQ"}}],
     "unreadable-message"),
]  # fmt: skip
"""Cases that the fast path may miss: unexpected classes, types and positions."""


@pytest.mark.parametrize(("dialect", "target", "messages", "rule"), ODD)
def test_what_nobody_expects_is_seen_too(
    dialect: str, target: str, messages: list[Any], rule: str
) -> None:
    done = chatmend.repair(messages, target, dialect=dialect)
    assert rule in [change.rule for change in done.changes]
    assert chatmend.repair(done.messages, target, dialect=dialect).messages is done.messages


def test_dicts_of_a_class_of_their_own_stay_what_they_are() -> None:
    messages = [OrderedDict(USER), OrderedDict(said(content="x")), USER]
    assert chatmend.repair(messages, GPT).messages is messages


def test_no_thinking_makes_nothing_invalid() -> None:
    empty = {"role": "user", "content": ""}
    messages = [empty, said(content="yes"), empty, said(content="hi", thinking_blocks=[])]
    changes = chatmend.repair(messages, CLAUDE, dialect=CHAT).changes
    assert [(change.rule, change.invalidates_thinking) for change in changes] == [
        ("empty-text", False)
    ] * 2


def test_a_part_without_a_type_is_unknown_to_gateways_hygiene_too() -> None:
    messages = [USER, said(content=[{"type": "", "text": "x"}]), USER]
    done = chatmend.check(
        messages, "mistral/mistral-medium-latest", policy=chatmend.Policy.provider_hygiene()
    )
    assert [change.rule for change in done] == ["unknown-part"]


def words(path: Path) -> Iterator[str]:
    """Yield every name and string of a module except docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.Attribute | ast.Name):
            yield node.attr if isinstance(node, ast.Attribute) else node.id


def docstrings(path: Path) -> set[str]:
    tree = ast.parse(path.read_text("utf-8"))
    return {
        node.value.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    }


@pytest.mark.parametrize("path", sorted(ROOM.glob("*.py")), ids=lambda path: path.stem)
def test_a_rule_asks_limits_and_never_who_the_provider_is(path: Path) -> None:
    providers = set(known_providers()) - {"other", "strict"}
    told = docstrings(path)
    named = {word for word in words(path) if word not in told and word.lower() in providers}
    assert not named


@pytest.mark.parametrize("path", sorted(ROOM.glob("*.py")), ids=lambda path: path.stem)
def test_a_rule_sees_what_was_read_and_never_the_native_object(path: Path) -> None:
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    assert [
        node.lineno for node in nodes if isinstance(node, ast.Attribute) and node.attr == "native"
    ] == []


@pytest.mark.parametrize("path", sorted(ROOM.glob("*.py")), ids=lambda path: path.stem)
def test_a_rule_assigns_to_no_other_field_of_the_memory_than_a_trial_restores(path: Path) -> None:
    assigned = {
        node.attr
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "memory"
    }
    assert assigned <= {"server_calls", "id_counts"}


def test_every_code_and_name_is_used_once() -> None:
    rules = {(rule.code, rule.name) for rule in (*RULES, *FIRST, *LAST)}
    assert len({code for code, _ in rules}) == len(rules) == len({name for _, name in rules})


MARKED = {"type": "text", "text": "a", "cache_control": "ephemeral"}


def test_a_cache_marker_that_is_no_object_goes_wherever_the_format_is_anthropics() -> None:
    for target, marker in product(
        ("minimax/MiniMax-M2", "deepseek/deepseek-chat", CLAUDE), ("x", {"type": "forever"})
    ):
        messages = [{"role": "user", "content": [{**MARKED, "cache_control": marker}]}]
        done = chatmend.repair(messages, target, dialect="anthropic_messages")
        assert done.messages == [{"role": "user", "content": [{"type": "text", "text": "a"}]}], (
            target
        )


def test_what_is_known_of_markers_at_anthropic_is_not_asked_of_others() -> None:
    other = {**MARKED, "cache_control": {"type": "ephemeral", "ttl": "2h"}}
    messages = [{"role": "user", "content": [other]}]
    assert (
        chatmend.repair(messages, "minimax/MiniMax-M2", dialect="anthropic_messages").messages
        is messages
    )


def test_thinking_goes_where_gpt_oss_would_get_it_beside_content_and_calls() -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    said = {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [call],
        "thinking": "Look first.",
    }
    result = {"role": "tool", "tool_call_id": "call_1", "content": "done"}
    done = chatmend.repair(
        [{"role": "user", "content": "go"}, said, result], "hosted_vllm/openai/gpt-oss-120b"
    )
    assert done.messages[1] == {key: value for key, value in said.items() if key != "thinking"}
    assert [change.effect for change in done.changes] == [chatmend.Effect.DROPS]
    for taken in ({**said, "content": None}, {**said, "thinking": None}):
        messages = [{"role": "user", "content": "go"}, taken, result]
        assert chatmend.repair(messages, "hosted_vllm/openai/gpt-oss-120b").messages is messages


def test_an_entry_of_responses_with_no_more_of_a_message_than_its_type_becomes_a_text() -> None:
    entry = {"type": "message", "call_id": "call_1", "name": "run", "arguments": "{}", "id": "fc_1"}
    done = chatmend.repair([entry], GPT, dialect="openai_responses")
    assert done.messages == [{"role": "user", "content": json.dumps(entry)}]
    assert chatmend.repair(done.messages, GPT, dialect="openai_responses").messages is done.messages


def test_reasoning_that_xai_cannot_read_back_goes() -> None:
    said = [{"role": "user", "content": "go"}, {"role": "assistant", "content": "I went."}]
    thought = {
        "type": "reasoning",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "Hm."}],
    }
    done = chatmend.repair([said[0], thought, said[1]], "xai/grok-4", dialect="openai_responses")
    assert done.messages == said


CHUNK = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
REASONED = {"role": "assistant", "content": [CHUNK, {"type": "text", "text": "answer"}]}


@pytest.mark.parametrize(
    "model",
    ["magistral-medium-2509", "mistral-small-latest", "mistral-small-4", "mistral-medium-3.5"],
)
def test_models_of_mistral_that_reason_keep_their_thinking_chunks(model: str) -> None:
    messages = [{"role": "user", "content": "q"}, REASONED, {"role": "user", "content": "n"}]
    assert chatmend.repair(messages, f"mistral/{model}").messages is messages


@pytest.mark.parametrize(
    "target",
    [
        *("openai/gpt-4o", "azure/gpt-4o", "deepseek/deepseek-chat", "xai/grok-4", "zai/glm-4.6"),
        *("groq/llama-3.3-70b-versatile", "moonshot/kimi-k2-thinking", "dashscope/qwen-max"),
        *("openrouter/google/gemini-2.5-pro", "hosted_vllm/Qwen/Qwen3.5-32B", "ollama/llama3.1"),
        *("gemini/gemini-2.5-flash", "mistral/open-mistral-7b", "mistral/open-mistral-nemo"),
    ],
)
def test_a_thinking_chunk_never_becomes_a_text_of_the_answer(target: str) -> None:
    ask = {"role": "user", "content": "q"}
    done = chatmend.repair([ask, REASONED, ask], target)
    assert done.messages[1]["content"] == [{"type": "text", "text": "answer"}]
    assert [(change.code, change.effect) for change in done.changes] == [("THINK001", Effect.DROPS)]
    assert chatmend.repair(done.messages, target).messages is done.messages


def test_a_thinking_chunk_of_a_user_is_removed_for_mistral() -> None:
    text = {"type": "text", "text": "q"}
    messages = [{"role": "user", "content": [CHUNK, text]}]
    done = chatmend.repair(messages, "mistral/magistral-medium-2509")
    assert done.messages == [{"role": "user", "content": [text]}]
    assert [(change.code, change.effect) for change in done.changes] == [("THINK001", Effect.DROPS)]


def test_an_unknown_server_keeps_thinking_chunks() -> None:
    messages = [{"role": "user", "content": "q"}, REASONED, {"role": "user", "content": "n"}]
    assert chatmend.repair(messages, "my-server/mistral-large").messages is messages


@pytest.mark.parametrize("chunks", [[CHUNK], [CHUNK, CHUNK]])
def test_devstral_gets_no_thinking_chunks(chunks: list[Any]) -> None:
    ask, text = {"role": "user", "content": "q"}, {"type": "text", "text": "answer"}
    messages = [ask, {"role": "assistant", "content": [*chunks, text]}, ask]
    done = chatmend.repair(messages, "mistral/devstral-small-latest")
    assert done.messages == [ask, {"role": "assistant", "content": [text]}, ask]
    assert [change.code for change in done.changes] == ["THINK001"]
    bare = [ask, {"role": "assistant", "content": chunks}, ask]
    sent = chatmend.repair(bare, "mistral/devstral-small-latest").messages
    assert sent == [ask, {"role": "assistant", "content": "[continued]"}, ask]


@pytest.mark.parametrize(
    "model", ["openai/gpt-oss-120b", "qwen/qwen3-32b", "deepseek-r1-distill-llama-70b"]
)
def test_models_at_groq_that_reason_keep_their_reasoning(model: str) -> None:
    ask = {"role": "user", "content": "q"}
    messages = [ask, {"role": "assistant", "content": "a", "reasoning": "hm"}, ask]
    assert chatmend.repair(messages, f"groq/{model}").messages is messages
    renamed = [ask, {"role": "assistant", "content": "a", "reasoning_content": "hm"}, ask]
    assert chatmend.repair(renamed, f"groq/{model}").messages == messages


@pytest.mark.parametrize("model", ["moonshotai/kimi-k2-instruct-0905", "llama-3.3-70b-versatile"])
@pytest.mark.parametrize("key", ["reasoning", "reasoning_content"])
def test_models_at_groq_that_do_not_reason_get_no_reasoning(model: str, key: str) -> None:
    ask, bare = {"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}
    done = chatmend.repair([ask, {**bare, key: "hm"}, ask], f"groq/{model}")
    assert done.messages == [ask, bare, ask]
    assert [(change.code, change.effect.name) for change in done.changes] == [("KEY001", "DROPS")]
