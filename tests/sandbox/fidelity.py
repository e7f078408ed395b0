"""Compare the sandbox with recorded responses of the real providers.

python -m tests.sandbox.fidelity
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx

from chatmend.sandbox import Sandbox
from tests.corpus import ROOT, rows
from tests.sandbox.compare import error_type_of, is_same_text, text_of
from tests.sandbox.triggers import image, request_of

if TYPE_CHECKING:
    from collections.abc import Iterator

Body = dict[str, Any]
_FACTS = ROOT.parent / "facts" / "provider_rules.jsonl"
_ELIDED = re.compile(r"^(data:[^,]*,)?.*<base64 elided.*$", re.DOTALL)

SKIPPED = {
    "openai-chat-image-url-download": "needs a download; the sandbox fetches nothing",
    "gemini-file-uri": "needs a download; the sandbox fetches nothing",
    "openai-chat-file-mime": "needs an uploaded file",
    "openai-chat-audio-previous-id": "needs a stored audio",
    "openai-chat-bad-role-old": "a wording of 2023; today's is openai-chat-role-unknown",
    "openai-responses-function-call-without-reasoning": "needs a stored item; tested as a conversation",
    "anthropic-thinking-first-block": "",
    "mistral-role-order-tool": "recorded requests show it accepted since 2025-12",
    "mistral-tool-chunks": "",
    "moonshot-reasoning-content-required-2": "the same request as moonshot-reasoning-content-required, another wording",
    "zai-messages-illegal-cn": "the Chinese endpoint's wording of zai-messages-illegal",
    "cohere-message-empty-turn": "the same request as cohere-message-min-token, another wording",
    "mistral-reasoning-and-think": "self-hosted servers only; the hosted API forbids the key (mistral-extra-forbidden)",
    "groq-tool-use-failed-required": "the model's failure, not the request's",
    "openrouter-gemma-developer": "",
    "vllm-pydantic-list": "versions up to 0.6; newer ones accept it",
    "vllm-mistral-tokenizer-500": "versions before the fix; the same fault as vllm-tmpl-mistral-id",
    "vllm-tools-auto-flag": "a server flag, not the request",
    "vllm-tmpl-qwen-arguments": "vLLM parses arguments before the template sees them",
    "vllm-tmpl-llama3-tools-no-user": "",
    "vllm-tmpl-alternate-ministral": "another template than the one of /strict",
    "deepseek-prefix-last": "",
    "azure-foundry-mistral-max-completion": "a Mistral model behind Azure Foundry; no such endpoint",
    "ollama-responses-item-type": "/v1/responses of Ollama; no such endpoint",
    "ollama-responses-file": "/v1/responses of Ollama; no such endpoint",
    "ollama-anthropic-tool-use-id": "/v1/messages of Ollama; no such endpoint",
    "ollama-anthropic-tool-use-name": "/v1/messages of Ollama; no such endpoint",
    "ollama-anthropic-image-source": "/v1/messages of Ollama; no such endpoint",
    "ollama-cloud-tool-result-image": "/v1/messages of Ollama; no such endpoint",
    "deepseek-anthropic-endpoint-thinking": "/anthropic of DeepSeek; no such endpoint",
    "deepseek-responses-interleaved": "/responses of DeepSeek; no such endpoint",
}
SKIPPED = {code: reason for code, reason in SKIPPED.items() if reason}
"""Rules that are not tested, each with its reason."""

_ACCEPTED_PATHS = {
    ("anthropic", "messages"): "/anthropic/v1/messages",
    ("openai", "chat"): "/openai/v1/chat/completions",
    ("openai", "responses"): "/openai/v1/responses",
    ("azure", "chat"): "/azure/openai/v1/chat/completions",
    ("azure", "responses"): "/azure/openai/v1/responses",
    ("google", "generateContent"): "/gemini/v1beta/models/{model}:generateContent",
    (
        "vertex",
        "generateContent",
    ): "/vertex/v1/projects/p/locations/l/publishers/google/models/{model}:generateContent",
    ("mistral", "chat"): "/mistral/v1/chat/completions",
    ("bedrock", "invoke"): "/bedrock/model/{model}/invoke",
    ("bedrock", "converse"): "/bedrock/model/{model}/converse",
    ("xai", "chat"): "/xai/v1/chat/completions",
    ("xai", "responses"): "/xai/v1/responses",
    ("deepseek", "chat"): "/deepseek/chat/completions",
    ("openrouter", "chat"): "/openrouter/api/v1/chat/completions",
    ("ollama", "chat"): "/ollama/v1/chat/completions",
    ("groq", "chat"): "/groq/openai/v1/chat/completions",
    ("cohere", "chat"): "/cohere/v2/chat",
    ("perplexity", "chat"): "/perplexity/chat/completions",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one recorded request or rule."""

    id: str
    provider: str
    status: int
    actual: str
    expected_status: Any = 200
    expected: str = ""
    status_ok: bool = True
    kind_ok: bool = True
    text_ok: bool = True
    rule: str | None = None


def _restored(value: Any) -> Any:
    """Replace images whose data was removed from the recordings with small complete ones."""
    if isinstance(value, dict):
        label = str(
            value.get("media_type") or value.get("mimeType") or value.get("format") or "png"
        )
        kind = {"jpeg": "JPEG", "jpg": "JPEG", "gif": "GIF", "webp": "WEBP"}.get(
            label.rsplit("/", maxsplit=1)[-1], "PNG"
        )
        return {
            key: _elided(inner, kind) if isinstance(inner, str) else _restored(inner)
            for key, inner in value.items()
        }
    return [_restored(inner) for inner in value] if isinstance(value, list) else value


def _elided(text: str, kind: str) -> str:
    found = _ELIDED.match(text) if "<base64 elided" in text else None
    if found and (head := found[1] or ""):
        kind = "JPEG" if "jpeg" in head else "WEBP" if "webp" in head else "PNG"
    return (found[1] or "") + image(kind) if found else text


def _native_ollama(row: Body) -> bool:
    calls = [
        call
        for message in row["body"].get("messages", [])
        if isinstance(message, dict)
        for call in message.get("tool_calls") or []
    ]
    objects = any(isinstance(call.get("function", {}).get("arguments"), dict) for call in calls)
    return row["provider"] == "ollama" and (
        objects or bool({"options", "keep_alive", "format"} & row["body"].keys())
    )


def path_of(row: Body) -> str | None:
    """Return the path of the sandbox for a recorded request, or ``None`` without an endpoint."""
    if _native_ollama(row):
        return "/ollama/api/chat"
    if row["format"] == "cohere_v1":
        return None
    path = _ACCEPTED_PATHS.get((row["provider"], row["api"]))
    if row["provider"] == "azure" and "model" not in row["body"] and row["api"] == "chat":
        path = "/azure/openai/deployments/{model}/chat/completions"
    return path.format(model=row["model"]) if path else None


def _send(client: httpx.Client, path: str, body: Body) -> httpx.Response:
    data = json.dumps(body, ensure_ascii=True).encode()
    return client.post(
        path,
        content=data,
        headers={"content-type": "application/json", "authorization": "Bearer k"},
    )


def send_accepted(client: httpx.Client, step: int = 1) -> Iterator[Outcome]:
    """Send the recorded requests that were accepted, or every ``step``th of them."""
    for row in rows("requests_accepted")[::step]:
        path = path_of(row)
        if path is None:
            continue
        got = _send(client, path, _restored(row["body"]))
        is_accepted = got.status_code == 200
        yield Outcome(
            row["id"],
            row["provider"],
            got.status_code,
            "" if is_accepted else text_of(got.text),
            status_ok=is_accepted,
            rule=got.headers.get("x-sandbox-rule"),
        )


def send_rejected(
    client: httpx.Client, categories: tuple[str, ...] = ("messages",)
) -> Iterator[Outcome]:
    """Send every recorded request that was refused because of its body."""
    for row in rows("requests_rejected"):
        expected = text_of(row["response_body"])
        path = path_of(row)
        if row["category"] not in categories or path is None or "download" in expected:
            continue
        got = _send(client, path, row["body"])
        yield Outcome(
            row["id"],
            row["provider"],
            got.status_code,
            text_of(got.text),
            row["status"],
            expected,
            got.status_code == row["status"],
            error_type_of(got.text) == error_type_of(row["response_body"]),
            is_same_text(text_of(got.text), expected),
            got.headers.get("x-sandbox-rule"),
        )


def recorded_rules() -> list[Body]:
    """Return the recorded rules; an empty list if they are absent."""
    if not _FACTS.exists():
        return []
    return [json.loads(line) for line in _FACTS.read_text(encoding="utf-8").splitlines()]


_WITHOUT_ENDPOINT = frozenset({"qwen", "github-copilot", "llama.cpp", "cerebras", "lmstudio"})
"""Providers without an endpoint in the sandbox."""


def testable_rules() -> list[Body]:
    """Return the certain rules that have a trigger and belong to a provider with an endpoint."""
    return [
        rule
        for rule in recorded_rules()
        if rule.get("trigger")
        and rule["provider"] not in _WITHOUT_ENDPOINT
        and (rule["negative"] or not rule["uncertain"])
    ]


def send_triggers(client: httpx.Client) -> Iterator[Outcome]:
    """Send the trigger of every testable rule that is not in ``SKIPPED``."""
    for rule in testable_rules():
        sent = request_of(rule) if rule["id"] not in SKIPPED else None
        if sent is None:
            continue
        got = _send(client, *sent)
        actual = text_of(got.text) if got.status_code != 200 else ""
        if rule["negative"]:
            yield Outcome(
                rule["id"],
                rule["provider"],
                got.status_code,
                actual,
                200,
                "",
                got.status_code == 200,
                rule=got.headers.get("x-sandbox-rule"),
            )
            continue
        expected = str(rule.get("error_text") or "")
        fits = str(got.status_code) in str(rule["http_status"])
        yield Outcome(
            rule["id"],
            rule["provider"],
            got.status_code,
            actual,
            rule["http_status"],
            expected,
            fits,
            text_ok=not expected or is_same_text(actual, expected, sent[1]),
            rule=got.headers.get("x-sandbox-rule"),
        )


def _table(title: str, outcomes: list[Outcome]) -> None:
    print(f"\n{title}")
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        groups[outcome.provider].append(outcome)
    for provider, members in sorted(groups.items()):
        right = sum(o.status_ok and o.text_ok and o.kind_ok for o in members)
        print(
            f"  {provider:<14} {len(members):>5} sent"
            f"  {sum(o.status_ok for o in members):>5} with the right status"
            f"  {right:>5} completely right"
        )
    for outcome in outcomes:
        if not (outcome.status_ok and outcome.text_ok and outcome.kind_ok):
            print(
                f"  ! {outcome.id} [{outcome.rule}] {outcome.status} "
                f"(expected {outcome.expected_status})\n"
                f"      sandbox:  {outcome.actual[:200]}\n      recorded: {outcome.expected[:200]}"
            )


def main() -> int:
    """Print the tables; return 1 if the sandbox differs, 2 without the recordings."""
    if not rows("requests_accepted") or not recorded_rules():
        print(f"the recordings are not in {ROOT}; set CHATMEND_CORPUS to their directory")
        return 2
    with (
        Sandbox(bodies=False) as sandbox,
        httpx.Client(base_url=sandbox.url(), timeout=60) as client,
    ):
        accepted, refused, rules = (
            list(send_accepted(client)),
            list(send_rejected(client)),
            list(send_triggers(client)),
        )
        more = list(send_rejected(client, ("params", "tools_schema")))
    _table(
        f"Recorded as accepted: {len(accepted)} of {len(rows('requests_accepted'))} have an endpoint",
        accepted,
    )
    _table("Recorded as refused, category messages", refused)
    _table("Recorded as refused, categories params and tools_schema", more)
    _table("Rules with a trigger", rules)
    missed = [
        rule for rule in testable_rules() if rule["id"] not in {outcome.id for outcome in rules}
    ]
    print(f"\nSkipped: {len(missed)} of {len(testable_rules())} rules")
    for rule in missed:
        print(f"  {rule['id']:<48} {SKIPPED.get(rule['id'], 'no endpoint for ' + rule['api'])}")
    wrong = [
        outcome
        for outcome in (*accepted, *refused, *rules)
        if not (outcome.status_ok and outcome.kind_ok)
    ]
    texts = [outcome for outcome in rules if not outcome.text_ok]
    sent = len(accepted) + len(refused) + len(rules)
    print(f"\n{sent} sent, {len(wrong)} with another verdict, {len(texts)} rules with another text")
    return 1 if wrong or texts else 0


if __name__ == "__main__":
    sys.exit(main())
