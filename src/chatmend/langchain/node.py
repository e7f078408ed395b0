"""``repair_node``: a ``pre_model_hook`` for ``create_react_agent``.

That agent validates the messages before it calls a model, so a wrapped model is not enough.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from langchain_core.language_models import BaseChatModel

from chatmend.langchain.hooks import settings_of
from chatmend.langchain.message_repair import RepairSettings, repair_unless_disabled
from chatmend.langchain.partners import find_destination, find_destination_by_name
from chatmend.options import policy_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from langchain_core.messages import BaseMessage

    from chatmend.langchain.partners import Destination
    from chatmend.options import OnError
    from chatmend.policy import Policy


def repair_node(
    target: str | BaseChatModel, *, policy: Policy | str | None = None, on_error: OnError = "pass"
) -> Callable[[Any], dict[str, Any]]:
    """Create a node that passes repaired messages to the model and does not change the state.

    Usage: ``create_react_agent(model, tools, pre_model_hook=repair_node(model))``. The node
    returns ``llm_input_messages``, which the agent sends instead of ``messages``; nothing is
    written to the checkpoint.

    Args:
        target: the model, or the name of a target.
        policy: choices between repairs, or the name of a policy; the default discards nothing.
        on_error: if chatmend itself fails, ``pass`` the messages on unchanged, or ``raise``.

    Raises:
        PolicyError: a value of ``policy`` or ``on_error`` does not exist.
        TargetError: no table describes the target.
    """
    settings = RepairSettings(
        policy_of(policy), None if isinstance(target, BaseChatModel) else target, on_error
    )
    target_name = settings_of(target).target if isinstance(target, BaseChatModel) else None

    def destination_of(messages: Sequence[BaseMessage]) -> Destination:
        if isinstance(target, BaseChatModel):
            return find_destination(target, {}, target_name)
        return find_destination_by_name(target, messages)

    destination_of(())  # raises now if no table describes the target

    def repair(state: Any) -> dict[str, Any]:
        messages = state["messages"] if isinstance(state, dict) else state.messages
        destination = _with_agent_limits(destination_of(messages))
        return {
            "llm_input_messages": repair_unless_disabled(messages, destination, settings).messages
        }

    return repair


@lru_cache(maxsize=64)
def _with_agent_limits(destination: Destination) -> Destination:
    """Add the limits of the agent's own check: a separate message must answer every call.

    This applies to the last call too.
    """
    limits = replace(destination.target.limits, pairing=True, trailing_calls=False)
    stricter = replace(destination, target=replace(destination.target, limits=limits))
    return stricter.with_converter(results_inside=False, calls_inside=frozenset())
