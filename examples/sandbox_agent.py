"""Sends requests to the sandbox: one is refused, others are accepted, one misses the prompt cache.

Install ``pip install 'chatmend[sandbox]' openai``. It needs no API key and no internet.
"""

from __future__ import annotations

import openai

from chatmend.sandbox import Sandbox

CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'},
}
HISTORY = [
    {"role": "user", "content": "What is the weather in Paris?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_1", "content": "18 degrees"},
]
NEXT = {"role": "user", "content": "And tomorrow?"}


def main() -> None:
    """Send four histories."""
    with Sandbox() as sandbox:
        client = openai.OpenAI(base_url=sandbox.url("openai/v1"), api_key="any", max_retries=0)
        try:
            client.chat.completions.create(model="gpt-4o", messages=[*HISTORY[:2], NEXT])
        except openai.BadRequestError as error:
            print("refused: ", error.body["message"])
        first = client.chat.completions.create(model="gpt-4o", messages=HISTORY)
        print("accepted:", first.choices[0].message.content)
        longer = client.chat.completions.create(model="gpt-4o", messages=[*HISTORY, NEXT])
        print(
            "appended:  ", longer.usage.prompt_tokens_details.cached_tokens, "tokens from the cache"
        )
        rewritten = [{**HISTORY[0], "content": "Weather?"}, *HISTORY[1:], NEXT]
        other = client.chat.completions.create(model="gpt-4o", messages=rewritten)
        print(
            "rewritten: ", other.usage.prompt_tokens_details.cached_tokens, "tokens from the cache"
        )
        print("verdicts:  ", [verdict.rule or "accepted" for verdict in sandbox.requests])


if __name__ == "__main__":
    main()
