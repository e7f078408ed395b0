"""Estimates the cost of a call with the price list of genai-prices."""

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chatmend.usage.usage_record import Usage

SOURCE = "genai-prices"

# Names of providers, here and in recordings, that differ in the price list (genai-prices 0.2.3).
_IDS = {
    "azure_ai": "azure",
    "azure_openai": "azure",
    "bedrock": "aws",
    "bedrock_converse": "aws",
    "fireworks_ai": "fireworks",
    "gemini": "google",
    "google_genai": "google",
    "google_vertexai": "google",
    "moonshot": "moonshotai",
    "together_ai": "together",
    "vertex": "google",
    "vertex_ai": "google",
    "voyage": "voyageai",
    "xai": "x-ai",
}
# Fields of the usage record to units of genai-prices 0.2.3 (genai_prices/data_units.py). If a
# provider's numbers do not add up, the details contradict the counts. genai-prices refuses such
# usage, so it is called again without the details.
_COUNTS = {
    name: name
    for name in (
        "input_tokens",
        "output_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "cache_write_1h_tokens",
    )
} | {"web_search_requests": "web_searches"}
_DETAILS = {
    name: name
    for name in (
        "input_audio_tokens",
        "input_image_tokens",
        "output_audio_tokens",
        "output_image_tokens",
    )
}


def estimate_cost(usage: "Usage") -> Decimal | None:
    """Estimate the cost of a call and its parts in US dollars.

    Returns None if the model is not in the price list or there is nothing to price. Of the billed
    quantities other than tokens, only web searches are priced. Raises ImportError without the
    extra ``prices``.
    """
    return _estimate(usage, any_provider=True)


def estimate_cost_at_provider(usage: "Usage") -> Decimal | None:
    """Like ``estimate_cost``, but never with another provider's price of the same model."""
    return _estimate(usage, any_provider=False)


def _estimate(usage: "Usage", *, any_provider: bool) -> Decimal | None:
    prices = [_price(usage, any_provider=any_provider)]
    prices += [
        _price(
            part if part.model else replace(part, model=usage.model, provider=usage.provider),
            any_provider=any_provider,
        )
        for part in usage.parts
    ]
    known = [price for price in prices if price is not None]
    return sum(known, Decimal(0)) if len(known) == len(prices) else None


def _price(usage: "Usage", *, any_provider: bool) -> Decimal | None:
    import genai_prices  # noqa: PLC0415 - an optional dependency

    if not usage.model or usage.total_tokens is None:
        return None
    provider = _IDS.get(usage.provider or "", usage.provider)
    for names in (_COUNTS | _DETAILS, _COUNTS):
        counts = {
            unit: value
            for name, unit in names.items()
            if (value := getattr(usage, name)) is not None
        }
        for identity in dict.fromkeys((provider, None) if any_provider else (provider,)):
            try:
                return genai_prices.calc_price(
                    genai_prices.Usage(**counts), usage.model, provider_id=identity
                ).total_price
            except (
                LookupError,  # no such provider or model
                ValueError,  # more cached tokens than input
            ):
                continue
    return None
