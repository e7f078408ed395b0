"""The choices that only the caller can make, and the combinations that people ask for by name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from chatmend.changes import Effect
from chatmend.errors import PolicyError
from chatmend.targets.image_limits import ImageLimits

if TYPE_CHECKING:
    from chatmend.targets import Limits

_CHOICES = {
    "turns": ("merge", "insert"),
    "alternation": ("needed", "always"),
    "system": ("inline", "hoist"),
    "late_results": ("note", "move"),
    "orphans": ("note", "drop"),
    "duplicates": ("results", "messages"),
    "rules": ("all", "hygiene"),
    "images": ("fit", "native", "off"),
}


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
    """Images: ``fit`` (only what would be refused, or is never seen, is recompressed), ``native`` (each is given
    exactly the size that the model sees, for work with coordinates), or ``off``."""
    image_notes: bool = False
    """Say behind an image that was scaled by which factor, for work with coordinates."""
    allow: Effect = Effect.DROPS
    """The worst effect permitted; what would need more is left as it is, and reported."""

    def __post_init__(self) -> None:
        """Refuse values that do not exist."""
        for field, choices in _CHOICES.items():
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
