"""What a cut or badly stored stream leaves: its deltas, and half of what a hosted tool has done."""

import json
from random import Random
from typing import Any

from ..sites import calls, pick
from ..tokens import fresh
from ..wires import Native, Wire, text_part
from .defect import Defects

DEFECTS = Defects()


@DEFECTS.both
def stored_deltas(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(rng, calls(messages)):
        text = json.dumps({"query": fresh(rng)})
        middle = rng.randrange(len(text))
        pieces = [text[:middle], text[middle:]]
        deltas: list[Native]
        if wire.dialect == "openai_chat":
            site.native["function"] = {"name": "search", "arguments": ""}
            site.native["index"] = site.at
            deltas = [{"index": site.at, "function": {"arguments": piece}} for piece in pieces]
        else:
            site.native["input"] = {}
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
        site.holder[site.at + 1 : site.at + 1] = deltas


@DEFECTS.both
def answered_by_a_hosted_tool(messages: list[Any], rng: Random, wire: Wire) -> None:
    """A search of the provider: its call or its result is missing, or both are there, in LiteLLM's form for chats."""
    call_id = f"srvtoolu_{rng.randrange(10**9)}"
    found = {
        "type": "web_search_result",
        "title": f"About {fresh(rng)}",
        "url": "https://example.com",
        "encrypted_content": "RW5jcnlwdGVk",
        "page_age": None,
    }
    result = {"type": "web_search_tool_result", "tool_use_id": call_id, "content": [found]}
    said = text_part(f"I found {fresh(rng)}.")
    if wire.dialect == "openai_chat":
        message = wire.assistant(
            said["text"], [wire.call(call_id, "web_search", {"query": fresh(rng)})]
        )
        message["provider_specific_fields"] = {"web_search_results": [result]}
    else:
        asked = {
            "type": "server_tool_use",
            "id": call_id,
            "name": "web_search",
            "input": {"query": fresh(rng)},
        }
        message = wire.assistant([rng.choice((asked, result)), said])
    at = rng.randint(0, len(messages))
    messages[at:at] = [{"role": "user", "content": f"Search for {fresh(rng)}."}, message]
