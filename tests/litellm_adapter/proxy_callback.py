"""The callback that the proxy uses in these tests: an instrumented ``chatmend.litellm.callback``.

It writes the calls of its hooks to a file. Tests change its options with another file.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from pathlib import Path
from typing import Any

from chatmend.litellm import callback
from chatmend.litellm.recording import Recording

_CALLS = Path(os.environ["CHATMEND_TEST_CALLS"])
_INITIAL = {name: getattr(callback, name) for name in ("mode", "allow", "deny", "usage_mode")}
_NOTIFICATIONS = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)


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
    """Apply the options that ``Proxy.switch`` has written."""
    path = _CALLS.parent / "switch.json"
    state = json.loads(path.read_text()) if path.exists() else {"on": True, "options": {}}
    os.environ["CHATMEND_DISABLED"] = "0" if state["on"] else "1"
    for name, value in {**_INITIAL, **state["options"]}.items():
        setattr(callback, name, value)


async def _logged(*args: Any, **kwargs: Any) -> None:
    await _log_success(*args, **kwargs)
    if isinstance(callback.record, Recording):
        # The recorder writes in a thread; tests are notified when the record is on disk.
        await asyncio.to_thread(callback.record.recorder.flush)
    rows = [row.to_dict() for row in callback.usage.snapshot()]
    new = _CALLS.parent / "rows.new"
    new.write_text(json.dumps(rows))
    new.rename(_CALLS.parent / "rows.json")
    _NOTIFICATIONS.sendto(b"logged", ("127.0.0.1", int(os.environ["CHATMEND_TEST_NEWS"])))


def _treatment_of(*args: Any, **kwargs: Any) -> Any:
    _switch()
    return _decide(*args, **kwargs)


_decide = callback.treatment_of
setattr(callback, "treatment_of", _treatment_of)  # noqa: B010 - a method, for mypy
_log_success = callback.async_log_success_event
setattr(callback, "async_log_success_event", _logged)  # noqa: B010 - a method, for mypy
for _name in ("async_pre_call_deployment_hook", "async_pre_call_hook"):
    setattr(callback, _name, _counted(_name, getattr(callback, _name)))
