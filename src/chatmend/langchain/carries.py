"""What a partner's converter can carry: one row of ``partners.toml``, read."""

from __future__ import annotations

from dataclasses import dataclass

_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Carries:
    """What a partner's converter can carry."""

    results_inside: bool = True
    """Tool results as blocks of a user message."""
    calls_inside: frozenset[str] | None = None
    """Types of content blocks that are sent as calls though ``tool_calls`` has none; None: any."""
    refused_mirrors: frozenset[str] = _NONE
    """Types of call blocks that are sent beside the call in ``tool_calls`` that they mirror, and refused."""
    sources: frozenset[str] | None = None
    """Types of blocks with a ``source``, as Anthropic writes images and documents; None: any."""
    bare_urls: bool = True
    """``image_url`` that is a string instead of an object."""
    image_files: bool = True
    """Images that are nothing but the id of an uploaded file."""
    plain_text: str = "any"
    """What ``text-plain`` blocks may hold: ``any``; ``text`` (no bytes, no link); ``bytes`` (the opposite)."""
    cache_markers: bool = True
    """``cache_control`` on content blocks."""
    drops: frozenset[str] = _NONE
    """Types of blocks that other providers wrote and that would be refused."""
    foreign_reasoning: bool = True
    """Blocks of reasoning that another provider wrote: without the id that this one gives its own."""
    trailing_reasoning: bool = True
    """Reasoning with an id of its own as the last block of an answer without calls: nothing that it led to."""
    listed_thinking: bool = True
    """Thinking whose words are a list of blocks, as Mistral writes it."""
    blank_texts: bool = True
    """Texts of nothing but spaces are sent; what stood on both sides of one stands side by side otherwise."""
    trailing_thinking: bool = True
    """Thinking as the last block of an answer, behind its calls."""
    object_kwargs: frozenset[str] = _NONE
    """Keys of an answer's ``additional_kwargs`` at which the converter raises unless they hold an object."""
    data_links: bool = True
    """Data URLs under the key ``url`` of LangChain's own blocks, which the converter would otherwise go and fetch."""
    item_ids: bool = False
    """Blocks of the model's are sent under the ids that the provider gave them; none may be sent twice."""
    result_keys: frozenset[str] | None = None
    """The only keys that are taken on a ``tool_result`` block; None: any."""
    extra_markers: bool = False
    """Cache markers count that stand under ``extras``, where LangChain puts them when it rewrites a block."""
    reasoning: bool = False
    """The ``reasoning_content`` that an answer keeps in its ``additional_kwargs`` is sent."""
    writers: frozenset[str] = _NONE
    """What ``model_provider`` says of answers that the provider wrote itself; it takes back all of their blocks."""
    typed: frozenset[str] = _NONE
    """Places (``user``, ``answer``, ``result``) where every block needs a type."""
    user_takes: frozenset[str] | None = None
    """The only types of blocks that are taken from a user; None: any that is not refused."""
    user_refuses: frozenset[str] = _NONE
    """Types of blocks that the converter or the provider refuses from a user."""
    answer_takes: frozenset[str] | None = None
    """The same in what the model wrote."""
    answer_refuses: frozenset[str] = _NONE
    """The same in what the model wrote."""
    result_takes: frozenset[str] | None = None
    """The same in a tool's result."""
    result_refuses: frozenset[str] = _NONE
    """The same in a tool's result."""

    def taken(self, place: str) -> frozenset[str] | None:
        """The only types that are taken at a place; None: any."""
        if place == "user":
            return self.user_takes
        return self.answer_takes if place == "answer" else self.result_takes if place == "result" else None

    def refused(self, place: str) -> frozenset[str]:
        """The types that are refused at a place."""
        if place == "user":
            return self.user_refuses
        return self.answer_refuses if place == "answer" else self.result_refuses if place == "result" else _NONE
