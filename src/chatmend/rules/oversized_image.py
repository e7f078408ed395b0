"""An image with more pixels than the target accepts.

Why: ``At least one of the image dimensions exceed max allowed size: 8000 pixels``, and 2000 pixels
in a request with many images (Anthropic); ``The image exceeds the maximum allowed size (33177600
pixels)`` (Groq).

Repair: The image is scaled to a limit that holds for any number of later images, so that old images
never change. With ``Policy(images="native")`` it is scaled to the exact size that the model sees.
An image that the target accepts is unchanged. So is an image that it accepts only among few images,
if scaling it would take too much memory. With ``image_notes``, a text after the image gives the
scale factor.

Before (anthropic/claude-sonnet-4-5):
    [{"role": "user", "content": [{"type": "image_url", "image_url": {
         "url": "data:image/jpeg;base64,/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAgGBgcGBQgHBwcJCQgKDBQN\
DAsLDBkSEw8UHRofHh0aHBwgJC4nICIsIxwcKDcpLDAxNDQ0Hyc5PTgyPC4zNDL/wAALCAABB9EBAREA/8QAFQABAQAAAAAA\
AAAAAAAAAAAAAAf/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/9oACAEBAAA/AL+AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAP/2Q=="}}]}]
After:
    [{"role": "user", "content": [{"type": "image_url", "image_url": {
         "url": "data:image/jpeg;base64,/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAUDBAQEAwUEBAQFBQUGBwwI\
BwcHBw8LCwkMEQ8SEhEPERETFhwXExQaFRERGCEYGh0dHx8fExciJCIeJBweHx7/wAALCAABB9ABASIA/8QAHwAAAQUBAQEB\
AQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS\
0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWW\
l5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/9oACAEBAAA/APsu\
iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii\
iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii\
iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiv/Z"}}]}]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.images.defects import Defect
from chatmend.rules.image_repair import IMAGES, recompress_images
from chatmend.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.changes import Fix
    from chatmend.context import Context
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that scale images with too many pixels."""
    yield from recompress_images(window, context, Defect.PIXELS)


RULE = Rule("IMG007", "oversized-image", find, IMAGES)
