"""The report for notebooks: an HTML table with before and after side by side.

The colour of a row shows the effect of the change.
"""

from __future__ import annotations

import unicodedata
from html import escape
from typing import TYPE_CHECKING

from chatmend.changes import Effect
from chatmend.report.comparison import compare, short_lines
from chatmend.report.lines import deed, position

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmend.changes import Change
    from chatmend.report.comparison import Line
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
_MAX_ROWS = 200
"""The limit of changes in the table. The JSON report has no limits."""
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
    left, right = compare(short_lines(before), short_lines(after))
    return _block([*map(_line, left)]), _block([*map(_line, right)])


def _block(lines: Sequence[str]) -> str:
    return (
        f'<pre style="{_CODE_STYLE}">{"".join(lines)}</pre>'
        if lines
        else f'<span style="{_FADED}">nothing</span>'
    )


def _line(line: Line) -> str:
    """Return a line as HTML with its mark; the part that differs is highlighted."""
    indent = len(line.text) - len(line.text.lstrip(" ")) + 4
    style = f"padding-left:{indent}ch;text-indent:-{indent}ch;"
    if not line.mark:
        return f'<div style="{style}">  {visible(line.text)}</div>'
    head, part, tail = map(visible, line.parts())
    if part:
        part = f'<span style="background:{_PART_COLOURS[line.mark]}">{part}</span>'
    background = _LINE_COLOURS[line.mark]
    return f'<div style="{style}background:{background}">{line.mark} {head}{part}{tail}</div>'


def visible(text: str) -> str:
    """Return text escaped for HTML, with control and format characters as ``\\uXXXX``."""
    return escape(
        "".join(f"\\u{ord(c):04x}" if unicodedata.category(c) in _INVISIBLE else c for c in text)
    )
