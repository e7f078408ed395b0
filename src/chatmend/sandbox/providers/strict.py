"""The strict alternation of chat templates, as a vLLM server validates it.

One optional system message, then user and assistant messages in turn. As in the templates of
Mistral 0.3 and similar models, tool messages and assistant messages with tool calls do not
count.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from chatmend.sandbox.providers.chat_shape import calls, image_urls, parts
from chatmend.sandbox.refusals import Fault, fault
from chatmend.sandbox.request import SandboxRequest, objects

if TYPE_CHECKING:
    from collections.abc import Iterator

Body = dict[str, Any]
_ID = re.compile(r"[a-zA-Z0-9]{9}\Z")


def faults(request: SandboxRequest) -> Iterator[Fault]:
    """Yield every fault; the template raises at the first."""
    body, messages = request.body, objects(request.messages)
    if body.get("tool_choice") not in (None, "none") and not body.get("tools"):
        yield fault("vllm-tool-choice-without-tools")
    if body.get("continue_final_message") and body.get("add_generation_prompt"):
        yield fault("vllm-continue-final")
    if not messages:
        yield fault("vllm-tmpl-llama3-tools-no-user")
        yield fault("vllm-messages-empty")
    system = bool(messages) and messages[0].get("role") == "system"
    if system:
        yield fault("vllm-tmpl-gemma-system")
        yield fault("vllm-tmpl-two-roles")
    roles = [str(message.get("role")) for message in messages]
    yield from _qwen(roles)
    yield from _counted(messages[1:] if system else messages)
    yield from _calls(messages)
    if len(list(image_urls(messages))) > 1:
        yield fault("vllm-mm-count")


def _qwen(roles: list[str]) -> Iterator[Fault]:
    if "user" not in roles:
        yield fault("vllm-tmpl-qwen-no-user")
    if "system" in roles[1:]:
        yield fault("vllm-tmpl-qwen-system-first")


def _counted(messages: list[Body]) -> Iterator[Fault]:
    expected = "user"
    for message in messages:
        role = message.get("role")
        if role == "tool" or (role == "assistant" and calls(message)):
            continue
        if role not in ("user", "assistant"):
            yield fault("vllm-tmpl-system-first-only")
        if role != expected:
            yield fault("vllm-tmpl-alternate")
            yield fault("vllm-tmpl-alternate-system")
        expected = "assistant" if role == "user" else "user"


def _calls(messages: list[Body]) -> Iterator[Fault]:
    earlier: set[str] = set()
    for message in messages:
        ids = [str(call.get("id")) for call in calls(message)]
        if len(ids) > 1:
            yield fault("vllm-tmpl-llama3-single-call")
        if message.get("role") == "tool" and not earlier:
            yield fault("vllm-tmpl-gptoss-tool-orphan")
        if message.get("role") == "tool":
            ids.append(str(message.get("tool_call_id")))
        if any(not _ID.match(call) for call in ids):
            yield fault("vllm-tmpl-mistral-id")
        earlier.update(ids)
        if any(part.get("type") not in ("text", "image_url") for part in objects(parts(message))):
            yield fault("vllm-tmpl-mistral-blocks")
        if message.get("thinking") and message.get("content") and ids:
            yield fault("vllm-tmpl-gptoss-content-thinking")
        if "<|channel|>" in str(message.get("content")):
            yield fault("vllm-tmpl-gptoss-channel")
