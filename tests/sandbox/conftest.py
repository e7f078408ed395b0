"""The fixtures that the plugin gives to everyone, also where the entry point is not installed."""

import os

from chatmend.sandbox.pytest_plugin import sandbox, sandbox_server

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # LiteLLM would fetch its prices otherwise

__all__ = ["sandbox", "sandbox_server"]
