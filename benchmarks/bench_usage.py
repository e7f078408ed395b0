"""Compares ``normalize_usage`` with LiteLLM's ``Usage`` and genai-prices' ``extract_usage``.

Measures CPU time, the best of many rounds. The functions alternate, so that load from other
processes affects all of them.
"""

import os
import sys
from collections.abc import Callable
from time import process_time_ns

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

USAGE = {
    "prompt_tokens": 2006,
    "completion_tokens": 300,
    "total_tokens": 2306,
    "prompt_tokens_details": {"cached_tokens": 1920, "audio_tokens": 0},
    "completion_tokens_details": {
        "reasoning_tokens": 128,
        "audio_tokens": 0,
        "accepted_prediction_tokens": 0,
        "rejected_prediction_tokens": 0,
    },
}
BODY = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1741570283,
    "model": "gpt-4o-mini",
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}
    ],
    "usage": USAGE,
    "service_tier": "default",
    "system_fingerprint": "fp_1",
}
ROUNDS, CALLS = 500, 100


def main() -> int:
    """Print the times and the ratios; return 1 if ``normalize_usage`` is not 3 times as fast."""
    import genai_prices
    import litellm

    from chatmend import normalize_usage

    best = measure(
        {
            "normalize_usage(usage)": lambda: normalize_usage(USAGE),
            "normalize_usage(body)": lambda: normalize_usage(BODY),
            "litellm.Usage(**usage)": lambda: litellm.Usage(**USAGE),
            "extract_usage(body)": lambda: genai_prices.extract_usage(
                BODY, provider_id="openai", api_flavor="chat"
            ),
        }
    )
    for name, took in best.items():
        print(f"{name:26}{took:8.2f} µs CPU time")
    ratios = {
        "LiteLLM's Usage, from the usage": best["litellm.Usage(**usage)"]
        / best["normalize_usage(usage)"],
        "genai-prices, from the body": best["extract_usage(body)"] / best["normalize_usage(body)"],
    }
    for name, ratio in ratios.items():
        print(f"{ratio:.1f} times as fast as {name}")
    return 0 if min(ratios.values()) >= 3 else 1


def measure(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Return the microseconds per call of each function, the best of all rounds."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(ROUNDS):
        for name, call in calls.items():
            start = process_time_ns()
            for _ in range(CALLS):
                call()
            best[name] = min(best[name], (process_time_ns() - start) / CALLS / 1000)
    return best


if __name__ == "__main__":
    sys.exit(main())
