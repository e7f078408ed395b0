"""The target of a LangChain model is derived from the address of its client, not from its class."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("langchain_openai")

from langchain_openai import ChatOpenAI

import chatmend
from chatmend.langchain import mend
from chatmend.langchain.partners import find_destination

FOREIGN = "http://10.0.0.7:8000/v1"


def target_of(model: Any) -> str:
    return find_destination(model, {}).target.name


@pytest.mark.parametrize(
    ("address", "target"),
    [
        (None, "openai/m"),
        ("https://api.openai.com/v1", "openai/m"),
        ("https://api.deepseek.com/v1", "deepseek/m"),
        ("https://api.moonshot.cn/v1", "moonshot/m"),
        (FOREIGN, "openai_compatible/m"),
    ],
)
def test_the_address_of_a_chat_openai_names_its_target(address: str | None, target: str) -> None:
    assert target_of(ChatOpenAI(model="m", api_key="k", base_url=address)) == target  # type: ignore[arg-type]


def test_a_server_with_the_responses_api_gets_a_responses_target() -> None:
    model = ChatOpenAI(model="m", api_key="k", base_url=FOREIGN, use_responses_api=True)  # type: ignore[arg-type]
    assert target_of(model) == "openai_compatible/responses/m"


@pytest.mark.parametrize("name", ["OPENAI_BASE_URL", "OPENAI_API_BASE"])
def test_an_address_in_the_environment_is_used(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, FOREIGN)
    assert target_of(ChatOpenAI(model="m", api_key="k")) == "openai_compatible/m"  # type: ignore[arg-type]


def test_an_invalid_entry_in_chatmend_hosts_raises_when_the_model_is_wrapped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CHATMEND_HOSTS", "llm.acme.example=opneai")
    with pytest.raises(chatmend.TargetError, match="CHATMEND_HOSTS"):
        mend(ChatOpenAI(model="m", api_key="k"))  # type: ignore[arg-type]
