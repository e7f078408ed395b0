"""One attempt: the request for one deployment, repaired from the messages as they came in, on a copy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chatmend.dialects import DIALECTS
from chatmend.litellm.conversion import reached
from chatmend.litellm.shapes import CHAT
from chatmend.repair import repair_request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatmend.changes import Change
    from chatmend.litellm.shapes import Shape
    from chatmend.policy import Policy

MANY = 300
"""With more messages, calls and parts than this, a repair takes long enough to be kept off the event loop."""
MUCH = 64_000
"""With more characters than this, too."""
_KEY = 16
"""Characters that a key of a dict stands for, whatever it holds."""
_SMALL = frozenset({int, float, bool, type(None)})

_TRAITS = DIALECTS[CHAT.dialect].TRAITS
_MEDIA = frozenset({"image", "input_image", "image_url", "inlineData", "inline_data", "file", "document"})


@dataclass(frozen=True, slots=True)
class Attempt:
    """What a repair made of a request."""

    target: str
    changes: tuple[Change, ...] = ()
    request: dict[str, Any] | None = None
    """The request as it is sent, a copy; ``None`` where it stays as it is."""


def carries(kwargs: Mapping[str, Any], shape: Shape) -> bool:
    """Whether there is a transcript to look at: a list, or a tuple, which LiteLLM takes as well; a text is none."""
    return isinstance(kwargs.get(shape.field), list | tuple)


def is_heavy(messages: Any) -> bool:
    """Whether a repair may take long: many messages, calls and parts, much text, or images to recompress.

    The walk ends where a limit is reached: it takes no longer for a request that is larger still.
    """
    many, much, waiting = MANY, MUCH, [messages]
    for value in waiting:  # which grows
        if value.__class__ is dict:
            much -= _size_of(value, waiting)
        elif value.__class__ is list or value.__class__ is tuple:
            many -= len(value)
            if many >= 0:
                waiting += value
        elif value.__class__ is str:
            much -= len(value)
        elif held := getattr(value, "__dict__", None):  # an object of an SDK
            waiting.append(held)
        if many < 0 or much < 0:
            return True
    return False


def _size_of(value: dict[str, Any], waiting: list[Any]) -> int:
    """The characters of keys and texts in a dict, too many for media; what else it holds waits to be walked through."""
    size = _KEY * len(value)
    if size > MUCH or _is_media(value):
        return MUCH + 1
    for held in value.values():
        if held.__class__ is str:
            size += len(held)
        elif held.__class__ not in _SMALL:
            waiting.append(held)
    return size


def _is_media(part: dict[str, Any]) -> bool:
    kind = part.get("type")
    if kind.__class__ is str and kind in _MEDIA:
        return True
    # Arguments of tools have keys such as "file" as well, with a name in them.
    return not _MEDIA.isdisjoint(part) and any(part.get(key).__class__ is dict for key in _MEDIA)


def attempt(
    kwargs: dict[str, Any], shape: Shape, target: str, policy: Policy | None = None, images: Any = None
) -> Attempt:
    """Repair a request for its target. Nothing of ``kwargs`` is changed.

    Raises:
        TargetError: no table describes the target.
    """
    given = kwargs[shape.field]
    body = {**kwargs, shape.field: list(given)} if isinstance(given, tuple) else kwargs
    done = repair_request(body, reached(target), policy=policy, dialect=shape.dialect, recompressor=images)
    return Attempt(target, done.changes, None if done.body is body else done.body)
