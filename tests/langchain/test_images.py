"""Image repair in wrapped models, the middleware, the node and the transformer."""

from __future__ import annotations

import base64
import io
import json
import threading
from copy import deepcopy
from typing import Any

import pytest

pytest.importorskip("langchain.agents")
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from PIL import Image

from chatmend import Policy
from chatmend.langchain import RepairMiddleware, mend, message_repair, repair_messages, repair_node
from tests.langchain.configurations import CONFIGURATIONS
from tests.langchain.loop import run
from tests.langchain.shapes import PIXEL, call
from tests.langchain.test_damage import look
from tests.langchain.test_dialect import state

ALL = pytest.mark.parametrize("name", CONFIGURATIONS)


def _saved(form: str, size: tuple[int, int]) -> str:
    out = io.BytesIO()
    Image.new("RGB", size, "teal").save(out, form)
    return base64.b64encode(out.getvalue()).decode()


BITMAP, WIDE = _saved("BMP", (40, 30)), _saved("PNG", (9000, 20))
FORMS: dict[str, Any] = {
    "image_url": lambda data, kind: {
        "type": "image_url",
        "image_url": {"url": f"data:{kind};base64,{data}"},
    },
    "v1": lambda data, kind: {"type": "image", "base64": data, "mime_type": kind},
    "v0": lambda data, kind: {
        "type": "image",
        "source_type": "base64",
        "data": data,
        "mime_type": kind,
    },
    "anthropic": lambda data, kind: {
        "type": "image",
        "source": {"type": "base64", "media_type": kind, "data": data},
    },
}


def image_question(
    data: str = BITMAP, kind: str = "image/bmp", form: str = "image_url"
) -> list[Any]:
    return [HumanMessage([{"type": "text", "text": "What is this?"}, FORMS[form](data, kind)])]


def sent(sandbox: Any) -> list[bytes]:
    """Return the images in the last request, in any wire format."""
    found: list[bytes] = []

    def search(value: Any) -> None:
        if isinstance(value, dict | list):
            for item in value.values() if isinstance(value, dict) else value:
                search(item)
        elif isinstance(value, str) and len(value) > 60:
            text = value.partition("base64,")[2] or value
            try:
                found.append(
                    base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
                )
            except ValueError:
                return

    search(json.loads(json.dumps(sandbox.requests[-1].body)))
    return found


def has_one_readable_image(sandbox: Any) -> bool:
    """Return whether the last request was accepted and has one image of a common type."""
    return not sandbox.refusals and [
        Image.open(io.BytesIO(data)).format for data in sent(sandbox)
    ] in (
        ["PNG"],
        ["JPEG"],
        ["WEBP"],
    )


@ALL
def test_a_valid_image_is_sent_unchanged(sandbox: Any, name: str) -> None:
    given = image_question(PIXEL, "image/png")
    answer = mend(CONFIGURATIONS[name].model(sandbox), on_error="raise").invoke(given)
    assert "chatmend" not in answer.response_metadata
    assert sent(sandbox) == [base64.b64decode(PIXEL)]


@ALL
@pytest.mark.parametrize("form", FORMS)
def test_a_wrapped_model_converts_an_image_that_the_provider_would_refuse(
    sandbox: Any, name: str, form: str
) -> None:
    given = image_question(form=form)
    before = state(given)
    answer = mend(CONFIGURATIONS[name].model(sandbox), on_error="raise").invoke(given)
    codes = {change["code"][:3] for change in answer.response_metadata["chatmend"]["changes"]}
    assert "IMG" in codes
    assert has_one_readable_image(sandbox)
    assert state(given) == before


@ALL
def test_the_middleware_the_node_and_the_transformer_convert_it_too(
    sandbox: Any, name: str
) -> None:
    model, given = CONFIGURATIONS[name].model(sandbox), image_question()
    before = state(given)
    agent = create_agent(model, [look], middleware=[RepairMiddleware(on_error="raise")])
    agent.invoke({"messages": deepcopy(given)})
    assert has_one_readable_image(sandbox)
    model.invoke(repair_node(model, on_error="raise")({"messages": given})["llm_input_messages"])
    assert has_one_readable_image(sandbox)
    (repair_messages(target=CONFIGURATIONS[name].target, on_error="raise") | model).invoke(given)
    assert has_one_readable_image(sandbox)
    assert state(given) == before


@pytest.mark.parametrize("name", ["anthropic", "responses"])
def test_an_image_in_a_tool_result_is_recompressed_in_place(sandbox: Any, name: str) -> None:
    result = ToolMessage(
        [FORMS["image_url"](BITMAP, "image/bmp")], tool_call_id="abcdefgh1", name="look"
    )
    history = [HumanMessage("q"), AIMessage("", tool_calls=[call("abcdefgh1")]), result]
    mend(CONFIGURATIONS[name].model(sandbox).bind_tools([look]), on_error="raise").invoke(history)
    assert has_one_readable_image(sandbox)


def test_an_image_in_a_tool_result_reaches_deepseek_not_as_json(sandbox: Any) -> None:
    """ChatDeepSeek writes the list of a tool message as JSON text."""
    cls = pytest.importorskip("langchain_deepseek").ChatDeepSeek
    model = cls(model="deepseek-flash", api_key="k", api_base=sandbox.url("deepseek"))
    image = FORMS["image_url"](PIXEL, "image/png")
    result = ToolMessage([{"type": "text", "text": "seen"}, image], tool_call_id="c1", name="look")
    history = [HumanMessage("q"), AIMessage("", tool_calls=[call("c1")]), result]
    mend(model.bind_tools([look]), on_error="raise").invoke(history)
    assert sent(sandbox) == [base64.b64decode(PIXEL)]
    said = sandbox.requests[-1].body["messages"]
    assert [message["role"] for message in said][-2:] == ["tool", "user"]
    assert PIXEL not in str(said[-2])


def test_an_image_with_too_many_pixels_is_scaled_to_the_same_bytes_in_every_request(
    sandbox: Any,
) -> None:
    model, given = (
        mend(CONFIGURATIONS["anthropic"].model(sandbox), on_error="raise"),
        image_question(WIDE, "image/png"),
    )
    model.invoke(given)
    first = sent(sandbox)
    assert Image.open(io.BytesIO(first[0])).width <= 8000
    model.invoke([*given, AIMessage("A line."), HumanMessage("And now?")])
    assert sent(sandbox) == first
    assert not sandbox.refusals


def test_images_above_the_limit_of_the_provider_are_removed_from_message_objects(
    sandbox: Any,
) -> None:
    images = [FORMS["image_url"](PIXEL, "image/png") for _ in range(9)]
    given = [HumanMessage([{"type": "text", "text": "Compare."}, *images])]
    answer = mend(CONFIGURATIONS["mistral"].model(sandbox), on_error="raise").invoke(given)
    assert [change["code"] for change in answer.response_metadata["chatmend"]["changes"]] == [
        "IMG012"
    ]
    assert 0 < len(sent(sandbox)) <= 8
    assert not sandbox.refusals


def test_the_policy_can_disable_image_repair(sandbox: Any) -> None:
    wrapped = mend(
        CONFIGURATIONS["anthropic"].model(sandbox), policy=Policy(images="off"), on_error="raise"
    )
    with pytest.raises(Exception, match="400"):
        wrapped.invoke(image_question())


@pytest.fixture(name="threads")
def _threads(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Record for each repair whether it ran in the thread of the event loop."""
    seen: list[bool] = []
    real = message_repair.repair

    def repair(*args: Any, **kwargs: Any) -> Any:
        seen.append(threading.current_thread() is threading.main_thread())
        return real(*args, **kwargs)

    monkeypatch.setattr(message_repair, "repair", repair)
    return seen


@pytest.mark.parametrize("how", ["mend", "mend, streamed", "middleware", "transformer"])
def test_async_code_recompresses_images_in_another_thread(
    sandbox: Any, threads: list[bool], how: str
) -> None:
    async def ask(given: list[Any]) -> None:
        model = CONFIGURATIONS["anthropic"].model(sandbox)
        if how == "mend":
            await mend(model, on_error="raise").ainvoke(given)
        elif how == "mend, streamed":
            assert [chunk async for chunk in mend(model, on_error="raise").astream(given)]
        elif how == "middleware":
            agent = create_agent(model, [look], middleware=[RepairMiddleware(on_error="raise")])
            await agent.ainvoke({"messages": deepcopy(given)})
        else:
            chain = (
                repair_messages(target=CONFIGURATIONS["anthropic"].target, on_error="raise") | model
            )
            await chain.ainvoke(given)

    run(ask([HumanMessage([{"type": "text", "text": "hello"}])]))
    run(ask(image_question()))
    assert threads == [True, False]
    assert has_one_readable_image(sandbox)


def test_an_image_in_a_tool_result_block_is_checked() -> None:
    broken = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"},
    }
    answer = AIMessage(
        "", tool_calls=[{"name": "look", "args": {}, "id": "toolu_1", "type": "tool_call"}]
    )
    result = HumanMessage([{"type": "tool_result", "tool_use_id": "toolu_1", "content": [broken]}])
    sent = repair_messages(
        [HumanMessage("go"), answer, result], target="anthropic/claude-sonnet-4-5"
    )
    assert "AAAA" not in json.dumps([message.content for message in sent])
