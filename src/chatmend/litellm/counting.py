"""Token counts of providers: they count what a repaired request would send.

LiteLLM calls no hook for ``/v1/messages/count_tokens``, so the function that selects the counter of
a provider is wrapped.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import wrapt

from chatmend.litellm.attempt import has_transcript, is_heavy, repair_attempt
from chatmend.litellm.shapes import CHAT, CONTENTS, MESSAGES
from chatmend.litellm.target import target_of

if TYPE_CHECKING:
    from chatmend.litellm.hooks import ChatMend
    from chatmend.litellm.shapes import Shape

_MODULE, _FUNCTION = "litellm.proxy.proxy_server", "_get_provider_token_counter"
_MARK = "_self_chatmend_counter"


def count_repaired(callback: ChatMend) -> None:
    """Wrap the function that selects a counter. Calling it again has no effect.

    Outside of a proxy, or if LiteLLM has renamed the function, nothing is wrapped.
    """
    module = sys.modules.get(_MODULE)
    if hasattr(getattr(module, _FUNCTION, None), _MARK) or not hasattr(module, _FUNCTION):
        return

    def select(wrapped: Any, _instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        counter, *rest = wrapped(*args, **kwargs)
        return (counter if counter is None else _RepairingCounter(counter, callback), *rest)

    wrapt.wrap_function_wrapper(_MODULE, _FUNCTION, select)
    setattr(getattr(module, _FUNCTION), _MARK, True)


# Without wrapt installed, its class is untyped for mypy.
class _RepairingCounter(wrapt.ObjectProxy):  # type: ignore[misc, type-arg, unused-ignore]
    """A counter of a provider that gets the repaired messages."""

    def __init__(self, wrapped: Any, callback: ChatMend) -> None:
        super().__init__(wrapped)
        self._self_callback = callback

    async def count_tokens(self, *args: Any, **kwargs: Any) -> Any:
        """Repair the arguments, and count them."""
        callback = self._self_callback
        with callback.failures.guard():
            shape = _shape_of(kwargs)
            if not args and has_transcript(kwargs, shape):
                messages = kwargs[shape.field]
                kwargs = (
                    await asyncio.to_thread(_repaired, callback, kwargs, shape)
                    if is_heavy(messages)
                    else _repaired(callback, kwargs, shape)
                )
        return await self.__wrapped__.count_tokens(*args, **kwargs)


def _shape_of(arguments: dict[str, Any]) -> Shape:
    if arguments.get("contents") is not None:
        return CONTENTS
    return CHAT if arguments.get("messages_format") == "openai" else MESSAGES


def _repaired(callback: ChatMend, arguments: dict[str, Any], shape: Shape) -> dict[str, Any]:
    """Return the arguments of a counter with repaired messages.

    The key of the client is not known here: a request is repaired if requests of every key are.
    """
    deployment = arguments.get("deployment") or {}
    params = deployment.get("litellm_params") or {}
    call = {
        "model": params.get("model") or arguments.get("model_to_use"),
        "api_base": params.get("api_base"),
        "model_info": deployment.get("model_info"),
        "metadata": {"model_group": deployment.get("model_name")},
    }
    target = target_of(call)
    treatment = callback.treatment_of(call, target)
    if treatment.mode != "repair":
        return arguments
    body = {name: arguments.get(name) for name in ("tools", "system", shape.field)}
    given = {name: value for name, value in body.items() if value is not None}
    images = callback.images_of("")
    request = repair_attempt(
        given, shape, target, policy=treatment.policy, recompressor=images
    ).request
    if request is None:
        return arguments
    # What the repair has added is counted too, if the counter of this version of LiteLLM takes it.
    return arguments | {name: request[name] for name in body.keys() & arguments if name in request}
