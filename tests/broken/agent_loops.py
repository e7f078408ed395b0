"""Agent loops with tools that the provider runs, valid ones by seed, and what damages them.

``loop(seed, dialect)`` is a conversation of Anthropic's Messages or OpenAI's Responses API as the API gave it, with
calls of hosted tools, calls of the caller's own tools, thinking or reasoning, and turns that were paused.
``damaged(seed, dialect)`` is the same conversation after streams were cut, the user interrupted, a client compacted the
history in the middle of an exchange, or stored an item twice, at another place or not at all.
"""

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from .tokens import fresh
from .wires import Native

Damage = Callable[[list[Any], Random], list[Any]]
SEALED = "EqgfCioIARgBIiQ3YTAwMjY1Mi1mZjM5LTQ1NGUtODgxNC1kNjNjNTk1ZWI3Y"
"""An encrypted value: it has no token, because a text made of the result must not have it."""


def loop(seed: int, dialect: str, *, stored: bool = False) -> list[Any]:
    """A valid conversation that ends with a user message or a result. ``stored``: with ids instead of encrypted content."""
    rng = Random(f"loop:{dialect}:{seed}")
    turn = _blocks if dialect == "anthropic_messages" else _items
    messages: list[Any] = []
    for _ in range(rng.randint(1, 4)):
        messages += turn(rng, stored)
    return [*messages, {"role": "user", "content": f"And now {fresh(rng)}."}]


def damaged(seed: int, dialect: str, *, stored: bool = False) -> list[Any]:
    """The loop of this seed with one to three damages."""
    rng = Random(f"damage:{dialect}:{seed}")
    messages: list[Any] = json.loads(json.dumps(loop(seed, dialect, stored=stored)))
    for damage in rng.choices(DAMAGES[dialect], k=rng.randint(1, 3)):
        messages = damage(messages, rng)
    return messages


def _id(prefix: str, rng: Random) -> str:
    return f"{prefix}_{rng.randrange(16**40):040x}"


def _text(rng: Random, words: str = "I see") -> Native:
    return {"type": "text", "text": f"{words} {fresh(rng)}."}


def _hosted(rng: Random) -> list[Native]:
    """A call of a tool that Anthropic runs, and its result."""
    name = rng.choice((*_RESULTS, "mcp"))
    if name == "mcp":
        call_id = _id("mcptoolu", rng)
        return [
            {
                "type": "mcp_tool_use",
                "id": call_id,
                "name": "look_up",
                "server_name": "docs",
                "input": {"word": fresh(rng)},
            },
            {
                "type": "mcp_tool_result",
                "tool_use_id": call_id,
                "is_error": False,
                "content": [_text(rng)],
            },
        ]
    call_id = _id("srvtoolu", rng)
    kind, content = _RESULTS[name]
    return [
        {"type": "server_tool_use", "id": call_id, "name": name, "input": {"query": fresh(rng)}},
        {"type": kind, "tool_use_id": call_id, "content": content(rng)},
    ]


def _pages(rng: Random) -> Any:
    if rng.random() < 0.2:
        return {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    page = {"type": "web_search_result", "url": "https://e.example", "title": fresh(rng)}
    return [{**page, "encrypted_content": SEALED, "page_age": None}]


def _fetched(rng: Random) -> Any:
    source = {"type": "text", "media_type": "text/plain", "data": fresh(rng)}
    held = {"type": "document", "source": source, "title": None}
    return {"type": "web_fetch_result", "url": "https://e.example", "content": held}


def _ran(kind: str) -> Callable[[Random], Any]:
    return lambda rng: {
        "type": kind,
        "stdout": fresh(rng),
        "stderr": "",
        "return_code": 0,
        "content": [],
    }


def _sealed_run(rng: Random) -> Any:
    ran = {"type": "encrypted_code_execution_result", "encrypted_stdout": SEALED, "stderr": ""}
    return rng.choice(
        ({**ran, "return_code": 0, "content": []}, _ran("code_execution_result")(rng))
    )


_RESULTS: dict[str, tuple[str, Callable[[Random], Any]]] = {
    "web_search": ("web_search_tool_result", _pages),
    "web_fetch": ("web_fetch_tool_result", _fetched),
    "code_execution": ("code_execution_tool_result", _sealed_run),
    "bash_code_execution": (
        "bash_code_execution_tool_result",
        _ran("bash_code_execution_result"),
    ),
    "text_editor_code_execution": (
        "text_editor_code_execution_tool_result",
        lambda rng: {
            "type": "text_editor_code_execution_view_result",
            "file_type": "text",
            "content": fresh(rng),
        },
    ),
    "tool_search_tool_bm25": (
        "tool_search_tool_result",
        lambda _: {
            "type": "tool_search_tool_search_result",
            "tool_references": [{"type": "tool_reference", "tool_name": "search"}],
        },
    ),
}


def _blocks(rng: Random, _stored: bool) -> list[Any]:  # noqa: FBT001 - the same as for items
    """One turn of Anthropic's: what the user says, and all that follows until the last text."""
    messages: list[Any] = [{"role": "user", "content": f"Find {fresh(rng)}."}]
    said: list[Native] = []
    for _ in range(rng.randint(1, 4)):
        step = rng.random()
        if step < 0.45:
            said += _hosted(rng)
        elif step < 0.6:
            said.append(_text(rng))
        elif step < 0.7 and said:
            # The turn was paused: the client sent the message back, and got the rest as another one.
            messages.append({"role": "assistant", "content": said})
            said = _hosted(rng)
        elif step < 0.85:
            messages += _own_exchange(rng, said)
            said = []
        else:
            opened, closed = _hosted_code(rng)
            messages += _own_exchange(rng, [*said, opened], str(opened["id"]))
            if rng.random() < 0.3:
                messages += _own_exchange(rng, [], str(opened["id"]))
            said = [closed]
    return [*messages, {"role": "assistant", "content": [*said, _text(rng, "Done:")]}]


def _hosted_code(rng: Random) -> tuple[Native, Native]:
    """Code that calls a tool of the caller, and its result, which comes later."""
    call_id = _id("srvtoolu", rng)
    code = {"code": f"print('{fresh(rng)}')"}
    opened = {"type": "server_tool_use", "id": call_id, "name": "code_execution", "input": code}
    content = _ran("code_execution_result")(rng)
    closed = {"type": "code_execution_tool_result", "tool_use_id": call_id, "content": content}
    return opened, closed


def _own_exchange(rng: Random, said: list[Native], code: str | None = None) -> list[Any]:
    call_id = _id("toolu", rng)
    call: Native = {"type": "tool_use", "id": call_id, "name": "search"}
    call["input"] = {"query": fresh(rng)}
    if code is not None:
        call["caller"] = {"type": "code_execution_20250825", "tool_id": code}
    result = {"type": "tool_result", "tool_use_id": call_id, "content": fresh(rng)}
    return [
        {"role": "assistant", "content": [*said, call]},
        {"role": "user", "content": [result]},
    ]


def _items(rng: Random, stored: bool) -> list[Any]:  # noqa: FBT001 - the same as for blocks
    """One turn of Responses: what the user says, and the items that the model answers with."""
    items: list[Any] = [{"role": "user", "content": f"Find {fresh(rng)}."}]
    for _ in range(rng.randint(1, 4)):
        step = rng.choice(_STEPS)
        items += [] if step in (_mcp_tools, _compaction) else _reasoning(rng, stored)
        items += step(rng)
    return [*items, *_reasoning(rng, stored), _said(rng)]


def _reasoning(rng: Random, stored: bool) -> list[Any]:  # noqa: FBT001
    item: Native = {"type": "reasoning", "id": _id("rs", rng), "summary": []}
    return [item if stored else {**item, "encrypted_content": SEALED}]


def _said(rng: Random) -> Native:
    text = {"type": "output_text", "text": f"Done: {fresh(rng)}.", "annotations": []}
    item = {"type": "message", "id": _id("msg", rng), "status": "completed", "role": "assistant"}
    return {**item, "content": [text]}


def _with_id(prefix: str, rng: Random, **keys: Any) -> Native:
    return {"id": _id(prefix, rng), "status": "completed", **keys}


_LIKE_CODEX = 0.5
"""The share of local shells whose output is that of a function."""


def _pair(kind: str, prefix: str, **keys: Any) -> Callable[[Random], list[Any]]:
    """A call that the caller runs, and its output. A value ``...`` becomes a token."""

    def made(rng: Random) -> list[Any]:
        call_id = _id("call", rng)
        call = _with_id(prefix, rng, type=kind, call_id=call_id, **_filled(keys, rng))
        output: Native = {"type": f"{kind}_output", "call_id": call_id, "output": fresh(rng)}
        if kind in ("apply_patch_call", "shell_call"):
            output["status"] = "completed"
        if kind == "shell_call":
            outcome = {"type": "exit", "exit_code": 0}
            output["output"] = [{"stdout": fresh(rng), "stderr": "", "outcome": outcome}]
        if kind == "computer_call":
            shot = {"type": "computer_screenshot", "image_url": f"https://e.example/{call_id}.png"}
            output["output"] = shot
        if kind == "local_shell_call" and rng.random() < _LIKE_CODEX:
            output["type"] = "function_call_output"
        return [call, output]

    return made


def _filled(value: Any, rng: Random) -> Any:
    if value is ...:
        return fresh(rng)
    if isinstance(value, dict):
        return {key: _filled(held, rng) for key, held in value.items()}
    return [_filled(held, rng) for held in value] if isinstance(value, list) else value


def _alone(kind: str, prefix: str, **keys: Any) -> Callable[[Random], list[Any]]:
    """A call that the provider ran: one item with its result."""
    return lambda rng: [_with_id(prefix, rng, type=kind, **_filled(keys, rng))]


def _function(rng: Random) -> list[Any]:
    call, output = _pair("function_call", "fc", name="search")(rng)
    return [{**call, "arguments": json.dumps({"query": fresh(rng)})}, output]


def _custom(rng: Random) -> list[Any]:
    call, output = _pair("custom_tool_call", "ctc", name="search", input=...)(rng)
    del call["status"]
    return [call, output]


def _mcp(rng: Random) -> list[Any]:
    request_id, named = _id("mcpr", rng), {"name": "look_up", "server_label": "docs"}
    arguments = json.dumps({"word": fresh(rng)})
    request = {"type": "mcp_approval_request", "id": request_id, "arguments": arguments, **named}
    approved = {"type": "mcp_approval_response", "approval_request_id": request_id, "approve": True}
    call = {"type": "mcp_call", "id": _id("mcp", rng), "arguments": arguments, **named}
    return [request, approved, {**call, "output": fresh(rng), "approval_request_id": request_id}]


def _mcp_tools(rng: Random) -> list[Any]:
    tool = {"name": "look_up", "input_schema": {"type": "object"}, "annotations": None}
    listed = {"type": "mcp_list_tools", "id": _id("mcpl", rng), "server_label": "docs"}
    return [{**listed, "tools": [{**tool, "description": fresh(rng)}]}]


def _search_of_tools(rng: Random) -> list[Any]:
    call = {"type": "tool_search_call", "id": _id("tsc", rng), "execution": "server"}
    return [
        {**call, "call_id": None, "arguments": {"query": fresh(rng)}, "status": "completed"},
        {"type": "tool_search_output", "id": _id("tso", rng), "tools": [], "status": "completed"},
    ]


def _compaction(rng: Random) -> list[Any]:
    return [{"type": "compaction", "id": _id("cmp", rng), "encrypted_content": SEALED}]


_STEPS: tuple[Callable[[Random], list[Any]], ...] = (
    _function,
    _custom,
    _mcp,
    _mcp_tools,
    _search_of_tools,
    _compaction,
    _alone("web_search_call", "ws", action={"type": "search", "query": ...}),
    _alone("file_search_call", "fs", queries=[...], results=None),
    _alone(
        "code_interpreter_call",
        "ci",
        code=...,
        container_id="cntr_1",
        outputs=[{"type": "logs", "logs": ...}],
    ),
    _alone("image_generation_call", "ig", result="aW1hZ2U="),
    _pair("computer_call", "cu", action={"type": "type", "text": ...}, pending_safety_checks=[]),
    _pair("local_shell_call", "lsh", action={"type": "exec", "command": [...], "env": {}}),
    _pair("shell_call", "sh", action={"commands": [...]}),
    _pair(
        "apply_patch_call", "apc", operation={"type": "create_file", "path": "a.txt", "diff": ...}
    ),
)


def _own_runs(messages: list[Any]) -> Iterator[int]:
    """The indexes of assistant messages of Anthropic's with more than one block."""
    for at, message in enumerate(messages):
        if message["role"] == "assistant" and len(message["content"]) > 1:
            yield at


def _cut_stream(messages: list[Any], rng: Random) -> list[Any]:
    """Only the first blocks of an answer arrived; the user goes on."""
    runs = list(_own_runs(messages))
    if not runs:
        return messages
    at = rng.choice(runs)
    content = messages[at]["content"]
    arrived = {**messages[at], "content": content[: rng.randint(1, len(content) - 1)]}
    said = {"role": "user", "content": f"Go on with {fresh(rng)}."}
    return [*messages[:at], arrived, said, *messages[at + 1 :]]


def _interrupted(messages: list[Any], rng: Random) -> list[Any]:
    """A message of the user was stored inside of an answer."""
    runs = list(_own_runs(messages))
    if not runs:
        return messages
    at = rng.choice(runs)
    content = messages[at]["content"]
    cut = rng.randint(1, len(content) - 1)
    said = {"role": rng.choice(("user", "user", "system")), "content": f"Wait, {fresh(rng)}."}
    halves = [{**messages[at], "content": part} for part in (content[:cut], content[cut:])]
    return [*messages[:at], halves[0], said, halves[1], *messages[at + 1 :]]


def _compacted(messages: list[Any], rng: Random) -> list[Any]:
    """The client replaced the beginning by a summary, in the middle of an exchange."""
    at = rng.randrange(len(messages))
    first = messages[at]
    if isinstance(first.get("content"), list) and len(first["content"]) > 1:
        first = {**first, "content": first["content"][rng.randrange(len(first["content"])) :]}
    return [{"role": "user", "content": f"So far: {fresh(rng)}."}, first, *messages[at + 1 :]]


def _moved_block(messages: list[Any], rng: Random) -> list[Any]:
    """A block of a hosted tool is at another place of its turn, in the next message, stored twice or missing."""
    places = [
        (at, n)
        for at in _own_runs(messages)
        for n, block in enumerate(messages[at]["content"])
        if "tool_use" in block["type"] or "_tool_result" in block["type"]
    ]
    if not places:
        return messages
    at, n = rng.choice(places)
    content = list(messages[at]["content"])
    block = content[n]
    how = rng.choice(("order", "twice", "next", "gone", "elsewhere"))
    if how != "twice":
        del content[n]
    changed = [*messages[:at], {**messages[at], "content": content}, *messages[at + 1 :]]
    if how == "order":
        content.insert(rng.randint(0, len(content)), block)
    elif how == "twice":
        content.insert(n + 1, block)
    elif how == "next":
        changed.insert(at + 1, {"role": "user", "content": [block]})
    elif how == "elsewhere":
        changed.insert(rng.randint(0, len(changed)), {"role": "assistant", "content": [block]})
    return changed


def _wrong_values(messages: list[Any], rng: Random) -> list[Any]:
    """Ids of another provider, an input that is no object, or a key that is missing."""
    blocks = [
        block
        for at in _own_runs(messages)
        for block in messages[at]["content"]
        if block["type"] == "server_tool_use"
    ]
    if blocks:
        block = rng.choice(blocks)
        how = rng.choice(("id", "input", "gone"))
        if how == "id":
            wrong = f"call.{rng.randrange(10**9)}"
            for message in messages:
                for other in message["content"] if isinstance(message["content"], list) else ():
                    _rename(other, block["id"], wrong)
        elif how == "input":
            block["input"] = rng.choice((json.dumps(block.get("input")), None, f"{{{fresh(rng)}"))
        else:
            block.pop(rng.choice(("name", "input")), None)
    return messages


def _rename(block: Native, old: str, new: str) -> None:
    for key in ("id", "tool_use_id"):
        if block.get(key) == old:
            block[key] = new
    if isinstance(caller := block.get("caller"), dict) and caller.get("tool_id") == old:
        caller["tool_id"] = new


def _cut_items(items: list[Any], rng: Random) -> list[Any]:
    """Some items of an answer never arrived; the user goes on."""
    at = rng.randrange(1, len(items))
    stop = next((n for n in range(at, len(items)) if items[n].get("role") == "user"), len(items))
    return [*items[:at], {"role": "user", "content": f"Go on with {fresh(rng)}."}, *items[stop:]]


def _compacted_items(items: list[Any], rng: Random) -> list[Any]:
    at = rng.randrange(len(items))
    return [{"role": "user", "content": f"So far: {fresh(rng)}."}, *items[at:]]


def _lost_item(items: list[Any], rng: Random) -> list[Any]:
    at = rng.randrange(len(items) - 1)
    return [*items[:at], *items[at + 1 :]]


def _moved_item(items: list[Any], rng: Random) -> list[Any]:
    at = rng.randrange(len(items) - 1)
    rest = [*items[:at], *items[at + 1 :]]
    rest.insert(rng.randint(0, len(rest) - 1), items[at])
    return rest


def _item_twice(items: list[Any], rng: Random) -> list[Any]:
    at = rng.randrange(len(items) - 1)
    again = json.loads(json.dumps(items[at]))
    return [*items[: at + 1], again, *items[at + 1 :]]


def _wrong_ids(items: list[Any], rng: Random) -> list[Any]:
    """An id of another type or provider, or no id."""
    with_id = [item for item in items if "id" in item]
    if with_id:
        item = rng.choice(with_id)
        how = rng.choice(("type", "long", "gone"))
        if how == "gone":
            del item["id"]
        else:
            wrong = {"type": _id("call", rng), "long": f"{item['id']}{'x' * 64}"}
            item["id"] = wrong[how]
    return items


def _missing_keys(items: list[Any], rng: Random) -> list[Any]:
    """A key that the API demands is missing, or there is one that it does not know."""
    held = [item for item in items if "type" in item]
    if not held:
        return items
    item = rng.choice(held)
    if rng.random() < 0.5:
        item["trace"] = {"span": 7}
    else:
        keys = [key for key in item if key not in ("type", "call_id", "role", "output", "id")]
        if keys:
            del item[rng.choice(keys)]
    return items


def with_references(items: list[Any], seed: int) -> list[Any]:
    """The items, some of which are known only by their ids."""
    rng = Random(f"references:{seed}")
    return [
        {"type": "item_reference", "id": item["id"]}
        if isinstance(item.get("id"), str) and item["type"] in _STORED and rng.random() < 0.3
        else item
        for item in items
    ]


_STORED = ("message", "reasoning", "function_call", "web_search_call", "mcp_call")
DAMAGES: dict[str, tuple[Damage, ...]] = {
    "anthropic_messages": (_cut_stream, _interrupted, _compacted, _moved_block, _wrong_values),
    "openai_responses": (
        _cut_items,
        _compacted_items,
        _lost_item,
        _moved_item,
        _item_twice,
        _wrong_ids,
        _missing_keys,
    ),
}
