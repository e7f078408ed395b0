"""mistral_common is the code Mistral serves with, so its validators are the law there."""

from __future__ import annotations

import copy
import re

from .base import Request

_OLD = re.compile(r"open-|mixtral|tiny|7b", re.I)


def check(req: Request) -> list[str]:
    """Old models want nine-character ids (v7, v11), newer ones only an id (v13)."""
    from mistral_common.protocol.instruct.request import ChatCompletionRequest
    from mistral_common.protocol.instruct.validator import ValidationMode, get_validator
    from mistral_common.tokens.tokenizers.base import TokenizerVersion

    versions = (TokenizerVersion.v7, TokenizerVersion.v11) if _OLD.search(req.model) else (TokenizerVersion.v13,)
    out = []
    for version in versions:
        try:
            parsed = ChatCompletionRequest.from_openai(
                copy.deepcopy(req.chat), copy.deepcopy(req.tools) or None, model=req.model
            )
            get_validator(version, ValidationMode.serving).validate_request(parsed)
        except Exception as error:  # noqa: BLE001 - any complaint of the library is a refusal
            out.append(f"{version.value}: {type(error).__name__} {str(error)[:300]}")
    return out
