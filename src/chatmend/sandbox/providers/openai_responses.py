"""Finds broken rules in a Responses request, in the order in which OpenAI validates.

Top-level keys, input items, tools, parameters; then stored state; then the abilities of the
model.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from chatmend.sandbox.providers import openai_items
from chatmend.sandbox.providers.openai_tools import flat_tool_faults
from chatmend.sandbox.refusals import Fault, fault
from chatmend.sandbox.request import SandboxRequest, json_type_name, objects

if TYPE_CHECKING:
    from collections.abc import Iterator

Body = dict[str, Any]
_KEYS = frozenset(
    "background context_management conversation include input instructions max_output_tokens "
    "max_tool_calls metadata model moderation parallel_tool_calls previous_response_id prompt "
    "prompt_cache_key prompt_cache_options prompt_cache_retention reasoning safety_identifier "
    "service_tier store stream stream_options temperature text tool_choice tools top_logprobs "
    "top_p truncation user presence_penalty frequency_penalty".split()
)
_INCLUDES = (
    "file_search_call.results web_search_call.results web_search_call.action.sources "
    "message.input_image.image_url computer_call_output.output.image_url "
    "code_interpreter_call.outputs reasoning.encrypted_content message.output_text.logprobs"
).split()
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_MIN_OUTPUT_TOKENS, _MAX_METADATA, _SUGGESTED = 16, 16, 2


def faults(request: SandboxRequest) -> Iterator[Fault]:
    """Yield every fault in OpenAI's order; the API reports only the first."""
    body = request.body
    return chain(
        _keys(body),
        openai_items.faults(request),
        (
            fault("openai-responses-include-value", f"include[{at}]", value=value)
            for at, value in enumerate(body.get("include") or [])
            if value not in _INCLUDES
        ),
        flat_tool_faults(body),
        _choice(body),
        _parameters(body),
        _state(request),
        (fault("openai-file-not-found", name=name) for name in request.expired_files()),
        openai_items.pairing(request),
        _capabilities(body),
    )


def _distance(left: str, right: str) -> int:
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(right, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]


def _keys(body: Body) -> Iterator[Fault]:
    if "messages" in body:
        yield fault("openai-responses-messages-instead")
    for key in body:
        if key not in _KEYS:
            near = sorted((_distance(key, known), known) for known in _KEYS - body.keys())
            close = " or ".join(f"'{known}'" for far, known in near if far <= _SUGGESTED)
            yield fault(
                "openai-responses-unknown-key-suggestion",
                key,
                hint=f" Did you mean {close}?" if close else "",
            )
    options = body.get("stream_options")
    if isinstance(options, dict) and "include_usage" in options:
        yield fault("openai-responses-stream-options")


def _choice(body: Body) -> Iterator[Fault]:
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and choice.get("type") == "function" and "name" not in choice:
        yield fault("openai-responses-missing", "tool_choice.name")
    if isinstance(choice, str) and choice not in ("none", "auto", "required"):
        yield fault("openai-responses-tool-choice-value", choice=choice)


def _parameters(body: Body) -> Iterator[Fault]:
    metadata = body.get("metadata")
    if isinstance(metadata, dict) and len(metadata) > _MAX_METADATA:
        yield fault("openai-responses-metadata-16", number=len(metadata))
    if "text" in body and not isinstance(body["text"], dict | None):
        yield fault("openai-responses-text-type", got=json_type_name(body["text"]))
    most = body.get("max_output_tokens")
    if isinstance(most, int) and most < _MIN_OUTPUT_TOKENS:
        yield fault("openai-responses-max-output-tokens-min", most=most)
    reasoning = body.get("reasoning")
    effort = reasoning.get("effort") if isinstance(reasoning, dict) else None
    if effort is not None and effort not in _EFFORTS:
        yield fault("openai-responses-effort-value", effort=effort)
    if body.get("truncation") not in (None, "auto", "disabled"):
        yield fault("openai-responses-truncation-value", value=body["truncation"])


def _state(request: SandboxRequest) -> Iterator[Fault]:
    body = request.body
    previous, conversation, prompt = (
        body.get(key) for key in ("previous_response_id", "conversation", "prompt")
    )
    if previous and conversation:
        yield fault("openai-responses-conversation-and-previous")
    name = conversation.get("id") if isinstance(conversation, dict) else conversation
    if name and not _may_exist(request, str(name), "conv_"):
        yield fault("openai-responses-conversation-404", name=name)
    name = prompt.get("id") if isinstance(prompt, dict) else None
    if name and not _may_exist(request, str(name), "pmpt_"):
        yield fault("openai-responses-prompt-404", name=name)
    if previous and not _may_exist(request, str(previous), "resp_"):
        yield fault("openai-responses-previous-response", name=previous)


def _may_exist(request: SandboxRequest, name: str, start: str) -> bool:
    """Return whether an id is stored here or has the format of OpenAI's ids.

    The sandbox cannot know what OpenAI stores.
    """
    if name in request.changes.expired:
        return False
    if request.memory.responses.get((request.key, name)) is not None:
        return True
    tail = name.removeprefix(start)
    genuine = (
        name.startswith(start) and len(tail) >= 32 and all(c in "0123456789abcdef" for c in tail)
    )
    return genuine and not request.strict_signatures


def _capabilities(body: Body) -> Iterator[Fault]:
    for key in ("temperature", "top_p", "presence_penalty", "frequency_penalty"):
        if body.get(key) is not None:
            yield fault("openai-responses-sampling-unsupported", key)
    if body.get("top_logprobs"):
        yield fault("openai-responses-logprobs")
    reasoning = body.get("reasoning")
    effort = reasoning.get("effort") if isinstance(reasoning, dict) else None
    if effort is not None:
        yield fault("openai-responses-effort-unsupported")
    if effort in ("none", "minimal", "xhigh", "max"):
        yield fault(
            "openai-responses-effort-level-unsupported", effort=effort, model=body.get("model")
        )
    if any(tool.get("type") == "function" for tool in objects(body.get("tools"))):
        yield fault("openai-responses-deep-research-tools")
