"""Six broken transcripts, what chatmend says of them and does to them, and two real clients that prove it.

No keys are needed and nothing leaves this machine: the clients talk to the server in ``loopback.py``. The exit code is
1 if a broken transcript is not refused, or a repaired one is.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

# Before litellm is imported: its price list from the package, and no proxy between us and our own server.
os.environ.update(LITELLM_LOCAL_MODEL_COST_MAP="True", LANGSMITH_TRACING="false")
os.environ.update(NO_PROXY="127.0.0.1", no_proxy="127.0.0.1")

import httpx
import litellm
from langchain_core.messages import convert_to_messages
from langchain_mistralai import ChatMistralAI

from chatmend.langchain import repair_messages
from chatmend.litellm import ChatMend
from loopback import loopback

if TYPE_CHECKING:
    from collections.abc import Callable

TRANSCRIPTS = Path(__file__).parent / "transcripts"
CLI = [sys.executable, "-c", "from chatmend.cli import main; main()"]
CRASHED = 2
"""Exit codes from here on are faults; 1 may say that something was found."""

TOOL = {
    "type": "function",
    "function": {
        "name": "get_order",
        "description": "Look up an order.",
        "parameters": {"type": "object", "properties": {"order_id": {"type": "string"}}},
    },
}


def main() -> int:
    """Run the demo; 0 if everything went as promised."""
    litellm.suppress_debug_info = True
    went_well = [show(path) for path in sorted(TRANSCRIPTS.glob("*.json"))]
    with loopback() as address:
        went_well.append(prove("litellm.acompletion to Anthropic", partial(ask_litellm, address)))
        went_well.append(prove("ChatMistralAI to Mistral", partial(ask_langchain, address)))
    print(f"\n{'All as promised.' if all(went_well) else 'Something is not as promised: see above.'}")
    return 0 if all(went_well) else 1


def show(path: Path) -> bool:
    """Check and repair one transcript on the command line."""
    case = json.loads(path.read_text(encoding="utf-8"))
    headline(f"{path.name} for {case['target']}", case["story"])
    with tempfile.TemporaryDirectory() as folder:
        commands = (
            ["check", str(path), "--target", case["target"]],
            ["repair", str(path), "--target", case["target"], "--out", folder],
        )
        codes = [run(command) for command in commands]
        written = (Path(folder) / path.name).exists()
    return written and all(code < CRASHED for code in codes)


def run(command: list[str]) -> int:
    """Run one chatmend command and let it print."""
    print(f"\n$ chatmend {' '.join(Path(word).name if '/' in word and word[0] == '/' else word for word in command)}")
    sys.stdout.flush()
    return subprocess.run([*CLI, *command], check=False).returncode


def prove(title: str, ask: Callable[..., str | None]) -> bool:
    """Send a broken transcript without chatmend and with it; ``ask`` returns the error, if there was one."""
    headline(title, "The same broken transcript, sent twice to a server that checks it.")
    without, mended = ask(mended=False), ask(mended=True)
    print(f"\nwithout chatmend: {'refused' if without else 'ACCEPTED, which is wrong'}")
    if without:
        print(f"    {without}")
    print(f"with chatmend:    {'REFUSED, which is wrong' if mended else 'accepted'}")
    if mended:
        print(f"    {mended}")
    return without is not None and mended is None


def ask_litellm(address: str, *, mended: bool) -> str | None:
    """Send the Anthropic transcript with LiteLLM."""
    litellm.callbacks = [ChatMend(on_error="raise")] if mended else []
    request = litellm.acompletion(
        model="anthropic/claude-sonnet-4-5",
        messages=messages_of("anthropic"),
        tools=[TOOL],
        api_base=address,
        api_key="no-key-needed",
    )
    try:
        asyncio.run(request)
    except litellm.BadRequestError as error:
        return str(error)
    finally:
        litellm.callbacks = []
    return None


def ask_langchain(address: str, *, mended: bool) -> str | None:
    """Send the Mistral transcript with LangChain."""
    model = ChatMistralAI(
        model_name="mistral-large-latest", endpoint=f"{address}/v1", api_key="no-key-needed", max_retries=0
    )
    history: Any = convert_to_messages(messages_of("mistral"))
    if mended:
        history = repair_messages(history, target="mistral/mistral-large-latest")
    try:
        model.invoke(history)
    except httpx.HTTPStatusError as error:
        return str(error)
    return None


def messages_of(name: str) -> list[dict[str, Any]]:
    """Return the messages of one of the transcripts."""
    case: dict[str, Any] = json.loads((TRANSCRIPTS / f"{name}.json").read_text(encoding="utf-8"))
    messages: list[dict[str, Any]] = case["messages"]
    return messages


def headline(title: str, text: str) -> None:
    """Print a title and the sentence under it."""
    print(f"\n{'=' * 100}\n{title}\n{text}")


if __name__ == "__main__":
    sys.exit(main())
