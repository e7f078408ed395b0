"""The event stream format of AWS (``application/vnd.amazon.eventstream``)."""

from __future__ import annotations

import json
import struct
from binascii import crc32
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

MEDIA_TYPE = "application/vnd.amazon.eventstream"
_STRING = 7
"""The code of the header type "string"."""


def frame(event: str, payload: Mapping[str, Any], message_type: str = "event") -> bytes:
    """Encode one message: prelude, headers, JSON payload, checksums."""
    named = ":event-type" if message_type == "event" else ":exception-type"
    headers = {named: event, ":content-type": "application/json", ":message-type": message_type}
    head = b"".join(_header(name, value) for name, value in headers.items())
    body = json.dumps(payload, ensure_ascii=False).encode("utf-8", "replace")
    prelude = struct.pack(">II", 16 + len(head) + len(body), len(head))
    message = prelude + struct.pack(">I", crc32(prelude)) + head + body
    return message + struct.pack(">I", crc32(message))


def _header(name: str, value: str) -> bytes:
    label, text = name.encode(), value.encode()
    return struct.pack(">B", len(label)) + label + struct.pack(">BH", _STRING, len(text)) + text
