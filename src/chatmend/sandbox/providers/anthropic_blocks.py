"""Finds faults in single messages and blocks of an Anthropic request."""

from __future__ import annotations

import base64
import io
import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

from chatmend.sandbox.pictures import SandboxPicture, inspect_base64
from chatmend.sandbox.refusals import Fault, fault
from chatmend.sandbox.request import SandboxRequest, mapping, objects

if TYPE_CHECKING:
    from collections.abc import Iterator

Body = dict[str, Any]
_ID = re.compile(r"[a-zA-Z0-9_-]+\Z")
_SERVER_ID = re.compile(r"srvtoolu_[a-zA-Z0-9_]+\Z")
_TAGS = (
    "document image redacted_thinking search_result text thinking tool_result tool_use "
    "bash_code_execution_tool_result code_execution_tool_result compaction container_upload "
    "fallback mcp_tool_result mcp_tool_use server_tool_use "
    "text_editor_code_execution_tool_result tool_addition tool_reference tool_removal "
    "tool_search_tool_result web_fetch_tool_result web_search_tool_result advisor_tool_result"
).split()
_MESSAGE_KEYS = frozenset({"role", "content", "output_config", "cache_control"})
_BLOCK_KEYS = {
    "text": {"type", "text", "cache_control", "citations"},
    "thinking": {"type", "thinking", "signature", "block_binding"},
    "redacted_thinking": {"type", "data", "block_binding"},
    "tool_use": {
        "type", "id", "name", "input", "cache_control", "caller", "thought_signature",
        "toolset_name",
    },
    "tool_result": {
        "type", "tool_use_id", "content", "is_error", "cache_control", "toolset_name",
    },
}  # fmt: skip
_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_MAX_BASE64, _MAX_BASE64_CLOUD = 10_485_760, 5_242_880
_MAX_SIDE, _MAX_SIDE_OF_MANY, _MANY = 8000, 2000, 20
_MAX_PAGES = (100, 600)
_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
"""Matches the object of one page of a PDF that is not compressed."""
_PDF_HEAD = 1024
"""The header of a PDF is among its first bytes."""
_MAX_UNSCALED_SIDE = 1568
"""The provider scales longer sides down, unless the block forbids it."""


def faults(request: SandboxRequest) -> Iterator[Fault]:
    """Yield the faults of single messages; ``anthropic_turns`` finds those of their order."""
    messages = request.body.get("messages")
    if "messages" not in request.body:
        yield fault("anthropic-field-required", "messages")
    if messages == []:
        yield fault("anthropic-messages-empty")
    if messages is not None and not isinstance(messages, list):
        yield fault("anthropic-content-null", "messages")
    for at, message in enumerate(request.messages):
        if isinstance(message, dict):
            yield from _message(f"messages.{at}", message)
        else:
            yield fault("anthropic-legacy-shape", f"messages.{at}")
    yield from _picture_faults(request)
    yield from _pdf_faults(request)


def _message(at: str, message: Body) -> Iterator[Fault]:
    role, content = message.get("role"), message.get("content")
    if role not in ("user", "assistant", "system"):
        yield fault("anthropic-role-unknown", at, role=role)
    if "content" not in message:
        yield fault("anthropic-field-required", f"{at}.content")
    elif not isinstance(content, str | list):
        yield fault("anthropic-content-null", f"{at}.content")
        yield fault("anthropic-content-object", f"{at}.content")
    for key in message:
        if key not in _MESSAGE_KEYS:
            yield fault("anthropic-extra-inputs", f"{at}.{key}")
    for i, block in enumerate(content if isinstance(content, list) else []):
        path = f"{at}.content.{i}"
        if not isinstance(block, dict):
            yield fault("anthropic-content-block-not-object", path)
        else:
            yield from _block(path, block, str(role))


def _block(at: str, block: Body, role: str) -> Iterator[Fault]:
    tag = block.get("type")
    if tag is None:
        yield fault("anthropic-field-required", f"{at}.type")
    elif tag not in _TAGS:
        tags = ", ".join(f"'{known}'" for known in _TAGS)
        yield fault("anthropic-block-type-unknown", at, tag=tag, tags=tags)
    if tag in ("thinking", "redacted_thinking") and "cache_control" in block:
        yield fault("anthropic-cache-control-thinking", f"{at}.{tag}.cache_control")
    for key in block if tag in _BLOCK_KEYS else ():
        if key not in _BLOCK_KEYS[str(tag)]:
            yield fault("anthropic-extra-inputs", f"{at}.{tag}.{key}")
    checks = {
        "text": _text,
        "thinking": _thinking,
        "tool_use": _call,
    }
    checks |= {tag: _server_block for tag in _TAGS if tag.endswith("_tool_result")}
    checks |= dict.fromkeys(_SERVER_KEYS, _server_block)
    checks |= {"tool_result": _result, "image": _media, "document": _document}
    if tag in checks:
        yield from checks[tag](at, block)
    if tag == "tool_use" and role != "assistant":
        yield fault("anthropic-tool-use-in-user", at.split(".content", maxsplit=1)[0])
    if tag == "tool_result" and role != "user":
        yield fault("anthropic-tool-result-in-assistant", at.split(".content", maxsplit=1)[0])
    if tag in ("thinking", "redacted_thinking") and role == "user":
        yield fault("anthropic-thinking-in-user", at.split(".content", maxsplit=1)[0], tag=tag)


def _text(at: str, block: Body) -> Iterator[Fault]:
    if "text" not in block:
        yield fault("anthropic-field-required", f"{at}.text.text")
    elif not isinstance(block["text"], str):
        yield fault("anthropic-string-expected", f"{at}.text.text")
    elif not block["text"] and block.get("cache_control"):
        yield fault("anthropic-cache-control-empty-text", f"{at}.text")


def _thinking(at: str, block: Body) -> Iterator[Fault]:
    if "signature" not in block:
        yield fault("anthropic-thinking-signature-missing", at)
    elif not isinstance(block["signature"], str):
        yield fault("anthropic-string-expected", f"{at}.thinking.signature.str")
    elif not block["signature"] and not block.get("thinking"):
        yield fault("anthropic-thinking-empty", at)


def _call(at: str, block: Body) -> Iterator[Fault]:
    for key in ("id", "name", "input"):
        if key not in block:
            yield fault("anthropic-field-required", f"{at}.tool_use.{key}")
    if isinstance(block.get("id"), str) and not _ID.match(block["id"]):
        yield fault("anthropic-tool-use-id-pattern", at)
    if isinstance(block.get("name"), str) and not re.match(
        r"[a-zA-Z0-9_-]{1,200}\Z", block["name"]
    ):
        yield fault("anthropic-tool-use-name-pattern", at)
    if not isinstance(block.get("input", {}), dict):
        yield fault("anthropic-tool-use-input-object", at)


_SERVER_KEYS = {
    "server_tool_use": ("id", "name", "input"),
    "mcp_tool_use": ("id", "name", "server_name", "input"),
}
"""The required keys of calls, from the anthropic SDK 2.12.0; results need the other two."""


def _server_block(at: str, block: Body) -> Iterator[Fault]:
    tag = str(block.get("type"))
    required = _SERVER_KEYS.get(tag, ("tool_use_id", "content"))
    for key in required if tag != "mcp_tool_result" else ("tool_use_id",):
        if key not in block:
            yield fault("anthropic-field-required", f"{at}.{tag}.{key}")
    if not isinstance(block.get("input", {}), dict):
        yield fault("anthropic-server-tool-use-input", f"{at}.{tag}.input")
    if tag == "server_tool_use":
        yield from _server_call(at, block)


def _server_call(at: str, block: Body) -> Iterator[Fault]:
    if isinstance(block.get("id"), str) and not _SERVER_ID.match(block["id"]):
        yield fault("anthropic-server-tool-use-id-prefix", at)


def _result(at: str, block: Body) -> Iterator[Fault]:
    if "tool_use_id" not in block:
        yield fault("anthropic-field-required", f"{at}.tool_result.tool_use_id")
    elif not _ID.match(str(block["tool_use_id"])):
        yield fault("anthropic-tool-result-id-pattern", at)
    content = block.get("content")
    if content == []:
        yield fault("anthropic-tool-result-content-empty-list", at)
    if block.get("is_error") and not _has_content(content):
        yield fault("anthropic-tool-result-error-empty", at)
    for i, part in enumerate(objects(content)):
        path = f"{at}.tool_result.content.{i}"
        yield from _text(path, part) if part.get("type") == "text" else ()
        yield from _media(path, part) if part.get("type") == "image" else ()
        if block.get("is_error") and part.get("type") != "text":
            yield fault("anthropic-tool-result-error-text-only", at)


def _has_content(content: object) -> bool:
    """Return whether the content of a result holds a text that is not blank, or another block."""
    if isinstance(content, str):
        return bool(content.strip())
    return any(
        part.get("type") != "text" or str(part.get("text", "")).strip() for part in objects(content)
    )


def _media(at: str, block: Body) -> Iterator[Fault]:
    source = block.get("source")
    if not isinstance(source, dict):
        yield fault("anthropic-field-required", f"{at}.image.source")
    elif source.get("type") == "url":
        yield fault("anthropic-image-url-unsupported-cloud", at)
    elif source.get("type") not in ("base64", "file"):
        yield fault(
            "anthropic-file-source-without-beta", f"{at}.image.source", tag=source.get("type")
        )
    elif source.get("type") == "base64" and source.get("media_type") not in _IMAGES:
        yield fault("anthropic-image-media-type", at)


def _document(at: str, block: Body) -> Iterator[Fault]:
    source = block.get("source")
    if (
        isinstance(source, dict)
        and source.get("type") == "base64"
        and source.get("media_type") != "application/pdf"
    ):
        yield fault("anthropic-pdf-media-type", at)


def pictures(messages: list[Any]) -> list[tuple[str, Body]]:
    """Return every image block with its position, including those in tool results."""
    found: list[tuple[str, Body]] = []
    for at, message in enumerate(objects(messages)):
        for i, block in enumerate(objects(message.get("content"))):
            path = f"messages.{at}.content.{i}"
            if block.get("type") == "image":
                found.append((path, block))
            for j, part in enumerate(objects(block.get("content"))):
                if part.get("type") == "image":
                    found.append((f"{path}.tool_result.content.{j}", part))
    return found


def _pdf_faults(request: SandboxRequest) -> Iterator[Fault]:
    """Yield faults of PDFs: no PDF, a PDF with a password, and too many pages in the request."""
    pages = 0
    for at, pdf in _pdfs(request.messages):
        if b"%PDF" not in pdf[:_PDF_HEAD]:
            yield fault("anthropic-pdf-unreadable")
        elif b"/Encrypt" in pdf and _needs_password(pdf):
            yield fault("anthropic-pdf-password", at)
        pages += len(_PAGE.findall(pdf))
    for most in _MAX_PAGES:
        if pages > most:
            yield fault(f"anthropic-pdf-pages-{most}")


def _pdfs(messages: list[Any]) -> Iterator[tuple[str, bytes]]:
    """Yield the position and the bytes of every document block with base64; none if malformed."""
    for at, message in enumerate(objects(messages)):
        for i, block in enumerate(objects(message.get("content"))):
            for one in (block, *objects(block.get("content"))):
                source = mapping(one.get("source")) if one.get("type") == "document" else {}
                data = source.get("data") if source.get("type") == "base64" else None
                if isinstance(data, str):
                    try:
                        yield f"messages.{at}.content.{i}", base64.b64decode(data, validate=True)
                    except ValueError:
                        yield f"messages.{at}.content.{i}", b""


def _needs_password(pdf: bytes) -> bool:
    """Return whether pypdf cannot open an encrypted PDF without a password.

    False if pypdf is not installed, or if it cannot read the file or its encryption.
    """
    try:
        reader = import_module("pypdf").PdfReader(io.BytesIO(pdf))
        return bool(reader.is_encrypted and not reader.decrypt(""))
    except Exception:  # noqa: BLE001 - a broken file can make it raise any exception
        return False


def _picture_faults(request: SandboxRequest) -> Iterator[Fault]:
    images = pictures(request.messages)
    documents = sum(
        1
        for message in objects(request.messages)
        for block in objects(message.get("content"))
        if block.get("type") == "document"
    )
    for most in (100, 600):
        if len(images) + documents > most:
            yield fault(
                f"anthropic-image-max-count-{most}", images=len(images), documents=documents
            )
    for path, block in images:
        source = block.get("source")
        if (
            isinstance(source, dict)
            and source.get("type") == "base64"
            and isinstance(source.get("data"), str)
        ):
            yield from _picture(path, block, source, many=len(images) > _MANY)


def _picture(at: str, block: Body, source: Body, *, many: bool) -> Iterator[Fault]:
    data, label = source["data"], source.get("media_type")
    for code, most in (("cloud", _MAX_BASE64_CLOUD), ("direct", _MAX_BASE64)):
        if len(data) > most:
            yield fault(f"anthropic-image-max-bytes-{code}", at, size=len(data))
    picture = inspect_base64(data)
    if not picture.base64_valid:
        yield fault("anthropic-image-invalid-base64", at)
    elif picture.media_type and picture.media_type != label:
        yield fault("anthropic-image-media-type-mismatch", at, label=label, real=picture.media_type)
    elif not picture.decodes:
        yield fault("anthropic-image-undecodable", at)
    yield from _dimensions(at, block, picture, many=many)


def _dimensions(at: str, block: Body, picture: SandboxPicture, *, many: bool) -> Iterator[Fault]:
    longest = max(picture.width, picture.height)
    if longest > _MAX_SIDE:
        yield fault("anthropic-image-max-dim", at)
    if many and longest > _MAX_SIDE_OF_MANY:
        yield fault("anthropic-image-many-dim", at)
    wish = block.get("transformations")
    refuses = isinstance(wish, dict) and wish.get("oversized_image") == "error"
    if refuses and longest > _MAX_UNSCALED_SIDE:
        yield fault(
            "anthropic-image-oversized-error-flag", at, width=picture.width, height=picture.height
        )


def texts(messages: list[Any]) -> Iterator[str]:
    """Yield every text in the messages, including those in tool results."""
    for message in objects(messages):
        content = message.get("content")
        if isinstance(content, str):
            yield content
        for block in objects(content):
            for key in ("text", "thinking", "content"):
                if isinstance(block.get(key), str):
                    yield block[key]
            yield from (
                part["text"]
                for part in objects(block.get("content"))
                if isinstance(part.get("text"), str)
            )
