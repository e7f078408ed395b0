"""Writes ``litellm.ipynb`` and runs it, so that it has real outputs.

python notebooks/build_litellm.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent

CELLS = (
    """md
# One line in LiteLLM

After an interrupted tool call, the provider refuses every later request of the conversation. This
notebook shows such a conversation, the refusal, and the line that repairs it. The provider is a
sandbox on this machine: no API keys, no internet.

**Result.** Anthropic refuses the conversation with status 400. With one line, the same
call is answered: one tool message is added, and the list of the caller is unchanged.""",
    """
import logging, os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm

from chatmend.sandbox import Failure, Reply, Sandbox

litellm.suppress_debug_info = True
sandbox = Sandbox().start()
paths = {
    "anthropic/claude-sonnet-4-5": "anthropic",
    "gemini/gemini-2.5-flash": "gemini/v1beta",
    "mistral/mistral-large-latest": "mistral/v1",
}
tools = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    }
]
call = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "get_weather", "arguments": '{"city": "Rome"}'},
}
messages = [
    {"role": "user", "content": "The weather in Rome?"},
    {"role": "assistant", "content": None, "tool_calls": [call]},
    {"role": "user", "content": "Never mind. How are you?"},
]


async def ask(model, messages, **more):
    try:
        return await litellm.acompletion(
            model=model,
            messages=messages,
            tools=tools,
            api_key="any",
            api_base=sandbox.url(paths[model]),
            max_retries=0,
            **more,
        )
    except litellm.BadRequestError as error:
        print("refused:", str(error)[:220])""",
    """md
## Refused""",
    """
await ask("anthropic/claude-sonnet-4-5", messages)""",
    """md
## One line""",
    """
from chatmend.litellm import ChatMend

litellm.callbacks = [callback := ChatMend()]""",
    """md
## Accepted

chatmend added a result for the call. The caller's list is unchanged.""",
    """
answer = await ask("anthropic/claude-sonnet-4-5", messages)
print(answer.choices[0].message.content)
print("changes:", answer._hidden_params["chatmend"]["changes"])
print("sent:   ", [message["role"] for message in sandbox.requests[-1].body["messages"]])
print("caller: ", [message["role"] for message in messages])""",
    """md
`chatmend explain TOOL007` explains the code. `chatmend.repair` reports the changes without sending
anything:""",
    """
import chatmend

print(chatmend.repair(messages, "anthropic/claude-sonnet-4-5", tools=tools).report())""",
    """md
## A fallback in the middle of a conversation

Anthropic is overloaded, so the router falls back to Gemini, which is overloaded too, and then to
Mistral. chatmend repairs each attempt for its provider, from the original messages.""",
    """
models = [
    {
        "model_name": model.split("/")[0],
        "litellm_params": {
            "model": model,
            "api_key": "any",
            "api_base": sandbox.url(path),
            "max_retries": 0,
        },
    }
    for model, path in paths.items()
]
router = litellm.Router(
    models, num_retries=0, disable_cooldowns=True, fallbacks=[{"anthropic": ["gemini", "mistral"]}]
)
logging.getLogger("LiteLLM Router").setLevel(logging.CRITICAL)
sandbox.clear()
sandbox.script([Failure(529), Failure(529)])
answer = await router.acompletion("anthropic", messages, tools=tools)
for verdict in sandbox.requests:
    print(verdict.line())
print(answer._hidden_params["chatmend"]["target"], answer._hidden_params["chatmend"]["changes"])""",
    """md
## Usage in one format

Three turns with each provider and a cached system prompt. LiteLLM's own counts are unchanged;
`usage.chatmend` has counts with the same meaning for every provider.""",
    """
system = {
    "role": "system",
    "content": [
        {
            "type": "text",
            "text": "You know the weather. " * 60,
            "cache_control": {"type": "ephemeral"},
        }
    ],
}
rows = []
for model in paths:
    history = [system]
    for turn in range(1, 4):
        history.append({"role": "user", "content": f"Question {turn}: and tomorrow?"})
        answer = await ask(model, history)
        rows.append((model.split("/")[0], turn, answer.usage.chatmend))
        history.append({"role": "assistant", "content": answer.choices[0].message.content})
for provider, turn, counts in rows:
    print(
        f"{provider:10} turn {turn}: input {counts['input_tokens']:4}, "
        f"of which cached {counts.get('cache_read_tokens', 0):4}, output {counts['output_tokens']}"
    )""",
    """
%matplotlib inline
import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 3, figsize=(10, 2.8), sharey=True)
for axis, provider in zip(axes, dict.fromkeys(row[0] for row in rows)):
    counts = [row[2] for row in rows if row[0] == provider]
    turns = [f"turn {turn}" for turn in (1, 2, 3)]
    cached = [one.get("cache_read_tokens", 0) for one in counts]
    fresh = [one["input_tokens"] - one.get("cache_read_tokens", 0) for one in counts]
    axis.bar(turns, cached, label="read from the cache")
    axis.bar(turns, fresh, bottom=cached, label="new input")
    axis.set_title(provider)
axes[0].set_ylabel("tokens")
axes[0].legend(fontsize=8)
figure.tight_layout()""",
    """md
`ChatMend.usage` keeps the sums of all calls:""",
    """
import asyncio

await asyncio.sleep(1)  # LiteLLM logs in the background
for row in callback.usage.snapshot(by=["provider", "model"]):
    print(
        f"{row.keys['provider']:10} {row.keys['model']:24} {row.calls} calls, "
        f"{row.usage.input_tokens} in, {row.usage.output_tokens} out, "
        f"{row.cost_usd} USD by {row.costs[0].source}"
    )
sandbox.stop()""",
)


def write(cells: tuple[str, ...], name: str) -> int:
    """Write a notebook to this folder, run it and save it with its outputs."""
    notebook = nbformat.v4.new_notebook()
    for number, text in enumerate(cells):
        kind, _, source = text.partition("\n")
        make = nbformat.v4.new_markdown_cell if kind == "md" else nbformat.v4.new_code_cell
        notebook.cells.append(make(source, id=f"cell-{number}"))
    notebook.metadata["kernelspec"] = {
        "name": "python3",
        "display_name": "Python 3",
        "language": "python",
    }
    NotebookClient(notebook, timeout=300, coalesce_streams=True).execute()
    for cell in notebook.cells:
        cell.metadata = {}
    # The notebook opens with the result: the set-up is collapsed, in Jupyter and on the site.
    notebook.cells[1].metadata = {"jupyter": {"source_hidden": True}, "tags": ["hide-cell"]}
    nbformat.write(notebook, HERE / name)
    return 0


if __name__ == "__main__":
    sys.exit(write(CELLS, "litellm.ipynb"))
