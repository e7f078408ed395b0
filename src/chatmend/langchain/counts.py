"""The usage of an answer, corrected: from what the provider said where that is at hand, once a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.ai import add_usage
from langchain_core.outputs import ChatGenerationChunk

from chatmend.usage import normalize_usage
from chatmend.usage.converters import LANGCHAIN_TIERS, apart

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from langchain_core.messages.ai import UsageMetadata

    from chatmend.usage import UsageStream

_ACCOUNTS = (
    ("prompt_tokens_details", "input_token_details", {"cached_tokens": "cache_read", "audio_tokens": "audio"}),
    ("completion_tokens_details", "output_token_details", {"reasoning_tokens": "reasoning", "audio_tokens": "audio"}),
)
"""Where OpenAI's account holds details, where LangChain's usage does, and what each is called there."""
_PLAIN = frozenset({"prompt_tokens", "completion_tokens", "total_tokens", *(key for key, _, _ in _ACCOUNTS)})
_COUNTED = frozenset({"cache_read", "audio"})
"""Details of the input that no table reads another way."""
_OTHERS = frozenset({"usage", "usage_metadata"})
"""Keys of other accounts in the ``response_metadata``."""
_DETAILS = (("input_token_details", "input_tokens"), ("output_token_details", "output_tokens"))
"""LangChain's details, and the count that they divide."""
_PREFIXES = tuple(f"{tier}_" for tier in LANGCHAIN_TIERS)


def correct(message: AIMessage, llm_output: Mapping[str, Any] | None, provider: str, model: str) -> None:
    """Correct the usage of a whole answer in place, from the provider's own account where one is at hand.

    ``llm_output``: of the result that the answer is in. Most partner packages put the account there; LangChain copies
    it to the message only after the hooks.
    """
    beside = _beside(message, llm_output)
    if agrees(message.usage_metadata, beside):
        return
    whole = {**message.__dict__, "response_metadata": beside}
    usage = normalize_usage(whole, provider or None, model or None)
    if usage.complete and usage.total_tokens is not None:
        message.usage_metadata = _laid_over(message.usage_metadata, usage.to_langchain())


def _beside(message: AIMessage, llm_output: Mapping[str, Any] | None) -> dict[str, Any]:
    """The metadata of a message with the provider's account, as LangChain will put it there."""
    account = (llm_output or {}).get("token_usage")
    return message.response_metadata if not account else {"token_usage": account, **message.response_metadata}


def agrees(told: UsageMetadata | None, beside: Mapping[str, Any]) -> bool:
    """Whether the usage says no less than an account in OpenAI's plain shape beside it: nothing is to be corrected.

    Only an account without another shape's keys can be told so cheaply.
    """
    if told is None or not _OTHERS.isdisjoint(beside) or not _are_apart(told):
        return False
    account = beside.get("token_usage")
    if account is None:  # a partner package that keeps no account: what is told is all that is known
        details = (told.get("input_token_details") or {}, told.get("output_token_details") or {})
        whole = told["input_tokens"] + told["output_tokens"] == told["total_tokens"]
        return whole and details[0].keys() <= _COUNTED and not any(details[1].values())
    if account.__class__ is not dict or not _PLAIN.issuperset(account):
        return False
    sent, said = account.get("prompt_tokens"), account.get("completion_tokens")
    if sent.__class__ is not int or said.__class__ is not int or account.get("total_tokens") != sent + said:
        return False
    if (told["input_tokens"], told["output_tokens"], told["total_tokens"]) != (sent, said, sent + said):
        return False
    return all(_details_agree(account.get(key), told.get(beside), names) for key, beside, names in _ACCOUNTS)


def _are_apart(told: UsageMetadata) -> bool:
    """Whether no token can be in two details."""
    usage = cast("dict[str, Any]", told)
    return all(sum((usage.get(details) or {}).values()) <= usage[whole] for details, whole in _DETAILS)


def _details_agree(account: object, told: object, names: Mapping[str, str]) -> bool:
    """Whether each detail of the account is told. Reasoning is left to the tables: providers count it differently."""
    details = told if isinstance(told, dict) else {}
    if not account:
        return not any(details.values())
    if not isinstance(account, dict) or account.get("reasoning_tokens"):
        return False
    if any(count and key not in names for key, count in account.items()):
        return False
    known = {names[key]: count for key, count in account.items() if count is not None and key in names}
    return known == {key: count for key, count in details.items() if key in known or count}


def corrected(told: UsageMetadata, provider: str, model: str, *, account: UsageStream | None = None) -> UsageMetadata:
    """The total of a stream, corrected by the provider's own account, or by itself where that was not overheard."""
    heard = account.usage if account is not None else None
    if heard is not None and heard.input_tokens is not None and heard.output_tokens is not None:
        return _laid_over(told, heard.to_langchain())
    usage = normalize_usage(cast("dict[str, Any]", told), provider or None, model or None)
    return _laid_over(told, usage.to_langchain()) if usage.total_tokens is not None else told


def _laid_over(told: UsageMetadata | None, true: Mapping[str, Any]) -> UsageMetadata:
    """The true counts; details that only the partner package knows stay: a service tier goes before the plain count."""
    old = cast("dict[str, Any]", told or {})
    new = {**old, **true}
    for key, whole in _DETAILS:
        known, own = true.get(key, {}), old.get(key) or {}
        tiered = {name.partition("_")[2] for name in own if name.startswith(_PREFIXES)}
        plain = {name: count for name, count in known.items() if name not in tiered}
        if details := {**own, **plain}:
            new[key] = apart(details, new[whole])
    return cast("UsageMetadata", new)


class Hold:
    """A stream on its way through: usage is taken from its chunks and given back once, at the end.

    A chunk with usage is held until its successor is there. Deltas cannot be right for both of LangChain's streaming
    protocols: one adds details up, the other keeps the last.
    """

    def __init__(self, provider: str, model: str, *, cumulative: bool, account: UsageStream | None = None) -> None:
        """``cumulative``: each account of this wire is the whole so far, so the last one counts.

        ``account``: what the provider itself says, where the stream is overheard.
        """
        self._who = (provider, model)
        self._account = account
        self._cumulative = cumulative
        self._total: UsageMetadata | None = None
        self._held: ChatGenerationChunk | None = None

    def feed(self, chunk: ChatGenerationChunk) -> Iterator[ChatGenerationChunk]:
        """Take a chunk, and give what may go on."""
        message = chunk.message
        told = message.usage_metadata if isinstance(message, AIMessageChunk) else None
        if self._held is not None:
            held, self._held = self._held, None
            yield held
        if told is not None:
            self._total = told if self._cumulative else add_usage(self._total, told)
            chunk = _with_usage(chunk, None)
        if self._total is not None and _is_last(chunk):
            yield self._paid(chunk)
        elif told is not None:
            self._held = chunk
        else:
            yield chunk

    def tail(self) -> Iterator[ChatGenerationChunk]:
        """What is left once the stream has ended: the chunk that was held, or one that carries nothing but usage."""
        if self._held is not None:
            held, self._held = self._held, None
            yield self._paid(held)
        elif self._total is not None:
            yield self._paid(ChatGenerationChunk(message=AIMessageChunk(content="")))

    def _paid(self, chunk: ChatGenerationChunk) -> ChatGenerationChunk:
        total, self._total = self._total, None
        usage = corrected(total, *self._who, account=self._account) if total is not None else None
        return _with_usage(chunk, usage)


def _is_last(chunk: ChatGenerationChunk) -> bool:
    return getattr(chunk.message, "chunk_position", None) == "last"


def _with_usage(chunk: ChatGenerationChunk, usage: UsageMetadata | None) -> ChatGenerationChunk:
    message = chunk.message.model_copy(update={"usage_metadata": usage})
    return chunk.model_copy(update={"message": message})
