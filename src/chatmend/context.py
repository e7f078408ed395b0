"""The context of a repair, which every rule can access."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from chatmend.policy import DEFAULT, Policy

if TYPE_CHECKING:
    from chatmend.dialects import Dialect, Traits
    from chatmend.images.recompressor import Recompressor
    from chatmend.targets.limits import Limits
    from chatmend.transcript import Message


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

    def accepted_types(self, message: Message) -> frozenset[str] | None:
        """Return the types of parts that the target accepts in a message; None: any type."""
        limits = self.limits
        if self.traits.types_by_role:
            known = limits.said_types if message.is_assistant else limits.block_types
            return None if known is None else known - self.traits.result_only_types
        return limits.accepted_part_types(message.role)
