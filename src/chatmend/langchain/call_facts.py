"""What the repair of a call depends on apart from its messages.

It is kept until the model or the options of the call change.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from chatmend.known_transcripts import RequestKind
from chatmend.langchain.dialect import LangChainDialect
from chatmend.langchain.partners import continues_stored_messages, find_destination
from chatmend.langchain.payloads import ArrivedChanges
from chatmend.langchain.thinking import thinking_of
from chatmend.policy import DEFAULT
from chatmend.rules import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from langchain_core.language_models import BaseChatModel

    from chatmend.langchain.partners import Destination
    from chatmend.langchain.settings import RepairSettings

_IGNORED_OPTIONS = ("run_manager", "stop")
"""Options that differ from call to call and do not affect the repair."""
SETTINGS = "_chatmend_settings"
"""The key of the settings in the ``__dict__`` of a model; they contain this cache.

They are not a field, so that the fields of a wrapped model are those of its class.
"""


@dataclass(frozen=True, slots=True)
class CallFacts:
    """What the repair of a call depends on apart from its messages."""

    destination: Destination
    tools: Any
    """The tools that the request declares; ``[]`` means none; None: unknown."""
    thinking: Any
    """The parameter that enables thinking."""
    cache_control: Any
    """The automatic cache marker."""
    continues: bool
    """Whether the provider stores earlier messages."""
    arrived: ArrivedChanges
    """Which repairs were found in earlier payloads."""
    kind: RequestKind[LangChainDialect] | None
    """Tells whether such a request is known to be clean; None if its repair must be run."""


def find_facts(
    model: BaseChatModel, options: Mapping[str, Any], settings: RepairSettings
) -> CallFacts:
    """Determine the facts of a call.

    Raises:
        TargetError: no table describes the target that the caller named.
    """
    destination = find_destination(model, options, settings.target)
    kwargs = _kwargs_of(model)
    tools = options.get("tools") or kwargs.get("tools") or []
    thinking = thinking_of(model, options)
    cache_control = options.get("cache_control") or kwargs.get("cache_control")
    return facts_of(
        destination,
        settings,
        tools=tools,
        thinking=thinking,
        cache_control=cache_control,
        continues=continues_stored_messages(model, options, destination),
    )


def facts_of(  # noqa: PLR0913 - what a call depends on
    destination: Destination,
    settings: RepairSettings,
    *,
    tools: Any = None,
    thinking: Any = None,
    cache_control: Any = None,
    continues: bool = False,
) -> CallFacts:
    """Return the facts of a call to a destination."""
    kind = None
    if not (continues or settings.react or settings.memories.is_needed(destination.target)):
        request = Request([], None, tools, cache_control, thinking)
        dialect = LangChainDialect(chat_messages=destination.chat_messages)
        kind = RequestKind(request, destination.target, settings.policy or DEFAULT, dialect)
    arrived = ArrivedChanges()
    return CallFacts(destination, tools, thinking, cache_control, continues, arrived, kind)


def _kwargs_of(model: BaseChatModel) -> Mapping[str, Any]:
    """Return the ``model_kwargs``, which a model sends with every call."""
    kwargs = model.__dict__.get("model_kwargs")
    return kwargs if isinstance(kwargs, dict) else {}


@dataclass(frozen=True, slots=True)
class _CacheEntry:
    """The facts of a call, with the state of the model and the options at this call."""

    cls: type
    fields: Callable[[Any], Any]
    values: tuple[Any, ...]
    options: dict[str, Any]
    facts: CallFacts

    def matches(self, model: BaseChatModel, options: dict[str, Any]) -> bool:
        """Return whether the model and the options are the same as those of this entry."""
        if model.__class__ is not self.cls:
            return False
        try:
            return bool(self.fields(model.__dict__) == self.values and options == self.options)
        except Exception:  # noqa: BLE001 - a field was removed, or the `==` of its value failed
            return False


class CallCache:
    """The facts of the last call of a model.

    Copies of a model may share a cache, because entries are matched by the model's fields.
    """

    __slots__ = ("_last",)

    def __init__(self) -> None:
        """Create an empty cache."""
        self._last: _CacheEntry | None = None

    def find_facts(
        self, model: BaseChatModel, options: Mapping[str, Any], settings: RepairSettings
    ) -> CallFacts:
        """Return the facts of a call, as the function of the same name does.

        Every call of one cache passes the same settings. Only models of the partner packages are
        cached, because nothing but their fields determines the facts.

        Raises:
            TargetError: no table describes the target that the caller named.
        """
        relevant = dict(options)
        for name in _IGNORED_OPTIONS:
            relevant.pop(name, None)
        last = self._last
        if last is not None and last.matches(model, relevant):
            return last.facts
        facts = find_facts(model, options, settings)
        names = [name for name in model.__dict__ if name != SETTINGS]
        if type(model).__module__.startswith("langchain_") and len(names) > 1:
            read_fields = itemgetter(*names)
            values = tuple(map(_snapshot, read_fields(model.__dict__)))
            given = {name: _snapshot(relevant[name]) for name in relevant}
            self._last = _CacheEntry(type(model), read_fields, values, given, facts)
        return facts


def _snapshot(value: Any) -> Any:
    """Copy nested dicts and lists, so that a later change in place is noticed."""
    if value.__class__ is dict:
        return {name: _snapshot(item) for name, item in value.items()}
    return [_snapshot(item) for item in value] if value.__class__ is list else value
