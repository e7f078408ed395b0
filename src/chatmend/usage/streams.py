"""Computes the usage of a stream from its chunks.

Providers report usage at the end only, as totals so far, as increments, or several times.
"""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from chatmend.usage.finding import find, layout_of, provider_of
from chatmend.usage.mappings import as_mapping
from chatmend.usage.normalize import add_body_fields, finish, merge_fields, recompute_total
from chatmend.usage.reading import Reading, read_usage
from chatmend.usage.reconciling import reconcile
from chatmend.usage.sse import EventReader
from chatmend.usage.tables import load
from chatmend.usage.usage_record import Usage, usage_from_fields

if TYPE_CHECKING:
    from chatmend.usage.shapes import Provider


class UsageStream:
    """Computes the usage of one stream. Feed every chunk in order; read `usage` at any time.

    Before the end of the stream was fed, the usage is not ``complete`` and its counts are lower
    bounds. Create one object for each stream. It is not thread-safe.
    """

    def __init__(self, provider: str | None = None, model: str | None = None) -> None:
        """Create an empty usage. By default the chunks reveal the provider and the model."""
        self._provider, self._model = provider, model
        self._row: Provider | None = None
        self._layers: dict[int, Reading] = {}
        self._steps: dict[str, Usage] = {}
        self._has_total = False
        self._body_fields: dict[str, Any] = {}
        self._errors: list[str] = []
        self._begun = self._ended = self._aborted = False
        self._events: EventReader | None = None

    @property
    def usage(self) -> Usage:
        """The usage so far."""
        records = [
            reconcile(reading.copy(), self._row)
            for _, reading in sorted(self._layers.items(), key=lambda item: item[0])
        ]
        if self._steps and not self._has_total:
            records.append(sum(self._steps.values(), Usage()).__dict__)
        values: dict[str, Any] = {"sources": {}}
        for record in records:
            merge_fields(values, record)
        merge_fields(values, self._body_fields)
        recompute_total(values)
        table = next(iter(self._layers.values())).table if self._layers else None
        row = self._row.name if self._row is not None and self._row.marks else ""
        name = self._provider or row or (table.provider if table is not None else "") or None
        return finish(values, self._faults(found=bool(records)), name, self._model)

    def feed(self, chunk: object) -> None:
        """Read the next chunk. Never raises.

        A chunk is a parsed event, an object of an SDK, a usage object, or a piece of raw SSE text.
        Feed chunks without usage too, because they show whether the stream finished.
        """
        if isinstance(chunk, str | bytes):
            self._events = self._events or EventReader()
            for event in self._events.feed(chunk):
                self._read(event, event)
            return
        data = as_mapping(chunk)
        if data is not None:
            self._read(data, chunk)

    def close(self, *, aborted: bool = False) -> Usage:
        """Mark the end of the stream and return `usage`.

        Args:
            aborted: whether the caller or the network interrupted the stream.
        """
        for event in self._events.close() if self._events is not None else ():
            self._read(event, event)
        self._aborted = aborted
        self._begun = True
        return self.usage

    def _read(self, data: Mapping[str, Any], chunk: object) -> None:
        layout = layout_of(data)
        found = find(data, layout)
        if not found or found[0][1] or found[0][2].body:
            self._update_state(data)
        if found and self._row is None:
            module = type(chunk).__module__.partition(".")[0]
            self._row = provider_of(
                found[0][4], self._provider, self._model or _model(data), module
            )
        readings = [(layer, read_usage(table, usage)) for layer, _, table, usage, _ in found]
        if not found or found[0][1]:
            body_fields: dict[str, Any] = {"sources": {}}
            add_body_fields(body_fields, data, layout)
            merge_fields(body_fields, self._body_fields)
            self._body_fields = body_fields
        if (step := _step(data, chunk)) is not None:
            self._add_step(
                step, [usage_from_fields(reconcile(reading, self._row)) for _, reading in readings]
            )
            return
        self._has_total = self._has_total or _event(data) in _words("totals")
        for layer, reading in readings:
            self._update_layer(layer, reading)

    def _update_layer(self, layer: int, new: Reading) -> None:
        """Update the values of a layer with those of a new chunk."""
        old = self._layers.get(layer)
        if old is None or (new.table.whole and new.table.whole in new.values):
            if old is not None:
                keep_texts(old, new)
            self._layers[layer] = new
            return
        # The start of an Anthropic stream has the marks of its shape; the end may not.
        if new.table.rank < old.table.rank:
            old.table = new.table
        drop_stale_parts(old, new)
        lower = _lower_counts(old, new) if old.table.highest else frozenset()
        old.values.update({key: value for key, value in new.values.items() if key not in lower})
        old.sources.update({key: path for key, path in new.sources.items() if key not in lower})
        for group, inner in new.extra.items():
            old.extra.setdefault(group, {}).update(inner)
        old.unread = list(dict.fromkeys([*old.unread, *new.unread]))
        old.warnings = list(dict.fromkeys([*old.warnings, *new.warnings]))
        old.separate = new.separate or old.separate

    def _add_step(self, step: str, usages: list[Usage]) -> None:
        """Add the usage of a step. If the step has an id, it replaces an earlier event of it."""
        if usages:
            self._steps[step] = usages[0] if step else self._steps.get("", Usage()) + usages[0]

    def _update_state(self, data: Mapping[str, Any]) -> None:
        """Record whether the stream has begun, ended or failed."""
        stream = load("stream")
        event = _event(data)
        self._begun = self._begun or any(
            data[key] is not None for key in _words("chunks") & data.keys()
        )
        if (
            event in _words("ends")
            or _is_usage_only(data)
            or any(_has_value(data, path) for path in stream["end_values"])
        ):
            self._ended = True
        if event in _words("failures") or data.get("error"):
            self._errors.append("failed-stream: the stream contains an error event")

    def _faults(self, *, found: bool) -> list[str]:
        faults = list(dict.fromkeys(self._errors))
        if self._aborted or (self._begun and not self._ended):
            faults.append("unfinished-stream: the stream did not finish; its counts may be too low")
        if not found:
            faults.append(
                "no-usage: no chunk held usage; some servers need stream_options.include_usage"
            )
        return faults


def _lower_counts(old: Reading, new: Reading) -> frozenset[str]:
    """Return the counts that are lower in the new chunk than before."""
    counts = {key: value for key, value in new.values.items() if isinstance(value, int)}
    return frozenset(key for key, value in counts.items() if value < (old.values.get(key) or 0))


def drop_stale_parts(old: Reading, new: Reading) -> None:
    """Drop the parts of a split if the new chunk has another whole but not the parts."""
    for split in old.table.splits:
        later = new.values.get(split.whole)
        if later is None or any(part in new.values for part in split.parts):
            continue
        if sum(old.values.get(part) or 0 for part in split.parts) != later:
            for part in split.parts:
                old.values.pop(part, None)
                old.add_unread(*filter(None, [old.sources.pop(part, None)]))


def keep_texts(old: Reading, new: Reading) -> None:
    """Copy texts, such as the service tier, to a reading that replaces another but lacks them."""
    for key, value in old.values.items():
        if isinstance(value, str):
            new.values.setdefault(key, value)
            new.sources.setdefault(key, old.sources[key])


def _step(data: Mapping[str, Any], chunk: object) -> str | None:
    """Return the id of the step whose usage the chunk reports; None if it is not a step.

    Empty if the step has no id.
    """
    if _event(data) in _words("steps"):
        inner = as_mapping(data.get("data")) or as_mapping(data.get("response"))
        return str((inner or data).get("id") or "")
    # LangChain adds up the usage of its chunks.
    return "" if any(kind.__name__ in _words("adding") for kind in type(chunk).__mro__) else None


def _event(data: Mapping[str, Any]) -> str:
    for key in ("event", "type", "event_type"):
        value = data.get(key)
        value = getattr(value, "value", value)
        if isinstance(value, str):
            return value
    return ""


def _is_usage_only(data: Mapping[str, Any]) -> bool:
    choices = data.get("choices")
    return isinstance(choices, list) and not choices and bool(data.get("usage"))


def _has_value(data: Mapping[str, Any], path: str) -> bool:
    """Whether the path leads to a value that is not empty, in any entry of the lists it crosses."""
    values: list[Any] = [data]
    for key in path.split("."):
        rows = [
            row
            for value in values
            for item in (value if isinstance(value, list) else [value])
            if (row := as_mapping(item))
        ]
        values = [row[key] for row in rows if key in row]
    return any(bool(getattr(value, "value", value)) for value in values)


def _model(data: Mapping[str, Any]) -> str | None:
    model = data.get("model")
    return model if isinstance(model, str) else None


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(load("stream")[name])
