"""The callback of the proxy in these tests: ``chatmend.litellm.callback``, counted in a file, and switched by one."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import sys
from pathlib import Path
from typing import Any

from chatmend.litellm import callback
from chatmend.litellm.recording import Recording

_CALLS = Path(os.environ["CHATMEND_TEST_CALLS"])
_BEGAN = {name: getattr(callback, name) for name in ("mode", "allow", "deny", "usage_place")}
_NEWS = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
logging.getLogger("chatmend.litellm").setLevel(logging.INFO)
logging.getLogger("chatmend.litellm").addHandler(logging.StreamHandler(sys.stderr))


def _counted(name: str, hook: Any) -> Any:
    async def call(*args: Any, **kwargs: Any) -> Any:
        _switch()
        call_type = kwargs["call_type"] if "call_type" in kwargs else args[-1]
        if name.endswith("deployment_hook") or call_type == "pass_through_endpoint":
            with _CALLS.open("a") as out:
                out.write(f"{name} {call_type}\n")
        return await hook(*args, **kwargs)

    return call


def _switch() -> None:
    """As the test says: see ``Proxy.switch``."""
    path = _CALLS.parent / "switch.json"
    said = json.loads(path.read_text()) if path.exists() else {"on": True, "options": {}}
    os.environ["CHATMEND_DISABLED"] = "0" if said["on"] else "1"
    for name, value in {**_BEGAN, **said["options"]}.items():
        setattr(callback, name, value)


async def _logged(*args: Any, **kwargs: Any) -> None:
    await _log_success(*args, **kwargs)
    if isinstance(callback.record, Recording):  # it writes in a thread: what is told of here is on disk
        await asyncio.to_thread(callback.record.recorder.flush)
    rows = [row.to_dict() for row in callback.usage.snapshot()]
    new = _CALLS.parent / "rows.new"
    new.write_text(json.dumps(rows))
    new.rename(_CALLS.parent / "rows.json")
    _NEWS.sendto(b"logged", ("127.0.0.1", int(os.environ["CHATMEND_TEST_NEWS"])))


_log_success = callback.async_log_success_event
setattr(callback, "async_log_success_event", _logged)  # noqa: B010 - mypy knows it for a method
for _name in ("async_pre_call_deployment_hook", "async_pre_call_hook"):
    setattr(callback, _name, _counted(_name, getattr(callback, _name)))
