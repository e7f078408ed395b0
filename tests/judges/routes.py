"""Which judges a target answers to, read off its LiteLLM-style name."""

from __future__ import annotations

import re
from functools import cache

_CLAUDE = r"(anthropic/|vertex_ai/claude|azure_ai/claude|bedrock/(invoke/)?([a-z]+\.)?anthropic\.)"
_OLD_MISTRAL = (
    r"(open-|mistral-7b|mixtral|mistral-tiny|mistral-nemo|.*mistral-7b-instruct|.*mixtral|.*nemo)"
)
_OPENAI_FAMILY = (
    r"(openai|azure|azure_ai|deepseek|xai|groq|moonshot|dashscope|zai|minimax|openrouter|hosted_vllm"
    r"|ollama|ollama_chat|together_ai|fireworks_ai|cerebras|strict)(/|$)"
)

OPENAI_CHAT: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r".*", ("body_encodes",)),
    (r"(?!other(/|$))", ("body_shape",)),
    (_OPENAI_FAMILY, ("openai_types", "litellm_openai")),
    # Only where an unanswered call or an orphan result is known to be refused, and for `strict`.
    (
        r"(openai|azure|deepseek|moonshot|dashscope|zai|minimax|cohere|cohere_chat|openrouter|strict)(/|$)",
        ("openai_pairing",),
    ),
    (r".*", ("wire_facts",)),
    (r"(anthropic/|vertex_ai/claude|azure_ai/claude)", ("litellm_anthropic",)),
    (r"(gemini/|vertex_ai/gemini)", ("litellm_gemini",)),
    (r"bedrock/", ("litellm_bedrock",)),
    (r"mistral/", ("mistral_types",)),
    (rf"mistral/{_OLD_MISTRAL}", ("mistral_common_v7", "mistral_common_v11")),
    (rf"mistral/(?!{_OLD_MISTRAL})", ("mistral_common_v13",)),
    (
        rf"hosted_vllm/mistralai/{_OLD_MISTRAL}",
        ("mistral_common_v7", "mistral_common_v11", "template_mistral_v03"),
    ),
    (rf"hosted_vllm/mistralai/(?!{_OLD_MISTRAL})", ("mistral_common_v13",)),
    (r"hosted_vllm/.*(ministral|devstral|mistral-large-3)", ("template_ministral",)),
    (r"hosted_vllm/.*gemma-(1\.1-)?2?b?(?![34n])", ("template_gemma2",)),
    (r"hosted_vllm/.*gemma-3", ("template_gemma3",)),
    (r"hosted_vllm/.*(llama-2|mistral-7b-instruct-v0\.[12]|zephyr)", ("template_two_roles",)),
    (r"hosted_vllm/.*qwen3\.[5-9]", ("template_qwen35",)),
    (r"hosted_vllm/.*gpt-oss", ("template_gpt_oss",)),
    (r"hosted_vllm/.*llama-3\.[123]", ("template_llama3",)),
    (r"strict(/|$)", ("template_system_then_alternate",)),
)

ANTHROPIC_MESSAGES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r".*", ("body_encodes",)),
    (r"(?!other(/|$))", ("body_shape",)),
    (r"(?!other(/|$))", ("anthropic_types",)),
    # A recorded request shows that Claude 3 Opus did not check its pairs.
    (r"(?!other(/|$)|.*claude-3-opus)", ("anthropic_pairing",)),
    (_CLAUDE, ("anthropic_wire",)),
    (r"strict(/|$)", ("anthropic_wire",)),
    (r"lm_?studio/", ("messages_servers",)),
    (r"ollama(_chat)?/.*[:-]cloud$", ("messages_servers",)),
    (r"lm_?studio/", ("messages_servers",)),
    (r"ollama(_chat)?/.*[:-]cloud$", ("messages_servers",)),
)

OPENAI_RESPONSES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r".*", ("body_encodes",)),
    (r"(?!other(/|$))", ("responses_types", "responses_facts")),
    (r"(hosted_vllm|llamacpp|ollama|xai)/", ("responses_servers",)),
)

GEMINI_CONTENTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r".*", ("body_encodes",)),
    (r"(?!other(/|$))", ("native_contents",)),
)

BEDROCK_CONVERSE: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r".*", ("body_encodes",)),
    (r"(?!other(/|$))", ("native_converse",)),
)

OLLAMA_CHAT: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r".*", ("body_encodes",)),
    (r"(?!other(/|$))", ("body_shape", "native_ollama")),
)

_ROUTES = {
    "openai_chat": OPENAI_CHAT,
    "anthropic_messages": ANTHROPIC_MESSAGES,
    "openai_responses": OPENAI_RESPONSES,
    "gemini_contents": GEMINI_CONTENTS,
    "bedrock_converse": BEDROCK_CONVERSE,
    "ollama_chat": OLLAMA_CHAT,
}


@cache
def judges_for(dialect: str, target: str) -> tuple[str, ...]:
    """The names of the judges that apply, in the order in which they are asked."""
    if dialect not in _ROUTES:
        message = f"no judges for dialect {dialect!r}; there are {sorted(_ROUTES)}"
        raise ValueError(message)
    named = [
        name
        for pattern, names in _ROUTES[dialect]
        if re.match(pattern, target, re.IGNORECASE)
        for name in names
    ]
    return tuple(dict.fromkeys(named))
