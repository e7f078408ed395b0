"""What holds for a whole request, and every rule may ask for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from chatmend.policy import Policy

if TYPE_CHECKING:
    from chatmend.dialects import Dialect, Traits
    from chatmend.images.recompressor import Recompressor
    from chatmend.targets.limits import Limits

_DEFAULT = Policy()


@dataclass(frozen=True, slots=True)
class Context:
    """What holds for the whole request: the limits, as its target, the caller and what stands beside make them."""

    limits: Limits
    dialect: Dialect
    policy: Policy = _DEFAULT
    recompressor: Recompressor | None = None
    """What recompresses images; None: the one that the process shares."""

    @property
    def traits(self) -> Traits:
        """How the dialect arranges what every dialect has."""
        return self.dialect.TRAITS
