"""Small files, seen by other processes before their turn comes: this one only compares and writes."""

from __future__ import annotations

import os
from collections import deque
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from chatmend.cli.crew import is_big, processes
from chatmend.cli.sources import Block, Source, blocks
from chatmend.cli.walk import Seen, see

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from concurrent.futures import Executor, Future

    from chatmend.cli.conversation import Order

_GROUP = 1 << 20
"""Bytes of small files that one process is given at a time."""
_IN_FLIGHT = 2
"""So many groups for each process."""
_State: TypeAlias = tuple[int, int, int]
_Glance: TypeAlias = tuple[_State, list[tuple[Block, Seen]]] | None
"""A file as it was, and what was seen in it; None where it could not be read."""


def ahead(sources: list[Source], order: Order, pool: Executor | None) -> Iterator[Source]:
    """The same files in the same order; the processes of the ``pool`` look at the small ones ahead."""
    if pool is None:
        yield from sources
        return
    flight: deque[tuple[list[Source], Future[list[_Glance]] | None]] = deque()
    for group in _groups(sources):
        flight.append((group, None if is_big(group[0]) else pool.submit(_glance, group, order)))
        if len(flight) > processes(order) * _IN_FLIGHT:
            yield from _landed(*flight.popleft())
    for group, glances in flight:
        yield from _landed(group, glances)


def _groups(sources: Iterable[Source]) -> Iterator[list[Source]]:
    group: list[Source] = []
    for source in sources:
        if group and (is_big(source) or is_big(group[0]) or sum(one.size for one in group) >= _GROUP):
            yield group
            group = []
        group.append(source)
    if group:
        yield group


def _landed(group: list[Source], glances: Future[list[_Glance]] | None) -> Iterator[Source]:
    for at, source in enumerate(group):
        yield source if glances is None else replace(source, ahead=partial(_seen, glances, at))


def _seen(glances: Future[list[_Glance]], at: int, now: os.stat_result) -> list[tuple[Block, Seen]] | None:
    glance = glances.result()[at]
    return glance[1] if glance and glance[0] == _state(now) else None


def _glance(group: list[Source], order: Order) -> list[_Glance]:
    return [_look(source, order) for source in group]


def _look(source: Source, order: Order) -> _Glance:
    try:
        with source.path.open("rb") as file:
            state, lines = _state(os.fstat(file.fileno())), source.has_lines
            return state, [(part, see(part.pieces(file, lines=lines), order, source)) for part in blocks(source, file)]
    except OSError:
        return None  # whoever comes to it in its turn tells why


def _state(file: os.stat_result) -> _State:
    return file.st_ino, file.st_size, file.st_mtime_ns
