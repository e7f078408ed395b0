"""Processes small files in worker processes ahead of time.

The main process then only compares and writes.
"""

from __future__ import annotations

import os
from collections import deque
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from chatmend.cli.processing import BlockOutcome, process_block
from chatmend.cli.sources import Block, InputFile, blocks
from chatmend.cli.workers import is_big, worker_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from concurrent.futures import Executor, Future

    from chatmend.cli.conversation import RunSettings

_GROUP_BYTES = 1 << 20
"""Bytes of small files that one process receives at a time."""
_MAX_GROUPS = 2
"""Submitted groups per process."""
_FileState: TypeAlias = tuple[int, int, int]
_Prefetched: TypeAlias = tuple[_FileState, list[tuple[Block, BlockOutcome]]] | None
"""The state of a file and the outcome of its blocks; None if it could not be read."""


def prefetch(
    sources: list[InputFile], settings: RunSettings, pool: Executor | None
) -> Iterator[InputFile]:
    """Yield the sources in order; the processes of ``pool`` process the small files in advance."""
    if pool is None:
        yield from sources
        return
    pending: deque[tuple[list[InputFile], Future[list[_Prefetched]] | None]] = deque()
    for group in _groups(sources):
        pending.append(
            (group, None if _is_alone(group[0]) else pool.submit(_process_group, group, settings))
        )
        if len(pending) > worker_count(settings) * _MAX_GROUPS:
            yield from _with_outcomes(*pending.popleft())
    for group, outcomes in pending:
        yield from _with_outcomes(group, outcomes)


def _is_alone(source: InputFile) -> bool:
    """Whether the main process reads a file itself."""
    return source.is_packed or is_big(source)


def _groups(sources: Iterable[InputFile]) -> Iterator[list[InputFile]]:
    group: list[InputFile] = []
    for source in sources:
        if group and (
            _is_alone(source)
            or _is_alone(group[0])
            or sum(one.size for one in group) >= _GROUP_BYTES
        ):
            yield group
            group = []
        group.append(source)
    if group:
        yield group


def _with_outcomes(
    group: list[InputFile], outcomes: Future[list[_Prefetched]] | None
) -> Iterator[InputFile]:
    for at, source in enumerate(group):
        yield (
            source
            if outcomes is None
            else replace(source, prefetched=partial(_if_unchanged, outcomes, at))
        )


def _if_unchanged(
    outcomes: Future[list[_Prefetched]], at: int, now: os.stat_result
) -> list[tuple[Block, BlockOutcome]] | None:
    outcome = outcomes.result()[at]
    return outcome[1] if outcome and outcome[0] == _state(now) else None


def _process_group(group: list[InputFile], settings: RunSettings) -> list[_Prefetched]:
    return [_process(source, settings) for source in group]


def _process(source: InputFile, settings: RunSettings) -> _Prefetched:
    try:
        with source.path.open("rb") as file:
            state, lines = _state(os.fstat(file.fileno())), source.has_lines
            return state, [
                (part, process_block(part.pieces(file, lines=lines), settings, source))
                for part in blocks(source, file)
            ]
    except OSError:
        return None  # the main process reads the file later and reports the error


def _state(file: os.stat_result) -> _FileState:
    return file.st_ino, file.st_size, file.st_mtime_ns
