"""Too many images, or too many bytes, in one request.

Why: ``Too many images and documents: 101 + 0 > 100`` and ``Request exceeds the maximum size``
(Anthropic); ``Too many images provided. This model supports up to 5 images`` (Groq).

Repair: The oldest images are replaced by texts, in coarse steps: if a limit is exceeded, enough
images are removed at once to leave a quarter of it free. So what was sent stays a prefix of what is
sent, except for one change per step. Anthropic accepts sides over 2000 pixels in a request with at
most 20 images. Such an image is sent only if scaling it would take too much memory, and is replaced
by a text if there are more images.

Before (mistral/mistral-medium-latest):
    [{"role": "user", "content": [
         {"type": "image_url", "image_url": {"url": "https://example.com/0.png"}},
         {"type": "image_url", "image_url": {"url": "https://example.com/1.png"}},
         {"type": "image_url", "image_url": {"url": "https://example.com/2.png"}},
         {"type": "image_url", "image_url": {"url": "https://example.com/3.png"}},
         {"type": "image_url", "image_url": {"url": "https://example.com/4.png"}},
         {"type": "image_url", "image_url": {"url": "https://example.com/5.png"}},
         {"type": "image_url", "image_url": {"url": "https://example.com/6.png"}},
         {"type": "image_url", "image_url": {"url": "https://example.com/7.png"}},
         {"type": "image_url", "image_url": {"url": "https://example.com/8.png"}}]}]
After:
    [{"role": "user", "content": [
         {"type": "text",
          "text": "Image removed: the request held more images than the model takes."},
         {"type": "text",
          "text": "Image removed: the request held more images than the model takes."},
         {"type": "text",
          "text": "Image removed: the request held more images than the model takes."},
         {"type": "image_url", "image_url": {"url": "https://example.com/3.png"}},
         {"type": "image_url", "image_url": {"url": "https://example.com/4.png"}},
         {"type": "image_url", "image_url": {"url": "https://example.com/5.png"}},
         {"type": "image_url", "image_url": {"url": "https://example.com/6.png"}},
         {"type": "image_url", "image_url": {"url": "https://example.com/7.png"}},
         {"type": "image_url", "image_url": {"url": "https://example.com/8.png"}}]}]
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field, replace
from itertools import count, islice
from typing import TYPE_CHECKING, Any

from chatmend import jsontext
from chatmend.changes import Change, Effect
from chatmend.dialects.documents import Document, find_document
from chatmend.dialects.pictures import (
    LISTED,
    find_picture,
    listed_part,
)
from chatmend.rules import document_words
from chatmend.rules.image_repair import ImageRepair, ImageRewriter, replacement_text
from chatmend.rules.image_words import TOO_LARGE, TOO_MANY
from chatmend.rules.rule import Request, RequestRule
from chatmend.signatures import last_signed
from chatmend.targets.image_limits import KEPT_SHARE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from chatmend.context import Context
    from chatmend.dialects.pictures import Picture
    from chatmend.images.payload import Payload
    from chatmend.targets.image_limits import ImageLimits
    from chatmend.transcript import Media, Message

CODE, NAME = "IMG012", "too-many-images"
_LIMIT = "documents_counted"
_TOO_MANY_FILES = "the request held more images and documents than the model takes"
_MAX_DEPTH = 60
"""Values that are nested deeper are measured without recursion."""
_WHY = {
    TOO_MANY: "too many images or bytes for one request; oldest images removed: {}",
    TOO_LARGE: "image sides too long for a request with this many images; images removed: {}",
}
_TYPES_WITHOUT_IMAGE = frozenset({"thinking", "redacted_thinking", "tool_use"})
_RESULT_KEYS = {
    "tool_result": "content",
    "toolResult": "content",
    "functionResponse": "parts",
    "function_response": "parts",
}
"""The key of the parts in a tool result that is itself a part.

The result is recognised by its type, or is the value of a key of this name.
"""


@dataclass(frozen=True, slots=True)
class _SentImage:
    """An image that is still sent, or a document that counts like one."""

    at: int
    """The index of its message."""
    number: int
    """Its position among the images of the message."""
    size: int
    """Its bytes in the request."""
    is_large: bool = False
    """Whether only a request with few images may hold it."""
    is_counted: bool = True
    """Whether it counts towards the limit on the number of images."""
    text: str | None = None
    """The text that replaces a document; None for an image."""


@dataclass(slots=True)
class _Tally:
    """The images that are still sent, counted message by message."""

    limits: ImageLimits
    images: deque[_SentImage] = field(default_factory=deque)
    size: int = 0
    counted: int = 0
    """How many of them count towards the limit on the number of images."""
    large: int = 0
    """How many of them only a request with few images may hold."""
    dropped: dict[int, dict[int, str]] = field(default_factory=dict)
    """For the index of a message, the text that replaces each dropped image, by its position."""

    def add(self, image: _SentImage) -> None:
        """Add an image; its bytes are those of its message."""
        self.images.append(image)
        self.counted += image.is_counted
        self.large += image.is_large

    def drop_oldest(self) -> None:
        """Drop the oldest images if a limit is exceeded."""
        limits = self.limits
        if self.large and limits.few_images is not None and self.counted > limits.few_images:
            self._drop_where(lambda image: image.is_large, TOO_LARGE)
        if limits.max_images is not None and self.counted > limits.max_images:
            excess = self.counted - max(1, int(limits.max_images * KEPT_SHARE))
            self._drop_where(lambda image: image.is_counted, TOO_MANY, excess)
        if limits.max_request_bytes is not None and self.size > limits.max_request_bytes:
            while self.size > limits.max_request_bytes * KEPT_SHARE and self.images:
                self._drop(self.images.popleft(), TOO_MANY)

    def _drop_where(
        self, is_wanted: Callable[[_SentImage], bool], text: str, most: int | None = None
    ) -> None:
        """Drop the oldest images that fulfil a condition."""
        wanted = list(islice(filter(is_wanted, self.images), most))
        gone = {(image.at, image.number) for image in wanted}
        self.images = deque(i for i in self.images if (i.at, i.number) not in gone)
        for image in wanted:
            self._drop(image, text)

    def _drop(self, image: _SentImage, text: str) -> None:
        self.size -= image.size
        self.counted -= image.is_counted
        self.large -= image.is_large
        self.dropped.setdefault(image.at, {})[image.number] = image.text or text


def apply(request: Request, context: Context) -> tuple[Request, list[Change]]:
    """Replace the oldest images if there are too many; return one change per message."""
    limits, messages = context.limits.images, request.messages
    if limits.max_images is None and limits.max_request_bytes is None:
        return request, []
    traits = context.dialect.TRAITS
    keys, key = (*traits.content_keys, *traits.image_keys), traits.content_keys[0]
    listed = [
        at
        for at, m in enumerate(messages)
        if m.__class__ is not dict
        or m.get(key).__class__ is not str
        or any(image_key in m for image_key in traits.image_keys)
    ]
    found = {
        at: images
        for at in listed
        if (images := _find_images(_as_dict(messages[at], context), keys))
    }
    if not found:
        return request, []
    dicts: list[Any] = [_as_dict(native, context) for native in messages]
    tally = _Tally(limits)
    has_many_images = (
        limits.few_images is not None and sum(map(len, found.values())) > limits.few_images
    )
    size_of = _size_of if limits.max_request_bytes is not None else lambda _: 0
    tally.size = size_of(request.system) + size_of(request.tools)
    counted = bool(context.limits.of(_LIMIT))
    for at, native in enumerate(dicts):
        files = found.get(at, ())
        payloads = [file.payload for file in files]
        tally.size += size_of(native) + sum(
            p.text_size for p in payloads if p and isinstance(p.data, bytes)
        )
        for number, file in enumerate(files):
            size = file.payload.text_size if file.payload else 0
            if isinstance(file, Document):
                text = document_words.removed_text(file, _TOO_MANY_FILES)
                sent = _SentImage(at, number, size, is_counted=counted, text=text)
            else:
                is_large = has_many_images and _is_large(file.payload, limits)
                sent = _SentImage(at, number, size, is_large)
            tally.add(sent)
        tally.drop_oldest()
    out, changes = _replace_dropped(messages, tally.dropped, context)
    return (request if out is messages else replace(request, messages=out)), changes


def _is_large(payload: Payload | None, limits: ImageLimits) -> bool:
    """Return whether an image has longer sides than a request with many images may hold."""
    return (
        payload is not None
        and limits.max_side is not None
        and max(payload.probe().display_size) > limits.max_side
    )


def _as_dict(native: object, context: Context) -> object:
    """Return a message as a dict; other objects are read only if they may hold an image."""
    if native.__class__ is dict:
        return native
    content = getattr(native, "content", None)
    if content.__class__ is list:
        return context.dialect.read(native).extra
    return {"content": content, "tool_calls": getattr(native, "tool_calls", None)}


def _find_images(holder: Any, keys: tuple[str, ...]) -> list[Picture | Document]:  # noqa: ANN401 - any value
    """Return the images and documents in a message or a tool result, in order."""
    found: list[Picture | Document] = []
    for key in keys if isinstance(holder, dict) else ():
        parts = holder.get(key)
        parts = parts if isinstance(parts, list) else (parts,)
        for part in map(listed_part, parts) if key == LISTED else parts:
            if not isinstance(part, dict) or _has_no_image(part):
                continue
            if (file := find_picture(part) or find_document(part)) is not None:
                found.append(file)
                continue
            for name, inside in _RESULT_KEYS.items():
                result = part if part.get("type") == name else part.get(name)
                if result is not None:
                    found += _find_images(result, (inside,))
    return found


def _has_no_image(part: dict[str, Any]) -> bool:
    """Return whether a part certainly contains no image; a fast check that covers most parts."""
    if part.get("text").__class__ is str or "functionCall" in part:
        return True
    kind = part.get("type")
    if kind == "tool_result":
        return part.get("content").__class__ is str
    return kind.__class__ is str and kind in _TYPES_WITHOUT_IMAGE


def _size_of(value: object) -> int:
    """Estimate the size of a value in the request in bytes, without raw bytes.

    The estimate uses only the lengths of texts, so it is fast.
    """
    return _total_size((value,), set())


def _total_size(values: Iterable[object], containers: set[int]) -> int:
    """Estimate the size of several values.

    ``containers`` are the ids of the containers around them: a container in itself is skipped.
    """
    size = 0
    for value in values:
        if isinstance(value, str):
            size += (len(value) if value.isascii() else len(value) * 3) + 6
        elif isinstance(value, dict | list) and len(containers) < _MAX_DEPTH:
            if id(value) not in containers:
                containers.add(id(value))
                size += _total_size(value, containers)
                size += _total_size(value.values(), containers) if isinstance(value, dict) else 0
                containers.remove(id(value))
        elif value is not None and not isinstance(value, bool):
            size += _total_size(jsontext.strings(value), containers)
    return size


def _replace_dropped(
    messages: list[Any], dropped: dict[int, dict[int, str]], context: Context
) -> tuple[list[Any], list[Change]]:
    allowed = context.policy.allow >= Effect.DROPS
    signed = last_signed(messages, context) if dropped else -1
    out, changes = list(messages), list[Change]()
    for at, texts in sorted(dropped.items()):
        becomes = _with_texts(messages[at], texts, context)
        counts = Counter(text if text == TOO_LARGE else TOO_MANY for text in texts.values())
        why = "; ".join(
            _WHY[text].format(counts[text]) for text in (TOO_MANY, TOO_LARGE) if counts[text]
        )
        changes.append(
            Change(
                CODE, NAME, Effect.DROPS, at, why,
                (out[at],), (becomes if allowed else out[at],), None, at,
                applied=allowed, invalidates_thinking=allowed and at <= signed,
            )
        )  # fmt: skip
        out[at] = becomes
    return (out, changes) if dropped and allowed else (messages, changes)


def _with_texts(native: object, texts: dict[int, str], context: Context) -> object:
    """Return a message with texts in place of some of its images."""
    numbers = count()

    def repair_image(part: Media, role: str) -> ImageRepair | None:
        is_document = find_picture(part.extra) is None
        if is_document and find_document(part.extra) is None:
            return None
        if (text := texts.get(next(numbers))) is None:
            return None
        if is_document:
            return ImageRepair((document_words.text_part(part, text, context),), "", Effect.DROPS)
        return ImageRepair((replacement_text(part, text, context),), "", Effect.DROPS)

    message = context.dialect.read(native)
    return context.dialect.write(
        message.with_parts(
            ImageRewriter(repair_image, Effect.DROPS).rewrite(message.parts, message.role)
        )
    )


def _has_images(message: Message) -> bool:
    return bool(_find_images(message.extra, ("content", "output", "parts", LISTED)))


RULE = RequestRule(CODE, NAME, apply, _has_images, own_limits={_LIMIT: bool})
