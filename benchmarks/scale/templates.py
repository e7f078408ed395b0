"""Chat templates from the packages of TRL and Axolotl, in the environment of transformers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from jinja2.sandbox import ImmutableSandboxedEnvironment

TEMPLATES = (
    Path(sys.prefix) / "trl" / "trl" / "chat_templates",
    Path(sys.prefix) / "axolotl" / "axolotl" / "utils" / "chat_templates" / "templates",
)
"""`make` installs TRL and Axolotl there, without the packages that they depend on."""
MODELS = {
    "qwen2_5": "Qwen/Qwen2.5-7B-Instruct",
    "qwen3": "Qwen/Qwen3-8B",
    "qwen3_5_think": "Qwen/Qwen3.5-32B",
    "llama3": "meta-llama/Meta-Llama-3-8B-Instruct",
    "llama3_1": "meta-llama/Llama-3.1-8B-Instruct",
    "llama3_2": "meta-llama/Llama-3.2-3B-Instruct",
    "gemma": "google/gemma-2-9b-it",
    "gemma3": "google/gemma-3-27b-it",
    "mistral_v2v3": "mistralai/Mistral-7B-Instruct-v0.3",
    "mistral_v3_tekken": "mistralai/Mistral-Nemo-Instruct-2407",
    "gptoss": "openai/gpt-oss-120b",
    "glm4moe": "zai-org/GLM-4.5",
}
"""A model of each template. Axolotl's template of Mistral v7 has no tool calls."""
_TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}


def _raise(text: str) -> None:
    raise ValueError(text)


def load_template(name: str) -> Any:  # noqa: ANN401 - jinja2 has no types for it
    """Return a template.

    Raises:
        FileNotFoundError: the packages are not installed.
    """
    paths = [folder / f"{name}.jinja" for folder in TEMPLATES]
    path = next(filter(Path.exists, paths), paths[0])
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = lambda value, **_: json.dumps(value, ensure_ascii=False)
    environment.globals["raise_exception"] = _raise
    environment.globals["strftime_now"] = lambda _: "24 Nov 2026"
    return environment.from_string(path.read_text("utf-8"))


def render(template: Any, messages: list[dict[str, Any]]) -> str:  # noqa: ANN401
    """Render messages as trainers do: with the arguments of calls as objects.

    Raises:
        ValueError: the template refuses the messages.
    """
    return str(template.render(messages=[*map(_with_objects, messages)], **_TOKENS))


def _with_objects(message: dict[str, Any]) -> dict[str, Any]:
    if not message.get("tool_calls"):
        return message
    calls = []
    for call in message["tool_calls"]:
        function = call["function"]
        calls.append(
            {**call, "function": {**function, "arguments": json.loads(function["arguments"])}}
        )
    return {**message, "tool_calls": calls}
