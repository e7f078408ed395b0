"""Converts SDK objects in a list of messages to plain dicts, and back after the repair.

Responses of OpenAI, Anthropic, Google and LiteLLM are Pydantic models, and applications append
them, or parts of them, to their messages. Databases and YAML readers return subclasses of dict and
list. LangChain messages are not converted, because they have a separate dialect.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend.dialects import adapter_of, recognise
from chatmend.transcript import is_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chatmend.changes import Change
    from chatmend.dialects import Dialect, Unsure

_CONTAINER_KEYS = ("content", "tool_calls", "parts", "output")
_PLAIN_TYPES = frozenset({dict, str})


class PlainMessages:
    """A list of messages converted to plain dicts, which remembers the original objects."""

    def __init__(self, messages: list[Any], *, is_plain: bool = False) -> None:
        """Convert each message and the items of its content lists, where necessary.

        ``is_plain``: whether no message needs conversion, because all are known to be dicts with
        only dicts and strings inside, or because the dialect reads the objects themselves.
        """
        self._original_list, self.messages = messages, messages
        self._originals: dict[int, Any] = {}
        self._is_plain = is_plain or all(map(_is_plain, messages))
        if not self._is_plain:
            converted = [_as_plain(message) for message in messages]
            self._originals = {
                id(new): old for new, old in zip(converted, messages, strict=True) if new is not old
            }
            self.messages = converted if self._originals else messages

    def recognise(self, provider: str) -> Dialect | Unsure:
        """Return the dialect of the messages, for a target of this provider."""
        return recognise(self.messages, provider, dicts=self._is_plain)

    def restore_messages(self, messages: list[Any]) -> list[Any]:
        """Return the repaired messages with the original object for each unchanged message.

        Returns the original list itself if nothing changed.
        """
        if not self._originals:
            return messages
        out = [self._originals.get(id(message), message) for message in messages]
        return self._original_list if is_unchanged(out, self._original_list) else out

    def restore_changes(self, changes: Iterable[Change]) -> tuple[Change, ...]:
        """Return the changes with the original objects in ``before`` and ``after``."""
        if not self._originals:
            return tuple(changes)
        return tuple(
            replace(
                change,
                before=tuple(self._originals.get(id(native), native) for native in change.before),
                after=tuple(self._originals.get(id(native), native) for native in change.after),
            )
            for change in changes
        )


def _is_plain(message: Any) -> bool:  # noqa: ANN401 - messages can be of any type
    """Whether a message is a dict whose content lists contain only dicts and strings."""
    if message.__class__ is not dict:
        return False
    for key, value in message.items():
        if value.__class__ is str or value is None or key not in _CONTAINER_KEYS:
            continue
        if value.__class__ is not list or not _PLAIN_TYPES.issuperset(map(type, value)):
            return False
        if key == "tool_calls" and not all(map(_has_plain_function, value)):
            return False
    return True


def _has_plain_function(call: Any) -> bool:  # noqa: ANN401
    return call.__class__ is dict and call.get("function").__class__ is dict


def _as_plain(message: Any) -> Any:  # noqa: ANN401 - messages can be of any type
    plain = _as_sent(message)
    if not isinstance(plain, dict):
        return plain
    found: dict[str, Any] = {}
    for key in _CONTAINER_KEYS:
        value = plain.get(key)
        if isinstance(value, list | tuple):
            items = [_entry_as_sent(item) for item in value]
            if value.__class__ is not list or not is_unchanged(items, value):
                found[key] = items
    return {**plain, **found} if found else plain


def _as_sent(value: Any) -> Any:  # noqa: ANN401
    """Return a Pydantic model or a subclass of dict as a plain dict; other values unchanged."""
    if value.__class__ is dict or value.__class__ is str:
        return value
    return dict(value) if isinstance(value, dict) else _dump_model(value)


def _entry_as_sent(item: Any) -> Any:  # noqa: ANN401
    """Like ``_as_sent``, but also convert the ``function`` of a tool call.

    Applications build calls as dicts around the function object of a response.
    """
    sent = _as_sent(item)
    if not isinstance(sent, dict) or "function" not in sent:
        return sent
    function = _as_sent(sent["function"])
    return sent if function is sent["function"] else {**sent, "function": function}


def _dump_model(value: Any) -> Any:  # noqa: ANN401
    """Return a Pydantic model as the dict that its SDK sends; other values unchanged."""
    if not hasattr(value, "model_dump") or adapter_of(value) is not None:
        return value
    try:
        return value.model_dump(mode="json", exclude_none=True)
    except Exception:  # noqa: BLE001 - foreign code; a model that cannot be dumped stays unchanged
        return value
