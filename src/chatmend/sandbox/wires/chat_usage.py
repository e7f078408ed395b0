"""The usage of each provider with the chat-completions format: its fields and position.

The positions were counted in recorded streams (see ``settings`` in each provider's table).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.sandbox.refusals import load_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmend.sandbox.answers import Answer
    from chatmend.sandbox.request import SandboxRequest

Body = dict[str, Any]


def _openai(answer: Answer) -> Body:
    return _plain(answer) | {
        "prompt_tokens_details": {"cached_tokens": answer.prompt.read, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": answer.thought_tokens,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def _plain(answer: Answer) -> Body:
    prompt, output = answer.prompt.total, answer.output_tokens
    return {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output}


def _details(answer: Answer) -> Body:
    """Return the usage with cached tokens in the details, and reasoning tokens if there are any."""
    usage = _plain(answer) | {"prompt_tokens_details": {"cached_tokens": answer.prompt.read}}
    if answer.thought:
        usage["completion_tokens_details"] = {"reasoning_tokens": answer.thought_tokens}
    return usage


def _xai(answer: Answer) -> Body:
    """Return xAI's usage.

    Reasoning is part of the total but not of ``completion_tokens``, as in 434 of 434 recorded
    payloads.
    """
    usage = _plain(answer)
    usage["completion_tokens"] -= answer.thought_tokens
    prompt = {"text_tokens": answer.prompt.total, "audio_tokens": 0, "image_tokens": 0}
    completion = {
        "reasoning_tokens": answer.thought_tokens,
        "audio_tokens": 0,
        "accepted_prediction_tokens": 0,
    }
    return usage | {
        "prompt_tokens_details": prompt | {"cached_tokens": answer.prompt.read},
        "completion_tokens_details": completion | {"rejected_prediction_tokens": 0},
        "num_sources_used": 0,
    }


def _deepseek(answer: Answer) -> Body:
    read = answer.prompt.read
    return _details(answer) | {
        "prompt_cache_hit_tokens": read,
        "prompt_cache_miss_tokens": answer.prompt.total - read,
    }


def _groq(answer: Answer) -> Body:
    usage = _plain(answer) | {
        "queue_time": 0.01,
        "prompt_time": 0.01,
        "completion_time": 0.02,
        "total_time": 0.03,
    }
    return usage | (
        {"prompt_tokens_details": {"cached_tokens": answer.prompt.read}}
        if answer.prompt.read
        else {}
    )


def _mistral(answer: Answer) -> Body:
    read = answer.prompt.read
    return _plain(answer) | {
        "prompt_tokens_details": {"cached_tokens": read},
        "num_cached_tokens": read,
    }


def _openrouter(answer: Answer) -> Body:
    cost = (answer.prompt.total + answer.output_tokens) / 1_000_000
    return _plain(answer) | {
        "cost": cost,
        "is_byok": False,
        "prompt_tokens_details": {"cached_tokens": answer.prompt.read, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": answer.thought_tokens},
    }


_USAGES: dict[str, Callable[[Answer], Body]] = {
    "openai": _openai,
    "plain": _plain,
    "details": _details,
    "xai": _xai,
    "deepseek": _deepseek,
    "groq": _groq,
    "mistral": _mistral,
    "openrouter": _openrouter,
}


def usage_of(answer: Answer, request: SandboxRequest) -> Body:
    """Return the usage in the provider's format."""
    return _USAGES[load_table(request.table).settings.get("usage", "openai")](answer)


def usage_position(request: SandboxRequest) -> str:
    """Return which chunk contains the usage.

    ``own``, ``finish``, ``after``, ``every`` or ``none``.
    """
    settings = load_table(request.table).settings
    options = request.body.get("stream_options")
    asked = isinstance(options, dict) and bool(options.get("include_usage"))
    position = str(settings.get("stream_usage", "own"))
    return "none" if settings.get("usage_on_request", True) and not asked else position
