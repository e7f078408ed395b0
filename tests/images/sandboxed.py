"""Sends images, unchanged and repaired for LiteLLM, to a server that refuses as providers do.

    python -m tests.images.sandboxed [TARGET]

Prints for each target how many images of the corpus are refused before and after the repair, and which.
"""

from __future__ import annotations

import copy
import os
import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
import litellm

from chatmend.litellm.attempt import repair_attempt
from chatmend.litellm.shapes import CHAT
from chatmend.sandbox import Sandbox
from tests.images.pictures import Sample, part, samples

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

_AWS = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "aws_region_name": "us-east-1"}
_CLAUDE = "anthropic.claude-sonnet-4-5-20250929-v1:0"
_SCOUT = "groq/meta-llama/llama-4-scout-17b-16e-instruct"
_VERTEX = "vertex/v1/projects/p/locations/l/publishers"


@dataclass(frozen=True)
class Route:
    """How a request for a target travels."""

    model: str
    """As LiteLLM names it."""
    path: str
    more: dict[str, Any] = field(default_factory=dict)
    calls: bool = True
    """The model calls tools."""
    then: str = ""
    """A path that gets the same body after the first has taken it: LiteLLM wants Google's credentials for that one."""


ROUTES = {
    "openai/gpt-4o": Route("openai/gpt-4o", "openai/v1"),
    "openai/gpt-4.1": Route("openai/gpt-4.1", "openai/v1"),
    "azure/gpt-4o": Route("azure/gpt-4o", "azure", {"api_version": "2024-10-21"}),
    "anthropic/claude-sonnet-4-5": Route("anthropic/claude-sonnet-4-5", "anthropic"),
    "anthropic/claude-opus-4-8": Route("anthropic/claude-opus-4-8", "anthropic"),
    "vertex_ai/claude-sonnet-4-5": Route(
        "anthropic/claude-sonnet-4-5",
        "anthropic",
        then=f"{_VERTEX}/anthropic/models/claude-sonnet-4-5:rawPredict",
    ),
    f"bedrock/{_CLAUDE}": Route(f"bedrock/converse/{_CLAUDE}", "bedrock", _AWS),
    f"bedrock/invoke/{_CLAUDE}": Route(f"bedrock/invoke/{_CLAUDE}", "bedrock", _AWS),
    "bedrock/us.amazon.nova-pro-v1:0": Route(
        "bedrock/converse/us.amazon.nova-pro-v1:0", "bedrock", _AWS
    ),
    "gemini/gemini-2.5-flash": Route("gemini/gemini-2.5-flash", "gemini/v1beta"),
    "gemini/gemini-3-pro-preview": Route("gemini/gemini-3-pro-preview", "gemini/v1beta"),
    "vertex_ai/gemini-2.5-pro": Route(
        "gemini/gemini-2.5-pro",
        "gemini/v1beta",
        then=f"{_VERTEX}/google/models/gemini-2.5-pro:generateContent",
    ),
    "mistral/mistral-medium-latest": Route("mistral/mistral-medium-latest", "mistral/v1"),
    _SCOUT: Route(_SCOUT, "groq/openai/v1"),
    "xai/grok-4": Route("xai/grok-4", "xai/v1"),
    "cohere/command-a-vision-07-2025": Route(
        "cohere_chat/command-a-vision-07-2025", "cohere/v2/chat", calls=False
    ),
    "zai/glm-4.6v": Route("zai/glm-4.6v", "zai/api/paas/v4"),
    "openrouter/google/gemini-2.5-pro": Route(
        "openrouter/google/gemini-2.5-pro", "openrouter/api/v1"
    ),
    "strict": Route("hosted_vllm/strict", "strict/v1"),
}
"""Every endpoint of the sandbox that looks at images, by the target of the repair."""
LOOK = {
    "type": "function",
    "function": {"name": "look", "parameters": {"type": "object", "properties": {}}},
}


def talk(sample: Sample, *, calls: bool) -> list[Any]:
    """The image in a user's message, and in a tool result where the model calls tools."""
    image = part(sample)
    messages: list[Any] = [
        {"role": "user", "content": [{"type": "text", "text": "What is this?"}, image]}
    ]
    if calls:
        call = {
            "id": "call_look1",
            "type": "function",
            "function": {"name": "look", "arguments": "{}"},
        }
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {
                "role": "tool",
                "tool_call_id": "call_look1",
                "content": [{"type": "text", "text": "seen:"}, image],
            },
        ]
    return [
        *messages,
        {"role": "assistant", "content": "I see."},
        {"role": "user", "content": "And now?"},
    ]


def verdict(server: Sandbox, route: Route, messages: list[Any]) -> str:
    """Empty when the server answers; otherwise the rule and what it says, or what LiteLLM says that cannot send it."""
    address = server.url(route.path)
    base = (
        {"aws_bedrock_runtime_endpoint": address} if route.more is _AWS else {"api_base": address}
    )
    more = base | route.more | ({"tools": [LOOK]} if route.calls else {})
    server.clear()
    try:
        litellm.completion(
            model=route.model,
            messages=copy.deepcopy(messages),
            api_key="k",
            num_retries=0,
            max_retries=0,
            **more,
        )
        if route.then:
            _forward(server, route)
    except Exception as error:  # noqa: BLE001 - LiteLLM's exceptions differ
        if not server.refusals:
            return f"unsent: {type(error).__name__}: {str(error)[:160]}"
    return "; ".join(f"{refused.rule}: {refused.text[:160]}" for refused in server.refusals)


def _forward(server: Sandbox, route: Route) -> None:
    body = {key: value for key, value in server.requests[-1].body.items() if key != "model"}
    if "anthropic" in route.then:
        body["anthropic_version"] = "vertex-2023-10-16"
    httpx.post(server.url(route.then), json=body, timeout=60).raise_for_status()


def refused(server: Sandbox, target: str, names: Iterable[str], *, repair: bool) -> dict[str, str]:
    """What the server says to each image that it refuses, by the image's name."""
    route, found = ROUTES[target], dict[str, str]()
    for name in names:
        messages = talk(samples()[name], calls=route.calls)
        if repair:
            request = {"messages": messages, **({"tools": [LOOK]} if route.calls else {})}
            attempt = repair_attempt(request, CHAT, target)
            messages = (attempt.request or request)["messages"]
        if said := verdict(server, route, messages):
            found[name] = said
    return found


def print_refusals(
    targets: Iterable[str], names: Collection[str], refused: Callable[..., dict[str, str]]
) -> int:
    """Print for each target what is refused, unrepaired and repaired; return how many repaired files are."""
    litellm.suppress_debug_info = True
    wrong = 0
    with Sandbox() as server:
        for target in targets:
            raw = refused(server, target, names, repair=False)
            mended = refused(server, target, names, repair=True)
            rules = Counter(said.partition(":")[0] for said in raw.values())
            print(
                f"{target:52} of {len(names)} files refused {len(raw):3}, repaired {len(mended):3}",
                flush=True,
            )
            print("    " + ", ".join(f"{rule} {number}" for rule, number in rules.most_common()))
            for name, said in mended.items():
                print(f"    {name}: {said}")
            wrong += len(mended)
    return wrong


def main(targets: list[str]) -> int:
    """The table; how many repaired images were refused."""
    return print_refusals(targets or ROUTES, samples(), refused)


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)
