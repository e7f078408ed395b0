"""A guardrail, so that a proxy's teams and keys can switch chatmend on for themselves: thin, over a ``ChatMend``.

    guardrails:
      - guardrail_name: chatmend
        litellm_params:
          guardrail: chatmend.litellm.guardrail.Guardrail
          mode: pre_call
          default_on: false
          chatmend: {on_error: pass}

A callback is the better choice where everyone is to be repaired: it counts usage and writes the account, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from litellm.integrations.custom_guardrail import CustomGuardrail
from litellm.types.guardrails import GuardrailEventHooks

from chatmend.litellm.hooks import ChatMend
from chatmend.litellm.settings import from_section

if TYPE_CHECKING:
    from collections.abc import Mapping


class _Asked(ChatMend):
    """The callback that does the work, for those who ask for it."""

    started_as = "chatmend guardrail"


class Guardrail(CustomGuardrail):  # type: ignore[misc, unused-ignore] # untyped where litellm is not installed
    """Repairs the requests of those who ask for it: by key, by team, or in the request's ``guardrails``.

    Args:
        chatmend: the options of a callback by name, as in the ``chatmend:`` section.
        options: LiteLLM's own, ``guardrail_name``, ``event_hook`` and ``default_on`` among them.

    Raises:
        PolicyError: an option that does not exist.
    """

    def __init__(self, chatmend: Mapping[str, Any] | None = None, **options: Any) -> None:
        """Make the callback that does the work."""
        super().__init__(**options)
        self._mend = from_section(dict(chatmend or {}), _Asked)

    async def async_pre_call_deployment_hook(self, kwargs: dict[str, Any], call_type: Any) -> dict[str, Any] | None:
        """Once per attempt, when the deployment is known: repair the request of someone who asked for it."""
        with self._mend.failures.caught():
            if self.should_run_guardrail(data=kwargs, event_type=GuardrailEventHooks.pre_call) is not True:
                return None
        return await self._mend.async_pre_call_deployment_hook(kwargs, call_type)

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: Any
    ) -> dict[str, Any] | None:
        """A pass-through request, which has no deployment; LiteLLM asks only for those who want it."""
        return await self._mend.async_pre_call_hook(user_api_key_dict, cache, data, call_type)

    async def async_post_call_success_deployment_hook(self, request_data: Any, response: Any, call_type: Any) -> None:
        """Nothing is done to answers."""

    async def async_post_call_response_headers_hook(
        self,
        data: dict[str, Any],
        user_api_key_dict: Any,
        response: Any,
        request_headers: Any = None,
        litellm_call_info: Any = None,
    ) -> dict[str, str] | None:
        """Say in a header what was changed."""
        return await self._mend.async_post_call_response_headers_hook(data, user_api_key_dict, response)
