"""What only Responses items can have wrong: reasoning, ids of entries, types of parts, tools of the provider."""

from random import Random
from typing import Any

from ..tokens import fresh
from .own import Own

OWN = Own()
PREFIXES = ("call_1", "toolu_9", "item", "", 7, None, "fc_" + "x" * 80)


def _number(rng: Random) -> int:
    """Makes a generated id unique. It is not a token, because a repair may remove an id."""
    return rng.randrange(10**9, 10**10)


def _at(messages: list[Any], *kinds: str) -> list[int]:
    return [
        at
        for at, item in enumerate(messages)
        if isinstance(item, dict) and item.get("type") in kinds
    ]


def _insert(messages: list[Any], rng: Random, *items: Any) -> None:
    at = rng.randint(0, len(messages))
    messages[at:at] = items


_SEALED = 0.5
"""The share of reasoning with texts that also has encrypted content."""


@OWN.defect
def reasoning_orphan(messages: list[Any], rng: Random) -> None:
    _insert(
        messages,
        rng,
        {
            "type": "reasoning",
            "id": f"rs_{_number(rng)}",
            "summary": [],
            "encrypted_content": "gAAAAx",
        },
    )


@OWN.defect
def reasoning_last(messages: list[Any], rng: Random) -> None:
    summary = [{"type": "summary_text", "text": f"I think of {fresh(rng)}."}]
    messages.append({"type": "reasoning", "id": f"rs_{_number(rng)}", "summary": summary})


@OWN.defect
def reasoning_filtered(messages: list[Any], rng: Random) -> None:
    messages[:] = [
        item
        for item in messages
        if not (isinstance(item, dict) and item.get("type") == "reasoning")
    ]
    said = [{"type": "output_text", "text": f"Found {fresh(rng)}.", "annotations": []}]
    messages.append(
        {
            "type": "message",
            "role": "assistant",
            "id": f"msg_{_number(rng)}",
            "status": "completed",
            "content": said,
        }
    )
    messages.append({"role": "user", "content": f"And {fresh(rng)}?"})


@OWN.defect
def reasoning_empty(messages: list[Any], rng: Random) -> None:
    _insert(
        messages,
        rng,
        {"type": "reasoning", "summary": []},
        {"role": "assistant", "content": f"So {fresh(rng)}."},
    )


@OWN.defect
def reasoning_of_another_provider(messages: list[Any], rng: Random) -> None:
    """Reasoning as text, as DeepSeek and open models send it."""
    text = {"type": "reasoning_text", "text": f"I think of {fresh(rng)}."}
    item = {"type": "reasoning", "summary": [], "content": [text]}
    if rng.random() < _SEALED:
        item["encrypted_content"] = "gAAAAA" + "x" * 40
    _insert(messages, rng, item, {"role": "assistant", "content": f"So {fresh(rng)}."})


@OWN.defect
def item_id_of_another_type(messages: list[Any], rng: Random) -> None:
    for at in _at(messages, "function_call", "reasoning", "message", "function_call_output") or [
        len(messages)
    ]:
        if at == len(messages):
            messages.append({"role": "user", "content": f"Hm {fresh(rng)}."})
        if rng.random() < 0.5 or at == len(messages) - 1:
            messages[at]["id"] = rng.choice(PREFIXES)


@OWN.defect
def item_id_twice(messages: list[Any], rng: Random) -> None:
    for _ in range(2):
        said = [{"type": "output_text", "text": f"Again {fresh(rng)}.", "annotations": []}]
        item = {
            "type": "message",
            "role": "assistant",
            "id": "msg_twice",
            "status": "completed",
            "content": said,
        }
        _insert(messages, rng, item)


@OWN.defect
def status_null(messages: list[Any], rng: Random) -> None:
    found = _at(messages, "function_call", "reasoning", "message")
    at = rng.choice(found) if found else len(messages)
    if not found:
        messages.append({"type": "message", "role": "assistant", "content": f"Well {fresh(rng)}."})
    messages[at]["status"] = None


@OWN.defect
def item_of_unknown_type(messages: list[Any], rng: Random) -> None:
    _insert(
        messages, rng, {"type": rng.choice(("hologram", "", "tool_use", 3)), "data": fresh(rng)}
    )


@OWN.defect
def output_an_object(messages: list[Any], rng: Random) -> None:
    call = {
        "type": "function_call",
        "call_id": f"call_{_number(rng)}",
        "name": "now",
        "arguments": "{}",
    }
    _insert(
        messages,
        rng,
        call,
        {"type": "function_call_output", "call_id": call["call_id"], "output": {"t": fresh(rng)}},
    )


@OWN.defect
def custom_call_answered_as_function(messages: list[Any], rng: Random) -> None:
    call = {
        "type": "custom_tool_call",
        "call_id": f"call_{_number(rng)}",
        "name": "sql",
        "input": f"SELECT {fresh(rng)}",
    }
    _insert(
        messages,
        rng,
        call,
        {"type": "function_call_output", "call_id": call["call_id"], "output": fresh(rng)},
    )


@OWN.defect
def custom_call_unanswered(messages: list[Any], rng: Random) -> None:
    _insert(
        messages,
        rng,
        {
            "type": "custom_tool_call",
            "call_id": "call_c",
            "name": "sql",
            "input": f"DROP {fresh(rng)}",
        },
    )


@OWN.defect
def provider_tool_unanswered(messages: list[Any], rng: Random) -> None:
    action = {"type": "exec", "command": ["ls", fresh(rng)], "env": {}}
    call = {
        "type": "local_shell_call",
        "id": f"lsh_{_number(rng)}",
        "call_id": "call_l",
        "action": action,
        "status": "completed",
    }
    _insert(messages, rng, call)


@OWN.defect
def provider_tool_answered_late(messages: list[Any], rng: Random) -> None:
    action = {"commands": [f"ls {fresh(rng)}"]}
    _insert(messages, rng, {"type": "shell_call", "call_id": "call_s", "action": action})
    output = [{"stdout": fresh(rng), "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]
    messages.append({"type": "shell_call_output", "call_id": "call_s", "output": output})


@OWN.defect
def provider_tool_used(messages: list[Any], rng: Random) -> None:
    action = {"type": "search", "query": fresh(rng), "sources": []}
    _insert(
        messages,
        rng,
        {
            "type": "web_search_call",
            "id": f"ws_{_number(rng)}",
            "status": "completed",
            "action": action,
        },
    )


@OWN.defect
def items_of_openai(messages: list[Any], rng: Random) -> None:
    """Valid at OpenAI; other servers know only some of them."""
    done, call_id = {"status": "completed"}, f"call_{_number(rng)}"
    searched = {"call_id": call_id, "execution": "client", **done}
    groups: tuple[tuple[dict[str, Any], ...], ...] = (
        (
            {"type": "tool_search_call", "arguments": {"query": fresh(rng)}, **searched},
            {"type": "tool_search_output", "tools": [], **searched},
        ),
        ({"type": "compaction", "id": f"cmp_{_number(rng)}", "encrypted_content": "gAAAAx"},),
        ({"type": "image_generation_call", "id": f"ig_{_number(rng)}", "result": "R0lG", **done},),
        (
            {
                "type": "mcp_call",
                "id": f"mcp_{_number(rng)}",
                "server_label": "files",
                "name": "find",
                "arguments": f'{{"name": "{fresh(rng)}"}}',
                "output": f"found {fresh(rng)}",
            },
        ),
        (
            {
                "type": "code_interpreter_call",
                "id": f"ci_{_number(rng)}",
                "code": f"print('{fresh(rng)}')",
                "container_id": "cntr_1",
                "outputs": None,
                **done,
            },
        ),
        (
            {
                "type": "file_search_call",
                "id": f"fs_{_number(rng)}",
                "queries": [fresh(rng)],
                **done,
            },
        ),
    )
    for group in rng.sample(groups, rng.randint(1, 3)):
        _insert(messages, rng, *group)


@OWN.defect
def text_of_the_other_side(messages: list[Any], rng: Random) -> None:
    kind, role = rng.choice(
        (
            ("output_text", "user"),
            ("input_text", "assistant"),
            ("text", "user"),
            ("text", "assistant"),
        )
    )
    _insert(
        messages, rng, {"role": role, "content": [{"type": kind, "text": f"Said {fresh(rng)}."}]}
    )


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
