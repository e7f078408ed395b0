"""``mend``: wraps a chat model so that it repairs its messages before it sends them.

``mend`` returns a shallow copy of the model. The class of the copy is a generated subclass of
the model's class with the same name; it wraps only the hooks that the class implements. A
wrapper that delegates to the model would not do: ``bind_tools`` bypasses it, ``isinstance``
fails, and caches and callbacks run twice.
"""

from __future__ import annotations

import copy
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.prompt_values import ChatPromptValue
from langchain_core.runnables import Runnable, RunnableWithFallbacks
from langchain_core.runnables.base import RunnableBindingBase

from chatmend.langchain.call_facts import SETTINGS
from chatmend.langchain.hooks import wrap_hooks
from chatmend.langchain.payloads import RepairedMessages
from chatmend.langchain.salvage import convert_invalid_blocks, convert_leniently
from chatmend.langchain.settings import (
    CLASS_SETTINGS,
    OPTIONS,
    RepairSettings,
    settings_of,
    settings_with,
)
from chatmend.options import is_disabled

if TYPE_CHECKING:
    from langchain_core.prompt_values import PromptValue

    from chatmend.options import Mode, OnError, ReportMode, SessionMemoryMode
    from chatmend.policy import Policy
    from chatmend.shared_state import SessionMemories

M = TypeVar("M", bound=Runnable[Any, Any])
_CLASS = "__chatmend_class__"
_lock = Lock()


class MendedChatModel(BaseChatModel):
    """A base class for your own chat models that repair their messages before they send them.

    List it last, with the options of ``mend`` as arguments of the class::

        class MyChat(ChatOpenAI, MendedChatModel, target="openai/gpt-5", policy="offline"): ...

    The hooks that a subclass implements are wrapped when the class is created. For an instance of
    an existing class, use ``mend``.
    """

    @classmethod
    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Read the options of a new subclass.

        Raises:
            PolicyError: the value of an option does not exist.
            TargetError: no table describes ``target``.
        """
        options = {name: kwargs.pop(name) for name in OPTIONS & kwargs.keys()}
        super().__init_subclass__(**kwargs)
        if options:
            setattr(cls, CLASS_SETTINGS, settings_with(**options))

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Wrap the hooks of a new subclass."""
        rest = {name: value for name, value in kwargs.items() if name not in OPTIONS}
        super().__pydantic_init_subclass__(**rest)
        for name, hook in wrap_hooks(cls).items():
            setattr(cls, name, hook)

    def _convert_input(self, model_input: Any) -> PromptValue:
        if isinstance(model_input, RepairedMessages):
            # Partner packages pass the repaired messages in again; they were converted before.
            return ChatPromptValue.model_construct(messages=model_input)
        try:
            found = super()._convert_input(model_input)
        except Exception:
            salvage = None if is_disabled() else convert_leniently(model_input)
            if salvage is None:
                raise
            found = salvage
        return convert_invalid_blocks(found)

    def _get_llm_string(self, stop: list[str] | None = None, **kwargs: Any) -> str:
        """Return the key of the model in caches, which differs for other repaired messages."""
        own = super()._get_llm_string(stop=stop, **kwargs)
        return own if is_disabled() else f"{own}---chatmend {settings_of(self).fingerprint}"

    def configurable_fields(self, **kwargs: Any) -> Any:
        """Return the model with fields that each call may set, with the same settings."""
        return mend_with_settings(super().configurable_fields(**kwargs), settings_of(self))


class _Unregistered:
    """The first base of generated classes.

    It keeps them out of registries that a class fills in ``__init_subclass__``.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Register nothing."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Wrap the hooks, and register nothing."""
        for name, hook in wrap_hooks(cls).items():  # type: ignore[arg-type]
            setattr(cls, name, hook)


def mend(  # noqa: PLR0913 - the options of a model
    model: M,
    *,
    policy: Policy | str | None = None,
    target: str | None = None,
    on_error: OnError = "pass",
    mode: Mode = "repair",
    usage: bool = True,
    react: int = 0,
    session_memory: SessionMemoryMode | SessionMemories = "bound",
    report: ReportMode = "new",
) -> M:
    """Wrap a chat model so that it repairs each transcript for the provider that it calls.

    Args:
        model: a chat model. It may be bound (``bind_tools``, ``bind``, ``with_config``,
            ``with_retry``), configurable (``init_chat_model``, ``configurable_fields``,
            ``configurable_alternatives``) or have fallbacks. It is not changed. A model that is
            already wrapped gets the new settings.
        policy: choices between repairs, or the name of a policy (``"offline"``); the default
            discards nothing.
        target: the target, named as LiteLLM names models; by default it is recognised from the
            model.
        on_error: if chatmend itself fails, ``pass`` the messages on unchanged, with one warning,
            or ``raise`` the exception.
        mode: ``repair`` the messages, or ``report`` in ``response_metadata["chatmend"]`` what
            would change and send the original messages.
        usage: whether to correct ``usage_metadata`` in answers.
        react: how many more attempts a call may have after the provider has refused its messages
            (0 to 2; see ``chatmend.react``).
        session_memory: for which requests the model keeps what was sent in a conversation (see
            ``chatmend.SessionMemory``): ``"bound"`` for targets that refuse thinking behind a
            changed prompt, ``"all"`` or ``"off"``. It is kept in this model, or in the store of a
            ``chatmend.shared_state.SessionMemories``.
        report: which changes ``response_metadata["chatmend"]`` lists: ``"new"``, those of the last
            answer in the history and of the messages after it, with the number of the others;
            ``"counts"``, the number for each code; ``"all"``; or ``"off"``. An answer to a request
            that got a user message at its end lists at least the code of this change, because the
            next request must repeat it.

    Returns:
        A copy of the model, which is also an instance of the model's class.

    Raises:
        TypeError: ``model`` is not a chat model, for example a chain; wrap the model inside it.
        PolicyError: a value of ``policy``, ``on_error``, ``mode``, ``react``,
            ``session_memory`` or ``report`` does not exist.
        TargetError: no table describes ``target``.
    """
    settings = settings_with(
        policy=policy, target=target, on_error=on_error, mode=mode, usage=usage, react=react,
        session_memory=session_memory, report=report,
    )  # fmt: skip
    return cast("M", mend_with_settings(model, settings))


def mend_with_settings(model: Any, settings: RepairSettings) -> Any:
    """Wrap a chat model as ``mend`` does, with given settings."""
    if isinstance(model, BaseChatModel):
        return _repairing_copy(model, settings)
    if isinstance(model, RunnableBindingBase):
        return model.model_copy(update={"bound": mend_with_settings(model.bound, settings)})
    if isinstance(model, RunnableWithFallbacks):
        others: list[Runnable[Any, Any]] = [
            mend_with_settings(other, settings) for other in model.fallbacks
        ]
        return model.model_copy(
            update={"runnable": mend_with_settings(model.runnable, settings), "fallbacks": others}
        )
    # Few programs need it, and it loads a large part of LangChain.
    from chatmend.langchain.configurable import mend_configurable  # noqa: PLC0415 - see above

    configurable = mend_configurable(model, lambda created: mend_with_settings(created, settings))
    if configurable is not None:
        return configurable
    if isinstance(model, str):
        text = (
            "mend takes a chat model, not its name; use mend(init_chat_model("
            f"{model!r})) with init_chat_model of langchain.chat_models"
        )
        raise TypeError(text)
    kind = type(model).__name__
    text = (
        f"mend takes a chat model, not a {kind}; "
        "wrap the model inside it, or put repair_messages before it"
    )
    raise TypeError(text)


def _repairing_copy(model: BaseChatModel, settings: RepairSettings) -> BaseChatModel:
    new = copy.copy(model)
    object.__setattr__(new, "__class__", repairing_class(type(model)))
    new.__dict__[SETTINGS] = settings
    new.__dict__.pop("_serialized", None)  # a cached value that contains the class name
    return new


def repairing_class(cls: type[BaseChatModel]) -> type[BaseChatModel]:
    """Return the subclass of ``cls`` whose models repair their messages.

    It is generated once and kept on ``cls`` itself, so that both are garbage-collected together.
    """
    if issubclass(cls, MendedChatModel):
        return cls
    with _lock:
        generated = cls.__dict__.get(_CLASS)
        if generated is None:
            generated = _generate_class(cls)
            type.__setattr__(cls, _CLASS, generated)
    return cast("type[BaseChatModel]", generated)


def _generate_class(cls: type[BaseChatModel]) -> type[BaseChatModel]:
    namespace: dict[str, Any] = {
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__doc__": cls.__doc__,
        "__reduce__": lambda self: (_restore, (cls, self.__getstate__())),
        "model_config": cls.model_config,
    }
    metaclass: Any = type(cls)
    bases = (_Unregistered, cls, MendedChatModel)
    return cast("type[BaseChatModel]", metaclass(cls.__name__, bases, namespace))


def _restore(cls: type[BaseChatModel], state: Any) -> BaseChatModel:
    """Unpickle a model; its class is generated again, because it cannot be imported."""
    generated = repairing_class(cls)
    model = generated.__new__(generated)
    model.__setstate__(state)
    return model


def is_mended(model: object) -> bool:
    """Return whether a model repairs its messages before it sends them."""
    return isinstance(model, MendedChatModel)


__all__ = [
    "MendedChatModel",
    "is_mended",
    "mend",
    "mend_with_settings",
    "repairing_class",
    "settings_of",
]
