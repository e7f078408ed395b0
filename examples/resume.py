"""A session is written, its process is killed, another one resumes it, and the provider's cache still knows it.

Everything runs on this machine: the provider is chatmend's sandbox, which counts what it reads from its prompt cache as
the real ones do. No keys needed.
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
FIRST = {"role": "system", "content": "You are a travel agent who answers briefly and to the point. " * 8}
TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {}}}}


def ask(session: Session, url: str, *messages: dict[str, Any]) -> str:
    """Send the session with more messages behind it, and record what was sent and what came back."""
    done = session.extend(messages)
    body = {"model": "gpt-4o", **session.beside, "messages": done.messages}
    headers = {"content-type": "application/json", "authorization": "Bearer any"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)  # noqa: S310 - this machine
    with urllib.request.urlopen(request) as response:  # noqa: S310
        answer = json.load(response)
    reply = {"role": "assistant", "content": answer["choices"][0]["message"]["content"]}
    session.record(done.messages, reply=reply, usage=answer)
    usage = normalize_usage(answer)
    return f"{usage.input_tokens:>4} input tokens, {usage.cache_read_tokens:>4} of them read from the cache"


def first_process(root: str, url: str) -> None:
    """Talk twice, and be killed."""
    session = SessionStore(root).start("main", target=TARGET, dispatcher="demo", beside={"tools": [TOOL]})
    print("  first call:  ", ask(session, url, FIRST, {"role": "user", "content": "Where is it warm in March?"}))
    print("  second call: ", ask(session, url, {"role": "user", "content": "And in April? <!--/MSG-->"}), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def tell(sandbox: Sandbox, folder: Path, ledger: UsageLedger) -> tuple[int, int]:
    """Tell the story; the tokens that the resumed call read from the cache, and those that had been sent before."""
    root, url = str(folder), sandbox.url("openai/v1/chat/completions")
    sandbox.clear()
    print("One process talks to a provider, and is killed:")
    killed = subprocess.run([sys.executable, __file__, root, url], check=False)
    print(f"  exit status   {killed.returncode} (SIGKILL)")
    session = SessionStore(root, ledger=ledger).latest()
    if session is None:
        raise SystemExit("nothing was stored")
    sent = sandbox.requests[-1].prompt
    print(f"\nWhat it left in {session.path}:")
    shown = (Path(root) / session.path).read_text(encoding="utf-8").splitlines()
    print("\n".join(f"  | {line[:100]}" for line in shown if not line.startswith("usage:")))
    print("\nAnother process resumes it:")
    print("  third call:  ", ask(session, url, {"role": "user", "content": "And in May?"}))
    fork = session.fork("draft")
    print(f"  fork's first: {ask(fork, url, {'role': 'user', 'content': 'Draft a letter.'})}  ({fork.path})")
    return sandbox.requests[2].cached, sent


if __name__ == "__main__":
    if len(sys.argv) > 1:
        first_process(*sys.argv[1:])
    else:
        with Sandbox() as alone, tempfile.TemporaryDirectory() as place:
            print("Read from the cache, and sent before:", *tell(alone, Path(place), UsageLedger()))
