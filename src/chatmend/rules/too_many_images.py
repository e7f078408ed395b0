"""Too many images, or too many bytes of them, in one request.

Why: ``Too many images and documents: 101 + 0 > 100`` and ``Request exceeds the maximum size`` (Anthropic); ``Too many images
provided. This model supports up to 5 images`` (Groq).

Repair: the oldest become texts, in coarse steps: when a limit is passed, as many go at once as leave a quarter of it free.
So what was sent stays a prefix of what is sent, but for one change a step. Anthropic accepts sides over 2000 pixels in a
request of at most 20 images; such an image is only sent if scaling it would take too much memory, and becomes a text when
there are more.

Before (mistral/mistral-medium-latest):
    [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.com/0.png"}}, {"type": "image_url", "image_url": {"url": "https://example.com/1.png"}}, {"type": "image_url", "image_url": {"url": "https://example.com/2.png"}}, {"type": "image_url", "image_url": {"url": "https://example.com/3.png"}}, {"type": "image_url", "image_url": {"url": "https://example.com/4.png"}}, {"type": "image_url", "image_url": {"url": "https://example.com/5.png"}}, {"type": "image_url", "image_url": {"url": "https://example.com/6.png"}}, {"type": "image_url", "image_url": {"url": "https://example.com/7.png"}}, {"type": "image_url", "image_url": {"url": "https://example.com/8.png"}}]}]
After:
    [{"role": "user", "content": [{"type": "text", "text": "Image removed: the request held more images than the model takes."}, {"type": "text", "text": "Image removed: the request held more images than the model takes."}, {"type": "text", "text": "Image removed: the request held more images than the model takes."}, {"type": "image_url", "image_url": {"url": "https://example.com/3.png"}}, {"type": "image_url", "image_url": {"url": "https://example.com/4.png"}}, {"type": "image_url", "image_url": {"url": "https://example.com/5.png"}}, {"type": "image_url", "image_url": {"url": "https://example.com/6.png"}}, {"type": "image_url", "image_url": {"url": "https://example.com/7.png"}}, {"type": "image_url", "image_url": {"url": "https://example.com/8.png"}}]}]
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Any

from chatmend import jsontext
from chatmend.changes import Change, Effect
from chatmend.dialects.pictures import picture, told
from chatmend.rules.image_repair import Mended, Walk
from chatmend.rules.image_words import TOO_LARGE, TOO_MANY
from chatmend.rules.rule import Request, RequestRule
from chatmend.transcript import Text, is_signed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chatmend.context import Context
    from chatmend.dialects.pictures import Picture
    from chatmend.images.payload import Payload
    from chatmend.targets.image_limits import ImageLimits
    from chatmend.transcript import Media, Message

CODE, NAME = "IMG012", "too-many-images"
_KEPT = 0.75
"""What is left of a limit when it was passed."""
_DEEP = 60
"""Nested deeper, a value is weighed without recursion."""
_WHY = {
    TOO_MANY: "more images than the target takes in one request: {} of the oldest removed",
    TOO_LARGE: "an image with sides too long for a request of this many images: {} removed",
}
_WORDY = frozenset({"thinking", "redacted_thinking", "tool_use"})
_INSIDE = {"tool_result": "content", "functionResponse": "parts", "function_response": "parts"}
"""Where a tool result that is a part has its own parts: by its type, or by the key that holds it."""


@dataclass(frozen=True, slots=True)
class _Sent:
    """An image that is still sent."""

    at: int
    """The number of its message."""
    number: int
    """Its number in the message."""
    size: int
    """Its bytes in the request."""
    is_large: bool
    """Only a request of few images may hold it."""


@dataclass(slots=True)
class _Tally:
    """The images that are still sent, while the messages go by in order."""

    limits: ImageLimits
    images: deque[_Sent] = field(default_factory=deque)
    size: int = 0
    gone: dict[int, dict[int, str]] = field(default_factory=dict)
    """For a message, what is said in the place of which of its images."""

    def settle(self) -> None:
        """Let the oldest go where a limit is passed."""
        few, most, most_bytes = self.limits.few_images, self.limits.max_images, self.limits.max_request_bytes
        if few is not None and len(self.images) > few and (large := [i for i in self.images if i.is_large]):
            self.images = deque(image for image in self.images if not image.is_large)
            for image in large:
                self._drop(image, TOO_LARGE)
        if most is not None and len(self.images) > most:
            kept = max(1, int(most * _KEPT))
            while len(self.images) > kept:
                self._drop(self.images.popleft(), TOO_MANY)
        if most_bytes is not None and self.size > most_bytes:
            while self.size > most_bytes * _KEPT and self.images:
                self._drop(self.images.popleft(), TOO_MANY)

    def _drop(self, image: _Sent, words: str) -> None:
        self.size -= image.size
        self.gone.setdefault(image.at, {})[image.number] = words


def apply(request: Request, context: Context) -> tuple[Request, list[Change]]:
    """The request without the oldest images where there are too many, and one change a message for it."""
    limits, messages = context.limits.images, request.messages
    if limits.max_images is None and limits.max_request_bytes is None:
        return request, []
    keys = context.dialect.TRAITS.content_keys
    key = keys[0]
    listed = [at for at, m in enumerate(messages) if m.__class__ is not dict or m.get(key).__class__ is not str]
    found = {at: images for at in listed if (images := _pictures(_shown(messages[at], context), keys))}
    if not found:
        return request, []
    shown: list[Any] = [_shown(native, context) for native in messages]
    tally = _Tally(limits)
    many = limits.few_images is not None and sum(map(len, found.values())) > limits.few_images
    weigh = _weight if limits.max_request_bytes is not None else lambda _: 0
    tally.size = weigh(request.system) + weigh(request.tools)
    for at, native in enumerate(shown):
        payloads = [image.payload for image in found.get(at, ())]
        tally.size += weigh(native) + sum(p.text_size for p in payloads if p and isinstance(p.data, bytes))
        tally.images.extend(
            _Sent(at, number, payload.text_size if payload else 0, many and _is_large(payload, limits))
            for number, payload in enumerate(payloads)
        )
        tally.settle()
    out, changes = _told(messages, tally.gone, context)
    return (request if out is messages else replace(request, messages=out)), changes


def _is_large(payload: Payload | None, limits: ImageLimits) -> bool:
    """Whether an image has longer sides than a request of many images may hold."""
    return payload is not None and limits.max_side is not None and max(payload.probe().shown) > limits.max_side


def _shown(native: object, context: Context) -> object:
    """A message as a dict; one that is an object is read only where it may hold an image."""
    if native.__class__ is dict:
        return native
    content = getattr(native, "content", None)
    if content.__class__ is list:
        return context.dialect.read(native).extra
    return {"content": content, "tool_calls": getattr(native, "tool_calls", None)}


def _pictures(holder: Any, keys: tuple[str, ...]) -> list[Picture]:  # noqa: ANN401 - anything may stand here
    """The images in a message, or in a tool result, in order."""
    found: list[Picture] = []
    for key in keys if isinstance(holder, dict) else ():
        parts = holder.get(key)
        for part in parts if isinstance(parts, list) else (parts,):
            if not isinstance(part, dict) or _is_wordy(part):
                continue
            if (image := picture(part)) is not None:
                found.append(image)
                continue
            for name, inside in _INSIDE.items():
                held = part if part.get("type") == name else part.get(name)
                if held is not None:
                    found += _pictures(held, (inside,))
    return found


def _is_wordy(part: dict[str, Any]) -> bool:
    """Whether one look tells that a part is no image and holds none, as it does of nearly all."""
    if part.get("text").__class__ is str or "functionCall" in part:
        return True
    kind = part.get("type")
    if kind == "tool_result":
        return part.get("content").__class__ is str
    return kind.__class__ is str and kind in _WORDY


def _weight(value: object) -> int:
    """About how many bytes a value takes in the request, but for raw bytes; a text is measured, not read."""
    return _weight_inside((value,), set())


def _weight_inside(values: Iterable[object], around: set[int]) -> int:
    """The weight of values; ``around`` are the ids of the containers they are in. A container in itself is skipped."""
    weight = 0
    for value in values:
        if isinstance(value, str):
            weight += (len(value) if value.isascii() else len(value) * 3) + 6
        elif isinstance(value, dict | list) and len(around) < _DEEP:
            if id(value) not in around:
                around.add(id(value))
                weight += _weight_inside(value, around)
                weight += _weight_inside(value.values(), around) if isinstance(value, dict) else 0
                around.remove(id(value))
        elif value is not None and not isinstance(value, bool):
            weight += _weight_inside(jsontext.strings(value), around)
    return weight


def _told(messages: list[Any], gone: dict[int, dict[int, str]], context: Context) -> tuple[list[Any], list[Change]]:
    allowed = context.policy.allow >= Effect.DROPS
    signed = _last_signed(messages, context) if gone else -1
    out, changes = list(messages), list[Change]()
    for at, texts in sorted(gone.items()):
        becomes = _without(messages[at], texts, context)
        counts = Counter(texts.values())
        why = "; ".join(_WHY[text].format(counts[text]) for text in (TOO_MANY, TOO_LARGE) if counts[text])
        changes.append(
            Change(
                CODE, NAME, Effect.DROPS, at, why, (out[at],), (becomes if allowed else out[at],), None, at,
                applied=allowed, invalidates_thinking=allowed and at <= signed,
            )
        )  # fmt: skip
        out[at] = becomes
    return (out, changes) if gone and allowed else (messages, changes)


def _last_signed(messages: list[Any], context: Context) -> int:
    """The last message with a signed thinking block; -1 where there is none."""
    for at in range(len(messages) - 1, -1, -1):
        if is_signed(context.dialect.read(messages[at]).parts):
            return at
    return -1


def _without(native: object, texts: dict[int, str], context: Context) -> object:
    """A message with texts in the places of some of its images."""
    numbers = count()

    def mend(part: Media, role: str) -> Mended | None:
        if picture(part.extra) is None or (text := texts.get(next(numbers))) is None:
            return None
        return Mended((Text(text, told(part.extra, text)),), "", Effect.DROPS)

    message = context.dialect.read(native)
    return context.dialect.write(replace(message, parts=Walk(mend, Effect.DROPS).parts(message.parts, message.role)))


def _holds(message: Message) -> bool:
    return bool(_pictures(message.extra, ("content", "output", "parts")))


RULE = RequestRule(CODE, NAME, apply, _holds)
