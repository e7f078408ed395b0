"""The way through a file, block by block; a big one on several processes."""

from __future__ import annotations

import os
from collections import deque
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING

from chatmend.cli.conversation import NoConversationError, Order, UnreadableError, Visit, visit
from chatmend.cli.crew import is_big, processes
from chatmend.cli.depth import deep_values
from chatmend.cli.sources import BUFFER, Block, Source, blocks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from concurrent.futures import Executor, Future

_AHEAD = 2
"""Blocks in flight for each process."""
_HELD = 4 << 20
"""Bytes in flight for each of them: with lines so long that blocks are bigger, fewer are held at a time."""


@dataclass(slots=True)
class Seen:
    """What was seen in a block; only lines with something to tell are in it. Lines are counted from its first, 0."""

    lines: int = 0
    conversations: int = 0
    visits: dict[int, Visit] = field(default_factory=dict)
    faults: dict[int, str] = field(default_factory=dict)
    passed: int = 0
    """Lines, or files, that hold JSON but no conversation."""


def walk(source: Source, file: IO[bytes], order: Order, pool: Executor | None = None) -> Iterator[tuple[Block, Seen]]:
    """Each block of a file with what was seen in it, in order; a big file on all processes of the ``pool``."""
    state = os.fstat(file.fileno())
    if source.ahead is not None and (known := source.ahead(state)) is not None:
        yield from known
    elif pool is not None and is_big(source):
        yield from _shared(source, file, order, pool)
    else:
        for block in blocks(source, file):
            yield block, see(block.pieces(file, lines=source.has_lines), order, source)


def _shared(source: Source, file: IO[bytes], order: Order, pool: Executor) -> Iterator[tuple[Block, Seen]]:
    flight: deque[tuple[Block, Future[Seen]]] = deque()
    most, held = processes(order) * _AHEAD, 0
    for block in blocks(source, file):
        while flight and (len(flight) >= most or held + block.size > most * _HELD):
            done, seen = flight.popleft()
            held -= done.size
            yield done, seen.result()
        flight.append((block, pool.submit(_see_part, block, order, source)))
        held += block.size
    for done, seen in flight:
        yield done, seen.result()


def _see_part(block: Block, order: Order, source: Source) -> Seen:
    with source.path.open("rb", buffering=BUFFER) as file:
        return see(block.pieces(file, lines=True), order, source)


@deep_values()
def see(lines: Iterable[bytes], order: Order, source: Source) -> Seen:
    """Visit each conversation of a block."""
    seen, has_lines = Seen(), source.has_lines
    for number, raw in enumerate(lines):
        seen.lines += 1
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
