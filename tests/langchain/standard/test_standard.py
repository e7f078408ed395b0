"""LangChain's standard test suites, run for the bare and the wrapped class of each configuration.

Each test must have the same outcome for both; ``conftest.py`` compares them.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

pytest.importorskip("langchain_tests")
from langchain_tests.integration_tests import ChatModelIntegrationTests
from langchain_tests.unit_tests import ChatModelUnitTests

from chatmend.langchain.model import repairing_class
from chatmend.sandbox import Sandbox
from tests.langchain.configurations import CONFIGURATIONS, Configuration

for _name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "MISTRAL_API_KEY", "GOOGLE_API_KEY"):
    os.environ.setdefault(_name, "sandbox")

SERVER = Sandbox()
SERVER.__enter__()


def _of(configuration: Configuration, name: str, *, wrapped: bool) -> dict[str, Any]:
    """Return the properties of a suite class; only ``chat_model_class`` depends on ``wrapped``."""
    cls = configuration.load()
    values = configuration.values(SERVER) | ({"stream_usage": True} if name == "openai" else {})
    answers = {
        "chat_model_class": repairing_class(cls) if wrapped else cls,
        "chat_model_params": values,
        "standard_chat_model_params": {},
        # The suites download their images; test_images.py tests images without a download.
        "supports_image_inputs": False,
        "supports_json_mode": name == "openai",
        # Gemini's bare class takes no model= in a call; Mistral's reports the configured model.
        "supports_model_override": name not in ("gemini", "mistral"),
        "model_override_value": _OTHER_MODELS.get(name),
    }
    return {key: property(lambda _, value=value: value) for key, value in answers.items()}


_OTHER_MODELS = {
    "openai": "gpt-4o-mini",
    "responses": "gpt-5-mini",
    "anthropic": "claude-sonnet-4-5",
}


def _suites() -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, configuration in CONFIGURATIONS.items():
        for form in ("Bare", "Mended"):
            space = _of(configuration, name, wrapped=form == "Mended")
            for kind, suite in (
                ("Unit", ChatModelUnitTests),
                ("Integration", ChatModelIntegrationTests),
            ):
                cls = f"Test{kind}{form}{name.capitalize()}"
                made[cls] = type(cls, (suite,), {**space, "__module__": __name__})
    return made


globals().update(_suites())
