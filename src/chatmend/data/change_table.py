"""Tables of changes: one row per change, with all that is needed to repeat the repair.

The rows of a table are in the order of the rows of the data, and of the changes in a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from chatmend.changes import Change, Effect
from chatmend.data.arrow import import_pyarrow
from chatmend.data.json_values import digest, dumps, loads
from chatmend.data.replaying import RecordedRow
from chatmend.data.rows import VALID, Recorded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

    from chatmend.data.rows import RowResult

    Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where changes come from; the same for all rows of a file."""

    file: str = ""
    layout: str | None = None
    column: str | None = None
    """The column with the messages, if it was named."""
    read_as: str | None = None
    """The usual name of that column."""
    target: str | None = None
    policy: str | None = None


_ORIGIN = ("file", "layout", "column", "read_as", "target", "policy")
_CHANGE = ("code", "rule", "effect", "where", "index", "at", "why")
_FLAGS = ("applied", "finding", "invalidates_thinking")


def change_schema() -> pa.Schema:
    """Return the schema of tables of changes."""
    pa = import_pyarrow()
    texts, numbers = pa.list_(pa.string()), pa.list_(pa.int32())
    types = {
        **{name: pa.dictionary(pa.int32(), pa.string()) for name in _ORIGIN},
        "row": pa.int64(),
        "status": pa.string(),
        "error": pa.string(),
        "conversation": pa.int32(),
        "is_repeated": pa.bool_(),
        "parameters": pa.string(),
        "digest": pa.string(),
        **dict.fromkeys(_CHANGE, pa.string()),
        "index": pa.int64(),
        "at": pa.int64(),
        "window": pa.list_(pa.int64()),
        **dict.fromkeys(_FLAGS, pa.bool_()),
        "before": texts,
        "after": texts,
        "kept": numbers,
    }
    return pa.schema([*types.items()])


def changes_to_table(
    results: Iterable[tuple[int, RowResult]], origin: Origin | None = None
) -> pa.Table:
    """Return the changes of rows as a table.

    Args:
        results: the number of each row and its outcome.
        origin: the values of the columns that are the same for all rows.
    """
    schema = change_schema()
    origin = origin or Origin()
    entries = [entry for at, result in results for entry in _entries(at, result)]
    columns = {
        name: [getattr(origin, name)] * len(entries)
        if name in _ORIGIN
        else [entry.get(name) for entry in entries]
        for name in schema.names
    }
    return import_pyarrow().table(columns, schema)


def _entries(at: int, result: RowResult) -> Iterator[Entry]:
    """Yield one entry per change; one without a change if there is none."""
    if result.status == VALID:
        return
    of_row = {"row": at, "status": result.status, "error": result.error}
    counted = set(map(id, result.changes))
    is_empty = True
    for number, recorded in enumerate(result.conversations):
        # The first change of a conversation also has what belongs to the whole conversation.
        whole = _conversation_entry(recorded) if recorded.changes else {}
        for change in recorded.changes:
            is_repeated = id(change) not in counted
            of_conversation = {"conversation": number, "is_repeated": is_repeated, **whole}
            yield {**of_row, **of_conversation, **_change_entry(change)}
            is_empty, whole = False, {}
    if is_empty:
        yield of_row


def _conversation_entry(recorded: Recorded) -> Entry:
    parameters = dumps(dict(recorded.parameters)) if recorded.parameters else None
    return {"parameters": parameters, "digest": digest(recorded.original)}


def _change_entry(change: Change) -> Entry:
    positions = {id(message): at for at, message in enumerate(change.before)}
    before = [*map(dumps, change.before)]
    kept = [positions.get(id(message)) for message in change.after]
    return {
        **{name: getattr(change, name) for name in (*_CHANGE, *_FLAGS)},
        "effect": change.effect.name.lower(),
        "window": None if change.window is None else [*change.window],
        "before": before,
        "after": [
            dumps(message) if at is None else before[at]
            for at, message in zip(kept, change.after, strict=True)
        ],
        "kept": kept,
    }


def recorded_rows(table: pa.Table | pa.RecordBatch) -> dict[int, RecordedRow]:
    """Return what a table of changes of one file records for each row."""
    listed = groupby(table.to_pylist(), key=lambda entry: entry["row"])
    return {row: _recorded_row([*entries]) for row, entries in listed}


def _recorded_row(entries: list[Entry]) -> RecordedRow:
    changes: list[Change] = []
    conversations: list[Recorded] = []
    for entry in entries:
        if entry["code"] is None:
            continue
        change = _read_change(entry)
        if not entry["is_repeated"]:
            changes.append(change)
        while len(conversations) <= entry["conversation"]:
            conversations.append(Recorded())
        old = conversations[-1]
        conversations[-1] = Recorded(
            (*old.changes, change),
            loads(entry["parameters"]) if entry["parameters"] else old.parameters,
            digest=entry["digest"] or old.digest,
        )
    first = entries[0]
    return RecordedRow(first["status"], first["error"], tuple(changes), tuple(conversations))


def _read_change(entry: Entry) -> Change:
    before = tuple(map(loads, entry["before"]))
    after = tuple(
        loads(text) if at is None else before[at]
        for text, at in zip(entry["after"], entry["kept"], strict=True)
    )
    return Change(
        **{name: entry[name] for name in (*_CHANGE, *_FLAGS) if name != "effect"},
        effect=Effect[entry["effect"].upper()],
        window=tuple(entry["window"]) if entry["window"] is not None else None,
        before=before,
        after=after,
    )
