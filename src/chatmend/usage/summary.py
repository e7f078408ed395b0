"""Summarises usage as a table of text or as a chart."""

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from pathlib import Path

from chatmend.usage.ledger import Row, UsageLedger
from chatmend.usage.usage_record import Usage

_HEAD = (
    "calls",
    "input",
    "cache read",
    "cache write",
    "hit ratio",
    "output",
    "reasoning",
    "cost USD",
    "by",
)
_UNPRINTABLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_WIDEST = 60


def summarise(usages: Iterable[Usage], by: Sequence[str] = ("model",)) -> tuple[Row, ...]:
    """Add up the usage of calls by model or by other keys."""
    ledger = UsageLedger()
    for usage in usages:
        ledger.add(usage)
    return ledger.snapshot(by)


def render(rows: Sequence[Row], by: Sequence[str] = ("model",)) -> str:
    """Return the rows as a table of text, with a line for the total. ``-`` is an unknown value."""
    lines = [(*by, *_HEAD), *(_line(row, by) for row in rows)]
    if len(rows) > 1:
        total = sum(rows[1:], rows[0])
        lines.append(("total", *("" for _ in by[1:]), *_line(total, ())))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(_justified(line, widths, len(by)) for line in lines)


def draw(rows: Sequence[Row], path: Path, by: Sequence[str] = ("model",)) -> None:
    """Draw the tokens of each row as a bar, split by kind: input, cached, written, reasoning.

    Raises ImportError without the extra ``plot``. The extension of the file sets the format.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 - an optional dependency

    positions = range(len(rows))
    figure = Figure(figsize=(10, 1.5 + 0.5 * len(rows)), layout="constrained")
    axes = figure.subplots()
    left = [0] * len(rows)
    for label, colour, share in _SHARES:
        widths = [max(0, share(row.usage)) for row in rows]
        axes.barh(positions, widths, left=left, label=label, color=colour)
        left = [start + width for start, width in zip(left, widths, strict=True)]
    for position, row, end in zip(positions, rows, left, strict=True):
        axes.text(
            end,
            position,
            f"  {_ratio(row.usage)} cached, {_cost(row)} USD",
            va="center",
            fontsize=8,
            parse_math=False,
        )
    axes.set_yticks(positions, [" ".join(_name(row, by)) for row in rows], parse_math=False)
    axes.invert_yaxis()
    axes.set_xlabel("tokens")
    axes.margins(x=0.3)
    axes.legend(
        loc="lower center", bbox_to_anchor=(0.5, 1), ncols=len(_SHARES), fontsize=8, frameon=False
    )
    figure.savefig(path, dpi=150)


def _count(value: int | None) -> int:
    return value or 0


_SHARES: tuple[tuple[str, str, Callable[[Usage], int]], ...] = (
    (
        "input",
        "#4878a8",
        lambda u: (
            _count(u.input_tokens) - _count(u.cache_read_tokens) - _count(u.cache_write_tokens)
        ),
    ),
    ("cache write", "#e8a33d", lambda u: _count(u.cache_write_tokens)),
    ("cache read", "#a8c8e8", lambda u: _count(u.cache_read_tokens)),
    ("output", "#58a068", lambda u: _count(u.output_tokens) - _count(u.reasoning_tokens)),
    ("reasoning", "#a8d8b0", lambda u: _count(u.reasoning_tokens)),
)


def _line(row: Row, by: Sequence[str]) -> tuple[str, ...]:
    usage = row.usage
    calls = f"{row.calls}" + (f" ({row.unfinished} unfinished)" if row.unfinished else "")
    counts = (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    written = (usage.output_tokens, usage.reasoning_tokens)
    return (
        *_name(row, by),
        calls,
        *map(_tokens, counts),
        _ratio(usage),
        *map(_tokens, written),
        _cost(row),
        _sources(row),
    )


def _name(row: Row, by: Sequence[str]) -> tuple[str, ...]:
    return tuple(_printable(row.keys.get(name, "-")) for name in by)


def _printable(text: str) -> str:
    """Replace control characters, because names in recorded files must not control the terminal."""
    kept = "".join(
        " " if unicodedata.category(char) in _UNPRINTABLE else char for char in text[:_WIDEST]
    )
    return kept if len(text) <= _WIDEST else f"{kept}…"


def _tokens(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _ratio(usage: Usage) -> str:
    ratio = usage.cache_hit_ratio
    return "-" if ratio is None else f"{ratio:.1%}"


def _cost(row: Row) -> str:
    cost = row.cost_usd
    return "-" if cost is None else f"{cost.quantize(Decimal('0.000001')):,f}"


def _sources(row: Row) -> str:
    sources = [f"{_printable(cost.source)} {cost.calls}" for cost in row.costs]
    return ", ".join([*sources, f"unpriced {row.unpriced}"] if row.unpriced else sources)


def _justified(line: Sequence[str], widths: Sequence[int], names: int) -> str:
    cells = [
        cell.ljust(width) if position < names or position == len(line) - 1 else cell.rjust(width)
        for position, (cell, width) in enumerate(zip(line, widths, strict=True))
    ]
    return "  ".join(cells).rstrip()
