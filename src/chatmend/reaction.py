"""Repairs a request after the provider has refused it, as far as its error message says why."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from chatmend.dialects.content import signature_in_id
from chatmend.dialects.entries import known_keys
from chatmend.dialects.gemini_parts import SIGNATURE_KEYS
from chatmend.dialects.thinking import is_foreign_detail, is_thinking
from chatmend.jsontext import is_same
from chatmend.lessons import Lesson, digest_of, is_proof
from chatmend.refusals import compiled, search
from chatmend.refusals.errors import read_error
from chatmend.repair import RepairedRequest, repair_request
from chatmend.report import Reportable
from chatmend.targets import Target, resolve_for
from chatmend.transcript import REFERENCE, kind_of_item

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from chatmend.changes import Change
    from chatmend.dialects import Dialect
    from chatmend.images.recompressor import Recompressor
    from chatmend.policy import Policy

_READ = "$read"
_BLOCK = "BLOCK001"
_LISTS = ("messages", "input", "contents")
_PARTS = ("content", "parts", "output")
_NUMBERS, _PATTERN = ("max_", "min_"), "_pattern"
"""Beginnings of the names of limits that are numbers; the end of the name of a pattern."""
_SEVERAL = ("refused_keys", "refused_part_keys", "refused_items", "refused_marker_keys")
"""Limits of which one error message may name several values."""
_MOST_DIGITS = 12
"""A longer number in an error message is no limit."""
_BOUND, _LATEST = "bound to a different conversation", "latest assistant"
_SIGNATURE = re.compile(
    r"(?i)signature|encrypted.content|redacted_thinking|latest assistant|continuation identities"
)
_MISSING = re.compile(r"(?i)missing an? `?thought_signature")
_DOWNLOAD = re.compile(r"(?i)download|cannot fetch|fetch content")
_PAGES = re.compile(r"(?i)pdf pages")
_THOUGHT_SIGNATURE = re.compile(r"(?i)thought[ _]signature")
_PLACE = re.compile(r"\b(messages|input|contents)(?:\.(\d+)|\[(\d+)\])")
_INDEX = re.compile(r"\b(?:messages|input|contents)(?:\.\[?|\[|/)(\d{1,7})\b")
_PART_PLACE = re.compile(r"(?:\.tool_?[rR]esult)?\.(?:content|parts|output)(?:\.(\d+)|\[(\d+)\])")
_DEEPEST = 3
"""Numbers of a position: message, part, and part in a tool result."""
_ITEM_ID = re.compile(r"(?i)\bitem (?:with id )?['\"`]?((?:rs|cmp|msg|fc|ctc)_\w+)")
_DUPLICATE = re.compile(r"(?i)duplicate item found with id ['\"`]?(\w+)")
_SEALED = re.compile(r"(?i)encrypted content ['\"`]?([A-Za-z0-9_\-+/=]+)(?:\.\.\.)?")
_WORD = re.compile(r"[A-Za-z_][\w-]*")
_FORMAT_KEYS = (
    *("role", "content", "parts", "name", "tool_calls", "tool_call_id", "type", "id", "call_id"),
    *("status", "output", "input", "arguments", "summary", "encrypted_content", "phase"),
)
"""The keys that messages have in at least one wire format."""
_MOST_VALUES = 1_000_000
"""Values of a request that are searched for signatures, so that one inside itself ends."""
_Place = tuple[int, ...]
_UNPLACED = (-2, -2)
_TEXTS_AND_CALLS = ("text", "input_text", "output_text", "tool_use", "tool_result")
_CALL_KEYS = frozenset({"call_id", "toolUse", "toolResult", "functionCall", "functionResponse"})
_SHORTEST_QUOTE = 4
"""Characters of encrypted content that an error message must quote to name a block."""


@dataclass(frozen=True, slots=True)
class Reaction(Reportable):
    """A repaired request after a refusal."""

    body: dict[str, Any]
    """The request to send now."""
    changes: tuple[Change, ...]
    """The changes from the refused request to this one."""
    lesson: Lesson | None = None
    """What the refusal has shown: pass it in ``lessons`` to all later repairs of the conversation.

    None if an ordinary repair of the refused request is enough.
    """


def react(  # noqa: PLR0913 - request and options as in repair_request
    body: dict[str, Any],
    target: str | Target,
    error: object,
    *,
    policy: Policy | str | None = None,
    lessons: Iterable[Lesson] = (),
    dialect: str | Dialect | None = None,
    recompressor: Recompressor | None = None,
) -> Reaction | None:
    """Return the mildest repair of a request for what the provider's error message says.

    The message is looked up in the same table as by ``chatmend explain``. It names a rule, and
    through it a limit of the target or a content block. If the ordinary repair already changes what
    the message is about, and the result is within the number or pattern that the message states, it
    is the answer. It is also the answer if it changes the message or item that the text names by
    its index, unless the text states a limit. Otherwise the request is repaired with this limit,
    and nothing else. The body in the answer always differs from the refused one. The function sends
    nothing; it is pure, and the same arguments give the same result.

    Args:
        body: the request that was sent and refused.
        target: the provider and model that refused it, as in ``repair``.
        error: the error: its text, the JSON body of the answer, or the exception of an SDK, of
            LiteLLM, LangChain or httpx.
        policy: a policy or the name of one, as in ``repair``. Its ``allow`` limits the effects.
        lessons: what earlier refusals of this conversation have shown.
        dialect: the wire format of ``body``, as in ``repair``; recognised if not given.
        recompressor: recompresses images, as in ``repair``.

    Returns:
        The repaired request with the new lesson. None if the error is not about the transcript
        (limits of rate, quota, access, an error of the server), if nothing is known that would
        help, or if the lessons already hold it: the same repair is never made twice.

    Raises:
        TranscriptError: ``body`` is not a dict with a list of messages.
        TargetError: the provider or model of ``target`` is unknown.
        PolicyError: ``policy`` is neither a policy nor the name of one.
    """
    refusal = read_error(error)
    if not refusal.text or not refusal.may_be_refusal:
        return None
    known = search(refusal.text)
    if known is None:
        return None
    resolved = resolve_for(target, body)
    learnt = tuple(lessons)

    def repaired(given: dict[str, Any], *more: Lesson) -> RepairedRequest:
        return repair_request(
            given,
            resolved,
            policy=policy,
            dialect=dialect,
            recompressor=recompressor,
            lessons=(*learnt, *more),
        )

    base = repaired(body)
    is_explained = _is_explained(base, body, refusal.text, known.pages)
    is_named = not is_explained and _is_named(base, body, refusal.text, known.pages)
    for lesson in _candidates(body, resolved, refusal.text, known.pages, learnt):
        if is_explained and not _is_measure(lesson, refusal.text):
            continue
        if is_named and _read(lesson.limit, refusal.text) is None:
            continue
        done = repaired(body, lesson)
        if is_same(done.body, base.body) or is_same(done.body, body):
            continue
        # Two limits can contradict each other: then the other one would be exceeded.
        if is_proof(lesson) or is_same(repaired(done.body).body, done.body):
            return Reaction(done.body, done.changes, lesson)
    return Reaction(base.body, base.changes) if is_explained or is_named else None


def _is_explained(
    base: RepairedRequest, body: dict[str, Any], text: str, pages: tuple[str, ...]
) -> bool:
    """Return whether the ordinary repair changes what an error message is about.

    A rule that explains the message has changed the request, or another rule has changed the
    message or the block that is refused.
    """
    if is_same(base.body, body):
        return False
    applied = [change for change in base.changes if change.applied]
    if not {change.code for change in applied}.isdisjoint(pages):
        return True
    if _BLOCK not in pages:
        return False
    place = _place(text)
    if place is not None and any(change.index == place[0] for change in applied):
        return True
    return not _digests(base.body).issuperset(_refused_blocks(body, text))


def _is_named(
    base: RepairedRequest, body: dict[str, Any], text: str, pages: tuple[str, ...]
) -> bool:
    """Return whether the ordinary repair changes the message that an error names by its index.

    The rules that the text can have are not all known. Topics without a limit do not count: no
    repair helps where a request is too long, or where a tool is declared wrongly.
    """
    if is_same(base.body, body) or not any(
        page[-1].isdigit() or page in _table()["limits"] for page in pages
    ):
        return False
    indices = {int(index) for index in _INDEX.findall(text)}
    return any(change.applied and change.index in indices for change in base.changes)


def _is_measure(lesson: Lesson, text: str) -> bool:
    """Return whether a lesson is a number or a pattern that the error message states.

    It holds for the whole request. A type or a key is refused at one position, where the ordinary
    repair has changed it. A maximum of 0 is no measure: it refuses a type.
    """
    name = lesson.limit.rpartition(".")[2]
    is_measure = name.startswith(_NUMBERS) or name.endswith(_PATTERN)
    return is_measure and bool(lesson.value) and lesson.value == _read(lesson.limit, text)


def _candidates(
    body: dict[str, Any],
    target: Target,
    text: str,
    pages: Iterable[str],
    learnt: tuple[Lesson, ...],
) -> Iterator[Lesson]:
    """Yield what the refusal may show, the most likely and mildest first.

    A provider names only one refused key. If it refuses a second one, all keys go that are not
    part of the message formats.
    """
    refused_before = any(lesson.limit == "refused_keys" for lesson in learnt)
    # A block with an invalid signature is removed; other blocks only if no milder repair helps.
    is_first = _SIGNATURE.search(text) is not None and _MISSING.search(text) is None
    for page in sorted(pages, key=lambda page: is_first and page != _BLOCK):
        if page == _BLOCK:
            if blocks := _refused_blocks(body, text):
                yield Lesson(target.name, "refused_blocks", blocks, text)
            continue
        demanded = [
            Lesson(target.name, limit, found, text)
            for limit, value in _demands(target.provider).get(page, ())
            if (found := _read(limit, text) if value == _READ else value) is not None
        ]
        for at, lesson in enumerate(demanded):
            if any(one in learnt for one in demanded[at:] if one.limit == lesson.limit):
                continue  # this value or a stricter one has not helped
            is_repeated = lesson.limit == "refused_keys" and refused_before
            yield _with_keys(lesson, _foreign_keys(body)) if is_repeated else lesson


def _with_keys(lesson: Lesson, keys: set[str]) -> Lesson:
    """Return a lesson about refused keys with further keys."""
    named = lesson.value if isinstance(lesson.value, tuple) else ()
    return replace(lesson, value=tuple(sorted({*named, *keys})))


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    return tomllib.loads(files("chatmend.refusals").joinpath("demands.toml").read_text("utf-8"))


@lru_cache(maxsize=64)
def _demands(host: str) -> dict[str, list[tuple[str, object]]]:
    """Return the limits that a refusal of a host can show, by rule or topic."""
    found: dict[str, list[tuple[str, object]]] = _table()["limits"] | _table()["hosts"].get(
        host, {}
    )
    return found


def _read(limit: str, text: str) -> object:
    """Return the value of a limit that an error message states; None if it states none.

    Of keys and items that are refused, the message may name several.
    """
    rows = [row for row in _table()["read"] if row["limit"] == limit]
    if limit in _SEVERAL:
        found_in = [(row, compiled(row["says"]).findall(text)) for row in rows]
        named = [one for row, held in found_in if held for one in row.get("value", held)]
        return tuple(sorted(set(named))) or None
    for row in rows:
        if found := compiled(row["says"]).search(text):
            value = (
                row["value"]
                if "value" in row
                else _value_of(limit, found.group(1), row.get("unit", 1))
            )
            if value is not None:
                return value
    return None


def _foreign_keys(body: dict[str, Any]) -> set[str]:
    """Return the keys of messages that are not part of the message formats."""
    messages = [one for key in _LISTS for one in body.get(key) or () if isinstance(one, dict)]
    foreign: set[str] = set()
    for one in messages:
        known = known_keys(one["type"]) if "type" in one else None
        foreign.update(key for key in one if isinstance(key, str) and key not in (known or ()))
    return foreign - set(_FORMAT_KEYS)


def _value_of(limit: str, words: str, unit: int) -> object:
    name = limit.rpartition(".")[2]
    if limit in ("roles", "part_types", "block_types"):
        # Vertex AI writes its roles in upper case.
        words = words.lower() if limit == "roles" else words
        listed = [word for word in _WORD.findall(words) if word not in ("and", "or", "at", "line")]
        return tuple(sorted(set(listed))) or None
    if name.startswith(_NUMBERS):
        return int(words) * unit if len(words) <= _MOST_DIGITS else None
    if limit.endswith(_PATTERN):
        return words if _is_pattern(words) else None
    return words


def _is_pattern(text: str) -> bool:
    try:
        re.compile(text)
    except re.error:
        return False
    return True


def _digests(body: dict[str, Any]) -> set[str]:
    """Return the digests of all blocks, items and thought signatures of a request."""
    lists = [body[key] for key in _LISTS if isinstance(body.get(key), list)]
    blocks = [block for messages in lists for _, block in _blocks(messages)]
    return {*map(digest_of, blocks), *map(digest_of, _thought_signatures(body))}


def _refused_blocks(body: dict[str, Any], text: str) -> tuple[str, ...]:
    """Return the digests of the blocks that an error message means.

    The message names a position, the id of an item, or the beginning of encrypted content. If it
    means thinking, only thinking is taken: at the position, or anywhere if there is none, because
    LiteLLM's conversion has moved it. Thinking that is bound to the earlier messages goes from the
    position on: the thinking after it is bound to it.
    """
    if _THOUGHT_SIGNATURE.search(text):
        return tuple(map(digest_of, _thought_signatures(body)))
    key = next((name for name in _LISTS if isinstance(body.get(name), list)), None)
    messages: list[Any] = body[key] if key else []
    blocks = list(_blocks(messages))
    if named := _named(blocks, text):
        return named
    place = _place(text)
    if _SIGNATURE.search(text):
        meant = _meant_thinking([(at, block) for at, block in blocks if _is_sealed(block)], text)
    elif _DOWNLOAD.search(text):
        links = [block for _, block in blocks if _is_removable(block) and _links(block)]
        quoted = [block for block in links if any(url in text for url in _links(block))]
        meant = quoted or links
    elif "pdf" in text.lower() and place is None:
        documents = [block for _, block in blocks if _is_document(block)]
        # Too many pages: the longest document goes first.
        longest = sorted(documents, key=lambda block: -len(str(block)))[:1]
        meant = longest if _PAGES.search(text) else documents
    else:
        depth = len(place or ())
        inside = [block for at, block in blocks if place and at[:depth] == place]
        meant = [block for block in inside if _is_removable(block)]
    return tuple(map(digest_of, meant))


def _meant_thinking(
    thinking: list[tuple[_Place, dict[str, Any]]], text: str
) -> list[dict[str, Any]]:
    """Return the thinking that an error message means; all if it names no position of thinking."""
    place = _place(text)
    chosen: list[dict[str, Any]] = []
    if place is not None and _BOUND in text:
        chosen = [block for at, block in thinking if at >= place]
    elif place is not None and _LATEST in text:
        chosen = [block for at, block in thinking if at[0] == place[0]]
    elif place is not None:
        chosen = [block for at, block in thinking if at == place]
    blocks = [block for _, block in thinking]
    return chosen or [block for block in blocks if is_foreign_detail(block)] or blocks


def _thought_signatures(body: dict[str, Any]) -> list[str]:
    """Return Gemini's thought signatures in a request, because no error message names one."""
    found, waiting = dict[str, None](), [body[key] for key in _LISTS if key in body]
    for value in waiting:  # the loop appends to this list
        if isinstance(value, dict):
            held = [value[key] for key in SIGNATURE_KEYS if key in value]
            held.append(signature_in_id(value.get("id")))
            found |= dict.fromkeys(one for one in held if isinstance(one, str))
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        if len(waiting) > _MOST_VALUES:
            break
    return list(found)


def _is_sealed(block: dict[str, Any]) -> bool:
    """Return whether a block is thinking, or an item with encrypted content."""
    kind = str(block.get("type"))
    return is_thinking(block) or "encrypted_content" in block or kind.startswith("reasoning")


def _is_removable(block: dict[str, Any]) -> bool:
    """Return whether a transcript stays whole without a block; it needs its calls and results."""
    return block.get("type") not in _TEXTS_AND_CALLS and not _CALL_KEYS & block.keys()


def _links(block: dict[str, Any]) -> list[str]:
    """Return the URLs in a content block that the provider downloads; no data URLs."""
    held = [block, *(value for value in block.values() if isinstance(value, dict))]
    values = [value for one in held for value in one.values()]
    return [
        url for url in values if isinstance(url, str) and url.startswith(("http", "gs:", "s3:"))
    ]


def _is_document(block: dict[str, Any]) -> bool:
    return block.get("type") in ("document", "file", "input_file") or "document" in block


def _blocks(messages: list[Any]) -> Iterator[tuple[_Place, dict[str, Any]]]:
    """Yield the blocks and items of a transcript, each with its position.

    It is the index of the message, of the part, and of a part in a tool result. An item has -1 as
    its part.
    """
    for at, message in enumerate(messages):
        if not isinstance(message, dict):
            held = getattr(message, "content", None)
            yield from _unplaced(held)
            continue
        if "type" in message and message.get("type") != "message":
            yield (at, -1), message
        for key in _PARTS:
            yield from _placed(message.get(key), (at,))
        for key in ("thinking_blocks", "reasoning_details"):
            yield from _unplaced(message.get(key))


def _placed(held: object, before: _Place) -> Iterator[tuple[_Place, dict[str, Any]]]:
    """Yield the blocks of a list, and those in its tool results."""
    for i, part in enumerate(held if isinstance(held, list) else ()):
        if isinstance(part, dict):
            yield (*before, i), part
            result = part.get("toolResult", part)
            if len(before) == 1 and isinstance(result, dict):
                yield from _placed(result.get("content"), (*before, i))


def _unplaced(held: object) -> Iterator[tuple[_Place, dict[str, Any]]]:
    """Yield blocks of messages that a framework converts, so that positions do not hold."""
    for part in held if isinstance(held, list) else ():
        if isinstance(part, dict):
            yield _UNPLACED, part


def _place(text: str) -> _Place | None:
    """Return the position that a message names: ``messages.1.content.0``, ``input[3]``."""
    found = _PLACE.search(text)
    if found is None:
        return None
    place = [int(found.group(2) or found.group(3))]
    while len(place) < _DEEPEST and (found := _PART_PLACE.match(text, found.end())):
        place.append(int(found.group(1) or found.group(2)))
    return tuple(place) if len(place) > 1 else (*place, -1)


def _named(blocks: list[tuple[_Place, dict[str, Any]]], text: str) -> tuple[str, ...]:
    """Return the digests of blocks whose id or encrypted content a message quotes.

    Of an item that the request holds twice, only a reference is meant: the provider has the item.
    """
    if (duplicate := _DUPLICATE.search(text)) is not None:
        items = [block for _, block in blocks if block.get("id") == duplicate.group(1)]
        return tuple(digest_of(one) for one in items if kind_of_item(one) == REFERENCE)
    item, sealed = _ITEM_ID.search(text), _SEALED.search(text)
    found: list[str] = []
    for _, block in blocks:
        content = block.get("encrypted_content")
        is_item = item is not None and block.get("id") == item.group(1)
        is_quoted = (
            sealed is not None
            and len(sealed.group(1)) >= _SHORTEST_QUOTE
            and isinstance(content, str)
            and content.startswith(sealed.group(1))
        )
        if is_item or is_quoted:
            found.append(digest_of(block))
    return tuple(found)
