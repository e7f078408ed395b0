from typing import TYPE_CHECKING

from litellm.types.guardrails import SupportedGuardrailIntegrations

from .chatmend import ChatMendGuardrail

if TYPE_CHECKING:
    from litellm.types.guardrails import Guardrail, LitellmParams


def initialize_guardrail(litellm_params: "LitellmParams", guardrail: "Guardrail"):
    import litellm

    _chatmend_callback = ChatMendGuardrail(
        chatmend=getattr(litellm_params, "chatmend", None),
        guardrail_name=guardrail.get("guardrail_name", ""),
        event_hook=litellm_params.mode,
        default_on=litellm_params.default_on,
    )
    litellm.logging_callback_manager.add_litellm_callback(_chatmend_callback)

    return _chatmend_callback


guardrail_initializer_registry = {
    SupportedGuardrailIntegrations.CHATMEND.value: initialize_guardrail,
}


guardrail_class_registry = {
    SupportedGuardrailIntegrations.CHATMEND.value: ChatMendGuardrail,
}
