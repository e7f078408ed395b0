"""Chat models of one's own: private names that partner classes use too, and answers that are kept."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

pytest.importorskip("langchain_core")
from langchain_core.language_models import BaseChatModel, FakeMessagesListChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from chatmend.langchain import mend, repair_node
from chatmend.placeholders import NO_RESULT
from tests.langchain.damage import DAMAGE

BROKEN = DAMAGE["one of two calls unanswered"]
TARGET = "openai/gpt-4o"


class Own(BaseChatModel):
    """A class whose request is in ``sent``."""

    sent: list[Any] = []  # noqa: RUF012 - pydantic copies it

    @property
    def _llm_type(self) -> str:
        return "own"

    def build(self, messages: Any) -> Any:
        return [message.model_dump(exclude_none=True) for message in messages]

    def _generate(self, messages: Any, *_: Any, **__: Any) -> ChatResult:
        self.sent.append(self.build(messages))
        return ChatResult(generations=[ChatGeneration(message=AIMessage("a"))])


class AProperty(Own):
    @property
    def _chat_params(self) -> dict[str, Any]:
        return {"temperature": 0}

    def build(self, messages: Any) -> Any:
        return {**self._chat_params, "messages": super().build(messages)}


class WithoutMessages(Own):
    def _prepare_request(self, **options: Any) -> dict[str, Any]:
        return options

    def build(self, messages: Any) -> Any:
        return {**self._prepare_request(stop=None), "messages": super().build(messages)}


class WithOtherArgument(Own):
    def _prepare_request(self, address: str) -> str:
        return f"POST {address}"

    def build(self, messages: Any) -> Any:
        return [self._prepare_request("/chat"), *super().build(messages)]


class AStaticMethod(Own):
    @staticmethod
    def _create_message_dicts(messages: Any) -> Any:
        return [{"content": message.content} for message in messages]

    def build(self, messages: Any) -> Any:
        return self._create_message_dicts(messages)


class AClassMethod(Own):
    @classmethod
    def _format_params(cls, messages: Any) -> Any:
        return [{"content": message.content} for message in messages]

    def build(self, messages: Any) -> Any:
        return self._format_params(messages)


class ACoroutine(Own):
    async def _get_request_payload(self, messages: Any) -> Any:
        return Own.build(self, messages)

    def build(self, messages: Any) -> Any:
        return asyncio.run(self._get_request_payload(messages))


class OnlyHeaders(Own):
    """One method builds headers, and another one the messages."""

    def _prepare_request(self, messages: Any) -> dict[str, str]:
        return {"x-count": str(len(messages))}

    def _create_message_dicts(self, messages: Any) -> Any:
        return Own.build(self, messages)

    def build(self, messages: Any) -> Any:
        return [self._create_message_dicts(messages), self._prepare_request(messages)]


class ByName(Own):
    def _format_params(self, messages: Any = None, stop: Any = None) -> Any:  # noqa: ARG002 - as partners
        return Own.build(self, messages)

    def build(self, messages: Any) -> Any:
        return self._format_params(stop=None, messages=messages)


class Dropping(Own):
    """A class that sends only the first message."""

    def _create_message_dicts(self, messages: Any) -> Any:
        return Own.build(self, messages[:1])

    def build(self, messages: Any) -> Any:
        return self._create_message_dicts(messages)


SENDING = [
    Own,
    AProperty,
    WithoutMessages,
    WithOtherArgument,
    AStaticMethod,
    AClassMethod,
    ACoroutine,
    OnlyHeaders,
    ByName,
]


@pytest.mark.parametrize("cls", SENDING)
def test_a_private_name_of_a_partner_class_can_be_anything(
    cls: type[Own], caplog: pytest.LogCaptureFixture
) -> None:
    bare, model = cls(sent=[]), mend(cls(sent=[]), target=TARGET, on_error="raise")
    clean = [HumanMessage("hello")]
    bare.invoke(clean)
    assert model.invoke(clean).response_metadata == {}
    assert model.sent == bare.sent
    with caplog.at_level(logging.WARNING, logger="chatmend"):
        answer = model.invoke(BROKEN)
    assert NO_RESULT in str(model.sent[-1])
    changes = answer.response_metadata["chatmend"]["changes"]
    assert [(change["code"], change["applied"]) for change in changes] == [("TOOL007", True)]
    assert not caplog.records


@pytest.mark.parametrize("cls", SENDING)
def test_a_node_for_such_a_class_reports_its_repair_as_applied(cls: type[Own]) -> None:
    node = repair_node(mend(cls(sent=[]), target=TARGET), on_error="raise")
    (*_, last) = node({"messages": BROKEN})["llm_input_messages"]
    changes = last.response_metadata["chatmend"]["changes"]
    assert all(change["applied"] for change in changes)


def test_a_repair_that_a_class_of_ones_own_does_not_send_is_not_applied() -> None:
    answer = mend(Dropping(sent=[]), target=TARGET, on_error="raise").invoke(BROKEN)
    changes = answer.response_metadata["chatmend"]["changes"]
    assert [change["applied"] for change in changes] == [False]


def test_the_answer_that_a_class_keeps_is_not_changed() -> None:
    usage = {"input_tokens": 5, "output_tokens": 2, "total_tokens": 1}
    kept = AIMessage("x", usage_metadata=usage, id="kept")  # type: ignore[arg-type]
    given = kept.model_copy(deep=True)
    model = mend(FakeMessagesListChatModel(responses=[kept]), target=TARGET, on_error="raise")
    first = model.invoke(BROKEN)
    assert first.response_metadata["chatmend"]["changes"]
    assert first.usage_metadata["total_tokens"] == 7
    assert first.id == kept.id
    assert "chatmend" not in model.invoke([HumanMessage("hello")]).response_metadata
    assert kept.usage_metadata == given.usage_metadata
    assert "chatmend" not in kept.response_metadata


def test_an_answer_without_report_and_correction_is_the_same_object() -> None:
    kept = AIMessage("x", id="kept")
    model = mend(FakeMessagesListChatModel(responses=[kept]), target=TARGET, on_error="raise")
    assert model.invoke([HumanMessage("hello")]) is kept


def test_callbacks_get_the_answer_that_the_caller_gets() -> None:
    from langchain_core.callbacks import BaseCallbackHandler  # noqa: PLC0415 - only here

    ended: list[Any] = []

    class Handler(BaseCallbackHandler):
        def on_llm_end(self, response: Any, **_: Any) -> None:
            ended.append(response.generations[0][0])

    model = mend(FakeMessagesListChatModel(responses=[AIMessage("x")]), target=TARGET)
    answer = model.invoke(BROKEN, config={"callbacks": [Handler()]})
    assert ended[0].message is answer
    assert ended[0].text == answer.content == "x"
