"""Writes ``litellm.ipynb`` and runs it from top to bottom, so that its outputs are real.

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

A tool call was interrupted, and from then on the provider refuses every request of the conversation. Here is such a conversation, a provider that
refuses it (a sandbox on this machine: no keys, nothing leaves it), and the one line that changes that.""",
    """
import logging, os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm

from chatmend.sandbox import Failure, Reply, Sandbox

litellm.suppress_debug_info = True
sandbox = Sandbox().start()
places = {"anthropic/claude-sonnet-4-5": "anthropic", "gemini/gemini-2.5-flash": "gemini/v1beta", "mistral/mistral-large-latest": "mistral/v1"}
tools = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}]
call = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Rome"}'}}
messages = [
    {"role": "user", "content": "The weather in Rome?"},
    {"role": "assistant", "content": None, "tool_calls": [call]},
    {"role": "user", "content": "Never mind. How are you?"},
]


async def ask(model, messages, **more):
    try:
        return await litellm.acompletion(
            model=model, messages=messages, tools=tools, api_key="any", api_base=sandbox.url(places[model]), max_retries=0, **more
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

litellm.callbacks = [mend := ChatMend()]""",
    """md
## Accepted

The provider got a result for the call; the caller's list is as it was.""",
    """
answer = await ask("anthropic/claude-sonnet-4-5", messages)
print(answer.choices[0].message.content)
print("changed:", answer._hidden_params["chatmend"]["changes"])
print("sent:   ", [message["role"] for message in sandbox.requests[-1].body["messages"]])
print("mine:   ", [message["role"] for message in messages])""",
    """md
What the code means, `chatmend explain TOOL007` says; what would be changed, without sending anything:""",
    """
import chatmend

print(chatmend.repair(messages, "anthropic/claude-sonnet-4-5", tools=tools).report())""",
    """md
## A fallback in mid-conversation

Anthropic is overloaded, the Router goes on with Gemini, which is overloaded, too, and then with Mistral. Each attempt is repaired for its own
provider, from the original messages.""",
    """
models = [
    {"model_name": model.split("/")[0], "litellm_params": {"model": model, "api_key": "any", "api_base": sandbox.url(path), "max_retries": 0}}
    for model, path in places.items()
]
router = litellm.Router(models, num_retries=0, disable_cooldowns=True, fallbacks=[{"anthropic": ["gemini", "mistral"]}])
logging.getLogger("LiteLLM Router").setLevel(logging.CRITICAL)
sandbox.clear()
sandbox.script([Failure(529), Failure(529)])
answer = await router.acompletion("anthropic", messages, tools=tools)
for verdict in sandbox.requests:
    print(verdict.line())
print(answer._hidden_params["chatmend"]["target"], answer._hidden_params["chatmend"]["changes"])""",
    """md
## Usage: one account, whoever answers

Three turns with each provider, with a system prompt that is cached. LiteLLM's own figures stay as they are; beside them stands one account that
counts the same everywhere.""",
    """
system = {"role": "system", "content": [{"type": "text", "text": "You know the weather. " * 60, "cache_control": {"type": "ephemeral"}}]}
rows = []
for model in places:
    talk = [system]
    for turn in range(1, 4):
        talk.append({"role": "user", "content": f"Question {turn}: and tomorrow?"})
        answer = await ask(model, talk)
        rows.append((model.split("/")[0], turn, answer.usage.chatmend))
        talk.append({"role": "assistant", "content": answer.choices[0].message.content})
for provider, turn, told in rows:
    print(f"{provider:10} turn {turn}: input {told['input_tokens']:4}, of which cached {told.get('cache_read_tokens', 0):4}, output {told['output_tokens']}")""",
    """
%matplotlib inline
import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 3, figsize=(10, 2.8), sharey=True)
for axis, provider in zip(axes, dict.fromkeys(row[0] for row in rows)):
    told = [row[2] for row in rows if row[0] == provider]
    turns = [f"turn {turn}" for turn in (1, 2, 3)]
    cached = [one.get("cache_read_tokens", 0) for one in told]
    fresh = [one["input_tokens"] - one.get("cache_read_tokens", 0) for one in told]
    axis.bar(turns, cached, label="read from the cache")
    axis.bar(turns, fresh, bottom=cached, label="new input")
    axis.set_title(provider)
axes[0].set_ylabel("tokens")
axes[0].legend(fontsize=8)
figure.tight_layout()""",
    """md
The sums of all calls, as `ChatMend.usage` keeps them:""",
    """
import asyncio

await asyncio.sleep(1)  # LiteLLM logs in the background
for row in mend.usage.snapshot(by=["provider", "model"]):
    print(f"{row.keys['provider']:10} {row.keys['model']:24} {row.calls} calls, {row.usage.input_tokens} in, {row.usage.output_tokens} out, {row.cost_usd} USD by {row.costs[0].source}")
sandbox.stop()""",
)


def write(cells: tuple[str, ...], name: str) -> int:
    """Write a notebook beside this file, run it and save it with its outputs."""
    notebook = nbformat.v4.new_notebook()
    for number, text in enumerate(cells):
        kind, _, source = text.partition("\n")
        make = nbformat.v4.new_markdown_cell if kind == "md" else nbformat.v4.new_code_cell
        notebook.cells.append(make(source, id=f"cell-{number}"))
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    NotebookClient(notebook, timeout=300, coalesce_streams=True).execute()
    for cell in notebook.cells:
        cell.metadata = {}
    nbformat.write(notebook, HERE / name)
    return 0


if __name__ == "__main__":
    sys.exit(write(CELLS, "litellm.ipynb"))
