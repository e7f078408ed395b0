"""The five models that most tests use: real partner classes, pointed at the sandbox."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from typing import Any

import pytest


@dataclass(frozen=True)
class Configuration:
    """A partner class and the parameters that point it at the sandbox."""

    module: str
    cls: str
    path: str
    address: str
    """The parameter that takes the URL."""
    params: dict[str, Any]
    target: str

    def load(self) -> Any:
        """Return the class; skip the test if its package is missing or does not use HTTP."""
        module = pytest.importorskip(self.module)
        if self.module == "langchain_google_genai" and version("langchain-google-genai") < "4":
            pytest.skip(
                "langchain-google-genai before version 4 uses gRPC; the sandbox serves HTTP"
            )
        return getattr(module, self.cls)

    def values(self, sandbox: Any) -> dict[str, Any]:
        return {**self.params, self.address: sandbox.url(self.path)}

    def model(self, sandbox: Any, **more: Any) -> Any:
        return self.load()(**{**self.values(sandbox), **more})


_OPENAI = ("langchain_openai", "ChatOpenAI", "openai/v1", "base_url")
CONFIGURATIONS = {
    "openai": Configuration(
        *_OPENAI, {"model": "gpt-4o", "api_key": "k", "max_retries": 0}, "openai/gpt-4o"
    ),
    "responses": Configuration(
        *_OPENAI,
        {"model": "gpt-5", "api_key": "k", "max_retries": 0, "use_responses_api": True},
        "openai/responses/gpt-5",
    ),
    "anthropic": Configuration(
        "langchain_anthropic",
        "ChatAnthropic",
        "anthropic",
        "base_url",
        {"model": "claude-haiku-4-5", "api_key": "k", "max_retries": 0},
        "anthropic/claude-haiku-4-5",
    ),
    "mistral": Configuration(
        "langchain_mistralai",
        "ChatMistralAI",
        "mistral/v1",
        "endpoint",
        {"model": "mistral-large-latest", "api_key": "k", "max_retries": 1},
        "mistral/mistral-large-latest",
    ),
    "gemini": Configuration(
        "langchain_google_genai",
        "ChatGoogleGenerativeAI",
        "gemini",
        "base_url",
        {"model": "gemini-2.5-flash", "google_api_key": "k", "max_retries": 1},
        "gemini/gemini-2.5-flash",
    ),
}


def is_installed(package: str) -> bool:
    """Return whether a package can be imported."""
    try:
        import_module(package)
    except ImportError:
        return False
    return True
