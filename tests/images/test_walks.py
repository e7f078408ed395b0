"""Reading a header takes a bounded number of steps per byte for any file; an image that needs more stays unchanged."""

from __future__ import annotations

import base64
import struct
from typing import TYPE_CHECKING, Any

import pytest

import chatmend
from chatmend.images import probe_image
from chatmend.images.facts import UNEXAMINED
from chatmend.images.headers.exif import orientation
from chatmend.images.probe import probe_reader
from chatmend.images.reader import Reader, base64_reader, remove_white_space
from tests.images.headers import crafted
from tests.images.judge import FACTS
from tests.images.pictures import noise, oriented, part, samples

if TYPE_CHECKING:
    from collections.abc import Callable

EXIF = b"Exif\0\0MM\0*\0\0\0\x08\xff\xff"
"""A directory that promises 65,535 entries, and ends."""


def _segment(marker: int, body: bytes) -> bytes:
    return bytes([0xFF, marker]) + (len(body) + 2).to_bytes(2, "big") + body


def _chunk(kind: bytes, body: bytes = b"") -> bytes:
    return len(body).to_bytes(4, "big") + kind + body + bytes(4)


def _jpeg(inside: bytes) -> bytes:
    data = crafted("jpeg", 40, 30)
    return data[:2] + inside + data[2:]


def _png(inside: bytes) -> bytes:
    data = crafted("png", 40, 30)
    return data[:33] + inside + data[33:]


def _webp(inside: bytes) -> bytes:
    head = b"\x08\0\0\0" + (39).to_bytes(3, "little") + (29).to_bytes(3, "little")
    body = b"VP8X\x0a\0\0\0" + head + inside
    return b"RIFF" + struct.pack("<I", len(body) + 4) + b"WEBP" + body


def _heic(inside: bytes) -> bytes:
    return crafted("heic", 40, 30) + inside


HOSTILE: dict[str, tuple[Callable[[bytes], bytes], bytes]] = {
    "jpeg: comments of one byte": (_jpeg, _segment(0xFE, b"x")),
    "jpeg: fill bytes": (_jpeg, b"\xff"),
    "jpeg: restart markers": (_jpeg, b"\xff\xd0"),
    "jpeg: EXIF that promises entries": (_jpeg, _segment(0xE1, EXIF)),
    "jpeg: EXIF that is long": (_jpeg, _segment(0xE1, EXIF.ljust(9000, b"\0"))),
    "png: empty chunks": (_png, _chunk(b"teXt")),
    "png: EXIF that promises entries": (_png, _chunk(b"eXIf", EXIF[6:])),
    "webp: empty chunks": (_webp, b"XMP \0\0\0\0"),
    "webp: frames": (_webp, b"ANMF\x10\0\0\0" + bytes(16)),
    "heic: empty boxes": (_heic, b"\0\0\0\x08free"),
    "heic: boxes that are too short": (_heic, b"\0\0\0\0free"[:8]),
    "heic: descriptions": (_heic, b"\0\0\0\x10metaispeispe"),
}


def measured(text: str) -> tuple[int, int, Reader]:
    """How often, and how many bytes of a file are decoded while it is looked at."""
    reader = base64_reader(text)
    decode, decoded = reader.read, []

    def counted(offset: int, length: int) -> bytes:
        decoded.append(len(found := decode(offset, length)))
        return found

    reader.read = counted
    probe_reader(reader)
    return len(decoded), sum(decoded), reader


@pytest.mark.parametrize("name", HOSTILE)
def test_each_byte_of_a_header_is_decoded_a_few_times_at_most(name: str) -> None:
    whole, inside = HOSTILE[name]
    for size in (300, 20_000, 300_000):
        data = whole(inside * (size // len(inside)))
        _, decoded, _ = measured(base64.b64encode(data).decode())
        assert decoded <= 2 * len(data) + 20_000, (size, decoded)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_walk_takes_steps_in_proportion_to_the_bytes(name: str) -> None:
    whole, inside = HOSTILE[name]
    for size in (300, 20_000, 300_000):
        data = whole(inside * (size // len(inside)))
        reader, steps = base64_reader(base64.b64encode(data).decode()), [0]
        at = Reader.read_at

        def counted(
            self: Reader, offset: int, length: int, at: Any = at, steps: Any = steps
        ) -> bytes:
            steps[0] += 1
            return bytes(at(self, offset, length))

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Reader, "read_at", counted)
            probe_reader(reader)
        assert steps[0] <= 2 * (1100 + len(data) // 64), (size, steps)


class Counted(bytes):
    """Bytes that count how often something is taken from them."""

    taken = 0

    def __getitem__(self, key: Any) -> Any:
        Counted.taken += 1
        return super().__getitem__(key)


def test_a_directory_of_exif_has_no_more_entries_than_bytes_for_them() -> None:
    Counted.taken = 0
    assert orientation(Counted(EXIF[6:])) == 1
    assert Counted.taken <= 5
    assert orientation(b"MM\0*" + b"\xff" * 4 + bytes(99)) == 1  # it points behind the end


@pytest.mark.parametrize(
    "name", [name for name in HOSTILE if "EXIF" not in name and "too short" not in name]
)
@pytest.mark.parametrize(
    "target",
    ["anthropic/claude-sonnet-4-5", "openai/gpt-4.1", "gemini/gemini-3-pro-preview", "strict"],
)
def test_beyond_the_steps_an_image_is_passed_through_with_a_finding(name: str, target: str) -> None:
    whole, inside = HOSTILE[name]
    kind = name.partition(":")[0]
    data = whole(inside * 30_000)
    if len(inside) > 64:
        pytest.skip("few enough that they need no limit")
    assert probe_image(data).fault == UNEXAMINED
    image = {
        "type": "image_url",
        "image_url": {"url": f"data:image/{kind};base64,{base64.b64encode(data).decode()}"},
    }
    messages = [{"role": "user", "content": [{"type": "text", "text": "What is this?"}, image]}]
    done = chatmend.repair(messages, target)
    assert done.messages is messages
    assert [(change.code, change.applied) for change in done.changes] == [("IMG002", False)]
    assert "takes too many steps to read for its size in bytes" in done.changes[0].why
    assert chatmend.replay(messages, done.changes) is messages
    assert chatmend.check(messages, target) == done.changes
    assert chatmend.recompress(data, target) is data
    off = chatmend.repair(messages, target, policy=chatmend.Policy(images="off"))
    assert (off.messages is messages, off.changes) == (True, ())


def test_the_other_images_of_a_message_are_repaired_all_the_same() -> None:
    whole, inside = HOSTILE["png: empty chunks"]
    hostile = base64.b64encode(whole(inside * 9000)).decode()
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{hostile}"}}
    turned = part(samples()["orientation 6"])
    done = chatmend.repair([{"role": "user", "content": [image, turned]}], "openai/gpt-4.1")
    assert done.messages[0]["content"][0] is image
    assert done.messages[0]["content"][1] != turned
    assert [(change.code, change.applied) for change in done.changes] == [
        ("IMG002", False),
        ("IMG005", True),
    ]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (_jpeg(_segment(0xE2, b"x" * 2000) * 700), "jpeg"),
        (_jpeg(_segment(0xFE, b"x") * 800), "jpeg"),
        (_png(_chunk(b"teXt", b"x" * 40) * 900), "png"),
        (_webp((b"ANMF\x10\0\0\0" + bytes(16)) * 900), "webp"),
        (_heic(b"\0\0\0\x08free" * 900), "heic"),
    ],
)
def test_a_header_of_hundreds_of_parts_is_no_fault(data: bytes, found: str) -> None:
    probe = probe_image(data)
    assert (probe.type, probe.width, probe.height, probe.fault) == (found, 40, 30, None)


def test_what_stands_behind_hundreds_of_parts_is_found() -> None:
    behind = oriented(noise(40, 30), 6)
    exif = behind[behind.index(b"Exif\0\0") + 6 :][:200]
    assert probe_image(_png(_chunk(b"teXt") * 300 + _chunk(b"eXIf", exif))).orientation == 6
    assert probe_image(_png(_chunk(b"teXt") * 300 + _chunk(b"tRNS"))).alpha
    assert (
        probe_image(
            _webp(b"XMP \0\0\0\0" * 300 + b"EXIF" + struct.pack("<I", len(exif)) + exif)
        ).orientation
        == 6
    )
    assert (
        probe_image(
            _jpeg(_segment(0xFE, b"x") * 500 + _segment(0xE1, b"Exif\0\0" + exif))
        ).orientation
        == 6
    )


def test_the_first_exif_counts() -> None:
    def exif(value: int) -> bytes:
        entry = struct.pack(">HHIHH", 0x0112, 3, 1, value, 0)
        return _segment(0xE1, b"Exif\0\0MM\0*\0\0\0\x08\0\x01" + entry)

    assert probe_image(_jpeg(exif(6) + exif(3))).orientation == 6


@pytest.mark.parametrize(
    "text", ["", " A\tB\r\nC\x0bD\x0cE\x1cF\x1dG\x1eH\x1fI ", "A\u2003B\x85C\xa0D", "\n\n", "é x"]
)
@pytest.mark.parametrize("start", [0, 1, 3])
def test_white_space_is_what_python_takes_for_it(text: str, start: int) -> None:
    assert remove_white_space(text, start) == "".join(text[start:].split())


@pytest.mark.parametrize("target", sorted(FACTS))
def test_an_image_is_looked_at_a_few_times_however_many_rules_ask(
    target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from chatmend.images.payload import Payload  # noqa: PLC0415 - what is counted

    looks, probe = [0], Payload.probe

    def counted(self: Payload) -> Any:
        looks[0] += 1
        return probe(self)

    monkeypatch.setattr(Payload, "probe", counted)
    sound, labelled = part(samples()["one pixel"]), part(samples()["jpeg called png"])
    chatmend.repair([{"role": "user", "content": [sound, labelled, {"type": "nonsense"}]}], target)
    assert looks[0] <= 5 * 2, looks
