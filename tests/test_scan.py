"""Cached answers for windows equal those of every rule, do not depend on earlier repairs, and are bounded in number."""

from __future__ import annotations

import base64
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache
from random import Random
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest

import chatmend
from chatmend import engine, rule_cache, scan, sketch
from chatmend.context import Context
from chatmend.dialects import DIALECTS
from chatmend.policy import Policy
from chatmend.rules import RULES, Rule
from chatmend.sketch import Sketch, SketchCache
from tests.broken import broken, torn
from tests.corpus import PIXEL
from tests.documents.pdfs import by_pillow
from tests.every_rule import account, every_rule, forget
from tests.scale import examples, sampled, seeds
from tests.targets import ALL
from tests.twins import twins, unlike

if TYPE_CHECKING:
    from chatmend.targets import Target

CLAUDE, GPT = "anthropic/claude-sonnet-4-5", "openai/gpt-4o"
OLLAMA = "ollama_chat/qwen3.5"


@pytest.mark.parametrize(("dialect", "target"), sampled(ALL, ALL[::9]))
def test_a_twin_is_repaired_as_by_every_rule(dialect: str, target: str) -> None:
    tried = seeds(5, 40, ALL.index((dialect, target)))
    found = list(unlike(dialect, target, examples(1, 15) / 400, seed=1, seeds=tried))
    assert not found, found[0]


def chat(*said: Any) -> list[Any]:
    """Return a user's question and the given messages."""
    return [{"role": "user", "content": "go"}, *said]


def call(name: str = "f", arguments: str = "{}", call_id: str = "call_1") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


SIGNED = {"type": "thinking", "thinking": "Hm.", "signature": "EqoB" + "q" * 200}
TEXT_PART = {"type": "text", "text": "a"}
MARKER = {"type": "ephemeral", "ttl": "1h"}


def exchange(*calls: dict[str, Any], between: tuple[Any, ...] = ()) -> list[Any]:
    """Return a question, calls, their results, and the next question."""
    results = [{"role": "tool", "tool_call_id": one["id"], "content": "18"} for one in calls]
    said = {"role": "assistant", "content": None, "tool_calls": list(calls)}
    return chat(said, *between, *results, {"role": "user", "content": "and?"})


def thought(signature: str) -> list[Any]:
    blocks = [
        {"type": "thinking", "thinking": "Hm.", "signature": signature},
        {"type": "text", "text": "Yes."},
    ]
    return chat({"role": "assistant", "content": blocks}, {"role": "user", "content": "and?"})


def item(item_id: str) -> list[Any]:
    made = {
        "type": "function_call",
        "id": item_id,
        "call_id": "call_1",
        "name": "f",
        "arguments": "{}",
    }
    return chat(made, {"type": "function_call_output", "call_id": "call_1", "output": "18"})


def hosted(call_id: str) -> list[Any]:
    asked = {"type": "server_tool_use", "id": call_id, "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": call_id, "content": []}
    text = {"type": "text", "text": "b"}
    return chat({"role": "assistant", "content": [asked, found, text]})


def signed(signature: str) -> list[Any]:
    part = {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": signature}
    answer = {"functionResponse": {"name": "f", "response": {"output": "18"}}}
    user = {"role": "user", "parts": [{"text": "go"}]}
    return [user, {"role": "model", "parts": [part]}, {"role": "user", "parts": [answer]}]


def responded(reference: str) -> list[Any]:
    image = {"mimeType": "image/png", "data": PIXEL, "displayName": "a"}
    answer = {"name": "f", "response": {"$ref": reference}, "parts": [{"inlineData": image}]}
    user, asked, _ = signed("b" * 64)
    return [user, asked, {"role": "user", "parts": [{"functionResponse": answer}]}]


def file(name: str) -> list[Any]:
    return [
        {
            "role": "user",
            "content": [{"type": "file", "file": {"file_id": name, "format": "application/pdf"}}],
        }
    ]


def pdf(data: str) -> list[Any]:
    source = {"type": "base64", "media_type": "application/pdf", "data": data}
    return [{"role": "user", "content": [{"type": "document", "source": source}]}]


def attached(media_type: str) -> list[Any]:
    url = f"data:{media_type};base64,JVBERi0xLjQK"
    return [
        {"role": "user", "content": [{"type": "file", "file": {"filename": "a", "file_data": url}}]}
    ]


def linked(url: str) -> list[Any]:
    return [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]


def named(name: str) -> list[Any]:
    return [{"role": "user", "name": name, "content": "go"}]


def said(text: str) -> list[Any]:
    return exchange(call(), between=({"role": "assistant", "content": text},))


def distinct_calls() -> Target:
    """Return Claude's target with a converter that keeps only one of equal calls, as LiteLLM's does for Gemini."""
    known = chatmend.resolve(CLAUDE)
    return replace(known, limits=replace(known.limits, equal_calls=False), spoken={})


def held_json(key: str) -> list[Any]:
    use = {"toolUse": {"toolUseId": "tooluse_1", "name": "f", "input": {}}}
    content = [{"json": {"item": {key: "T"}}}]
    return [
        {"role": "user", "content": [{"text": "go"}]},
        {"role": "assistant", "content": [use]},
        {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": "tooluse_1", "content": content}}],
        },
    ]


def screened(url: str) -> list[Any]:
    use = {
        "type": "computer_call",
        "id": "cu_1",
        "call_id": "c1",
        "action": {"type": "screenshot"},
        "pending_safety_checks": [],
        "status": "completed",
    }
    shot = {"type": "computer_screenshot", "image_url": url}
    return [
        {"role": "user", "content": "go"},
        use,
        {"type": "computer_call_output", "call_id": "c1", "output": shot},
    ]


_LONG = base64.b64encode(by_pillow(101)).decode()
PROOF = "EqQBCkYIARgCKkA" + "b" * 160 + "=="
DISTINCT = distinct_calls()
BEDROCK = "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0"


def streamed(index: int) -> list[Any]:
    delta = {"index": index, "function": {"arguments": "{}"}}
    user, said, *results = exchange({"index": 0, **call(arguments="")})
    return [user, {**said, "tool_calls": [*said["tool_calls"], delta]}, *results]


TWINS: dict[str, tuple[str, str | Target, list[Any], list[Any]]] = {
    "foreign-thinking": ("anthropic_messages", CLAUDE, thought(PROOF), thought("rs_1")),
    "unknown-part": ("openai_chat", "gemini/gemini-2.5-flash", file("https://g.example/files/a"), file("a")),
    "nested-type-key": ("bedrock_converse", BEDROCK, held_json("type"), held_json("__type")),
    "stored-delta": ("openai_chat", GPT, streamed(1), streamed(0)),
    "foreign-file": ("openai_chat", GPT, file("file-abcdefgh"), file("file_01abcdefghijklmnop")),
    "refused-document-type": ("openai_chat", GPT, attached("application/pdf"), attached("text/csv")),
    "mislabelled-document": ("anthropic_messages", CLAUDE, pdf("JVBERi0xLjQK"), pdf("data:application/pdf;base64,JVBERi0xLjQK")),
    "oversized-document": ("anthropic_messages", CLAUDE, pdf("JVBERi0xLjQK"), pdf(_LONG)),
    "unsupported-recording": ("openai_chat", GPT, attached("application/pdf"), attached("video/mp4")),
    "unreachable-image": ("openai_chat", GPT, linked("https://example.com/a.png"), linked("file:///a.png")),
    "unreadable-document": ("anthropic_messages", CLAUDE, pdf("JVBERi0xLjQK"), pdf("iVBORw0KGgo=")),
    "late-tool-result": ("openai_chat", GPT, said("[continued]"), said("It is 18.")),
    "invalid-call-id": ("openai_chat", GPT, exchange(call()), exchange(call(call_id="c" * 80))),
    "incomplete-item": ("openai_responses", GPT, screened("https://example.com/a.png"), screened("[image omitted]")),
    "invalid-item-id": ("openai_responses", GPT, item("fc_1"), item("msg_1")),
    "invalid-tool-name": ("openai_chat", GPT, exchange(call()), exchange(call("f g"))),
    "invalid-tool-arguments": ("openai_chat", CLAUDE, exchange(call()), exchange(call(arguments="[}"))),
    "split-server-tool": ("anthropic_messages", CLAUDE, hosted("srvtoolu_1"), hosted("call.1")),
    "lone-surrogate": ("openai_chat", GPT, exchange(call()), exchange(call(arguments='{"a": "\\ud800"}'))),
    "parallel-calls": (
        "openai_chat", DISTINCT, exchange(call(), call(call_id="call_2", arguments='{"a": 1}')),
        exchange(call(), call(call_id="call_2")),
    ),
    "invalid-thought-signature": ("gemini_contents", "gemini/gemini-3-pro-preview", signed("b" * 64), signed("rs_1")),
    "unresolved-reference": ("gemini_contents", "gemini/gemini-3-pro-preview", responded("a"), responded("b")),
    "refused-key": ("openai_chat", GPT, named("Bob"), named("Bob <b@example.org>")),
    "trailing-assistant": (
        "openai_chat", CLAUDE, chat({"role": "assistant", "content": "It is"}),
        chat({"role": "assistant", "content": "It is "}),
    ),
}  # fmt: skip
"""For each rule that judges values, two transcripts that differ in one value: the first is valid, the second is not."""


def test_each_rule_that_judges_values_has_its_twin() -> None:
    """The rules about images share one judge and are tested separately.

    The rules about names of documents, refused blocks, media markers and reasoning details run on every window
    where they are needed. A document in a foreign format is never valid. The rule about parts that a client
    library cannot send is tested with LangChain's messages.
    """
    images = next(rule.judges for rule in RULES if rule.name == "heavy-image")
    judging = {
        rule.name for rule in RULES if (rule.judges or rule.watches) and rule.judges is not images
    }
    apart = {"invalid-document", "refused-block", "foreign-document-part", "unsendable-part"}
    apart |= {"missing-reasoning-details", "media-marker"}
    apart |= {"private-metadata"}  # judges only if the policy asks for it
    assert set(TWINS) == judging - apart


@lru_cache
def without(name: str) -> tuple[Rule, ...]:
    """Return the rules, with ``name`` declared to depend on structure alone; the others check every window."""
    return tuple(
        replace(rule, judges={}, watches=None) if rule.name == name else replace(rule, judges=None)
        for rule in RULES
    )


def is_missed_without_judges(name: str) -> bool:
    """Return whether the twin of a rule is repaired by it, but not if the rule declares no judges."""
    dialect, target, fine, twin = TWINS[name]

    def found(messages: list[Any]) -> bool:
        done = chatmend.repair(messages, target, dialect=dialect)
        return name in {change.rule for change in done.changes}

    def is_learnt_as_clean() -> bool:
        forget()
        return [found(fine) for _ in range(3)] == [False] * 3

    if not is_learnt_as_clean() or not found(twin):
        return False
    with patch.object(engine, "rules_for", lambda *_: without(name)):
        return is_learnt_as_clean() and not found(twin)


@pytest.mark.parametrize("name", TWINS)
def test_a_rule_that_does_not_say_what_it_judges_is_found_out(name: str) -> None:
    assert is_missed_without_judges(name)


def test_a_judge_of_all_parts_is_asked_of_words_too() -> None:
    cache = SketchCache({"parts": [(None, lambda part: part.get("text") == "b")]})
    one, other = ({"role": "user", "content": [{"type": "text", "text": text}]} for text in "ab")
    assert Sketch(cache).message(one) != Sketch(cache).message(other)


def test_a_rule_that_judges_a_column_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match=r"long-text: unknown column 'text'; use one of .*texts"):
        Rule("TEXT900", "long-text", lambda *_: (), {"text": lambda *_: None})


@pytest.mark.parametrize("target", [CLAUDE, GPT, "mistral/open-mistral-7b"])
def test_what_came_before_changes_nothing(target: str) -> None:
    said = [broken(seed, "openai_chat") for seed in range(examples(20, 200))]
    forget()
    forwards = [account(chatmend.repair(messages, target)) for messages in said]
    forget()
    backwards = [account(chatmend.repair(messages, target)) for messages in reversed(said)]
    assert forwards == backwards[::-1]


def test_what_is_learnt_has_a_bound_and_changes_nothing_beyond_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = [make(seed, "openai_chat") for seed in range(20) for make in (broken, torn)]
    forget()
    free = [account(chatmend.repair(messages, GPT)) for messages in said]
    forget()
    monkeypatch.setattr(rule_cache, "MAX_ENTRIES", 8)
    monkeypatch.setattr(scan, "MAX_ENTRIES", 8)
    monkeypatch.setattr(sketch, "_MAX_ENTRIES", 8)
    for _ in range(2):
        assert [account(chatmend.repair(messages, GPT)) for messages in said] == free
        store = learnt(GPT)
        held = (
            store.structures,
            store.groups,
            store.met,
            store.windows,
            store.sketches.plans,
            store.sketches.ids,
            *store.clean.values(),
        )
        assert max(map(len, held)) <= 8 + max(map(len, said))
    forget()


def learnt(target: str) -> Any:
    """Return the cache for a target."""
    limits = Policy().apply(chatmend.resolve(target).limits_in("openai_chat"))
    return rule_cache.cache_for(Context(limits, DIALECTS["openai_chat"], Policy()), RULES)


def test_threads_learn_together() -> None:
    said = [broken(seed, "openai_chat") for seed in range(examples(20, 200))]
    forget()
    alone = [account(chatmend.repair(messages, CLAUDE)) for messages in said]
    forget()
    with ThreadPoolExecutor(8) as pool:
        together = list(
            pool.map(lambda messages: account(chatmend.repair(messages, CLAUDE)), said * 4)
        )
    assert together == alone * 4


@pytest.mark.parametrize(("dialect", "target"), sampled(ALL, ALL[::5]))
def test_messages_of_one_form_have_one_structure(dialect: str, target: str) -> None:
    """Messages with the same form on the fast path must have the same full structure, apart from the order of keys."""
    seen: dict[object, object] = {}
    for seed in range(examples(10, 100)):
        told_apart_by_form(broken(seed, dialect), dialect, target, seen)
        told_apart_by_form(torn(seed, dialect), dialect, target, seen)


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": "a", "thinking_blocks": [SIGNED, SIGNED]},
        {"role": "assistant", "content": None, "tool_calls": [call()], "thinking_blocks": [SIGNED]},
        {"role": "user", "content": [{"type": "text", "text": "a", "cache_control": MARKER}]},
        {"role": "user", "content": [TEXT_PART, {**TEXT_PART, "cache_control": MARKER}]},
    ],
)
@pytest.mark.parametrize("target", [CLAUDE, GPT])
def test_twins_of_one_form_have_one_structure(message: dict[str, Any], target: str) -> None:
    tried = [message, *(changed[0] for changed in twins([message], Random(0)))]
    seen = told_apart_by_form(tried, "openai_chat", target, {})
    assert seen


def told_apart_by_form(
    messages: list[Any], dialect: str, target: str, seen: dict[object, object]
) -> dict[object, object]:
    """Fail if messages of one form differ in their structure; return the structures by form."""
    spoken: Any = DIALECTS[dialect]
    store = cache_of(dialect, target)
    for message in messages:
        look, walk = Sketch(store.sketches), Sketch(store.sketches)
        form = spoken.sketch(message, look)
        if form is None:
            continue
        structure = sorted(map(str, walk.message(in_order(message))))
        assert seen.setdefault((form, *look.unusual), structure) == structure, message
        assert sorted(look.ids) == sorted(walk.ids)
        assert sorted(look.names) == sorted(walk.names)
    return seen


@lru_cache
def cache_of(dialect: str, target: str) -> rule_cache.RuleCache:
    limits = chatmend.resolve(target).limits_in(dialect)
    return rule_cache.RuleCache(DIALECTS[dialect].TRAITS, limits, RULES)


def test_messages_with_other_refused_ids_have_one_structure() -> None:
    """The position of a message in the transcript is not part of its structure."""
    forget()
    messages = [
        message
        for number in range(40)
        for message in exchange(call(name="f g", call_id=f"call.{number}"))
    ]
    chatmend.repair(messages, CLAUDE)
    structures = len(learnt(CLAUDE).structures)
    forget()
    chatmend.repair(messages[:40], CLAUDE)
    assert len(learnt(CLAUDE).structures) == structures


def in_order(value: Any) -> Any:
    """Return a value with the keys of every dict sorted."""
    if isinstance(value, dict):
        return {key: in_order(value[key]) for key in sorted(value)}
    return [in_order(item) for item in value] if isinstance(value, list) else value


def test_a_memory_of_other_windows_is_told_apart() -> None:
    """The same messages, once with an id used before and once with a new one."""
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    turn = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "18"},
    ]
    other = [
        turn[0],
        {**turn[1], "tool_calls": [{**call, "id": "call_2"}]},
        {**turn[2], "tool_call_id": "call_2"},
    ]
    end = [{"role": "user", "content": "and?"}]
    for _ in range(3):
        assert chatmend.repair([*turn, *other, *end], CLAUDE).changes == ()
        codes = {change.code for change in chatmend.repair([*turn, *turn, *end], CLAUDE).changes}
        assert codes == {"TOOL011"}


def late_result(called: str, answered: str) -> list[Any]:
    """Return a call without an id, and behind its result that of a call of an earlier turn."""
    earlier: Any = [
        {"id": f"c{at}", "function": {"name": name, "arguments": {}}}
        for at, name in enumerate((answered, "other"))
    ]
    last = {"function": {"name": called, "arguments": {}}}
    return [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "", "tool_calls": earlier},
        {"role": "tool", "tool_call_id": "c1", "tool_name": "other", "content": "17"},
        {"role": "assistant", "content": "", "tool_calls": [last]},
        {"role": "tool", "content": "18"},
        {"role": "tool", "tool_call_id": "c0", "tool_name": answered, "content": "19"},
        {"role": "user", "content": "and?"},
    ]  # fmt: skip


@pytest.mark.parametrize("is_collected", [True, False])
def test_results_with_the_name_of_a_call_are_told_apart(
    monkeypatch: pytest.MonkeyPatch, *, is_collected: bool
) -> None:
    """Ollama matches a result to a call without an id by the name under ``tool_name``.

    A structure with a name that the sketch does not collect is not cached.
    """
    if not is_collected:
        monkeypatch.delitem(sketch._COLUMNS, "tool_name")
    same, other = late_result("f", "f"), late_result("f", "g")
    expected = []
    for messages in (same, other):
        with every_rule():
            expected.append(account(chatmend.repair(messages, OLLAMA, dialect="ollama_chat")))
    for first, second in ((0, 1), (1, 0)):
        forget()
        for _ in range(3):
            for at in (first, second):
                done = chatmend.repair((same, other)[at], OLLAMA, dialect="ollama_chat")
                assert account(done) == expected[at]
    forget()
