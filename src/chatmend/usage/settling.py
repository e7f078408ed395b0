"""From what a payload says to what it means: which count lies inside which, as the total tells."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from chatmend.usage.account import build
from chatmend.usage.reading import Reading
from chatmend.usage.shapes import Part, Provider
from chatmend.usage.sums import by_kind

_TOKENS = ("input_tokens", "output_tokens")


def settle(reading: Reading, provider: Provider | None) -> dict[str, Any]:
    """The fields of the account that a reading amounts to. The reading is used up: its values become the account's."""
    values, sources, table = reading.values, reading.sources, reading.table
    if provider is not None and provider.rename:
        _rename(reading, provider.rename)
    if table.splits:
        _fill_splits(reading)
    given, written = values.get("input_tokens"), values.get("output_tokens")
    adds_up = given is not None and written is not None and values.get("provider_total") == given + written
    if not adds_up or table.outside or provider is not None:
        for part in _outside(reading, provider):
            _put(values, sources, part)
        given, written = values.get("input_tokens"), values.get("output_tokens")
    if given is not None and written is not None:
        values["total_tokens"] = given + written
        sources["total_tokens"] = "input_tokens + output_tokens"
        if (values.get("reasoning_tokens") or 0) > written or (values.get("cache_read_tokens") or 0) > given:
            _check(reading, provider)
    elif "provider_total" in values:
        values["total_tokens"] = values["provider_total"]
        sources["total_tokens"] = sources["provider_total"]
    values["sources"] = sources
    if reading.extra:
        values.update(reading.extra)
    if reading.unread or reading.warnings or reading.beside or "cost" in values:
        _tell(values, reading)
    return values


def _tell(values: dict[str, Any], reading: Reading) -> None:
    """Write down what few accounts have."""
    if "cost" in values:
        values.setdefault("cost_currency", "USD")
    if reading.unread:
        values["unread"] = tuple(dict.fromkeys(reading.unread))
    if reading.warnings:
        values["warnings"] = tuple(sorted(set(reading.warnings)))
    if reading.beside:
        values["parts"] = by_kind(tuple(build({**settle(inner, None), "kind": kind}) for kind, inner in reading.beside))


def _rename(reading: Reading, names: Mapping[str, str]) -> None:
    for old in names.keys() & reading.values.keys():
        group, _, name = names[old].partition(".")
        reading.extra.setdefault(group, {})[name] = reading.values.pop(old)
        reading.sources[names[old]] = reading.sources.pop(old)


def _fill_splits(reading: Reading) -> None:
    """A whole that is missing or 0 beside its parts is their sum; parts that do not add up are said so."""
    values = reading.values
    for split in reading.table.splits:
        found = sum(values.get(part) or 0 for part in split.parts)
        known = values.get(split.whole)
        if found and not known:
            values[split.whole] = found
        elif known and found and found != known and split.rest and reading.sources[split.whole].endswith(split.rest):
            values[split.whole] = known + found
        elif known and found != known and any(part in values for part in split.parts):
            reading.warn(f"cache-write-split-differs: {known} tokens were written, the lifetimes name {found}")


def _outside(reading: Reading, provider: Provider | None) -> Sequence[Part]:
    """The parts that must be added to their wholes, by the total if there is one."""
    values = reading.values
    before = (values.get("input_tokens") or 0) + (values.get("output_tokens") or 0)
    total = values.get("provider_total")
    if total == before and not reading.table.outside:
        return _larger(values, [], provider)
    known = total is not None and ("input_tokens" in values or "output_tokens" in values)
    parts = [part for part in reading.table.parts if values.get(part.part)]
    if not parts and not known:
        return ()
    counted = _counted(parts, values, provider, guess=not known)
    if not known:
        return counted
    for chosen in _choices(parts, counted):
        if before + sum(values[part.part] for part in chosen) == total:
            return chosen + _larger(values, chosen, provider)
    return _unexplained(reading, provider, counted)


def _counted(parts: list[Part], values: dict[str, Any], provider: Provider | None, *, guess: bool) -> list[Part]:
    """The parts that lie outside by the table; without a total to go by also those of the provider's habit."""
    if not guess:
        return [part for part in parts if part.counted]
    habit = provider.outside if provider is not None else ()
    return [part for part in parts if part.counted or part.part in habit or _too_large(part, values, provider)]


def _too_large(part: Part, values: dict[str, Any], provider: Provider | None) -> bool:
    """Reasoning that is more than all output is not inside of it, except where another tokenizer counted it."""
    if part.part != "reasoning_tokens" or (provider is not None and part.part in provider.may_be_larger):
        return False
    whole = values.get(part.whole)
    return whole is not None and bool(values[part.part] > whole)


def _choices(parts: list[Part], counted: list[Part]) -> list[list[Part]]:
    """Every way to count the parts, the table's own first, then with as few changed as can be."""
    return [
        [part for part in parts if (part in counted) != (part in changed)]
        for size in range(len(parts) + 1)
        for changed in combinations(parts, size)
    ]


def _larger(values: dict[str, Any], chosen: list[Part], provider: Provider | None) -> list[Part]:
    """A part larger than its whole is outside of it, though the total says nothing (Vercel's Gemini)."""
    names = provider.outside_if_larger if provider is not None else ()
    part = Part("reasoning_tokens", "output_tokens")
    if part.part not in names or any(one.part == part.part for one in chosen):
        return []
    return [part] if (values.get(part.part) or 0) > (values.get(part.whole) or 0) else []


def _unexplained(reading: Reading, provider: Provider | None, counted: list[Part]) -> list[Part]:
    """No way of counting gives the total: a count that was not told apart may explain it, else it is reported."""
    values = reading.values
    sum_of = (
        (values.get("input_tokens") or 0) + (values.get("output_tokens") or 0) + sum(values[p.part] for p in counted)
    )
    gap = values["provider_total"] - sum_of
    for part in _remainders(reading, provider):
        if gap > 0 and not values.get(part.part):
            values[part.part] = gap
            return [*counted, part]
    if all(name in values for name in _TOKENS) or gap < 0:
        reading.warn(f"total-differs: the provider says {values['provider_total']}, its counts give {sum_of}")
    return counted


def _remainders(reading: Reading, provider: Provider | None) -> list[Part]:
    rows = [part for part, (group, name) in reading.table.remainders if reading.extra.get(group, {}).get(name)]
    if provider is not None and provider.remainder is not None and reading.table.shape in provider.shapes:
        rows.append(provider.remainder)
    return rows


def _put(values: dict[str, Any], sources: dict[str, str], part: Part) -> None:
    amount = values[part.part]
    values[part.whole] = (values.get(part.whole) or 0) + amount
    from_part = sources.setdefault(part.part, "total")
    sources[part.whole] = f"{sources[part.whole]} + {from_part}" if part.whole in sources else from_part


def _check(reading: Reading, provider: Provider | None) -> None:
    values = reading.values
    reasoning, output = values.get("reasoning_tokens") or 0, values["output_tokens"]
    allowed = provider.may_be_larger if provider is not None else ()
    if reasoning > output and "reasoning_tokens" not in allowed:
        reading.warn(f"reasoning-exceeds-output: {reasoning} of {output} tokens")
    cached, given = values.get("cache_read_tokens") or 0, values["input_tokens"]
    if cached > given:
        reading.warn(f"cached-exceeds-input: {cached} of {given} tokens")
