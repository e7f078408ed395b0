"""Defects that only Gemini contents can have: in roles, data fields, signatures, responses, and parts that are not a list."""

from random import Random
from typing import Any

from ..tokens import fresh
from .own import Own

OWN = Own()
SNAKE = {
    "functionCall": "function_call",
    "functionResponse": "function_response",
    "inlineData": "inline_data",
    "fileData": "file_data",
    "thoughtSignature": "thought_signature",
}


def _parts(messages: list[Any], key: str) -> list[dict[str, Any]]:
    held = [
        m["parts"] for m in messages if isinstance(m, dict) and isinstance(m.get("parts"), list)
    ]
    return [
        part
        for parts in held
        for part in parts
        if isinstance(part, dict) and isinstance(part.get(key), dict)
    ]


def _insert(messages: list[Any], rng: Random, *items: Any) -> None:
    at = rng.randint(0, len(messages))
    messages[at:at] = items


def _exchange(messages: list[Any], rng: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    """A call with its response, put somewhere: each as its part."""
    call = {"functionCall": {"name": "search", "args": {"query": fresh(rng)}}}
    answer = {"functionResponse": {"name": "search", "response": {"output": f"found {fresh(rng)}"}}}
    _insert(messages, rng, {"role": "model", "parts": [call]}, {"role": "user", "parts": [answer]})
    return call, answer


@OWN.defect
def keys_in_snake_case(messages: list[Any], rng: Random) -> None:
    _exchange(messages, rng)
    for message in messages:
        parts = message.get("parts") if isinstance(message, dict) else None
        for at, part in enumerate(parts if isinstance(parts, list) else []):
            if isinstance(part, dict):
                parts[at] = {SNAKE.get(key, key): value for key, value in part.items()}


@OWN.defect
def role_function_on_words(messages: list[Any], rng: Random) -> None:
    _insert(messages, rng, {"role": "function", "parts": [{"text": f"I am {fresh(rng)}."}]})


@OWN.defect
def responses_of_role_function(messages: list[Any], rng: Random) -> None:
    _exchange(messages, rng)
    for message in messages:
        parts = message.get("parts") if isinstance(message, dict) else None
        if (
            isinstance(parts, list)
            and parts
            and all(isinstance(p, dict) and "functionResponse" in p for p in parts)
        ):
            message["role"] = "function"


@OWN.defect
def parts_a_single_object(messages: list[Any], rng: Random) -> None:
    _insert(
        messages,
        rng,
        {"role": rng.choice(("user", "model")), "parts": {"text": f"Alone {fresh(rng)}."}},
    )


@OWN.defect
def part_with_two_data_fields(messages: list[Any], rng: Random) -> None:
    part = {"text": f"Both {fresh(rng)}.", "functionCall": {"name": "now", "args": {}}}
    _insert(messages, rng, {"role": "model", "parts": [part]})


@OWN.defect
def part_with_unknown_key(messages: list[Any], rng: Random) -> None:
    _insert(
        messages,
        rng,
        {"role": "user", "parts": [{"text": f"Known {fresh(rng)}.", "cacheControl": {"ttl": 1}}]},
    )


@OWN.defect
def part_of_nothing(messages: list[Any], rng: Random) -> None:
    odd = rng.choice(
        (
            {},
            {"thought": True},
            {"data": fresh(rng)},
            {"functionCall": 3},
            {"text": 5},
            {"inlineData": None},
        )
    )
    _insert(
        messages, rng, {"role": rng.choice(("user", "model")), "parts": [{"text": fresh(rng)}, odd]}
    )


@OWN.defect
def signature_not_base64(messages: list[Any], rng: Random) -> None:
    call, _ = _exchange(messages, rng)
    call["thoughtSignature"] = rng.choice(("@@", "msg_0abc", "", None, 4, "rs_x y"))
    text = {"text": f"Signed {fresh(rng)}.", "thoughtSignature": "@@"}
    _insert(
        messages,
        rng,
        {"role": "model", "parts": [text, {"thought": True, "thoughtSignature": "@@"}]},
    )


@OWN.defect
def signature_for_urls(messages: list[Any], rng: Random) -> None:
    call, _ = _exchange(messages, rng)
    call["thoughtSignature"] = "CvgCAb4-9vup9EI_imw1po6h"


@OWN.defect
def response_not_an_object(messages: list[Any], rng: Random) -> None:
    _, answer = _exchange(messages, rng)
    answer["functionResponse"]["response"] = rng.choice(
        (f"plain {fresh(rng)}", [fresh(rng)], 7, None)
    )


@OWN.defect
def response_without_name(messages: list[Any], rng: Random) -> None:
    _exchange(messages, rng)
    for part in _parts(messages, "functionResponse"):
        part["functionResponse"]["name"] = rng.choice(("", None, 3))


@OWN.defect
def response_of_another_name(messages: list[Any], rng: Random) -> None:
    _, answer = _exchange(messages, rng)
    answer["functionResponse"]["name"] = "4a6dd8c7-ab28"


@OWN.defect
def responses_swapped(messages: list[Any], rng: Random) -> None:
    names = rng.choice((("search", "search", "search"), ("search", "now", "search")))
    calls = [{"functionCall": {"name": name, "args": {"query": fresh(rng)}}} for name in names]
    answers = [
        {"functionResponse": {"name": name, "response": {"output": fresh(rng)}}} for name in names
    ]
    rng.shuffle(answers)
    kept = answers[: rng.randint(1, 3)]
    _insert(messages, rng, {"role": "model", "parts": calls}, {"role": "user", "parts": kept})


@OWN.defect
def response_beside_words(messages: list[Any], rng: Random) -> None:
    _, answer = _exchange(messages, rng)
    for message in messages:
        if (
            isinstance(message, dict)
            and isinstance(message.get("parts"), list)
            and message["parts"] == [answer]
        ):
            message["parts"] = [{"text": f"By the way, {fresh(rng)}."}, answer]


@OWN.defect
def call_without_args(messages: list[Any], rng: Random) -> None:
    call, _ = _exchange(messages, rng)
    if rng.random() < 0.5:
        del call["functionCall"]["args"]
    else:
        call["functionCall"]["args"] = rng.choice((None, "", f"{{'q': '{fresh(rng)}'}}", [1]))


@OWN.defect
def chat_messages_left(messages: list[Any], rng: Random) -> None:
    function = {"name": "search", "arguments": f'{{"query": "{fresh(rng)}"}}'}
    call = {"id": f"call_{fresh(rng)[3:11]}", "type": "function", "function": function}
    said = {
        "role": "assistant",
        "content": rng.choice((None, f"Look: {fresh(rng)}")),
        "tool_calls": [call],
    }
    _insert(
        messages,
        rng,
        said,
        {"role": "tool", "tool_call_id": call["id"], "content": f"found {fresh(rng)}"},
    )


@OWN.defect
def plain_content_left(messages: list[Any], rng: Random) -> None:
    content = rng.choice(
        (f"Plain {fresh(rng)}.", [{"type": "text", "text": f"Plain {fresh(rng)}."}], None, "")
    )
    _insert(
        messages, rng, {"role": rng.choice(("user", "assistant", "system")), "content": content}
    )


@OWN.defect
def role_missing_with_parts(messages: list[Any], rng: Random) -> None:
    _insert(messages, rng, {"parts": [{"text": f"Nobody {fresh(rng)}."}]})


@OWN.defect
def code_execution(messages: list[Any], rng: Random) -> None:
    ran = {"executableCode": {"language": "PYTHON", "code": f"print('{fresh(rng)}')"}}
    gave = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": fresh(rng)}}
    _insert(messages, rng, {"role": "model", "parts": [ran, gave, {"text": f"So {fresh(rng)}."}]})
