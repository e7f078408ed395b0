"""A replica in a separate process, which a test can kill. It shares images through a Redis.

    python -m tests.litellm_adapter.replica REDIS_PORT SANDBOX_URL

Each line of standard input is a request as JSON: text, image and user. The answer is a line with
the number of images that were decoded so far and the rows of the usage ledger.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import litellm
from litellm.caching.redis_cache import RedisCache

import chatmend.images.recompressor as engine
from chatmend.litellm import ChatMend, SharedImages
from tests.litellm_adapter.log_waiter import LogWaiter
from tests.litellm_adapter.test_shared_images import CLAUDE, SECRET


class Replica:
    """A registered callback, and the calls that go through it."""

    def __init__(self, redis_port: int, url: str) -> None:
        shared = SharedImages(SECRET, cache=RedisCache(host="127.0.0.1", port=redis_port))
        self._callback, self._waiter = ChatMend(on_error="raise", images=shared), LogWaiter()
        litellm.callbacks = [self._callback, self._waiter]
        self._url = url
        self.decoded = 0
        self._transcode = engine.transcode
        engine.transcode = self._count  # type: ignore[assignment] - counts the calls

    def _count(self, *args: Any, **kwargs: Any) -> Any:
        self.decoded += 1
        return self._transcode(*args, **kwargs)

    async def answer(self, number: int, request: dict[str, Any]) -> dict[str, Any]:
        url = f"data:image/jpeg;base64,{request['image']}"
        parts = [
            {"type": "text", "text": request["text"]},
            {"type": "image_url", "image_url": {"url": url}},
        ]
        await litellm.acompletion(
            model=CLAUDE,
            api_key="any",
            api_base=self._url,
            messages=[{"role": "user", "content": parts}],
            user=request["user"],
        )
        assert await self._waiter.wait_async(number)
        rows = self._callback.usage.snapshot(["end_user"])
        return {
            "decoded": self.decoded,
            "calls": {row.keys["end_user"]: row.calls for row in rows},
            "input": {row.keys["end_user"]: row.usage.input_tokens for row in rows},
        }


async def main(redis_port: int, url: str) -> None:
    """Answer requests until standard input ends."""
    replica, number = Replica(redis_port, url), 0
    print("ready", flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        number += 1
        print(json.dumps(await replica.answer(number, json.loads(line))), flush=True)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2]))
