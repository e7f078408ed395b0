"""``repair_node``: a ``pre_model_hook`` for ``create_react_agent``.

That agent validates the messages before it calls a model, so a wrapped model is not enough.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from chatmend.langchain.message_repair import repair_before_model
from chatmend.langchain.partners import find_destination, find_destination_by_name, unbound
from chatmend.langchain.settings import settings_of, settings_with
from chatmend.langchain.thinking import thinking_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import BaseMessage
    from langchain_core.runnables import Runnable

    from chatmend.langchain.partners import Destination
    from chatmend.options import Mode, OnError, ReportMode, SessionMemoryMode
    from chatmend.policy import Policy
    from chatmend.shared_state import SessionMemories


def repair_node(  # noqa: PLR0913 - the options of a model
    target: str | BaseChatModel | Runnable[Any, Any],
    *,
    policy: Policy | str | None = None,
    on_error: OnError = "pass",
    mode: Mode = "repair",
    session_memory: SessionMemoryMode | SessionMemories = "bound",
    report: ReportMode = "new",
    tools: Sequence[Any] | None = None,
    thinking: object = None,
) -> Callable[[Any], dict[str, Any]]:
    """Create a node that passes repaired messages to the model and does not change the state.

    Usage: ``create_react_agent(model, tools, pre_model_hook=repair_node(model))``. The node
    returns ``llm_input_messages``, which the agent sends instead of ``messages``; nothing is
    written to the checkpoint. The report is in ``response_metadata["chatmend"]`` of the last of
    these messages; a wrapped model repeats it in its answer. Only this answer records an added user
    message at the end of its request, which the next request must repeat; so wrap the model, too,
    if histories may end with an assistant message.

    Args:
        target: the model, which may have bound tools and options, or the name of a target.
        policy: as for ``mend``.
        on_error: as for ``mend``.
        mode: as for ``mend``.
        session_memory: as for ``mend``.
        report: as for ``mend``.
        tools: the tools of the agent, if they are not bound to the model. With ``[]``, a history
            with tool calls is converted to text if the provider refuses it without tools.
        thinking: the parameter that enables thinking, if it is not the model's.

    Raises:
        PolicyError: the value of an option does not exist.
        TargetError: no table describes the target.
        TypeError: ``target`` is neither a chat model nor a name.
    """
    model, options = (target, {}) if isinstance(target, str) else unbound(target)
    settings = settings_with(
        policy=policy, target=model if isinstance(model, str) else settings_of(model).target,
        on_error=on_error, mode=mode, session_memory=session_memory, report=report,
    )  # fmt: skip
    declared = list(tools) if tools is not None else options.get("tools")

    def destination_of(messages: Sequence[BaseMessage]) -> Destination:
        if isinstance(model, str):
            return find_destination_by_name(model, messages)
        return find_destination(model, options, settings.target)

    destination_of(())  # raises now if no table describes the target

    def repair(state: Any) -> dict[str, Any]:
        messages = state["messages"] if isinstance(state, dict) else state.messages
        called = None if isinstance(model, str) else model
        sent = repair_before_model(
            messages, _with_agent_limits(destination_of(messages)), settings, tools=declared,
            thinking=thinking or (called and thinking_of(called, options)), model=called,
        )  # fmt: skip
        return {"llm_input_messages": sent}

    return repair


@lru_cache(maxsize=64)
def _with_agent_limits(destination: Destination) -> Destination:
    """Add the limits of the agent's own check: a separate message must answer every call.

    This applies to the last call too.
    """
    limits = replace(destination.target.limits, pairing=True, trailing_calls=False)
    stricter = replace(destination, target=replace(destination.target, limits=limits))
    return stricter.with_converter(results_inside=False)
