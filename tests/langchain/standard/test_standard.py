"""LangChain's own standard suites, for each configuration twice: the class as it is, and mended.

The outcomes must be the same, test by test; ``compare.py`` compares them.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

pytest.importorskip("langchain_tests")
from langchain_tests.integration_tests import ChatModelIntegrationTests
from langchain_tests.unit_tests import ChatModelUnitTests

from chatmend.langchain.model import mended_class
from chatmend.sandbox import Sandbox
from tests.langchain.configurations import CONFIGURATIONS, Configuration

for _name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "MISTRAL_API_KEY", "GOOGLE_API_KEY"):
    os.environ.setdefault(_name, "sandbox")

SERVER = Sandbox()
SERVER.__enter__()


def _of(configuration: Configuration, name: str, *, mended: bool) -> dict[str, Any]:
    """What a suite asks of a class; the same for both forms."""
    cls = configuration.load()
    values = configuration.values(SERVER) | ({"stream_usage": True} if name == "openai" else {})
    answers = {
        "chat_model_class": mended_class(cls) if mended else cls,
        "chat_model_params": values,
        "standard_chat_model_params": {},
        # the suites download their images; ours are tested with images of our own
        "supports_image_inputs": False,
        "supports_json_mode": name == "openai",
        # Gemini's class takes no model= in a call, Mistral's reports its own: bare, too
        "supports_model_override": name not in ("gemini", "mistral"),
        "model_override_value": _OTHER_MODELS.get(name),
    }
    return {key: property(lambda _, value=value: value) for key, value in answers.items()}


_OTHER_MODELS = {"openai": "gpt-4o-mini", "responses": "gpt-5-mini", "anthropic": "claude-sonnet-4-5"}


def _suites() -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, configuration in CONFIGURATIONS.items():
        for form in ("Bare", "Mended"):
            space = _of(configuration, name, mended=form == "Mended")
            for kind, suite in (("Unit", ChatModelUnitTests), ("Integration", ChatModelIntegrationTests)):
                cls = f"Test{kind}{form}{name.capitalize()}"
                made[cls] = type(cls, (suite,), {**space, "__module__": __name__})
    return made


globals().update(_suites())
