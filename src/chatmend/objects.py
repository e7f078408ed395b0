"""Objects of SDKs among the messages, shown as the dicts that they are sent as, and put back where nothing changed.

OpenAI's, Anthropic's, Google's and LiteLLM's messages and blocks are Pydantic models: people append an answer, or its
content, as it came. Databases and YAML readers give dicts and lists of classes of their own. LangChain's messages are
no matter of this: they have a dialect of their own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend.dialects import adapter_of
from chatmend.transcript import is_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chatmend.changes import Change

_HOLDERS = ("content", "tool_calls", "parts", "output")
_PLAIN = frozenset({dict, str})


class Shown:
    """A list of messages as dicts, with the way back."""

    def __init__(self, messages: list[Any]) -> None:
        """Look at each message, and at what it holds in lists."""
        self._given, self.messages = messages, messages
        self._came: dict[int, Any] = {}
        self.are_words = _are_words(messages)
        """Whether each is a dict of a role and a text, and nothing else."""
        self.is_plain = self.are_words or all(map(_is_plain, messages))
        """Whether all are dicts that hold none but dicts and texts."""
        if not self.is_plain:
            shown = [_shown(message) for message in messages]
            self._came = {id(new): old for new, old in zip(shown, messages, strict=True) if new is not old}
            self.messages = shown if self._came else messages

    def back(self, messages: list[Any]) -> list[Any]:
        """The list with what came in the place of what shows it; the very list that came if nothing changed."""
        if not self._came:
            return messages
        out = [self._came.get(id(message), message) for message in messages]
        return self._given if is_unchanged(out, self._given) else out

    def changed(self, changes: Iterable[Change]) -> tuple[Change, ...]:
        """Changes of the objects themselves."""
        if not self._came:
            return tuple(changes)
        return tuple(
            replace(
                change,
                before=tuple(self._came.get(id(native), native) for native in change.before),
                after=tuple(self._came.get(id(native), native) for native in change.after),
            )
            for change in changes
        )


def _are_words(messages: list[Any]) -> bool:
    for message in messages:
        if message.__class__ is not dict or len(message) != 2:  # noqa: PLR2004 - a role and a content
            return False
        if message.get("content").__class__ is not str or message.get("role").__class__ is not str:
            return False
    return True


def _is_plain(message: Any) -> bool:  # noqa: ANN401 - anything may stand in a transcript
    """Whether one look tells that a message is a dict, and holds none but dicts and texts."""
    if message.__class__ is not dict:
        return False
    for key, held in message.items():
        if held.__class__ is str or held is None or key not in _HOLDERS:
            continue
        if held.__class__ is not list or not _PLAIN.issuperset(map(type, held)):
            return False
        if key == "tool_calls" and not all(map(_has_plain_function, held)):
            return False
    return True


def _has_plain_function(call: Any) -> bool:  # noqa: ANN401
    return call.__class__ is dict and call.get("function").__class__ is dict


def _shown(message: Any) -> Any:  # noqa: ANN401 - anything may stand in a transcript
    plain = _as_sent(message)
    if not isinstance(plain, dict):
        return plain
    found: dict[str, Any] = {}
    for key in _HOLDERS:
        held = plain.get(key)
        if isinstance(held, list | tuple):
            items = [_entry_as_sent(item) for item in held]
            if held.__class__ is not list or not is_unchanged(items, held):
                found[key] = items
    return {**plain, **found} if found else plain


def _as_sent(value: Any) -> Any:  # noqa: ANN401
    """A dict or a text as it is, one of a class of its own as a plain one, a Pydantic model as what it is sent as."""
    if value.__class__ is dict or value.__class__ is str:
        return value
    return dict(value) if isinstance(value, dict) else _dumped(value)


def _entry_as_sent(item: Any) -> Any:  # noqa: ANN401
    """As `_as_sent`, with the function of a call, which people take from the call that they got."""
    shown = _as_sent(item)
    if not isinstance(shown, dict) or "function" not in shown:
        return shown
    function = _as_sent(shown["function"])
    return shown if function is shown["function"] else {**shown, "function": function}


def _dumped(value: Any) -> Any:  # noqa: ANN401
    """A Pydantic model as it is sent; anything else itself."""
    if not hasattr(value, "model_dump") or adapter_of(value) is not None:
        return value
    try:
        return value.model_dump(mode="json", exclude_none=True)
    except Exception:  # noqa: BLE001 - a model of somebody else: what it cannot say stays what it is
        return value
