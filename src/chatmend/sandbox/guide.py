"""The base URLs and environment variables that point clients at the sandbox."""

from __future__ import annotations

from textwrap import wrap

_LOOPBACK = "127.0.0.1"
_GUIDE = (
    ("OpenAI", "/openai/v1", ("OPENAI_BASE_URL", "OPENAI_API_BASE"), "OPENAI_API_KEY"),
    ("Anthropic", "/anthropic", ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE"), "ANTHROPIC_API_KEY"),
    ("Gemini", "/gemini", ("GOOGLE_GEMINI_BASE_URL", "GEMINI_API_BASE=/v1beta"), "GEMINI_API_KEY"),
    ("Vertex", "/vertex", ("GOOGLE_VERTEX_BASE_URL",), ""),
    ("Mistral", "/mistral/v1", ("MISTRAL_BASE_URL", "MISTRAL_AZURE_API_BASE"), "MISTRAL_API_KEY"),
    (
        "Bedrock",
        "/bedrock",
        ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_BEDROCK_RUNTIME_ENDPOINT"),
        "AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY",
    ),
    ("Azure OpenAI", "/azure", ("AZURE_OPENAI_ENDPOINT", "AZURE_API_BASE"), "AZURE_OPENAI_API_KEY"),
    ("Ollama", "/ollama", ("OLLAMA_HOST", "OLLAMA_API_BASE"), ""),
    ("DeepSeek", "/deepseek", ("DEEPSEEK_API_BASE",), "DEEPSEEK_API_KEY"),
    ("xAI", "/xai/v1", ("XAI_API_BASE",), "XAI_API_KEY"),
    ("Groq", "/groq", ("GROQ_BASE_URL", "GROQ_API_BASE=/openai/v1"), "GROQ_API_KEY"),
    ("Cohere", "/cohere", ("CO_API_URL", "COHERE_API_BASE=/v2/chat"), "CO_API_KEY"),
    ("Kimi", "/moonshot/v1", ("MOONSHOT_API_BASE",), "MOONSHOT_API_KEY"),
    ("Z.ai", "/zai/api/paas/v4", ("ZAI_API_BASE",), "ZAI_API_KEY"),
    ("MiniMax", "/minimax/v1", ("MINIMAX_API_BASE",), "MINIMAX_API_KEY"),
    ("OpenRouter", "/openrouter/api/v1", ("OPENROUTER_API_BASE",), "OPENROUTER_API_KEY"),
    ("Perplexity", "/perplexity", ("PERPLEXITY_API_BASE",), "PERPLEXITYAI_API_KEY"),
    ("Cerebras", "/cerebras/v1", ("CEREBRAS_API_BASE",), "CEREBRAS_API_KEY"),
    ("Fireworks", "/fireworks_ai/inference/v1", ("FIREWORKS_API_BASE",), "FIREWORKS_API_KEY"),
    (
        "Databricks",
        "/databricks/serving-endpoints",
        ("DATABRICKS_API_BASE",),
        "DATABRICKS_API_KEY",
    ),
    ("strict templates", "/strict/v1", ("HOSTED_VLLM_API_BASE",), ""),
)
"""Provider, path, address variables, key variables.

The address variables are those of the official SDK and of LiteLLM; a path after ``=`` is
appended to the base URL.
"""


PROVIDERS = {path.split("/")[1]: (provider, path) for provider, path, _, _ in _GUIDE}
"""The name and the path of each provider, by the first part of the path."""


def exports(root: str, name: str) -> str:
    """Return the lines for a shell that direct the clients of one provider to the sandbox.

    Args:
        root: the URL of the server.
        name: a key of ``PROVIDERS``.

    Raises:
        KeyError: the sandbox has no such provider.
    """
    _, path = PROVIDERS[name]
    variables, keys = next((row[2], row[3]) for row in _GUIDE if row[1] == path)
    pairs = [variable.partition("=") for variable in variables]
    lines = [f"export {stem}={root}{path}{tail}" for stem, _, tail in pairs]
    lines += [f"export {key}=sandbox" for key in keys.split()]
    return "\n".join([*lines, f"export CHATMEND_HOSTS={root}/{name}={name}"])


def hosts_setting(root: str) -> str:
    """Return the value of ``CHATMEND_HOSTS``: the provider that each path emulates."""
    names = (path.split("/")[1] for _, path, _, _ in _GUIDE)
    return ",".join(f"{root}/{name}={name}" for name in names)


def banner(root: str) -> str:
    """Return what the sandbox prints at its start; ``root`` is the URL of the server."""
    host, _, port = root.removeprefix("http://").rpartition(":")
    at = f"--port {port}" if host == _LOOPBACK else f"--host {host} --port {port}"
    lines = [
        f"chatmend sandbox on {root} (accepts any API key; sends nothing to the network)",
        "To direct the clients of a provider to it, in another shell:",
        f'  eval "$(chatmend sandbox --env anthropic {at})"',
        *wrap(
            f"Providers: {', '.join(PROVIDERS)}",
            width=100,
            initial_indent="  ",
            subsequent_indent="  ",
        ),
        f"Requests (also on {root}/):",
    ]
    return "\n".join(lines)
