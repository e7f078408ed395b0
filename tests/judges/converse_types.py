"""Checks a native Converse body: botocore's service model, the pairs, and what Bedrock refuses beyond both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import bedrock_facts
from .bedrock_model import converse_faults
from .call_pairing import block_refusals

if TYPE_CHECKING:
    from .request import Request


def native_converse(request: Request) -> list[str]:
    """What is wrong with the messages and the system prompt of a Converse body."""
    messages = request.messages
    return [
        *converse_faults(messages, request.system),
        *block_refusals(bedrock_facts.as_blocks(messages)),
        *bedrock_facts.refusals(messages, request.target),
    ]
