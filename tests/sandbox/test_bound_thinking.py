"""Agent loops with a model that binds its thinking to everything that was sent before.

The client stores the conversation as it happened, with interruptions and results that arrive late,
and repairs it before each request. The sandbox signs its thinking for the repaired request, and
refuses a block if anything before it differs later.
"""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any

import httpx
import pytest

import chatmend
from chatmend.sandbox import Reply
from tests.scale import examples

if TYPE_CHECKING:
    from chatmend.sandbox import Sandbox

SEEDS = range(examples(6, 600))
TURNS = 8
MODEL = "claude-fable-5-1"
TARGET = f"anthropic/{MODEL}"
HEADERS = {"x-api-key": "any", "anthropic-version": "2023-06-01"}
TOOLS = [{"name": name, "input_schema": {"type": "object"}} for name in ("search", "read")]
SYSTEM = "You are an agent."


def reply(random: Random) -> Reply:
    """Thinking, with a text or up to three calls."""
    count = random.choice((0, 0, 1, 2, 3))
    calls = tuple((random.choice(("search", "read")), {"q": random.random()}) for _ in range(count))
    return Reply(text=f"Text {random.random()}.", calls=calls, thought=f"Plan {random.random()}.")


def happens(random: Random, history: list[Any], late: list[Any]) -> None:
    """Append what the client stores after an answer: results, or an interruption of the user."""
    calls = [block for block in history[-1]["content"] if block["type"] == "tool_use"]
    results = [
        {"type": "tool_result", "tool_use_id": call["id"], "content": f"Found {random.random()}."}
        for call in calls
    ]
    words = {"role": "user", "content": f"Go on {random.random()}."}
    case = random.choice(("all", "all", "some", "none", "later", "empty", "system", "split"))
    if late and random.random() < 0.5:
        history.append({"role": "user", "content": late.pop()})
    if not results or case == "none":
        history.append(words)
    elif case == "some":
        history.append({"role": "user", "content": results[1:] or [{"type": "text", "text": "?"}]})
    elif case == "later":
        late.append(results)
        history.append(words)
    elif case == "empty":
        history += [
            {"role": "user", "content": results},
            {"role": "user", "content": ""},
            words,
        ]
    elif case == "system":
        history += [
            {"role": "user", "content": results},
            {"role": "system", "content": "Be brief."},
        ]
    elif case == "split":
        history += [{"role": "user", "content": [result]} for result in results]
    else:
        history.append({"role": "user", "content": [*results, {"type": "text", "text": "And?"}]})


def thinking_of(messages: list[Any]) -> list[Any]:
    return [
        block
        for message in messages
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] in ("thinking", "redacted_thinking")
    ]


@pytest.mark.parametrize("policy", [chatmend.Policy(), chatmend.Policy(system="hoist")])
def test_all_thinking_arrives_and_none_is_refused(
    sandbox: Sandbox, policy: chatmend.Policy
) -> None:
    repaired = 0
    with httpx.Client(headers=HEADERS, timeout=30) as client:
        for seed in SEEDS:
            random = Random(seed)
            history: list[Any] = [{"role": "user", "content": "Begin."}]
            late: list[Any] = []
            for turn in range(TURNS):
                body = {"model": MODEL, "max_tokens": 4_096, "system": SYSTEM, "tools": TOOLS}
                body |= {"messages": history, "thinking": {"type": "adaptive"}}
                done = chatmend.repair_request(
                    body, TARGET, dialect="anthropic_messages", policy=policy
                )
                repaired += bool(done.changes)
                sandbox.script([reply(random)])
                answer = client.post(sandbox.url("anthropic/v1/messages"), json=done.body)
                assert answer.status_code == 200, (seed, turn, answer.text)
                sent = thinking_of(done.body["messages"])
                assert sent == thinking_of(history), (seed, turn)
                history.append({"role": "assistant", "content": json.loads(answer.text)["content"]})
                happens(random, history, late)
    assert repaired > len(SEEDS), "the loops are damaged"


GAPS = ("", "", "replica", "fallback", "report")
POLICIES = [
    None,
    chatmend.Policy(duplicates="messages"),
    chatmend.Policy(late_results="move"),
    chatmend.Policy.offline(),
]


@pytest.mark.parametrize("kind", ["gaps", "policies"])
def test_all_thinking_arrives_in_a_conversation_that_goes_elsewhere_and_comes_back(
    sandbox: Sandbox, kind: str
) -> None:
    """``gaps``: another replica or provider makes some turns, or chatmend only reports.

    ``policies``: each turn is repaired with another policy.
    """
    elsewhere = 0
    with httpx.Client(headers=HEADERS, timeout=30) as client:
        for seed in SEEDS:
            random = Random(seed)
            history: list[Any] = [{"role": "user", "content": f"Begin {seed}."}]
            late: list[Any] = []
            memory = chatmend.SessionMemory()
            for turn in range(TURNS):
                body = {"model": MODEL, "max_tokens": 4_096, "system": SYSTEM, "tools": TOOLS}
                body |= {"messages": history, "thinking": {"type": "adaptive"}}
                body = json.loads(json.dumps(body))
                gap = random.choice(GAPS) if kind == "gaps" else ""
                policy = random.choice(POLICIES) if kind == "policies" else None
                done = chatmend.repair_request(
                    body, TARGET, dialect="anthropic_messages", memory=memory, policy=policy
                )
                sent = done.body
                if not gap:
                    memory = done.memory or memory
                elif gap == "report" and not done.changes:
                    memory = chatmend.remember_request(
                        body, TARGET, memory=memory, dialect="anthropic_messages"
                    )
                elif gap == "replica":
                    sent = chatmend.repair_request(body, TARGET, dialect="anthropic_messages").body
                else:
                    memory = (done.memory or memory).refused()
                elsewhere += bool(gap or policy)
                assert thinking_of(sent["messages"]) == thinking_of(history), (seed, turn, gap)
                if gap == "fallback":
                    history.append({"role": "assistant", "content": [TEXT]})
                    history.append({"role": "user", "content": f"Go on {random.random()}."})
                    continue
                sandbox.script([reply(random)])
                answer = client.post(sandbox.url("anthropic/v1/messages"), json=sent)
                assert answer.status_code == 200, (seed, turn, gap, answer.text)
                history.append({"role": "assistant", "content": json.loads(answer.text)["content"]})
                happens(random, history, late)
    assert elsewhere > len(SEEDS)


TEXT = {"type": "text", "text": "Another provider says."}
DROP = {"thinking-binding-controls-2026-08-01"}


def changes_the_past(random: Random, history: list[Any], state: dict[str, Any]) -> None:
    """Change what was sent before, as clients do: none, system, tools, a summary, a shorter result."""
    case = random.choice(("", "", "", "system", "tools", "summary", "prune", "result"))
    if case == "system":
        state["system"] = f"You are an agent. It is {random.random()}."
    elif case == "tools":
        state["tools"] = TOOLS[: random.choice((1, 2))]
    elif case == "summary" and len(history) > 4:
        at = max(i for i, message in enumerate(history) if message["role"] == "assistant")
        history[:at] = [{"role": "user", "content": f"So far: {random.random()}."}]
    elif case == "prune":
        users = [message for message in history if message["role"] == "user"]
        random.choice(users)["content"] = f"Shortened {random.random()}."
    elif case == "result" and history[-1]["role"] == "user":
        history[-1] = {"role": "user", "content": f"Edited {random.random()}."}


@pytest.mark.parametrize("stores", [False, True])
def test_only_thinking_behind_a_changed_prompt_is_removed(sandbox: Sandbox, stores: bool) -> None:  # noqa: FBT001
    """With a memory no request is refused, and every block arrives that the provider accepts.

    Which blocks it accepts is asked of the sandbox, which drops the others on demand.
    """
    removed = 0
    with httpx.Client(headers=HEADERS, timeout=30) as client:
        for seed in SEEDS:
            random = Random(seed)
            history: list[Any] = [{"role": "user", "content": f"Begin {seed}."}]
            state: dict[str, Any] = {"system": SYSTEM, "tools": TOOLS}
            late: list[Any] = []
            memory = chatmend.SessionMemory()
            for turn in range(TURNS):
                body = {"model": MODEL, "max_tokens": 4_096, **state, "messages": history}
                body |= {"thinking": {"type": "adaptive"}}
                dropped = dropped_by_provider(client, sandbox, body)
                if stores:
                    memory = chatmend.SessionMemory.from_dict(
                        json.loads(json.dumps(memory.to_dict()))
                    )
                done = chatmend.repair_request(
                    body, TARGET, dialect="anthropic_messages", memory=memory
                )
                memory = done.memory
                sandbox.script([reply(random)])
                answer = client.post(sandbox.url("anthropic/v1/messages"), json=done.body)
                assert answer.status_code == 200, (seed, turn, answer.text)
                sent, held = thinking_of(done.body["messages"]), thinking_of(history)
                assert [block for block in held if block not in dropped] == sent, (seed, turn)
                removed += len(held) - len(sent)
                history.append({"role": "assistant", "content": json.loads(answer.text)["content"]})
                happens(random, history, late)
                changes_the_past(random, history, state)
    assert removed > len(SEEDS), "the past was changed"


def dropped_by_provider(client: httpx.Client, sandbox: Sandbox, body: Any) -> list[Any]:
    """The thinking that the sandbox drops from a request that was repaired without a memory."""
    asked = chatmend.repair_request(body, TARGET, dialect="anthropic_messages").body
    binding = {"block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    sandbox.script([Reply(text="x")])
    answer = client.post(
        sandbox.url("anthropic/v1/messages"),
        json={**asked, "thinking": {"type": "adaptive", **binding}},
        headers={"anthropic-beta": ",".join(DROP)},
    )
    assert answer.status_code == 200, answer.text
    places = [one["path"].split(".") for one in answer.json()["input_transformations"]]
    return [asked["messages"][int(p[1])]["content"][int(p[3])] for p in places]


def test_the_sandbox_refuses_thinking_behind_another_prefix(sandbox: Sandbox) -> None:
    """Without this, the test above could not fail."""
    ask = {"role": "user", "content": "Begin."}
    body = {"model": MODEL, "max_tokens": 4_096, "tools": TOOLS, "messages": [ask]}
    with httpx.Client(headers=HEADERS, timeout=30) as client:
        sandbox.script([Reply(text="a", thought="Plan.")])
        answer = client.post(sandbox.url("anthropic/v1/messages"), json=body).json()["content"]
        said, more = {"role": "assistant", "content": answer}, {"role": "user", "content": "on"}
        assert thinking_of([said])
        for messages, status in (
            ([ask, said, more], 200),
            ([{"role": "user", "content": "Start."}, said, more], 400),
        ):
            sent = client.post(
                sandbox.url("anthropic/v1/messages"), json={**body, "messages": messages}
            )
            assert sent.status_code == status
        assert "bound to a different conversation" in sent.text
        reaction = chatmend.react({**body, "messages": messages}, TARGET, sent.text)
        assert reaction is not None
        again = client.post(sandbox.url("anthropic/v1/messages"), json=reaction.body)
        assert again.status_code == 200
