"""Finds broken rules in a Messages request, in the order in which Anthropic's API validates.

The order was measured on claude-sonnet-5 (2026-08-31): tool_choice, tools, messages, system,
thinking, output_config, cache_control, max_tokens, sampling, unknown keys; then the order of the
messages.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from chatmend.sandbox.providers import anthropic_blocks, anthropic_thinking, anthropic_turns
from chatmend.sandbox.providers.anthropic_thinking import thinks
from chatmend.sandbox.refusals import Fault, fault
from chatmend.sandbox.request import SandboxRequest, objects

if TYPE_CHECKING:
    from collections.abc import Iterator

Body = dict[str, Any]
_KEYS = frozenset(
    "anthropic_beta anthropic_version cache_control container context_management inference_geo "
    "max_tokens mcp_servers messages metadata model output_config output_format service_tier "
    "speed stop_sequences stream system temperature thinking tool_choice tools top_k top_p "
    "user_profile_id fallbacks diagnostics".split()
)
_LONE = re.compile(
    rb"(?<!\\)(?:\\\\)*\\u[dD](?:[89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|[c-fC-F][0-9a-fA-F]{2}"
    rb"(?<!\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}))"
)
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}\Z")
_NULLS = {
    "tools": "a valid array",
    "tool_choice": "an object",
    "stream": "a valid boolean",
    "system": "a valid array",
    "temperature": "a valid number",
}
_MAX_MARKERS = 4
_MAX_TEXT_BYTES = 9_000_000
_LEVELS = {"low", "medium", "high"}


def faults(request: SandboxRequest) -> Iterator[Fault]:
    """Yield every fault in Anthropic's order; the API reports only the first."""
    return chain(
        _encoding(request),
        _present(request.body),
        _container(request.body),
        _tool_choice(request.body),
        _tools(request.body),
        anthropic_blocks.faults(request),
        _system(request.body),
        anthropic_thinking.parameter_faults(request),
        _effort(request.body),
        _markers(request.body),
        _sampling(request.body),
        _unknown(request.body),
        anthropic_turns.faults(request),
        anthropic_thinking.conversation_faults(request),
        anthropic_turns.final_turn_faults(request),
        _sizes(request),
        (fault("anthropic-file-not-found", name=name) for name in request.expired_files()),
    )


def counted_faults(request: SandboxRequest) -> Iterator[Fault]:
    """Yield the faults of a token counting request, which does not need ``max_tokens``."""
    body = {"max_tokens": 1, **request.body}
    yield from faults(replace(request, body=body))


def cloud_faults(request: SandboxRequest) -> Iterator[Fault]:
    """Yield the faults of a request to Vertex, which has the model in the path."""
    yield from faults(replace(request, body={"model": request.model, **request.body}))


def _encoding(request: SandboxRequest) -> Iterator[Fault]:
    """Yield a fault for a lone surrogate, which Python's JSON parser accepts."""
    lone = _LONE.search(request.raw)
    if lone is not None:
        yield fault("anthropic-lone-surrogate", column=lone.start())


def _present(body: Body) -> Iterator[Fault]:
    if "model" not in body:
        yield fault("anthropic-field-required", "model")
    for key, wanted in _NULLS.items():
        if key in body and body[key] is None:
            yield fault("anthropic-null-params", key, wanted=wanted)


def _container(body: Body) -> Iterator[Fault]:
    container = body.get("container")
    if isinstance(container, dict) and container.keys() == {"id"}:
        yield fault("anthropic-container-shape")


def _tool_choice(body: Body) -> Iterator[Fault]:
    choice = body.get("tool_choice")
    if choice is not None and not isinstance(choice, dict):
        yield fault("anthropic-null-params", "tool_choice", wanted="an object")
    if not isinstance(choice, dict):
        return
    forced = choice.get("type") in ("any", "tool")
    if forced:
        yield fault("anthropic-tool-choice-forced-unsupported")
    if forced and thinks(body):
        yield fault("anthropic-thinking-forced-tool-choice")
    if not body.get("tools"):
        yield fault("anthropic-tool-choice-without-tools")
    names = {tool.get("name") for tool in objects(body.get("tools"))}
    if choice.get("type") == "tool" and choice.get("name") not in names:
        yield fault("anthropic-tool-choice-unknown-tool", name=choice.get("name"))


def _tools(body: Body) -> Iterator[Fault]:
    tools = objects(body.get("tools"))
    for at, tool in enumerate(tools):
        yield from _tool(f"tools.{at}", tool)
    names = [tool["name"] for tool in tools if isinstance(tool.get("name"), str)]
    if len(set(names)) < len(names):
        yield fault("anthropic-tool-names-unique")


def _tool(at: str, tool: Body) -> Iterator[Fault]:
    if [] in (tool.get("allowed_domains"), tool.get("blocked_domains")):
        yield fault("anthropic-web-search-domains-empty")
    if tool.get("defer_loading") and tool.get("cache_control"):
        yield fault("anthropic-cache-control-deferred-tool")
    if tool.get("type", "custom") != "custom":
        return
    if not isinstance(tool.get("name"), str):
        yield fault("anthropic-field-required", f"{at}.custom.name")
    elif not _NAME.match(tool["name"]):
        yield fault("anthropic-tool-name-pattern", at)
    schema = tool.get("input_schema")
    if isinstance(schema, dict):
        if "type" not in schema:
            yield fault("anthropic-input-schema-type-object", at, said="Field required")
        elif schema["type"] != "object":
            yield fault("anthropic-input-schema-type-object", at, said="Input should be 'object'")
        if any(key in schema for key in ("oneOf", "allOf", "anyOf")):
            yield fault("anthropic-input-schema-top-combinator", at)


def _system(body: Body) -> Iterator[Fault]:
    system = body.get("system")
    if system == "":
        yield fault("anthropic-system-empty-text")
    elif isinstance(system, str) and not system.strip():
        yield fault("anthropic-system-whitespace")
    for at, block in enumerate(objects(system)):
        text = block.get("text")
        if block.get("type") != "text":
            yield fault("anthropic-system-block-type-text", f"system.{at}.type")
        elif text == "":
            code = (
                "anthropic-cache-control-empty-text"
                if block.get("cache_control")
                else "anthropic-system-empty-text"
            )
            yield fault(code, f"system.{at}.text")
        elif isinstance(text, str) and not text.strip():
            yield fault("anthropic-system-whitespace")


def _effort(body: Body) -> Iterator[Fault]:
    config = body.get("output_config")
    effort = config.get("effort") if isinstance(config, dict) else None
    if isinstance(effort, str) and effort not in _LEVELS:
        yield fault(
            f"anthropic-effort-level{'' if effort in ('max', 'xhigh') else '-unknown'}",
            effort=effort,
        )


def _marker_list(body: Body) -> list[tuple[str, Body]]:
    """Return every cache marker with its position: tools, then system, then messages."""
    found = [(f"tools.{at}", tool) for at, tool in enumerate(objects(body.get("tools")))]
    found += [(f"system.{at}", block) for at, block in enumerate(objects(body.get("system")))]
    for at, message in enumerate(objects(body.get("messages"))):
        found += [
            (f"messages.{at}.content.{i}", block)
            for i, block in enumerate(objects(message.get("content")))
        ]
    return [
        (path, item["cache_control"])
        for path, item in found
        if isinstance(item.get("cache_control"), dict)
    ]


def _markers(body: Body) -> Iterator[Fault]:
    markers = _marker_list(body)
    number = len(markers) + (body.get("cache_control") is not None)
    if number > _MAX_MARKERS:
        yield fault("anthropic-cache-control-max4", number=number)
    short = False
    for path, marker in markers:
        if marker.get("ttl") == "1h" and short:
            yield fault("anthropic-cache-control-ttl-order", f"{path}.cache_control.ttl")
        short = short or marker.get("ttl", "5m") == "5m"


def _sampling(body: Body) -> Iterator[Fault]:
    if "max_tokens" not in body:
        yield fault("anthropic-field-required", "max_tokens")
    if body.get("max_tokens") == 0 and (body.get("stream") or thinks(body)):
        yield fault("anthropic-max-tokens-zero")
    if isinstance(body.get("max_tokens"), int):
        yield from _too_many(body["max_tokens"], str(body.get("model", "")))
    if any(isinstance(stop, str) and not stop.strip() for stop in body.get("stop_sequences") or []):
        yield fault("anthropic-stop-sequence-whitespace")
    yield from _samplers(body)


def _samplers(body: Body) -> Iterator[Fault]:
    for key in ("temperature", "top_p"):
        value = body.get(key)
        if isinstance(value, int | float) and not 0 <= value <= 1:
            yield fault("anthropic-temperature-range", key)
    for key in ("temperature", "top_p", "top_k"):
        if body.get(key) is not None and body.get(key) != 1:
            yield fault("anthropic-sampling-removed", key)
    if body.get("temperature") is not None and body.get("top_p") is not None:
        yield fault("anthropic-temperature-top-p-both")
    if thinks(body) and body.get("temperature", 1) != 1:
        yield fault("anthropic-thinking-temperature")


def _too_many(most: int, model: str) -> Iterator[Fault]:
    for limit in (4096, 8192, 32_000, 64_000, 128_000):
        if most > limit:
            yield fault(
                f"anthropic-max-tokens-over-model-{limit}", most=most, limit=limit, model=model
            )


def _unknown(body: Body) -> Iterator[Fault]:
    for key in body:
        if key not in _KEYS:
            yield fault("anthropic-unknown-top-level", key)


def _sizes(request: SandboxRequest) -> Iterator[Fault]:
    texts = list(anthropic_blocks.texts(request.messages))
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    if size > _MAX_TEXT_BYTES:
        yield fault("anthropic-total-text-bytes", size=size)
    for window in (200_000, 1_000_000):
        if size // 4 > window:
            yield fault(f"anthropic-prompt-too-long-{window}", tokens=size // 4)
