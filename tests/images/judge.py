"""Decides what a provider would accept, with Pillow and facts written down here; it imports nothing of chatmend.

The facts are those of the providers' documents and recorded refusals; see the sources in the targets' tables.
"""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from PIL import Image

if TYPE_CHECKING:
    from collections.abc import Iterator

USUAL = frozenset({"JPEG", "PNG", "GIF", "WEBP"})
PLAIN = frozenset({"JPEG", "PNG"})
_MIME = {"JPEG": "image/jpeg", "PNG": "image/png", "GIF": "image/gif", "WEBP": "image/webp"}


@dataclass(frozen=True)
class Facts:
    """What one provider takes."""

    types: frozenset[str] | None = USUAL
    base64_bytes: int | None = None
    side: int | None = None
    stills: bool = False
    label: bool = False
    in_results: bool = True
    vision: bool = True
    most: int | None = None


ANTHROPIC = Facts(base64_bytes=10 << 20, side=2000, label=True, most=100)
OPENAI = Facts(base64_bytes=20 << 20, stills=True, label=True, most=1500)
FACTS = {
    "anthropic/claude-sonnet-4-5": ANTHROPIC,
    "anthropic/claude-opus-4-8": ANTHROPIC,
    "vertex_ai/claude-sonnet-4-5": Facts(base64_bytes=5 << 20, side=2000, label=True, most=100),
    "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0": Facts(
        base64_bytes=5 << 20, side=2000, label=True
    ),
    "bedrock/us.amazon.nova-pro-v1:0": Facts(base64_bytes=5 << 20, side=8000),
    "openai/gpt-4o": Facts(base64_bytes=20 << 20, stills=True, in_results=False),
    "openai/gpt-4.1": OPENAI,
    "openai/gpt-5.6": OPENAI,
    "azure/gpt-4o": Facts(base64_bytes=20 << 20, stills=True, in_results=False),
    "gemini/gemini-2.5-flash": Facts(types=frozenset({"JPEG", "PNG", "WEBP"}), in_results=False),
    "gemini/gemini-3-pro-preview": Facts(types=frozenset({"JPEG", "PNG", "WEBP"})),
    "vertex_ai/gemini-2.5-pro": Facts(
        types=frozenset({"JPEG", "PNG", "WEBP"}), base64_bytes=7_000_000, in_results=False
    ),
    "mistral/mistral-medium-latest": Facts(
        base64_bytes=10_000_000, side=10000, stills=True, most=8
    ),
    "groq/meta-llama/llama-4-scout": Facts(base64_bytes=4_000_000, most=5),
    "xai/grok-4": Facts(types=PLAIN, base64_bytes=20 << 20),
    "cohere/command-a-vision": Facts(stills=True, in_results=False, most=20),
    "dashscope/qwen-vl-max": Facts(types=None, base64_bytes=10 << 20),
    "zai/glm-4.6v": Facts(types=PLAIN, base64_bytes=5 << 20, side=6000),
    "openrouter/google/gemini-2.5-pro": Facts(base64_bytes=5 << 20, side=2000),
    "ollama/llava": Facts(types=PLAIN),
    "deepseek/deepseek-chat": Facts(vision=False),
    "github_copilot/gpt-4.1": Facts(base64_bytes=5_000_000, side=2000),
    "strict": Facts(
        types=PLAIN,
        base64_bytes=5 << 20,
        side=2000,
        stills=True,
        label=True,
        in_results=False,
        most=20,
    ),
}


def refusals(messages: list[Any], facts: Facts) -> list[str]:
    """Every reason to refuse the images of a request."""
    found = list(_images(messages))
    reasons = [f"{len(found)} images"] if facts.most and len(found) > facts.most else []
    for role, label, data in found:
        if not facts.vision:
            reasons.append("an image for a model without vision")
        elif role == "tool" and not facts.in_results:
            reasons.append("an image in a tool result")
        reasons += _wrong(label, data, facts)
    return reasons


@dataclass(frozen=True)
class Decoded:
    """What Pillow finds in the bytes of an image."""

    form: str = ""
    size: tuple[int, int] = (0, 0)
    moves: bool = False
    orientation: int = 1
    mode: str = ""
    error: str = ""


@lru_cache(maxsize=2048)
def _decoded(data: bytes) -> Decoded:
    """Decode an image. Targets with the same limits are sent the same bytes, which are decoded once."""
    try:
        with Image.open(io.BytesIO(data)) as image:
            form, size, moves = image.format or "", image.size, getattr(image, "n_frames", 1) > 1
            orientation = image.getexif().get(0x0112, 1)
            image.load()
            return Decoded("JPEG" if form == "MPO" else form, size, moves, orientation, image.mode)
    except Exception as error:  # noqa: BLE001 - Pillow raises what it likes
        return Decoded(error=type(error).__name__)


def _wrong(label: str, data: bytes, facts: Facts) -> Iterator[str]:
    found = _decoded(data)
    if found.error:
        yield f"cannot be decoded: {found.error}"
        return
    if facts.types is not None and found.form not in facts.types:
        yield f"a {found.form}"
    if facts.label and label not in ("", _MIME.get(found.form)):
        yield f"a {found.form} called {label}"
    if facts.base64_bytes and len(base64.b64encode(data)) > facts.base64_bytes:
        yield f"{len(data)} bytes"
    if facts.side and max(found.size) > facts.side:
        yield f"{found.size} pixels"
    if facts.stills and found.moves and found.form in ("GIF", "WEBP"):
        yield "it moves"
    if found.orientation != 1:
        yield "it lies on its side"
    if found.mode.startswith(("CMYK", "I")):
        yield f"mode {found.mode}"


def _images(messages: list[Any]) -> Iterator[tuple[str, str, bytes]]:
    """Role, media type and bytes of every image with data."""
    for message in messages:
        if isinstance(message.get("content"), list):
            yield from _in_parts(message["content"], message["role"])


def _in_parts(parts: list[Any], role: str) -> Iterator[tuple[str, str, bytes]]:
    for part in parts:
        if part.get("type") == "tool_result" and isinstance(part.get("content"), list):
            yield from _in_parts(part["content"], "tool")
            continue
        url = part.get("image_url")
        url = url.get("url") if isinstance(url, dict) else url
        if isinstance(url, str) and url.startswith("data:"):
            head, _, text = url.partition(",")
            yield role, head[5:].partition(";")[0], base64.b64decode(text, validate=True)
        elif isinstance(part.get("source"), dict) and part["source"].get("type") == "base64":
            yield (
                role,
                part["source"]["media_type"],
                base64.b64decode(part["source"]["data"], validate=True),
            )
        else:
            yield from _other(part, role)


def _other(part: dict[str, Any], role: str) -> Iterator[tuple[str, str, bytes]]:
    inline = part.get("inlineData") or part.get("inline_data")
    if inline:
        yield (
            role,
            inline.get("mimeType") or inline.get("mime_type"),
            base64.b64decode(inline["data"], validate=True),
        )
    elif isinstance(part.get("image"), dict):
        yield role, f"image/{part['image']['format']}", part["image"]["source"]["bytes"]
    elif part.get("type") in ("image", "media"):
        data = part.get("data") or part.get("base64")
        yield (
            role,
            part.get("mime_type", ""),
            base64.b64decode(data or part["url"].partition(",")[2], validate=True),
        )
    elif part.get("type") == "file":
        head, _, text = part["file"]["file_data"].partition(",")
        yield role, head[5:].partition(";")[0], base64.b64decode(text, validate=True)
