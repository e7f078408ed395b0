"""Local servers that refuse the requests that the real providers refuse.

The responses have the provider's status, headers, body and text. ``Sandbox`` is an HTTP server
that supports the providers' wire formats; ``python -m chatmend.sandbox`` runs it in the
foreground. It needs Starlette and uvicorn: ``pip install 'chatmend[sandbox]'``. It shares no
rules with the repair: it validates requests by its own tables.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chatmend.sandbox.ledger import Verdict
    from chatmend.sandbox.providers.anthropic_thinking import signed_thinking
    from chatmend.sandbox.script import Failure, Reply, ScriptedChange
    from chatmend.sandbox.server import Sandbox
    from chatmend.sandbox.serving import serve

__all__ = [
    "Failure",
    "Reply",
    "Sandbox",
    "ScriptedChange",
    "Verdict",
    "serve",
    "signed_thinking",
]

_HOMES = {
    "Failure": "script",
    "Reply": "script",
    "Sandbox": "server",
    "ScriptedChange": "script",
    "Verdict": "ledger",
    "serve": "serving",
    "signed_thinking": "providers.anthropic_thinking",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use: the package must load without the extra.

    Raises:
        AttributeError: the module has no such name.
        ImportError: Starlette or uvicorn is missing; the message says how to install it.
    """
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    except ImportError as error:
        text = (
            f"the sandbox needs Starlette and uvicorn ({error}); "
            "install them: pip install 'chatmend[sandbox]'"
        )
        raise ImportError(text, name=error.name) from error
