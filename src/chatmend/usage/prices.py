"""What a call would cost by the price list of genai-prices, where nobody says what it did cost."""

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chatmend.usage.account import Usage

SOURCE = "genai-prices"

# Names of providers, here and in recordings, that the price list calls otherwise (genai-prices 0.2.3).
_IDS = {
    "azure_ai": "azure",
    "azure_openai": "azure",
    "bedrock": "aws",
    "bedrock_converse": "aws",
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
# Our fields to the units of genai-prices 0.2.3 (genai_prices/data_units.py). The second group may contradict the first
# in what providers report (details that do not add up); the price list refuses that, and is asked again without it.
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
    name: name for name in ("input_audio_tokens", "input_image_tokens", "output_audio_tokens", "output_image_tokens")
}


def estimate_cost(usage: "Usage") -> Decimal | None:
    """US dollars by the price list, the parts included; None where it knows not the model or has nothing to price.

    Of what is billed beside tokens only web searches are priced. Needs the extra ``prices``: ImportError without it.
    """
    prices = [_price(usage)]
    prices += [
        _price(part if part.model else replace(part, model=usage.model, provider=usage.provider))
        for part in usage.parts
    ]
    known = [price for price in prices if price is not None]
    return sum(known, Decimal(0)) if len(known) == len(prices) else None


def _price(usage: "Usage") -> Decimal | None:
    import genai_prices  # noqa: PLC0415 - an optional dependency

    if not usage.model or usage.total_tokens is None:
        return None
    provider = _IDS.get(usage.provider or "", usage.provider)
    for names in (_COUNTS | _DETAILS, _COUNTS):
        counts = {unit: value for name, unit in names.items() if (value := getattr(usage, name)) is not None}
        for identity in dict.fromkeys((provider, None)):
            try:
                return genai_prices.calc_price(
                    genai_prices.Usage(**counts), usage.model, provider_id=identity
                ).total_price
            except (LookupError, ValueError):  # no such provider or model; or more cached tokens than input
                continue
    return None
