"""The context of a repair, which every rule can access."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from chatmend.policy import DEFAULT, Policy

if TYPE_CHECKING:
    from chatmend.dialects import Dialect, Traits
    from chatmend.images.recompressor import Recompressor
    from chatmend.targets.limits import Limits


@dataclass(frozen=True, slots=True)
class Context:
    """What applies to a whole request.

    ``limits`` are those of the target, adjusted by the policy and the request parameters.
    """

    limits: Limits
    dialect: Dialect
    policy: Policy = DEFAULT
    recompressor: Recompressor | None = None
    """Recompresses images; ``None`` selects the recompressor that the process shares."""

    @property
    def traits(self) -> Traits:
        """The traits of the dialect."""
        return self.dialect.TRAITS
