"""``repair_node``: the ``pre_model_hook`` of ``create_react_agent``, which judges before any model does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from langchain_core.language_models import BaseChatModel

from chatmend.langchain.hooks import settings_of
from chatmend.langchain.mending import Settings, mended
from chatmend.langchain.partners import place_named, place_of
from chatmend.options import policy_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmend.langchain.partners import Place
    from chatmend.options import OnError
    from chatmend.policy import Policy


def repair_node(
    target: str | BaseChatModel, *, policy: Policy | str | None = None, on_error: OnError = "pass"
) -> Callable[[Any], dict[str, Any]]:
    """Make a node that gives the model repaired messages, and leaves the state as it is.

    ``create_react_agent(model, tools, pre_model_hook=repair_node(model))``. It returns ``llm_input_messages``, which
    the agent sends instead of ``messages``: nothing is written to the checkpoint.

    Args:
        target: the model, or the name of a target.
        policy: choices between repairs, or the name of a policy; the default is lossless.
        on_error: if chatmend itself fails, ``pass`` the messages on unchanged, or ``raise``.

    Raises:
        PolicyError: a value of ``policy`` or ``on_error`` does not exist.
        TargetError: no table describes the target.
    """
    settings = Settings(policy_of(policy), None if isinstance(target, BaseChatModel) else target, on_error)
    named = settings_of(target).target if isinstance(target, BaseChatModel) else None
    place = _checked(place_of(target, {}, named) if isinstance(target, BaseChatModel) else place_named(target))

    def repair(state: Any) -> dict[str, Any]:
        messages = state["messages"] if isinstance(state, dict) else state.messages
        return {"llm_input_messages": mended(messages, place, settings).messages}

    return repair


def _checked(place: Place) -> Place:
    """The place as the agent's own check has it: every call is answered by a message of its own, also at the end."""
    limits = replace(place.target.limits, pairing=True, trailing_calls=False)
    carries = replace(place.carries, results_inside=False, calls_inside=frozenset())
    return replace(place, target=replace(place.target, limits=limits), carries=carries)
