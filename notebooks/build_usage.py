"""Writes ``usage_and_cache.ipynb`` and runs it, so that it has real outputs.

python notebooks/build_usage.py
"""

from __future__ import annotations

import sys

from build_litellm import write

CELLS = (
    """md
# The cost of an agent's turns, and how a rewritten history raises it

Providers report token usage in incompatible formats. The first half of this notebook reads three of
them into one format. The second half runs the same agent loop twice, with an append-only history
and with a history that is rewritten, and compares the cost. The answers come from a sandbox on this
machine, which has a prompt cache like the providers': no API keys, no internet.

**Result.** Three formats become one record. Over twelve turns, the append-only history reads 85% of
its prompt from the cache and costs 0.0214 USD; the rewritten history reads 0% and costs four times
as much.""",
    """
import anthropic, httpx

import chatmend
from chatmend import Policy, UsageLedger, normalize_usage
from chatmend.sandbox import Reply, Sandbox
from chatmend.usage import estimate_cost

sandbox = Sandbox().start()""",
    """md
## Three providers, the same call, three usage formats

Each provider gets the same long system prompt twice. The second time, it is in the cache.""",
    """
RULES = (
    "You maintain a Python service. Read before you write, run the tests after every change, "
    "never touch generated files. " * 12
)
QUESTION = "Which file starts the server?"
cached = {"type": "text", "text": RULES, "cache_control": {"type": "ephemeral"}}
calls = {
    "openai": (
        "openai/v1/chat/completions",
        {
            "model": "gpt-4o",
            "messages": [
                {"role": "system", "content": RULES},
                {"role": "user", "content": QUESTION},
            ],
        },
    ),
    "anthropic": (
        "anthropic/v1/messages",
        {
            "model": "claude-sonnet-4-6",
            "max_tokens": 300,
            "system": [cached],
            "messages": [{"role": "user", "content": QUESTION}],
        },
    ),
    "gemini": (
        "gemini/v1beta/models/gemini-2.5-flash:generateContent",
        {
            "systemInstruction": {"parts": [{"text": RULES}]},
            "contents": [{"role": "user", "parts": [{"text": QUESTION}]}],
        },
    ),
}
answers = {}
for provider, (path, body) in calls.items():
    for _ in range(2):
        answers[provider] = httpx.post(sandbox.url(path), json=body).json()
    print(
        f"{provider:10}",
        answers[provider].get("usage") or answers[provider]["usageMetadata"],
    )""",
    """md
`normalize_usage` converts all of them to the same record. `input_tokens` always includes cached
tokens, and `sources` has the path from which each field was read.""",
    """
for provider, answer in answers.items():
    usage = normalize_usage(answer)
    print(
        f"{provider:10} in {usage.input_tokens:4} of which cached {usage.cache_read_tokens:4} "
        f"({usage.cache_hit_ratio:.0%}), out {usage.output_tokens:3}   "
        f"input = {usage.sources['input_tokens']}"
    )""",
    """md
## The agent

The agent reads one file per turn. Its harness adds a short system message after every result, with
the turn number and the number of files left. Claude accepts no system message in the middle of a
conversation. chatmend has two ways to repair this:

- `Policy(system="hoist")` moves the message to the system prompt, as many libraries do. The start
  of the prompt then changes in every turn.
- By default, chatmend converts the message to text at its position. Earlier messages do not change:
  the history is append-only.

The provider accepts both. The loop sets cache markers at the end of the system prompt and of the
history, as Anthropic's guide recommends.""",
    """
TARGET, TURNS = "anthropic/claude-sonnet-4-6", 12
TOOL = {
    "name": "read_file",
    "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}},
}
SOURCE = (
    "def step(order):\\n    check(order)\\n"
    "    return price(order) * rate(order.country)\\n\\n\\n" * 8
)


def with_cache_marker(message):
    \"\"\"Add a cache marker to the last block of a message.\"\"\"
    blocks = (
        message["content"]
        if isinstance(message["content"], list)
        else [{"type": "text", "text": message["content"]}]
    )
    return {
        **message,
        "content": [*blocks[:-1], {**blocks[-1], "cache_control": {"type": "ephemeral"}}],
    }


def as_text(system):
    return system if isinstance(system, str) else "\\n\\n".join(block["text"] for block in system)


def agent(policy, key):
    \"\"\"Run the loop; return the usage of each turn.\"\"\"
    client = anthropic.Anthropic(base_url=sandbox.url("anthropic"), api_key=key, max_retries=0)
    sandbox.script(
        [
            Reply(text="I read on.", calls=(("read_file", {"path": f"src/part_{turn}.py"}),))
            for turn in range(TURNS)
        ]
    )
    history, usages = [{"role": "user", "content": "Review every file under src."}], []
    for turn in range(1, TURNS + 1):
        done = chatmend.repair(
            history, TARGET, system=RULES, tools=[TOOL], policy=policy, dialect="anthropic_messages"
        )
        system = [
            {"type": "text", "text": as_text(done.system), "cache_control": {"type": "ephemeral"}}
        ]
        response = client.messages.create(
            model="claude-sonnet-4-6",
            max_tokens=300,
            system=system,
            tools=[TOOL],
            messages=[*done.messages[:-1], with_cache_marker(done.messages[-1])],
        )
        usages.append(normalize_usage(response, "anthropic"))
        content = [block.model_dump(exclude_none=True) for block in response.content]
        call = next(block for block in content if block["type"] == "tool_use")
        result = {
            "type": "tool_result",
            "tool_use_id": call["id"],
            "content": f"# {call['input']['path']}\\n{SOURCE}",
        }
        history = [
            *history,
            {"role": "assistant", "content": content},
            {"role": "user", "content": [result]},
        ]
        history.append(
            {"role": "system", "content": f"Turn {turn} of {TURNS}: {TURNS - turn} files are left."}
        )
    return usages


runs = {
    "rewritten: system messages hoisted": agent(Policy(system="hoist"), "key-1"),
    "append-only: converted in place": agent(Policy(), "key-2"),
}
print("refused:", len(sandbox.refusals))""",
    """md
## Tokens per turn""",
    """
%matplotlib inline
import matplotlib.pyplot as plt

PARTS = (("read from the cache", "#4c9f70"), ("written to the cache", "#e0a030"))
turns = range(1, TURNS + 1)
figure, axes = plt.subplots(1, 2, figsize=(10, 3.4), sharey=True)
for axis, (name, usages) in zip(axes, runs.items()):
    read = [usage.cache_read_tokens or 0 for usage in usages]
    written = [usage.cache_write_tokens or 0 for usage in usages]
    assert [r + w for r, w in zip(read, written)] == [usage.input_tokens for usage in usages]
    below = [0] * TURNS
    for counts, (label, colour) in zip((read, written), PARTS):
        axis.bar(turns, counts, bottom=below, color=colour, label=label)
        below = [b + c for b, c in zip(below, counts)]
    axis.set(title=name, xlabel="turn", xticks=turns)
axes[0].set(ylabel="input tokens", ylim=(0, axes[0].get_ylim()[1] * 1.05))
axes[0].legend(loc="upper left", fontsize=8, frameon=False)
figure.tight_layout()""",
    """md
## Cost

The sandbox reports no cost. `estimate_cost` calculates it from the price list of `genai-prices`
(`pip install 'chatmend[prices]'`), and the ledger records this source.""",
    """
figure, axes = plt.subplots(1, 2, figsize=(10, 3.2))
for (name, usages), colour in zip(runs.items(), ("#b8433a", "#4c9f70")):
    costs = [float(estimate_cost(usage)) * 100 for usage in usages]
    axes[0].plot(turns, costs, marker="o", color=colour, label=name)
    axes[1].plot(turns, [sum(costs[:turn]) for turn in turns], marker="o", color=colour, label=name)
axes[0].set(title="each turn", xlabel="turn", ylabel="US cents", xticks=turns, ylim=0)
axes[1].set(title="all turns so far", xlabel="turn", xticks=turns, ylim=0)
axes[0].legend(fontsize=8, frameon=False)
figure.tight_layout()""",
    """
ledger = UsageLedger()
for name, usages in runs.items():
    for usage in usages:
        ledger.add(usage, agent=name)
for row in ledger.snapshot(by=["agent"]):
    usage = row.usage
    print(
        f"{row.keys['agent']:36} {usage.input_tokens:6} in, "
        f"{usage.cache_hit_ratio:4.0%} of them from the cache, "
        f"{row.cost_usd:.4f} USD by {row.costs[0].source}"
    )
spent = {row.keys["agent"]: row.cost_usd for row in ledger.snapshot(by=["agent"])}
rewritten, grown = (spent[name] for name in runs)
print(f"The rewritten history cost {rewritten / grown:.1f} times as much.")
sandbox.stop()""",
    """md
A real bill has other numbers: the sandbox counts one token per four bytes and has no minimum length
for a cache entry. Like the provider, it decides what is read from the cache and what is written to
it by the longest prefix with identical bytes.""",
)


if __name__ == "__main__":
    sys.exit(write(CELLS, "usage_and_cache.ipynb"))
