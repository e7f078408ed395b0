"""The broken conversation without and through ``chatmend proxy``, for a recording.

    python -m tests.sandbox.proxy_door record
    python -m tests.sandbox.proxy_door replay

The proxy runs in this process, where the recorder sees the requests that it sends. So it is not run
in the process of other tests. The recording is of the sandbox.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path

from tests.offline import OFFLINE

os.environ |= {**OFFLINE, "LITELLM_MODE": "PRODUCTION", "NO_PROXY": "127.0.0.1"}

import httpx
import vcr

from chatmend import upstreams
from chatmend.sandbox import Sandbox
from tests.sandbox.record import FOLDER, recording_to
from tests.transport.sdks import CLAUDE_CHAT, CLAUDE_TOOL

FILE = FOLDER / "proxy/anthropic/broken-conversation.yaml"
BODY = {
    "model": "claude-sonnet-4-6",
    "max_tokens": 99,
    "messages": CLAUDE_CHAT,
    "tools": [CLAUDE_TOOL],
}
HEADERS = {"x-api-key": "any", "anthropic-version": "2023-06-01"}
HOST = "proxy"
"""The host of the proxy: only its requests to the provider are recorded, not those to it."""
PATH = "anthropic/v1/messages"


def send(root: str) -> None:
    """Send the conversation to the provider at a URL, then through the proxy."""
    refused = httpx.post(f"{root}/{PATH}", json=BODY, headers=HEADERS)
    assert refused.status_code == 400, refused.text
    urls = {"anthropic": f"{root}/anthropic"}
    os.environ["CHATMEND_HOSTS"] = upstreams.known_addresses(urls, "")
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "config.yaml")
        config.write_text(json.dumps(upstreams.make_config(urls, {"react": 1})), "utf-8")
        os.environ["CONFIG_FILE_PATH"] = os.environ["WORKER_CONFIG"] = str(config)
        accepted = asyncio.run(_send_to_proxy())
    assert accepted.status_code == 200, accepted.text
    assert accepted.headers["x-chatmend-changes"]


async def _send_to_proxy() -> httpx.Response:
    # The module reads the environment when it is imported.
    from litellm.proxy.proxy_server import app  # noqa: PLC0415

    url = f"http://{HOST}{upstreams.PREFIX}/{PATH}"
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app)) as agent,
    ):
        return await agent.post(url, json=BODY, headers=HEADERS)


def main(action: str) -> None:
    """Record the requests against the sandbox, or send them again and compare."""
    if action == "record":
        with Sandbox() as sandbox, recording_to(FILE, sandbox.url(), ignored=HOST):
            send(sandbox.url())
        return
    recorder = vcr.VCR(record_mode="none", match_on=["method", "uri", "body"], ignore_hosts=[HOST])
    with recorder.use_cassette(str(FILE)) as cassette:
        send("http://sandbox")
        assert cassette.all_played, cassette.play_counts


if __name__ == "__main__":
    main(sys.argv[1])
