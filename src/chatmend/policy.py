"""The choices that only the caller can make, and the combinations that people ask for by name."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from chatmend.changes import Effect
from chatmend.errors import PolicyError
from chatmend.targets.image_limits import ImageLimits

if TYPE_CHECKING:
    from chatmend.targets import Limits

CHOICES: dict[str, tuple[object, ...]] = {
    "turns": ("merge", "insert"),
    "alternation": ("needed", "always"),
    "system": ("inline", "hoist"),
    "late_results": ("note", "move"),
    "orphans": ("note", "drop"),
    "duplicates": ("results", "messages"),
    "rules": ("all", "hygiene"),
    "images": ("fit", "native", "off"),
    "image_notes": (False, True),
}
"""The values of each field; those of ``allow`` are effects."""


@dataclass(frozen=True, slots=True)
class Policy:
    """How to repair where there is more than one way. The defaults lose nothing and keep what was sent.

    Raises:
        PolicyError: a field holds a value that does not exist.
    """

    turns: str = "merge"
    """Neighbours of one role: ``merge`` them (nobody is made to say anything), or ``insert`` a synthetic message."""
    alternation: str = "needed"
    """Alternate roles where the target needs it, or ``always``."""
    system: str = "inline"
    """A system message in mid-conversation: ``inline`` (told in place: the prompt's first bytes stay), or ``hoist``."""
    late_results: str = "note"
    """A result that comes after its call's window: a ``note`` where it stands (its call was answered by a placeholder
    that was sent), or ``move`` it to its call, for offline repair, where nothing was sent."""
    orphans: str = "note"
    """A result without a call: a ``note``, so that nothing is lost, or ``drop``, for hostile input."""
    duplicates: str = "results"
    """Also drop a message that repeats its neighbour word for word (``messages``), or only look at ``results``."""
    rules: str = "all"
    """``all`` rules that the target's limits call for, or only the ``hygiene`` that agent gateways apply to it."""
    images: str = "fit"
    """Images: ``fit`` (only what would be refused or misread is recompressed), ``native`` (each is given
    exactly the size that the model sees, for work with coordinates), or ``off``."""
    image_notes: bool = False
    """Say behind an image that was scaled by which factor, for work with coordinates."""
    allow: Effect = Effect.DROPS
    """The worst effect permitted; what would need more is left as it is, and reported."""

    def __post_init__(self) -> None:
        """Refuse values that do not exist."""
        for field, choices in CHOICES.items():
            if getattr(self, field) not in choices:
                message = f"{field}={getattr(self, field)!r}: choose one of {', '.join(map(repr, choices))}"
                raise PolicyError(message)
        if self.allow not in tuple(Effect):
            known = ", ".join(f"Effect.{effect.name}" for effect in Effect)
            message = f"allow={self.allow!r}: choose one of {known} (from chatmend import Effect)"
            raise PolicyError(message)

    @classmethod
    def strict_alternation(cls) -> Policy:
        """User and assistant in turn, synthetic messages between neighbours, one system message at the front."""
        return cls(turns="insert", alternation="always", system="hoist")

    @classmethod
    def provider_hygiene(cls) -> Policy:
        """What agent gateways do per provider, and no more; see ``hygiene`` in the targets' tables."""
        return cls(rules="hygiene", system="hoist")

    @classmethod
    def drop_instead_of_note(cls) -> Policy:
        """Results without a call are dropped: for input that an attacker may have written."""
        return cls(orphans="drop")

    @classmethod
    def offline(cls) -> Policy:
        """For stored conversations that nobody continues: late results return to their calls, repeats are dropped."""
        return cls(late_results="move", duplicates="messages")

    def apply(self, limits: Limits) -> Limits:
        """The limits as this policy tightens them."""
        changes: dict[str, Any] = {}
        if self.alternation == "always":
            changes |= {"alternation": True, "first_user": True, "pairing": True, "folds_turns": False}
        if self.system == "hoist" and limits.system in ("anywhere", "leading", "after-user", "not-after-reply"):
            changes["system"] = (
                "first" if self.alternation == "always" or limits.system != "anywhere" else limits.system
            )
        if self.images != "fit":
            images = ImageLimits() if self.images == "off" else replace(limits.images, native=True)
            changes["images"] = images
        return replace(limits, **changes) if changes else limits


NAMES = ("strict_alternation", "provider_hygiene", "drop_instead_of_note", "offline")
"""The policies that can be named."""


def named(policy: object) -> Policy | None:
    """Return the policy that is meant: a ``Policy``, the name of one, its fields, or None for the default.

    >>> named("offline") == Policy.offline() == named({"late_results": "move", "duplicates": "messages"})
    True

    Args:
        policy: in fields, ``allow`` may be the name of an effect, such as ``"reshapes"``.

    Raises:
        PolicyError: a name, a field or a value that does not exist; something else than a policy.
    """
    if policy is None or isinstance(policy, Policy):
        return policy
    if isinstance(policy, str) and policy in NAMES:
        found: Policy = getattr(Policy, policy)()
        return found
    if not isinstance(policy, dict):
        shown = repr(policy) if isinstance(policy, str) else f"a value of type {type(policy).__name__}"
        message = f"policy: {shown} is no policy; pass a chatmend.Policy, one of {', '.join(NAMES)}, or its fields"
        raise PolicyError(message)
    known = [field.name for field in fields(Policy)]
    if unknown := [key for key in policy if key not in known]:
        message = f"policy: no field {unknown[0]!r}; there are {', '.join(known)}"
        raise PolicyError(message)
    return Policy(**{**policy, "allow": _effect(policy["allow"])} if "allow" in policy else policy)


def described(policy: Policy | None) -> str:
    """Return the name of a policy, or the fields in which it differs from the default.

    >>> described(None), described(Policy.offline()), described(Policy(orphans="drop", images="off"))
    ('default', 'offline', 'orphans=drop images=off')
    """
    if policy is None or policy == Policy():
        return "default"
    for name in NAMES:
        if policy == named(name):
            return name
    differing = [field.name for field in fields(Policy) if getattr(policy, field.name) != field.default]
    told = {name: getattr(policy, name) for name in differing}
    if "allow" in told:
        told["allow"] = policy.allow.name.lower()
    return " ".join(f"{name}={value}" for name, value in told.items())


def _effect(value: object) -> Effect:
    try:
        return value if isinstance(value, Effect) else Effect[str(value).upper()]
    except KeyError:
        known = ", ".join(effect.name.lower() for effect in Effect)
        message = f"allow={value!r}: choose one of {known}"
        raise PolicyError(message) from None
