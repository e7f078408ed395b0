"""The answer of the provider before and after the repair, from the sandbox's copy of its rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.dialects import DIALECTS

if TYPE_CHECKING:
    from chatmend.dialects import Dialect
    from chatmend.sandbox.refusals import RefusalResponse
    from chatmend.sessions.stored import Conversation
    from chatmend.targets import Target

_SCHEMA = {"type": "object", "properties": {}}
_NO_COPY = "chatmend has no local copy of the rules of {} for this wire format."
_OTHER_FORMAT = (
    "a gateway or framework converts messages of this wire format for {}, so its answer depends on "
    "the conversion."
)
_NO_PILLOW = (
    "requests with images are judged only by the command “chatmend inspect”, not by this page."
)


def verdicts(
    before: Conversation, after: Conversation, target: Target, form: str
) -> dict[str, Any]:
    """Return the provider's answer before and after the repair, or why it is unknown.

    A list of messages is judged as part of the smallest request body that is valid.
    """
    if target.is_floor:
        return {}
    # The static page loads these modules only when they are needed.
    from chatmend.sandbox.verdicts import endpoint_of, has_endpoint, refusal_of  # noqa: PLC0415

    if form == "openai_chat" and _are_plain(before):
        forms = ("openai_chat", "anthropic_messages")
        form = next((one for one in forms if endpoint_of(target.provider, one)), form)
    endpoint = endpoint_of(target.provider, form)
    if endpoint is None:
        reason = _OTHER_FORMAT if has_endpoint(target.provider) else _NO_COPY
        return {"unjudged": reason.format(target.provider)}
    model = target.model or endpoint.provider
    bodies = _requests(before, after, model, DIALECTS[form])
    try:
        answers = [_as_data(refusal_of(endpoint, body, model)) for body in bodies]
    except ImportError:
        return {"unjudged": _NO_PILLOW}
    judged = "request" if isinstance(before, dict) else "messages"
    return {"refused": answers[0], "refused_after": answers[1], "judged": judged}


def _are_plain(messages: Conversation) -> bool:
    """Whether a list of messages is the same in the formats of OpenAI and Anthropic."""
    return isinstance(messages, list) and all(
        isinstance(message, dict)
        and message.keys() == {"role", "content"}
        and message["role"] in ("user", "assistant")
        and isinstance(message["content"], str)
        for message in messages
    )


def _as_data(refusal: RefusalResponse | None) -> dict[str, Any] | None:
    return None if refusal is None else {"status": refusal.status, "text": refusal.text}


def _requests(
    before: Conversation, after: Conversation, model: str, dialect: Dialect
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the request bodies; a list of messages gets the parameters that are required."""
    if isinstance(before, dict):
        return before, after if isinstance(after, dict) else before
    # A repaired list is an object if the system prompt must be outside of the messages.
    messages = after["messages"] if isinstance(after, dict) else after
    system = after.get("system") if isinstance(after, dict) else None
    traits = dialect.TRAITS
    body: dict[str, Any] = {"model": model, traits.messages_key: before}
    if traits.tool_form == "input_schema":
        body["max_tokens"] = 1024
    names = dict.fromkeys(
        call.name
        for native in before
        for call in dialect.read(native).calls
        if isinstance(call.name, str) and call.name
    )
    if names:
        body |= _declaration(list(names), dialect)
    repaired = body | {traits.messages_key: messages}
    return body, repaired if system is None else repaired | {traits.system_keys[0]: system}


def _declaration(names: list[str], dialect: Dialect) -> dict[str, Any]:
    """Return the declaration of tools in a request body."""
    if dialect.TRAITS.tool_form == "input_schema":
        return {"tools": [{"name": name, "input_schema": _SCHEMA} for name in names]}
    if dialect.TRAITS.tool_form == "toolSpec":
        tools = [{"toolSpec": {"name": name, "inputSchema": {"json": _SCHEMA}}} for name in names]
        return {"toolConfig": {"tools": tools}}
    functions = [{"name": name, "parameters": _SCHEMA} for name in names]
    if dialect.NAME == "gemini_contents":
        return {"tools": [{"functionDeclarations": functions}]}
    if dialect.NAME == "openai_responses":
        return {"tools": [{"type": "function", **function} for function in functions]}
    return {"tools": [{"type": "function", "function": function} for function in functions]}
