"""One true account of tokens, whoever reports it."""

from chatmend.usage.account import Usage
from chatmend.usage.normalize import normalize_usage
from chatmend.usage.streams import UsageStream

__all__ = ["Usage", "UsageStream", "normalize_usage"]
