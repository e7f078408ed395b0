"""The LiteLLM adapter: one callback repairs every request for the deployment that receives it.

    import chatmend.litellm

    chatmend.litellm.install()

In the proxy's configuration: ``litellm_settings: {callbacks: chatmend.litellm.callback}``.

LiteLLM has no hook that can change a request of the synchronous ``litellm.completion``:
``install()`` registers a callback and wraps that function. ``litellm.callbacks = [ChatMend()]``
alone repairs only asynchronous calls; ``chatmend.litellm.completion`` is for synchronous ones.
``CHATMEND_DISABLED=1`` in the environment disables all repairs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

try:
    import litellm  # noqa: F401 - the extra may be missing
except ImportError as error:
    text = f"chatmend.litellm needs LiteLLM ({error}); install it: pip install 'chatmend[litellm]'"
    raise ModuleNotFoundError(text, name=error.name) from error

from chatmend.litellm.exchange import Exchange
from chatmend.litellm.hooks import ChatMend
from chatmend.litellm.install import acompletion, completion, install, uninstall
from chatmend.litellm.settings import from_environment
from chatmend.litellm.shared_images import SharedImages
from chatmend.litellm.shared_memories import SharedMemories

if TYPE_CHECKING:
    callback: ChatMend

__all__ = [
    "ChatMend",
    "Exchange",
    "SharedImages",
    "SharedMemories",
    "acompletion",
    "callback",
    "completion",
    "install",
    "uninstall",
]


def __getattr__(name: str) -> Any:
    """Create ``callback``, the instance that a proxy's configuration names, on first access.

    Raises:
        AttributeError: the module has no such attribute.
    """
    if name == "callback":
        return globals().setdefault("callback", from_environment())
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
