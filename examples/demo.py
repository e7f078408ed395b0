"""A session that a provider refuses, without chatmend and with it: LiteLLM's proxy, LangChain, a fallback, a resume.

No keys are needed and nothing leaves this machine: the provider is chatmend's sandbox, which answers with the status
and the text of the real ones. The exit code is 1 if anything does not go as the headlines say. Ctrl-C stops it all.
"""

from __future__ import annotations

import os
import signal
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
import resume
from chatmend.langchain import mend
from chatmend.sandbox import Failure, Sandbox
from chatmend.usage.summary import render
from conversation import TOOLS, conversation, shrunk_by_hand
from proxy import Proxy

OK = 200
CLAUDE = "anthropic/claude-sonnet-4-5"


class Demo:
    """The acts. Each says what it shows, shows it, and notes whether it went so."""

    def __init__(self, sandbox: Sandbox, proxy: Proxy, folder: Path) -> None:
        """Begin with an empty account."""
        self.sandbox, self.proxy, self.folder = sandbox, proxy, folder
        self.ledger = chatmend.UsageLedger()
        self.wrong: list[str] = []

    def acts(self) -> None:
        """All of them, in order."""
        self.report()
        self.refused()
        self.accepted()
        self.langchain()
        self.fallback()
        self.resumed()
        self.usage()

    def report(self) -> None:
        """Say what is wrong with the conversation."""
        headline(
            "The conversation", "A browser agent, a tall screenshot, a user who did not wait, an interrupted call."
        )
        done = chatmend.repair(conversation(), CLAUDE)
        print("What chatmend.repair would do for Anthropic:\n")
        print(textwrap.indent(done.report(), "  "))

    def refused(self) -> None:
        """Send it without chatmend."""
        headline(
            "Without chatmend",
            "A LiteLLM proxy sends it to Anthropic; then again, with the screenshot shrunk by hand.",
        )
        for messages in (conversation(), shrunk_by_hand()):
            status, body, _ = self.proxy.ask("claude-as-before", messages, tools=TOOLS)
            self.expect(status != OK, f"HTTP {status}  {said(body)}")

    def accepted(self) -> None:
        """Send it with chatmend in the proxy."""
        headline("With chatmend in the proxy", "callbacks: chatmend.litellm.callback")
        status, body, changes = self.proxy.ask("claude", conversation(), tools=TOOLS)
        self.expect(status == OK, f"HTTP {status}  {said(body)}")
        self.expect(bool(changes), f"x-chatmend-changes: {changes}")
        self.count(body, "through the proxy", "claude-sonnet-4-5")

    def langchain(self) -> None:
        """Send it with LangChain, to a provider that is strict in other ways."""
        headline("In LangChain", "The same messages to Mistral, with ChatMistralAI as it is and with mend(model).")
        model = ChatMistralAI(
            model_name="mistral-medium-latest", endpoint=self.sandbox.url("mistral/v1"), api_key="any", max_retries=0
        )
        history: Any = convert_to_messages(conversation())
        try:
            model.invoke(history)
        except httpx.HTTPStatusError as error:
            self.expect(True, f"as it is: HTTP {error.response.status_code}  {error.response.text}")  # noqa: FBT003
        else:
            self.expect(False, "as it is: accepted, which is wrong")  # noqa: FBT003
        answer = mend(model).invoke(history)
        changes = answer.response_metadata["chatmend"]["changes"]
        self.expect(bool(changes), f"mended: {answer.content!r}, after {len(changes)} changes")
        self.count(answer, "through LangChain")

    def fallback(self) -> None:
        """Let Anthropic be overloaded."""
        headline(
            "A fallback", "Anthropic answers 529, LiteLLM goes on to Gemini, and the transcript is repaired for Gemini."
        )
        self.sandbox.clear()
        self.sandbox.script([Failure(529)])
        status, body, changes = self.proxy.ask("claude", conversation(), tools=TOOLS)
        tried = [f"{verdict.provider} {verdict.status}" for verdict in self.sandbox.requests]
        self.expect(status == OK, f"HTTP {status} from {body.get('model')}  {said(body)}")
        self.expect(tried[0].endswith(" 529") and tried[-1].endswith(" 200"), f"asked: {', '.join(tried)}")
        self.expect(bool(changes), f"x-chatmend-changes: {changes}")
        self.count(body, "after a fallback")

    def resumed(self) -> None:
        """Kill a process, and go on in another one."""
        headline(
            "A resumed session", "A process is killed between two turns; another goes on, with the provider's cache."
        )
        cached, sent = resume.tell(self.sandbox, self.folder, self.ledger)
        self.expect(cached == sent, f"All {sent} tokens that had been sent came from the provider's cache.")

    def usage(self) -> None:
        """Say what it all used."""
        headline("What it used", "One account, whoever reports it and however (chatmend.normalize_usage).")
        by = ("agent", "model")
        print(render(self.ledger.snapshot(by), by))

    def count(self, answer: object, agent: str, model: str | None = None) -> None:
        """Add an answer's usage to the account; ``model`` where the answer names an alias."""
        usage = chatmend.normalize_usage(answer)
        self.ledger.add(usage, agent=agent, model=model or usage.model)

    def expect(self, held: bool, line: str) -> None:  # noqa: FBT001 - a fact and its sentence
        """Print a line; one that should not be is marked, and fails the demo."""
        print(textwrap.fill(line, 116, initial_indent="  " if held else "! ", subsequent_indent="    "), flush=True)
        if not held:
            self.wrong.append(line)


def said(body: dict[str, Any]) -> str:
    """The answer, or the error, of a body."""
    if "error" in body:
        return str(body["error"]["message"]).splitlines()[0]  # LiteLLM adds a line about fallbacks
    return repr(body["choices"][0]["message"]["content"] or "(a tool call)")


def headline(title: str, text: str) -> None:
    """Print a title and the sentence under it."""
    print(f"\n{'=' * 118}\n{title.upper()}\n{text}\n", flush=True)


def main() -> int:
    """Run the demo; 0 if everything went as promised."""
    started = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the blocks below are left in order
    with tempfile.TemporaryDirectory() as folder, Sandbox() as sandbox, Proxy(sandbox, Path(folder)) as proxy:
        print(f"A LiteLLM proxy starts, which takes a while. Its configuration:\n\n{proxy.configuration}", flush=True)
        demo = Demo(sandbox, proxy, Path(folder))
        proxy.wait()
        demo.acts()
    print(f"\n{len(demo.wrong)} things were not as promised." if demo.wrong else "\nAll as promised.", end=" ")
    print(f"{time.monotonic() - started:.0f} seconds.")
    return 1 if demo.wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\nStopped; nothing is left behind.", file=sys.stderr)
        sys.exit(130)
