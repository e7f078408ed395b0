"""The report as a table for notebooks: before and after side by side, each change coloured by its effect."""

from __future__ import annotations

import json
import unicodedata
from difflib import SequenceMatcher
from html import escape
from itertools import chain, repeat
from typing import TYPE_CHECKING

from chatmend import jsontext
from chatmend.changes import Effect
from chatmend.report.lines import deed, place

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from chatmend.changes import Change
    from chatmend.transcript import Native

_COLOURS = {Effect.RESHAPES: "#2f6fb3", Effect.ADDS: "#2e8540", Effect.DEGRADES: "#a9650b", Effect.DROPS: "#c53030"}
_MEANINGS = {
    Effect.RESHAPES: "same content, another shape",
    Effect.ADDS: "content nobody said",
    Effect.DEGRADES: "content that carries less",
    Effect.DROPS: "content that is gone",
}
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_ROWS, _LINES, _LONG = 200, 40, 400
"""What is shown at most: changes, lines of a message, characters of a line. The JSON report is complete."""
_TEXT = "text-align:left;vertical-align:top;font:13px/1.5 system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif"
_BOX = f"{_TEXT};padding:10px 12px;border:0;border-top:1px solid rgba(128,128,128,.3)"
_ROW = "background:transparent"  # notebooks stripe the rows of tables, which would mix with the colours here
_QUIET = "opacity:.7"
_CODE = (
    "margin:0;padding:4px 0;white-space:pre-wrap;overflow-wrap:anywhere;background:rgba(128,128,128,.07);border:0;"
    "border-radius:4px;font:12px/1.5 ui-monospace,SFMono-Regular,Consolas,'DejaVu Sans Mono',monospace"
)
_MARKS = {"-": "rgba(197,48,48,.15)", "+": "rgba(46,133,64,.17)"}
_STRONG = {"-": "rgba(197,48,48,.35)", "+": "rgba(46,133,64,.4)"}
"""The background of a line that only one side has, and of the part of it that makes the difference."""


def html(changes: Sequence[Change], summary: str) -> str:
    """The changes as an HTML table without scripts, links or images. All content is escaped."""
    if not changes:
        return f"<p>{escape(summary)}</p>"
    rows = "".join(_row(change) for change in changes[:_ROWS])
    hidden = len(changes) - _ROWS
    more = f"<p>and {hidden} more; to_json() has them all</p>" if hidden > 0 else ""
    titles = "".join(f'<th style="{_TEXT};padding:4px 12px;{_QUIET}">{t}</th>' for t in ("change", "before", "after"))
    return (
        f'<div class="chatmend-report"><div style="{_TEXT};padding:4px 12px"><b>{escape(summary)}</b><br>'
        f"{_legend(changes)}</div>"
        '<table style="border-collapse:collapse;width:100%;table-layout:fixed;margin:4px 0">'
        '<colgroup><col style="width:28%"><col style="width:36%"><col style="width:36%"></colgroup>'
        f'<thead><tr style="{_ROW}">{titles}</tr></thead><tbody>{rows}</tbody></table>{more}</div>'
    )


def _legend(changes: Sequence[Change]) -> str:
    """What the colours mean that are seen below."""
    seen = sorted({change.effect for change in changes})
    return "".join(
        f'{_badge(effect)} <span style="{_QUIET};margin-right:14px">{_MEANINGS[effect]}</span>' for effect in seen
    )


def _badge(effect: Effect) -> str:
    style = f"background:{_COLOURS[effect]};color:#fff;border-radius:9px;padding:1px 8px;font-size:11px"
    return f'<span style="{style}">{effect.name.lower()}</span>'


def _row(change: Change) -> str:
    thinking = "<br><b>invalidates signed thinking</b>" if change.invalidates_thinking else ""
    told = (
        f"<b>{escape(change.code)}</b> {escape(change.rule)}<br>"
        f'{_badge(change.effect)} <code style="background:none">{escape(place(change))}</code><br>'
        f'{visible(change.why)}<br><span style="{_QUIET}">→ {escape(deed(change))}</span>{thinking}'
    )
    before, after = _side_by_side(change.before, change.after)
    return (
        f'<tr style="{_ROW}"><td style="{_BOX};border-left:4px solid {_COLOURS[change.effect]}">{told}</td>'
        f'<td style="{_BOX}">{before}</td><td style="{_BOX}">{after}</td></tr>'
    )


def _side_by_side(before: Sequence[Native], after: Sequence[Native]) -> tuple[str, str]:
    """Both sides, with the lines marked that only one of them has, and in lines that face each other the difference."""
    old, new = (_shortened(line for native in natives for line in _lines(native)) for natives in (before, after))
    left, right = list[str](), list[str]()
    for tag, start, stop, to_start, to_stop in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        ours, theirs = old[start:stop], new[to_start:to_stop]
        marks = ("", "") if tag == "equal" else ("-", "+")
        left += map(_line, ours, repeat(marks[0]), chain(theirs, repeat("")))
        right += map(_line, theirs, repeat(marks[1]), chain(ours, repeat("")))
    return _block(left), _block(right)


def _block(lines: Sequence[str]) -> str:
    return f'<pre style="{_CODE}">{"".join(lines)}</pre>' if lines else f'<span style="{_QUIET}">nothing</span>'


def _line(line: str, mark: str, other: str) -> str:
    """A line with its mark; one that is unlike the ``other`` in a part of it shows which part."""
    indent = len(line) - len(line.lstrip(" ")) + 4
    style = f"padding-left:{indent}ch;text-indent:-{indent}ch;"
    if not mark:
        return f'<div style="{style}">  {visible(line)}</div>'
    start, stop = _differing(line, other)
    told = visible(line)
    if start < stop and other:
        part = f'<span style="background:{_STRONG[mark]}">{visible(line[start:stop])}</span>'
        told = visible(line[:start]) + part + visible(line[stop:])
    return f'<div style="{style}background:{_MARKS[mark]}">{mark} {told}</div>'


def _differing(line: str, other: str) -> tuple[int, int]:
    """From where to where a line differs from another; nowhere, if they have less in common than not."""
    start = _shared(line, other)
    stop = len(line) - _shared(line[start:][::-1], other[start:][::-1])
    return (start, stop) if 2 * (stop - start) <= len(line) else (0, 0)


def _shared(one: str, other: str) -> int:
    """How many characters two texts have in common at the front."""
    shortest = min(len(one), len(other))
    return next((at for at in range(shortest) if one[at] != other[at]), shortest)


def _shortened(lines: Iterator[str]) -> list[str]:
    every = list(lines)
    cut = [line if len(line) <= _LONG else f"{line[:_LONG]} … ({len(line):,} characters)" for line in every[:_LINES]]
    return cut if len(every) <= _LINES else [*cut, f"… ({len(every) - _LINES:,} more lines)"]


def _lines(native: Native) -> list[str]:
    if hasattr(native, "model_dump"):
        native = {key: value for key, value in native.model_dump().items() if value not in (None, {}, [])}
    try:
        return json.dumps(native, ensure_ascii=False, indent=2, default=repr).split("\n")
    except (RecursionError, TypeError, ValueError):
        return [jsontext.dumps(native)]


def visible(text: str) -> str:
    """Text for HTML: escaped, with its control and format characters spelled out."""
    return escape("".join(f"\\u{ord(c):04x}" if unicodedata.category(c) in _INVISIBLE else c for c in text))
