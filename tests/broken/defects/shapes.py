"""Messages, contents and parts that are not what they should be at all; images that are none."""

from random import Random
from typing import Any

from ..nested import copied
from ..sites import dicts, parts, pick, results
from ..tokens import fresh, png, silence
from ..wires import WIRES, Native, Wire, text_part
from .defect import Defect, Defects

DEFECTS = Defects()

MESSAGES: dict[str, tuple[Any, ...]] = {
    "message-a-number": (7, 0, 1.5, True),
    "message-a-string": ("", "hello", "assistant"),
    "message-none": (None,),
    "message-a-list": ([], [{"role": "user", "content": "in a list"}], ["user", "hello"]),
}
CONTENTS: dict[str, tuple[Any, ...]] = {
    "content-a-dict": ({"type": "text", "text": "alone"}, {}, {"parts": ["a"]}),
    "content-a-number": (0, 42, 1.5, True),
}
PARTS: dict[str, tuple[Any, ...]] = {
    "part-a-string": ("loose", "", " "),
    "part-a-number": (3, 0, False),
    "part-none": (None,),
    "part-a-list": ([], [{"type": "text", "text": "deep"}]),
    "part-without-type": ({"text": "untyped"}, {}, {"content": "what"}),
    "part-of-unknown-type": (
        {"type": "hologram", "data": [1]},
        {"type": None},
        {"type": ["text"]},
        {"type": ""},
    ),
    "part-text-not-a-string": (
        {"type": "text", "text": None},
        {"type": "text", "text": 5},
        {"type": "text"},
    ),
}


def _message(choices: tuple[Any, ...]) -> Defect:
    def defect(messages: list[Any], rng: Random, wire: Wire) -> None:
        value = copied(rng.choice(choices))
        messages.insert(
            rng.randint(0, len(messages)),
            f"{value} {fresh(rng)}" if isinstance(value, str) else value,
        )

    return defect


def _content(choices: tuple[Any, ...]) -> Defect:
    def defect(messages: list[Any], rng: Random, wire: Wire) -> None:
        holders = [messages[index] for index in dicts(messages)] + [
            site.native for site in results(messages)
        ]
        for holder in pick(rng, holders):
            holder["content"] = copied(rng.choice(choices))

    return defect


def _part(choices: tuple[Any, ...]) -> Defect:
    def defect(messages: list[Any], rng: Random, wire: Wire) -> None:
        for index in pick(rng, dicts(messages, "user", "assistant", "tool", "system")):
            content = messages[index].get("content")
            old = (
                content
                if isinstance(content, list)
                else [text_part(content)]
                if isinstance(content, str)
                else []
            )
            at = rng.randint(0, len(old))
            messages[index]["content"] = [*old[:at], copied(rng.choice(choices)), *old[at:]]

    return defect


for _table, _make in ((MESSAGES, _message), (CONTENTS, _content), (PARTS, _part)):
    for _name, _choices in _table.items():
        DEFECTS.add(_name, _make(_choices))


@DEFECTS.both
def part_in_result_malformed(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(rng, results(messages)):
        odd = rng.choice(
            (f"loose {fresh(rng)}", 3, None, {"type": "hologram", "data": fresh(rng)}, {})
        )
        site.native["content"] = [text_part(f"seen {fresh(rng)}"), odd]


@DEFECTS.both
def result_content_an_object(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(rng, results(messages)):
        site.native["content"] = {"out": fresh(rng), "code": 0}


@DEFECTS.both
def message_of_other_dialect(messages: list[Any], rng: Random, wire: Wire) -> None:
    other = next(known for known in WIRES.values() if known.dialect != wire.dialect)
    call = other.call("call_other", "search", {"query": fresh(rng)})
    at = rng.randint(0, len(messages))
    messages[at:at] = [
        other.assistant(f"Searching {fresh(rng)}.", [call]),
        *other.results([("call_other", f"found {fresh(rng)}")]),
    ]


@DEFECTS.both
def parts_of_other_dialect(messages: list[Any], rng: Random, wire: Wire) -> None:
    other = next(known for known in WIRES.values() if known.dialect != wire.dialect)
    content = [text_part(f"Look at {fresh(rng)}."), other.image(png(rng.randrange(2**24)))]
    messages.insert(rng.randint(0, len(messages)), {"role": "user", "content": content})


def _show(messages: list[Any], rng: Random, image: Native) -> None:
    content = [text_part(f"Look at {fresh(rng)}."), image]
    messages.insert(rng.randint(0, len(messages)), {"role": "user", "content": content})


@DEFECTS.both
def image_not_base64(messages: list[Any], rng: Random, wire: Wire) -> None:
    _show(messages, rng, wire.image(rng.choice(("", "not base64!", "aGVsbG8", "aGVsbG8="))))


@DEFECTS.both
def image_of_other_media_type(messages: list[Any], rng: Random, wire: Wire) -> None:
    image = wire.image(png(rng.randrange(2**24)))
    if wire.dialect == "openai_chat":
        url = image["image_url"]["url"]
        image["image_url"]["url"] = url.replace(
            "image/png", rng.choice(("image/jpeg", "image/x", ""))
        )
    else:
        image["source"]["media_type"] = rng.choice(("image/jpeg", "image/x", "", None))
    _show(messages, rng, image)


@DEFECTS.both
def image_malformed(messages: list[Any], rng: Random, wire: Wire) -> None:
    key = "image_url" if wire.dialect == "openai_chat" else "source"
    kind = "image_url" if wire.dialect == "openai_chat" else "image"
    _show(
        messages,
        rng,
        {"type": kind, key: rng.choice((None, "", 3, {}, [], {"url": None}, {"type": "base64"}))},
    )


@DEFECTS.both
def image_in_assistant(messages: list[Any], rng: Random, wire: Wire) -> None:
    content = [text_part(f"I drew {fresh(rng)}."), wire.image(png(rng.randrange(2**24)))]
    messages.insert(rng.randint(0, len(messages)), {"role": "assistant", "content": content})


@DEFECTS.both
def image_in_system(messages: list[Any], rng: Random, wire: Wire) -> None:
    content = [text_part(f"The house style, {fresh(rng)}:"), wire.image(png(rng.randrange(2**24)))]
    messages.insert(rng.randint(0, len(messages)), {"role": "system", "content": content})


@DEFECTS.both
def image_in_result(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(rng, results(messages)):
        site.native["content"] = [
            text_part(f"shot {fresh(rng)}"),
            wire.image(png(rng.randrange(2**24))),
        ]


@DEFECTS.openai
def file_in_result(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(rng, results(messages)):
        site.native["content"] = [text_part(f"as a file: {fresh(rng)}"), wire.document(fresh(rng))]


@DEFECTS.openai
def recording(messages: list[Any], rng: Random, wire: Wire) -> None:
    sound = {"type": "input_audio", "input_audio": {"data": silence(), "format": "wav"}}
    film = {"type": "video_url", "video_url": {"url": f"https://example.com/{fresh(rng)}.mp4"}}
    content = [text_part(f"What is said in {fresh(rng)}?"), rng.choice((sound, film, film))]
    messages.insert(rng.randint(0, len(messages)), {"role": "user", "content": content})


@DEFECTS.both
def part_repeated(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(rng, parts(messages)):
        site.holder.insert(site.at, copied(site.native))
