"""Decides for each request whether it is repaired, reported or passed on, and with which policy.

The decision follows from the model, and from the key, team and tags that LiteLLM has authenticated.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

from chatmend.dialects import DIALECTS
from chatmend.dialects.traits import continues_stored
from chatmend.lesson_store import key_of_conversation
from chatmend.litellm.proxy_metadata import metadata_of
from chatmend.litellm.shared_images import owner_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from chatmend.options import Override, RolloutMode
    from chatmend.policy import Policy

HEADER = "x-chatmend"
"""The request header with which a trusted key chooses ``off`` or ``report`` for one request."""
_BITS = 52
"""Bits of the digest that place a conversation between 0 and 1."""
_STRENGTH: dict[RolloutMode, int] = {"off": 0, "report": 1, "repair": 2}


class Treatment(NamedTuple):
    """What happens to one request."""

    mode: RolloutMode
    policy: Policy | None


OFF = Treatment("off", None)


class Choices(NamedTuple):
    """The options that decide about a request. The first override that matches applies."""

    mode: RolloutMode
    policy: Policy | None
    sample: float
    overrides: tuple[Override, ...]
    trusted_keys: tuple[str, ...]

    def treatment(
        self, call: Mapping[str, Any], names: Sequence[str], messages: Any, key: Any = None
    ) -> Treatment:
        """Return what happens to a request.

        Args:
            call: the arguments of the call.
            names: the names of the model, for the patterns of an override.
            messages: the messages; None if they are not known, as after the answer.
            key: the proxy's ``user_api_key_dict`` of a pass-through request.
        """
        mode, policy, sample = self.mode, self.policy, self.sample
        if self.overrides or self.trusted_keys:
            who = Requester.of(call, key)
            found = next((one for one in self.overrides if who.matches(one, names)), None)
            if found is not None:
                mode = found.mode or mode
                policy = found.policy or policy
                sample = sample if found.sample is None else found.sample
            if matches(who.keys, self.trusted_keys):
                mode = weaker(mode, requested_mode(call))
        if mode == "repair" and sample < 1 and not _is_sampled(sample, call, messages, key):
            mode = "report"
        return Treatment(mode, policy)


class Requester(NamedTuple):
    """Who sends a request, as LiteLLM has authenticated it."""

    keys: tuple[str, ...]
    """Hash and alias of the key."""
    teams: tuple[str, ...]
    """Id and alias of the team."""
    tags: tuple[str, ...]

    @classmethod
    def of(cls, call: Mapping[str, Any], key: Any = None) -> Requester:
        """Read the metadata of a call, or the ``user_api_key_dict`` of a pass-through request."""
        metadata = metadata_of(call) or {}
        key = key or metadata.get("user_api_key_auth")
        own = call.get("litellm_metadata") or call.get("metadata")
        tags = (metadata or (own if isinstance(own, dict) else {})).get("tags")
        held = (getattr(key, name, None) for name in ("metadata", "team_metadata"))
        more = [one.get("tags") for one in held if isinstance(one, dict)]
        return cls(
            _names(getattr(key, "key_alias", None), getattr(key, "api_key", None)),
            _names(getattr(key, "team_id", None), getattr(key, "team_alias", None)),
            tuple(tag for one in (tags, *more) if isinstance(one, list) for tag in _names(*one)),
        )

    def matches(self, override: Override, models: Iterable[str]) -> bool:
        """Return whether an override applies to a request of this requester."""
        lists = (
            (models, override.models),
            (self.keys, override.keys),
            (self.teams, override.teams),
            (self.tags, override.tags),
        )
        return all(not patterns or matches(names, patterns) for names, patterns in lists)


def requested_mode(call: Mapping[str, Any]) -> RolloutMode:
    """Return the mode that the header of a request asks for; ``repair`` if it asks for none."""
    request = call.get("proxy_server_request")
    headers = request.get("headers") if isinstance(request, dict) else None
    asked = str(headers.get(HEADER) or "").lower() if isinstance(headers, dict) else ""
    return "off" if asked == "off" else "report" if asked == "report" else "repair"


def weaker(first: RolloutMode, second: RolloutMode) -> RolloutMode:
    """Return the mode that changes less."""
    return min(first, second, key=_STRENGTH.__getitem__)


def _is_sampled(share: float, call: Mapping[str, Any], messages: Any, key: Any) -> bool:
    """Return whether a conversation is among those to repair.

    It is recognised by its owner and its opening, so all of its requests have the same answer. The
    opening of a conversation that the provider stores is not in its later requests: they are not
    repaired.
    """
    is_stored = any(continues_stored(call, dialect.TRAITS) for dialect in DIALECTS.values())
    if not isinstance(messages, list | tuple) or is_stored:
        return False
    digest = key_of_conversation(owner_of(call, key), messages)
    position: int = int(digest[: _BITS // 4], 16)
    return position < share * (1 << _BITS)


def _names(*values: object) -> tuple[str, ...]:
    return tuple(value for value in values if isinstance(value, str))


def matches(names: Iterable[str], patterns: tuple[str, ...]) -> bool:
    """Return whether one of the names matches one of the patterns."""
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in names)
