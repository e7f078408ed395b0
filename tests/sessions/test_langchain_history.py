"""LangChain's message history on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatmend.sessions import SessionStore

pytest.importorskip("langchain_core")

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    messages_from_dict,
    messages_to_dict,
)
from langchain_core.runnables.history import RunnableWithMessageHistory

from chatmend.langchain import ChatMendHistory

CALL = {"name": "f", "args": {"a": [1, None]}, "id": "c1", "type": "tool_call"}
SAID = [
    SystemMessage("Be brief."),
    HumanMessage([{"type": "text", "text": "<!--/MSG-->"}], id="1", name="ann"),
    AIMessage("", tool_calls=[CALL], response_metadata={"model": "x"}, usage_metadata=None),
    ToolMessage("r", tool_call_id="c1", artifact={"big": [1.5]}, status="error"),
]


def test_messages_come_back_as_they_were_in_another_process_too(tmp_path: Path) -> None:
    history = ChatMendHistory.of(
        SessionStore(tmp_path), "thread 7/é", target="anthropic/claude-sonnet-4-5"
    )
    history.add_messages(SAID[:2])
    history.add_messages(SAID[2:])
    again = ChatMendHistory.of(SessionStore(tmp_path), "thread 7/é")
    assert again.messages == history.messages == SAID
    assert ChatMendHistory.of(SessionStore(tmp_path), "thread 7/e").messages == []


def test_the_stored_texts_are_readable(tmp_path: Path) -> None:
    history = ChatMendHistory.of(SessionStore(tmp_path), "main")
    history.add_messages([HumanMessage("Hello\nthere")])
    assert '<!--MSG role="human"-->' in (tmp_path / history.session.path).read_text()
    assert "\nHello\nthere\n<!--/MSG-->" in (tmp_path / history.session.path).read_text()


def test_what_the_target_would_refuse_is_found_in_langchain_messages_too(tmp_path: Path) -> None:
    history = ChatMendHistory.of(
        SessionStore(tmp_path), "main", target="anthropic/claude-sonnet-4-5"
    )
    history.add_messages([SAID[0], HumanMessage("q"), *SAID[2:], AIMessage("ok")])
    assert history.session.findings == ()
    history.add_messages([HumanMessage("more"), ToolMessage("late", tool_call_id="nobody")])
    assert {finding.rule for finding in history.session.findings} == {"orphan-tool-result"}


def test_a_continuation_of_langchain_messages_is_repaired_in_their_form(tmp_path: Path) -> None:
    history = ChatMendHistory.of(
        SessionStore(tmp_path), "main", target="anthropic/claude-sonnet-4-5"
    )
    history.add_messages([HumanMessage("q"), AIMessage("", tool_calls=[CALL], id="run-1")])
    done = history.session.extend(messages_to_dict([HumanMessage("never mind")]))
    kinds = [type(message).__name__ for message in messages_from_dict(done.messages)]
    assert kinds == ["HumanMessage", "AIMessage", "ToolMessage", "HumanMessage"]
    history.session.record(done.messages)
    assert history.messages[1].id == "run-1"


def test_clearing_begins_a_new_session_and_keeps_the_old_one(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    history = ChatMendHistory.of(store, "main")
    history.add_messages([HumanMessage("a")])
    old = history.session.path
    history.clear()
    assert (history.messages, ChatMendHistory.of(store, "main").messages) == ([], [])
    assert store.load(old).header.messages == 1


@pytest.mark.filterwarnings("ignore:RunnableWithMessageHistory")
def test_a_runnable_with_message_history_remembers_across_processes(tmp_path: Path) -> None:
    def ask(text: str) -> None:
        model = GenericFakeChatModel(messages=iter([AIMessage(f"{text}!")]))
        chain = RunnableWithMessageHistory(
            model, lambda name: ChatMendHistory.of(SessionStore(tmp_path), name)
        )
        chain.invoke(text, {"configurable": {"session_id": "ann"}})

    ask("one")
    ask("two")
    stored = ChatMendHistory.of(SessionStore(tmp_path), "ann").messages
    assert [message.content for message in stored] == ["one", "one!", "two", "two!"]


def test_a_conversation_is_followed_and_one_whose_past_changed_goes_on_in_a_new_session(
    tmp_path: Path,
) -> None:
    store = SessionStore(tmp_path)
    for length in (1, 1, 3, 4):
        ChatMendHistory.of(store, "main").follow(SAID[:length])
    (path,) = store.paths()
    assert ChatMendHistory.of(store, "main").messages == SAID
    history = ChatMendHistory.of(store, "main")
    history.follow(SAID[2:])
    assert history.messages == ChatMendHistory.of(store, "main").messages == SAID[2:]
    assert (history.session.header.continues, len(store.load(path).messages)) == (path, 4)


def test_the_recipe_for_langgraph_runs_as_it_is_written_and_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("langgraph")
    text = (Path(__file__).parents[2] / "docs/sessions.md").read_text("utf-8")
    recipe = text.partition(
        "<!-- run by tests/sessions/test_langchain_history.py -->\n```python\n"
    )[2].partition("```")[0]
    monkeypatch.chdir(tmp_path)
    for answers in (["one", "two"], ["three", "four"]):
        model = GenericFakeChatModel(messages=iter(map(AIMessage, answers)))
        exec(compile(recipe, "docs/sessions.md", "exec"), {"model": model})  # noqa: S102 - our own page
    stored = ChatMendHistory.of(SessionStore(tmp_path), "ann").messages
    questions = ["Hello", "And tomorrow?"] * 2
    assert [message.content for message in stored] == [
        text
        for pair in zip(questions, ["one", "two", "three", "four"], strict=True)
        for text in pair
    ]
    assert len(list(SessionStore(tmp_path).paths())) == 1
