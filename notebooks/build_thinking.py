"""Writes ``fallback_and_thinking.ipynb`` and runs it, so that it has real outputs.

python notebooks/build_thinking.py
"""

from __future__ import annotations

import sys

from build_litellm import write

CELLS = (
    """md
# A conversation that goes from Claude to Gemini and back

Claude and Gemini sign their thinking. Neither accepts the other's signature, and newer Claude models
refuse their own thinking if anything before it has changed. This notebook runs one conversation with
tools through LiteLLM: Claude answers, is overloaded in the middle of a tool loop, Gemini takes over,
and Claude comes back. It shows what each provider was sent, which thinking survived, and what the
prompt cache saved. The answers come from a sandbox on this machine, which verifies signatures like
the providers do: no API keys, no internet.

**Result.** With chatmend, all requests are accepted. When Claude comes back, its signed thinking is still valid;
69% of the prompt comes from the cache, so the prompt costs 38% of its price.""",
    """
import json, logging, os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm

from chatmend.litellm import ChatMend, install
from chatmend.sandbox import Reply, Sandbox

logging.getLogger("LiteLLM").setLevel(logging.ERROR)
litellm.suppress_debug_info = True
sandbox = Sandbox().start()
install(ChatMend())

CLAUDE = {
    "model": "anthropic/claude-opus-5-5",
    "api_base": sandbox.url("anthropic"),
    "thinking": {"type": "adaptive"},
}
GEMINI = {
    "model": "gemini/gemini-3-pro-preview",
    "api_base": sandbox.url("gemini/v1beta"),
}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "read_file",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
        },
    }
]
RULES = "You review a Python service. Read every file before you judge it. " * 40
cached = {"type": "text", "text": RULES, "cache_control": {"type": "ephemeral"}}""",
    """md
## The conversation

The client stores each answer exactly as LiteLLM returns it, and sends the whole history again. It
knows nothing about providers.""",
    """
history = [
    {"role": "system", "content": [cached]},
    {"role": "user", "content": "Review src/a.py and src/b.py."},
]


async def turn(where, *replies):
    \"\"\"Send the history; append the answer, and the results of its calls.\"\"\"
    sandbox.script(replies)
    answer = await litellm.acompletion(
        messages=history, tools=TOOLS, max_tokens=4000, api_key="any", max_retries=0, **where
    )
    message = answer.choices[0].message
    history.append(message.model_dump(exclude_none=True))
    for call in message.tool_calls or ():
        path = json.loads(call.function.arguments)["path"]
        result = {"role": "tool", "tool_call_id": call.id, "content": f"def main(): ...  # {path}"}
        history.append(result)
    return answer


def show(answer):
    \"\"\"Print the thinking in the request that was sent, and what was repaired.\"\"\"
    request = sandbox.requests[-1]
    signed = [
        block["thinking"]
        for message in request.body.get("messages", ())
        for block in message["content"]
        if isinstance(block, dict) and block["type"] == "thinking"
    ]
    texts = [
        part["text"]
        for content in request.body.get("contents", ())
        for part in content["parts"]
        if part.get("thought")
    ]
    usage = answer.usage
    print(
        f"{request.provider:10} signed thinking: {signed or 'none'}, as text: {texts or 'none'}\\n"
        f"{'':10} repairs: {answer._hidden_params['chatmend'].get('changes') or 'none'}\\n"
        f"{'':10} prompt tokens: {usage.prompt_tokens}, "
        f"of which cached: {usage.prompt_tokens_details.cached_tokens or 0}"
    )


def call(path):
    return (("read_file", {"path": path}),)


show(await turn(CLAUDE, Reply(text="First a.", thought="Plan A.", calls=call("src/a.py"))))
show(await turn(CLAUDE, Reply(text="Then b.", thought="Plan B.", calls=call("src/b.py"))))""",
    """md
Claude thought twice. The second request contains the first thinking, unchanged, as its signature
requires.

## Claude is overloaded, Gemini takes over

The fallback happens in the middle of a tool loop: the last message is the result of Claude's second
call. Gemini cannot verify Claude's signatures, so the signed blocks are removed for this request only
(THINK001); LiteLLM sends the text of the thinking without a signature, which Gemini accepts. Gemini
requires a signature on each call, and chatmend adds the value that skips the check (THINK003). The
stored history keeps everything.""",
    """
show(await turn(GEMINI, Reply(text="Both files are fine.", thought="Plan C.")))""",
    """md
## Back to Claude

The history now contains Claude's thinking, Gemini's answer, and a new question. Claude gets its own
two thinking blocks again, directly behind the messages that they were made for, and nothing of
Gemini's.""",
    """
history.append({"role": "user", "content": "Summarise it in one sentence."})
claude_again = await turn(CLAUDE, Reply(text="Two sound files.", thought="Plan D."))
show(claude_again)""",
    """md
Every request was accepted, and the last one read Claude's beginning from the cache, because it begins
with the same bytes as before the fallback. What that saved, with the list price of cached tokens at
a tenth:""",
    """
for number, request in enumerate(sandbox.requests, 1):
    print(number, request.provider, request.status)
usage = claude_again.usage
cached_tokens = usage.prompt_tokens_details.cached_tokens
print(f"{cached_tokens / usage.prompt_tokens:.0%} of the prompt from the cache,")
print(f"so the prompt cost {1 - 0.9 * cached_tokens / usage.prompt_tokens:.0%} of its price")""",
    """md
## If the application changes the prompt

Now the system prompt gets the time of day. Claude would refuse all thinking behind it. The callback
knows what was sent before, and removes exactly these blocks.""",
    """
history[0] = {"role": "system", "content": [{**cached, "text": RULES + "It is 9:05."}]}
history.append({"role": "user", "content": "And the tests?"})
answer = await turn(CLAUDE, Reply(text="There are none.", thought="Plan E."))
show(answer)
print("status", sandbox.requests[-1].status)""",
    """md
Without chatmend, the same request is refused:""",
    """
from chatmend.litellm import uninstall

uninstall()
history.append({"role": "user", "content": "Thank you."})
try:
    await turn(CLAUDE)
except litellm.BadRequestError as error:
    print(str(error)[:240])
sandbox.stop()""",
)


if __name__ == "__main__":
    sys.exit(write(CELLS, "fallback_and_thinking.ipynb"))
