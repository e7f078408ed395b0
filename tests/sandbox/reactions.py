"""Calls through LiteLLM and LangChain that the provider refuses at first, for the recordings.

Each shows a fault that no table can know before; with ``react=1`` the framework's call succeeds.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from chatmend.sandbox.signatures import sign

if TYPE_CHECKING:
    from collections.abc import Callable

ASK, NEXT = ({"role": "user", "content": text} for text in ("What is 6 times 7?", "And 6 times 8?"))
FORGED = {
    "type": "thinking",
    "thinking": "hm",
    "signature": sign("claude-opus-4-8", "another text"),
}
SEALED = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [],
    "encrypted_content": sign("gpt-5", "another item"),
}
TEXT = {"type": "output_text", "text": "42"}


def _litellm(root: str | None, path: str, **request: Any) -> None:
    import litellm  # noqa: PLC0415 - each framework is imported only if it is used

    from chatmend.litellm import ChatMend, install, uninstall  # noqa: PLC0415

    litellm.disable_aiohttp_transport = True
    where = {"api_base": f"{root}/{path}", "api_key": "any"} if root else {}
    install(ChatMend(react=1, on_error="raise"))
    try:
        call = litellm.aresponses if "input" in request else litellm.acompletion
        asyncio.run(call(**where, **request))
    finally:
        uninstall()


def litellm_forged_signature(root: str | None) -> None:
    """Thinking with a signature that belongs to another text."""
    said = {"role": "assistant", "content": "42", "thinking_blocks": [FORGED]}
    _litellm(
        root, "anthropic", model="anthropic/claude-opus-4-8", messages=[ASK, said, NEXT],
        max_tokens=99,
    )  # fmt: skip


def litellm_foreign_reasoning(root: str | None) -> None:
    """A reasoning item with encrypted content that belongs to another item."""
    said = {"type": "message", "role": "assistant", "content": [TEXT]}
    items = [ASK, SEALED, said, NEXT]
    _litellm(root, "openai/v1", model="openai/gpt-5", input=items, store=False)


def _langchain(model: Any, messages: list[Any]) -> None:
    from chatmend.langchain import mend  # noqa: PLC0415

    mend(model, react=1, on_error="raise").invoke(messages)


def langchain_forged_signature(root: str | None) -> None:
    """Thinking with a signature that belongs to another text."""
    from langchain_anthropic import ChatAnthropic  # noqa: PLC0415
    from langchain_core.messages import AIMessage, HumanMessage  # noqa: PLC0415

    where = {"base_url": f"{root}/anthropic", "api_key": "any"} if root else {}
    model = ChatAnthropic(model="claude-opus-4-8", max_tokens=99, max_retries=0, **where)
    said = AIMessage([FORGED, {"type": "text", "text": "42"}])
    _langchain(model, [HumanMessage(ASK["content"]), said, HumanMessage(NEXT["content"])])


def langchain_foreign_reasoning(root: str | None) -> None:
    """A reasoning item with encrypted content that belongs to another item."""
    from langchain_core.messages import AIMessage, HumanMessage  # noqa: PLC0415
    from langchain_openai import ChatOpenAI  # noqa: PLC0415

    where = {"base_url": f"{root}/openai/v1", "api_key": "any"} if root else {}
    model = ChatOpenAI(
        model="gpt-5", use_responses_api=True, store=False, output_version="responses/v1",
        max_retries=0, **where,
    )  # fmt: skip
    said = AIMessage([SEALED, {"type": "text", "text": "42"}])
    _langchain(model, [HumanMessage(ASK["content"]), said, HumanMessage(NEXT["content"])])


REACTIONS: dict[tuple[str, str], tuple[str, Callable[[str | None], None]]] = {
    ("reaction/litellm", "forged_signature"): ("anthropic", litellm_forged_signature),
    ("reaction/litellm", "foreign_reasoning"): ("openai", litellm_foreign_reasoning),
    ("reaction/langchain", "forged_signature"): ("anthropic", langchain_forged_signature),
    ("reaction/langchain", "foreign_reasoning"): ("openai", langchain_foreign_reasoning),
}
"""By folder and name: the provider, and a function that makes the call.

It gets the URL of the sandbox, or None for the real provider.
"""
