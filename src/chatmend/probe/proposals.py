"""Edits of the tables that the report of a probe suggests."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chatmend.probe.run import CONFIRMED, OUT_OF_DATE, by_limit, verdict_on
from chatmend.targets.explain import origins
from chatmend.targets.resolve import find_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.targets.explain import Origin

Entry = dict[str, Any]


def proposals(report: dict[str, Any]) -> Iterator[str]:
    """Yield TOML lines for the tables in ``src/chatmend/targets``, with comments.

    A confirmed limit keeps its value and gets a new source and date. For a limit that is out of
    date the line has the value that the answers suggest, or a comment if they suggest none. What a
    maker demands behind every host is not changed for all of them: a host that accepts it gets an
    entry in ``[lifts]``, and the maker's own API a ``[[generation]]`` for the model.

    Args:
        report: a report of ``chatmend probe``, as ``read_report`` returns it.
    """
    where = _Place.of(report["target"])
    known = {
        _name(origin): origin
        for origin in origins(report["target"], report["format"])
        if origin.section in ("limits", "images")
    }
    by_place: dict[str, list[str]] = {}
    for limit, verdict in by_limit(report["cases"]).items():
        entries = [entry for entry in report["cases"] if entry["limit"] == limit]
        origin = known.get(limit)
        if verdict == CONFIRMED and origin is not None:
            line = _fact(limit, origin.value, entries, where.target)
            by_place.setdefault(origin.place, []).append(line)
        elif verdict == OUT_OF_DATE:
            place, line = _change(limit, origin, entries, where)
            by_place.setdefault(place, []).append(line)
    for place, lines in by_place.items():
        yield f"# {place}"
        yield from lines
        yield ""
    if not by_place:
        yield "# The report suggests no edits."


@dataclass(frozen=True, slots=True)
class _Place:
    """The tables that describe a target."""

    target: str
    file: str
    """The table of the host."""
    model: str
    is_own_api: bool
    """The host is the maker's own API: everything that the maker checks holds there."""

    @staticmethod
    def of(target: str) -> _Place:
        host, model = find_table(target)
        if host is None:
            return _Place(target, "hosts/NEW.toml", model, is_own_api=False)
        holds = {entry.get("holds") for entry in host.get("serves", ())}
        return _Place(target, host["file"], model, is_own_api="all" in holds)


def _name(origin: Origin) -> str:
    return f"images.{origin.name}" if origin.section == "images" else origin.name


def _fact(limit: str, value: Any, entries: list[Entry], target: str) -> str:  # noqa: ANN401 - TOML
    checked = max(entry["checked"] for entry in entries)
    source = json.dumps(f"recorded: chatmend probe {target}")
    name = limit.removeprefix("images.")
    return f"{name} = {{ value = {_toml(value)}, source = {source}, checked = {checked} }}"


def _change(
    limit: str, origin: Origin | None, entries: list[Entry], where: _Place
) -> tuple[str, str]:
    """Return the place and the line for a limit that is out of date."""
    differing = [entry for entry in entries if verdict_on(entry) == OUT_OF_DATE]
    forms = "; ".join(f"{entry['form']}: {entry['answer']}" for entry in differing)
    is_structure = origin is not None and "[structure" in origin.place
    if is_structure and not where.is_own_api and _are_accepted(differing):
        checked = max(entry["checked"] for entry in differing)
        source = json.dumps(f"recorded: chatmend probe {where.target}: {forms}")
        name = json.dumps(limit) if "." in limit else limit
        return f"{where.file} [lifts]", f"{name} = {{ source = {source}, checked = {checked} }}"
    value = _value_after(limit, origin.value if origin else None, differing)
    place = _place_of_change(limit, origin, where, is_structure=is_structure)
    if value is None:
        return place, f"# {limit}: choose a value; {forms}"
    return place, f"{_fact(limit, value, differing, where.target)}  # {forms}"


def _place_of_change(
    limit: str, origin: Origin | None, where: _Place, *, is_structure: bool
) -> str:
    if origin is not None and is_structure and where.is_own_api:
        file, _, rest = origin.place.partition(" [")
        section = rest.partition("]")[0]
        return f'{file}, [[generation]] models = ["{where.model}"], [generation.{section}]'
    if origin is None or is_structure:
        return f"{where.file} [{'images' if limit.startswith('images.') else 'limits'}]"
    return origin.place


def _are_accepted(differing: list[Entry]) -> bool:
    return all(entry["answer"] == "accepted" for entry in differing)


def _value_after(limit: str, value: Any, differing: list[Entry]) -> Any:  # noqa: ANN401 - TOML
    """Return the value that the answers suggest; None if they suggest none."""
    if limit == "refused_keys":
        keys = set(value or ())
        for entry in differing:
            key = entry["form"].split()[2]
            keys = keys | {key} if entry["answer"] == "refused" else keys - {key}
        return sorted(keys)
    suggested = {json.dumps(entry["otherwise"]) for entry in differing}
    return json.loads(suggested.pop()) if len(suggested) == 1 else None


def _toml(value: Any) -> str:  # noqa: ANN401 - TOML
    return json.dumps(value, ensure_ascii=False)
