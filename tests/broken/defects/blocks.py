"""What only Bedrock's Converse blocks can have wrong: documents, cache points, statuses, keys."""

from random import Random
from typing import Any

from ..tokens import fresh, silence
from .own import Own

OWN = Own()


def _insert(messages: list[Any], rng: Random, *items: Any) -> None:
    at = rng.randint(0, len(messages))
    messages[at:at] = items


def _exchange(messages: list[Any], rng: Random, content: Any, **more: Any) -> None:
    """A call with its result, put somewhere."""
    call_id = f"tooluse_{fresh(rng)}"
    call = {"toolUse": {"toolUseId": call_id, "name": "search", "input": {"query": fresh(rng)}}}
    answer = {"toolResult": {"toolUseId": call_id, "content": content, **more}}
    _insert(
        messages,
        rng,
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [answer]},
    )


def _document(name: str, rng: Random) -> dict[str, Any]:
    held = {"text": f"Document {fresh(rng)}."}
    return {"document": {"format": "txt", "name": name, "source": held}}


@OWN.defect
def error_without_content(messages: list[Any], rng: Random) -> None:
    _exchange(messages, rng, rng.choice(([], [{"text": ""}])), status="error")


@OWN.defect
def json_that_is_no_object(messages: list[Any], rng: Random) -> None:
    _exchange(messages, rng, [{"json": rng.choice(([fresh(rng)], fresh(rng)))}])


@OWN.defect
def json_with_an_inner_type(messages: list[Any], rng: Random) -> None:
    _exchange(messages, rng, [{"json": {"item": {"__type": "Answer", "text": fresh(rng)}}}])


@OWN.defect
def content_that_is_a_string(messages: list[Any], rng: Random) -> None:
    _insert(messages, rng, {"role": "user", "content": f"Plain {fresh(rng)}."})


@OWN.defect
def document_with_a_file_name(messages: list[Any], rng: Random) -> None:
    name = rng.choice(("report_v1.2.pdf", "a  b", "ümlaut", "x" * 201, ""))
    text = {"text": f"Read {fresh(rng)}."}
    _insert(messages, rng, {"role": "user", "content": [text, _document(name, rng)]})


@OWN.defect
def recording(messages: list[Any], rng: Random) -> None:
    sound = {"audio": {"format": "wav", "source": {"bytes": silence()}}}
    stored = {"s3Location": {"uri": f"s3://films/{fresh(rng)}.mp4"}}
    said = {"text": f"What is said in {fresh(rng)}?"}
    held = rng.choice((sound, {"video": {"format": "mp4", "source": stored}}))
    _insert(messages, rng, {"role": "user", "content": [said, held]})


@OWN.defect
def two_documents_of_one_name(messages: list[Any], rng: Random) -> None:
    content = [{"text": f"Compare {fresh(rng)}."}, _document("same", rng), _document("same", rng)]
    _insert(messages, rng, {"role": "user", "content": content})


@OWN.defect
def document_alone(messages: list[Any], rng: Random) -> None:
    _insert(messages, rng, {"role": "user", "content": [_document(f"only {fresh(rng)}", rng)]})


@OWN.defect
def block_with_a_type(messages: list[Any], rng: Random) -> None:
    block = {"type": "text", "text": f"Typed {fresh(rng)}."}
    _insert(messages, rng, {"role": "user", "content": [block]})


@OWN.defect
def reasoning_without_a_signature(messages: list[Any], rng: Random) -> None:
    thought = {"reasoningContent": {"reasoningText": {"text": f"Hm, {fresh(rng)}."}}}
    said = {"text": f"So {fresh(rng)}."}
    _insert(messages, rng, {"role": "assistant", "content": [thought, said]})


@OWN.defect
def reasoning_with_a_signature(messages: list[Any], rng: Random) -> None:
    text = {"text": f"Hm, {fresh(rng)}.", "signature": fresh(rng)}
    thought = {"reasoningContent": {"reasoningText": text}}
    said = {"text": f"So {fresh(rng)}."}
    _insert(messages, rng, {"role": "assistant", "content": [thought, said]})


@OWN.defect
def cache_point_alone(messages: list[Any], rng: Random) -> None:
    _insert(messages, rng, {"role": "user", "content": [{"cachePoint": {"type": "default"}}]})
