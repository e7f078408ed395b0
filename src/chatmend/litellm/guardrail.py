"""A guardrail with which teams and keys of a proxy enable chatmend for their own requests.

    guardrails:
      - guardrail_name: chatmend
        litellm_params:
          guardrail: chatmend.litellm.guardrail.Guardrail
          mode: pre_call
          default_on: false
          chatmend: {on_error: pass}

To repair all requests, use the callback instead: it also records usage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from litellm.integrations.custom_guardrail import CustomGuardrail
from litellm.types.guardrails import GuardrailEventHooks

from chatmend.errors import PolicyError
from chatmend.litellm.hooks import ChatMend
from chatmend.litellm.settings import from_section

if TYPE_CHECKING:
    from collections.abc import Mapping


_CALLBACK_ONLY = ("usage", "record", "react", "lessons_file", "reload")
"""Options of the callback. All but the last need an answer, which a guardrail does not get."""


class _GuardrailCallback(ChatMend):
    """The callback to which the guardrail delegates."""

    startup_name = "chatmend guardrail"


# Without LiteLLM installed, its class is untyped for mypy.
class Guardrail(CustomGuardrail):  # type: ignore[misc, unused-ignore]
    """Repairs requests for which a key, a team or the request's ``guardrails`` enable it.

    Args:
        chatmend: the options of a callback by name, as in the ``chatmend:`` section; those that
            concern answers (``usage``, ``record``, ``react``, ``lessons_file``) and ``reload`` are
            the callback's.
        options: LiteLLM's own options, such as ``guardrail_name``, ``event_hook`` and
            ``default_on``.

    Raises:
        PolicyError: an option does not exist, or is only the callback's.
    """

    def __init__(self, chatmend: Mapping[str, Any] | None = None, **options: Any) -> None:
        """Create the callback to which the guardrail delegates."""
        section = dict(chatmend or {})
        if refused := [name for name in _CALLBACK_ONLY if section.get(name)]:
            text = f"a guardrail cannot use {', '.join(refused)}; set it in the chatmend: section"
            raise PolicyError(f"{text}, and register the callback chatmend.litellm.callback")
        super().__init__(**options)
        self._callback = from_section(section, _GuardrailCallback)

    async def async_pre_call_deployment_hook(
        self, kwargs: dict[str, Any], call_type: Any
    ) -> dict[str, Any] | None:
        """Repair the request of one attempt if the guardrail is enabled for it.

        LiteLLM calls this once for each attempt, after it has chosen the deployment.
        """
        decision: object = None
        with self._callback.failures.guard():
            decision = self.should_run_guardrail(
                data=kwargs, event_type=GuardrailEventHooks.pre_call
            )
        if decision is not True:
            return None
        return await self._callback.async_pre_call_deployment_hook(kwargs, call_type)

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: Any
    ) -> dict[str, Any] | None:
        """Repair a pass-through request, which has no deployment.

        LiteLLM calls this only for requests for which the guardrail is enabled.
        """
        return await self._callback.async_pre_call_hook(user_api_key_dict, cache, data, call_type)

    async def async_post_call_success_deployment_hook(
        self, request_data: Any, response: Any, call_type: Any
    ) -> None:
        """Leave responses unchanged."""

    async def async_post_call_response_headers_hook(
        self,
        data: dict[str, Any],
        user_api_key_dict: Any,
        response: Any,
        request_headers: Any = None,
        litellm_call_info: Any = None,
    ) -> dict[str, str] | None:
        """Return the response header that lists the changes."""
        return await self._callback.async_post_call_response_headers_hook(
            data, user_api_key_dict, response
        )
