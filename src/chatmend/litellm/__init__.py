"""The LiteLLM adapter: a callback that repairs each request on its way to the deployment that was chosen for it.

    import litellm
    from chatmend.litellm import ChatMend

    litellm.callbacks = [ChatMend()]

In the proxy's configuration: ``litellm_settings: {callbacks: chatmend.litellm.callback}``.

It acts on ``acompletion`` and ``anthropic_messages``, directly, through a ``Router`` or through the proxy, once per
attempt. LiteLLM has no hook that may change a request on the synchronous ``litellm.completion``: there, call
``chatmend.repair`` yourself. ``CHATMEND_DISABLED=1`` in the environment switches it off.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import Counter
from typing import TYPE_CHECKING, Any, Literal

import litellm
from litellm.integrations.custom_logger import CustomLogger

from chatmend.errors import PolicyError
from chatmend.repair import repair

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from chatmend.changes import Change
    from chatmend.policy import Policy

__all__ = ["ChatMend", "callback"]

_log = logging.getLogger("chatmend.litellm")

_CALL_TYPES = frozenset({"completion", "acompletion", "anthropic_messages"})

_NO_LOOKUP = frozenset({"chatgpt", "github_copilot"})
"""Providers whose look-up in LiteLLM signs in over the network."""


class ChatMend(CustomLogger):  # type: ignore[misc, unused-ignore] # untyped where litellm is not installed
    """Repairs the messages of each request for the provider and model that it goes to.

    Args:
        policy: Choices between repairs; the default is lossless.
        on_error: ``"pass"`` sends the request as it was if chatmend itself fails, with one warning; ``"raise"`` lets
            the exception out, for tests.
        mode: ``"repair"``, or ``"report"`` to log what would be changed and send the original.

    Raises:
        PolicyError: ``on_error`` or ``mode`` has a value that does not exist.
    """

    def __init__(
        self,
        policy: Policy | None = None,
        *,
        on_error: Literal["pass", "raise"] = "pass",
        mode: Literal["repair", "report"] = "repair",
    ) -> None:
        """Check the choices; nothing else happens before the first request."""
        super().__init__()
        if on_error not in {"pass", "raise"}:
            raise PolicyError(f"on_error={on_error!r} does not exist; take 'pass' or 'raise'")
        if mode not in {"repair", "report"}:
            raise PolicyError(f"mode={mode!r} does not exist; take 'repair' or 'report'")
        self.policy = policy
        self.on_error = on_error
        self.mode = mode

    async def async_pre_call_deployment_hook(self, kwargs: dict[str, Any], call_type: Any) -> dict[str, Any] | None:
        """Return the request with its transcript repaired, or ``None`` where it stays as it is."""
        if not _concerns_us(kwargs, call_type):
            return None
        try:
            # Repairing is CPU work: off the event loop with it.
            return await asyncio.to_thread(self._repaired, kwargs)
        except Exception as error:
            if self.on_error == "raise":
                raise
            # The type alone: the text of an exception may quote the transcript.
            _log.warning("chatmend failed with %s; the request goes out as it was", type(error).__name__)
            return None

    def _repaired(self, kwargs: dict[str, Any]) -> dict[str, Any] | None:
        # A request that declares no tools has none: an empty list, where None would mean that nobody knows.
        came: dict[str, Any] = {
            "messages": kwargs["messages"],
            "system": kwargs.get("system"),
            "tools": kwargs.get("tools") or [],
        }
        done = repair(
            came["messages"],
            _target(kwargs),
            system=came["system"],
            tools=came["tools"],
            thinking=kwargs.get("thinking"),
            policy=self.policy,
        )
        _report(done.changes, self.mode)
        if self.mode == "report":
            return None
        goes = {"messages": done.messages, "system": done.system, "tools": done.tools}
        new = {key: value for key, value in goes.items() if value is not came[key]}
        if not new:
            return None
        logged: Any = kwargs.get("litellm_logging_obj")
        if "messages" in new and hasattr(logged, "update_messages"):
            # Otherwise LiteLLM's logs show what was not sent.
            logged.update_messages(new["messages"])
        return {**kwargs, **new}


def _concerns_us(kwargs: Mapping[str, Any], call_type: Any) -> bool:
    """Whether this is a chat request on its way out."""
    return (
        getattr(call_type, "value", call_type) in _CALL_TYPES
        and isinstance(kwargs.get("messages"), list)
        # With fallbacks= each model gets a call of its own inside this one, from the messages as they came in.
        and not kwargs.get("fallbacks")
        and os.environ.get("CHATMEND_DISABLED") != "1"
    )


def _target(kwargs: Mapping[str, Any]) -> str:
    """Name where the request goes, as ``provider/model``; the model as it was written where LiteLLM does not know."""
    model = str(kwargs.get("model") or "")
    provider = kwargs.get("custom_llm_provider")
    named = f"{provider}/{model}" if provider and not model.startswith(f"{provider}/") else model
    if named.partition("/")[0] in _NO_LOOKUP:
        return named
    try:
        bare, provider, _, _ = litellm.get_llm_provider(
            model, custom_llm_provider=provider, api_base=kwargs.get("api_base") or kwargs.get("base_url")
        )
    except Exception:  # noqa: BLE001 - it raises many things for a model that it does not know; that is no failure
        return named
    return f"{provider}/{bare}"


def _report(changes: Iterable[Change], mode: str) -> None:
    """Log one line of codes and counts, never content."""
    # In report mode a finding that a repair leaves alone is news as well.
    counts = Counter(change.code for change in changes if change.applied or mode == "report")
    if counts:
        codes = ", ".join(f"{code} x{count}" for code, count in sorted(counts.items()))
        _log.info("chatmend %s: %s", "would repair" if mode == "report" else "repaired", codes)


callback: ChatMend


def __getattr__(name: str) -> Any:
    """Make ``callback`` when it is first asked for: the instance that a proxy's configuration names."""
    if name != "callback":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault("callback", ChatMend())
