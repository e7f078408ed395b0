"""Finds the call that a result without an id answers.

Chat templates and trainers pair calls and results by their order. A result after a text of the
model answers a call that the model wrote into this text, in the syntax of the model's template.
"""

from __future__ import annotations

from typing import Any

FIRST_OF_TEXT = "t"
"""The first letter of the ids of calls that are in a text."""


class OpenCalls:
    """The calls of a conversation, read from its beginning, that have no result yet."""

    def __init__(self) -> None:
        """Begin a conversation."""
        self.text: Any = None
        """The message of the model in whose text the call of the next result is; None: in none."""
        self._open: list[dict[str, Any]] = []

    def add(self, calls: list[dict[str, Any]], *, continues: bool = False) -> None:
        """Read the calls of a message; ``continues``: those before them are of the same message."""
        self.text = None
        self._open = [*self._open, *calls] if continues else [*calls]

    def read_text(self, role: object, content: object, message: object) -> None:
        """Read a message without calls, which is not a result."""
        if role != "system":
            may_call = role == "assistant" and bool(content) and not self._open
            self.text = message if may_call else None

    def answered_by_result(self, name: object = None) -> str | None:
        """Return the id of the call that a result answers; None if every call has its result.

        It is the first call with the name that the result has, or else the first one. It is not
        returned again.
        """
        if not self._open:
            return None
        call = next((one for one in self._open if _name(one) == name), self._open[0])
        self._open = [one for one in self._open if one is not call]
        return str(call["id"])


def call_in_text(at: int) -> dict[str, Any]:
    """Return a call for the result at a position, which answers a call in a text."""
    function = {"name": "call", "arguments": "{}"}
    return {"id": f"{FIRST_OF_TEXT}{at:08d}", "type": "function", "function": function}


def _name(call: dict[str, Any]) -> object:
    function = call.get("function")
    return function.get("name") if isinstance(function, dict) else call.get("name")
