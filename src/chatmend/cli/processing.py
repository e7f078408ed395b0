"""Processes a file block by block, a large one on several processes."""

from __future__ import annotations

import os
from collections import deque
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING

from chatmend.cli.conversation import (
    ConversationOutcome,
    NoConversationError,
    RunSettings,
    UnreadableConversationError,
    process_conversation,
)
from chatmend.cli.depth import deep_values
from chatmend.cli.sources import BUFFER, Block, InputFile, blocks
from chatmend.cli.workers import is_big, worker_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from concurrent.futures import Executor, Future

_MAX_BLOCKS = 2
"""Submitted blocks per process."""
_MAX_BYTES = 4 << 20
"""Bytes per submitted block on average; fewer blocks are submitted if lines are very long."""


@dataclass(slots=True)
class BlockOutcome:
    """What was found in a block of a file. Line numbers count from 0 at the start of the block."""

    lines: int = 0
    conversations: int = 0
    outcomes: dict[int, ConversationOutcome] = field(default_factory=dict)
    """By line, the outcomes that contain findings."""
    errors: dict[int, str] = field(default_factory=dict)
    """By line, the reasons why it could not be read."""
    skipped: int = 0
    """Lines or files that contain JSON but no conversation."""


def process_file(
    source: InputFile, file: IO[bytes], settings: RunSettings, pool: Executor | None = None
) -> Iterator[tuple[Block, BlockOutcome]]:
    """Yield each block of a file with its outcome, in order.

    All processes of ``pool`` share the blocks of a large file.
    """
    state = os.fstat(file.fileno())
    if source.prefetched is not None and (known := source.prefetched(state)) is not None:
        yield from known
    elif pool is not None and is_big(source):
        yield from _process_in_parallel(source, file, settings, pool)
    else:
        for block in blocks(source, file):
            yield block, process_block(block.pieces(file, lines=source.has_lines), settings, source)


def _process_in_parallel(
    source: InputFile, file: IO[bytes], settings: RunSettings, pool: Executor
) -> Iterator[tuple[Block, BlockOutcome]]:
    pending: deque[tuple[Block, Future[BlockOutcome]]] = deque()
    most, size = worker_count(settings) * _MAX_BLOCKS, 0
    for block in blocks(source, file):
        while pending and (len(pending) >= most or size + block.size > most * _MAX_BYTES):
            done, outcome = pending.popleft()
            size -= done.size
            yield done, outcome.result()
        pending.append((block, pool.submit(_process_part, block, settings, source)))
        size += block.size
    for done, outcome in pending:
        yield done, outcome.result()


def _process_part(block: Block, settings: RunSettings, source: InputFile) -> BlockOutcome:
    with source.plain_path.open("rb", buffering=BUFFER) as file:
        return process_block(block.pieces(file, lines=True), settings, source)


@deep_values()
def process_block(lines: Iterable[bytes], settings: RunSettings, source: InputFile) -> BlockOutcome:
    """Check, and repair if wanted, each conversation of a block."""
    outcome, has_lines = BlockOutcome(), source.has_lines
    for number, raw in enumerate(lines):
        outcome.lines += 1
        if has_lines and raw.isspace():
            continue
        try:
            found = process_conversation(raw, settings)
        except NoConversationError as error:
            if source.found:
                outcome.skipped += 1
            else:
                outcome.errors[number] = str(error)
        except UnreadableConversationError as error:
            outcome.errors[number] = str(error)
        except Exception as error:  # noqa: BLE001 - the other conversations go on
            # The text of the error may quote the conversation, so only its type is printed.
            outcome.errors[number] = (
                f"line 1, column 1: internal error of chatmend ({type(error).__name__}); "
                "please report it"
            )
        else:
            outcome.conversations += 1
            if found.findings:
                outcome.outcomes[number] = found
    return outcome
