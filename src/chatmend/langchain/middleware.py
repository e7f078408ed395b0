"""``RepairMiddleware``: repairs what an agent is about to send; the agent's state and checkpoints stay as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.runnables.config import run_in_executor

from chatmend.langchain.hooks import has_media
from chatmend.langchain.mending import Settings, is_disabled, mended, warn
from chatmend.langchain.model import is_mended, mended_with
from chatmend.langchain.partners import place_of
from chatmend.options import policy_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from langchain.agents.middleware import ModelRequest, ModelResponse
    from langchain_core.messages import BaseMessage

    from chatmend.langchain.partners import Place
    from chatmend.options import Mode, OnError
    from chatmend.policy import Policy


class RepairMiddleware(AgentMiddleware):
    """Repairs the messages of each model call for the model that is called.

    It belongs last in the list of middleware: then it stands directly around the model, knows the model that a fallback
    chose, and sees what the others did to the messages. Models that other middleware calls are not seen; ``mend`` them.
    Usage is corrected by ``mend`` only: callbacks and tracers hear of an answer before any middleware does.
    """

    def __init__(
        self,
        *,
        policy: Policy | str | None = None,
        target: str | None = None,
        on_error: OnError = "pass",
        mode: Mode = "repair",
    ) -> None:
        """See ``mend`` for what can be chosen.

        Raises:
            PolicyError: a value of ``policy``, ``on_error`` or ``mode`` does not exist.
            TargetError: no table describes ``target``.
        """
        super().__init__()
        self.settings = Settings(policy_of(policy), target, on_error, mode, usage=False)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Repair what the request holds, and hand it on."""
        _refuse_outside_fallback(handler)
        return handler(self._repaired(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Repair what the request holds, and hand it on; images are recompressed in a thread."""
        _refuse_outside_fallback(handler)
        if has_media(request.messages):
            return await handler(await run_in_executor(None, self._repaired, request))
        return await handler(self._repaired(request))

    def _sender(self, request: ModelRequest[Any]) -> tuple[ModelRequest[Any], Place]:
        """The request, with a mended model where messages cannot hold what must be sent; and where it goes."""
        place = place_of(request.model, request.model_settings, self.settings.target)
        if not place.wants_reasoning or place.carries.reasoning or is_mended(request.model) or is_disabled():
            return request, place
        request = request.override(model=mended_with(request.model, self.settings))
        return request, place_of(request.model, request.model_settings, self.settings.target)

    def _repaired(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        try:
            request, place = self._sender(request)
        except Exception as error:
            if self.settings.on_error == "raise":
                raise
            warn(error)
            return request
        front = [request.system_message] if request.system_message is not None else []
        came: list[BaseMessage] = [*front, *request.messages]
        done = mended(came, place, self.settings, tools=request.tools or None)
        if done.messages is came:
            return request
        out: list[Any] = list(done.messages)
        kept = out.pop(0) if front and out and out[0] is front[0] else None
        if front and kept is None:
            return request.override(messages=out, system_message=None)
        return request.override(messages=out)


def _refuse_outside_fallback(handler: Any) -> None:
    """Raise where a fallback stands between this middleware and the model: it would repair for the wrong one."""
    fallback = _inside(handler, {"ModelFallbackMiddleware"})
    if fallback:
        text = f"RepairMiddleware stands outside {fallback}: it cannot know the model. List it last"
        raise ValueError(text)


def _inside(handler: Any, names: set[str], depth: int = 12) -> str | None:
    """Which of these middleware a handler leads through, as far as its closures show."""
    if depth == 0:
        return None
    owner = type(getattr(handler, "__self__", None)).__name__
    if owner in names:
        return owner
    for cell in getattr(handler, "__closure__", None) or ():
        try:
            held = cell.cell_contents
        except ValueError:  # not filled yet
            continue
        if callable(held) and (found := _inside(held, names, depth - 1)):
            return found
    return None
