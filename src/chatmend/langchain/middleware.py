"""``RepairMiddleware``: repairs the requests of an agent without changing its state.

Checkpoints do not change either. It wraps the model of each request with ``mend``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain.agents.middleware import AgentMiddleware

from chatmend.langchain.message_repair import warn_of_failure
from chatmend.langchain.model import mend_with_settings
from chatmend.langchain.settings import settings_with
from chatmend.options import is_disabled

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from langchain.agents.middleware import ModelRequest, ModelResponse

    from chatmend.options import Mode, OnError, ReportMode, SessionMemoryMode
    from chatmend.policy import Policy
    from chatmend.shared_state import SessionMemories


class RepairMiddleware(AgentMiddleware):
    """Repairs the messages of each model call for the model that is called, as ``mend`` does.

    List it last, so that it directly wraps the model call: then it knows which model a fallback
    chose, and receives the messages that other middleware changed. It does not see models that
    other middleware calls; wrap those with ``mend``.
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
        usage: bool = True,
        report: ReportMode = "new",
    ) -> None:
        """Create the middleware; ``mend`` describes the options.

        Raises:
            PolicyError: a value of ``policy``, ``on_error``, ``mode``, ``react``,
                ``session_memory`` or ``report`` does not exist.
            TargetError: no table describes ``target``.
        """
        super().__init__()
        self.settings = settings_with(
            policy=policy, target=target, on_error=on_error, mode=mode, react=react,
            session_memory=session_memory, usage=usage, report=report,
        )  # fmt: skip

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Pass the request on with a model that repairs its messages."""
        return handler(self._with_mended_model(request, handler))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Do the same for an asynchronous call; images are recompressed in a thread."""
        return await handler(self._with_mended_model(request, handler))

    def _with_mended_model(self, request: ModelRequest[Any], handler: object) -> ModelRequest[Any]:
        if is_disabled():
            return request
        _raise_if_outside_fallback(handler)
        try:
            return request.override(model=mend_with_settings(request.model, self.settings))
        except Exception as error:
            if self.settings.on_error == "raise":
                raise
            warn_of_failure(error)
            return request


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
