"""Finds faults in the input items of a Responses request: format, pairing and reasoning."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from chatmend.sandbox.pictures import parse_data_url
from chatmend.sandbox.refusals import Fault, fault
from chatmend.sandbox.request import SandboxRequest, json_type_name, objects
from chatmend.sandbox.signatures import SignatureStatus, verify

if TYPE_CHECKING:
    from collections.abc import Iterator

Body = dict[str, Any]
_TYPES = (
    "additional_tools agent_message apply_patch_call apply_patch_call_output "
    "code_interpreter_call compaction compaction_trigger computer_call computer_call_output "
    "custom_tool_call custom_tool_call_output file_search_call function_call "
    "function_call_output image_generation_call item_reference local_shell_call "
    "local_shell_call_output mcp_approval_request mcp_approval_response mcp_call mcp_list_tools "
    "message multi_agent_call multi_agent_call_output program program_output reasoning "
    "shell_call shell_call_output tool_search_call tool_search_output web_search_call"
).split()
_PREFIXES = {"function_call": "fc", "custom_tool_call": "ctc", "reasoning": "rs", "message": "msg"}
_PREFIXES |= {"web_search_call": "ws", "file_search_call": "fs", "code_interpreter_call": "ci"}
_PREFIXES |= {"mcp_call": "mcp", "mcp_list_tools": "mcpl", "mcp_approval_request": "mcpr"}
_PREFIXES |= {"computer_call": "cu"}
_KEYS = {
    "custom_tool_call": "call_id name input | id namespace caller async",
    "custom_tool_call_output": "call_id output | id caller",
    "compaction": "encrypted_content | id",
    "additional_tools": "role tools | id",
    "item_reference": "id |",
    "web_search_call": "id action status |",
    "file_search_call": "id queries status | results",
    "code_interpreter_call": "id code container_id outputs status |",
    "computer_call": "id call_id pending_safety_checks status | action actions",
    "computer_call_output": "call_id output | id acknowledged_safety_checks status",
    "image_generation_call": "id result status | action background error output_format quality "
    "revised_prompt size svg_usage",
    "local_shell_call": "id action call_id status |",
    "local_shell_call_output": "call_id output | id status",
    "shell_call": "call_id action | id status environment caller",
    "shell_call_output": "call_id output | id status max_output_length caller",
    "apply_patch_call": "call_id operation status | id caller",
    "apply_patch_call_output": "call_id status | id output caller",
    "mcp_list_tools": "id server_label tools | error",
    "mcp_call": "id name arguments server_label | approval_request_id error output status",
    "mcp_approval_request": "id name arguments server_label |",
    "mcp_approval_response": "approval_request_id approve | id reason",
    "tool_search_call": "arguments | id call_id execution status",
    "tool_search_output": "tools | id call_id execution status",
    "program": "id call_id code fingerprint |",
    "program_output": "id call_id result status |",
    "function_call": "call_id name arguments | id status namespace caller async",
    "function_call_output": "output | call_id id status name namespace caller",
    "reasoning": "summary | id content encrypted_content status",
    "message": "role content | id status phase",
}
"""Required and other keys by type of item; source: the types of the openai SDK 3.54.0."""
_ANYWHERE = {"type", "id", "status", "created_by"}
"""Keys that answers have, and that nothing recorded refuses."""
_SAID = ("output_text", "refusal")
_HEARD = (
    "input_text",
    "input_image",
    "input_file",
    "scoped_content",
    "input_audio",
    "computer_screenshot",
)
_PARTS = (*_HEARD, *_SAID, "summary_text", "encrypted_content", "reasoning_text", "text")
_MAX_ID_LENGTH, _MAX_TEXT_LENGTH = 64, 10_485_760
_FILES = (
    "application/pdf",
    "text/",
    "application/json",
    "application/vnd",
    "application/msword",
    "application/x-",
    "application/csv",
    "application/javascript",
    "application/xml",
    "application/rtf",
    "application/typescript",
    "image/",
)


def faults(request: SandboxRequest) -> Iterator[Fault]:
    """Yield the faults of single items."""
    given, body = request.body.get("input"), request.body
    elsewhere = any(body.get(key) for key in ("previous_response_id", "prompt", "conversation"))
    if "input" in body and given is None:
        yield fault("openai-responses-input-null")
    elif "input" not in body and not elsewhere:
        yield fault("openai-responses-missing", "input")
    elif given in ("", []) and not elsewhere:
        yield fault("openai-responses-input-empty")
    for at, item in enumerate(given if isinstance(given, list) else []):
        path = f"input[{at}]"
        if not isinstance(item, dict):
            yield fault("openai-chat-message-item-type", path, got=json_type_name(item))
        else:
            yield from _item(path, item)


def _item(at: str, item: Body) -> Iterator[Fault]:
    tag = "item_reference" if _is_reference(item) else item.get("type", "message")
    if tag not in _TYPES:
        yield fault("openai-responses-item-type-unknown", at, tag=tag, tags=_listed(_TYPES))
    checks = {
        "message": _message,
        "reasoning": _reasoning,
        "function_call_output": _output,
        "computer_call_output": _screenshot,
    }
    yield from checks[tag](at, item) if tag in checks else ()
    if tag == "image_generation_call" and "id" not in item:
        yield fault("openai-responses-image-generation-id")
    name, prefix = item.get("id"), _PREFIXES.get(str(tag))
    if isinstance(name, str) and prefix and not name.startswith(prefix):
        yield fault("openai-responses-item-id-prefix", f"{at}.id", id=name, prefix=prefix)
    for key in ("id", "call_id"):
        text = item.get(key)
        if (
            isinstance(text, str)
            and len(text) > _MAX_ID_LENGTH
            and (key == "id" or tag.endswith(("call", "call_output")))
        ):
            yield fault(
                "openai-chat-string-too-long", f"{at}.{key}", most=_MAX_ID_LENGTH, length=len(text)
            )
    yield from _keys(at, item, str(tag))


def _is_reference(item: Body) -> bool:
    """Return whether an item refers to a stored one; it may lack its type."""
    kind = item.get("type")
    return kind == "item_reference" or (kind is None and item.keys() - {"type"} == {"id"})


def _keys(at: str, item: Body, tag: str) -> Iterator[Fault]:
    required, _, others = _KEYS.get(tag, "").partition("|")
    for key in required.split() if tag not in ("message", "reasoning", *_OWN_CHECKS) else ():
        if key not in item:
            yield fault("openai-responses-missing", f"{at}.{key}")
    known = {*required.split(), *others.split(), *_ANYWHERE}
    for key in item if tag in _KEYS else ():
        if key not in known:
            yield fault("openai-responses-item-unknown-member", f"{at}.{key}")


_OWN_CHECKS = ("function_call_output", "image_generation_call", "item_reference")
"""Types whose required keys have a fault of their own."""


def _listed(values: tuple[str, ...] | list[str]) -> str:
    return ", ".join(f"'{value}'" for value in values[:-1]) + f", and '{values[-1]}'"


def _message(at: str, item: Body) -> Iterator[Fault]:
    role = item.get("role")
    if role not in ("assistant", "system", "developer", "user"):
        yield fault("openai-responses-item-role-unknown", at, role=role)
    if "content" not in item:
        yield fault("openai-responses-missing", f"{at}.content")
    if "phase" in item and role != "assistant":
        yield fault("openai-responses-item-unknown-member", f"{at}.phase")
    for i, part in enumerate(objects(item.get("content"))):
        yield from _part(f"{at}.content[{i}]", part, said=role == "assistant")


def _part(at: str, part: Body, *, said: bool) -> Iterator[Fault]:
    tag = part.get("type")
    if tag not in _PARTS:
        yield fault("openai-responses-content-type-unknown", f"{at}.type", tag=tag)
    elif said and tag not in (*_SAID, "text"):
        yield fault("openai-responses-content-assistant-input-text", at, tag=tag)
    elif not said and tag in _SAID:
        yield fault("openai-responses-content-user-output-text", at, tag=tag)
    elif tag in ("input_text", "output_text") and "text" not in part:
        yield fault("openai-responses-missing", f"{at}.text")
    found = parse_data_url(str(part.get("file_data", "")))
    if found and not found[0].startswith(_FILES):
        yield fault("openai-responses-file-unsupported", f"{at}.file_data", mime=found[0])


def _reasoning(at: str, item: Body) -> Iterator[Fault]:
    if "summary" not in item:
        yield fault("openai-responses-missing", f"{at}.summary")
    if "status" in item and item["status"] is None:
        yield fault("openai-responses-reasoning-status-null", f"{at}.status")


def _screenshot(at: str, item: Body) -> Iterator[Fault]:
    output = item.get("output")
    address = output.get("image_url") if isinstance(output, dict) else None
    if isinstance(address, str) and not address.startswith(("http://", "https://", "data:")):
        yield fault("openai-responses-url-invalid", f"{at}.output.image_url")


def _output(at: str, item: Body) -> Iterator[Fault]:
    output = item.get("output")
    if not isinstance(output, str | list):
        yield fault("openai-responses-output-type", f"{at}.output", got=json_type_name(output))
    elif isinstance(output, str) and len(output) > _MAX_TEXT_LENGTH:
        yield fault(
            "openai-chat-string-too-long", f"{at}.output", most=_MAX_TEXT_LENGTH, length=len(output)
        )


def _links(request: SandboxRequest) -> Iterator[Fault]:
    items = objects(request.body.get("input"))
    seen: set[str] = set()
    expired = request.changes.expired
    for item in items:
        name = item.get("id")
        is_expired = isinstance(name, str) and name in expired
        if is_expired and not _is_self_contained(request, item):
            yield fault("openai-responses-item-expired", name=name)
        if _is_reference(item):
            may_exist = len(str(name)) >= _MIN_ID_LENGTH and request.body.get("store") is not False
            if request.memory.responses.get((request.key, str(name))) is None and not may_exist:
                yield fault("openai-responses-item-not-found", name=name)
            if name in seen:
                yield fault("openai-responses-duplicate-item", name=name)
            seen.add(str(name))
        elif isinstance(name, str):
            if name in seen:
                yield fault("openai-responses-duplicate-item", name=name)
            seen.add(name)
            is_sealed = item.get("encrypted_content") is not None
            if (
                item.get("type") == "reasoning"
                and not is_sealed
                and request.body.get("store") is False
            ):
                yield fault("openai-responses-item-not-found", name=name)
    for at, item in enumerate(items):
        yield from _reasoning_links(request, items, at, item)


def _is_self_contained(request: SandboxRequest, item: Body) -> bool:
    """Return whether an item is used without looking up its id: encrypted, and nothing stored."""
    return item.get("encrypted_content") is not None and request.body.get("store") is False


_MIN_ID_LENGTH = 30
"""The ids of OpenAI are longer; the sandbox cannot know whether OpenAI stores such an item."""
_FOLLOWS = (
    "function_call",
    "message",
    "custom_tool_call",
    "web_search_call",
    "file_search_call",
    "reasoning",
    "code_interpreter_call",
    "image_generation_call",
    "mcp_call",
    "computer_call",
    "tool_search_call",
    "mcp_approval_request",
    "local_shell_call",
    "shell_call",
    "apply_patch_call",
    "program",
    "compaction",
)


_WITHOUT_TEXTS = ("openai", "github_copilot")
"""Providers that refuse the texts of reasoning; Azure also serves models that send them."""


def _reasoning_links(
    request: SandboxRequest, items: list[Body], at: int, item: Body
) -> Iterator[Fault]:
    if item.get("type") != "reasoning":
        return
    following = (later for later in items[at + 1 :] if later.get("type") != "mcp_list_tools")
    follower = next(following, {})
    mine = (
        follower.get("role", "assistant") == "assistant"
        and follower.get("type", "message") in _FOLLOWS
    )
    if item.get("id") and not mine:
        yield fault("openai-responses-reasoning-without-following", name=item["id"])
    if request.provider in _WITHOUT_TEXTS and item.get("content"):
        yield fault("openai-responses-reasoning-content", at=f"input[{at}].content")
    sealed = item.get("encrypted_content")
    if isinstance(sealed, str):
        status = verify(sealed, request.model, str(item.get("id", "")))
        foreign = status is SignatureStatus.FOREIGN and (
            request.strict_signatures or len(sealed) < _MIN_ID_LENGTH
        )
        if foreign or status in (SignatureStatus.MALFORMED, SignatureStatus.MODIFIED):
            yield fault("openai-responses-reasoning-encrypted-invalid", sealed=f"{sealed[:4]}...")


_PAIRED = (
    "function_call",
    "custom_tool_call",
    "computer_call",
    "local_shell_call",
    "shell_call",
    "apply_patch_call",
)
"""Types of calls that the caller runs; the type of the output ends with ``_output``."""


def pairing(request: SandboxRequest) -> Iterator[Fault]:
    """Yield outputs without calls, calls without outputs, and separated reasoning."""
    items = objects(request.body.get("input"))
    stored = request.body.get("previous_response_id") or request.body.get("conversation")
    waiting: Counter[tuple[str, str]] = Counter()
    for item in items:
        tag = str(item.get("type"))
        if tag in _PAIRED:
            waiting[tag, str(item.get("call_id"))] += 1
        elif tag.removesuffix("_output") in _PAIRED:
            call = tag.removesuffix("_output"), str(item.get("call_id"))
            shell = "local_shell_call", call[1]  # an output of a function also answers its calls
            if tag == "function_call_output" and not waiting[call] and waiting[shell]:
                call = shell
            if waiting[call] == 0 and not stored:
                yield fault("openai-responses-function-output-no-call", call=call[1])
            waiting[call] -= 1
    for (_, call_id), count in waiting.items():
        if count > 0:
            yield fault("openai-responses-function-call-no-output", call=call_id)
    yield from _links(request)
    yield from _calls_without_reasoning(request, items)


def _calls_without_reasoning(request: SandboxRequest, items: list[Body]) -> Iterator[Fault]:
    """Yield calls that are replayed without the reasoning that this sandbox emitted with them."""
    given = {str(item.get("id")) for item in items if item.get("type") == "reasoning"}
    for item in items:
        needed = request.memory.responses.get((request.key, f"reasoning-of:{item.get('id')}"))
        if item.get("type") == "function_call" and needed and needed not in given:
            yield fault(
                "openai-responses-function-call-without-reasoning",
                name=item["id"],
                reasoning=needed,
            )
