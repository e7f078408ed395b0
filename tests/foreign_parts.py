"""Conversations with parts and keys of every provider and framework, in every wire format.

python -m tests.foreign_parts [TARGET-PART]

Each part is put into an answer, a message of the user and a tool result. Prints what breaks a promise; exit status 1
if anything does. ``python -m tests.fuzz --foreign`` puts them at random places of broken transcripts.
"""

from __future__ import annotations

import json
import sys
from itertools import chain
from random import Random
from typing import TYPE_CHECKING, Any

from tests.broken import broken, copied
from tests.broken.tokens import fresh, png, silence
from tests.pasteable import commands
from tests.promises import broken_promises
from tests.targets import ALL

if TYPE_CHECKING:
    from collections.abc import Iterator

    Part = dict[str, Any]
    Conversation = list[dict[str, Any]]

WORD, MORE = "tok1111111111x", "tok2222222222x"
"""Texts whose loss is noticed."""
_PNG, _WAV, _PDF = png(77), silence(), "JVBERi0xLjQKJcOkw7zDtsOfCjIgMCBvYmoK"
_SIGNATURE = "EqQBCkYIAhgCKkAx" + "A" * 80
_FOUND = {
    "type": "web_search_result", "title": WORD, "url": "https://example.com", "encrypted_content": "RW5j",
    "page_age": None,
}  # fmt: skip
_CITED = {
    "type": "web_search_result_location", "cited_text": MORE, "url": "https://example.com", "title": "t",
    "encrypted_index": "RW5j",
}  # fmt: skip


def _text(text: str) -> Part:
    return {"type": "text", "text": text}


ANSWERS: list[Part] = [
    # OpenAI
    {"type": "refusal", "refusal": WORD},
    {"type": "audio", "audio": {"id": "a1", "data": _WAV, "transcript": WORD}},
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": WORD}], "id": "rs_1", "encrypted_content": "gA"},
    {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": _PNG},
    {"type": "text", "text": WORD, "annotations": [{"type": "url_citation", "url": MORE, "title": "t"}]},
    # Anthropic
    {"type": "thinking", "thinking": WORD, "signature": _SIGNATURE},
    {"type": "redacted_thinking", "data": "RW1wdHk="},
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": WORD}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [_FOUND]},
    {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "echo", "server_name": "s", "input": {"p": WORD}},
    {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": False, "content": [_text(WORD)]},
    {"type": "tool_use", "id": "toolu_z", "name": "n", "input": {"a": WORD}},
    {"type": "text", "text": WORD, "citations": [_CITED]},
    {"type": "text", "text": WORD, "citations": None, "cache_control": None},
    {"type": "compaction", "content": WORD},
    {"type": "fallback", "from": {"model": WORD}, "to": {"model": WORD}},
    {"type": "input_json_delta", "partial_json": f'{{"a": "{WORD}"}}'},
    {"type": "text_delta", "text": WORD},
    # Gemini and Mistral
    {"functionCall": {"name": "n", "args": {"a": WORD}}},
    {"executableCode": {"language": "PYTHON", "code": WORD}},
    {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": WORD}},
    {"text": WORD, "thoughtSignature": _SIGNATURE},
    {"text": WORD, "thought": True},
    {"type": "thinking", "thinking": [_text(WORD)], "closed": True},
    # Bedrock
    {"reasoningContent": {"reasoningText": {"text": WORD, "signature": _SIGNATURE}}},
    {"citationsContent": {"content": [{"text": WORD}], "citations": []}},
    {"guardContent": {"text": {"text": WORD}}},
    # LangChain and the AI SDK
    {"type": "reasoning", "reasoning": WORD},
    {"type": "reasoning", "reasoning": WORD, "extras": {"signature": _SIGNATURE}},
    {"type": "reasoning", "text": WORD, "providerOptions": {}},
    {"type": "reasoning_content", "reasoning_content": {"text": WORD, "signature": _SIGNATURE}},
    {"type": "server_tool_call", "id": "srvtoolu_1", "name": "web_search", "args": {"query": WORD}},
    {"type": "server_tool_result", "tool_call_id": "srvtoolu_1", "status": "success", "output": [{"a": WORD}]},
    {"type": "tool_call", "id": "call_z", "name": "n", "args": {"a": WORD}},
    {"type": "tool-call", "toolCallId": "call_z", "toolName": "n", "input": {"a": WORD}},
    {"type": "executable_code", "executable_code": WORD, "language": "python"},
    {"type": "non_standard", "value": {"type": "x", "text": WORD}},
]  # fmt: skip
"""Parts that answers of providers hold, or what frameworks make of them."""
QUESTIONS: list[Part] = [
    # OpenAI
    {"type": "input_audio", "input_audio": {"data": _WAV, "format": "wav"}},
    {"type": "video_url", "video_url": {"url": f"https://example.com/{WORD}.mp4"}},
    {"type": "file", "file": {"filename": f"{WORD}.pdf", "file_data": f"data:application/pdf;base64,{_PDF}"}},
    {"type": "file", "file": {"file_id": "file-abc"}},
    {"type": "file", "file": {"file_id": f"gs://b/{WORD}.pdf", "format": "application/pdf"}},
    {"type": "input_file", "filename": "a.pdf", "file_data": f"data:application/pdf;base64,{_PDF}"},
    {"type": "input_image", "image_url": f"data:image/png;base64,{_PNG}", "detail": "auto"},
    {"type": "image_url", "image_url": f"data:image/png;base64,{_PNG}"},
    # Anthropic
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": _PNG}},
    {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
    {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": _PDF}, "title": WORD},
    {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": WORD}},
    {"type": "document", "source": {"type": "content", "content": [_text(WORD)]}},
    {"type": "search_result", "source": "https://example.com", "title": WORD, "content": [_text(MORE)]},
    {"type": "container_upload", "file_id": "file_1"},
    {"type": "tool_reference", "tool_name": "n"},
    # Gemini, Mistral and Bedrock
    {"fileData": {"fileUri": f"gs://b/{WORD}.png", "mimeType": "image/png"}},
    {"inlineData": {"mimeType": "video/mp4", "data": "AAAA"}, "videoMetadata": {"fps": 1}},
    {"type": "document_url", "document_url": "https://example.com/a.pdf", "document_name": WORD},
    {"image": {"format": "png", "source": {"bytes": _PNG}}},
    {"document": {"format": "txt", "name": "d", "source": {"bytes": "aGVsbG8="}}},
    {"cachePoint": {"type": "default"}},
    # LangChain and the AI SDK
    {"type": "image", "base64": _PNG, "mime_type": "image/png"},
    {"type": "image", "image": _PNG, "mediaType": "image/png"},
    {"type": "file", "base64": _PDF, "mime_type": "application/pdf", "filename": f"{WORD}.pdf"},
    {"type": "file", "data": _PDF, "mediaType": "application/pdf", "filename": f"{WORD}.pdf"},
    {"type": "media", "mime_type": "image/png", "data": _PNG},
    {"type": "text-plain", "text": WORD, "mime_type": "text/plain"},
    {"type": "guarded_text", "text": WORD},
    {"type": "tool-result", "toolCallId": "call_c", "toolName": "n", "output": {"type": "text", "value": WORD}},
]  # fmt: skip
"""Parts that requests to providers hold."""
KEYS: list[Part] = [
    {"reasoning_details": [{"type": "reasoning.text", "text": WORD, "signature": _SIGNATURE, "index": 0}]},
    {"reasoning_details": [{"type": "reasoning.encrypted", "data": "gAAAA", "format": "openai-responses-v1"}]},
    {"images": [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{_PNG}"}, "index": 0}]},
    {"audio": {"id": "audio_1", "data": _WAV, "expires_at": 1, "transcript": WORD}},
    {"citations": [f"https://example.com/{WORD}"]},
    {"tool_plan": WORD},
    {"executed_tools": [{"index": 0, "type": "search", "arguments": "{}", "output": WORD}]},
    {"annotations": [{"type": "url_citation", "url_citation": {"url": "https://example.com", "title": WORD}}]},
    {"provider_specific_fields": {"citations": [[{"cited_text": WORD}]]}},
    {"thinking_blocks": [{"type": "thinking", "thinking": WORD, "signature": _SIGNATURE}], "reasoning_content": WORD},
    {"extra_content": {"google": {"thought_signature": "Q2FsbA=="}}},
    {"refusal": None, "annotations": [], "audio": None, "function_call": None, "tool_calls": None},
    {"reasoning_text": WORD, "reasoning_opaque": "abc"},
    {"phase": "commentary"},
    {"usage_metadata": {"input_tokens": 1}, "response_metadata": {"model": "x"}, "createdAt": "2026"},
    {"logprobs": None, "finish_reason": "stop", "stop_reason": "end_turn"},
]  # fmt: skip
"""Keys that answers of providers and frameworks have."""


def _chat() -> Iterator[Conversation]:
    function = {"name": "n", "arguments": f'{{"a": "{MORE}"}}'}
    call = {"id": "call_c", "type": "function", "function": function}
    asking = {"role": "assistant", "content": None, "tool_calls": [call]}
    return _messages(asking, {"role": "tool", "tool_call_id": "call_c", "content": "o"})


def _ollama() -> Iterator[Conversation]:
    call = {"function": {"name": "n", "arguments": {"a": MORE}}}
    asking = {"role": "assistant", "content": "", "tool_calls": [call]}
    return _messages(asking, {"role": "tool", "tool_name": "n", "content": "o"})


def _messages(asking: Part, result: Part) -> Iterator[Conversation]:
    """Conversations of a format with tool messages, from a call and its result."""
    for part in ANSWERS:
        yield [{"role": "assistant", "content": [_text("a"), part]}]
        yield [{**asking, "content": [part, _text("a")]}, result]
    for part in QUESTIONS:
        yield [
            {"role": "assistant", "content": "a"},
            {"role": "user", "content": [_text("u"), part]},
        ]
        yield [asking, {**result, "content": [_text("o"), part]}]
    for keys in KEYS:
        yield [{"role": "assistant", "content": "a", **keys}]
        yield [{**asking, **keys}, result]


def _blocks() -> Iterator[Conversation]:
    asking = {"type": "tool_use", "id": "toolu_1", "name": "n", "input": {"a": MORE}}

    def result(*blocks: Part) -> Part:
        block = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [_text("o"), *blocks]}
        return {"role": "user", "content": [block]}

    for part in chain(ANSWERS, _incomplete(ANSWERS)):
        yield [{"role": "assistant", "content": [_text("a"), part]}]
        yield [{"role": "assistant", "content": [part, _text("a"), asking]}, result()]
    for part in chain(QUESTIONS, _incomplete(QUESTIONS)):
        yield [
            {"role": "assistant", "content": "a"},
            {"role": "user", "content": [_text("u"), part]},
        ]
        yield [{"role": "assistant", "content": [asking]}, result(part)]
    for keys in KEYS:
        yield [{"role": "assistant", "content": [asking], **keys}, result()]


def _incomplete(parts: list[Part]) -> Iterator[Part]:
    """Each part without each of its keys, except its type."""
    for part in parts:
        for gone in part if "type" in part else ():
            if gone != "type":
                yield {key: value for key, value in part.items() if key != gone}


def _contents() -> Iterator[Conversation]:
    asking = {"functionCall": {"name": "n", "args": {"a": MORE}}}
    response = {"name": "n", "response": {"output": "o"}}
    for part in ANSWERS:
        yield [{"role": "model", "parts": [{"text": "a"}, part]}]
        yield [
            {"role": "model", "parts": [part, asking]},
            {"role": "user", "parts": [{"functionResponse": response}]},
        ]
    for part in QUESTIONS:
        yield [
            {"role": "model", "parts": [{"text": "a"}]},
            {"role": "user", "parts": [{"text": "u"}, part]},
        ]
        held = {"functionResponse": {**response, "parts": [part]}}
        yield [{"role": "model", "parts": [asking]}, {"role": "user", "parts": [held]}]
    for keys in KEYS:
        yield [{"role": "model", "parts": [{"text": "a"}], **keys}]


def _converse() -> Iterator[Conversation]:
    asking = {"toolUse": {"toolUseId": "c", "name": "n", "input": {"a": MORE}}}

    def result(*blocks: Part) -> Part:
        return {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": "c", "content": [{"text": "o"}, *blocks]}}],
        }

    for part in ANSWERS:
        yield [{"role": "assistant", "content": [{"text": "a"}, part]}]
        yield [{"role": "assistant", "content": [part, asking]}, result()]
    for part in QUESTIONS:
        yield [
            {"role": "assistant", "content": [{"text": "a"}]},
            {"role": "user", "content": [{"text": "u"}, part]},
        ]
        yield [{"role": "assistant", "content": [asking]}, result(part)]
    for keys in KEYS:
        yield [{"role": "assistant", "content": [{"text": "a"}], **keys}]


def _items() -> Iterator[Conversation]:
    call = {
        "type": "function_call",
        "call_id": "c1",
        "name": "n",
        "arguments": f'{{"a": "{MORE}"}}',
    }
    said, asked = {"type": "output_text", "text": "a"}, {"type": "input_text", "text": "u"}

    def output(*parts: Part) -> Part:
        return {"type": "function_call_output", "call_id": "c1", "output": [asked, *parts]}

    for part in ANSWERS:
        yield [{"role": "assistant", "content": [said, part]}]
    for part in QUESTIONS:
        yield [{"role": "assistant", "content": "a"}, {"role": "user", "content": [asked, part]}]
        yield [call, output(part)]
    for keys in KEYS:
        yield [{"role": "assistant", "content": "a", **keys}]
        yield [{**call, **keys}, output()]


CONVERSATIONS: dict[str, list[Conversation]] = {
    "openai_chat": list(_chat()),
    "anthropic_messages": list(_blocks()),
    "openai_responses": list(_items()),
    "gemini_contents": list(_contents()),
    "bedrock_converse": list(_converse()),
    "ollama_chat": list(_ollama()),
}
"""What stands between two questions of the user, by dialect."""
_QUESTION = {
    "gemini_contents": {"role": "user", "parts": [{"text": "q"}]},
    "bedrock_converse": {"role": "user", "content": [{"text": "q"}]},
}
_UNJUDGED = {
    "anthropic_messages minimax/": ("no block of a known type", "Field required"),
    "openai_chat": ("ChatCompletionContentPartTextParam.text: Field required",),
}
"""Refusals that say nothing about a target: no table lists MiniMax's types of blocks, and many servers accept parts in
chats that OpenAI does not have, such as a spoken answer."""


def faults(conversation: Conversation, target: str, dialect: str) -> tuple[list[Any], list[str]]:
    """The messages, and the promises that their repair breaks."""
    question = _QUESTION.get(dialect, {"role": "user", "content": "q"})
    messages = [question, *conversation, question]
    return messages, judged(broken_promises(messages, target, dialect), target, dialect)


def judged(found: list[str], target: str, dialect: str) -> list[str]:
    """The broken promises without refusals that say nothing about a target."""
    place = f"{dialect} {target}"
    exempt = [text for part, texts in _UNJUDGED.items() if part in place for text in texts]
    return [fault for fault in found if not any(text in fault for text in exempt)]


def mixed(seed: int, dialect: str) -> list[Any]:
    """The broken transcript with this seed, with one to three of these parts and keys at random places."""
    rng = Random(f"mixed:{dialect}:{seed}")
    messages: list[Any] = copied(broken(seed, dialect))
    for _ in range(rng.randint(1, 3)):
        answers = [one for one in messages if _role_of(one) in ("assistant", "model")]
        lists = [held for message in messages for held in _part_lists(message)]
        if answers and rng.random() < 0.15:
            rng.choice(answers).update(_with_fresh_texts(rng.choice(KEYS), rng))
        elif lists:
            held = rng.choice(lists)
            part = _with_fresh_texts(rng.choice([*ANSWERS, *QUESTIONS]), rng)
            held.insert(rng.randint(0, len(held)), part)
    return messages


def _role_of(message: object) -> object:
    return message.get("role") if isinstance(message, dict) else None


def _part_lists(message: object) -> Iterator[list[Any]]:
    """The lists of parts in a message: its own, and those of the tool results in it.

    The output of a shell is no such list.
    """
    for key in ("content", "parts", "output"):
        held = message.get(key) if isinstance(message, dict) else None
        if not isinstance(held, list) or message.get("type") == "shell_call_output":
            continue
        yield held
        for part in held:
            if isinstance(part, dict):
                result = part if part.get("type") == "tool_result" else part.get("toolResult")
                yield from _part_lists(result)


def _with_fresh_texts(part: Part, rng: Random) -> Part:
    """A copy with other texts, so that the loss of each is noticed."""
    text = json.dumps(part)
    for word in (WORD, MORE):
        text = text.replace(word, fresh(rng))
    made: Part = json.loads(text)
    return made


def main() -> int:
    """Print what breaks a promise."""
    wanted, count, broken = sys.argv[1] if len(sys.argv) > 1 else "", 0, 0
    for dialect, target in ALL:
        if wanted not in f"{dialect} {target}":
            continue
        for conversation in CONVERSATIONS[dialect]:
            messages, found = faults(conversation, target, dialect)
            count, broken = count + 1, broken + bool(found)
            for fault in found:
                print(
                    f"{dialect} {target}: {fault[:300]}\n{commands(messages, target, dialect)}",
                    flush=True,
                )
    print(f"{count:,} conversations, {broken} break a promise")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
