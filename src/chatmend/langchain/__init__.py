"""The LangChain adapter: chat models, a function, a middleware, a graph node, a message history.

    from chatmend.langchain import mend

    model = mend(ChatAnthropic(...))  # isinstance(model, ChatAnthropic) still holds

The environment variable ``CHATMEND_DISABLED=1`` disables all repairs. ``RepairMiddleware`` needs
the package ``langchain``; everything else needs only ``langchain_core``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

try:
    import langchain_core  # noqa: F401 - the extra may be missing
except ImportError as error:
    text = (
        f"chatmend.langchain needs langchain-core ({error}); "
        "install it: pip install 'chatmend[langchain]'"
    )
    raise ModuleNotFoundError(text, name=error.name) from error

from chatmend.langchain.explanation import explain
from chatmend.langchain.history import ChatMendHistory
from chatmend.langchain.model import MendedChatModel, mend
from chatmend.langchain.node import repair_node
from chatmend.langchain.transformer import repair_messages

if TYPE_CHECKING:
    from chatmend.langchain.middleware import RepairMiddleware

__all__ = [
    "ChatMendHistory",
    "MendedChatModel",
    "RepairMiddleware",
    "explain",
    "mend",
    "repair_messages",
    "repair_node",
]


def __getattr__(name: str) -> Any:
    """Import ``RepairMiddleware`` on first use, because only it needs the package ``langchain``.

    Raises:
        AttributeError: the module has no such name.
        ImportError: ``langchain`` is not installed.
    """
    if name == "RepairMiddleware":
        try:
            from chatmend.langchain.middleware import RepairMiddleware  # noqa: PLC0415 - see above
        except ImportError as error:
            needs = f"RepairMiddleware needs langchain ({error}); install it: pip install langchain"
            raise ModuleNotFoundError(needs, name=error.name) from error
        return RepairMiddleware
    text = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(text)
