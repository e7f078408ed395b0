"""Judges: our own small chat templates, each raising for the rules that a public strict family states.

They are rendered the way vLLM renders: content parts as text, tool-call arguments parsed first.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template, TemplateError

from .reading import blocks, calls, function, objects, parsed

if TYPE_CHECKING:
    from .request import Json, Judge, Request

_TEMPLATES = Path(__file__).with_name("templates")
FAMILIES = tuple(sorted(path.stem for path in _TEMPLATES.glob("*.jinja")))
"""The names of the templates."""


def _raise_exception(message: str) -> NoReturn:
    raise TemplateError(message)


@cache
def _template(family: str) -> Template:
    loader = FileSystemLoader(_TEMPLATES)
    environment = Environment(
        loader=loader,
        trim_blocks=True,
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701
    )
    environment.globals["raise_exception"] = _raise_exception
    return environment.get_template(f"{family}.jinja")


def _as_rendered(message: dict[str, Json]) -> dict[str, Json]:
    held = blocks(message.get("content"))
    return {
        "role": message.get("role"),
        "content": "".join(text for block in held if isinstance(text := block.get("text"), str)),
        "kinds": [block.get("type") for block in held],
        "thinking": message.get("thinking"),
        "tool_calls": [_call_as_rendered(call) for call in calls(message)],
        "tool_call_id": message.get("tool_call_id"),
    }


def _call_as_rendered(call: dict[str, Json]) -> dict[str, Json]:
    # vLLM reads missing and empty arguments as {}.
    arguments = parsed(function(call).get("arguments") or "{}")
    return {
        "id": call.get("id"),
        "function": {"name": function(call).get("name"), "arguments": arguments},
    }


def renders_as(family: str) -> Judge:
    """The template of one family, by its file name."""

    def chat_template(request: Request) -> list[str]:
        messages = [_as_rendered(message) for message in objects(request.messages)]
        try:
            _template(family).render(messages=messages, tools=request.tools)
        except (TemplateError, TypeError) as error:
            return [f"template {family}: {error}"[:300]]
        return []

    chat_template.__doc__ = f"Our template {family}.jinja."
    return chat_template
