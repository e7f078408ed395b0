"""Sends transcripts through LiteLLM with chatmend's callback, for ``tests.equivalence --litellm``.

A server on the loopback interface records what LiteLLM sends. The callback is the real one, and
LiteLLM converts each request for the provider.
"""

from __future__ import annotations

import asyncio
import logging
import os
from typing import TYPE_CHECKING, Any, Self

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

import litellm
from litellm.litellm_core_utils.logging_worker import GLOBAL_LOGGING_WORKER

from chatmend.litellm import ChatMend
from tests.broken import digest
from tests.litellm_adapter.upstream import Recorder

if TYPE_CHECKING:
    from types import TracebackType

HOSTS = (
    "openai", "anthropic", "gemini", "mistral", "deepseek", "xai", "groq", "moonshot",
    "openrouter", "hosted_vllm",
)  # fmt: skip
"""Hosts that LiteLLM calls at a given address with only a key."""


def is_reachable(target: str) -> bool:
    """Return whether LiteLLM can send requests for a target to a local server."""
    return target.partition("/")[0] in HOSTS


class Sender:
    """LiteLLM with one callback for each policy, and the server that records its requests."""

    def __init__(self) -> None:
        """Create the server and an event loop; a ``with`` statement starts them."""
        self._recorder = Recorder()
        self._loop = asyncio.new_event_loop()
        self._callbacks: dict[object, ChatMend] = {}

    def __enter__(self) -> Self:
        """Start the server."""
        litellm.suppress_debug_info = True
        logging.disable(logging.ERROR)
        self._recorder.__enter__()
        address = self._recorder.url("")
        os.environ["CHATMEND_HOSTS"] = ",".join(f"{address}{host}={host}" for host in HOSTS)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the server, after LiteLLM has logged the last call."""
        self._loop.run_until_complete(_finish_logging())
        self._recorder.__exit__(kind, error, trace)
        self._loop.close()

    def send(self, messages: Any, target: str, policy: Any) -> dict[str, str]:
        """Return digests of what LiteLLM sends and of the rules in the report, and the outcome."""
        key = policy if isinstance(policy, str | None) else "every option"
        if key not in self._callbacks:
            self._callbacks[key] = ChatMend(policy=policy)
        litellm.callbacks = [self._callbacks[key]]
        call = litellm.acompletion(
            model=target,
            messages=messages,
            api_base=self._recorder.url(target.partition("/")[0]),
            api_key="k",
            num_retries=0,
        )
        codes: dict[str, int] = {}
        outcome = "answer"
        try:
            answer = self._loop.run_until_complete(call)
            codes = (answer._hidden_params.get("chatmend") or {}).get("changes", {})
        except Exception as error:  # noqa: BLE001 - LiteLLM cannot convert every transcript
            outcome = type(error).__name__
        sent = [[received.path, received.body.decode()] for received in self._recorder.take()]
        return {
            "request": digest(sent),
            "outcome": outcome,
            "rules in the report": digest(sorted(codes.items())),
        }


async def _finish_logging() -> None:
    await GLOBAL_LOGGING_WORKER.flush()
    await GLOBAL_LOGGING_WORKER.stop()
