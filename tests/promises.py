"""Checks of the promises of a repair, used by the property tests and the fuzzer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import chatmend
from chatmend import Effect
from chatmend.dialects import DIALECTS
from chatmend.dialects.content import MEDIA
from chatmend.transcript import is_unchanged
from tests.broken import copied, digest, expected_tokens, same
from tests.judges import judge

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Container, Iterator
    from random import Random

    from chatmend.repair import Repaired


_EVERY_BOUNDARY = 0.1
"""The share of transcripts that are checked at every boundary if boundaries are drawn."""


def repaired(messages: list[Any], target: str, dialect: str, **choices: Any) -> Repaired:
    """Repair a transcript in a dialect."""
    return chatmend.repair(messages, target, dialect=dialect, **choices)


def unmarked(value: Any) -> Any:
    """Return a message without cache markers, which promise 3 ignores."""
    try:
        return _unmarked(value)
    except RecursionError:
        return digest(value)


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _unmarked(v) for k, v in value.items() if k != "cache_control"}
    return [_unmarked(item) for item in value] if isinstance(value, list) else value


def without_media(messages: list[Any], dialect: str) -> list[Any]:
    """Replace each image or file with a text: they are passed through, and other tests check them.

    Blocks of unknown types in assistant messages are replaced too: a provider accepts what it sent itself, and its types
    may be newer than those known here.
    """
    # Both formats of OpenAI have `input_audio`, next to texts of different types.
    has_items = dialect == "openai_responses"
    sound = {"type": "input_text" if has_items else "text", "text": "(media)"}
    return [_without_media(message, sound) for message in messages]


def _without_media(message: Any, sound: dict[str, str]) -> Any:
    if isinstance(message, dict) and isinstance(message.get("parts"), list):
        return {**message, "parts": [_gemini_word(part) for part in message["parts"]]}
    if isinstance(message, dict) and isinstance(message.get("output"), list):
        return {**message, "output": [_word(part, MEDIA, sound) for part in message["output"]]}
    if not isinstance(message, dict) or not isinstance(message.get("content"), list):
        return message
    carried = {*MEDIA, "hologram"} if message.get("role") == "assistant" else MEDIA
    return {**message, "content": [_word(part, carried, sound) for part in message["content"]]}


def _word(part: Any, carried: Container[str], sound: dict[str, str]) -> Any:
    if isinstance(part, dict) and len(part) == 1:
        (key,) = part
        if key in ("image", "video", "audio"):
            return {"text": "(media)"}
        if key == "document" and isinstance(part[key], dict):
            kept = {"format": "txt", "source": {"text": "(media)"}}
            return {key: {**part[key], **kept}}
        if key == "toolResult" and isinstance(part[key], dict):
            return {key: _without_media(part[key], sound)}
    kind = part.get("type") if isinstance(part, dict) else None
    if isinstance(kind, str) and kind in carried:
        if kind == "input_audio":
            return sound
        own = kind in ("input_image", "input_file")
        return {"type": "input_text" if own else "text", "text": "(media)"}
    return _without_media(part, sound)


def _gemini_word(part: Any) -> Any:
    if isinstance(part, dict) and isinstance(part.get("functionResponse"), dict):
        kept = {key: value for key, value in part["functionResponse"].items() if key != "parts"}
        return {**part, "functionResponse": kept}
    media = ("inlineData", "inline_data", "fileData", "file_data")
    return (
        {"text": "(media)"}
        if isinstance(part, dict) and any(key in part for key in media)
        else part
    )


def boundaries(messages: list[Any], dialect: str) -> list[int]:
    """Return the indexes at which the messages before were certainly sent as a request.

    There an assistant message follows a message that is not the assistant's, and a user message or a result comes before.
    """
    read = [DIALECTS[dialect].read(message) for message in messages]
    spoken, places = False, []
    for at, message in enumerate(read):
        if message.is_assistant and at and not read[at - 1].is_assistant and spoken:
            places.append(at)
        spoken = spoken or message.role in ("user", "tool")
    return places


def broken_promises(  # noqa: PLR0913 - options are keywords
    messages: list[Any],
    target: str,
    dialect: str,
    *,
    judged: bool = True,
    torn: bool = False,
    policy: chatmend.Policy | None = None,
    fired: Counter[str] | None = None,
    draws: Random | None = None,
) -> Iterator[str]:
    """Yield every promise that the repair of one transcript breaks, with evidence.

    ``fired`` counts the transcripts in which each rule has made a change. With ``draws``, most
    transcripts are checked at one boundary only, which takes half the time.
    In a ``torn`` transcript, a text may be in an invalid position, for example as a role; the report then contains it.
    Blocks of unknown types may be newer than the judge.
    """
    before = copied(messages)
    done = repaired(messages, target, dialect, policy=policy)
    if not same(messages, before):
        yield "6 pure: the input was changed"
    if fired is not None:
        fired.update({change.rule for change in done.changes})
    if not same(chatmend.replay(messages, done.changes), done.messages):
        yield "5 replay: the changes do not give the result"
    again = repaired(done.messages, target, dialect, system=done.system, policy=policy)
    if again.messages is not done.messages:
        yield f"6 idempotent: {again.report()[:300]}"
    if lost := _lost(messages, done, Effect.RESHAPES if torn else Effect.DROPS):
        yield f"4 lost: {sorted(lost)[:5]}"
    places = boundaries(messages, dialect)
    if draws is not None and places and draws.random() >= _EVERY_BOUNDARY:
        places = [draws.choice(places)]
    yield from _moved_prefixes(
        messages, done, lambda held: repaired(held, target, dialect, policy=policy), places
    )
    refused = (
        judge(dialect, target, without_media(done.messages, dialect), system=done.system)
        if judged
        else []
    )
    for why in [why for why in refused if not (torn and "no block of a known type" in why)][:1]:
        yield f"1 refused: {why[:300]}"


def _lost(messages: list[Any], done: Repaired, told: Effect) -> set[str]:
    """Return the content that is neither sent nor in a reported change of this effect or a worse one."""
    sent = expected_tokens([done.messages, done.system])
    dropped = expected_tokens([list(c.before) for c in done.changes if c.effect >= told])
    return expected_tokens(messages) - sent - dropped


def _moved_prefixes(
    messages: list[Any],
    done: Repaired,
    repair: Callable[[list[Any]], Repaired],
    places: list[int],
) -> Iterator[str]:
    """Check at these boundaries that the messages sent so far stay an unchanged prefix.

    Both ways are checked: repairing the original messages again, and a session that continues from its repaired messages.
    """
    if any(change.rule == "too-many-images" for change in done.changes):
        return  # above the limit of images the oldest are dropped, which is the only exception
    came, kept = 0, list[Any]()  # how many messages the session has seen, and their repaired form
    for at in [*places, len(messages)]:
        sent = done.messages if at == len(messages) else repair(messages[:at]).messages
        if not _begins(done.messages, sent):
            yield f"3 prefix: at {at} of {len(messages)}"
            return
        held = [*kept, *messages[came:at]]
        fed = sent if is_unchanged(held, messages[:at]) else repair(held).messages
        if not _begins(fed, kept):
            yield f"3 prefix, fed back: at {at} of {len(messages)}"
            return
        came, kept = at, fed


def _begins(whole: list[Any], prefix: list[Any]) -> bool:
    """Return whether a list begins with the messages of another, ignoring cache markers."""
    pairs = zip(whole, prefix, strict=False)
    return len(whole) >= len(prefix) and all(
        one is other or unmarked(one) == unmarked(other) for one, other in pairs
    )
