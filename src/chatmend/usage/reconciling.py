"""Reconciles counts with the total to decide which counts include which others."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from chatmend.usage.reading import Reading
from chatmend.usage.shapes import Part, Provider
from chatmend.usage.sums import merge_by_kind
from chatmend.usage.usage_record import usage_from_fields

_TOKENS = ("input_tokens", "output_tokens")


def reconcile(reading: Reading, provider: Provider | None) -> dict[str, Any]:
    """Return the fields of the usage record for a reading, with complete input and output counts.

    The reading must not be used afterwards, because its values become those of the record.
    """
    values, sources, table = reading.values, reading.sources, reading.table
    if provider is not None and provider.rename:
        _rename(reading, provider.rename)
    if table.splits:
        _fill_splits(reading)
    given, written = values.get("input_tokens"), values.get("output_tokens")
    adds_up = (
        given is not None
        and written is not None
        and values.get("provider_total") == given + written
    )
    if not adds_up or table.outside or provider is not None:
        excluded = _excluded_parts(reading, provider)
        for part in (*excluded, *_parts_excluded_with(excluded, reading, provider)):
            _add_to_whole(values, sources, part)
        given, written = values.get("input_tokens"), values.get("output_tokens")
    if given is not None and written is not None:
        values["total_tokens"] = given + written
        sources["total_tokens"] = "input_tokens + output_tokens"
        if (values.get("reasoning_tokens") or 0) > written or (
            values.get("cache_read_tokens") or 0
        ) > given:
            _warn_of_larger_parts(reading, provider)
    elif "provider_total" in values:
        values["total_tokens"] = values["provider_total"]
        sources["total_tokens"] = sources["provider_total"]
    values["sources"] = sources
    if reading.extra:
        values.update(reading.extra)
    if reading.unread or reading.warnings or reading.separate or "cost" in values:
        _set_rare_fields(values, reading)
    return values


def _set_rare_fields(values: dict[str, Any], reading: Reading) -> None:
    """Set the fields that few usage records have."""
    if "cost" in values:
        values.setdefault("cost_currency", "USD")
    if reading.unread:
        values["unread"] = tuple(dict.fromkeys(reading.unread))
    if reading.warnings:
        values["warnings"] = tuple(sorted(set(reading.warnings)))
    if reading.separate:
        values["parts"] = merge_by_kind(
            tuple(
                usage_from_fields({**reconcile(inner, None), "kind": kind})
                for kind, inner in reading.separate
            )
        )


def _rename(reading: Reading, names: Mapping[str, str]) -> None:
    for old in names.keys() & reading.values.keys():
        group, _, name = names[old].partition(".")
        reading.extra.setdefault(group, {})[name] = reading.values.pop(old)
        reading.sources[names[old]] = reading.sources.pop(old)


def _fill_splits(reading: Reading) -> None:
    """Fill a whole that is missing or 0 with the sum of its parts.

    Warns if the parts do not add up to a whole that was reported.
    """
    values = reading.values
    for split in reading.table.splits:
        found = sum(values.get(part) or 0 for part in split.parts)
        known = values.get(split.whole)
        if found and not known:
            values[split.whole] = found
        elif (
            known
            and found
            and found != known
            and split.rest
            and reading.sources[split.whole].endswith(split.rest)
        ):
            values[split.whole] = known + found
        elif known and found != known and any(part in values for part in split.parts):
            reading.warn(
                f"cache-write-split-differs: {known} tokens were written to the cache, "
                f"but the counts by lifetime add up to {found}"
            )


def _excluded_parts(reading: Reading, provider: Provider | None) -> Sequence[Part]:
    """Return the parts that must be added to their wholes, decided by the total if there is one."""
    values = reading.values
    before = (values.get("input_tokens") or 0) + (values.get("output_tokens") or 0)
    total = values.get("provider_total")
    if total == before and not reading.table.outside:
        return _larger_reasoning(values, [], provider)
    known = total is not None and ("input_tokens" in values or "output_tokens" in values)
    parts = [part for part in reading.table.parts if values.get(part.part)]
    if not parts and not known:
        return ()
    counted = _excluded_by_convention(parts, values, provider, guess=not known)
    if not known:
        return counted
    for chosen in _choices(parts, counted):
        if before + sum(values[part.part] for part in chosen) == total:
            return chosen + _larger_reasoning(values, chosen, provider)
    return _explain_gap(reading, provider, counted)


def _parts_excluded_with(
    excluded: Sequence[Part], reading: Reading, provider: Provider | None
) -> Sequence[Part]:
    """Return the other parts that the provider excludes together with those that are excluded."""
    names = provider.outside_together if provider is not None else ()
    values = reading.values
    group = [p for p in reading.table.parts if p.part in names and values.get(p.part)]
    others = [part for part in group if part not in excluded]
    if not others:
        return ()
    is_one_excluded = len(others) < len(group)
    is_larger = sum(values[part.part] for part in group) > (values.get(group[0].whole) or 0)
    return others if is_one_excluded or is_larger else ()


def _excluded_by_convention(
    parts: list[Part], values: dict[str, Any], provider: Provider | None, *, guess: bool
) -> list[Part]:
    """Return the parts that the table excludes from their wholes.

    With ``guess``, which is for payloads without a total, also the parts that the provider usually
    excludes.
    """
    if not guess:
        return [part for part in parts if part.counted]
    habit = provider.outside if provider is not None else ()
    return [
        part
        for part in parts
        if part.counted or part.part in habit or _is_too_large(part, values, provider)
    ]


def _is_too_large(part: Part, values: dict[str, Any], provider: Provider | None) -> bool:
    """Whether there is more reasoning than output, so that the output cannot include it.

    This does not hold for providers that count reasoning with another tokenizer.
    """
    if part.part != "reasoning_tokens" or (
        provider is not None and part.part in provider.may_be_larger
    ):
        return False
    whole = values.get(part.whole)
    return whole is not None and bool(values[part.part] > whole)


def _choices(parts: list[Part], counted: list[Part]) -> list[list[Part]]:
    """Return every choice of excluded parts: the convention first, then by number of deviations."""
    return [
        [part for part in parts if (part in counted) != (part in changed)]
        for size in range(len(parts) + 1)
        for changed in combinations(parts, size)
    ]


def _larger_reasoning(
    values: dict[str, Any], chosen: list[Part], provider: Provider | None
) -> list[Part]:
    """Return the reasoning part if it exceeds the output, for providers that may exclude it.

    The total of these providers does not include it either (Vercel's Gemini).
    """
    names = provider.outside_if_larger if provider is not None else ()
    part = Part("reasoning_tokens", "output_tokens")
    if part.part not in names or any(one.part == part.part for one in chosen):
        return []
    return [part] if (values.get(part.part) or 0) > (values.get(part.whole) or 0) else []


def _explain_gap(reading: Reading, provider: Provider | None, counted: list[Part]) -> list[Part]:
    """Return the excluded parts if no choice of them gives the total.

    A count that was not reported separately may explain the difference. Otherwise it is reported
    as a warning.
    """
    values = reading.values
    sum_of = (
        (values.get("input_tokens") or 0)
        + (values.get("output_tokens") or 0)
        + sum(values[p.part] for p in counted)
    )
    gap = values["provider_total"] - sum_of
    for part in _remainders(reading, provider):
        if gap > 0 and not values.get(part.part):
            values[part.part] = gap
            return [*counted, part]
    if all(name in values for name in _TOKENS) or gap < 0:
        reading.warn(
            f"total-differs: the provider reports {values['provider_total']} tokens, "
            f"but its counts add up to {sum_of}"
        )
    return counted


def _remainders(reading: Reading, provider: Provider | None) -> list[Part]:
    rows = [
        part
        for part, (group, name) in reading.table.remainders
        if reading.extra.get(group, {}).get(name)
    ]
    if (
        provider is not None
        and provider.remainder is not None
        and reading.table.shape in provider.shapes
    ):
        rows.append(provider.remainder)
    return rows


def _add_to_whole(values: dict[str, Any], sources: dict[str, str], part: Part) -> None:
    amount = values[part.part]
    values[part.whole] = (values.get(part.whole) or 0) + amount
    from_part = sources.setdefault(part.part, "total")
    sources[part.whole] = (
        f"{sources[part.whole]} + {from_part}" if part.whole in sources else from_part
    )


def _warn_of_larger_parts(reading: Reading, provider: Provider | None) -> None:
    values = reading.values
    reasoning, output = values.get("reasoning_tokens") or 0, values["output_tokens"]
    allowed = provider.may_be_larger if provider is not None else ()
    if reasoning > output and "reasoning_tokens" not in allowed:
        reading.warn(
            f"reasoning-exceeds-output: {reasoning} reasoning tokens, {output} output tokens"
        )
    cached, given = values.get("cache_read_tokens") or 0, values["input_tokens"]
    if cached > given:
        reading.warn(f"cached-exceeds-input: {cached} cached tokens, {given} input tokens")
