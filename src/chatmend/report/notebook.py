"""The report for notebooks: an HTML table with before and after side by side.

The colour of a row shows the effect of the change.
"""

from __future__ import annotations

import json
import unicodedata
from difflib import SequenceMatcher
from html import escape
from itertools import chain, repeat
from typing import TYPE_CHECKING

from chatmend import jsontext
from chatmend.changes import Effect
from chatmend.report.lines import deed, position

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from chatmend.changes import Change
    from chatmend.transcript import Native

_COLOURS = {
    Effect.RESHAPES: "#2f6fb3",
    Effect.ADDS: "#2e8540",
    Effect.DEGRADES: "#a9650b",
    Effect.DROPS: "#c53030",
}
_MEANINGS = {
    Effect.RESHAPES: "same content in another form",
    Effect.ADDS: "content inserted by chatmend",
    Effect.DEGRADES: "content in a weaker form",
    Effect.DROPS: "content discarded",
}
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_MAX_ROWS, _MAX_LINES, _MAX_CHARACTERS = 200, 40, 400
"""Limits of the table: changes, lines per message, characters per line.

The JSON report has no limits.
"""
_TEXT_STYLE = (
    "text-align:left;vertical-align:top;"
    "font:13px/1.5 system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif"
)
_CELL_STYLE = f"{_TEXT_STYLE};padding:10px 12px;border:0;border-top:1px solid rgba(128,128,128,.3)"
_ROW_STYLE = "background:transparent"  # overrides the striped rows of notebooks
_FADED = "opacity:.7"
_CODE_STYLE = (
    "margin:0;padding:4px 0;white-space:pre-wrap;overflow-wrap:anywhere;"
    "background:rgba(128,128,128,.07);border:0;border-radius:4px;"
    "font:12px/1.5 ui-monospace,SFMono-Regular,Consolas,'DejaVu Sans Mono',monospace"
)
_LINE_COLOURS = {"-": "rgba(197,48,48,.15)", "+": "rgba(46,133,64,.17)"}
"""The background of a removed or added line."""
_PART_COLOURS = {"-": "rgba(197,48,48,.35)", "+": "rgba(46,133,64,.4)"}
"""The background of the differing part of a removed or added line."""


def html(changes: Sequence[Change], summary: str) -> str:
    """Return the changes as an HTML table without scripts, links or images.

    All content is escaped.
    """
    if not changes:
        return f"<p>{escape(summary)}</p>"
    rows = "".join(_table_row(change) for change in changes[:_MAX_ROWS])
    hidden = len(changes) - _MAX_ROWS
    more = f"<p>and {hidden} more; to_json() returns all of them</p>" if hidden > 0 else ""
    titles = "".join(
        f'<th style="{_TEXT_STYLE};padding:4px 12px;{_FADED}">{t}</th>'
        for t in ("change", "before", "after")
    )
    return (
        f'<div class="chatmend-report"><div style="{_TEXT_STYLE};padding:4px 12px">'
        f"<b>{escape(summary)}</b><br>{_legend(changes)}</div>"
        '<table style="border-collapse:collapse;width:100%;table-layout:fixed;margin:4px 0">'
        '<colgroup><col style="width:28%"><col style="width:36%"><col style="width:36%"></colgroup>'
        f'<thead><tr style="{_ROW_STYLE}">{titles}</tr></thead>'
        f"<tbody>{rows}</tbody></table>{more}</div>"
    )


def _legend(changes: Sequence[Change]) -> str:
    """Return the meanings of the colours that the table uses."""
    effects = sorted({change.effect for change in changes})
    return "".join(
        f'{_badge(effect)} <span style="{_FADED};margin-right:14px">{_MEANINGS[effect]}</span>'
        for effect in effects
    )


def _badge(effect: Effect) -> str:
    style = (
        f"background:{_COLOURS[effect]};color:#fff;border-radius:9px;padding:1px 8px;font-size:11px"
    )
    return f'<span style="{style}">{effect.name.lower()}</span>'


def _table_row(change: Change) -> str:
    thinking = "<br><b>invalidates signed thinking</b>" if change.invalidates_thinking else ""
    description = (
        f"<b>{escape(change.code)}</b> {escape(change.rule)}<br>{_badge(change.effect)} "
        f'<code style="background:none">{escape(position(change))}</code><br>'
        f'{visible(change.why)}<br><span style="{_FADED}">'
        f"→ {escape(deed(change))}</span>{thinking}"
    )
    before, after = _compare(change.before, change.after)
    return (
        f'<tr style="{_ROW_STYLE}">'
        f'<td style="{_CELL_STYLE};border-left:4px solid {_COLOURS[change.effect]}">'
        f'{description}</td><td style="{_CELL_STYLE}">{before}</td>'
        f'<td style="{_CELL_STYLE}">{after}</td></tr>'
    )


def _compare(before: Sequence[Native], after: Sequence[Native]) -> tuple[str, str]:
    """Return both sides as HTML, with the removed and added lines and their differences marked."""
    old, new = (
        _shorten(line for native in natives for line in _json_lines(native))
        for natives in (before, after)
    )
    left, right = list[str](), list[str]()
    for tag, start, stop, to_start, to_stop in SequenceMatcher(
        None, old, new, autojunk=False
    ).get_opcodes():
        removed, added = old[start:stop], new[to_start:to_stop]
        marks = ("", "") if tag == "equal" else ("-", "+")
        left += map(_line, removed, repeat(marks[0]), chain(added, repeat("")))
        right += map(_line, added, repeat(marks[1]), chain(removed, repeat("")))
    return _block(left), _block(right)


def _block(lines: Sequence[str]) -> str:
    return (
        f'<pre style="{_CODE_STYLE}">{"".join(lines)}</pre>'
        if lines
        else f'<span style="{_FADED}">nothing</span>'
    )


def _line(line: str, mark: str, other: str) -> str:
    """Return a line as HTML with its mark; a part that differs from ``other`` is highlighted."""
    indent = len(line) - len(line.lstrip(" ")) + 4
    style = f"padding-left:{indent}ch;text-indent:-{indent}ch;"
    if not mark:
        return f'<div style="{style}">  {visible(line)}</div>'
    start, stop = _differing_part(line, other)
    marked = visible(line)
    if start < stop and other:
        part = f'<span style="background:{_PART_COLOURS[mark]}">{visible(line[start:stop])}</span>'
        marked = visible(line[:start]) + part + visible(line[stop:])
    return f'<div style="{style}background:{_LINE_COLOURS[mark]}">{mark} {marked}</div>'


def _differing_part(line: str, other: str) -> tuple[int, int]:
    """Return the start and stop of the part in which a line differs from another.

    Returns an empty range if the part is longer than half of the line.
    """
    start = _common_prefix_length(line, other)
    stop = len(line) - _common_prefix_length(line[start:][::-1], other[start:][::-1])
    return (start, stop) if 2 * (stop - start) <= len(line) else (0, 0)


def _common_prefix_length(one: str, other: str) -> int:
    """Return the length of the common prefix of two texts."""
    shortest = min(len(one), len(other))
    return next((at for at in range(shortest) if one[at] != other[at]), shortest)


def _shorten(lines: Iterator[str]) -> list[str]:
    every = list(lines)
    cut = [
        line
        if len(line) <= _MAX_CHARACTERS
        else f"{line[:_MAX_CHARACTERS]} … ({len(line):,} characters)"
        for line in every[:_MAX_LINES]
    ]
    return (
        cut if len(every) <= _MAX_LINES else [*cut, f"… ({len(every) - _MAX_LINES:,} more lines)"]
    )


def _json_lines(native: Native) -> list[str]:
    if hasattr(native, "model_dump"):
        native = {
            key: value for key, value in native.model_dump().items() if value not in (None, {}, [])
        }
    try:
        return json.dumps(native, ensure_ascii=False, indent=2, default=repr).split("\n")
    except (RecursionError, TypeError, ValueError):
        return [jsontext.dumps(native)]


def visible(text: str) -> str:
    """Return text escaped for HTML, with control and format characters as ``\\uXXXX``."""
    return escape(
        "".join(f"\\u{ord(c):04x}" if unicodedata.category(c) in _INVISIBLE else c for c in text)
    )
