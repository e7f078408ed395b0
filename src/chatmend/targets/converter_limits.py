"""What the converter of a client library can send, such as a partner package of LangChain.

A converter builds the request body from the messages of its library. Adapters read its limits from
a table and add them to those of the target, as the limit ``converter``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_NO_TYPES: frozenset[str] = frozenset()
_RESULTS = frozenset({"tool_result"})
_STANDARD_CALLS = frozenset({"tool_call", "tool_call_chunk", "invalid_tool_call"})


@dataclass(frozen=True, slots=True)
class ConverterLimits:
    """What a converter can send; the defaults limit nothing."""

    results_inside: bool = True
    """Whether it sends tool results that are blocks, in a message of the user or of a tool."""
    calls_inside: frozenset[str] | None = None
    """Block types that it sends as calls even if ``tool_calls`` does not list them; None: all."""
    foreign_calls: frozenset[str] | None = None
    """Other providers (``model_provider``) whose calls in the content it sends; None: any.

    It sends these only if the message has no other calls. Answers in LangChain's own format
    (``v1``) do not count as those of other providers.
    """
    call_keys: frozenset[str] | None = None
    """The only keys that it sends of a call which is only a block; None: any."""
    calls_in_place: bool = False
    """Whether it sends calls that are blocks where they are among the other blocks."""
    standard_calls: frozenset[str] = _STANDARD_CALLS
    """Types of call blocks that it translates in messages of LangChain's own format (``v1``)."""
    invalid_calls: bool = True
    """Whether it sends the calls in ``invalid_tool_calls``."""
    raw_calls: bool = False
    """Whether it sends only the calls in ``additional_kwargs``, in OpenAI's format."""
    spare_raw_calls: bool = True
    """Whether it sends the calls in ``additional_kwargs`` of a message that has no other calls."""
    legacy_calls: bool = False
    """Whether it sends ``function_call`` of ``additional_kwargs`` in addition to the calls."""
    refused_mirrors: frozenset[str] = _NO_TYPES
    """Types of call blocks that it sends in addition to ``tool_calls``, which providers refuse."""
    sources: frozenset[str] | None = None
    """Block types with a ``source`` that it sends (Anthropic's images, documents); None: all."""
    images: str = "any"
    """The form of LangChain's own image blocks: ``any``, or ``url`` (as ``image_url``)."""
    result_images: str = "any"
    """Their form in tool results, which some converters send unchanged.

    ``any``; ``url`` (as ``image_url``); ``source`` (Anthropic's).
    """
    files: str = "any"
    """The form of LangChain's own blocks with a file.

    ``any``; ``source`` (Anthropic's); ``link`` (``document_url``, Mistral's).
    """
    bare_urls: bool = True
    """Whether ``image_url`` may be a string instead of an object."""
    forms: frozenset[str] | None = None
    """The forms in which it sends LangChain's own blocks of images and files, such as ``file url``.

    Each is the type of the block and ``base64``, ``url``, ``id`` (of an uploaded file) or ``text``.
    None: all.
    """
    drops: frozenset[str] = _NO_TYPES
    """Block types of other providers that are dropped, because they would be refused."""
    foreign_drops: frozenset[str] = _NO_TYPES
    """Block types that it drops from answers whose ``model_provider`` is another provider."""
    unknown_drops: frozenset[str] = _NO_TYPES
    """Block types that it drops from answers without a ``model_provider``."""
    foreign_reasoning: bool = True
    """Whether it sends reasoning of other providers, which lacks the id of this provider."""
    trailing_reasoning: bool = True
    """Whether an assistant message without calls may end with reasoning that has an id."""
    listed_thinking: bool = True
    """Whether the text of thinking may be a list of blocks, as in Mistral's format."""
    blank_texts: bool = True
    """Whether it sends blank texts. If not, the blocks before and after one become adjacent."""
    trailing_thinking: bool = True
    """Whether an assistant message may end with thinking after its calls."""
    object_kwargs: frozenset[str] = _NO_TYPES
    """Keys of ``additional_kwargs`` whose values must be objects; otherwise it raises."""
    foreign_kwargs: frozenset[str] = _NO_TYPES
    """Keys of ``additional_kwargs`` in answers of other providers that become refused blocks."""
    names_files: bool = True
    """Whether it names a file without a name, if the provider needs one."""
    data_links: bool = True
    """Whether ``url`` of LangChain's own blocks may be a data URL; otherwise it downloads it."""
    item_ids: bool = False
    """Whether it sends the ids that the provider gave to blocks; each may be sent only once."""
    block_keys: frozenset[str] = _NO_TYPES
    """The only keys of blocks of some types, such as ``tool_result content``.

    Each is the type of the block and a key.
    """
    required_keys: frozenset[str] = _NO_TYPES
    """The keys without which it raises on blocks of some types, such as ``tool_use input``."""
    results_without_content: bool = True
    """Whether a ``tool_result`` block may lack ``content``; otherwise it raises."""
    extra_markers: bool = False
    """Whether it also sends cache markers in ``extras``, where LangChain moves unknown keys."""
    reasoning: bool = False
    """Whether ``reasoning_content`` in ``additional_kwargs`` of an assistant message is sent."""
    stored_thinking: str = ""
    """The key of ``additional_kwargs`` with a list of thinking that it sends."""
    checks_thinking: bool = False
    """Whether it sends this list only to the endpoint that signed it, behind the same history."""
    writers: frozenset[str] = _NO_TYPES
    """``model_provider`` of messages that the provider wrote; it accepts all of their blocks."""
    own_refuses: frozenset[str] = _NO_TYPES
    """Block types that it refuses in answers of the provider, such as LangChain's own."""
    foreign_refuses: frozenset[str] = _NO_TYPES
    """Block types that it refuses in answers whose ``model_provider`` is another provider."""
    foreign_ids: str = ""
    """The beginning of ids of hosted tools that another provider ran."""
    unwraps: frozenset[str] = _NO_TYPES
    """Origins (``user``, ``result``) whose ``non_standard`` blocks it replaces by their value."""
    native_keys: frozenset[str] | None = None
    """The keys of blocks without a type, which are in the provider's own format; None: any.

    Each block has one of them. The value of a ``non_standard`` block may have several.
    """
    typed_outputs: frozenset[str] = _NO_TYPES
    """Types of call blocks whose results must have the same type (``custom_tool_call_output``)."""
    typed: frozenset[str] = _NO_TYPES
    """Origins (``user``, ``answer``, ``result``) whose blocks all need a ``type``."""
    user_takes: frozenset[str] | None = None
    """The only block types that it sends from a user; None: all types that are not refused."""
    system_takes: frozenset[str] = _NO_TYPES
    """The block types that it sends from the system, in addition to those from a user."""
    system_refuses: frozenset[str] = _NO_TYPES
    """Block types that it sends from a user, but not from the system; images have ``image_roles``.

    The same for the keys of blocks without a type.
    """
    user_refuses: frozenset[str] = _NO_TYPES
    """Block types from a user that the converter or the provider refuses."""
    answer_takes: frozenset[str] | None = None
    """Like ``user_takes``, for the model's messages."""
    answer_refuses: frozenset[str] = _NO_TYPES
    """Like ``user_refuses``, for the model's messages."""
    own_unknown: bool = True
    """Whether it sends blocks of types that it does not know in answers of the provider.

    Otherwise it drops them or raises.
    """
    standard_takes: frozenset[str] | None = None
    """The only block types that it sends of answers in LangChain's own format (``v1``); None: all.

    Of a ``non_standard`` block in such an answer it sends the value.
    """
    foreign_values: bool = True
    """Whether it sends these values, and links to files, in such answers of other providers."""
    result_takes: frozenset[str] | None = None
    """Like ``user_takes``, for tool results."""
    result_refuses: frozenset[str] = _NO_TYPES
    """Like ``user_refuses``, for tool results."""

    def accepted_types(self, origin: str) -> frozenset[str] | None:
        """Return the only block types that are accepted from an origin; None: any."""
        if origin == "user":
            return self.user_takes
        if origin == "system":
            return None if self.user_takes is None else self.user_takes | self.system_takes
        if origin in ("answer", "foreign"):
            return self.answer_takes
        if origin == "result":
            return self.result_takes
        if self.own_unknown or self.answer_takes is None:
            return None
        return self.answer_takes | (self.standard_takes or _NO_TYPES)

    def dropped_types(self, origin: str) -> frozenset[str]:
        """Return the block types that are dropped from an origin."""
        if origin == "foreign":
            return self.drops | self.foreign_drops
        return self.drops | self.unknown_drops if origin == "answer" else self.drops

    def has_required_keys(self, kind: object, keys: Iterable[str]) -> bool:
        """Return whether a block of this type has the keys it needs, in any spelling."""
        beginning = f"{kind} "
        needed = {
            one.removeprefix(beginning) for one in self.required_keys if one.startswith(beginning)
        }
        return not needed or set(map(_in_one_spelling, needed)).issubset(
            map(_in_one_spelling, keys)
        )

    def refused_types(self, origin: str) -> frozenset[str]:
        """Return the block types that are refused from an origin."""
        if origin == "system":
            return self.user_refuses | self.system_refuses
        if origin == "user":
            return self.user_refuses
        if origin in ("answer", "foreign"):
            more = self.foreign_refuses if origin == "foreign" else _NO_TYPES
            return self.answer_refuses | more
        if origin == "own":
            return self.own_refuses
        return self.result_refuses if self.results_inside else self.result_refuses | _RESULTS


def _in_one_spelling(key: str) -> str:
    """Return a key in the spelling that ``tool_use_id`` and ``toolUseId`` share."""
    return key.replace("_", "").lower()
