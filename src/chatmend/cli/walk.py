"""The way through a file, block by block; a big one on all processors."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import IO, TYPE_CHECKING

from chatmend.cli.conversation import NoConversationError, Order, UnreadableError, Visit, visit
from chatmend.cli.sources import Block, Source, blocks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future

_BIG = 32 << 20
"""Bytes of JSONL from which more processes are worth their start."""
_AHEAD = 2
"""Blocks in flight for each process."""


@dataclass(slots=True)
class Seen:
    """What was seen in a block; only lines with something to tell are in it. Lines are counted from its first, 0."""

    lines: int = 0
    conversations: int = 0
    visits: dict[int, Visit] = field(default_factory=dict)
    faults: dict[int, str] = field(default_factory=dict)
    passed: int = 0
    """Lines, or files, that hold JSON but no conversation."""


def walk(source: Source, file: IO[bytes], order: Order) -> Iterator[tuple[Block, Seen]]:
    """Each block of a file with what was seen in it, in order."""
    state = os.fstat(file.fileno())
    if source.ahead is not None and (known := source.ahead(state)) is not None:
        yield from known
        return
    if not source.has_lines or state.st_size < _BIG or processes(order) == 1:
        for block in blocks(source, file):
            yield block, see(block.pieces(file, lines=source.has_lines), order, source)
        return
    # Spawned, not forked: the progress bar's thread must not be forked along.
    with ProcessPoolExecutor(processes(order), get_context("spawn")) as pool:
        flight: deque[tuple[Block, Future[Seen]]] = deque()
        for block in blocks(source, file):
            flight.append((block, pool.submit(_see_part, block, order, source)))
            if len(flight) > processes(order) * _AHEAD:
                done, seen = flight.popleft()
                yield done, seen.result()
        for done, seen in flight:
            yield done, seen.result()


def processes(order: Order) -> int:
    """How many processes are to work."""
    if order.jobs:
        return order.jobs
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _see_part(block: Block, order: Order, source: Source) -> Seen:
    with source.path.open("rb") as file:
        return see(block.pieces(file, lines=True), order, source)


def see(lines: list[bytes], order: Order, source: Source) -> Seen:
    """Visit each conversation of a block."""
    seen, has_lines = Seen(len(lines)), source.has_lines
    for number, raw in enumerate(lines):
        if has_lines and raw.isspace():
            continue
        try:
            visited = visit(raw, order)
        except NoConversationError as error:
            if source.found:
                seen.passed += 1
            else:
                seen.faults[number] = str(error)
        except UnreadableError as error:
            seen.faults[number] = str(error)
        except Exception as error:  # noqa: BLE001 - one conversation must not stop the others; the text would be content
            seen.faults[number] = f"line 1, column 1: chatmend failed on it ({type(error).__name__}); please report it"
        else:
            seen.conversations += 1
            if visited.findings:
                seen.visits[number] = visited
    return seen
