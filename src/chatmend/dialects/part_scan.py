"""The scan of a list of content parts, the same for every dialect that has such lists."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from chatmend.dialects.content import TEXTS, file_id
from chatmend.dialects.image_scan import image_scanner
from chatmend.dialects.pictures import is_held
from chatmend.dialects.thinking_scan import KINDS, thinking_check
from chatmend.jsontext import is_sound, is_sound_value
from chatmend.windows import Symptom

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmend.targets.limits import Limits

_TEXT = frozenset({"type", "text"})
_SAID = frozenset({"tool_use", "tool_result", *KINDS})


def part_scanner(limits: Limits, known: frozenset[str] | None, *, told: bool = False) -> Callable[[list[Any]], int]:
    """A function that looks at a content list and returns its symptoms; ``known`` are the types not worth a look.

    ``told``: the lists are those of tool results, in which there is neither thinking nor a call.
    """
    known = known and (known - _SAID if told else known)
    scan_image, is_clean_thinking = image_scanner(limits), thinking_check(limits)
    held = re.compile(limits.file_references).search if limits.file_references else None
    apart = not limits.adjacent_thinking

    def scan_parts(parts: list[Any]) -> int:
        mask, thinks = 0 if parts else Symptom.EMPTY, False
        for part in parts:
            thought, thinks = thinks, False
            if part.__class__ is not dict:
                mask |= Symptom.PART | Symptom.SURROGATE | Symptom.EMPTY
                continue
            kind, text = part.get("type"), part.get("text")
            if kind.__class__ is str and kind in TEXTS and text.__class__ is str:
                if not text.isascii() and not is_sound(text):
                    mask |= Symptom.SURROGATE
                if not text or text.isspace():
                    mask |= Symptom.EMPTY
                if len(part) > 2 and not _TEXT.issuperset(part):  # noqa: PLR2004 - type and text
                    mask |= Symptom.MARKERS if "cache_control" in part else 0
                    mask |= 0 if is_sound_value(part) else Symptom.SURROGATE
                if known is not None and kind not in known:
                    mask |= Symptom.PART
                continue
            mask |= scan_image(part)
            mask |= Symptom.MARKERS if "cache_control" in part else 0
            if kind.__class__ is str and kind in KINDS:
                thinks = True
                clean = is_clean_thinking(part) and not (thought and apart)
                mask |= Symptom.SIGNED if clean else Symptom.SIGNED | Symptom.THINKING
            else:
                mask |= Symptom.LADEN
            if (
                not isinstance(kind, str)
                or not kind
                or kind in TEXTS
                or (known is not None and kind not in known)
                or (kind in ("image_url", "image") and not is_held(part))
                or (kind == "image" and part.get("source").__class__ is not dict)
                or (held is not None and (name := file_id(part)) is not None and not held(name))
            ):
                mask |= Symptom.PART
            if not is_sound_value(part):
                mask |= Symptom.SURROGATE
        return mask

    return scan_parts
