"""Small conversations that test one limit each, with what the tables say about them.

Every conversation is written as messages of OpenAI's chat completions; ``requests`` converts it to
the wire format of the provider. It obeys all limits of the target except, at most, the one that it
tests. A limit that refuses something has cases on both sides: with and without the defect.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from chatmend.probe.pictures import data_url, picture

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chatmend.targets.limits import Limits

Message = dict[str, Any]
"""A message of OpenAI's chat completions."""

ID, SECOND_ID = "abcdEFG12", "hijkLMN34"
"""Call ids that every provider accepts."""
NAME, SECOND_NAME = "read_file", "list_files"
"""The tools that every conversation with calls declares."""
_ARGUMENTS = '{"path": "a.txt"}'
_MAX_EDGE = 300
"""Longest call id that is sent."""
_MAX_PARTS = 20
"""Most parts of one kind that are sent to test a number."""


@dataclass(frozen=True, slots=True)
class Case:
    """A conversation that tests one limit."""

    limit: str
    """Name of the field of ``Limits``; ``images.types`` for a field of ``ImageLimits``."""
    form: str
    """What the conversation contains, as a noun phrase: ``a call without a result``."""
    messages: list[Message]
    is_refused: bool
    """Whether the tables say that the provider refuses it."""
    otherwise: Any = None
    """The value of the limit if the provider does the opposite; None: the case does not tell."""
    declares_tools: bool = True
    """Whether the request declares a tool if the conversation has calls."""
    always_declares: bool = False
    """Whether the request declares a tool even if the conversation has no calls."""
    thinks: bool = False
    """Whether the request enables thinking."""

    @property
    def name(self) -> str:
        """The name of the case in a report."""
        return f"{self.limit}: {self.form}"


# The pieces of a conversation


def user(content: Any = "Read the file a.txt.", **more: Any) -> Message:  # noqa: ANN401 - JSON
    """Return a user message."""
    return {"role": "user", "content": content, **more}


def answer(content: Any = "It says hello.", **more: Any) -> Message:  # noqa: ANN401 - JSON
    """Return an assistant message without calls."""
    return {"role": "assistant", "content": content, **more}


def system(content: Any = "Answer with one word.", role: str = "system") -> Message:  # noqa: ANN401
    """Return a system message."""
    return {"role": role, "content": content}


def call(call_id: str | None = ID, name: str = NAME, arguments: Any = _ARGUMENTS) -> Message:  # noqa: ANN401
    """Return a tool call; without an id if ``call_id`` is None."""
    given = {} if call_id is None else {"id": call_id}
    return {**given, "type": "function", "function": {"name": name, "arguments": arguments}}


def calling(*calls: Message, **more: Any) -> Message:  # noqa: ANN401 - JSON
    """Return an assistant message with calls."""
    return {"role": "assistant", "content": None, "tool_calls": list(calls), **more}


def result(call_id: str | None = ID, content: Any = "hello", **more: Any) -> Message:  # noqa: ANN401
    """Return a tool result; without an id if ``call_id`` is None."""
    given = {} if call_id is None else {"tool_call_id": call_id}
    return {"role": "tool", **given, "content": content, **more}


NEXT = user("And now?")


def exchange(*calls: Message, results: list[Message] | None = None) -> list[Message]:
    """Return a whole conversation with one tool exchange."""
    answers = results or [result(one.get("id")) for one in calls]
    return [user(), calling(*calls), *answers, answer(), NEXT]


def plain(*middle: Message) -> list[Message]:
    """Return a conversation with messages between a user message and the next one."""
    return [user("Hello."), *middle, NEXT]


# Tool calls and results


def _pairing(limits: Limits) -> Iterator[Case]:
    def case(form: str, *messages: Message) -> Case:
        return Case("pairing", form, list(messages), limits.pairing, not limits.pairing)

    if not limits.alternation:
        yield case("a call without a result", user(), calling(call()), NEXT)
    yield case("a result without its call", user(), answer(), result(), answer(), NEXT)
    if not limits.alternation and limits.user_after_tool:
        between = user("Hurry.")
        yield case(
            "a user message between a call and its result",
            *(user(), calling(call()), between, result(), answer(), NEXT),
        )
    if limits.max_calls_per_message != 1:
        two = calling(call(), call(SECOND_ID, arguments='{"path": "b.txt"}'))
        yield case("a result for one of two calls", user(), two, result(), answer(), NEXT)


def _order(limits: Limits) -> Iterator[Case]:
    calls = [call(), call(SECOND_ID, arguments='{"path": "b.txt"}')]
    most = limits.max_calls_per_message
    is_refused = most == 1
    yield Case(
        "max_calls_per_message",
        "two calls in one message",
        exchange(*calls),
        is_refused,
        "none" if is_refused else 1,
    )
    if is_refused:
        return
    edge = most or 0
    for number in (edge, edge + 1) if edge else ():
        many = [call(f"call{at:05}", arguments=f'{{"path": "{at}.txt"}}') for at in range(number)]
        yield Case(
            "max_calls_per_message",
            f"{number} calls in one message",
            exchange(*many),
            number > edge,
        )
    named = [call(), call(SECOND_ID, SECOND_NAME)]
    swapped = exchange(*named, results=[result(SECOND_ID), result()])
    in_order = limits.results_in_order
    yield Case(
        "results_in_order", "two results in the other order", swapped, in_order, not in_order
    )
    equal = exchange(call(), call(SECOND_ID))
    yield Case(
        "equal_calls",
        "two equal calls in one message",
        equal,
        not limits.equal_calls,
        not limits.equal_calls,
    )


def _call_ids(limits: Limits) -> Iterator[Case]:
    shapes = {
        "9 letters and digits": ID,
        "10 letters and digits": ID + "3",
        "9 characters with an underscore": "call_EF12",
        "9 characters with a hyphen": "call-EF12",
        "9 characters with a dot": "call.EF12",
        "9 characters with a colon": "call:EF12",
    }
    pattern = limits.call_id_pattern
    for shape, call_id in shapes.items():
        is_valid = pattern is None or re.fullmatch(pattern, call_id) is not None
        is_short = limits.max_call_id_length is None or len(call_id) <= limits.max_call_id_length
        if is_short:
            yield Case(
                "call_id_pattern", f"a call id of {shape}", exchange(call(call_id)), not is_valid
            )
    edge = limits.max_call_id_length or _MAX_EDGE
    for length in {edge, edge + 1} if limits.max_call_id_length else {edge}:
        long_id = "a" * length
        if pattern is None or re.fullmatch(pattern, long_id):
            yield Case(
                "max_call_id_length",
                f"a call id of {length} letters",
                exchange(call(long_id)),
                limits.max_call_id_length is not None and length > limits.max_call_id_length,
            )
    if limits.call_id_required or limits.optional_call_ids:
        yield Case(
            "call_id_required",
            "an empty call id",
            exchange(call("")),
            is_refused=True,
            otherwise=False,
        )


def _unique_call_ids(limits: Limits) -> Iterator[Case]:
    scope = limits.unique_call_ids
    other = call(arguments='{"path": "b.txt"}')
    if limits.max_calls_per_message != 1:
        yield Case(
            "unique_call_ids",
            "the same id for two calls of a message",
            exchange(call(), other),
            scope != "no",
            "no" if scope != "no" else "message",
        )
    again = [
        user(),
        calling(call()),
        result(),
        answer(),
        user(),
        calling(other),
        result(),
        answer(),
    ]
    yield Case(
        "unique_call_ids",
        "the same id for calls of two messages",
        [*again, NEXT],
        scope == "request",
        "message" if scope == "request" else "request",
    )


def _arguments(limits: Limits) -> Iterator[Case]:
    taken = limits.arguments
    form = "arguments that are an object, not a text"
    messages = exchange(call(arguments={"path": "a.txt"}))
    is_refused = taken not in ("any", "text-or-object")
    yield Case("arguments", form, messages, is_refused, "any" if taken == "text" else None)
    for form, value in {
        "arguments that are not valid JSON": '{"path": "a.t',
        "arguments that are a JSON list": '["a.txt"]',
    }.items():
        is_refused = taken == "object"
        otherwise = "text" if is_refused else "object"
        yield Case("arguments", form, exchange(call(arguments=value)), is_refused, otherwise)


def _tool_names(limits: Limits) -> Iterator[Case]:
    pattern = limits.tool_name_pattern
    for form, name in {
        "a tool name with a space": "read file",
        "a tool name with a dot": "files.read",
        "a tool name of 65 letters": "a" * 65,
    }.items():
        is_valid = pattern is None or re.fullmatch(pattern, name) is not None
        yield Case("tool_name_pattern", form, exchange(call(name=name)), not is_valid)


def _declared(limits: Limits) -> Iterator[Case]:
    is_refused = limits.tools_declared
    form = "a tool exchange in a request without tools"
    yield Case(
        "tools_declared", form, exchange(call()), is_refused, not is_refused, declares_tools=False
    )


def _calls_of_chats(limits: Limits) -> Iterator[Case]:
    empty = plain(answer(tool_calls=[]))
    refused = not limits.empty_tool_calls
    yield Case("empty_tool_calls", "an empty list of calls", empty, refused, refused)
    older = {"name": NAME, "arguments": _ARGUMENTS}
    legacy = [
        user(),
        {"role": "assistant", "content": None, "function_call": older},
        {"role": "function", "name": NAME, "content": "hello"},
        answer(),
        NEXT,
    ]
    refused = not limits.legacy_functions
    yield Case("legacy_functions", "a call as function_call", legacy, refused, refused)


# Turns


def _turns(limits: Limits) -> Iterator[Case]:
    def case(limit: str, form: str, messages: list[Message], is_refused: bool) -> Case:  # noqa: FBT001
        return Case(limit, form, messages, is_refused, not getattr(limits, limit))

    yield case(
        "alternation", "two user messages in a row", [user("Hello."), NEXT], limits.alternation
    )
    yield case(
        "alternation",
        "two assistant messages in a row",
        plain(answer(), answer("Yes.")),
        limits.alternation,
    )
    yield case(
        "user_after_tool",
        "a user message directly after a result",
        [user(), calling(call()), result(), NEXT],
        not limits.user_after_tool,
    )
    yield case(
        "first_user",
        "a conversation that begins with the assistant",
        [answer(), NEXT],
        limits.first_user,
    )
    if limits.first_user or not limits.needs_user:
        yield case(
            "first_user",
            "a conversation that begins with a call",
            exchange(call())[1:],
            limits.first_user,
        )


def _needs_user(limits: Limits) -> Iterator[Case]:
    if limits.system != "never":
        yield Case(
            "needs_user",
            "a system message and nothing else",
            [system()],
            limits.needs_user,
            not limits.needs_user,
        )


def _trailing(limits: Limits) -> Iterator[Case]:
    mode = limits.trailing_assistant
    yield Case(
        "trailing_assistant",
        "a last message of the assistant",
        [user("Hello."), answer("It says")],
        mode == "refused",
        "accepted" if mode == "refused" else "refused",
    )
    if mode != "refused":
        yield Case(
            "trailing_assistant",
            "a last message of the assistant that ends with a space",
            [user("Hello."), answer("It says ")],
            mode == "no-trailing-space",
            "accepted" if mode == "no-trailing-space" else "no-trailing-space",
        )
        with_tools = limits.trailing_assistant_with_tools == "refused"
        yield Case(
            "trailing_assistant_with_tools",
            "a last message of the assistant in a request with tools",
            [user("Hello."), answer("It says")],
            with_tools,
            "accepted" if with_tools else "refused",
            always_declares=True,
        )


def _system(limits: Limits) -> Iterator[Case]:
    allowed = limits.system
    yield Case("system", "a system message at the beginning", [system(), NEXT], allowed == "never")
    yield Case(
        "system",
        "two system messages at the beginning",
        [system(), system("Be polite."), NEXT],
        allowed in ("never", "first"),
    )
    later = allowed in ("never", "first", "leading")
    yield Case(
        "system",
        "a system message between a user message and the answer",
        [user("Hello."), system(), answer(), NEXT],
        later,
    )
    yield Case(
        "system",
        "a system message directly after an assistant message",
        [user("Hello."), answer(), system(), NEXT],
        later or allowed in ("after-user", "not-after-reply"),
    )


def _roles(limits: Limits) -> Iterator[Case]:
    for role in ("developer", "ipython"):
        refused = limits.roles is not None and role not in limits.roles
        if limits.system != "never":
            yield Case("roles", f"the role {role}", [system(role=role), NEXT], refused)


# Content


def _with_content(role: str, content: Any) -> list[Message]:  # noqa: ANN401 - JSON
    """Return a conversation in which the message of a role has a content."""
    return {
        "user": [user(content), answer(), NEXT],
        "assistant": plain(answer(content)),
        "assistant+calls": [
            user(),
            calling(call()) | {"content": content},
            result(),
            answer(),
            NEXT,
        ],
        "tool": exchange(call(), results=[result(content=content)]),
        "system": [system(content), NEXT],
    }[role]


def _content_roles(limits: Limits) -> list[str]:
    return ["user", "assistant", "tool", *(["system"] if limits.system != "never" else [])]


def _empty_content(limits: Limits) -> Iterator[Case]:
    for role in ("user", "assistant", "tool"):
        yield from _empty_message(limits, role)
    if "user" in limits.empty_roles and not limits.bare_is_empty:
        yield Case(
            "blank_is_empty",
            "a user message of white space",
            _with_content("user", " \n "),
            limits.blank_is_empty,
            not limits.blank_is_empty,
        )
    if "user" not in limits.text_content:
        parts = [{"type": "text", "text": ""}, {"type": "text", "text": "Hello."}]
        refused = not limits.empty_parts
        yield Case(
            "empty_parts",
            "an empty text part next to another",
            _with_content("user", parts),
            refused,
            refused,
        )


def _empty_message(limits: Limits, role: str) -> Iterator[Case]:
    refused = role in limits.empty_roles
    if not (refused and limits.bare_is_empty):
        form = f"an empty text in a message of the role {role}"
        yield Case("empty_roles", form, _with_content(role, ""), refused)


def _content_of_chats(limits: Limits) -> Iterator[Case]:
    if limits.system != "never":
        yield from _empty_message(limits, "system")
    for role in [*_content_roles(limits), "assistant+calls"]:
        nulls = limits.null_content or frozenset()
        refused = role in nulls or role in limits.empty_roles
        yield Case(
            "null_content", f"null as the content of {role}", _with_content(role, None), refused
        )
    for role in _content_roles(limits):
        parts = [{"type": "text", "text": "Hello."}]
        yield Case(
            "text_content",
            f"a list of parts as the content of {role}",
            _with_content(role, parts),
            role in limits.text_content,
        )
    refused = not limits.empty_beside_calls
    yield Case(
        "empty_beside_calls",
        "an empty text next to a call",
        _with_content("assistant+calls", ""),
        refused,
        refused,
    )


def _parts(limits: Limits) -> Iterator[Case]:
    if "user" in limits.text_content:
        return
    text = {"type": "text", "text": "Hello."}
    refused = not limits.bare_strings
    yield Case(
        "bare_strings",
        "a string in a list of parts",
        _with_content("user", ["Hello."]),
        refused,
        refused,
    )
    refused = not limits.typeless_parts
    yield Case(
        "typeless_parts",
        "a part without a type",
        _with_content("user", [{"text": "Hello."}]),
        refused,
        refused,
    )
    foreign = {
        "input_text": {"type": "input_text", "text": "Hello."},
        "thinking": {"type": "thinking", "thinking": "Hm.", "signature": "AAAA"},
        "tool_use": {"type": "tool_use", "id": ID, "name": NAME, "input": {}},
    }
    for kind, part in foreign.items():
        role = "user" if kind == "input_text" else "assistant"
        refused = limits.part_types is not None and kind not in limits.part_types
        refused = refused or (kind == "thinking" and _refuses_blocks(limits))
        if role not in limits.text_content and kind not in (limits.part_types or ()):
            yield Case(
                "part_types",
                f"a part of the type {kind}",
                _with_content(role, [part, text]),
                refused,
            )


# Keys

_VALUES: dict[str, Any] = {
    "reasoning_content": "Hm.",
    "reasoning": "Hm.",
    "reasoning_details": [{"type": "reasoning.text", "text": "Hm."}],
    "thinking_blocks": [{"type": "thinking", "thinking": "Hm.", "signature": "AAAA"}],
    "provider_specific_fields": {"refusal": None},
    "annotations": [],
    "refusal": None,
    "audio": None,
    "cache_control": {"type": "ephemeral"},
    "function_call": None,
    "images": [],
    "id": "msg_1",
    "chatmend_probe": "x",
}
"""A harmless value for each key of an assistant message that is tested."""


def _keys(limits: Limits) -> Iterator[Case]:
    closed = limits.known_keys is not None
    for key in sorted({*_VALUES, *limits.refused_keys}):
        refused = key in limits.refused_keys or (closed and key not in (limits.known_keys or ()))
        refused = refused or (key == "reasoning_content" and limits.reasoning_content == "refused")
        refused = refused or (key == "cache_control" and limits.max_cache_markers == 0)
        if not refused and _is_converted(key, limits):
            continue  # the provider ignores the key, so that no answer tells anything
        limit = "known_keys" if key == "chatmend_probe" else "refused_keys"
        form = f"the key {key} in an assistant message"
        yield Case(limit, form, plain(answer(**{key: _VALUES.get(key, "x")})), refused)


def _is_converted(key: str, limits: Limits) -> bool:
    """Return whether chatmend converts a key because the provider would ignore it."""
    if key == "thinking_blocks":
        return _refuses_blocks(limits)
    names = ("reasoning", "reasoning_content")
    return key in names and limits.reasoning_key not in ("any", key)


def _refuses_blocks(limits: Limits) -> bool:
    """Return whether the target refuses thinking in Anthropic's form."""
    return limits.thinking in ("chunks", "refused")


def _message_names(limits: Limits) -> Iterator[Case]:
    if limits.known_keys is not None and "name" not in limits.known_keys:
        return
    named = limits.message_name
    places = {
        "user": [user("Hello.", name="bob"), answer(), NEXT],
        "assistant": plain(answer(name="bob")),
    }
    for role, messages in places.items():
        refused = named is not None and role not in named
        yield Case("message_name", f"a name in a message of the role {role}", messages, refused)
    if named is None or "user" in named:
        pattern = limits.message_name_pattern
        refused = pattern is not None and re.fullmatch(pattern, "Bob <1>") is None
        messages = [user("Hello.", name="Bob <1>"), answer(), NEXT]
        yield Case("message_name_pattern", "a name with a space and brackets", messages, refused)


# What only Anthropic's format has


def _cache_markers(limits: Limits) -> Iterator[Case]:
    most = limits.max_cache_markers
    for number in (most, most + 1) if most is not None and most < _MAX_PARTS else ():
        marked = [
            {"type": "text", "text": f"Line {at}.", "cache_control": {"type": "ephemeral"}}
            for at in range(number)
        ]
        yield Case(
            "max_cache_markers",
            f"{number} cache markers",
            _with_content("user", marked),
            number > (most or 0),
        )


def _signatures(limits: Limits) -> Iterator[Case]:
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "bm90IHNpZ25lZA=="}
    messages = plain(answer([thinking, {"type": "text", "text": "It says hello."}]))
    yield Case(
        "thinking",
        "thinking with a signature of another provider",
        messages,
        limits.thinking != "any",
        "signed" if limits.thinking == "any" else "any",
    )


# Images


def _images(limits: Limits) -> Iterator[Case]:
    images = limits.images
    if not images.vision or "user" in limits.text_content:
        return

    def case(limit: str, form: str, *urls: str, is_refused: bool) -> Case:
        parts: list[Message] = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
        content = [{"type": "text", "text": "What is this?"}, *parts]
        return Case(f"images.{limit}", form, [user(content)], is_refused)

    for kind in ("png", "jpeg", "gif", "webp", "bmp", "tiff"):
        refused = images.types is not None and kind not in images.types
        yield case(
            "types",
            f"an image of the type {kind}",
            data_url(picture(kind), kind),
            is_refused=refused,
        )
    jpeg = picture("jpeg")
    refused = images.label_checked == "bytes"
    yield case("label_checked", "a JPEG labelled as PNG", data_url(jpeg, "png"), is_refused=refused)
    torn = data_url(jpeg[: len(jpeg) // 2], "jpeg")
    yield case("decoded", "half of a JPEG", torn, is_refused=images.decoded)
    png = data_url(picture("png"), "png")
    if images.max_images is not None and images.max_images < _MAX_PARTS:
        for number in (images.max_images, images.max_images + 1):
            refused = number > images.max_images
            yield case("max_images", f"{number} images", *[png] * number, is_refused=refused)
    for side in (images.min_side, images.min_side - 1) if images.min_side > 1 else ():
        small = data_url(picture("png", side), "png")
        refused = side < images.min_side
        yield case("min_side", f"an image of {side} x {side} px", small, is_refused=refused)


_Group = "Callable[[Limits], Iterator[Case]]"
_EVERYWHERE = (_pairing, _order, _tool_names, _declared, _turns, _trailing, _empty_content, _images)
_GROUPS: dict[str, tuple[Callable[[Limits], Iterator[Case]], ...]] = {
    "openai_chat": (
        *_EVERYWHERE,
        _call_ids,
        _unique_call_ids,
        _arguments,
        _calls_of_chats,
        _needs_user,
        _system,
        _roles,
        _content_of_chats,
        _parts,
        _keys,
        _message_names,
    ),
    "anthropic_messages": (
        *_EVERYWHERE,
        _call_ids,
        _unique_call_ids,
        _system,
        _cache_markers,
        _signatures,
    ),
    "gemini_contents": _EVERYWHERE,
}
FORMATS = tuple(_GROUPS)
"""The wire formats that can be probed."""
_TOOLS = (_pairing, _order, _call_ids, _unique_call_ids, _arguments, _tool_names, _declared)


def cases(limits: Limits, dialect: str) -> list[Case]:
    """Return the cases for a target's limits in a wire format, grouped by limit."""
    groups = _GROUPS[dialect]
    if not limits.tools_taken:
        groups = tuple(group for group in groups if group not in _TOOLS)
    found = [case for group in groups for case in group(limits)]
    return [_with_content_beside_calls(case, limits) for case in found]


def _with_content_beside_calls(case: Case, limits: Limits) -> Case:
    """Return the case with a text in messages with calls if the provider refuses null there."""
    nulls = limits.null_content or ()
    if case.limit == "null_content" or "assistant+calls" not in nulls:
        return case
    messages = [
        {**message, "content": "I look."}
        if message.get("tool_calls") and message["content"] is None
        else message
        for message in case.messages
    ]
    return replace(case, messages=messages)


def controls(limits: Limits) -> list[Case]:
    """Return conversations that every provider accepts."""
    found = [Case("control", "a plain conversation", plain(answer()), is_refused=False)]
    if limits.tools_taken:
        found.append(Case("control", "a tool exchange", exchange(call()), is_refused=False))
    return [_with_content_beside_calls(case, limits) for case in found]
