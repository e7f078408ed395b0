"""Writes a session, kills its process and resumes it in another; the prompt cache still hits.

Everything runs on this machine: the provider is chatmend's sandbox, which reports the tokens read
from its prompt cache as the real providers do. It needs no API keys.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

from chatmend import Session, SessionStore, UsageLedger, normalize_usage
from chatmend.sandbox import Sandbox

TARGET = "openai/gpt-4o"
FIRST = {
    "role": "system",
    "content": "You are a travel agent who answers briefly and to the point. " * 8,
}
TOOL = {
    "type": "function",
    "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {}}},
}


def ask(session: Session, url: str, *messages: dict[str, Any]) -> str:
    """Send the session with new messages; record the request and the answer."""
    done = session.extend(messages)
    body = {"model": "gpt-4o", **session.request_parameters, "messages": done.messages}
    headers = {"content-type": "application/json", "authorization": "Bearer any"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)  # noqa: S310 - local
    with urllib.request.urlopen(request) as response:  # noqa: S310
        answer = json.load(response)
    reply = {"role": "assistant", "content": answer["choices"][0]["message"]["content"]}
    session.record(done.messages, reply=reply, usage=answer)
    usage = normalize_usage(answer)
    return (
        f"{usage.input_tokens:>4} input tokens, "
        f"{usage.cache_read_tokens:>4} of them read from the cache"
    )


def first_process(root: str, url: str) -> None:
    """Send two requests, then kill this process."""
    session = SessionStore(root).start(
        "main", target=TARGET, dispatcher="demo", request_parameters={"tools": [TOOL]}
    )
    print(
        "  first call:  ",
        ask(session, url, FIRST, {"role": "user", "content": "Where is it warm in March?"}),
    )
    print(
        "  second call: ",
        ask(session, url, {"role": "user", "content": "And in April? <!--/MSG-->"}),
        flush=True,
    )
    os.kill(os.getpid(), signal.SIGKILL)


def run(sandbox: Sandbox, folder: Path, ledger: UsageLedger) -> tuple[int, int]:
    """Run the example.

    Returns:
        The tokens that the resumed call read from the cache, and the tokens of the last request
        before it.
    """
    root, url = str(folder), sandbox.url("openai/v1/chat/completions")
    sandbox.clear()
    print("One process sends two requests and is killed:")
    first = subprocess.run([sys.executable, __file__, root, url], check=False)
    print(f"  exit status   {first.returncode} (SIGKILL)")
    session = SessionStore(root, ledger=ledger).latest()
    if session is None:
        raise SystemExit("no session was stored: the first process failed")
    sent = sandbox.requests[-1].prompt
    print(f"\nIts session file {session.path}:")
    lines = (Path(root) / session.path).read_text(encoding="utf-8").splitlines()
    print("\n".join(f"  | {line[:100]}" for line in lines if not line.startswith("usage:")))
    print("\nAnother process resumes the session:")
    print("  third call:  ", ask(session, url, {"role": "user", "content": "And in May?"}))
    fork = session.fork("draft")
    print(
        f"  fork's first: {ask(fork, url, {'role': 'user', 'content': 'Draft a letter.'})}"
        f"  ({fork.path})"
    )
    return sandbox.requests[2].cached, sent


if __name__ == "__main__":
    if len(sys.argv) > 1:
        first_process(*sys.argv[1:])
    else:
        with Sandbox() as alone, tempfile.TemporaryDirectory() as root:
            print(
                "Tokens read from the cache, and sent before:",
                *run(alone, Path(root), UsageLedger()),
            )
