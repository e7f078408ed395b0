"""Checks that a repair keeps what each message counts in the loss of a training."""

from __future__ import annotations

from typing import Any

from chatmend.placeholders import CONTINUED, NO_RESULT

_DETAILS = ("train_detail", "training_detail")
"""Keys with offsets into the text: Axolotl's ``message_field_training_detail``."""
KEYS = ("weight", "train", "training", "loss", *_DETAILS)
"""OpenAI's ``weight``, Axolotl's ``message_field_training``, ``loss`` of ms-swift and XTuner."""
_Mask = tuple[object, ...]


def find_changed_mask(
    before: list[Any], after: list[Any], role_key: str = "role", text_key: str = "content"
) -> str | None:
    """Return why a message, or turn, has lost its mask or has that of another; None if none has."""
    if not any(isinstance(one, dict) and _has_mask(one) for one in before):
        return None
    for old, new in _changed_runs(before, after):
        masks = _masks(old, role_key, text_key)
        if new and any(mask for _, mask in masks) and masks != _masks(new, role_key, text_key):
            names = [key for key in KEYS if any(key in one for one in old)]
            return (
                f"the repair changes which text is learnt ({', '.join(names)}): it joins messages "
                "with different values, or changes a message that has them"
            )
    return None


def _has_mask(message: dict[str, Any]) -> bool:
    return any(message.get(key) is not None for key in KEYS)


def _changed_runs(before: list[Any], after: list[Any]) -> list[tuple[list[Any], list[Any]]]:
    """Return the changed messages between each two that are unchanged, before and after."""
    positions = {id(one): at for at, one in enumerate(before)}
    kept = positions.keys() & {id(one) for one in after}
    unchanged = [at for at, one in enumerate(after) if id(one) in kept]
    runs: list[tuple[list[Any], list[Any]]] = []
    start = old_start = 0
    for stop in [*unchanged, len(after)]:
        old_stop = positions[id(after[stop])] if stop < len(after) else len(before)
        old = [one for one in before[old_start:old_stop] if id(one) not in kept]
        runs.append((old, after[start:stop]))
        start, old_start = stop + 1, max(old_start, old_stop + 1)
    return runs


def _masks(messages: list[Any], role_key: str, text_key: str) -> list[tuple[str, _Mask]]:
    """Return the roles with their masks; neighbours that are equal count once."""
    found: list[tuple[str, _Mask]] = []
    for message in messages:
        if not isinstance(message, dict) or message.get(text_key) in (CONTINUED, NO_RESULT):
            continue
        mask: _Mask = tuple((k, message[k]) for k in KEYS if message.get(k) is not None)
        if any(message.get(key) is not None for key in _DETAILS):
            mask = (*mask, message.get(text_key))  # offsets hold only for this text
        entry = (str(message.get(role_key)), mask)
        if not found or found[-1] != entry:
            found.append(entry)
    return found
