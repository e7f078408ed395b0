"""Support for models that are chosen or configured when they are called.

These are models of ``init_chat_model``, ``configurable_fields`` and ``configurable_alternatives``.
"""

from __future__ import annotations

import sys
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from langchain_core.runnables import Runnable
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.runnables.configurable import (
    DynamicRunnable,
    RunnableConfigurableAlternatives,
    RunnableConfigurableFields,
)

from chatmend.langchain.settings import settings_of

if TYPE_CHECKING:
    from collections.abc import Callable


def mend_configurable(model: Any, mend: Callable[[Any], Any]) -> Any:
    """Return a configurable model that wraps each model it creates with ``mend``.

    Return None if ``model`` is not a configurable model.
    """
    if isinstance(model, DynamicRunnable):
        return _mend_alternatives(model, mend)
    module = sys.modules.get("langchain.chat_models.base")
    cls = getattr(module, "_ConfigurableModel", None)
    if cls is None or not isinstance(model, cls):
        return None
    return _repairing_class(cls)(model, mend)


@lru_cache(maxsize=4)
def _repairing_class(cls: type[Any]) -> type[Any]:
    """Return a subclass that wraps the created model before it replays the queued operations."""

    class RepairingConfigurable(cls):  # type: ignore[misc]
        def __init__(self, model: Any, mend: Callable[[Any], Any]) -> None:
            self.__dict__.update(model.__dict__)
            self._mend = mend

        def _model(self, config: Any = None) -> Any:
            unwrapped = cls(
                default_config=self._default_config,
                configurable_fields=self._configurable_fields,
                config_prefix=self._config_prefix,
            )
            model = self._mend(unwrapped._model(config))
            for name, args, kwargs in self._queued_declarative_operations:
                model = getattr(model, name)(*args, **kwargs)
            return model

        def with_config(self, config: Any = None, **kwargs: Any) -> Any:
            return type(self)(super().with_config(config, **kwargs), self._mend)

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__") or "_default_config" not in self.__dict__:
                raise AttributeError(name)
            found = super().__getattr__(name)
            return _wrap_queue(found, self) if getattr(found, "__name__", "") == "queue" else found

    def _wrap_queue(queue: Callable[..., Any], model: Any) -> Callable[..., Any]:
        return lambda *args, **kwargs: type(model)(
            queue(*args, **kwargs),
            model._mend,  # noqa: SLF001 - an attribute of the class above
        )

    (
        RepairingConfigurable.__name__,
        RepairingConfigurable.__qualname__,
        RepairingConfigurable.__module__,
    ) = (
        cls.__name__,
        cls.__qualname__,
        cls.__module__,
    )
    return RepairingConfigurable


def _mend_alternatives(model: DynamicRunnable[Any, Any], mend: Callable[[Any], Any]) -> Any:
    """Wrap all models of ``configurable_fields`` or ``configurable_alternatives``.

    An alternative may be a factory; the model that it creates is then wrapped.
    """
    update: dict[str, Any] = {"default": mend(model.default)}
    if isinstance(model, RunnableConfigurableFields):
        fields = {name: getattr(model, name) for name in type(model).model_fields}
        return RepairingFields(**{**fields, **update})
    if isinstance(model, RunnableConfigurableAlternatives):
        update["alternatives"] = {
            name: mend(found) if isinstance(found, Runnable) else partial(_create, found, mend)
            for name, found in model.alternatives.items()
        }
    return model.model_copy(update=update)


def _create(factory: Callable[[], Any], mend: Callable[[Any], Any]) -> Any:
    return mend(factory())


class RepairingFields(RunnableConfigurableFields):  # type: ignore[type-arg] # validates `default`
    """Configurable fields of a wrapped model: each model that they create is wrapped, too."""

    def _prepare(self, config: Any = None) -> tuple[Any, Any]:
        from chatmend.langchain.model import mend_with_settings  # noqa: PLC0415 - imports this file

        model, config = super()._prepare(config)
        default: Any = self.default
        while isinstance(default, DynamicRunnable | RunnableBindingBase):
            default = default.default if isinstance(default, DynamicRunnable) else default.bound
        return mend_with_settings(model, settings_of(default)), config
