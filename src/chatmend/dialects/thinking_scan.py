"""The scan of thinking: is it what the target takes back, spelled as the target spells it?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmend.targets.limits import Limits

KINDS = frozenset({"thinking", "redacted_thinking", "reasoning"})
"""Types of content parts that hold thinking."""
_PROOFS = {"thinking": ("thinking", "signature"), "redacted_thinking": ("data", "data")}
"""For a type of block the keys of its words and of the proof that it is signed with."""
_FOREIGN = ("gAAAA", "rs_", "msg_", "{")
"""How other providers' proofs begin: OpenAI's encrypted reasoning and item ids, JSON."""


def is_thinking(part: Any) -> bool:  # noqa: ANN401 - anything may stand here
    """Whether a content part holds thinking."""
    if part.__class__ is not dict:
        return False
    kind = part.get("type")
    return kind.__class__ is str and kind in KINDS


def is_worded(block: dict[str, Any]) -> bool:
    """Whether a block of thinking holds a text, or as Mistral's a list, as each does that a model wrote."""
    return block.get("type") != "thinking" or isinstance(block.get("thinking"), str | list)


def can_be_proof(signature: str | None) -> bool:
    """Whether a value can be the signature of a thinking block, or the data of a redacted one."""
    return signature is not None and bool(signature.strip()) and not signature.startswith(_FOREIGN)


def thinking_check(limits: Limits) -> Callable[[Any], bool]:
    """A function that says of a block in what the model wrote whether no rule about thinking would change it."""
    mode = limits.thinking

    def is_clean(block: Any) -> bool:  # noqa: ANN401 - anything may stand here
        if mode == "refused" or block.__class__ is not dict or "cache_control" in block:
            return False
        if mode == "any":
            return is_worded(block)
        kind = block.get("type")
        if kind.__class__ is not str or kind not in _PROOFS:
            return False
        words, proof = _PROOFS[kind]
        signature = block.get(proof)
        return block.get(words).__class__ is str and signature.__class__ is str and can_be_proof(signature)

    return is_clean
