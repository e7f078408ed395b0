"""The conversation of the demo: a browser agent, a screenshot of a whole page, and a user who did not wait."""

from __future__ import annotations

import base64
import io
from typing import Any

from PIL import Image, ImageDraw

PAGE = (1440, 11_000)
"""A full-page screenshot; Anthropic takes 8,000 px a side."""
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": about,
            "parameters": {"type": "object", "properties": {"url": {"type": "string"}}},
        },
    }
    for name, about in (("screenshot", "Take a picture of a whole page."), ("console", "Read the page's console."))
]


def conversation() -> list[dict[str, Any]]:
    """What the agent has in its history when the next request goes out."""
    shot, console = (
        {"id": f"toolu_01{name}", "type": "function", "function": {"name": name, "arguments": '{"url": "/checkout"}'}}
        for name in ("screenshot", "console")
    )
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{screenshot()}"}}
    return [
        {"role": "system", "content": "You test a web shop."},
        {"role": "user", "content": "Does the checkout page work?"},
        {"role": "assistant", "content": "I look at it.", "tool_calls": [shot, console]},
        {"role": "tool", "tool_call_id": shot["id"], "content": "Taken; the picture follows."},
        # The user typed while the console was being read, which therefore answers too late.
        {"role": "user", "content": [picture, {"type": "text", "text": "That is the old shop! Use the new one."}]},
        {"role": "tool", "tool_call_id": console["id"], "content": "TypeError: total is undefined"},
        {"role": "assistant", "content": "The old shop fails with a TypeError.", "tool_calls": [{**shot, "id": "t2"}]},
        # This call was interrupted: nobody recorded a result.
        {"role": "user", "content": "Never mind. Is that error new?"},
    ]


def shrunk_by_hand() -> list[dict[str, Any]]:
    """The same, after somebody has made the screenshot small enough."""
    messages = conversation()
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{screenshot((720, 5_500))}"}}
    return [*messages[:4], {**messages[4], "content": [picture, *messages[4]["content"][1:]]}, *messages[5:]]


def screenshot(size: tuple[int, int] = PAGE) -> str:
    """A PNG of a long page, in base64."""
    image = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(image)
    for row in range(0, size[1], 40):
        draw.rectangle((40, row, 40 + (row * 37) % (size[0] - 240), row + 22), fill=(60, (row // 40) % 255, 160))
        draw.text((50, row + 5), f"Order line {row // 40}: 1 x something, 9.99", fill="white")
    file = io.BytesIO()
    image.save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()
