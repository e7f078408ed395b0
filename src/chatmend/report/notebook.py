"""The report as a table for notebooks: before and after side by side, each change coloured by its effect."""

from __future__ import annotations

import json
import unicodedata
from difflib import SequenceMatcher
from html import escape
from typing import TYPE_CHECKING

from chatmend import jsontext
from chatmend.changes import Effect
from chatmend.report.lines import deed, place

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from chatmend.changes import Change
    from chatmend.transcript import Native

_COLOURS = {Effect.RESHAPES: "#2f6fb3", Effect.ADDS: "#2e8540", Effect.DEGRADES: "#b7791f", Effect.DROPS: "#c53030"}
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_ROWS, _LINES, _LONG = 200, 40, 400
"""What is shown at most: changes, lines of a message, characters of a line. The JSON report is complete."""
_BOX = "text-align:left;vertical-align:top;padding:6px 8px;border-top:1px solid rgba(128,128,128,.35)"
_CODE = (
    "margin:0;white-space:pre-wrap;overflow-wrap:anywhere;font:12px/1.45 ui-monospace,SFMono-Regular,Consolas,monospace"
)
_MARKS = {"-": "background:rgba(197,48,48,.16)", "+": "background:rgba(46,133,64,.18)", " ": ""}


def html(changes: Sequence[Change], summary: str) -> str:
    """The changes as an HTML table without scripts, links or images. All content is escaped."""
    if not changes:
        return f"<p>{escape(summary)}</p>"
    rows = "".join(_row(change) for change in changes[:_ROWS])
    hidden = len(changes) - _ROWS
    more = f"<p>and {hidden} more; to_json() has them all</p>" if hidden > 0 else ""
    titles = "".join(f'<th style="text-align:left;padding:6px 8px">{t}</th>' for t in ("change", "before", "after"))
    return (
        f'<div class="chatmend-report"><p>{escape(summary)}</p>'
        '<table style="border-collapse:collapse;width:100%;table-layout:fixed">'
        '<colgroup><col style="width:26%"><col style="width:37%"><col style="width:37%"></colgroup>'
        f"<thead><tr>{titles}</tr></thead><tbody>{rows}</tbody></table>{more}</div>"
    )


def _row(change: Change) -> str:
    colour = _COLOURS[change.effect]
    effect = change.effect.name.lower()
    badge = f'<span style="background:{colour};color:#fff;border-radius:3px;padding:1px 6px">{effect}</span>'
    thinking = "<br><b>invalidates signed thinking</b>" if change.invalidates_thinking else ""
    told = (
        f"<code>{escape(place(change))}</code> {badge}<br><b>{escape(change.code)}</b> {escape(change.rule)}<br>"
        f"{visible(change.why)}<br><i>{escape(deed(change))}</i>{thinking}"
    )
    before, after = _side_by_side(change.before, change.after)
    return (
        f'<tr><td style="{_BOX};border-left:4px solid {colour}">{told}</td>'
        f'<td style="{_BOX}">{before}</td><td style="{_BOX}">{after}</td></tr>'
    )


def _side_by_side(before: Sequence[Native], after: Sequence[Native]) -> tuple[str, str]:
    """Both sides, with the lines marked that only one of them has."""
    old, new = (_shortened(line for native in natives for line in _lines(native)) for natives in (before, after))
    left, right = list[str](), list[str]()
    for tag, start, stop, to_start, to_stop in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        left += (_line(line, " " if tag == "equal" else "-") for line in old[start:stop])
        right += (_line(line, " " if tag == "equal" else "+") for line in new[to_start:to_stop])
    return _block(left), _block(right)


def _block(lines: Sequence[str]) -> str:
    return f'<pre style="{_CODE}">{"".join(lines)}</pre>' if lines else "<i>nothing</i>"


def _line(line: str, mark: str) -> str:
    return f'<div style="{_MARKS[mark]}">{visible(line)}</div>'


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
