"""A text that contains the marker of llama.cpp for an image.

llama.cpp replaces each image by ``<__media__>`` before it tokenizes the prompt; newer versions use
a random marker such as ``<__media_a80swKMuUnVpYQZyaYfMSMBaOnKeolY8__>``, which ``/props`` shows. A
text that quotes a marker, for example the source or the answer of the server, counts as an image.

Why: ``Failed to tokenize prompt`` (llama.cpp with a vision model, which logs ``number of media
markers in text (1) exceeds number of bitmaps (0)``). Every later request is refused.

Repair: After a refusal, `react` writes the marker with a space: ``< __media__>``. Models without
vision accept it, so it is unchanged before. Only a refusal shows the limit `media_markers`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from chatmend import jsontext
from chatmend.changes import Effect, Fix
from chatmend.rules.rule import STRUCTURE, Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.sketch import WindowSketch
    from chatmend.targets.limits import Limits
    from chatmend.windows import Memory, Window

_LIMIT = "media_markers"
_MARKER = re.compile(r"<(?=__media(?:_[A-Za-z0-9]{1,64})?__>)")


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for messages with a marker in a text, if the target has refused one."""
    if context.limits.of(_LIMIT) is not False:
        return
    for at, message in enumerate(window.messages):
        native = message.extra or message.raw_string
        if jsontext.is_too_deep(native) or not any(map(_MARKER.search, jsontext.strings(native))):
            continue
        why = "a text contains the marker with which the server replaces images"
        yield Fix(at, at + 1, (context.dialect.read(_spaced(native)),), why, Effect.DEGRADES)


def _spaced(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return a value with a space in each marker; its depth is limited."""
    if isinstance(value, str):
        return _MARKER.sub("< ", value)
    if isinstance(value, list):
        return [_spaced(item) for item in value]
    return {key: _spaced(item) for key, item in value.items()} if isinstance(value, dict) else value


def _watch(limits: Limits, traits: Traits) -> Callable[[WindowSketch], bool] | None:
    return (lambda _: True) if limits.of(_LIMIT) is False else None


RULE = Rule(
    "TEXT005",
    "media-marker",
    find,
    STRUCTURE,
    watches=_watch,
    own_limits={_LIMIT: bool},
)
