"""``RepairMiddleware``: repairs the requests of an agent without changing its state.

Checkpoints do not change either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.runnables.config import run_in_executor

from chatmend.langchain.hooks import has_media
from chatmend.langchain.message_repair import (
    RepairSettings,
    is_disabled,
    learn,
    repair_unless_disabled,
    warn_of_failure,
)
from chatmend.langchain.model import is_mended, mend_with_settings
from chatmend.langchain.partners import find_destination
from chatmend.langchain.thinking import thinking_of, with_thinking
from chatmend.options import policy_of, react_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from langchain.agents.middleware import ModelRequest, ModelResponse
    from langchain_core.messages import BaseMessage

    from chatmend.langchain.partners import Destination
    from chatmend.options import Mode, OnError, SessionMemoryMode
    from chatmend.policy import Policy
    from chatmend.shared_state import SessionMemories


class RepairMiddleware(AgentMiddleware):
    """Repairs the messages of each model call for the model that is called.

    List it last, so that it directly wraps the model call: then it knows which model a fallback
    chose, and receives the messages that other middleware changed. It does not see models that
    other middleware calls; wrap those with ``mend``. Only ``mend`` can correct usage, because
    callbacks and tracers receive an answer before any middleware does.
    """

    def __init__(  # noqa: PLR0913 - the options of a model
        self,
        *,
        policy: Policy | str | None = None,
        target: str | None = None,
        on_error: OnError = "pass",
        mode: Mode = "repair",
        react: int = 0,
        session_memory: SessionMemoryMode | SessionMemories = "bound",
    ) -> None:
        """Create the middleware; ``mend`` describes the options.

        Raises:
            PolicyError: a value of ``policy``, ``on_error``, ``mode``, ``react`` or
                ``session_memory`` does not exist.
            TargetError: no table describes ``target``.
        """
        super().__init__()
        self.settings = RepairSettings(
            policy_of(policy), target, on_error, mode, usage=False, react=react_of(react),
            session_memory=session_memory,
        )  # fmt: skip

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Repair the request and pass it on, again after a refusal if ``react`` allows."""
        _raise_if_outside_fallback(handler)
        for _ in range(self.settings.react):
            repaired = self._repaired(request)
            try:
                return handler(repaired)
            except Exception as error:
                if not self._learn(request, repaired, error):
                    raise
        return handler(self._repaired(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Do the same for an asynchronous call; images are recompressed in a thread."""
        _raise_if_outside_fallback(handler)
        for _ in range(self.settings.react):
            repaired = await self._repaired_async(request)
            try:
                return await handler(repaired)
            except Exception as error:
                if not self._learn(request, repaired, error):
                    raise
        return await handler(await self._repaired_async(request))

    async def _repaired_async(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        if has_media(request.messages):
            return await run_in_executor(None, self._repaired, request)
        return self._repaired(request)

    def _learn(
        self, request: ModelRequest[Any], repaired: ModelRequest[Any], error: Exception
    ) -> bool:
        """Return whether a refusal shows something with which the call can be made again."""
        if is_disabled():
            return False
        _, destination = self._with_destination(request)
        return destination is not None and learn(
            _messages_of(request), _messages_of(repaired), destination, self.settings, error
        )

    def _with_destination(
        self, request: ModelRequest[Any]
    ) -> tuple[ModelRequest[Any], Destination | None]:
        """Return the request and its destination; None if it cannot be determined.

        If the provider requires reasoning that the messages cannot carry, the model of the
        request is wrapped with ``mend``.
        """
        try:
            return self._find_destination(request)
        except Exception as error:
            if self.settings.on_error == "raise":
                raise
            warn_of_failure(error)
            return request, None

    def _find_destination(
        self, request: ModelRequest[Any]
    ) -> tuple[ModelRequest[Any], Destination]:
        destination = find_destination(request.model, request.model_settings, self.settings.target)
        if (
            not destination.needs_reasoning
            or destination.converter.reasoning
            or is_mended(request.model)
            or is_disabled()
        ):
            return request, destination
        request = request.override(model=mend_with_settings(request.model, self.settings))
        return request, find_destination(
            request.model, request.model_settings, self.settings.target
        )

    def _repaired(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        request, destination = self._with_destination(request)
        if destination is None:
            return request
        system = [request.system_message] if request.system_message is not None else []
        messages = _messages_of(request)
        thinking = thinking_of(request.model, request.model_settings)
        result = repair_unless_disabled(
            messages, destination, self.settings, tools=request.tools or None, thinking=thinking
        )
        if result.thinking is not thinking:
            model, options = with_thinking(request.model, request.model_settings, result.thinking)
            request = request.override(model=model, model_settings=options)
        if result.messages is messages:
            return request
        repaired: list[Any] = list(result.messages)
        kept_system = repaired.pop(0) if system and repaired and repaired[0] is system[0] else None
        if system and kept_system is None:
            return request.override(messages=repaired, system_message=None)
        return request.override(messages=repaired)


def _messages_of(request: ModelRequest[Any]) -> list[BaseMessage]:
    """Return the messages of a request with its system message."""
    system = [request.system_message] if request.system_message is not None else []
    return [*system, *request.messages]


def _raise_if_outside_fallback(handler: Any) -> None:
    """Raise an error if a fallback middleware runs between this middleware and the model.

    The messages would be repaired for the wrong model.
    """
    fallback = _find_middleware(handler, {"ModelFallbackMiddleware"})
    if fallback:
        text = (
            f"RepairMiddleware is listed before {fallback}, so it cannot know which model is "
            "called; list RepairMiddleware last"
        )
        raise ValueError(text)


def _find_middleware(handler: Any, names: set[str], depth: int = 12) -> str | None:
    """Return which of these middleware classes a handler calls, as far as its closures show."""
    if depth == 0:
        return None
    owner = type(getattr(handler, "__self__", None)).__name__
    if owner in names:
        return owner
    for cell in getattr(handler, "__closure__", None) or ():
        try:
            value = cell.cell_contents
        except ValueError:  # not filled yet
            continue
        if callable(value) and (found := _find_middleware(value, names, depth - 1)):
            return found
    return None
