"""The usage record: the tokens, requests and cost of a call, in one form for all providers."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import Any, Self

Number = int | Decimal

SEVERAL = "several"
"""The value of a text field, such as the model, in a sum whose parts differ."""


# No slots: `usage_from_fields` sets ``__dict__`` to the few fields that have a value. The defaults
# of the others are class attributes.
@dataclass(frozen=True, repr=False)
class Usage:
    """The usage of one call, or the sum of many. A count that was not reported is ``None``, not 0.

    ``input_tokens`` and ``output_tokens`` are complete, even if the provider's own totals are not:
    the input includes cached, written, tool-use prompt, image and audio tokens, and the output
    includes reasoning. The other counts are parts of these two.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    """Input plus output; the provider's total if it does not report them separately."""
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    cache_write_5m_tokens: int | None = None
    cache_write_1h_tokens: int | None = None
    reasoning_tokens: int | None = None
    tool_use_prompt_tokens: int | None = None
    """Results of hosted tools that are sent to the model as input (Gemini)."""
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
    """The total that the provider reported, correct or not."""
    cost: Decimal | None = None
    """The cost that the provider reported, in ``cost_currency``; exact, so sums are not rounded."""
    cost_currency: str | None = None
    cost_source: str | None = None
    """``provider``, or the gateway, client or price list that estimated the cost.

    ``sources["cost"]`` is the path of the cost.
    """
    service_tier: str | None = None
    provider: str | None = None
    model: str | None = None
    kind: str | None = None
    """The kind of a part: ``compaction``, ``advisor_message``, ``image_gen``. None for a call."""
    complete: bool = True
    """False for an error, for a stream that did not finish, and if no usage was found."""
    details: Mapping[str, Number] = field(default_factory=dict, hash=False)
    """Counts that split one of the fields further, such as ``cache_read_text_tokens``."""
    billed: Mapping[str, Number] = field(default_factory=dict, hash=False)
    """Billed quantities other than tokens: requests, pages, seconds, search units."""
    cost_details: Mapping[str, Decimal] = field(default_factory=dict, hash=False)
    parts: tuple["Usage", ...] = ()
    """Separate usage that is **not** included in this record, such as compaction or an image tool.

    There is one usage record for each kind and model.
    """
    sources: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The path of each field: ``a | b`` if two paths hold the same value, ``a + b`` for a sum."""
    unread: tuple[str, ...] = ()
    """Paths of numbers that are not usage (durations, rates) or that no table contains."""
    warnings: tuple[str, ...] = ()
    """Contradictions in the reported numbers, as ``code: text``, sorted.

    In a sum whose parts have different texts for a code, the code alone.
    """

    def __repr__(self) -> str:
        """Return the fields that are set, without ``sources`` and ``unread``."""
        values = {
            f.name: getattr(self, f.name) for f in _FIELDS if f.name not in {"sources", "unread"}
        }
        shown = ", ".join(
            f"{name}={value!r}" for name, value in values.items() if value not in (None, {}, ())
        )
        return f"Usage({shown})"

    @property
    def cache_hit_ratio(self) -> float | None:
        """The share of the input that was read from a cache, 0 to 1.

        None if either count is missing or the input is 0. Some hosts of Grok and Magistral report
        more cached tokens than input; the ratio is then 1.
        """
        if self.cache_read_tokens is None or not self.input_tokens:
            return None
        return min(1.0, self.cache_read_tokens / self.input_tokens)

    def __add__(self, other: object) -> "Usage":
        """Return the usage of both calls. Addition is associative; ``Usage()`` is neutral."""
        if not isinstance(other, Usage):
            return NotImplemented
        from chatmend.usage.sums import add

        return add(self, other)

    def __radd__(self, other: object) -> "Usage":
        """Support ``sum(usages)``, which starts at 0."""
        return self if other == 0 else NotImplemented

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that are set, ready for JSON.

        Amounts of money and other fractions are strings, so that they are not rounded.
        """
        values = {f.name: getattr(self, f.name) for f in _FIELDS}
        unset = {f.name: f.default for f in _FIELDS}
        return {
            name: _to_json(value)
            for name, value in values.items()
            if value not in (unset[name], {}, ())
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read the output of `to_dict`. Unknown keys are ignored."""
        return cls(**{key: _from_json(key, value) for key, value in data.items() if key in _NAMES})

    def to_litellm(self) -> Any:  # noqa: ANN401 - a class of a package that may not be installed
        """Convert to a ``litellm.Usage``. Raises ImportError if litellm is not installed."""
        from chatmend.usage.converters import to_litellm

        return to_litellm(self)

    def to_langchain(self) -> dict[str, Any]:
        """Convert to LangChain's ``UsageMetadata`` (a typed dict)."""
        from chatmend.usage.converters import to_langchain

        return to_langchain(self)

    def to_opentelemetry(self) -> dict[str, int | float | str]:
        """Convert to attributes of the OpenTelemetry GenAI conventions, ``gen_ai.usage.*``."""
        from chatmend.usage.converters import to_opentelemetry

        return to_opentelemetry(self)


_FIELDS = fields(Usage)
_NAMES = frozenset(f.name for f in _FIELDS)
_NUMBERS = frozenset({"details", "billed", "cost_details"})


def usage_from_fields(values: dict[str, Any]) -> Usage:
    """Create a usage record from the fields that are set, much faster than the constructor.

    The dict becomes the ``__dict__`` of the record; it must not be changed afterwards.
    """
    usage = _new(Usage)
    _set(usage, "__dict__", values)
    return usage


_new, _set = object.__new__, object.__setattr__


# `usage_from_fields` needs class attributes as defaults, which a default factory does not create.
for _name in ("details", "billed", "cost_details", "sources"):
    setattr(Usage, _name, {})


def _to_json(value: object) -> object:
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _to_json(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [item.to_dict() if isinstance(item, Usage) else item for item in value]
    return value


def _from_json(key: str, value: Any) -> Any:  # noqa: ANN401 - the type depends on the field
    if key == "cost":
        return None if value is None else Decimal(value)
    if key in _NUMBERS:
        return {
            name: Decimal(item) if isinstance(item, str) else item for name, item in value.items()
        }
    if key == "parts":
        return tuple(Usage.from_dict(part) for part in value)
    return tuple(value) if isinstance(value, list) else value
