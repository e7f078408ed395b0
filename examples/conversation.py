"""The demo's conversation: a browser agent, a full-page screenshot and an impatient user."""

from __future__ import annotations

import base64
import io
from typing import Any

from PIL import Image, ImageDraw, ImageFont

PAGE = (1440, 11_000)
"""Size of a full-page screenshot in pixels; Anthropic accepts 8,000 px per side."""
LINE_WIDTH = 420
"""All text is in this many columns of the page."""
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": about,
            "parameters": {"type": "object", "properties": {"url": {"type": "string"}}},
        },
    }
    for name, about in (
        ("screenshot", "Take a picture of a whole page."),
        ("console", "Read the page's console."),
    )
]


def conversation() -> list[dict[str, Any]]:
    """Return the agent's history when it sends the next request."""
    shot, console = (
        {
            "id": f"toolu_01{name}",
            "type": "function",
            "function": {"name": name, "arguments": '{"url": "/checkout"}'},
        }
        for name in ("screenshot", "console")
    )
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{screenshot()}"}}
    return [
        {"role": "system", "content": "You test a web shop."},
        {"role": "user", "content": "Does the checkout page work?"},
        {"role": "assistant", "content": "I look at it.", "tool_calls": [shot, console]},
        {"role": "tool", "tool_call_id": shot["id"], "content": "Taken; the picture follows."},
        # The user typed before the console tool returned, so its result follows this message.
        {
            "role": "user",
            "content": [
                picture,
                {"type": "text", "text": "That is the old shop! Use the new one."},
            ],
        },
        {"role": "tool", "tool_call_id": console["id"], "content": "TypeError: total is undefined"},
        {
            "role": "assistant",
            "content": "The old shop fails with a TypeError.",
            "tool_calls": [{**shot, "id": "t2"}],
        },
        # This tool call was interrupted: it has no result.
        {"role": "user", "content": "Never mind. Is that error new?"},
    ]


def with_small_screenshot() -> list[dict[str, Any]]:
    """Return the conversation with a screenshot that is resized to Anthropic's limit."""
    messages = conversation()
    picture = {
        "type": "image_url",
        "image_url": {"url": f"data:image/png;base64,{screenshot((720, 5_500))}"},
    }
    return [
        *messages[:4],
        {**messages[4], "content": [picture, *messages[4]["content"][1:]]},
        *messages[5:],
    ]


def screenshot(size: tuple[int, int] = PAGE) -> str:
    """Return a PNG of a long page in base64, with text of 12 px."""
    image = Image.new("RGB", size, "white")
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(12)
    left = (LINE_WIDTH + 20) * size[0] // PAGE[0]
    for row in range(0, size[1], 40):
        draw.rectangle(
            (left, row + 8, left + (row * 37) % (size[0] - left - 40), row + 30),
            fill=(60, (row // 40) % 255, 160),
        )
        text = f"Order line {row // 40 + 1} for something at 9.99"
        draw.text((50, row + 12), text, fill="black", font=font)
    file = io.BytesIO()
    image.save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()
