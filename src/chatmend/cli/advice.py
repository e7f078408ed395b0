"""Says what to do about a file that is not JSON."""

from __future__ import annotations

import re

_WANTED = "chatmend reads JSON (messages or a request body) and JSONL (one of these per line)"
_UTF_16 = "it is text in UTF-16; save it as UTF-8"
_MAGIC = (
    (b"\x1f\x8b", "it is compressed with gzip; let its name end with .gz"),
    (b"PK\x03\x04", "it is a ZIP archive; unpack it"),
    (b"\x28\xb5\x2f\xfd", "it is compressed with zstd; let its name end with .zst"),
    (b"PAR1", "it is a Parquet file; export its rows as JSONL"),
    (b"SQLite format 3", "it is a SQLite database; export its rows as JSONL"),
    (b"%PDF", "it is a PDF document"),
    (b"\x89PNG", "it is an image; use 'chatmend image'"),
    (b"\xff\xd8\xff", "it is an image; use 'chatmend image'"),
    (b"GIF8", "it is an image; use 'chatmend image'"),
    *((start, _UTF_16) for start in (b"\xff\xfe", b"\xfe\xff", b"{\0", b"[\0", b"\0{", b"\0[")),
)
_FORMS = (
    (rb"\s*[\[{(]+\s*'", "it is Python, not JSON; write it with json.dumps, not with str or repr"),
    (rb"\s*(\$ )?curl\s", "it is a curl command; paste it into 'chatmend inspect'"),
    (rb"\s*(data|event):", "it is a stream of events; 'chatmend usage' reads its usage"),
    (rb"\s*(---\s|- role:|messages:|role:)", f"it looks like YAML; {_WANTED}"),
    (
        rb"\s*\"?[A-Za-z_ ]+\"?([,;\t]\"?[A-Za-z_ ]+\"?)+\s*(\r?\n|$)",
        f"it looks like CSV; write each conversation as one line of JSONL; {_WANTED}",
    ),
)


def empty_file() -> str:
    """Return the text about an empty file."""
    return f"the file is empty; {_WANTED}"


def known_content(raw: bytes) -> str:
    """Return what a file is that begins with these bytes; empty if it may be text in UTF-8."""
    found = (text for magic, text in _MAGIC if raw.startswith(magic))
    return next(found, "").partition(";")[0]


def advice_on(raw: bytes) -> str:
    """Return what a text that is not JSON most likely is, and what to do; never empty."""
    if not raw.strip():
        return empty_file()
    known = [text for magic, text in _MAGIC if raw.startswith(magic)]
    known += [text for form, text in _FORMS if re.match(form, raw)]
    return known[0] if known else f"it is not JSON; {_WANTED}"
