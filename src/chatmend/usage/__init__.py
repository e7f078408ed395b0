"""One true account of tokens, whoever reports it."""

from chatmend.usage.account import Usage
from chatmend.usage.files import usages_in
from chatmend.usage.ledger import Cost, Row, UsageLedger
from chatmend.usage.normalize import normalize_usage
from chatmend.usage.prices import estimate_cost
from chatmend.usage.streams import UsageStream
from chatmend.usage.summary import draw, render, summarise

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
