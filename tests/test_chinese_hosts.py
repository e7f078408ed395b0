"""Volcengine Ark and Tencent Hunyuan: what they refuse, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

import chatmend
from chatmend.targets.addresses import provider_at

CALL = {"id": "call_1", "type": "function", "function": {"name": "get", "arguments": "{}"}}
TEXT = {"type": "text", "text": "r"}
IMAGE = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
DOUBAO, HUNYUAN = "volcengine/doubao-seed-2-0-lite-260215", "hunyuan/hunyuan-turbos"


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def loop(result: Any, *more: Any, system: Any = "s") -> list[dict[str, Any]]:
    return [
        {"role": "system", "content": system},
        user([{"type": "text", "text": "q"}, IMAGE]),
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": result},
        *more,
    ]


@pytest.mark.parametrize("target", [DOUBAO, HUNYUAN])
def test_a_tool_loop_stays_the_same_object(target: str) -> None:
    messages = loop("r")
    assert chatmend.repair(messages, target).messages is messages


def test_doubao_accepts_two_messages_of_the_user_and_an_answer_at_the_end() -> None:
    messages = loop("r", user("b"), {"role": "assistant", "content": "x"})
    assert chatmend.repair(messages, DOUBAO).messages is messages


@pytest.mark.parametrize(
    ("address", "provider"),
    [
        ("https://ark.cn-beijing.volces.com/api/v3", "volcengine"),
        ("https://ark.ap-southeast.bytepluses.com/api/v3", "volcengine"),
        ("https://api.hunyuan.cloud.tencent.com/v1", "hunyuan"),
    ],
)
def test_the_addresses_are_known(address: str, provider: str) -> None:
    assert provider_at(address) == provider


def test_doubao_gets_texts_as_results_and_system_messages() -> None:
    done = chatmend.repair(loop([TEXT], system=[TEXT]), DOUBAO)
    assert done.messages == loop("r", system="r")
    assert {change.effect.name for change in done.changes} == {"RESHAPES"}
    assert chatmend.repair(done.messages, DOUBAO).messages is done.messages


def test_an_image_in_a_result_goes_to_the_user_of_doubao() -> None:
    sent = chatmend.repair(loop([TEXT, IMAGE]), DOUBAO).messages
    assert isinstance(sent[3]["content"], str)
    assert IMAGE in sent[4]["content"]


def test_hunyuan_gets_alternating_roles_that_begin_and_end_with_the_user() -> None:
    done = chatmend.repair(
        [{"role": "assistant", "content": "hi"}, user("a"), user("b"), *loop("r")[2:]], HUNYUAN
    )
    roles = [message["role"] for message in done.messages]
    assert roles == ["user", "assistant", "user", "assistant", "tool"]
    assert done.messages[2] == user("a\n\nb")
    asked = chatmend.repair(loop("r", user("n")), HUNYUAN).messages
    assert [message["role"] for message in asked[3:]] == ["tool", "assistant", "user"]
    ended = chatmend.repair([user("a"), {"role": "assistant", "content": "x"}], HUNYUAN).messages
    assert ended[-1]["role"] == "user"
