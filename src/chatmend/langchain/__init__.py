"""The LangChain adapter: any chat model, a function, a middleware, a node, a message history on disk.

    from chatmend.langchain import mend

    model = mend(ChatAnthropic(...))  # still a ChatAnthropic to everyone who asks

``CHATMEND_DISABLED=1`` in the environment switches everything off. ``RepairMiddleware`` needs ``langchain``; everything
else needs ``langchain_core`` alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

try:
    import langchain_core  # noqa: F401 - the extra may be missing
except ImportError as error:
    text = f"chatmend.langchain needs langchain-core ({error}); install it: pip install 'chatmend[langchain]'"
    raise ModuleNotFoundError(text, name=error.name) from error

from chatmend.langchain.history import ChatMendHistory
from chatmend.langchain.model import MendedChatModel, mend
from chatmend.langchain.node import repair_node
from chatmend.langchain.transformer import repair_messages

if TYPE_CHECKING:
    from chatmend.langchain.middleware import RepairMiddleware

__all__ = ["ChatMendHistory", "MendedChatModel", "RepairMiddleware", "mend", "repair_messages", "repair_node"]


def __getattr__(name: str) -> Any:
    """Import the middleware when it is first asked for: it alone needs the package ``langchain``.

    Raises:
        AttributeError: there is no such name.
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
