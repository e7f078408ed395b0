"""One account of a stream, whatever its chunks report: nothing, all so far, what is new, or everything twice."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from chatmend.usage.account import Usage, build
from chatmend.usage.finding import find, plan_of, provider_of
from chatmend.usage.normalize import fill, fill_beside, finish, retotal
from chatmend.usage.plain import mapping
from chatmend.usage.reading import Reading, read
from chatmend.usage.settling import settle
from chatmend.usage.sse import EventReader
from chatmend.usage.tables import load

if TYPE_CHECKING:
    from chatmend.usage.shapes import Provider


class UsageStream:
    """The account of one stream while it runs. Feed every chunk in its order; read `usage` at any time.

    A stream whose chunks were fed, but not its end, is not ``complete``: what it used is at least what `usage` says.
    One stream, one object; it is not meant to be fed by several threads.
    """

    def __init__(self, provider: str | None = None, model: str | None = None) -> None:
        """Name the provider and the model where they are known; they are recognised otherwise."""
        self._provider, self._model = provider, model
        self._row: Provider | None = None
        self._layers: dict[int, Reading] = {}
        self._steps: dict[str, Usage] = {}
        self._total = False
        self._around: dict[str, Any] = {}
        self._wrong: list[str] = []
        self._begun = self._ended = self._aborted = False
        self._events: EventReader | None = None

    @property
    def usage(self) -> Usage:
        """The account so far."""
        accounts = [
            settle(reading.copy(), self._row) for _, reading in sorted(self._layers.items(), key=lambda item: item[0])
        ]
        if self._steps and not self._total:
            accounts.append(sum(self._steps.values(), Usage()).__dict__)
        values: dict[str, Any] = {"sources": {}}
        for account in accounts:
            fill(values, account)
        fill(values, self._around)
        retotal(values)
        table = next(iter(self._layers.values())).table if self._layers else None
        row = self._row.name if self._row is not None and self._row.marks else ""
        name = self._provider or row or (table.provider if table is not None else "") or None
        return finish(values, self._faults(found=bool(accounts)), name, self._model)

    def feed(self, chunk: object) -> None:
        """Take the next chunk: a parsed event, an SDK's object, a bare usage object, or a piece of raw SSE text.

        A chunk without usage is needed too: it tells whether the stream came to its end. Nothing raises.
        """
        if isinstance(chunk, str | bytes):
            self._events = self._events or EventReader()
            for event in self._events.feed(chunk):
                self._take(event, event)
            return
        data = mapping(chunk)
        if data is not None:
            self._take(data, chunk)

    def close(self, *, aborted: bool = False) -> Usage:
        """Say that no chunk will come; ``aborted`` where the caller or the network cut the stream. Returns `usage`."""
        for event in self._events.close() if self._events is not None else ():
            self._take(event, event)
        self._aborted = aborted
        self._begun = True
        return self.usage

    def _take(self, data: Mapping[str, Any], chunk: object) -> None:
        plan = plan_of(data)
        found = find(data, plan)
        if not found or found[0][1] or found[0][2].body:
            self._follow(data)
        if found and self._row is None:
            module = type(chunk).__module__.partition(".")[0]
            self._row = provider_of(found[0][4], self._provider, self._model or _model(data), module)
        readings = [(layer, read(table, account)) for layer, _, table, account, _ in found]
        if not found or found[0][1]:
            around: dict[str, Any] = {"sources": {}}
            fill_beside(around, data, plan)
            fill(around, self._around)
            self._around = around
        if (step := _step(data, chunk)) is not None:
            self._add_step(step, [build(settle(reading, self._row)) for _, reading in readings])
            return
        self._total = self._total or _event(data) in _words("totals")
        for layer, reading in readings:
            self._lay(layer, reading)

    def _lay(self, layer: int, new: Reading) -> None:
        """Lay a chunk's account over what the chunks before it said."""
        old = self._layers.get(layer)
        if old is None or (new.table.whole and new.table.whole in new.values):
            if old is not None:
                keep_words(old, new)
            self._layers[layer] = new
            return
        # the start of an Anthropic stream bears the marks, its end may not
        if new.table.rank < old.table.rank:
            old.table = new.table
        drop_stale(old, new)
        lower = _lower(old, new) if old.table.highest else frozenset()
        old.values.update({key: value for key, value in new.values.items() if key not in lower})
        old.sources.update({key: path for key, path in new.sources.items() if key not in lower})
        for group, inner in new.extra.items():
            old.extra.setdefault(group, {}).update(inner)
        old.unread = list(dict.fromkeys([*old.unread, *new.unread]))
        old.warnings = list(dict.fromkeys([*old.warnings, *new.warnings]))
        old.beside = new.beside or old.beside

    def _add_step(self, step: str, accounts: list[Usage]) -> None:
        """Note a step's account; a step that has an id may be sent again."""
        if accounts:
            self._steps[step] = accounts[0] if step else self._steps.get("", Usage()) + accounts[0]

    def _follow(self, data: Mapping[str, Any]) -> None:
        """Whether the stream has begun, ended or failed."""
        stream = load("stream")
        event = _event(data)
        self._begun = self._begun or any(data[key] is not None for key in _words("chunks") & data.keys())
        if event in _words("ends") or _is_usage_only(data) or any(_says(data, path) for path in stream["end_values"]):
            self._ended = True
        if event in _words("failures") or data.get("error"):
            self._wrong.append("failed-stream: an event of the stream is an error")

    def _faults(self, *, found: bool) -> list[str]:
        faults = list(dict.fromkeys(self._wrong))
        if self._aborted or (self._begun and not self._ended):
            faults.append("unfinished-stream: its end was not seen; the counts are those so far")
        if not found:
            faults.append("no-usage: no chunk held an account; some servers need stream_options.include_usage")
        return faults


def _lower(old: Reading, new: Reading) -> frozenset[str]:
    """The counts that the new chunk puts lower than they were."""
    counts = {key: value for key, value in new.values.items() if isinstance(value, int)}
    return frozenset(key for key, value in counts.items() if value < (old.values.get(key) or 0))


def drop_stale(old: Reading, new: Reading) -> None:
    """A split of a count that a later chunk restates differently belongs to the earlier count."""
    for split in old.table.splits:
        later = new.values.get(split.whole)
        if later is None or any(part in new.values for part in split.parts):
            continue
        if sum(old.values.get(part) or 0 for part in split.parts) != later:
            for part in split.parts:
                old.values.pop(part, None)
                old.leave(*filter(None, [old.sources.pop(part, None)]))


def keep_words(old: Reading, new: Reading) -> None:
    """A new account that starts over is silent about the service tier, which still holds."""
    for key, value in old.values.items():
        if isinstance(value, str):
            new.values.setdefault(key, value)
            new.sources.setdefault(key, old.sources[key])


def _step(data: Mapping[str, Any], chunk: object) -> str | None:
    """The id of the step whose usage this is, if the stream reports step by step; empty where it has none."""
    if _event(data) in _words("steps"):
        inner = mapping(data.get("data")) or mapping(data.get("response"))
        return str((inner or data).get("id") or "")
    # LangChain adds the usage of its chunks up
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


def _says(data: Mapping[str, Any], path: str) -> bool:
    """Whether the value at the path is there and not empty, in any entry of a list on the way."""
    values: list[Any] = [data]
    for key in path.split("."):
        rows = [
            row
            for value in values
            for item in (value if isinstance(value, list) else [value])
            if (row := mapping(item))
        ]
        values = [row[key] for row in rows if key in row]
    return any(bool(getattr(value, "value", value)) for value in values)


def _model(data: Mapping[str, Any]) -> str | None:
    model = data.get("model")
    return model if isinstance(model, str) else None


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(load("stream")[name])
