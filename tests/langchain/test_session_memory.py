"""What was sent in a conversation, kept by a wrapped model and by the middleware."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, SummarizationMiddleware
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES

import chatmend
from chatmend.langchain import RepairMiddleware, mend
from chatmend.langchain.settings import settings_of
from chatmend.memory_store import MemoryStore
from chatmend.sandbox import Failure, Reply
from chatmend.sessions import SessionStore
from chatmend.shared_state import SessionMemories
from chatmend.targets import resolve
from tests.langchain.classes import DESTINATIONS
from tests.sandbox.test_bound_thinking import thinking_of

if TYPE_CHECKING:
    from pathlib import Path

    from chatmend.sandbox import Sandbox


def claude(sandbox: Sandbox) -> ChatAnthropic:
    return ChatAnthropic(
        model="claude-opus-5-5",
        api_key="any",
        base_url=sandbox.url("anthropic"),
        max_retries=0,
        max_tokens=4_096,
    )


def ask(sandbox: Sandbox, model: Any, history: list[Any], *, stream: bool = False) -> None:
    """Send a conversation, and append the answer."""
    sandbox.script([Reply(text="a", thought=f"Plan {len(history)}.")])
    if stream:
        chunks = list(model.stream(history))
        history.append(sum(chunks[1:], chunks[0]))
    else:
        history.append(model.invoke(history))


def thinking(sandbox: Sandbox) -> list[str]:
    """The thinking in the last request."""
    blocks = thinking_of(sandbox.requests[-1].body["messages"])
    return [block["thinking"] for block in blocks]


@pytest.mark.parametrize("stream", [False, True])
def test_thinking_behind_a_changed_message_is_removed(sandbox: Sandbox, stream: bool) -> None:  # noqa: FBT001
    model = mend(claude(sandbox), on_error="raise")
    history: list[Any] = [SystemMessage("Be brief."), HumanMessage("q")]
    ask(sandbox, model, history, stream=stream)
    history.append(HumanMessage("long"))
    ask(sandbox, model, history, stream=stream)
    assert thinking(sandbox) == ["Plan 2."]
    history[3] = HumanMessage("short")
    history.append(HumanMessage("l"))
    ask(sandbox, model, history, stream=stream)
    assert [request.status for request in sandbox.requests] == [200, 200, 200]
    assert thinking(sandbox) == ["Plan 2."]
    history.append(HumanMessage("m"))
    ask(sandbox, model, history, stream=stream)
    assert sandbox.requests[-1].status == 200
    assert thinking(sandbox) == ["Plan 2.", "Plan 6."]


def test_without_it_the_provider_refuses(sandbox: Sandbox) -> None:
    model = mend(claude(sandbox), on_error="raise", session_memory="off")
    history: list[Any] = [HumanMessage("q")]
    ask(sandbox, model, history)
    history[0] = HumanMessage("edited")
    history.append(HumanMessage("n"))
    with pytest.raises(Exception, match="bound to a different conversation"):
        ask(sandbox, model, history)


def test_the_middleware_keeps_it_too(sandbox: Sandbox) -> None:
    middleware = [RepairMiddleware(on_error="raise", session_memory="all")]
    agent = create_agent(claude(sandbox), tools=[], middleware=middleware)
    sandbox.script([Reply(text="a", thought="One."), Reply(text="b", thought="Two.")])
    history = agent.invoke({"messages": [HumanMessage("q")]})["messages"]
    history = agent.invoke({"messages": [*history, HumanMessage("n")]})["messages"]
    history[2] = HumanMessage("edited")
    done = agent.invoke({"messages": [*history, HumanMessage("l")]})["messages"]
    assert isinstance(done[-1], AIMessage)
    assert [request.status for request in sandbox.requests] == [200, 200, 200]
    assert thinking(sandbox) == ["One."]


def test_what_was_sent_in_report_mode_is_known_when_the_model_repairs(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    store = SessionMemories(SessionStore(tmp_path).state)
    history: list[Any] = [SystemMessage("Be brief."), HumanMessage("q")]
    model = mend(claude(sandbox), on_error="raise", session_memory=store, mode="report")
    for text in ("n", "m"):
        ask(sandbox, model, history)
        history.append(HumanMessage(text))
    model = mend(claude(sandbox), on_error="raise", session_memory=store)
    ask(sandbox, model, history)
    assert thinking(sandbox) == ["Plan 2.", "Plan 4."]
    history[3] = HumanMessage("edited")
    history.append(HumanMessage("l"))
    ask(sandbox, model, history)
    assert [request.status for request in sandbox.requests] == [200] * 4
    assert thinking(sandbox) == ["Plan 2."]


def test_a_request_that_a_fallback_answers_is_not_accepted(sandbox: Sandbox) -> None:
    mistral = pytest.importorskip("langchain_mistralai").ChatMistralAI
    model = mend(claude(sandbox), on_error="raise")
    other = mend(mistral(api_key="any", base_url=sandbox.url("mistral/v1"), max_retries=0))
    history: list[Any] = [HumanMessage("q")]
    sandbox.script([Reply(text="a")])
    with sandbox.refuse(lambda _: True, "a defect that no table lists", provider="anthropic"):
        history.append(model.with_fallbacks([other]).invoke(history))
    assert [request.status for request in sandbox.requests] == [400, 200]
    assert [turn.has_failed for turn in turns(model, history)] == [True]
    history.append(HumanMessage("n"))
    ask(sandbox, model, history)
    assert [turn.has_failed for turn in turns(model, history)] == [False]


def turns(model: Any, history: list[Any]) -> Any:
    """The requests in the memory of a conversation."""
    return settings_of(model).memories.of("", history, resolve("anthropic/claude-opus-5-5")).turns


def test_a_new_process_has_the_memory_of_the_old_one(sandbox: Sandbox, tmp_path: Path) -> None:
    history: list[Any] = [
        HumanMessage("q"),
        AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "call_1"}]),
        HumanMessage("n"),
    ]
    for system in ("Be brief.", "Be verbose."):
        store = SessionMemories(SessionStore(tmp_path).state)
        model = mend(claude(sandbox), on_error="raise", session_memory=store)
        again = pickle.loads(pickle.dumps(model))  # noqa: S301 - made here
        messages = [SystemMessage(system), *history]
        ask(
            sandbox, again.bind_tools([{"name": "f", "input_schema": {"type": "object"}}]), messages
        )
        history = [*messages[1:], HumanMessage("l")]
    assert [request.status for request in sandbox.requests] == [200, 200]
    assert thinking(sandbox) == []
    memory = settings_of(again).memories.of("", history, resolve("anthropic/claude-opus-5-5"))
    assert memory is not None
    ((_, _, (placeholder,)),) = memory.turns[-1].edits[:1]
    assert placeholder.tool_call_id == "call_1"


def test_a_pickled_model_keeps_the_option(sandbox: Sandbox) -> None:
    model = pickle.loads(pickle.dumps(mend(claude(sandbox), session_memory="all")))  # noqa: S301 - made here
    assert settings_of(model).session_memory == "all"
    assert len(settings_of(model).memories) == 0


def test_an_invalid_value_is_an_error(sandbox: Sandbox) -> None:
    with pytest.raises(chatmend.PolicyError, match="session_memory='always'"):
        mend(claude(sandbox), session_memory="always")  # type: ignore[arg-type]


@pytest.mark.parametrize("as_option", [False, True])
def test_the_provider_can_ignore_thinking_instead(sandbox: Sandbox, as_option: bool) -> None:  # noqa: FBT001
    adaptive = {"type": "adaptive"}
    bare = claude(sandbox)
    if not as_option:
        bare = bare.model_copy(update={"thinking": adaptive, "betas": ["another-beta"]})
    policy = chatmend.Policy(bound_thinking="drop_block")
    model: Any = mend(bare, on_error="raise", policy=policy)
    model = model.bind(thinking=adaptive, betas=["another-beta"]) if as_option else model
    history: list[Any] = [HumanMessage("q")]
    ask(sandbox, model, history)
    history += [HumanMessage("n")]
    ask(sandbox, model, history)
    assert sandbox.requests[-1].body["thinking"] == adaptive, "the prompt has not changed"
    history[2] = HumanMessage("edited")
    for text in ("l", "m"):
        history.append(HumanMessage(text))
        ask(sandbox, model, history)
        request = sandbox.requests[-1]
        assert request.status == 200
        assert request.body["thinking"]["block_binding"] == {
            "prefix_mismatch_behavior": "drop_block"
        }
        assert thinking(sandbox)[:2] == ["Plan 1.", "Plan 3."]


@tool
def look(at: str = "") -> str:
    """Look."""
    return f"r {at}"


def agent_loop(sandbox: Sandbox, model: Any, middleware: Any) -> list[str | None]:
    """Three questions to an agent with tools; why each was refused, if it was."""
    agent = create_agent(model, [look], checkpointer=InMemorySaver(), middleware=[middleware])
    refused: list[str | None] = []
    for number in range(3):
        sandbox.clear()
        try:
            question = {"messages": [("user", f"use look {number}")]}
            agent.invoke(question, {"configurable": {"thread_id": "1"}})
        except Exception:  # noqa: BLE001 - the rule is compared
            refused.append(str(sandbox.refusals[-1].rule))
        else:
            refused.append(None)
    return refused


class Trimming(AgentMiddleware[Any, Any]):
    """Keeps the last three messages."""

    def before_model(self, state: Any, runtime: Any) -> Any:  # noqa: ARG002 - of the base class
        kept = state["messages"][-3:]
        return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), *kept]}


@pytest.mark.parametrize("kind", ["summary", "trimmed"])
def test_a_conversation_with_another_opening_is_found_by_its_messages(
    sandbox: Sandbox, kind: str
) -> None:
    model = DESTINATIONS["anthropic"].model(
        sandbox, model="claude-fable-5-1", thinking={"type": "adaptive"}, max_tokens=4000
    )
    summariser = DESTINATIONS["openai"].model(sandbox)
    middleware = (
        SummarizationMiddleware(summariser, trigger=("messages", 6), keep=("messages", 3))
        if kind == "summary"
        else Trimming()
    )
    assert "anthropic-thinking-bound-conversation" in agent_loop(sandbox, model, middleware)
    assert agent_loop(sandbox, mend(model, on_error="raise"), middleware) == [None] * 3


def test_another_conversation_with_the_same_texts_has_its_own_memory(sandbox: Sandbox) -> None:
    model = mend(claude(sandbox), on_error="raise")
    for opening in ("one", "two"):
        history: list[Any] = [HumanMessage(opening)]
        ask(sandbox, model, history)
        history.append(HumanMessage("go on"))
        ask(sandbox, model, history)
        assert thinking(sandbox) == ["Plan 1."]


def test_ids_of_messages_find_only_conversations_of_the_same_tenant() -> None:
    store, target = MemoryStore(), resolve("anthropic/claude-opus-5-5")
    before = [HumanMessage("q", id="one"), HumanMessage("next", id="two")]
    memory = chatmend.repair(before, target, memory=chatmend.SessionMemory()).memory
    store.keep("a", before, memory)
    after = [HumanMessage("A summary."), before[1]]
    assert store.of("a", after, target) == memory
    assert store.of("b", after, target) == chatmend.SessionMemory()


def unanswered(text: str) -> list[Any]:
    call = {"name": "look", "args": {}, "id": "call_a", "type": "tool_call"}
    return [HumanMessage("hi"), AIMessage("", tool_calls=[call]), HumanMessage(text)]


def test_requests_with_one_opening_at_the_same_time_are_all_repaired(sandbox: Sandbox) -> None:
    model = mend(claude(sandbox), on_error="raise")
    histories = [unanswered(f"go {at}") for at in range(40)]
    model.batch(histories, config={"max_concurrency": 16})  # type: ignore[arg-type]
    assert not sandbox.refusals
    memory = settings_of(model).memories.of("", histories[0], resolve("anthropic/claude-opus-5-5"))
    assert memory is not None
    assert len(memory.turns) > 1


@pytest.mark.parametrize("method", ["keep", "refuse"])
def test_a_memory_that_cannot_be_kept_does_not_discard_the_repair(
    sandbox: Sandbox,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    method: str,
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr(MemoryStore, method, fail)
    if method == "refuse":
        sandbox.script([Failure(529)])
        with pytest.raises(Exception, match="529"):
            mend(claude(sandbox)).invoke(unanswered("go"))
    else:
        answer = mend(claude(sandbox)).invoke(unanswered("go"))
        changes = answer.response_metadata["chatmend"]["changes"]
        assert all(change["applied"] for change in changes)
        assert not sandbox.refusals
    assert "what was sent is not remembered" in caplog.text
    sandbox.script([Failure(529)])
    with pytest.raises(RuntimeError):
        mend(claude(sandbox), on_error="raise").invoke(unanswered("go"))
