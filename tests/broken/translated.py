"""Transcripts of four more dialects, converted from those of the first two together with their defects.

Such transcripts occur when a framework converts what it has stored. A value without a
counterpart (an entry that is not an object, an unknown role) stays unchanged.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Any, Final, Literal

from .ollama import ollama_messages
from .wires import Dialect, Native

Derived = Literal["openai_responses", "gemini_contents", "bedrock_converse", "ollama_chat"]
_SPEAKERS = ("user", "assistant", "system", "developer")


@dataclass(frozen=True, slots=True)
class Derivation:
    """From which dialect, and how."""

    source: Dialect
    translate: Callable[[list[Any], Random], list[Any]]


def responses_items(messages: list[Any], rng: Random) -> list[Any]:
    """Chat messages as Responses items."""
    writer = _Responses(rng)
    return [item for message in messages for item in writer.items(message)]


class _Responses:
    """Writes items, numbering those with an id."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._numbers = count()
        self._ids = rng.random() < 0.5

    def items(self, message: Any) -> list[Any]:
        if not isinstance(message, dict) or message.get("role") not in [*_SPEAKERS, "tool"]:
            return [message]
        if message["role"] == "tool":
            return [self._output(message)]
        calls, thoughts = message.get("tool_calls"), message.get("thinking_blocks")
        clean = (
            isinstance(calls, list)
            and bool(calls)
            and all(isinstance(call, dict) for call in calls)
        )
        made = [self._call(call) for call in calls] if clean and isinstance(calls, list) else []
        thought = (
            [self._reasoning(block) for block in thoughts] if isinstance(thoughts, list) else []
        )
        gone = {"role", "content"} | ({"tool_calls"} if clean else set())
        gone |= {"thinking_blocks", "reasoning_content"} if isinstance(thoughts, list) else set()
        rest = {key: value for key, value in message.items() if key not in gone}
        if message["role"] != "assistant" and made:
            return [message]
        said = (
            [self._message(message, rest)] if not made or message.get("content") is not None else []
        )
        return [*thought, *said, *made]

    def _message(self, message: Native, rest: Native) -> Native:
        item: Native = {"role": message["role"]}
        if "content" in message:
            item["content"] = _parts(message["content"], message["role"], self._rng)
        if message["role"] == "assistant" and self._ids and isinstance(item.get("content"), list):
            item = {
                "type": "message",
                "id": f"msg_{next(self._numbers):04d}",
                "status": "completed",
                **item,
            }
        return {**item, **rest}

    def _call(self, call: Native) -> Native:
        function = call.get("function")
        held = function if isinstance(function, dict) else {}
        odd = call.get("type") not in (
            "function",
            "web_search_call",
        )  # the items of hosted tools stay unchanged
        item: Native = {"type": call.get("type") if odd else "function_call"}
        item |= {"call_id": call["id"]} if "id" in call else {}
        item |= {key: held[key] for key in ("name", "arguments") if key in held}
        if call.get("type") == "custom":
            item = {
                "type": "custom_tool_call",
                **{k: v for k, v in item.items() if k not in ("type", "arguments")},
            }
            item |= {"input": held.get("arguments")}
        elif self._ids and item["type"] == "function_call":
            item |= {"id": f"fc_{next(self._numbers):04d}", "status": "completed"}
        return item | {k: v for k, v in call.items() if k not in ("id", "type", "function")}

    def _output(self, message: Native) -> Native:
        item: Native = {"type": "function_call_output"}
        item |= {"call_id": message["tool_call_id"]} if "tool_call_id" in message else {}
        item |= (
            {"output": _parts(message["content"], "tool", self._rng)}
            if "content" in message
            else {}
        )
        return item | {
            k: v for k, v in message.items() if k not in ("role", "content", "tool_call_id")
        }

    def _reasoning(self, block: Any) -> Any:
        if not isinstance(block, dict):
            return block
        text = block.get("thinking")
        item: Native = {
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": text}] if text else [],
        }
        if isinstance(proof := block.get("signature", block.get("data")), str):
            item["encrypted_content"] = proof
        return {**item, "id": f"rs_{next(self._numbers):04d}"} if self._ids else item


def _parts(content: Any, role: Any, rng: Random) -> Any:
    if not isinstance(content, list):
        return content
    return [_responses_part(part, role) if rng.random() < 0.95 else part for part in content]


def _responses_part(part: Any, role: Any) -> Any:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "text":
        return {**part, "type": "output_text" if role == "assistant" else "input_text"}
    if kind == "image_url":
        held = part.get("image_url")
        return {
            "type": "input_image",
            "image_url": held.get("url") if isinstance(held, dict) else held,
        }
    if kind == "file" and isinstance(part.get("file"), dict):
        return {"type": "input_file", **part["file"]}
    return part


def gemini_contents(messages: list[Any], rng: Random) -> list[Any]:
    """Messages of Anthropic's blocks as Gemini contents."""
    writer = _Gemini(rng)
    return [writer.content(message) for message in messages]


class _Gemini:
    """Writes contents; in half of the transcripts, calls and responses have ids."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._ids = rng.random() < 0.5
        self._signs = rng.random() < 0.7
        self._names: list[tuple[Any, Any]] = []

    def content(self, message: Any) -> Any:
        if not isinstance(message, dict):
            return message
        out = {key: value for key, value in message.items() if key != "content"}
        if out.get("role") == "assistant":
            out["role"] = "model"
        if "content" in message:
            out["parts"] = self._parts(message["content"])
        return out

    def _parts(self, content: Any) -> Any:
        if isinstance(content, str):
            return [{"text": content}]
        return [self._part(part) for part in content] if isinstance(content, list) else content

    def _part(self, part: Any) -> Any:
        kind = part.get("type") if isinstance(part, dict) else None
        writers = {
            "tool_use": self._call,
            "tool_result": self._response,
            "image": _image,
            "thinking": self._thought,
            "redacted_thinking": lambda block: {
                "thought": True,
                "thoughtSignature": block.get("data"),
            },
            "document": _document,
            "text": lambda block: {key: value for key, value in block.items() if key != "type"},
        }
        return writers[kind](part) if isinstance(kind, str) and kind in writers else part

    def _thought(self, part: Native) -> Native:
        if self._rng.random() < 0.1:
            return part
        made = {"thought": True, "text": part.get("thinking")}
        return made | ({"thoughtSignature": part["signature"]} if "signature" in part else {})

    def _call(self, part: Native) -> Native:
        self._names.append((part.get("id"), part.get("name")))
        call = {"id": part["id"]} if self._ids and "id" in part else {}
        call |= {"name": part["name"]} if "name" in part else {}
        call |= {"args": part["input"]} if "input" in part else {}
        rest = {k: v for k, v in part.items() if k not in ("type", "id", "name", "input")}
        signed = {"thoughtSignature": "c2lnbmVkIGJ5IGdlbWluaQ=="} if self._signs else {}
        return {"functionCall": call, **signed, **rest}

    def _response(self, part: Native) -> Native:
        call_id = part.get("tool_use_id")
        names = [name for known, name in self._names if known == call_id]
        held: Native = {"id": call_id} if self._ids and "tool_use_id" in part else {}
        held |= {"name": names[-1]} if names else {}
        content = part.get("content")
        if isinstance(content, str):
            held["response"] = (
                {"output": content} if self._rng.random() < 0.5 else {"result": content, "ok": True}
            )
        elif isinstance(content, list):
            held["response"] = {"output": [p for p in content if not _is_image(p)]}
            held |= (
                {"parts": [_image(p) for p in content if _is_image(p)]}
                if any(map(_is_image, content))
                else {}
            )
        elif "content" in part:
            held["response"] = content
        rest = {k: v for k, v in part.items() if k not in ("type", "tool_use_id", "content")}
        return {"functionResponse": held, **rest}


def _is_image(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "image"


def _document(part: Native) -> Native:
    source = part.get("source")
    if not isinstance(source, dict):
        return part
    return {"fileData": {"fileUri": f"gs://files/{source.get('data')}", "mimeType": "text/plain"}}


def _image(part: Native) -> Native:
    source = part.get("source")
    if not isinstance(source, dict):
        return part
    if "url" in source:
        return {"fileData": {"fileUri": source["url"]}}
    return {"inlineData": {"mimeType": source.get("media_type"), "data": source.get("data")}}


def converse_blocks(messages: list[Any], rng: Random) -> list[Any]:
    """Messages of Anthropic's blocks as messages of Bedrock's Converse API."""
    writer = _Converse(rng)
    return [writer.message(message) for message in messages]


class _Converse:
    """Writes messages; a few random blocks remain unchanged."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._names = count()

    def message(self, message: Any) -> Any:
        if not isinstance(message, dict) or "content" not in message:
            return message
        return {**message, "content": self._content(message["content"])}

    def _content(self, content: Any) -> Any:
        if isinstance(content, str):
            return [{"text": content}]
        return [self._block(part) for part in content] if isinstance(content, list) else content

    def _block(self, part: Any) -> Any:
        kind = part.get("type") if isinstance(part, dict) else None
        writers = {
            "text": self._text,
            "tool_use": self._call,
            "tool_result": self._result,
            "image": _converse_image,
            "document": self._document,
            "thinking": _converse_reasoning,
            "redacted_thinking": lambda block: {
                "reasoningContent": {"redactedContent": block.get("data")}
            },
        }
        if not isinstance(kind, str) or kind not in writers or self._rng.random() < 0.02:
            return part
        return writers[kind](part)

    def _text(self, part: Native) -> Native:
        kept = {"cache_control", "type"}
        return {key: value for key, value in part.items() if key not in kept}

    def _call(self, part: Native) -> Native:
        names = {"id": "toolUseId", "name": "name", "input": "input"}
        return {"toolUse": {names[key]: part[key] for key in names if key in part}}

    def _result(self, part: Native) -> Native:
        result: Native = {}
        if "tool_use_id" in part:
            result["toolUseId"] = part["tool_use_id"]
        if "content" in part:
            result["content"] = self._content(part["content"])
        if part.get("is_error"):
            result["status"] = "error"
        return {"toolResult": result}

    def _document(self, part: Native) -> Native:
        source = part.get("source")
        if not isinstance(source, dict):
            return part
        held = {"text": str(source.get("data"))}
        return {"document": {"format": "txt", "name": f"file {next(self._names)}", "source": held}}


def _converse_image(part: Native) -> Native:
    source = part.get("source")
    if not isinstance(source, dict) or "data" not in source:
        return part
    form = str(source.get("media_type")).removeprefix("image/")
    return {"image": {"format": form, "source": {"bytes": source["data"]}}}


def _converse_reasoning(part: Native) -> Native:
    names = {"thinking": "text", "signature": "signature"}
    text = {names[key]: part[key] for key in names if key in part}
    return {"reasoningContent": {"reasoningText": text}}


DERIVED: Final[dict[str, Derivation]] = {
    "openai_responses": Derivation("openai_chat", responses_items),
    "gemini_contents": Derivation("anthropic_messages", gemini_contents),
    "bedrock_converse": Derivation("anthropic_messages", converse_blocks),
    "ollama_chat": Derivation("openai_chat", ollama_messages),
}
"""The dialects that are made from another."""
