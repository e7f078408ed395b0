"""The report of a run as one HTML page: statistics, reasons and examples.

The page loads nothing: its Content-Security-Policy allows only its own style sheet. It has no
scripts. All content is escaped and control characters are visible.
"""

from __future__ import annotations

import base64
import hashlib
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING

from chatmend.cli.terminal import count
from chatmend.data.rows import STATUSES
from chatmend.manuals import find
from chatmend.report.comparison import Line, compare
from chatmend.report.notebook import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from chatmend.cli.data_counts import Counts
    from chatmend.cli.data_examples import Example, Kind
    from chatmend.cli.data_report import DataReport

_MAX_FILES = 100
"""Files that are listed; the others are summed up."""
_MEANINGS = {
    "reshapes": "same content in another form",
    "adds": "content inserted by chatmend",
    "degrades": "content in a weaker form",
    "drops": "content discarded",
}


def page(report: DataReport, options: Mapping[str, str]) -> str:
    """Return the page.

    Args:
        report: what the run has counted.
        options: the options of the run, by name.
    """
    style = files("chatmend.cli").joinpath("data_page.css").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    sections = (
        _statistics(report.counts),
        _rules(report.counts),
        _reasons(report.counts),
        _files(report.files),
        _examples(report),
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{_title(report.counts)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f"<header><h1>{_title(report.counts)}</h1>{_options(options)}</header>\n"
        f"<main>{''.join(sections)}</main>\n</body>\n</html>\n"
    )


def _title(counts: Counts) -> str:
    return f"Repair of {count(counts.total, 'row')}"


def _options(options: Mapping[str, str]) -> str:
    listed = {"chatmend": version("chatmend"), **options}
    items = "".join(
        f"<div><dt>{visible(name)}</dt><dd>{visible(value)}</dd></div>"
        for name, value in listed.items()
    )
    return f'<dl class="options">{items}</dl>'


def _share(number: int, total: int) -> str:
    return f"{100 * number / total:.1f} %" if total else "0 %"


def _statistics(counts: Counts) -> str:
    total = counts.total
    tiles = "".join(
        f'<li class="{status}"><b>{counts.rows[status]:,}</b>{status} '
        f'<span class="faded">({_share(counts.rows[status], total)})</span></li>'
        for status in STATUSES
    )
    bars, at = "", 0.0
    for status in STATUSES:
        width = 1000 * counts.rows[status] / max(total, 1)
        bars += f'<rect class="{status}" x="{at:.2f}" width="{width:.2f}" height="10"></rect>'
        at += width
    label = ", ".join(f"{counts.rows[status]:,} {status}" for status in STATUSES)
    return (
        f'<ul class="tiles"><li><b>{total:,}</b>rows</li>{tiles}</ul>'
        f'<svg viewBox="0 0 1000 10" preserveAspectRatio="none" role="img" '
        f'aria-label="{label}">{bars}</svg>'
    )


def _rules(counts: Counts) -> str:
    if not counts.rules:
        return "<h2>Repairs</h2><p>Nothing was repaired.</p>"
    rows = [
        (
            f"<code>{visible(code)}</code>",
            f'{visible(rule)}<br><span class="faded">{visible(_summary(code))}</span>',
            _effect(effect),
            f"{number:,}",
        )
        for (code, rule, effect), number in sorted(
            counts.rules.items(), key=lambda item: (-item[1], item[0])
        )
    ]
    caption = (
        f"Changes in repaired rows by rule and effect ({_legend(counts)}). "
        "<code>chatmend explain CODE</code> describes a rule."
    )
    return "<h2>Repairs</h2>" + _table(caption, ("code", "rule", "effect", "changes"), rows)


def _summary(code: str) -> str:
    manual = find(code)
    return manual.summary.replace("`", "") if manual else ""


def _effect(effect: str) -> str:
    return f'<span class="effect {effect}">{effect}</span>'


def _legend(counts: Counts) -> str:
    """Return the meanings of the effects that occur, mildest first."""
    found = {effect for _, _, effect in counts.rules}
    return "; ".join(f"{_effect(e)}: {text}" for e, text in _MEANINGS.items() if e in found)


def _reasons(counts: Counts) -> str:
    if not counts.reasons:
        return ""
    rows = [(visible(reason), f"{number:,}") for reason, number in counts.reasons.most_common()]
    caption = "Rows that were set aside, unchanged. N replaces numbers."
    return "<h2>Quarantine</h2>" + _table(caption, ("reason", "rows"), rows)


def _files(counts: Mapping[str, Counts]) -> str:
    listed = [*counts.items()]
    rows = [(visible(name), *_numbers([one])) for name, one in listed[:_MAX_FILES]]
    if rest := [one for _, one in listed[_MAX_FILES:]]:
        rows.append((f"{count(len(rest), 'more file')}", *_numbers(rest)))
    return "<h2>Files</h2>" + _table("Rows by file.", ("file", "rows", *STATUSES), rows)


def _numbers(counts: Iterable[Counts]) -> tuple[str, ...]:
    listed = [*counts]
    totals = [sum(one.rows[status] for one in listed) for status in STATUSES]
    return tuple(f"{number:,}" for number in (sum(totals), *totals))


def _table(caption: str, titles: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Return a table; cells are HTML, and columns of numbers are aligned to the right."""
    columns = zip(*rows, strict=True)
    are_numbers = [all(cell.replace(",", "").isdigit() for cell in column) for column in columns]
    classes = [' class="number"' if is_number else "" for is_number in are_numbers]
    head = "".join(
        f'<th scope="col"{kind}>{title}</th>' for title, kind in zip(titles, classes, strict=True)
    )
    cells = (
        "".join(f"<td{kind}>{cell}</td>" for cell, kind in zip(row, classes, strict=True))
        for row in rows
    )
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{titles[0]}"><table>'
        f"<caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _examples(report: DataReport) -> str:
    kinds = sorted(report.examples.kinds.items(), key=lambda item: (item[0][0] == "", item[0]))
    if not kinds:
        return ""
    note = {
        "texts": "The first rows of each kind. Long texts are shortened.",
        "lengths": "The first rows of each kind. Texts are replaced by their lengths.",
    }[report.examples.content]
    listed = "".join(_kind(kind, found) for kind, found in kinds)
    return f'<h2>Examples</h2><p class="faded">{note}</p>{listed}'


def _kind(kind: Kind, examples: list[Example]) -> str:
    code, name = kind
    title = f"Quarantined: {visible(name)}"
    if code:
        title = f"<code>{visible(code)}</code> {visible(_summary(code))} {_effect(name)}"
    shown = "".join(_example(example, is_change=bool(code)) for example in examples)
    return f"<details><summary>{title}</summary>{shown}</details>"


def _example(example: Example, *, is_change: bool) -> str:
    place = f"{visible(example.file)}, row {example.row:,}"
    text = f"<h3>{place}</h3><p>{visible(example.text)}</p>"
    if not is_change:
        row = _block([Line(line) for line in example.before])
        return f"<article>{text}<h4>Row, unchanged</h4>{row}</article>"
    left, right = compare(example.before, example.after)
    return (
        f'<article>{text}<div class="sides"><div><h4>Before</h4>{_block(left)}</div>'
        f"<div><h4>After</h4>{_block(right)}</div></div></article>"
    )


def _block(lines: list[Line]) -> str:
    if not lines:
        return '<p class="faded">nothing</p>'
    return f"<pre>{''.join(map(_line, lines))}</pre>"


def _line(line: Line) -> str:
    head, part, tail = map(visible, line.parts())
    text = f"{head}<mark>{part}</mark>{tail}" if part else head + tail
    if not line.mark:
        return f"  {text}\n"
    tag = {"-": "del", "+": "ins"}[line.mark]
    return f"<{tag}>{line.mark} {text}\n</{tag}>"
