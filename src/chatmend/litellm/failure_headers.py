"""Response headers of failed requests to ``/v1/messages``, for which LiteLLM calls no hook."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import wrapt

from chatmend.litellm.summaries import NOT_REPORTED, headers_of_request

if TYPE_CHECKING:
    from chatmend.litellm.summaries import Failures

_MODULE = "litellm.proxy.common_request_processing"
_CLASS, _METHOD = "ProxyBaseLLMRequestProcessing", "get_custom_headers"
_MARK = "_self_chatmend_headers"


def add_to_failures(failures: Failures) -> None:
    """Wrap the function that makes LiteLLM's own headers. Calling it again has no effect.

    Outside of a proxy, or if LiteLLM has renamed the function, nothing is wrapped: then the headers
    of failed requests to this one route are missing.
    """
    held = getattr(sys.modules.get(_MODULE), _CLASS, None)
    if held is None or not hasattr(held, _METHOD) or hasattr(getattr(held, _METHOD), _MARK):
        return

    def call(wrapped: Any, _instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        headers = wrapped(*args, **kwargs)
        with failures.guard(NOT_REPORTED):
            request = kwargs.get("request_data")
            found = headers_of_request(request) if request else None
            return {**headers, **found} if found else headers
        return headers

    wrapt.wrap_function_wrapper(_MODULE, f"{_CLASS}.{_METHOD}", call)
    setattr(getattr(held, _METHOD), _MARK, True)
