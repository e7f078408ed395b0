"""One attempt: a repaired copy of the original request, for one deployment."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from chatmend.litellm import injection_points
from chatmend.litellm.conversion import target_through_litellm
from chatmend.litellm.shapes import RESPONSES
from chatmend.reaction import react
from chatmend.repair import repair_request
from chatmend.thinking_parameter import drops_blocks, with_binding_beta

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatmend.changes import Change
    from chatmend.lessons import Lesson
    from chatmend.litellm.call_memories import AddedTurn
    from chatmend.litellm.shapes import Shape
    from chatmend.options import RolloutMode
    from chatmend.session_memory import SessionMemory

MAX_ITEMS = 300
"""Requests with more messages, calls and parts are repaired in a thread, not on the event loop."""
MAX_CHARACTERS = 64_000
"""Requests with more characters are also repaired in a thread."""
_KEY_SIZE = 16
"""Characters that each key of a dict counts for, in addition to the text in its value."""
_BETA_HEADER = "anthropic-beta"
_SMALL = frozenset({int, float, bool, type(None)})
_MEDIA = frozenset(
    {"image", "input_image", "image_url", "inlineData", "inline_data", "file", "document"}
)


class Attempt(NamedTuple):
    """The result of repairing one request."""

    target: str
    changes: tuple[Change, ...] = ()
    mode: RolloutMode = "repair"
    """``report`` if the original is sent although there are changes."""
    seconds: float = 0
    """The duration of the repair."""
    request: dict[str, Any] | None = None
    """A repaired copy of the request; ``None`` if the original is sent."""
    memory: SessionMemory | None = None
    """What was sent in this conversation, if it is kept."""
    added: AddedTurn | None = None
    """This request in the memory of its conversation."""


def has_transcript(kwargs: Mapping[str, Any], shape: Shape) -> bool:
    """Whether the messages are a list or a tuple, which LiteLLM also accepts; not a string."""
    return isinstance(kwargs.get(shape.field), list | tuple)


def positional_arguments(kwargs: Mapping[str, Any], shape: Shape) -> list[str]:
    """Return what the caller passed by position and a hook cannot handle.

    No hook can replace messages that it does not get. Older versions of LiteLLM also have no record
    of the call when the hook runs, which would name the model.
    """
    if "litellm_logging_obj" not in kwargs:
        return [name for name in ("model", shape.field) if name not in kwargs]
    logged = getattr(kwargs["litellm_logging_obj"], "messages", None)
    hidden = shape.field not in kwargs and isinstance(logged, list) and bool(logged)
    return [shape.field] if hidden else []


def is_heavy(messages: Any) -> bool:
    """Whether a repair can take long: many messages, calls and parts, long texts, or media.

    The walk stops at the first limit that is exceeded, so its duration is bounded.
    """
    items_left, characters_left, waiting = MAX_ITEMS, MAX_CHARACTERS, [messages]
    for value in waiting:  # the loop appends to this list
        if value.__class__ is dict:
            role, text = value.get("role"), value.get("content")
            if len(value) == 2 and role.__class__ is str and text.__class__ is str:  # noqa: PLR2004
                characters_left -= 2 * _KEY_SIZE + len(role) + len(text)  # most messages
            else:
                characters_left -= _size_of(value, waiting)
        elif value.__class__ is list or value.__class__ is tuple:
            items_left -= len(value)
            if items_left >= 0:
                waiting += value
        elif value.__class__ is str:
            characters_left -= len(value)
        elif held := getattr(value, "__dict__", None):  # an SDK object
            waiting.append(held)
        if items_left < 0 or characters_left < 0:
            return True
    return False


def _size_of(value: dict[str, Any], waiting: list[Any]) -> int:
    """Return the characters in a dict, or more than the limit if it is media.

    Containers among its values are appended to ``waiting``.
    """
    size = _KEY_SIZE * len(value)
    if size > MAX_CHARACTERS or _is_media(value):
        return MAX_CHARACTERS + 1
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
    # Arguments of tools also have keys such as "file", but their values are names.
    return not _MEDIA.isdisjoint(part) and any(part.get(key).__class__ is dict for key in _MEDIA)


def repair_attempt(
    kwargs: dict[str, Any],
    shape: Shape,
    target: str,
    mode: RolloutMode = "repair",
    **options: Any,
) -> Attempt:
    """Repair a request for its target. ``kwargs`` is not changed.

    ``mode`` is only noted in the result. ``options`` are ``policy``, ``recompressor``, ``lessons``
    and ``memory`` as in ``repair_request``.

    Raises:
        TargetError: no table describes the target.
    """
    started = perf_counter()
    messages = kwargs[shape.field]
    body = {**kwargs, shape.field: list(messages)} if isinstance(messages, tuple) else kwargs
    done = repair_request(body, target_through_litellm(target), dialect=shape.dialect, **options)
    request = None if done.body is body else _outgoing(body, done.body, shape)
    return Attempt(target, done.changes, mode, perf_counter() - started, request, done.memory)


def _outgoing(body: dict[str, Any], request: dict[str, Any], shape: Shape) -> dict[str, Any]:
    """Return a repaired request with what LiteLLM needs for the repairs that were made."""
    if shape is RESPONSES and request.get("reasoning") != body.get("reasoning"):
        # LiteLLM 1.82 fails on {"effort": "none"}; without the key, thinking is disabled as well.
        request = {key: value for key, value in request.items() if key != "reasoning"}
    if drops_blocks(request.get("thinking")) and request["thinking"] is not body.get("thinking"):
        request = {**request, "extra_headers": _with_beta(request.get("extra_headers"))}
    if injection_points.KEY in request:
        points = request[injection_points.KEY]
        moved = injection_points.move_points(points, body[shape.field], request[shape.field])
        request = request if moved is points else {**request, injection_points.KEY: moved}
    return request


def _with_beta(headers: Any) -> dict[str, Any]:
    """Return the headers of a request with the beta feature that ``block_binding`` needs."""
    given = headers if isinstance(headers, dict) else {}
    name = next((key for key in given if key.lower() == _BETA_HEADER), _BETA_HEADER)
    return {**given, name: with_binding_beta(str(given.get(name) or ""))}


def lesson_of(
    sent: dict[str, Any],
    shape: Shape,
    target: str,
    error: Exception,
    **options: Any,
) -> Lesson | None:
    """Return what a refusal of a sent request shows; None if no other repair would help.

    ``options`` are ``policy`` and ``lessons`` as in ``chatmend.react``.

    Raises:
        TargetError: no table describes the target.
    """
    reaction = react(sent, target_through_litellm(target), error, dialect=shape.dialect, **options)
    return None if reaction is None else reaction.lesson
