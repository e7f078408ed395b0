"""``mend``: a chat model that repairs what it is given, and is what it was to everyone who asks.

The model comes back as a shallow copy whose class is a generated subclass of its own, with the same name, in which only
the hooks are wrapped that the class itself implements. A wrapper that delegates would lose a third of what users rely
on: ``bind_tools`` goes around it, ``isinstance`` fails, caches and callbacks count twice.
"""

from __future__ import annotations

import copy
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable, RunnableWithFallbacks
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.runnables.configurable import DynamicRunnable, RunnableConfigurableAlternatives
from pydantic import Field

from chatmend.langchain.configurable import mend_configurable
from chatmend.langchain.hooks import settings_of, wrapped
from chatmend.langchain.mending import Settings, is_disabled
from chatmend.langchain.salvage import readable, salvaged
from chatmend.options import policy_of

if TYPE_CHECKING:
    from langchain_core.prompt_values import PromptValue

    from chatmend.options import Mode, OnError
    from chatmend.policy import Policy

M = TypeVar("M")
_CLASS = "__chatmend_class__"
_lock = Lock()


class MendedChatModel(BaseChatModel):
    """A base class for models of your own that repair what they are given.

    It goes last: ``class MyChat(ChatOpenAI, MendedChatModel): ...``. Hooks that a subclass implements are wrapped when
    the class is made. Models that exist already are mended by ``mend``.
    """

    mending: Any = Field(default=None, exclude=True, repr=False)
    """The ``Settings``. A declared field: it must survive ``configurable_fields``, ``model_copy`` and pickling."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Wrap the hooks of a class as it is made."""
        super().__pydantic_init_subclass__(**kwargs)
        for name, hook in wrapped(cls).items():
            setattr(cls, name, hook)

    def _convert_input(self, model_input: Any) -> PromptValue:
        try:
            found = super()._convert_input(model_input)
        except Exception:
            salvage = None if is_disabled() else salvaged(model_input)
            if salvage is None:
                raise
            found = salvage
        return readable(found)


def mend(  # noqa: PLR0913 - what can be chosen for a model
    model: M,
    *,
    policy: Policy | str | None = None,
    target: str | None = None,
    on_error: OnError = "pass",
    mode: Mode = "repair",
    usage: bool = True,
) -> M:
    """Make a chat model that repairs each transcript for the provider that it is about to be sent to.

    Args:
        model: a chat model; one that is bound (``bind_tools``, ``bind``, ``with_config``, ``with_retry``), configurable
            (``init_chat_model``, ``configurable_fields``, ``configurable_alternatives``), or has fallbacks. It is not
            changed. One that is mended gets the new settings.
        policy: choices between repairs, or the name of a policy (``"offline"``); the default loses nothing.
        target: where messages go, named as LiteLLM names models; recognised from the model when not given.
        on_error: if chatmend itself fails, ``pass`` the messages on unchanged, with one warning, or ``raise``.
        mode: ``repair`` messages, or ``report`` in ``response_metadata["chatmend"]`` what would be changed and send the
            original.
        usage: correct ``usage_metadata`` in answers.

    Returns:
        A model of the same class to everyone who asks.

    Raises:
        TypeError: ``model`` is a runnable that is no model, such as a chain; mend the model inside.
        PolicyError: a value of ``policy``, ``on_error`` or ``mode`` does not exist.
        TargetError: no table describes ``target``.
    """
    return cast("M", mended_with(model, Settings(policy_of(policy), target, on_error, mode, usage)))


def mended_with(model: Any, settings: Settings) -> Any:
    """The same with settings at hand."""
    if isinstance(model, BaseChatModel):
        return _as_mended(model, settings)
    if isinstance(model, RunnableBindingBase):
        return model.model_copy(update={"bound": mended_with(model.bound, settings)})
    if isinstance(model, DynamicRunnable):
        return _as_mended_choice(model, settings)
    if isinstance(model, RunnableWithFallbacks):
        others: list[Runnable[Any, Any]] = [mended_with(other, settings) for other in model.fallbacks]
        return model.model_copy(update={"runnable": mended_with(model.runnable, settings), "fallbacks": others})
    configurable = mend_configurable(model, lambda made: mended_with(made, settings))
    if configurable is not None:
        return configurable
    if isinstance(model, str):
        text = (
            f"mend takes a chat model, not its name; mend(init_chat_model({model!r})) makes one (langchain.chat_models)"
        )
        raise TypeError(text)
    kind = type(model).__name__
    text = f"mend takes a chat model, not a {kind}; mend the model inside, or put repair_messages before it"
    raise TypeError(text)


def _as_mended_choice(model: DynamicRunnable[Any, Any], settings: Settings) -> DynamicRunnable[Any, Any]:
    """A model with ``configurable_fields`` or ``configurable_alternatives``, whatever is chosen; some are made then."""

    def alternative(held: Any) -> Any:
        return mended_with(held, settings) if isinstance(held, Runnable) else lambda: mended_with(held(), settings)

    update: dict[str, Any] = {"default": mended_with(model.default, settings)}
    if isinstance(model, RunnableConfigurableAlternatives):
        update["alternatives"] = {name: alternative(held) for name, held in model.alternatives.items()}
    return model.model_copy(update=update)


def _as_mended(model: BaseChatModel, settings: Settings) -> BaseChatModel:
    new = copy.copy(model)
    object.__setattr__(new, "__class__", mended_class(type(model)))
    new.__dict__["mending"] = settings
    new.__dict__.pop("_serialized", None)  # cached: it names the class
    return new


def mended_class(cls: type[BaseChatModel]) -> type[BaseChatModel]:
    """The class of the mended models of ``cls``: made once, kept on the class itself, so that it goes with it."""
    if issubclass(cls, MendedChatModel):
        return cls
    with _lock:
        made = cls.__dict__.get(_CLASS)
        if made is None:
            made = _generated(cls)
            type.__setattr__(cls, _CLASS, made)
    return cast("type[BaseChatModel]", made)


def _generated(cls: type[BaseChatModel]) -> type[BaseChatModel]:
    namespace: dict[str, Any] = {
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__doc__": cls.__doc__,
        "__reduce__": lambda self: (_restored, (cls, self.__getstate__())),
        "model_config": cls.model_config,
    }
    metaclass: Any = type(cls)
    return cast("type[BaseChatModel]", metaclass(cls.__name__, (cls, MendedChatModel), namespace))


def _restored(cls: type[BaseChatModel], state: Any) -> BaseChatModel:
    """A pickled model: the class is generated anew, as it cannot be imported."""
    made = mended_class(cls)
    model = made.__new__(made)
    model.__setstate__(state)
    return model


def is_mended(model: object) -> bool:
    """Whether a model repairs what it is given."""
    return isinstance(model, MendedChatModel)


__all__ = ["MendedChatModel", "is_mended", "mend", "mended_class", "mended_with", "settings_of"]
