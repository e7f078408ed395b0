"""Sends a broken conversation without chatmend and with it.

It shows a LiteLLM proxy, LangChain, a fallback and a resumed session. It needs no API keys and no
internet: the provider is chatmend's sandbox, which returns the status and error text of the real
providers. The exit code is 1 if a result differs from what the headlines announce. Ctrl-C stops all
processes.
"""

from __future__ import annotations

import os
import sys
import tempfile
import textwrap
import time
from pathlib import Path
from typing import Any

os.environ.update(LITELLM_LOCAL_MODEL_COST_MAP="True", LANGSMITH_TRACING="false")
os.environ.update(NO_PROXY="127.0.0.1", no_proxy="127.0.0.1")

import httpx
from langchain_core.messages import convert_to_messages
from langchain_mistralai import ChatMistralAI

import chatmend
import legibility
import resume
from chatmend.langchain import mend
from chatmend.sandbox import Failure, Sandbox
from chatmend.usage.summary import render
from conversation import TOOLS, conversation, with_small_screenshot
from proxy import Proxy
from stop import Stop, Stopped

OK = 200
CLAUDE = "anthropic/claude-sonnet-4-5"


class Demo:
    """The parts of the demo. Each prints a headline, sends requests and checks the results."""

    def __init__(self, sandbox: Sandbox, proxy: Proxy, folder: Path, stop: Stop) -> None:
        """Start with an empty usage ledger."""
        self.sandbox, self.proxy, self.folder, self.stop = sandbox, proxy, folder, stop
        self.ledger = chatmend.UsageLedger()
        self.wrong: list[str] = []

    def run(self) -> None:
        """Run all parts in order."""
        for part in (
            self.report,
            self.refused,
            self.accepted,
            self.legible,
            self.langchain,
            self.fallback,
            self.resumed,
            self.usage,
        ):
            self.stop.check()
            part()

    def report(self) -> None:
        """Print how chatmend repairs the conversation."""
        headline(
            "The conversation",
            "A browser agent: a tall screenshot, a user message before a tool result, "
            "an interrupted call.",
        )
        done = chatmend.repair(conversation(), CLAUDE)
        print("The changes of chatmend.repair for Anthropic:\n")
        print(textwrap.indent(done.report(), "  "))

    def refused(self) -> None:
        """Send the conversation without chatmend."""
        headline(
            "Without chatmend",
            "A LiteLLM proxy sends it to Anthropic, then again with a resized screenshot.",
        )
        for messages in (conversation(), with_small_screenshot()):
            status, body, _ = self.proxy.ask("claude-unrepaired", messages, tools=TOOLS)
            self.expect(status != OK, f"HTTP {status}  {text_of(body)}")

    def accepted(self) -> None:
        """Send the conversation with chatmend in the proxy."""
        headline("With chatmend in the proxy", "callbacks: chatmend.litellm.callback")
        status, body, changes = self.proxy.ask("claude", conversation(), tools=TOOLS)
        self.expect(status == OK, f"HTTP {status}  {text_of(body)}")
        self.expect(bool(changes), f"x-chatmend-changes: {changes}")
        self.count(body, "through the proxy", "claude-sonnet-4-5")

    def legible(self) -> None:
        """Read the screenshot as the model sees it, as a whole and as sent by chatmend."""
        headline(
            "Is the screenshot legible?",
            "tesseract reads its 12 px text at the size at which the model sees it.",
        )
        lines = legibility.count_lines()
        if not legibility.is_possible():
            print(
                "  tesseract is not installed (apt-get install tesseract-ocr). It would find none "
                f"of the {lines} lines in the whole page, and all of them in the tiles."
            )
            return
        whole, tiles = legibility.whole_page(CLAUDE), legibility.tiles_of_page(CLAUDE)
        for images, name, held in (
            (whole, "the whole page", lambda found: found < lines // 20),
            (tiles, f"{len(tiles)} tiles", lambda found: found >= lines * 0.95),
        ):
            found = legibility.count_lines_read(images)
            size = f"{images[0].width} x {images[0].height}"
            self.expect(held(found), f"{name} at {size}: {found} of {lines} lines read")

    def langchain(self) -> None:
        """Send the conversation with LangChain to Mistral, which has other rules."""
        headline(
            "In LangChain",
            "The same messages are sent to Mistral with ChatMistralAI, then with mend(model).",
        )
        model = ChatMistralAI(
            model_name="mistral-medium-latest",
            endpoint=self.sandbox.url("mistral/v1"),
            api_key="any",
            max_retries=0,
        )
        history: Any = convert_to_messages(conversation())
        try:
            model.invoke(history)
        except httpx.HTTPStatusError as error:
            self.expect(
                True,  # noqa: FBT003
                f"model: HTTP {error.response.status_code}  {error.response.text}",
            )
        else:
            self.expect(False, "model: accepted, but an error was expected")  # noqa: FBT003
        answer = mend(model).invoke(history)
        changes = answer.response_metadata["chatmend"]["changes"]
        self.expect(bool(changes), f"mend(model): {answer.content!r}, {len(changes)} changes")
        self.count(answer, "through LangChain")

    def fallback(self) -> None:
        """Send the conversation while Anthropic is overloaded."""
        headline(
            "A fallback",
            "Anthropic answers 529, LiteLLM falls back to Gemini, and chatmend repairs for Gemini.",
        )
        self.sandbox.clear()
        self.sandbox.script([Failure(529)])
        status, body, changes = self.proxy.ask("claude", conversation(), tools=TOOLS)
        tried = [f"{verdict.provider} {verdict.status}" for verdict in self.sandbox.requests]
        self.expect(status == OK, f"HTTP {status} from {body.get('model')}  {text_of(body)}")
        self.expect(
            tried[0].endswith(" 529") and tried[-1].endswith(" 200"),
            f"requests: {', '.join(tried)}",
        )
        self.expect(bool(changes), f"x-chatmend-changes: {changes}")
        self.count(body, "after a fallback")

    def resumed(self) -> None:
        """Kill a process and resume its session in another one."""
        headline(
            "A resumed session",
            "A process is killed between two turns. Another resumes; the prompt cache still hits.",
        )
        cached, sent = resume.run(self.sandbox, self.folder, self.ledger)
        self.expect(
            cached == sent, f"All {sent} tokens sent before were read from the provider's cache."
        )

    def usage(self) -> None:
        """Print the usage of all calls."""
        headline(
            "Usage",
            "All providers in one format (chatmend.normalize_usage).",
        )
        by = ("agent", "model")
        print(render(self.ledger.snapshot(by), by))

    def count(self, answer: object, agent: str, model: str | None = None) -> None:
        """Add the usage of an answer to the ledger.

        Pass ``model`` if the answer names an alias instead of the model.
        """
        usage = chatmend.normalize_usage(answer)
        self.ledger.add(usage, agent=agent, model=model or usage.model)

    def expect(self, held: bool, line: str) -> None:  # noqa: FBT001 - always positional
        """Print a line. If ``held`` is false, mark it and let the demo fail."""
        print(
            textwrap.fill(
                line, 116, initial_indent="  " if held else "! ", subsequent_indent="    "
            ),
            flush=True,
        )
        if not held:
            self.wrong.append(line)


def text_of(body: dict[str, Any]) -> str:
    """Return the answer or the error message of a response body."""
    if "error" in body:
        return str(body["error"]["message"]).splitlines()[0]  # LiteLLM adds a line about fallbacks
    return repr(body["choices"][0]["message"]["content"] or "(a tool call)")


def headline(title: str, text: str) -> None:
    """Print a title and a sentence."""
    print(f"\n{'=' * 118}\n{title.upper()}\n{text}\n", flush=True)


def main() -> int:
    """Run the demo; return 0 if all checks passed."""
    started = time.monotonic()
    stop = Stop()
    with (
        tempfile.TemporaryDirectory() as folder,
        Sandbox() as sandbox,
        Proxy(sandbox, Path(folder)) as proxy,
    ):
        print(
            "A LiteLLM proxy starts; this takes up to 30 seconds. "
            f"Its configuration:\n\n{proxy.configuration}",
            flush=True,
        )
        demo = Demo(sandbox, proxy, Path(folder), stop)
        proxy.wait()
        demo.run()
        stop.check()
    print(
        f"\nChecks failed: {len(demo.wrong)}." if demo.wrong else "\nAll checks passed.",
        end=" ",
    )
    print(f"The demo took {time.monotonic() - started:.0f} seconds.")
    return 1 if demo.wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Stopped:
        print(
            "\nStopped. The proxy has exited and the temporary files are deleted.", file=sys.stderr
        )
        raise
