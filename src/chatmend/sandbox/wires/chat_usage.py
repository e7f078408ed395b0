"""How each provider of the chat-completions dialect reports usage: which fields, and where in a stream.

Where usage stands in a stream was counted over recorded streams (see the table ``settings`` of each provider).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.sandbox.refusals import table

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmend.sandbox.answers import Answer
    from chatmend.sandbox.request import Request

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
    """Cached tokens in the details, reasoning where there is some."""
    usage = _plain(answer) | {"prompt_tokens_details": {"cached_tokens": answer.prompt.read}}
    if answer.thought:
        usage["completion_tokens_details"] = {"reasoning_tokens": answer.thought_tokens}
    return usage


def _xai(answer: Answer) -> Body:
    """Reasoning is outside ``completion_tokens`` and inside the total, as recorded in 434 of 434 payloads."""
    usage = _plain(answer)
    usage["completion_tokens"] -= answer.thought_tokens
    prompt = {"text_tokens": answer.prompt.total, "audio_tokens": 0, "image_tokens": 0}
    completion = {"reasoning_tokens": answer.thought_tokens, "audio_tokens": 0, "accepted_prediction_tokens": 0}
    return usage | {
        "prompt_tokens_details": prompt | {"cached_tokens": answer.prompt.read},
        "completion_tokens_details": completion | {"rejected_prediction_tokens": 0},
        "num_sources_used": 0,
    }


def _deepseek(answer: Answer) -> Body:
    read = answer.prompt.read
    return _details(answer) | {"prompt_cache_hit_tokens": read, "prompt_cache_miss_tokens": answer.prompt.total - read}


def _groq(answer: Answer) -> Body:
    usage = _plain(answer) | {"queue_time": 0.01, "prompt_time": 0.01, "completion_time": 0.02, "total_time": 0.03}
    return usage | ({"prompt_tokens_details": {"cached_tokens": answer.prompt.read}} if answer.prompt.read else {})


def _mistral(answer: Answer) -> Body:
    read = answer.prompt.read
    return _plain(answer) | {"prompt_tokens_details": {"cached_tokens": read}, "num_cached_tokens": read}


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


def usage_of(answer: Answer, request: Request) -> Body:
    """The usage object in the provider's own form."""
    return _USAGES[table(request.table).settings.get("usage", "openai")](answer)


def streamed_in(request: Request) -> str:
    """Which chunk carries the usage: ``own``, ``finish``, ``after``, ``every`` or ``none``."""
    settings = table(request.table).settings
    options = request.body.get("stream_options")
    asked = isinstance(options, dict) and bool(options.get("include_usage"))
    place = str(settings.get("stream_usage", "own"))
    return "none" if settings.get("usage_on_request", True) and not asked else place
