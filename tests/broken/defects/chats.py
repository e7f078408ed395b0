"""Defects that only messages of Ollama's ``/api/chat`` can have."""

from random import Random
from typing import Any

from ..tokens import fresh, png
from .own import Own

OWN = Own()


def _insert(messages: list[Any], rng: Random, *items: Any) -> None:
    at = rng.randint(0, len(messages))
    messages[at:at] = items


def _exchange(messages: list[Any], rng: Random, call: dict[str, Any], **result: Any) -> None:
    """Insert a call and its result."""
    calling = {"role": "assistant", "content": "", "tool_calls": [call]}
    answer = {"role": "tool", "content": f"Found {fresh(rng)}.", **result}
    _insert(messages, rng, calling, answer)


@OWN.defect
def arguments_as_text(messages: list[Any], rng: Random) -> None:
    function = {"name": "search", "arguments": f'{{"query": "{fresh(rng)}"}}'}
    _exchange(messages, rng, {"function": function}, tool_name="search")


@OWN.defect
def id_that_is_a_number(messages: list[Any], rng: Random) -> None:
    function = {"name": "search", "arguments": {"query": fresh(rng)}}
    _exchange(messages, rng, {"id": 7, "function": function}, tool_call_id=7)


@OWN.defect
def image_as_a_data_url(messages: list[Any], rng: Random) -> None:
    url = f"data:image/png;base64,{png(rng.randrange(2**24))}"
    _insert(messages, rng, {"role": "user", "content": f"See {fresh(rng)}.", "images": [url]})


@OWN.defect
def image_as_a_link(messages: list[Any], rng: Random) -> None:
    link = f"https://example.com/{fresh(rng)}.png"
    _insert(messages, rng, {"role": "user", "content": "See.", "images": [link]})


@OWN.defect
def images_that_are_a_text(messages: list[Any], rng: Random) -> None:
    _insert(messages, rng, {"role": "user", "content": "See.", "images": f"file {fresh(rng)}"})


@OWN.defect
def thinking_that_is_a_list(messages: list[Any], rng: Random) -> None:
    said = f"So {fresh(rng)}."
    _insert(messages, rng, {"role": "assistant", "content": said, "thinking": [{"text": "Hm."}]})


@OWN.defect
def result_that_is_an_object(messages: list[Any], rng: Random) -> None:
    function = {"name": "search", "arguments": {"query": fresh(rng)}}
    content = {"found": fresh(rng)}
    _exchange(messages, rng, {"function": function}, tool_name="search", content=content)
