"""The options of a model, a middleware, a node or a function, with what they keep between calls."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypedDict

from langchain_core.messages import messages_from_dict, messages_to_dict

from chatmend.langchain.call_facts import SETTINGS, CallCache
from chatmend.lesson_store import LessonStore
from chatmend.memory_store import MemoryStore
from chatmend.options import (
    known_hosts,
    mode_of,
    on_error_of,
    policy_of,
    react_of,
    report_of,
    session_memory_of,
    target_of,
)
from chatmend.policy import Policy

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from chatmend.options import Mode, OnError, ReportMode, SessionMemoryMode
    from chatmend.shared_state import SessionMemories

_STORED = "langchain_message"
"""The key of a message in a stored memory."""


class MendOptions(TypedDict, total=False):
    """The options of ``mend`` apart from the target."""

    policy: Policy | str | None
    on_error: OnError
    mode: Mode
    usage: bool
    react: int
    session_memory: SessionMemoryMode | SessionMemories
    report: ReportMode


OPTIONS = frozenset(MendOptions.__annotations__) | {"target"}
"""The options of ``mend``."""
CLASS_SETTINGS = "__chatmend_settings__"
"""The attribute of a class with the settings of its models."""


@dataclass(frozen=True, slots=True)
class RepairSettings:
    """The options of a model, a middleware, a node or a function, and what it keeps."""

    policy: Policy | None = None
    target: str | None = None
    """The target that the caller named; None to recognise it from the model."""
    on_error: OnError = "pass"
    """What to do if chatmend itself fails.

    ``pass`` sends the original messages, with a warning; ``raise`` raises the exception (for
    tests).
    """
    mode: Mode = "repair"
    """``repair`` the messages, or ``report`` what would change and send the original messages."""
    usage: bool = True
    """Whether to correct the usage in answers."""
    react: int = 0
    """How many more attempts follow a refusal of the messages: 0, 1 or 2."""
    session_memory: SessionMemoryMode | SessionMemories = "bound"
    """For which requests to keep what was sent in a conversation, and in which store."""
    report: ReportMode = "new"
    """Which changes the report of an answer lists."""
    lessons: LessonStore = field(init=False, repr=False, compare=False)
    """What the refusals of each conversation have shown."""
    memories: MemoryStore = field(init=False, repr=False, compare=False)
    """What was sent in each conversation."""
    calls: CallCache = field(default_factory=CallCache, init=False, repr=False, compare=False)
    """The facts of the last call of the model that has these settings."""

    def __post_init__(self) -> None:
        """Validate the settings.

        Raises:
            PolicyError: a value of ``on_error``, ``mode``, ``react``, ``session_memory`` or
                ``report`` does not exist.
            TargetError: no table describes ``target``.
        """
        target_of(self.target)
        on_error_of(self.on_error)
        known_hosts()  # raises now if an entry of CHATMEND_HOSTS is invalid
        mode_of(self.mode)
        react_of(self.react)
        report_of(self.report)
        mode = session_memory_of(self.session_memory)
        memories = MemoryStore(mode, default=_dump_message, object_hook=_load_message)
        object.__setattr__(self, "memories", memories)
        object.__setattr__(self, "lessons", LessonStore(state=memories.state))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy the settings without the cache, which may hold clients, and stores."""
        given = (self.policy, self.target, self.on_error, self.mode, self.usage, self.react)
        return RepairSettings, (*given, self.session_memory, self.report)

    @property
    def fingerprint(self) -> str:
        """What a cached answer depends on, apart from the model and the messages."""
        policy = self.policy if self.policy is not None else Policy()
        text = f"{self.target} {self.mode} {self.usage} {policy}"
        return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def settings_with(**options: Any) -> RepairSettings:
    """Return the settings for options of ``mend``.

    Raises:
        PolicyError: a value does not exist.
        TargetError: no table describes ``target``.
    """
    return RepairSettings(policy_of(options.pop("policy", None)), **options)


def _dump_message(message: Any) -> dict[str, Any]:
    """Return a message of LangChain as a dict for JSON, with which a memory is stored."""
    return {_STORED: messages_to_dict([message])[0]}


def _load_message(value: dict[str, Any]) -> Any:
    return messages_from_dict([value[_STORED]])[0] if value.keys() == {_STORED} else value


def settings_of(model: BaseChatModel) -> RepairSettings:
    """Return the settings of a wrapped model."""
    settings = model.__dict__.get(SETTINGS)
    if isinstance(settings, RepairSettings):
        return settings
    settings = getattr(type(model), CLASS_SETTINGS, None)
    return settings if isinstance(settings, RepairSettings) else _DEFAULT


_DEFAULT = RepairSettings()
