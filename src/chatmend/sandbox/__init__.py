"""Local servers that refuse what the real providers refuse, with their status, headers, body and text.

``Sandbox`` is one real HTTP server that speaks the providers' wire protocols; ``python -m chatmend.sandbox`` runs it
in the foreground. It needs Starlette and uvicorn: ``pip install 'chatmend[sandbox]'``. It knows nothing of the repair:
it judges by its own tables.
"""

try:
    import starlette  # noqa: F401 - only asked whether it is there
    import uvicorn  # noqa: F401
except ImportError as error:
    text = f"the sandbox needs Starlette and uvicorn ({error}); install them: pip install 'chatmend[sandbox]'"
    raise ImportError(text, name=error.name) from error

from chatmend.sandbox.ledger import Verdict
from chatmend.sandbox.script import Failure, Reply
from chatmend.sandbox.server import Sandbox
from chatmend.sandbox.serving import serve

__all__ = ["Failure", "Reply", "Sandbox", "Verdict", "serve"]
