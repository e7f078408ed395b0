"""A call or result of a tool that names code which is not in the transcript as its caller.

Why: ``source tool `srvtoolu_01C` not found for tool use block `toolu_01A` `` (Anthropic). Code that
Anthropic runs can call tools, and each such call and result names the call of ``code_execution`` in
``caller``. Compaction, a change of the host, or another repair can remove that call.

Repair: ``caller`` is removed, so the tool counts as called by the model. A ``caller`` of the type
``direct`` names no block and is unchanged, and so is one that names a block before it.

Before (anthropic/claude-sonnet-4-6):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": [
         {"type": "tool_use", "id": "toolu_01A", "name": "f", "input": {},
          "caller": {"type": "code_execution_20260120", "tool_id": "srvtoolu_01C"}}]},
     {"role": "user", "content": [
         {"type": "tool_result", "tool_use_id": "toolu_01A", "content": "42"}]}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": [
         {"type": "tool_use", "id": "toolu_01A", "name": "f", "input": {}}]},
     {"role": "user", "content": [
         {"type": "tool_result", "tool_use_id": "toolu_01A", "content": "42"}]}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend.changes import Change, Effect
from chatmend.dialects import server_tools
from chatmend.rules.rule import Request, RequestRule
from chatmend.transcript import is_unchanged

if TYPE_CHECKING:
    from chatmend.context import Context
    from chatmend.transcript import Message

CODE, NAME = "TOOL022", "unknown-caller"
_WHY = "the request does not hold the call that is named as the caller"


def apply(request: Request, context: Context) -> tuple[Request, list[Change]]:
    """Remove each ``caller`` that names no earlier block."""
    if not context.limits.server_tools_paired:
        return request, []
    ids = set[str]()
    out, changes = list(request.messages), list[Change]()
    for at, native in enumerate(request.messages):
        as_dict = native if isinstance(native, dict) else context.dialect.read(native).extra
        content = as_dict.get("content")
        if not isinstance(content, list):
            continue
        blocks = [_with_known_caller(block, ids) for block in content]
        if is_unchanged(content, blocks):
            continue
        out[at] = context.dialect.write(context.dialect.read({**as_dict, "content": blocks}))
        changes.append(
            Change(CODE, NAME, Effect.RESHAPES, at, _WHY, (native,), (out[at],), None, at)
        )
    return (replace(request, messages=out) if changes else request), changes


def _with_known_caller(block: Any, ids: set[str]) -> Any:  # noqa: ANN401 - any JSON value
    """Return a block without an unknown caller; add the id of the block to ``ids``."""
    if not isinstance(block, dict):
        return block
    caller = server_tools.caller_id(block)
    for known in (server_tools.call_id(block), block.get("id")):
        if isinstance(known, str):
            ids.add(known)
    if caller is None or caller in ids or block["caller"]["tool_id"] in ids:
        return block
    return {key: value for key, value in block.items() if key != "caller"}


def _has_caller(message: Message) -> bool:
    content = message.extra.get("content")
    return isinstance(content, list) and any(
        isinstance(block, dict) and server_tools.caller_id(block) is not None for block in content
    )


RULE = RequestRule(CODE, NAME, apply, _has_caller)
