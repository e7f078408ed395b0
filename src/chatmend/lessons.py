"""What a provider's refusal teaches about a target, as a value that the next repair gets."""

from __future__ import annotations

import json
import types
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

from chatmend import jsontext
from chatmend.errors import PolicyError
from chatmend.targets.image_limits import ImageLimits
from chatmend.targets.limits import Limits
from chatmend.targets.strictness import IMAGES, OWN_LIMITS, REPLACING, stricter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_LONGEST_EVIDENCE = 500
_DIGEST_LENGTH = 24
_ROLES: frozenset[Any] = frozenset(
    {"system", "developer", "user", "assistant", "tool", "function", "model"}
)
_READS_REASONING_CONTENT = {"reasoning_key": "reasoning_content"}
_PROVEN: dict[tuple[str, object], dict[str, Any]] = {
    ("thinking_with_calls", True): {"thinking": "any"},
    ("reasoning_content", "required"): _READS_REASONING_CONTENT,
    ("reasoning_content", "always"): _READS_REASONING_CONTENT,
}
"""What a lesson proves about other limits, so that the table's values cannot hold.

A server that requires thinking with calls signs none, and accepts a block without a signature. A
server that requires reasoning under a key reads this key.
"""
_IMPLIED: dict[tuple[str, object], dict[str, Any]] = {
    ("blank_is_empty", True): {
        "empty_parts": False,
        "empty_roles": frozenset({"user", "assistant", "system", "developer"}),
    },
}
"""What a lesson shows about other limits: who refuses white space refuses an empty text."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """A limit of a target that its error message has shown, or blocks that it refuses.

    ``react`` returns lessons; pass them to the next ``repair`` of the conversation. A lesson says
    nothing about other targets, and is ignored for them.

    Raises:
        PolicyError: no limit has this name.
    """

    target: str
    """The name of the target, the same as in the repair: ``"anthropic/claude-sonnet-4-5"``."""
    limit: str
    """The name of a limit as in the tables: ``"pairing"``, ``"images.max_side"``, ``"video"``.

    ``refused_blocks`` names blocks by their digests.
    """
    value: object
    """The value of the limit: a string, number, truth value, or tuple of strings."""
    evidence: str = field(default="", compare=False)
    """The error message, shortened. Two lessons with different messages can be equal."""

    def __post_init__(self) -> None:
        """Check the name, and convert lists to tuples, so that a lesson can be hashed."""
        if self.limit not in _types():
            text = f"no limit is named {self.limit!r}: see 'chatmend targets --explain TARGET'"
            raise PolicyError(text)
        if isinstance(self.value, list | tuple | set | frozenset):
            object.__setattr__(self, "value", tuple(sorted(map(str, self.value))))
        object.__setattr__(self, "evidence", self.evidence[:_LONGEST_EVIDENCE])

    def to_dict(self) -> dict[str, Any]:
        """Return the lesson as a dict for JSON; ``from_dict`` reads it."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Lesson:
        """Read a lesson from the dict that ``to_dict`` returned.

        Raises:
            PolicyError: a key is missing, or no limit has this name.
        """
        try:
            return cls(
                stored["target"], stored["limit"], stored["value"], stored.get("evidence", "")
            )
        except (KeyError, TypeError) as error:
            text = f"a lesson has the keys target, limit, value and evidence ({error!r})"
            raise PolicyError(text) from error


def with_lessons(limits: Limits, lessons: Iterable[Lesson], target: str) -> Limits:
    """Return the limits of a target with those that lessons have shown."""
    learnt = tuple(lesson for lesson in lessons if lesson.target == target)
    return _with_lessons(limits, learnt) if learnt else limits


@lru_cache(maxsize=256)
def _with_lessons(limits: Limits, lessons: tuple[Lesson, ...]) -> Limits:
    if limits.roles is None:
        # Rules that need to know the target's roles do nothing for a target without them.
        limits = replace(limits, roles=_ROLES)
    for lesson in lessons:
        limits = _with_lesson(limits, lesson)
    return limits


def _with_lesson(limits: Limits, lesson: Lesson) -> Limits:
    """Return limits that refuse what they refused, and what the lesson shows."""
    value: Any = lesson.value
    if _types()[lesson.limit] is frozenset:
        value = frozenset(value) if isinstance(value, tuple) else frozenset((value,))
    if lesson.limit in OWN_LIMITS:
        value = stricter(lesson.limit, limits.of(lesson.limit), value)
        own = {**dict(limits.own), lesson.limit: value}
        return replace(limits, own=tuple(sorted(own.items())))
    if lesson.limit.startswith(IMAGES):
        name = lesson.limit.removeprefix(IMAGES)
        value = stricter(lesson.limit, getattr(limits.images, name), value)
        return replace(limits, images=replace(limits.images, **{name: value}))
    limits = replace(limits, **_PROVEN.get((lesson.limit, lesson.value), {}))
    for name, implied in _IMPLIED.get((lesson.limit, lesson.value), {}).items():
        limits = replace(limits, **{name: stricter(name, getattr(limits, name), implied)})
    value = stricter(lesson.limit, getattr(limits, lesson.limit), value)
    return replace(limits, **{lesson.limit: value})


def is_proof(lesson: Lesson) -> bool:
    """Return whether a lesson proves that values of the table cannot hold, and replaces them."""
    return lesson.limit in REPLACING or (lesson.limit, lesson.value) in _PROVEN


def is_known(lesson: Lesson, limits: Limits) -> bool:
    """Return whether a target's limits already refuse what a lesson shows."""
    return _with_lesson(limits, lesson) == limits


@lru_cache(maxsize=1)
def _types() -> dict[str, object]:
    """Return the type of each limit by its name; for a choice of types, the one that is a set."""
    found: dict[str, object] = {}
    for prefix, cls in (("", Limits), (IMAGES, ImageLimits)):
        for name, hint in get_type_hints(cls).items():
            options = get_args(hint) if get_origin(hint) is types.UnionType else (hint,)
            is_set = any(get_origin(one) is frozenset for one in options)
            found[prefix + name] = frozenset if is_set else hint
    own = {name: type(strictest) for name, strictest in OWN_LIMITS.items()}
    return {name: hint for name, hint in found.items() if name not in ("images", "own")} | own


def digest_of(block: object) -> str:
    """Return a digest of a content block or item, by which a lesson names it.

    Cache markers do not count, because they move from request to request.
    """
    import hashlib  # noqa: PLC0415 - loads OpenSSL, which only lessons need

    if isinstance(block, dict):
        block = {key: value for key, value in block.items() if key != "cache_control"}
    try:
        text = json.dumps(block, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        text = jsontext.equality_key(block)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_LENGTH]
