"""Reads the usage in logs of agents: session logs of Claude Code and messages of its Agent SDK."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from chatmend.usage.normalize import normalize_usage
from chatmend.usage.numbers import parse_number
from chatmend.usage.shapes import Leaf
from chatmend.usage.tables import tables
from chatmend.usage.usage_record import Number, Usage

_Totals = dict[str, dict[str, Number]]
"""The counts of each model, so far."""

_COST = "total_cost_usd"


class AgentLog:
    """The answers and results in the rows of a log.

    An answer has one row for each of its blocks, and counts once. A result replaces the answers of
    its session that precede it: it includes them, and the rows of answers often hold the output at
    the start of the stream (https://github.com/anthropics/claude-code/issues/25941).
    """

    def __init__(self) -> None:
        """Create an empty log."""
        self._answers: dict[str, dict[str, Usage]] = {}
        self._runs: list[Usage] = []
        self._totals: dict[str, _Totals] = {}

    def add(self, row: Mapping[str, Any]) -> bool:
        """Add a row. Return whether it is an answer or a result of an agent."""
        session = str(row.get("session_id"))
        if (answer_id := _answer_id(row)) is not None:
            self._answers.setdefault(session, {})[answer_id] = normalize_usage(row)
            return True
        if _COST not in row or "session_id" not in row:
            return False
        if runs := self._usages_of_result(row, session):
            self._runs += runs
            self._answers.pop(session, None)
        return True

    def usages(self) -> Iterator[Usage]:
        """Yield the usage of each result, by model, then of each answer that no result includes."""
        yield from self._runs
        for answers in self._answers.values():
            yield from answers.values()

    def _usages_of_result(self, row: Mapping[str, Any], session: str) -> list[Usage]:
        """Return the usage since the previous result of the session, one record for each model.

        Costs and counts of models grow as long as the process runs
        (https://github.com/anthropics/claude-code/issues/83239). Lower ones are of a new process.
        """
        totals = _totals(row)
        previous = self._totals.get(session, {})
        self._totals[session] = totals
        if _has_restarted(previous, totals):
            previous = {}
        since = {model: _difference(now, previous.get(model, {})) for model, now in totals.items()}
        if _COST in totals:  # no counts by model
            usage = normalize_usage(row)
            cost = normalize_usage(since[_COST]).cost
            usages = [replace(usage, cost=cost, model=self._model_of(session))]
        else:
            usages = [normalize_usage(counts, model=model) for model, counts in since.items()]
        return [usage for usage in usages if usage.total_tokens or usage.cost]

    def _model_of(self, session: str) -> str | None:
        """Return the model of the answers of a session, if all have the same."""
        models = {usage.model for usage in self._answers.get(session, {}).values()}
        return models.pop() if len(models) == 1 else None


def _answer_id(row: Mapping[str, Any]) -> str | None:
    """Return the id of an answer; None if the row is not a block of an answer with usage."""
    # The Python SDK has the fields of the message in the row.
    message, name = (row, "message_id") if "message_id" in row else (row.get("message"), "id")
    if (
        isinstance(message, dict)
        and isinstance(message.get("usage"), dict)
        and isinstance(message.get(name), str)
    ):
        return f"{message[name]} {row.get('requestId')}"
    return None


def _totals(row: Mapping[str, Any]) -> _Totals:
    """Return the counts of each model in a result, or only the cost if there are none."""
    models = row.get("modelUsage") or row.get("model_usage")
    rows = models if isinstance(models, dict) else {}
    totals = {model: _numbers(counts) for model, counts in rows.items() if isinstance(counts, dict)}
    return totals or {_COST: _numbers({"costUSD": row[_COST]})}


def _numbers(counts: Mapping[str, Any]) -> dict[str, Number]:
    keys = tables()["claude_code"].keys
    return {
        key: number
        for key, value in counts.items()
        if isinstance(keys.get(key), Leaf) and (number := parse_number(value)) is not None
    }


def _has_restarted(previous: _Totals, totals: _Totals) -> bool:
    return any(
        number > totals.get(model, {}).get(key, 0)
        for model, counts in previous.items()
        for key, number in counts.items()
    )


def _difference(now: Mapping[str, Number], previous: Mapping[str, Number]) -> dict[str, Number]:
    return {key: number - previous.get(key, 0) for key, number in now.items()}
