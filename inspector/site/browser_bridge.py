"""Connects the worker of the static page with chatmend; the browser encodes the images."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

from chatmend.images import Outcome
from chatmend.inspect import answer

if TYPE_CHECKING:
    from chatmend.images.facts import Probe
    from chatmend.images.payload import Payload
    from chatmend.images.plan import Plan

_MOST_KEPT = 64
"""Encoded images that are kept for further questions."""
_wanted: dict[str, dict[str, Any]] = {}
_images: dict[str, bytes] = {}
_encoded: dict[str, Outcome] = {}


def _recompress(payload: Payload, probe: Probe, plan: Plan) -> Outcome:
    """Return the image that the browser encoded, or note that it is wanted."""
    del probe
    key = f"{payload.key().hex()} {plan.size} {plan.max_bytes} {sorted(plan.types)}"
    if key not in _encoded:
        try:
            _images[key] = payload.decode()
        except ValueError:
            return Outcome(problem="the data is no base64")
        _wanted[key] = {
            "key": key,
            "size": list(plan.size),
            "types": sorted(plan.types),
            "max_bytes": plan.max_bytes,
        }
        return Outcome(problem="not encoded yet", undecoded=True)
    return _encoded[key]


def _draw(data: bytes, _kind: str) -> str | None:
    """Return a small picture that the browser drew, or note that it is wanted."""
    key = f"small {hash(data)} {len(data)}"
    if key not in _encoded:
        _images[key] = data
        _wanted[key] = {"key": key}
        return None
    outcome = _encoded[key]
    return None if outcome.text is None else f"data:image/{outcome.type};base64,{outcome.text}"


def ask(question: str) -> str:
    """Return the answer as JSON, or the images that the browser must encode first."""
    _wanted.clear()
    _images.clear()
    told = answer(json.loads(question), recompressor=_recompress, draw=_draw)  # type: ignore[arg-type]
    if _wanted:
        return json.dumps({"wanted": list(_wanted.values())})
    return json.dumps({"answer": told})


def image(key: str) -> bytes:
    """Return the bytes of an image that is wanted."""
    return _images.pop(key)


def put(key: str, data: Any, kind: str, width: int, height: int, problem: str) -> None:  # noqa: ANN401, PLR0913 - called from JavaScript
    """Store an encoded image, or the reason why there is none."""
    while len(_encoded) >= _MOST_KEPT:
        del _encoded[next(iter(_encoded))]
    text = base64.b64encode(bytes(data.to_py())).decode("ascii")
    _encoded[key] = (
        Outcome(problem=problem, undecoded=True)
        if problem
        else Outcome(text, kind, (width, height))
    )
