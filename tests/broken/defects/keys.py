"""Keys that leak from frameworks, reasoning that does not fit, cache markers in the wrong places."""

from random import Random
from typing import Any

from ..nested import copied
from ..sites import calls, dicts, parts, pick, thoughts
from ..tokens import fresh
from ..wires import Native, Wire, text_part
from .defect import Defect, Defects

DEFECTS = Defects()

LEAKED: dict[str, tuple[Any, ...]] = {
    "reasoning_content": ("", "I should look.", None),
    "reasoning": ("I should look.", {"summary": []}),
    "provider_specific_fields": ({"refusal": None}, {"citations": [{"text": "a"}]}, None),
    "annotations": ([], [{"type": "url_citation", "url_citation": {"url": "https://example.com"}}]),
    "refusal": (None, "No."),
    "audio": (None,),
    "_provenance": (
        {"provider": "openai", "model": "gpt-4.1"},
        {"provider": "gemini", "model": None},
    ),
    "created_at": (1_730_000_000, "2025-01-01"),
}
MARKER = {"type": "ephemeral"}


def _leak(key: str) -> Defect:
    def defect(messages: list[Any], rng: Random, wire: Wire) -> None:
        for index in pick(rng, [at for at in dicts(messages) if key not in messages[at]]):
            messages[index][key] = copied(rng.choice(LEAKED[key]))

    return defect


for _key in LEAKED:
    DEFECTS.add(f"leaked-{_key.strip('_').replace('_', '-')}", _leak(_key))


@DEFECTS.both
def leaked_keys_everywhere(messages: list[Any], rng: Random, wire: Wire) -> None:
    for index in dicts(messages, "assistant"):
        leaked = {key: copied(values[0]) for key, values in LEAKED.items()}
        messages[index].update(
            (key, value) for key, value in leaked.items() if key not in messages[index]
        )


@DEFECTS.both
def leaked_keys_on_parts(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(rng, parts(messages) + calls(messages)):
        site.native.update(
            {"index": 0, "caller": {"type": "direct"}, "citations": None, "id_": "x"}
        )


@DEFECTS.both
def key_not_a_string(messages: list[Any], rng: Random, wire: Wire) -> None:
    for index in pick(rng, dicts(messages)):
        messages[index][rng.choice((1, None, ("a", "b")))] = fresh(rng)


@DEFECTS.both
def name_legal(messages: list[Any], rng: Random, wire: Wire) -> None:
    for index in pick(rng, dicts(messages)):
        messages[index]["name"] = "Ann-2"


@DEFECTS.both
def name_illegal(messages: list[Any], rng: Random, wire: Wire) -> None:
    for index in pick(rng, dicts(messages)):
        messages[index]["name"] = rng.choice(("Ann Müller", "a" * 70, "", None, 3, "<ann>", "a\\b"))


def _thinking(messages: list[Any], rng: Random, wire: Wire, block: Native) -> None:
    """Put a block before what an assistant says."""
    for index in pick(rng, dicts(messages, "assistant")):
        message = messages[index]
        content = message.get("content")
        if wire.dialect == "openai_chat":
            known = message.get("thinking_blocks")
            message["thinking_blocks"] = [block, *(known if isinstance(known, list) else [])]
        elif isinstance(content, list):
            content.insert(0, block)
        else:
            message["content"] = [
                block,
                *([text_part(content)] if isinstance(content, str) else []),
            ]


@DEFECTS.both
def thinking_unsigned(messages: list[Any], rng: Random, wire: Wire) -> None:
    _thinking(messages, rng, wire, {"type": "thinking", "thinking": f"Think of {fresh(rng)}."})


@DEFECTS.both
def thinking_signature_blank(messages: list[Any], rng: Random, wire: Wire) -> None:
    block = {
        "type": "thinking",
        "thinking": f"Think of {fresh(rng)}.",
        "signature": rng.choice(("", " ", None)),
    }
    _thinking(messages, rng, wire, block)


@DEFECTS.both
def thinking_signed_without_text(messages: list[Any], rng: Random, wire: Wire) -> None:
    _thinking(messages, rng, wire, {"type": "thinking", "thinking": "", "signature": "c2lnbmVk"})


@DEFECTS.both
def thinking_redacted(messages: list[Any], rng: Random, wire: Wire) -> None:
    _thinking(
        messages, rng, wire, {"type": "redacted_thinking", "data": rng.choice(("b3BhcXVl", ""))}
    )


@DEFECTS.both
def thinking_of_other_provider(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(rng, thoughts(messages)):
        messages[site.index]["_provenance"] = {"provider": "gemini", "model": "gemini-2.5-pro"}
        site.native["signature"] = "Q2lnbmF0dXJlIG9mIEdlbWluaQ=="


@DEFECTS.both
def thinking_last(messages: list[Any], rng: Random, wire: Wire) -> None:
    for index in pick(rng, dicts(messages, "assistant")):
        content = messages[index].get("content")
        old = (
            content
            if isinstance(content, list)
            else [text_part(content)]
            if isinstance(content, str)
            else []
        )
        block = {
            "type": "thinking",
            "thinking": f"Afterthought {fresh(rng)}.",
            "signature": "bGFzdA==",
        }
        messages[index]["content"] = [*old, block]


@DEFECTS.both
def thinking_signature_misspelt(messages: list[Any], rng: Random, wire: Wire) -> None:
    """The signature is under the key of another API, or the text is missing."""
    block = {"type": "thinking", "thinking": f"Think of {fresh(rng)}.", "signature": "c2lnbmVk"}
    if rng.random() < 0.7:
        block[rng.choice(("thoughtSignature", "thinkingSignature"))] = block.pop("signature")
    else:
        del block["thinking"]
    _thinking(messages, rng, wire, block)


@DEFECTS.openai
def thinking_behind_text(messages: list[Any], rng: Random, wire: Wire) -> None:
    """The chunk of a reasoning model of Mistral, behind the empty text with which its stream begins, or behind words."""
    chunk = {"type": "thinking", "thinking": [text_part(f"Plan {fresh(rng)}.")]}
    before = text_part(rng.choice(("", f"Well, {fresh(rng)}.")))
    said = [before, chunk, text_part(f"So {fresh(rng)}.")]
    messages.insert(rng.randint(0, len(messages)), wire.assistant(said))


@DEFECTS.both
def thinking_only(messages: list[Any], rng: Random, wire: Wire) -> None:
    block = {"type": "thinking", "thinking": f"Only {fresh(rng)}.", "signature": "b25seQ=="}
    messages.insert(rng.randint(0, len(messages)), wire.assistant(None, (), [block]))


@DEFECTS.both
def thinking_in_user(messages: list[Any], rng: Random, wire: Wire) -> None:
    block = {"type": "thinking", "thinking": f"User {fresh(rng)}.", "signature": "dXNlcg=="}
    messages.insert(
        rng.randint(0, len(messages)),
        {"role": "user", "content": [block, text_part(f"Yes, {fresh(rng)}.")]},
    )


@DEFECTS.both
def thought_signature_in_extra_content(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(rng, calls(messages)):
        signature = rng.choice(("msg_0123-not base64!", "", "Q2FsbA=="))
        site.native["extra_content"] = {"google": {"thought_signature": signature}}


@DEFECTS.both
def thought_signature_in_provider_fields(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(rng, calls(messages)):
        site.native["provider_specific_fields"] = {
            "thought_signature": rng.choice(("rs_0abc*", None, "Q2FsbA=="))
        }


@DEFECTS.openai
def reasoning_content_missing(messages: list[Any], rng: Random, wire: Wire) -> None:
    for index in pick(
        rng, [at for at in dicts(messages, "assistant") if "reasoning_content" in messages[at]]
    ):
        del messages[index]["reasoning_content"]


@DEFECTS.both
def cache_markers_on_six_parts(messages: list[Any], rng: Random, wire: Wire) -> None:
    marked = [
        {**text_part(f"Marked {fresh(rng)}."), "cache_control": dict(MARKER)} for _ in range(6)
    ]
    messages.insert(rng.randint(0, len(messages)), {"role": "user", "content": marked})


@DEFECTS.both
def cache_markers_everywhere(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in parts(messages):
        site.native["cache_control"] = dict(MARKER)
    for index in dicts(messages, "tool", "system"):
        messages[index]["cache_control"] = dict(MARKER)


@DEFECTS.both
def cache_marker_on_blank_text(messages: list[Any], rng: Random, wire: Wire) -> None:
    content = [
        text_part(f"Before {fresh(rng)}."),
        {**text_part(rng.choice(("", " "))), "cache_control": dict(MARKER)},
    ]
    messages.insert(rng.randint(0, len(messages)), {"role": "user", "content": content})


@DEFECTS.both
def cache_marker_on_thinking(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(
        rng, [site for site in thoughts(messages) if "cache_control" not in site.native]
    ):
        site.native["cache_control"] = dict(MARKER)


@DEFECTS.both
def cache_marker_malformed(messages: list[Any], rng: Random, wire: Wire) -> None:
    for index in pick(rng, dicts(messages)):
        messages[index]["cache_control"] = rng.choice(
            (None, True, {}, {"type": "forever"}, "ephemeral")
        )
