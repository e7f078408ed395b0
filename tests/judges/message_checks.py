"""The tests that ``openai_facts.toml`` names: each yields what in a request breaks one kind of limit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TypeAlias

from .reading import blocks, calls, function, numbered, objects, parsed
from .request import Json, Request

Check: TypeAlias = Callable[[Request, Json], Iterator[str]]
_SPEAKS_WITHOUT_CONTENT = ("tool_calls", "function_call", "refusal", "audio")


def no_messages(request: Request, _: Json) -> Iterator[str]:
    """There is nothing to answer."""
    if not request.messages:
        yield "no message"


def roles(request: Request, value: Json) -> Iterator[str]:
    """A role outside of ``value``."""
    for index, message in numbered(request.messages):
        if message.get("role") not in value:
            yield f"messages[{index}].role {message.get('role')!r}"


def content_absent(request: Request, _: Json) -> Iterator[str]:
    """No content, or null, in a message without calls."""
    for index, message in numbered(request.messages):
        spoken = message.get("role") == "assistant" and any(
            message.get(key) for key in _SPEAKS_WITHOUT_CONTENT
        )
        if message.get("content") is None and not spoken:
            yield f"messages[{index}]"


def content_null(request: Request, _: Json) -> Iterator[str]:
    """No content, or null, on any message."""
    yield from (
        f"messages[{i}]"
        for i, message in numbered(request.messages)
        if message.get("content") is None
    )


def content_kind(request: Request, _: Json) -> Iterator[str]:
    """Content that is neither text, a list nor null."""
    for index, message in numbered(request.messages):
        if not isinstance(message.get("content"), (str, list, type(None))):
            yield f"messages[{index}].content is a {type(message['content']).__name__}"


def part_types(request: Request, value: Json) -> Iterator[str]:
    """A content part of a type outside of ``value``."""
    for index, message in numbered(request.messages):
        for part in objects(message.get("content")):
            if part.get("type") not in value:
                yield f"messages[{index}] holds a part of type {part.get('type')!r}"


def assistant_images(request: Request, _: Json) -> Iterator[str]:
    """An image in an assistant message."""
    for index, message in numbered(request.messages):
        kinds = [part.get("type") for part in objects(message.get("content"))]
        if message.get("role") == "assistant" and "image_url" in kinds:
            yield f"messages[{index}]"


def result_id_missing(request: Request, _: Json) -> Iterator[str]:
    """A tool result that answers no id."""
    for index, message in numbered(request.messages):
        if message.get("role") == "tool" and not isinstance(message.get("tool_call_id"), str):
            yield f"messages[{index}]"


def id_length(request: Request, value: Json) -> Iterator[str]:
    """A call id of more than ``value`` characters."""
    for _, message in numbered(request.messages):
        held = [call.get("id") for call in calls(message)] + [message.get("tool_call_id")]
        yield from (
            f"{i[:20]!r}… has {len(i)}" for i in held if isinstance(i, str) and len(i) > value
        )


def ids_twice(request: Request, _: Json) -> Iterator[str]:
    """Two calls with the same id."""
    counts = Counter(str(call.get("id")) for call in _all_calls(request))
    yield from (f"{call_id!r} {count} times" for call_id, count in counts.items() if count > 1)


def tool_calls_empty(request: Request, _: Json) -> Iterator[str]:
    """``tool_calls: []``."""
    yield from (
        f"messages[{i}]"
        for i, message in numbered(request.messages)
        if message.get("tool_calls") == []
    )


def tool_calls_type(request: Request, _: Json) -> Iterator[str]:
    """``tool_calls`` that is not a list of objects."""
    for index, message in numbered(request.messages):
        held = message.get("tool_calls")
        if held is not None and objects(held) != held:
            yield f"messages[{index}]"


def call_types(request: Request, _: Json) -> Iterator[str]:
    """A call that is not a function call."""
    for call in _all_calls(request):
        if call.get("type") != "function":
            yield f"{call.get('id')!r} has type {call.get('type')!r}"


def call_names(request: Request, value: Json) -> Iterator[str]:
    """A called name that does not match ``value``."""
    for call in _all_calls(request):
        name = function(call).get("name")
        if call.get("type", "function") == "function" and not re.fullmatch(value, str(name)):
            yield f"{name!r}"


def tool_names(request: Request, value: Json) -> Iterator[str]:
    """A declared name that does not match ``value``."""
    for tool in objects(request.tools):
        name = function(tool).get("name")
        if name is not None and not re.fullmatch(value, str(name)):
            yield f"{name!r}"


def speaker_names(request: Request, value: Json) -> Iterator[str]:
    """The ``name`` of a system, user or assistant message that does not match ``value``."""
    for index, message in numbered(request.messages):
        name = message.get("name")
        if (
            name is not None
            and message.get("role") != "tool"
            and not re.fullmatch(value, str(name))
        ):
            yield f"messages[{index}].name {name!r}"


def keys_refused(request: Request, value: Json) -> Iterator[str]:
    """A message key that is among ``value``."""
    for index, message in numbered(request.messages):
        yield from (f"messages[{index}].{key}" for key in value if message.get(key) is not None)


def result_listed(request: Request, _: Json) -> Iterator[str]:
    """A tool result whose content is a list."""
    for index, message in numbered(request.messages):
        if message.get("role") == "tool" and isinstance(message.get("content"), list):
            yield f"messages[{index}]"


def tools_many(request: Request, value: Json) -> Iterator[str]:
    """More than ``value`` tools."""
    if len(objects(request.tools)) > value:
        yield f"{len(request.tools)} tools"


def arguments_not_text(request: Request, _: Json) -> Iterator[str]:
    """Arguments that are not a string."""
    for call in _function_calls(request):
        if not isinstance(function(call).get("arguments"), str):
            yield f"of {call.get('id')!r}"


def arguments_missing(request: Request, _: Json) -> Iterator[str]:
    """A call without arguments."""
    yield from (
        f"of {call.get('id')!r}"
        for call in _function_calls(request)
        if function(call).get("arguments") is None
    )


def arguments_no_json(request: Request, _: Json) -> Iterator[str]:
    """Arguments that are not JSON text."""
    for call in _function_calls(request):
        text = function(call).get("arguments")
        if isinstance(text, str) and parsed(text) is text:
            yield f"of {call.get('id')!r}"


def arguments_no_object(request: Request, _: Json) -> Iterator[str]:
    """Arguments whose text is not a JSON object."""
    for call in _function_calls(request):
        text = function(call).get("arguments")
        if isinstance(text, str) and not isinstance(parsed(text), dict):
            yield f"of {call.get('id')!r}"


def no_user(request: Request, _: Json) -> Iterator[str]:
    """Nobody asks."""
    if not any(message.get("role") == "user" for message in objects(request.messages)):
        yield "no user message"


def user_empty(request: Request, _: Json) -> Iterator[str]:
    """An empty message of the user."""
    for index, message in numbered(request.messages):
        if message.get("role") == "user" and not _says_something(message):
            yield f"messages[{index}]"


def system_empty(request: Request, _: Json) -> Iterator[str]:
    """An empty system message."""
    for index, message in numbered(request.messages):
        if message.get("role") == "system" and not _says_something(message):
            yield f"messages[{index}]"


def assistant_empty(request: Request, _: Json) -> Iterator[str]:
    """An assistant message without content, reasoning or calls."""
    for index, message in numbered(request.messages):
        spoken = calls(message) or message.get("reasoning_content") or _says_something(message)
        if message.get("role") == "assistant" and not spoken:
            yield f"messages[{index}]"


def systems_many(request: Request, _: Json) -> Iterator[str]:
    """More than one system message."""
    if sum(message.get("role") == "system" for message in objects(request.messages)) > 1:
        yield "several system messages"


def system_late(request: Request, _: Json) -> Iterator[str]:
    """A system message that is not the first message."""
    yield from (
        f"messages[{i}]"
        for i, message in numbered(request.messages)
        if i and message.get("role") == "system"
    )


def last_role(request: Request, value: Json) -> Iterator[str]:
    """The last message is of a role outside of ``value``."""
    held = objects(request.messages)
    if held and held[-1].get("role") not in value:
        yield f"{held[-1].get('role')!r}"


def no_alternation(request: Request, _: Json) -> Iterator[str]:
    """After the leading system messages, two neighbours of one side, or a system message."""
    sides = [
        "assistant" if m.get("role") == "assistant" else str(m.get("role"))
        for m in objects(request.messages)
    ]
    while sides and sides[0] == "system":
        sides.pop(0)
    for before, side in pairwise(sides):
        if side == "system" or (side == before != "tool"):
            yield f"{side} after {before}"


def _all_calls(request: Request) -> Iterator[dict[str, Json]]:
    for _, message in numbered(request.messages):
        yield from calls(message)


def _function_calls(request: Request) -> Iterator[dict[str, Json]]:
    yield from (call for call in _all_calls(request) if call.get("type", "function") == "function")


def _says_something(message: dict[str, Json]) -> bool:
    return any(
        part.get("type") != "text" or part.get("text") for part in blocks(message.get("content"))
    )


CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        no_messages, roles, content_absent, content_null, content_kind, part_types, assistant_images, result_id_missing,
        id_length, ids_twice, tool_calls_empty, tool_calls_type, call_types, call_names, tool_names, speaker_names,
        tools_many, arguments_not_text, arguments_missing, arguments_no_json, arguments_no_object, no_user, user_empty,
        system_empty, assistant_empty, keys_refused, result_listed, systems_many, system_late, last_role, no_alternation,
    )
}  # fmt: skip
