"""Corrects the usage of an answer once, from the provider's own record if it is available."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.ai import add_usage
from langchain_core.outputs import ChatGenerationChunk

from chatmend.langchain.message_fields import metadata_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from langchain_core.messages.ai import UsageMetadata

    from chatmend.usage import Usage, UsageStream

_DETAIL_NAMES = (
    (
        "prompt_tokens_details",
        "input_token_details",
        {"cached_tokens": "cache_read", "audio_tokens": "audio"},
    ),
    (
        "completion_tokens_details",
        "output_token_details",
        {"reasoning_tokens": "reasoning", "audio_tokens": "audio"},
    ),
)
"""OpenAI's key and LangChain's key of the details, and LangChain's name of each detail."""
_OPENAI_KEYS = frozenset(
    {"prompt_tokens", "completion_tokens", "total_tokens", *(key for key, _, _ in _DETAIL_NAMES)}
)
_UNAMBIGUOUS_DETAILS = frozenset({"cache_read", "audio"})
"""Details of the input that all tables read in the same way."""
_OTHER_RECORDS = frozenset({"usage", "usage_metadata"})
"""Keys of usage records of other formats in ``response_metadata``."""
_DETAILS = (("input_token_details", "input_tokens"), ("output_token_details", "output_tokens"))
"""LangChain's details, and the count that they are part of."""


def with_correct_usage(
    message: AIMessage, llm_output: Mapping[str, Any] | None, provider: str, model: str
) -> AIMessage:
    """Return a complete answer with correct usage, from the provider's record if available.

    ``llm_output``: that of the result with the answer. Most partner packages put the record
    there; LangChain copies it to the message only after the hooks.
    """
    metadata = _metadata_with_usage(message, llm_output)
    if is_consistent(message.usage_metadata, metadata):
        return message
    whole = {**message.__dict__, "response_metadata": metadata}
    usage = _normalize(whole, provider, model)
    if not usage.complete or usage.total_tokens is None:
        return message
    corrected = _merge_counts(message.usage_metadata, usage.to_langchain())
    return message.model_copy(update={"usage_metadata": corrected})


def _metadata_with_usage(
    message: AIMessage, llm_output: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the metadata of a message with the provider's record under LangChain's key."""
    metadata, record = metadata_of(message), (llm_output or {}).get("token_usage")
    return {"token_usage": record, **metadata} if record else metadata


def is_consistent(reported: UsageMetadata | None, metadata: Mapping[str, Any]) -> bool:
    """Return whether the usage contains everything that the record in ``metadata`` contains.

    This fast check knows only OpenAI's format; with any other key in the record it returns
    False.
    """
    if (
        reported is None
        or not _OTHER_RECORDS.isdisjoint(metadata)
        or not _are_details_disjoint(reported)
    ):
        return False
    record = metadata.get("token_usage")
    if record is None:  # the partner package keeps no record: there is only `reported`
        details = (
            reported.get("input_token_details") or {},
            reported.get("output_token_details") or {},
        )
        whole = reported["input_tokens"] + reported["output_tokens"] == reported["total_tokens"]
        return whole and details[0].keys() <= _UNAMBIGUOUS_DETAILS and not any(details[1].values())
    if record.__class__ is not dict or not _OPENAI_KEYS.issuperset(record):
        return False
    prompt, completion = record.get("prompt_tokens"), record.get("completion_tokens")
    if (
        prompt.__class__ is not int
        or completion.__class__ is not int
        or record.get("total_tokens") != prompt + completion
    ):
        return False
    if (reported["input_tokens"], reported["output_tokens"], reported["total_tokens"]) != (
        prompt,
        completion,
        prompt + completion,
    ):
        return False
    first, second = _DETAIL_NAMES
    return _details_agree(record, reported, *first) and _details_agree(record, reported, *second)


def _are_details_disjoint(reported: UsageMetadata) -> bool:
    """Return whether no token can be counted in two details."""
    usage = cast("dict[str, Any]", reported)
    for details, whole in _DETAILS:
        counts = usage.get(details)
        if counts and sum(counts.values()) > usage[whole]:
            return False
    return True


def _details_agree(
    usage_record: Mapping[str, Any],
    usage: Mapping[str, Any],
    record_key: str,
    key: str,
    names: Mapping[str, str],
) -> bool:
    """Return whether the usage contains each detail of the record.

    Records with reasoning tokens are left to the tables, because providers count them
    differently.
    """
    record, reported = usage_record.get(record_key), usage.get(key)
    rest = dict(reported) if isinstance(reported, dict) else {}
    if not record:
        return not any(rest.values())
    if not isinstance(record, dict) or record.get("reasoning_tokens"):
        return False
    for name, count in record.items():
        if name not in names:
            if count:
                return False
        elif count is not None and rest.pop(names[name], None) != count:
            return False
    return not any(rest.values())


def correct_total(
    reported: UsageMetadata, provider: str, model: str, *, usage_stream: UsageStream | None = None
) -> UsageMetadata:
    """Correct the total of a stream, from the provider's own record if it was observed."""
    observed = usage_stream.usage if usage_stream is not None else None
    if (
        observed is not None
        and observed.input_tokens is not None
        and observed.output_tokens is not None
    ):
        return _merge_counts(reported, observed.to_langchain())
    usage = _normalize(cast("dict[str, Any]", reported), provider, model)
    return (
        _merge_counts(reported, usage.to_langchain())
        if usage.total_tokens is not None
        else reported
    )


def _normalize(record: dict[str, Any], provider: str, model: str) -> Usage:
    # The tables are loaded for the first record that is not consistent.
    from chatmend.usage import normalize_usage  # noqa: PLC0415 - see above

    return normalize_usage(record, provider or None, model or None)


def _merge_counts(reported: UsageMetadata | None, corrected: Mapping[str, Any]) -> UsageMetadata:
    """Merge the correct counts into the reported usage, keeping details only the package knows.

    A detail of a service tier replaces the detail without a tier.
    """
    from chatmend.usage.converters import LANGCHAIN_TIERS, limit_details  # noqa: PLC0415 - as above

    prefixes = tuple(f"{tier}_" for tier in LANGCHAIN_TIERS)
    old = cast("dict[str, Any]", reported or {})
    new = {**old, **corrected}
    for key, whole in _DETAILS:
        known, own = corrected.get(key, {}), old.get(key) or {}
        tiered = {name.partition("_")[2] for name in own if name.startswith(prefixes)}
        plain = {name: count for name, count in known.items() if name not in tiered}
        if details := {**own, **plain}:
            new[key] = limit_details(details, new[whole])
    return cast("UsageMetadata", new)


class UsageCorrector:
    """Removes usage from the chunks of a stream and adds the corrected total at its end.

    A chunk with usage is held until the next chunk arrives. Partial counts cannot be right for
    both streaming protocols of LangChain: one adds up details, the other keeps the last ones.
    """

    def __init__(
        self,
        provider: str,
        model: str,
        *,
        cumulative: bool,
        usage_stream: UsageStream | None = None,
    ) -> None:
        """Start a stream.

        ``cumulative``: every usage record is the total so far, so only the last one counts.
        ``usage_stream``: the provider's own record, if the stream is observed.
        """
        self._provider_and_model = (provider, model)
        self._usage_stream = usage_stream
        self._cumulative = cumulative
        self._total: UsageMetadata | None = None
        self._held: ChatGenerationChunk | None = None

    def feed(self, chunk: ChatGenerationChunk) -> Iterator[ChatGenerationChunk]:
        """Accept a chunk and yield the chunks that are ready."""
        message = chunk.message
        reported = message.usage_metadata if isinstance(message, AIMessageChunk) else None
        if self._held is not None:
            held, self._held = self._held, None
            yield held
        if reported is not None:
            self._total = reported if self._cumulative else add_usage(self._total, reported)
            chunk = _with_usage(chunk, None)
        if self._total is not None and _is_last(chunk):
            yield self._with_total(chunk)
        elif reported is not None:
            self._held = chunk
        else:
            yield chunk

    def finish(self) -> Iterator[ChatGenerationChunk]:
        """Yield the last chunk: the held one, or an empty one with the usage."""
        if self._held is not None:
            held, self._held = self._held, None
            yield self._with_total(held)
        elif self._total is not None:
            yield self._with_total(ChatGenerationChunk(message=AIMessageChunk(content="")))

    def _with_total(self, chunk: ChatGenerationChunk) -> ChatGenerationChunk:
        total, self._total = self._total, None
        usage = (
            correct_total(total, *self._provider_and_model, usage_stream=self._usage_stream)
            if total is not None
            else None
        )
        return _with_usage(chunk, usage)


def _is_last(chunk: ChatGenerationChunk) -> bool:
    return getattr(chunk.message, "chunk_position", None) == "last"


def _with_usage(chunk: ChatGenerationChunk, usage: UsageMetadata | None) -> ChatGenerationChunk:
    message = chunk.message.model_copy(update={"usage_metadata": usage})
    return chunk.model_copy(update={"message": message})
