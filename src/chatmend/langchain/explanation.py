"""``explain``: describes how the messages of a chat model are repaired."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.runnables import Runnable, RunnableWithFallbacks
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.runnables.configurable import DynamicRunnable

from chatmend.langchain.model import is_mended
from chatmend.langchain.partners import find_destination, find_partner, inner_model, unbound
from chatmend.langchain.settings import settings_of
from chatmend.policy import Policy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from langchain_core.language_models import BaseChatModel

    from chatmend.targets import Target


def explain(model: Any) -> str:
    """Describe the class, the target, the table row and the policy of a chat model, as text.

    The last lines name what is not known, and how to state it.

    Args:
        model: a chat model, wrapped or not. It may have bound options (``bind_tools``), fallbacks,
            or fields and alternatives that each call chooses; each model is then described.

    Raises:
        TypeError: ``model`` is not a chat model, or has no model until it is called, as
            ``init_chat_model`` without a name.
    """
    return "\n\n".join("\n".join(_lines(*unbound(one))) for one in _members(model))


def _members(model: Any) -> Iterator[Any]:
    """Yield the chat models that a Runnable may call, with the options bound to it."""
    bound = model
    while isinstance(bound, RunnableBindingBase):
        bound = bound.bound
    if isinstance(bound, RunnableWithFallbacks):
        found = list(bound.runnables)
    elif isinstance(bound, DynamicRunnable):
        others = getattr(bound, "alternatives", {}).values()
        found = [bound.default, *(one for one in others if isinstance(one, Runnable))]
    else:
        yield model
        return
    for one in found:
        yield from _members(_with_bindings(model, one))


def _with_bindings(model: Any, member: Any) -> Any:
    """Return a member with the bindings of the Runnable that contains it."""
    if not isinstance(model, RunnableBindingBase):
        return member
    return model.model_copy(update={"bound": _with_bindings(model.bound, member)})


def _lines(model: BaseChatModel, options: dict[str, Any]) -> Iterator[str]:
    settings = settings_of(model)
    target = find_destination(model, options, settings.target).target
    partner, inner = find_partner(model), inner_model(model)
    yield f"class:   {type(model).__module__}.{type(model).__qualname__}"
    yield f"wrapped: {'yes' if is_mended(model) else 'no; mend(model) wraps it'}"
    yield f"target:  {target.name} (host {target.provider}, maker {target.maker or 'not known'})"
    yield f"row:     {partner or 'none'} (partners.toml)"
    yield f"policy:  {settings.policy or Policy()}"
    yield f"mode:    {settings.mode}, report={settings.report}, react={settings.react}"
    if partner is None and inner is not None and settings.target is None:
        name = type(inner).__qualname__
        yield f"unknown: the class; it delegates to {name}, whose target is used"
    elif partner is None:
        yield "unknown: what the class can send; blocks of other providers are passed through"
    yield from _unknown_target(target)


def _unknown_target(target: Target) -> Iterator[str]:
    if target.is_floor or target.provider == "openai_compatible":
        yield (
            "unknown: the host; only what no server refuses is repaired, and what the maker of the "
            "model demands. Name it: mend(model, target='provider/model')"
        )
