"""Calls whose arguments, name or shape no provider takes."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

from ..nested import copied
from ..sites import calls, dicts, exchanges, pick
from ..tokens import fresh
from ..wires import Native, Wire, text_part
from .defect import Defect, Defects

DEFECTS = Defects()

DEEP = 2_000
"""Levels of nesting: more than ``json`` and most recursive code can take."""


def _truncated(token: str, rng: Random) -> str:
    return f'{{"path": "{token}", "body": "unfinish'


def _not_an_object(token: str, rng: Random) -> str:
    return rng.choice((f'["{token}"]', f'"{token}"', "[1]", "3", "null", "true", "[]"))


def _empty(token: str, rng: Random) -> str:
    return rng.choice(("", "  ", "\n"))


def _prose(token: str, rng: Random) -> str:
    return f"I will now read {token}."


def _two_objects(token: str, rng: Random) -> str:
    return f'{{"path": "{token}"}}{{"path": "{fresh(rng)}"}}'


def _encoded_twice(token: str, rng: Random) -> str:
    return json.dumps(json.dumps({"path": token}))


def _python_literal(token: str, rng: Random) -> str:
    return f"{{'path': '{token}', 'deep': True}}"


def _same_key_twice(token: str, rng: Random) -> str:
    return f'{{"path": "{token}", "path": "{fresh(rng)}"}}'


def _nested(token: str, rng: Random) -> str:
    return '{"a":' * DEEP + f'"{token}"' + "}" * DEEP


def _huge_number(token: str, rng: Random) -> str:
    return f'{{"path": "{token}", "count": {"9" * 5000}}}'


def _no_json_number(token: str, rng: Random) -> str:
    return f'{{"path": "{token}", "count": {rng.choice(("NaN", "Infinity", "-Infinity"))}}}'


TEXTS: dict[str, Callable[[str, Random], str]] = {
    "arguments-truncated": _truncated,
    "arguments-not-an-object": _not_an_object,
    "arguments-empty": _empty,
    "arguments-prose": _prose,
    "arguments-two-objects": _two_objects,
    "arguments-encoded-twice": _encoded_twice,
    "arguments-python-literal": _python_literal,
    "arguments-same-key-twice": _same_key_twice,
    "arguments-nested": _nested,
    "arguments-huge-number": _huge_number,
    "arguments-no-json-number": _no_json_number,
}
"""Values in place of the JSON text of an object. Anthropic's ``input`` is this text, or its value (below)."""


def _nested_value(token: str) -> Any:
    value: Any = token
    for _ in range(DEEP):
        value = {"a": value}
    return value


def _write(native: Native, value: Any) -> None:
    """Put ``value`` where the call has its arguments."""
    if native.get("type") == "tool_use":
        native["input"] = value
    elif isinstance(native.get("function"), dict):
        native["function"]["arguments"] = value


def _written(make: Callable[[str, Random], str]) -> Defect:
    def defect(messages: list[Any], rng: Random, wire: Wire) -> None:
        for site in pick(rng, calls(messages)):
            token = fresh(rng)
            text = make(token, rng)
            if wire.dialect == "anthropic_messages" and make in (_not_an_object, _no_json_number):
                _write(site.native, json.loads(text.replace("NaN", "Infinity")))
            elif wire.dialect == "anthropic_messages" and make is _nested:
                _write(site.native, _nested_value(token))
            else:
                _write(site.native, text)

    return defect


for _name, _make in TEXTS.items():
    DEFECTS.add(_name, _written(_make))


@DEFECTS.both
def arguments_none(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(rng, calls(messages)):
        _write(site.native, None)


@DEFECTS.openai
def arguments_a_dict(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(rng, calls(messages)):
        _write(site.native, {"path": fresh(rng)})


@DEFECTS.anthropic
def arguments_a_string(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(rng, calls(messages)):
        _write(site.native, json.dumps({"path": fresh(rng)}))


@DEFECTS.both
def arguments_missing(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(rng, calls(messages)):
        site.native.pop("input", None)
        if isinstance(site.native.get("function"), dict):
            site.native["function"].pop("arguments", None)


NAMES: dict[str, tuple[Any, ...]] = {
    "tool-name-illegal": (
        "functions.read",
        "read file",
        "mcp__srv/read:1",
        "read-file!",
        "9lives",
        "$func",
        " read ",
    ),
    "tool-name-too-long": ("read_" + "x" * 195, "r" * 65, "r" * 129),
    "tool-name-unicode": ("lire_é", "читать", "読む", "🛠️"),
    "tool-name-empty": ("", " "),
    "tool-name-not-a-string": (3, None, ["read_file"], {"name": "read_file"}),
    "tool-name-unknown": ("a_tool_that_nobody_offers",),
}


def _named(names: tuple[Any, ...]) -> Defect:
    def defect(messages: list[Any], rng: Random, wire: Wire) -> None:
        for site in pick(rng, calls(messages)):
            function = site.native.get("function")
            (function if isinstance(function, dict) else site.native)["name"] = copied(
                rng.choice(names)
            )

    return defect


for _name, _choices in NAMES.items():
    DEFECTS.add(_name, _named(_choices))


@DEFECTS.both
def tool_name_missing(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(rng, calls(messages)):
        function = site.native.get("function")
        (function if isinstance(function, dict) else site.native).pop("name", None)


@DEFECTS.openai
def call_without_function(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(rng, calls(messages)):
        site.native["function"] = rng.choice((None, "read_file", [], {}))


@DEFECTS.openai
def call_of_other_type(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(rng, calls(messages)):
        site.native["type"] = rng.choice(("custom", "web_search_call", None, 1, ""))


@DEFECTS.openai
def call_not_a_dict(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(rng, calls(messages)):
        site.holder[site.at] = rng.choice((f"read {fresh(rng)}", None, 3, []))


@DEFECTS.openai
def tool_calls_empty(messages: list[Any], rng: Random, wire: Wire) -> None:
    for index in pick(
        rng, [at for at in dicts(messages, "assistant") if not messages[at].get("tool_calls")]
    ):
        messages[index]["tool_calls"] = []


@DEFECTS.openai
def tool_calls_not_a_list(messages: list[Any], rng: Random, wire: Wire) -> None:
    for index in pick(rng, dicts(messages, "assistant")):
        messages[index]["tool_calls"] = rng.choice(
            (None, "", f"read({fresh(rng)})", {}, {"id": "call_a"}, 0)
        )


@DEFECTS.openai
def legacy_function_call(messages: list[Any], rng: Random, wire: Wire) -> None:
    alone = [pair for pair in exchanges(messages) if len(pair[0].holder) == 1] or exchanges(
        messages
    )
    for call, result in pick(rng, alone):
        owner = messages[call.index]
        owner.pop("tool_calls", None)
        owner["function_call"] = call.native.get("function")
        content = rng.choice((result.native.get("content"), [text_part(f"read {fresh(rng)}")]))
        result.holder[result.at] = {"role": "function", "name": "read_file", "content": content}


@DEFECTS.openai
def legacy_function_call_unanswered(messages: list[Any], rng: Random, wire: Wire) -> None:
    arguments = json.dumps({"path": fresh(rng)})
    legacy = {
        "role": "assistant",
        "content": None,
        "function_call": {"name": "read_file", "arguments": arguments},
    }
    messages.insert(rng.randint(0, len(messages)), legacy)


@DEFECTS.openai
def legacy_function_result_orphan(messages: list[Any], rng: Random, wire: Wire) -> None:
    messages.insert(
        rng.randint(0, len(messages)),
        {"role": "function", "name": "search", "content": f"old {fresh(rng)}"},
    )
