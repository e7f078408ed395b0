"""chatmend: repairs chat transcripts so that strict providers accept them.

The repairs are made by the package ``chatmend`` (https://pypi.org/project/chatmend/), which is
imported when the guardrail is configured.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Optional

from litellm.integrations.custom_guardrail import CustomGuardrail

if TYPE_CHECKING:
    from litellm.types.proxy.guardrails.guardrail_hooks.base import GuardrailConfigModel


def _as_options(given: Any) -> dict[str, Any]:
    """Return the options that are set, from a mapping or a model."""
    if hasattr(given, "model_dump"):
        given = given.model_dump()
    options = dict(given) if isinstance(given, Mapping) else {}
    return {name: value for name, value in options.items() if value is not None}


class ChatMendGuardrail(CustomGuardrail):
    def __init__(self, chatmend: Any = None, **kwargs: Any) -> None:
        try:
            from chatmend.litellm.guardrail import Guardrail
        except ImportError as error:
            raise ImportError(
                "the guardrail chatmend needs a package: pip install 'chatmend[litellm]'"
            ) from error
        super().__init__(**kwargs)
        self._guardrail = Guardrail(_as_options(chatmend), **kwargs)

    async def async_pre_call_deployment_hook(
        self, kwargs: dict[str, Any], call_type: Any
    ) -> Optional[dict[str, Any]]:
        """Repair the request of one attempt, when its provider and model are known."""
        return await self._guardrail.async_pre_call_deployment_hook(kwargs, call_type)

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: Any
    ) -> Optional[dict[str, Any]]:
        """Repair a pass-through request, which has no deployment."""
        return await self._guardrail.async_pre_call_hook(user_api_key_dict, cache, data, call_type)

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
    ) -> Optional[dict[str, str]]:
        """Return the header that lists the changes."""
        return await self._guardrail.async_post_call_response_headers_hook(
            data, user_api_key_dict, response
        )

    @staticmethod
    def get_config_model() -> Optional[type["GuardrailConfigModel"]]:
        from litellm.types.proxy.guardrails.guardrail_hooks.chatmend import (
            ChatMendGuardrailConfigModel,
        )

        return ChatMendGuardrailConfigModel
