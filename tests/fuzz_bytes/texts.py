"""Targets that read texts: addresses of images, JSON files of the command line, event streams, error messages."""

from __future__ import annotations

import base64
import json

import chatmend
from chatmend import TranscriptError, UsageStream
from chatmend.cli.json_text import splice
from chatmend.refusals import refusals
from chatmend.sessions.stored import repair_conversation
from tests.broken import broken
from tests.fuzz_bytes.target import FuzzTarget, as_json
from tests.images.pictures import noise, saved

TARGETS_OF_URLS = (
    "openai/gpt-4o",
    "anthropic/claude-sonnet-4-5",
    "gemini/gemini-2.5-flash",
    "strict",
)


def data_urls(data: bytes) -> None:
    """The address of an image: after a repair, a second one changes nothing."""
    url = data.decode("utf-8", "surrogateescape")
    part = {"type": "image_url", "image_url": {"url": url}}
    messages = [{"role": "user", "content": [{"type": "text", "text": "see"}, part]}]
    target = TARGETS_OF_URLS[len(data) % len(TARGETS_OF_URLS)]
    done = chatmend.repair(messages, target, dialect="openai_chat")
    again = chatmend.repair(done.messages, target, dialect="openai_chat")
    assert again.messages is done.messages, again.report()


def _urls() -> list[bytes]:
    pixels = base64.b64encode(saved(noise(8, 8), "PNG")).decode()
    urls = (
        f"data:image/png;base64,{pixels}",
        f" DATA:image/png;charset=utf-8;base64,{pixels}",
        pixels,
        f"data:image/png;base64,{pixels.replace('+', '%2B')}",
        "data:image/svg+xml;utf8,<svg/>",
        "https://example.com/a.png",
        "//host/a.png",
        "file:///a.png",
        "blob:https://example.com/1",
    )
    return [url.encode() for url in urls]


def json_files(data: bytes) -> None:
    """A file that `chatmend repair --in-place` changes: what it does not change keeps its bytes."""
    text = data.decode("utf-8", "surrogateescape")
    try:
        value = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return
    if not isinstance(value, list | dict):
        return
    assert splice(text, value, value) == text
    try:
        repaired, _ = repair_conversation(value, chatmend.resolve("strict"))
    except TranscriptError:
        return
    if type(repaired) is not type(value):
        return  # a system prompt left the list: the file is written anew
    written = splice(text, value, repaired)
    assert repr(json.loads(written.removeprefix("\ufeff"))) == repr(repaired)


def event_streams(data: bytes) -> None:
    """The usage of an event stream does not depend on how the network cuts it."""
    cut = (data[0] if data else 0) % 16 + 1
    pieces, whole = UsageStream(), UsageStream()
    whole.feed(data[1:])
    for at in range(1, len(data), cut):
        pieces.feed(data[at : at + cut])
    assert pieces.close() == whole.close()


def _streams() -> list[bytes]:
    start = {"type": "message_start", "message": {"usage": {"input_tokens": 9}}}
    delta = {"type": "message_delta", "usage": {"output_tokens": 5}}
    tokens = {"prompt_tokens": 4, "completion_tokens": 2, "total_tokens": 6}
    chunk = {"object": "chat.completion.chunk", "choices": [], "usage": tokens}
    done = {"type": "response.completed", "response": {"usage": {"input_tokens": 1}}}
    gemini = {"usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4}}
    events = [[start, delta], [chunk], [done], [gemini]]
    return [
        (end + "".join(f"data: {json.dumps(event)}{end}{end}" for event in one)).encode()
        for one in events
        for end in ("\n", "\r\n")
    ]


def error_messages(data: bytes) -> None:
    """A provider's error message: whatever it says, `react` returns a repair or None."""
    text = data.decode("utf-8", "replace")
    thinking = {"type": "thinking", "thinking": "hm", "signature": "EqoB" + "q" * 200}
    answer = {"role": "assistant", "content": [thinking, {"type": "text", "text": "a"}]}
    user = {"role": "user", "content": "q"}
    body = {"model": "m", "max_tokens": 9, "messages": [user, answer, user]}
    chatmend.react(body, "anthropic/claude-opus-4-8", text)


TARGETS = [
    FuzzTarget("data_urls", data_urls, _urls),
    FuzzTarget(
        "json_files",
        json_files,
        lambda: as_json([broken(seed, "openai_chat") for seed in range(8)]),
    ),
    FuzzTarget("event_streams", event_streams, _streams),
    FuzzTarget(
        "error_messages",
        error_messages,
        lambda: [refusal.says.encode() for refusal in refusals()],
    ),
]
