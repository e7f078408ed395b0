"""On generated transcripts too, a finding of the repair and a refusal of the sandbox go together.

Each transcript has one defect or none. The tables of both are independent of each other.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

import chatmend
from chatmend.targets.image_limits import ImageLimits
from chatmend.targets.limits import Limits
from tests.broken import broken
from tests.broken.generate import all_mutations
from tests.scale import IS_NIGHTLY, examples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.sandbox import Sandbox
    from chatmend.targets import Target

COUNT = examples(12, 2_000)
FOLDER = Path(__file__).parent
UNCERTAIN = tomllib.loads((FOLDER / "uncertain.toml").read_text("utf-8"))
UNCONFIRMED = tomllib.loads((FOLDER / "unconfirmed.toml").read_text("utf-8"))
CHAT = "openai_chat"
CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
PLACES = {
    "openai/gpt-4o": (CHAT, "openai/v1/chat/completions"),
    "azure/gpt-4o": (CHAT, "azure/openai/v1/chat/completions"),
    "mistral/mistral-large-2411": (CHAT, "mistral/v1/chat/completions"),
    "deepseek/deepseek-chat": (CHAT, "deepseek/chat/completions"),
    "xai/grok-4-1-fast-non-reasoning": (CHAT, "xai/v1/chat/completions"),
    "groq/llama-3.3-70b-versatile": (CHAT, "groq/openai/v1/chat/completions"),
    "moonshot/kimi-k2-0905-preview": (CHAT, "moonshot/v1/chat/completions"),
    "zai/glm-4.6": (CHAT, "zai/api/paas/v4/chat/completions"),
    "minimax/MiniMax-M2": (CHAT, "minimax/v1/chat/completions"),
    "openrouter/deepseek/deepseek-chat": (CHAT, "openrouter/api/v1/chat/completions"),
    "perplexity/sonar": (CHAT, "perplexity/chat/completions"),
    "cerebras/gpt-oss-120b": (CHAT, "cerebras/v1/chat/completions"),
    "cohere/command-a-03-2025": (CHAT, "cohere/v2/chat"),
    "openai/gpt-5": ("openai_responses", "openai/v1/responses"),
    "anthropic/claude-sonnet-4-6": ("anthropic_messages", "anthropic/v1/messages"),
    "gemini/gemini-2.5-flash": (
        "gemini_contents",
        "gemini/v1beta/models/gemini-2.5-flash:generateContent",
    ),
    f"bedrock/{CLAUDE}": ("bedrock_converse", f"bedrock/model/{CLAUDE}/converse"),
    "ollama/llama3.1": ("ollama_chat", "ollama/api/chat"),
}
"""Target -> wire format and path in the sandbox."""
HEADERS = {
    "content-type": "application/json",
    "authorization": "Bearer any",
    "x-api-key": "any",
    "x-goog-api-key": "any",
    "anthropic-version": "2023-06-01",
}
UNFORESEEN = (
    "Corrupted thought signature",
    "could not be verified",
    "Invalid `signature`",
    "To use thinking blocks, enable `thinking` in your request.",
)
"""Texts of refusals that no finding foretells: only the provider can verify a signature, and whether thinking is
enabled is the choice of the caller, which these bodies leave out."""
ALWAYS = {
    f"bedrock/{CLAUDE}": (316, 513, 903),
    "gemini/gemini-2.5-flash": (177, 1591),
}
"""Seeds that a quick run tries too: each shows a difference between findings and refusals that is rare."""


def bodies(target: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Request bodies, each with the seed and the defect of its transcript."""
    dialect, _ = PLACES[target]
    defects = ["", *all_mutations(dialect)]
    first = 0 if IS_NIGHTLY else COUNT * list(PLACES).index(target)
    always = () if IS_NIGHTLY else ALWAYS.get(target, ())
    for seed in (*range(first, first + COUNT), *always):
        defect = defects[seed % len(defects)]
        messages = broken(seed, dialect, [defect] if defect else [])
        model = target.partition("/")[2]
        yield (
            f"{seed} {defect}",
            {
                "openai_responses": {"model": model, "input": messages},
                "gemini_contents": {"contents": messages},
                "bedrock_converse": {"messages": messages},
                "anthropic_messages": {"model": model, "max_tokens": 99, "messages": messages},
            }.get(dialect, {"model": model, "messages": messages}),
        )


def without_uncertain_limits(name: str) -> Target:
    """A target without the limits that the sandbox does not check."""
    target = chatmend.resolve(name)
    limits, listed = target.limits, UNCERTAIN.get(name.partition("/")[0], UNCERTAIN.get(name, {}))
    images = [key.removeprefix("images.") for key in listed if key.startswith("images.")]
    plain = {key: getattr(Limits(), key) for key in listed if not key.startswith("images.")}
    without = replace(limits.images, **{key: getattr(ImageLimits(), key) for key in images})
    return replace(target, limits=replace(limits, images=without, **plain))


def codes(body: dict[str, Any], target: str | Target, dialect: str) -> set[str]:
    return {c.code for c in chatmend.repair_request(body, target, dialect=dialect).changes}


def is_text(body: dict[str, Any]) -> str | None:
    """The body as JSON; None if it has no JSON form, so that no client can send it."""
    try:
        text = json.dumps(body)
    except (TypeError, ValueError, RecursionError):
        return None
    return text


@pytest.mark.parametrize("target", PLACES)
def test_findings_and_refusals_go_together(sandbox: Sandbox, target: str) -> None:
    dialect, path = PLACES[target]
    certain = without_uncertain_limits(target)
    silent: list[str] = []
    accepted: list[str] = []
    unconfirmed: set[str] = set()
    allowed = set(UNCONFIRMED["codes"][target.partition("/")[0] + "/" + dialect])
    with httpx.Client(headers=HEADERS, timeout=30) as client:
        for name, body in bodies(target):
            text = is_text(body)
            if text is None:
                continue
            answer = client.post(sandbox.url(path), content=text)
            if answer.status_code != 200:
                unforeseen = any(words in answer.text for words in UNFORESEEN)
                if not unforeseen and not codes(body, target, dialect):
                    silent.append(f"{name}: {answer.text}")
                continue
            found = codes(body, certain, dialect)
            unconfirmed |= found
            if not found <= allowed:
                accepted.append(f"{name}: {sorted(found - allowed)}")
    assert "\n".join(silent) == "", "refused, and nothing is found"
    assert "\n".join(accepted) == "", "accepted, and yet something is found"
    if IS_NIGHTLY:
        assert allowed == unconfirmed, "listed as unconfirmed, and nothing of it was accepted"


def test_every_unconfirmed_code_has_a_reason() -> None:
    listed = {code for found in UNCONFIRMED["codes"].values() for code in found}
    assert listed == UNCONFIRMED["reasons"].keys()
