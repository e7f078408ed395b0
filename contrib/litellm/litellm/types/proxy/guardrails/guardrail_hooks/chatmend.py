from typing import Any, Optional

from pydantic import BaseModel, Field

from .base import GuardrailConfigModel


class ChatMendOptions(BaseModel):
    mode: Optional[str] = Field(
        default=None,
        description="`repair` requests (the default), `report` the changes and send the original, or `off`.",
    )
    policy: Optional[Any] = Field(
        default=None,
        description="The name of a repair policy, such as `strict_alternation`, or its fields. The default is lossless.",
    )
    sample: Optional[float] = Field(
        default=None,
        description="The share of conversations to repair, from 0 to 1. The others are reported. The default is 1.",
    )
    allow: Optional[list[str]] = Field(
        default=None,
        description="Patterns of models to process, such as `anthropic/*`. The default is all models.",
    )
    deny: Optional[list[str]] = Field(
        default=None,
        description="Patterns of models whose requests are never changed.",
    )
    overrides: Optional[list[dict[str, Any]]] = Field(
        default=None,
        description="Other values of mode, policy and sample for some models, keys, teams or tags.",
    )
    trusted_keys: Optional[list[str]] = Field(
        default=None,
        description="Patterns of keys whose requests may have the header `x-chatmend: off`.",
    )
    switch_file: Optional[str] = Field(
        default=None,
        description="A file that disables the guardrail while it exists.",
    )
    on_error: Optional[str] = Field(
        default=None,
        description="`pass` sends the original request if the repair fails (the default), `raise` fails the request.",
    )


class ChatMendGuardrailConfigModel(GuardrailConfigModel[ChatMendOptions]):
    chatmend: Optional[ChatMendOptions] = Field(
        default=None,
        description="The options of the guardrail.",
    )

    @staticmethod
    def ui_friendly_name() -> str:
        return "chatmend"
