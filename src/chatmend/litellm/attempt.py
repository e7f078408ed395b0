"""One attempt: the request for one deployment, repaired from the messages as they came in, on a copy."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from chatmend.dialects import DIALECTS
from chatmend.litellm.conversion import reached
from chatmend.litellm.shapes import CHAT
from chatmend.record import record
from chatmend.repair import is_on, quick_look, repair_request, set_beside

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from chatmend.changes import Change
    from chatmend.litellm.shapes import Shape
    from chatmend.plain import Look
    from chatmend.policy import Policy

MANY = 300
"""From this many messages on, a repair takes long enough to be kept off the event loop."""

_TRAITS = DIALECTS[CHAT.dialect].TRAITS
_MEDIA = ("image", "input_image", "image_url", "inlineData", "inline_data", "file", "document")


@record
class Attempt:
    """What a repair made of a request."""

    target: str
    changes: tuple[Change, ...] = ()
    request: dict[str, Any] | None = None
    """The request as it is sent, a copy; ``None`` where it stays as it is."""


def carries(kwargs: Mapping[str, Any], shape: Shape) -> bool:
    """Whether there is a transcript to look at: a list, or a tuple, which LiteLLM takes as well; a text is none."""
    return isinstance(kwargs.get(shape.field), list | tuple)


def is_plain(kwargs: dict[str, Any], shape: Shape, target: str, policy: Policy | None) -> bool:
    """Whether one quick look at a short chat tells that an attempt changes nothing. ``False`` says nothing.

    Raises:
        TargetError: no table describes the target.
    """
    messages = kwargs[shape.field]
    if policy is not None or shape is not CHAT or messages.__class__ is not list or len(messages) > MANY:
        return False
    tools, thinking = set_beside(kwargs, _TRAITS)
    return _look(target, bool(tools), is_on(thinking))(messages)


@lru_cache(maxsize=1024)
def _look(target: str, tools: bool, thinking: bool) -> Look:  # noqa: FBT001 - positional, as a cache wants them
    return quick_look(reached(target), tools=tools, thinking=thinking)


def is_heavy(messages: Sequence[Any]) -> bool:
    """Whether a repair may take long: many messages, or images, which may have to be recompressed."""
    if len(messages) > MANY:
        return True
    # Most messages are a text, or calls without one: told here, because a call for each costs more than the look.
    for message in messages:
        content = message.get("content") if message.__class__ is dict else ()
        is_text = content.__class__ is str or (content is None and "tool_calls" in message)
        if not is_text and _holds_media(message):
            return True
    return False


def _holds_media(message: Any) -> bool:
    if not isinstance(message, dict):
        return False
    content = message.get("content")
    if isinstance(content, str):
        return False
    content = content or message.get("parts") or message.get("output")
    if not isinstance(content, list):
        return False
    return any(isinstance(part, dict) and _is_media(part) for part in content)


def _is_media(part: dict[str, Any]) -> bool:
    # A tool result holds parts of its own, a browser's screenshot among them.
    if part.get("type") in _MEDIA or any(key in part for key in _MEDIA) or _holds_media(part):
        return True
    return any(_holds_media(part[key]) for key in ("functionResponse", "function_response") if key in part)


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
