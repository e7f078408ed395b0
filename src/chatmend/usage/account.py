"""One account of tokens: what a call used, whoever reported it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import Any, Self

Number = int | Decimal

SEVERAL = "several"
"""What a sum says where its parts disagree about a text, such as the model."""


# No slots: an account with ten of forty fields set is built by filling ``__dict__``; the rest are class attributes.
@dataclass(frozen=True, repr=False)
class Usage:
    """What one call used, or the sum of many. A count that nobody reported is ``None``, never 0.

    ``input_tokens`` and ``output_tokens`` are all in: cached, written, tool-use prompt, image and audio tokens are
    inside the first, reasoning inside the second, whatever the provider leaves out of its own totals. The other
    counts are parts of these two.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    """Input and output together; the provider's own total where it tells them not apart."""
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    cache_write_5m_tokens: int | None = None
    cache_write_1h_tokens: int | None = None
    reasoning_tokens: int | None = None
    tool_use_prompt_tokens: int | None = None
    """Results of tools that the provider ran itself, fed back as input (Gemini)."""
    input_text_tokens: int | None = None
    input_audio_tokens: int | None = None
    input_image_tokens: int | None = None
    input_video_tokens: int | None = None
    input_document_tokens: int | None = None
    output_text_tokens: int | None = None
    output_audio_tokens: int | None = None
    output_image_tokens: int | None = None
    output_video_tokens: int | None = None
    web_search_requests: int | None = None
    provider_total: int | None = None
    """The total as the provider stated it, right or wrong."""
    cost: Decimal | None = None
    """What the provider says the call cost, in ``cost_currency``; exact, so that sums do not drift."""
    cost_currency: str | None = None
    cost_source: str | None = None
    """``provider``, or the name of the gateway or price list that estimated it. ``sources["cost"]`` is the path."""
    service_tier: str | None = None
    provider: str | None = None
    model: str | None = None
    kind: str | None = None
    """What a part is: ``compaction``, ``advisor_message``, ``image_gen``. None for the account of a call."""
    complete: bool = True
    """False for an error, for a stream that has not come to its end, and where no account was found at all."""
    details: Mapping[str, Number] = field(default_factory=dict, hash=False)
    """Counts that split one of the fields further, such as ``cache_read_text_tokens``."""
    billed: Mapping[str, Number] = field(default_factory=dict, hash=False)
    """What is billed and is no token: requests, pages, seconds, search units."""
    cost_details: Mapping[str, Decimal] = field(default_factory=dict, hash=False)
    parts: tuple["Usage", ...] = ()
    """Accounts beside this one, **not** inside it, one for each kind and model: a compaction, an image tool."""
    sources: Mapping[str, str] = field(default_factory=dict, hash=False)
    """For each field the path that it was read from: ``a | b`` where two say the same, ``a + b`` where it is a sum."""
    unread: tuple[str, ...] = ()
    """Paths of numbers that are no part of any account (durations, rates), or that no table knows."""
    warnings: tuple[str, ...] = ()
    """``code: text`` for each identity that does not hold, sorted; the code alone where the texts of a sum differ."""

    def __repr__(self) -> str:
        """Only what is set, and not where it was read from: most of the fields are None."""
        told = {f.name: getattr(self, f.name) for f in _FIELDS if f.name not in {"sources", "unread"}}
        shown = ", ".join(f"{name}={value!r}" for name, value in told.items() if value not in (None, {}, ()))
        return f"Usage({shown})"

    @property
    def cache_hit_ratio(self) -> float | None:
        """The share of the input that was read from a cache, 0 to 1; None where either count is missing or 0 input.

        Some hosts of Grok and Magistral report more cached tokens than input; the ratio stays at 1.
        """
        if self.cache_read_tokens is None or not self.input_tokens:
            return None
        return min(1.0, self.cache_read_tokens / self.input_tokens)

    def __add__(self, other: object) -> "Usage":
        """The account of both calls together. Addition is associative; ``Usage()`` changes nothing."""
        if not isinstance(other, Usage):
            return NotImplemented
        from chatmend.usage.sums import add

        return add(self, other)

    def __radd__(self, other: object) -> "Usage":
        """Let ``sum(usages)`` begin at 0."""
        return self if other == 0 else NotImplemented

    def to_dict(self) -> dict[str, Any]:
        """What is set, ready for JSON. Amounts of money and other fractions are strings, so that none is rounded."""
        told = {f.name: getattr(self, f.name) for f in _FIELDS}
        unset = {f.name: f.default for f in _FIELDS}
        return {name: _out(value) for name, value in told.items() if value not in (unset[name], {}, ())}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote. Keys that are no field are left out."""
        return cls(**{key: _in(key, value) for key, value in data.items() if key in _NAMES})

    def to_litellm(self) -> Any:  # noqa: ANN401 - a class of a package that may be absent
        """The account as a ``litellm.Usage``. Raises ImportError where litellm is not installed."""
        from chatmend.usage.converters import to_litellm

        return to_litellm(self)

    def to_langchain(self) -> dict[str, Any]:
        """The account as LangChain's ``UsageMetadata`` (a typed dict)."""
        from chatmend.usage.converters import to_langchain

        return to_langchain(self)

    def to_opentelemetry(self) -> dict[str, int | float | str]:
        """The account as attributes of the OpenTelemetry GenAI conventions, ``gen_ai.usage.*``."""
        from chatmend.usage.converters import to_opentelemetry

        return to_opentelemetry(self)


_FIELDS = fields(Usage)
_NAMES = frozenset(f.name for f in _FIELDS)
_NUMBERS = frozenset({"details", "billed", "cost_details"})


def build(values: dict[str, Any]) -> Usage:
    """An account from the fields that are set, much faster than the constructor. The dict becomes the account's."""
    usage = _new(Usage)
    _set(usage, "__dict__", values)
    return usage


_new, _set = object.__new__, object.__setattr__


# A field with a default factory has no class attribute, which an account from `build` falls back on.
for _name in ("details", "billed", "cost_details", "sources"):
    setattr(Usage, _name, {})


def _out(value: object) -> object:
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _out(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [item.to_dict() if isinstance(item, Usage) else item for item in value]
    return value


def _in(key: str, value: Any) -> Any:  # noqa: ANN401 - one field or another
    if key == "cost":
        return None if value is None else Decimal(value)
    if key in _NUMBERS:
        return {name: Decimal(item) if isinstance(item, str) else item for name, item in value.items()}
    if key == "parts":
        return tuple(Usage.from_dict(part) for part in value)
    return tuple(value) if isinstance(value, list) else value
