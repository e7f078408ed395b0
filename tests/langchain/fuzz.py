"""Broken transcripts by seed, through real partner classes: what the sandbox refused, and what could not be sent.

python -m tests.langchain.fuzz [COUNT] [MODEL] [FIRST-SEED]

Each transcript is broken as OpenAI's or Anthropic's wire has it and read into LangChain's messages, or is a handful of
message shapes in any order. Exit status 1 when anything was refused.

Links are replaced by data: one partner package would download them. A list of nothing but orders to a reducer is left
out: no message remains, and no reducer hands such a list to a model.
"""

from __future__ import annotations

import logging
import sys
import warnings
from collections import Counter
from itertools import product
from random import Random
from typing import TYPE_CHECKING, Any

from langchain_core.messages import RemoveMessage

from chatmend.langchain import mend
from chatmend.langchain.salvage import salvaged
from chatmend.sandbox import Sandbox
from tests.broken import broken, mutation_names
from tests.langchain.configurations import CONFIGURATIONS
from tests.langchain.shapes import PIXEL, SHAPES

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

SHOWN = 3
"""How many examples of each refusal are named."""
_LINK = "https://example.com/"
WIRES = ("openai_chat", "anthropic_messages", "langchain")


def transcript(seed: int, wire: str) -> list[BaseMessage]:
    """A broken transcript as LangChain's messages."""
    if wire == "langchain":
        rng = Random(f"shapes:{seed}")
        chosen = rng.choices(list(SHAPES.values()), k=rng.randint(1, 9))
        return [one.model_copy(update={"content": _without_links(one.content)}) for one in chosen]
    found = salvaged(_without_links(broken(seed, wire)))
    assert found is not None, "it is a list"
    return found.to_messages()


def _without_links(value: Any, depth: int = 5) -> Any:
    """The same with images of our own in the place of addresses, which one partner package would download."""
    if isinstance(value, str):
        return f"data:image/png;base64,{PIXEL}" if value.startswith(_LINK) else value
    if depth and isinstance(value, dict):
        return {key: _without_links(item, depth - 1) for key, item in value.items()}
    if depth and isinstance(value, list):
        return [_without_links(item, depth - 1) for item in value]
    return value


def named(seed: int, wire: str) -> str:
    """What is wrong with a transcript, to find it again."""
    return f"{wire} {seed} {mutation_names(seed, wire) if wire != 'langchain' else ''}"


def refusal(model: Any, sandbox: Any, messages: list[BaseMessage]) -> str | None:
    """Why a mended model could not get through, or nothing."""
    sandbox.clear()
    try:
        model.invoke(messages)
    except Exception as error:  # noqa: BLE001 - counted, not hidden
        refused = sandbox.refusals
        return str(refused[0].rule) if refused else f"not sent: {type(error).__name__} {error}"[:90]
    return None


def main() -> int:
    """Print what was refused, and where it can be had again."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    only = sys.argv[2] if len(sys.argv) > 2 else ""
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    failed: Counter[tuple[str, str]] = Counter()
    seen: Counter[str] = Counter()
    left_out = 0
    with Sandbox() as sandbox:
        models = {
            name: mend(one.model(sandbox), on_error="raise") for name, one in CONFIGURATIONS.items() if only in name
        }
        for (seed, wire), (name, model) in product(product(range(first, first + count), WIRES), models.items()):
            messages = transcript(seed, wire)
            if all(isinstance(message, RemoveMessage) for message in messages):
                left_out += 1
                continue
            seen[name] += 1
            if fault := refusal(model, sandbox, messages):
                failed[name, fault] += 1
                if failed[name, fault] <= SHOWN:
                    print(f"{name}: {fault}: {named(seed, wire)}", flush=True)
    for (name, fault), times in sorted(failed.items()):
        print(f"{times:6} {name:10} {fault}")
    for name, times in seen.items():
        accepted = times - sum(n for (model, _), n in failed.items() if model == name)
        print(f"{name:10} {times} broken transcripts, {accepted} accepted")
    print(f"left out: {left_out // max(len(seen), 1)} of nothing but orders to a reducer")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
