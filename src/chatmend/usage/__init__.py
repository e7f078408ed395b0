"""Normalises the token usage of every provider, SDK and gateway to one usage record."""

from chatmend.usage.files import usages_in
from chatmend.usage.ledger import Cost, Row, UsageLedger
from chatmend.usage.normalize import normalize_usage
from chatmend.usage.prices import estimate_cost
from chatmend.usage.streams import UsageStream
from chatmend.usage.summary import draw, render, summarise
from chatmend.usage.usage_record import Usage

__all__ = [
    "Cost",
    "Row",
    "Usage",
    "UsageLedger",
    "UsageStream",
    "draw",
    "estimate_cost",
    "normalize_usage",
    "render",
    "summarise",
    "usages_in",
]
