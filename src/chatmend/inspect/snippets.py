"""What a user copies: Python code and a command line that make the same repair."""

from __future__ import annotations

import json
import shlex


def python_snippet(target: str, *, is_request: bool) -> str:
    """Return Python code that repairs a conversation for a target."""
    name = json.dumps(target)
    if is_request:
        call, result = f"chatmend.repair_request(body, {name})", "done.body"
        reads = 'body = json.loads(Path("request.json").read_text())'
    else:
        call, result = f"chatmend.repair(messages, {name})", "done.messages"
        reads = 'messages = json.loads(Path("chat.json").read_text())'
    return (
        "import json\nfrom pathlib import Path\n\nimport chatmend\n\n"
        f"{reads}\ndone = {call}\nprint(done.report())\n# send {result}\n"
    )


def command_line(target: str, *, is_request: bool) -> str:
    """Return the command that shows the repair of a conversation for a target."""
    file = "request.json" if is_request else "chat.json"
    return f"chatmend repair {file} --target {shlex.quote(target)} --diff"
