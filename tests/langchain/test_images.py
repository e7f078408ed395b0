"""Images on their way through a mended model, the middleware, the node and the transformer."""

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
from chatmend.langchain import RepairMiddleware, mend, repair_messages, repair_node
from chatmend.langchain import mending as mending_module
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
    "image_url": lambda data, kind: {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}},
    "v1": lambda data, kind: {"type": "image", "base64": data, "mime_type": kind},
    "v0": lambda data, kind: {"type": "image", "source_type": "base64", "data": data, "mime_type": kind},
    "anthropic": lambda data, kind: {
        "type": "image",
        "source": {"type": "base64", "media_type": kind, "data": data},
    },
}


def asked(data: str = BITMAP, kind: str = "image/bmp", form: str = "image_url") -> list[Any]:
    return [HumanMessage([{"type": "text", "text": "What is this?"}, FORMS[form](data, kind)])]


def sent(sandbox: Any) -> list[bytes]:
    """The images in the last request, whatever the wire."""
    found: list[bytes] = []

    def search(value: Any) -> None:
        if isinstance(value, dict | list):
            for item in value.values() if isinstance(value, dict) else value:
                search(item)
        elif isinstance(value, str) and len(value) > 60:
            text = value.partition("base64,")[2] or value
            try:
                found.append(base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True))
            except ValueError:
                return

    search(json.loads(json.dumps(sandbox.requests[-1].body)))
    return found


def is_shown(sandbox: Any) -> bool:
    """Whether the last request was taken, and shows a picture of a type that every provider reads."""
    return not sandbox.refusals and [Image.open(io.BytesIO(data)).format for data in sent(sandbox)] in (
        ["PNG"],
        ["JPEG"],
        ["WEBP"],
    )


@ALL
def test_a_legal_image_goes_as_it_came(sandbox: Any, name: str) -> None:
    given = asked(PIXEL, "image/png")
    answer = mend(CONFIGURATIONS[name].model(sandbox), on_error="raise").invoke(given)
    assert "chatmend" not in answer.response_metadata
    assert sent(sandbox) == [base64.b64decode(PIXEL)]


@ALL
@pytest.mark.parametrize("form", FORMS)
def test_a_mended_model_shows_an_image_that_the_provider_would_refuse(sandbox: Any, name: str, form: str) -> None:
    given = asked(form=form)
    before = state(given)
    answer = mend(CONFIGURATIONS[name].model(sandbox), on_error="raise").invoke(given)
    codes = {change["code"][:3] for change in answer.response_metadata["chatmend"]["changes"]}
    assert "IMG" in codes
    assert is_shown(sandbox)
    assert state(given) == before


@ALL
def test_so_do_the_middleware_the_node_and_the_transformer(sandbox: Any, name: str) -> None:
    model, given = CONFIGURATIONS[name].model(sandbox), asked()
    before = state(given)
    agent = create_agent(model, [look], middleware=[RepairMiddleware(on_error="raise")])
    agent.invoke({"messages": deepcopy(given)})
    assert is_shown(sandbox)
    model.invoke(repair_node(model, on_error="raise")({"messages": given})["llm_input_messages"])
    assert is_shown(sandbox)
    (repair_messages(target=CONFIGURATIONS[name].target, on_error="raise") | model).invoke(given)
    assert is_shown(sandbox)
    assert state(given) == before


@pytest.mark.parametrize("name", ["anthropic", "responses"])
def test_an_image_in_a_tools_result_is_recompressed_where_it_stands(sandbox: Any, name: str) -> None:
    result = ToolMessage([FORMS["image_url"](BITMAP, "image/bmp")], tool_call_id="abcdefgh1", name="look")
    history = [HumanMessage("q"), AIMessage("", tool_calls=[call("abcdefgh1")]), result]
    mend(CONFIGURATIONS[name].model(sandbox).bind_tools([look]), on_error="raise").invoke(history)
    assert is_shown(sandbox)


def test_an_image_of_too_many_pixels_is_scaled_once_and_sent_alike_ever_after(sandbox: Any) -> None:
    model, given = mend(CONFIGURATIONS["anthropic"].model(sandbox), on_error="raise"), asked(WIDE, "image/png")
    model.invoke(given)
    first = sent(sandbox)
    assert Image.open(io.BytesIO(first[0])).width <= 8000
    model.invoke([*given, AIMessage("A line."), HumanMessage("And now?")])
    assert sent(sandbox) == first
    assert not sandbox.refusals


def test_more_images_than_a_provider_takes_are_counted_in_message_objects(sandbox: Any) -> None:
    images = [FORMS["image_url"](PIXEL, "image/png") for _ in range(9)]
    given = [HumanMessage([{"type": "text", "text": "Compare."}, *images])]
    answer = mend(CONFIGURATIONS["mistral"].model(sandbox), on_error="raise").invoke(given)
    assert [change["code"] for change in answer.response_metadata["chatmend"]["changes"]] == ["IMG012"]
    assert 0 < len(sent(sandbox)) <= 8
    assert not sandbox.refusals


def test_images_can_be_left_alone(sandbox: Any) -> None:
    mended = mend(CONFIGURATIONS["anthropic"].model(sandbox), policy=Policy(images="off"), on_error="raise")
    with pytest.raises(Exception, match="400"):
        mended.invoke(asked())


@pytest.fixture(name="threads")
def _threads(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each repair whether it ran in the thread of the event loop."""
    seen: list[bool] = []
    real = mending_module.repair

    def repair(*args: Any, **kwargs: Any) -> Any:
        seen.append(threading.current_thread() is threading.main_thread())
        return real(*args, **kwargs)

    monkeypatch.setattr(mending_module, "repair", repair)
    return seen


@pytest.mark.parametrize("how", ["mend", "mend, streamed", "middleware", "transformer"])
def test_in_async_code_images_are_recompressed_beside_the_loop(sandbox: Any, threads: list[bool], how: str) -> None:
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
            chain = repair_messages(target=CONFIGURATIONS["anthropic"].target, on_error="raise") | model
            await chain.ainvoke(given)

    run(ask([HumanMessage([{"type": "text", "text": "hello"}])]))
    run(ask(asked()))
    assert threads == [True, False]
    assert is_shown(sandbox)


def test_an_image_in_a_block_of_results_is_looked_at() -> None:
    broken = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    called = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "toolu_1", "type": "tool_call"}])
    result = HumanMessage([{"type": "tool_result", "tool_use_id": "toolu_1", "content": [broken]}])
    sent = repair_messages([HumanMessage("go"), called, result], target="anthropic/claude-sonnet-4-5")
    assert "AAAA" not in json.dumps([message.content for message in sent])
