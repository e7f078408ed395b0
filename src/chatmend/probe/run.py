"""Asks a provider about the limits of a target, case by case, and writes a report that can resume.

The report is a JSON object; ``proposals`` reads it::

    {"target": "mistral/ministral-3b-latest", "format": "openai_chat", "url": ..., "cases": [
        {"limit": "pairing", "form": "a call without a result", "expected": "refused",
         "answer": "refused", "status": 400, "message": ..., "checked": "2026-11-23", "body": ...},
        ...]}
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from chatmend.errors import ProbeError
from chatmend.images.sizes import tokens as image_tokens
from chatmend.probe.cases import Case, cases, controls
from chatmend.probe.pictures import SIDE
from chatmend.probe.requests import body_of
from chatmend.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from decimal import Decimal
    from pathlib import Path

    from chatmend.probe.endpoint import Endpoint
    from chatmend.probe.provider import Answer

_TOKENS_PER_IMAGE = 10_000
"""More than any provider counts for one of the images that are sent."""
_TOKENS_BESIDE, _TOKENS_FOR_TOOLS = 100, 1_000
"""More than any provider adds to a request, and to one with a tool."""
CONFIRMED, OUT_OF_DATE, UNKNOWN = "confirmed", "out of date", "unknown"


@dataclass(frozen=True, slots=True)
class Plan:
    """The requests of a probe."""

    endpoint: Endpoint
    controls: list[Case]
    cases: list[Case]

    @property
    def untested(self) -> list[str]:
        """The limits that the tables set for the target and no case tests."""
        tested = {case.limit for case in self.cases}
        return [name for name in _set_limits(self.endpoint) if name not in tested]

    def body(self, case: Case) -> dict[str, Any]:
        """Return the request body of a case."""
        endpoint = self.endpoint
        return body_of(case, endpoint.dialect, endpoint.model, endpoint.tokens_key)


@dataclass(frozen=True, slots=True)
class Cost:
    """Upper bounds for a number of requests, if the provider obeys the limit of output tokens."""

    requests: int
    input_tokens: int
    output_tokens: int
    dollars: Decimal | None
    """None: the price of the model is not known."""


def plan(endpoint: Endpoint, only: Iterable[str] = ()) -> Plan:
    """Return the requests that test the limits of an endpoint.

    Args:
        endpoint: where to send them.
        only: names of limits to test; empty: all.

    Raises:
        ProbeError: a name in ``only`` is not a limit that can be tested here.
    """
    limits = endpoint.limits
    found = cases(limits, endpoint.dialect)
    wanted = set(only)
    if unknown := wanted - {case.limit for case in found}:
        names = ", ".join(sorted({case.limit for case in found}))
        message = f"no request tests {', '.join(sorted(unknown))}; choose from: {names}"
        raise ProbeError(message)
    chosen = [case for case in found if not wanted or case.limit in wanted]
    return Plan(endpoint, controls(limits), chosen)


def _set_limits(endpoint: Endpoint) -> list[str]:
    from chatmend.targets.explain import origins  # noqa: PLC0415 - reads all tables

    return [
        f"images.{origin.name}" if origin.section == "images" else origin.name
        for origin in origins(endpoint.target.name, endpoint.dialect)
        if origin.section in ("limits", "images")
    ]


def cost_of(plan: Plan, known: Iterable[str] = ()) -> Cost:
    """Return the highest possible cost of the requests, without those whose answer is known."""
    skipped = set(known)
    sent = [*plan.controls, *(case for case in plan.cases if case.name not in skipped)]
    each = image_tokens(plan.endpoint.limits.images, (SIDE, SIDE)) or _TOKENS_PER_IMAGE
    tokens = sum(_max_tokens(plan.body(case), each) for case in sent)
    usage = Usage(
        provider=plan.endpoint.target.provider,
        model=plan.endpoint.model,
        input_tokens=tokens,
        output_tokens=len(sent),
        total_tokens=tokens + len(sent),
    )
    return Cost(len(sent), tokens, len(sent), _price(usage))


def _max_tokens(body: dict[str, Any], image: int) -> int:
    """Return more tokens than a provider can count: every token has at least one byte.

    Args:
        body: the request.
        image: the tokens of an image.
    """
    text = json.dumps(body)
    images = text.count(";base64,") + text.count('"base64"') + text.count('"inlineData"')
    more = _TOKENS_FOR_TOOLS if "tools" in body else _TOKENS_BESIDE
    return images * image + more + (0 if images else len(text))


def _price(usage: Usage) -> Decimal | None:
    from chatmend.usage.prices import estimate_cost_at_provider  # noqa: PLC0415 - an optional dependency

    try:
        return estimate_cost_at_provider(usage)
    except ImportError:
        return None


class Report:
    """The answers of a provider, in a file that is written after every answer."""

    def __init__(self, path: Path, endpoint: Endpoint) -> None:
        """Read the answers of an interrupted run from ``path``, if it has the same target.

        Raises:
            ProbeError: the file is something else, or the report of another target.
        """
        self._path = path
        self._head = {
            "chatmend": version("chatmend"),
            "target": endpoint.target.name,
            "model": endpoint.model,
            "format": endpoint.dialect,
            "url": endpoint.url,
        }
        self._cases = {f"{one['limit']}: {one['form']}": one for one in self._earlier()}

    def _earlier(self) -> list[dict[str, Any]]:
        if not self._path.exists():
            return []
        found = read_report(self._path)
        differing = [
            key for key in ("target", "model", "format", "url") if found.get(key) != self._head[key]
        ]
        if differing:
            key = differing[0]
            message = (
                f"{self._path} is the report of another {key} ({found.get(key)}): move it away, or "
                "name another file with --report"
            )
            raise ProbeError(message)
        return list(found["cases"])

    def answer_to(self, case: Case) -> dict[str, Any] | None:
        """Return the answer to a case from this run or the one before; None: not yet asked."""
        found = self._cases.get(case.name)
        expected = "refused" if case.is_refused else "accepted"
        known = found is not None and found["answer"] != UNKNOWN and found["expected"] == expected
        return found if known else None

    def add(self, case: Case, answer: Answer, body: dict[str, Any], value: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
        """Add the answer to a case and write the file."""
        entry = {
            "limit": case.limit,
            "form": case.form,
            "value": value,
            "expected": "refused" if case.is_refused else "accepted",
            "answer": answer.verdict,
            "otherwise": case.otherwise,
            "status": answer.status,
            "message": answer.message,
            "checked": datetime.now(tz=UTC).date().isoformat(),
            "body": body,
        }
        self._cases[case.name] = entry
        text = json.dumps({**self._head, "cases": list(self._cases.values())}, indent=1)
        part = self._path.with_name(f"{self._path.name}.part")
        part.write_text(text + "\n", "utf-8")
        part.replace(self._path)
        return entry


def read_report(path: Path) -> dict[str, Any]:
    """Return a report.

    Raises:
        ProbeError: the file cannot be read or is not a report.
    """
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        message = f"{path} cannot be read: {error}"
        raise ProbeError(message) from error
    if not isinstance(found, dict) or not isinstance(found.get("cases"), list):
        message = f"{path} is not a report of chatmend probe"
        raise ProbeError(message)
    return found


def check_controls(plan: Plan, ask: Callable[[dict[str, Any]], Answer]) -> None:
    """Send conversations that every provider accepts.

    Raises:
        ProbeError: the provider does not accept one of them, so that no other answer would say
            anything about a limit.
    """
    for case in plan.controls:
        answer = ask(plan.body(case))
        if answer.verdict != "accepted":
            status = "" if answer.status is None else f" ({answer.status})"
            message = (
                f"{plan.endpoint.url} does not accept {case.form} for {plan.endpoint.model}"
                f"{status}: {answer.message}"
            )
            raise ProbeError(message)


def answers(
    plan: Plan, report: Report, ask: Callable[[dict[str, Any]], Answer]
) -> Iterator[dict[str, Any]]:
    """Yield the entry of the report for each case; ask the provider where it is missing."""
    for case in plan.cases:
        known = report.answer_to(case)
        if known is None:
            body = plan.body(case)
            known = report.add(case, ask(body), body, _value(plan.endpoint, case))
        yield known


def _value(endpoint: Endpoint, case: Case) -> Any:  # noqa: ANN401 - the limit's type
    limits, name = endpoint.limits, case.limit
    if name.startswith("images."):
        value = getattr(limits.images, name.removeprefix("images."))
    else:
        value = getattr(limits, name)
    return sorted(value) if isinstance(value, frozenset) else value


def verdict_on(entry: dict[str, Any]) -> str:
    """Return what an entry says about its limit: ``confirmed``, ``out of date`` or ``unknown``."""
    if entry["answer"] == UNKNOWN:
        return UNKNOWN
    return CONFIRMED if entry["answer"] == entry["expected"] else OUT_OF_DATE


def by_limit(entries: Iterable[dict[str, Any]]) -> dict[str, str]:
    """Return the verdict on each limit; one contradicted case makes the limit out of date."""
    found: dict[str, Counter[str]] = {}
    for entry in entries:
        found.setdefault(entry["limit"], Counter())[verdict_on(entry)] += 1
    order = (OUT_OF_DATE, UNKNOWN, CONFIRMED)
    return {limit: next(one for one in order if counts[one]) for limit, counts in found.items()}
