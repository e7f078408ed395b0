"""What a target takes and refuses, as far as messages go. The defaults refuse nothing: that is the target ``other``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

from chatmend.targets.image_limits import ImageLimits

Role = Literal["system", "developer", "user", "assistant", "tool", "function", "model"]
"""Roles of the wire formats."""
Trailing = Literal["accepted", "no-trailing-space", "refused"]

_ANY_IMAGE = ImageLimits()


@dataclass(frozen=True, slots=True)
class Limits:
    """The facts that rules ask for. Every value in a target's table says how it is known and when it was checked."""

    # Roles
    roles: frozenset[Role] | None = None
    """Roles of the wire format that are taken (``system developer user assistant tool function``); None: any."""
    system: Literal["anywhere", "leading", "first", "after-user", "not-after-reply", "never"] = "anywhere"
    """Where a system message may stand: ``anywhere``; ``leading`` (only in the run at the front, several are fine);
    ``first`` (one, at the front); ``after-user`` (also mid-conversation, directly behind a user turn and before an
    assistant turn or the end); ``not-after-reply`` (not behind an assistant or tool message); ``never``."""

    # Turns
    folds_turns: bool = False
    """The target itself joins neighbours of the same role before it checks anything."""
    alternation: bool = False
    """Neighbours of the same role are refused (tool results and the calls before them do not count)."""
    user_after_tool: bool = True
    """A user message may follow a tool result directly."""
    first_user: bool = False
    """The first message that is not a system message must be a user message."""
    needs_user: bool = False
    """At least one user message is required."""
    trailing_assistant: Trailing = "accepted"
    """A last message of the assistant: ``accepted``; ``no-trailing-space`` (it may not end with white space);
    ``refused``."""
    trailing_assistant_with_thinking: Trailing = "accepted"
    """The same while thinking is enabled; the stricter of the two holds."""
    trailing_assistant_with_tools: Trailing = "accepted"
    """The same while tools are declared; the stricter holds."""
    prefill_key: str | None = None
    """The key that makes a trailing assistant message legal (``prefix`` on Mistral)."""

    # Tool calls and results
    tools_taken: bool = True
    """The target knows tool calls and results at all."""
    pairing: bool = False
    """Every call must be answered directly behind it, every result must answer such a call."""
    trailing_calls: bool = False
    """Calls that nobody has answered yet are taken at the very end of the transcript."""
    results_in_order: bool = False
    """Results must come in the order of their calls."""
    single_call: bool = False
    """At most one call in a message."""
    equal_calls: bool = True
    """Two calls of one message may have the same name and the same arguments."""
    call_id_required: bool = False
    """A call and its result must carry an id that is a non-empty string."""
    optional_call_ids: bool = False
    """A call may go without an id, but an id that is there must be a non-empty string."""
    call_id_pattern: str | None = None
    """Regular expression that a whole call id must match."""
    call_id_style: Literal["any", "alnum", "alnum9"] = "any"
    """How an id of ours is spelled where one must be made: ``any`` (stem and hash, ``[A-Za-z0-9_-]``), ``alnum``
    (the same without ``_`` and ``-``), ``alnum9`` (nine characters)."""
    max_call_id_length: int | None = None
    unique_call_ids: Literal["no", "message", "request"] = "no"
    """Where an id may occur on one call only: ``no``, ``message`` or ``request``."""
    arguments: Literal["any", "text", "json", "object"] = "any"
    """Tool arguments: ``any``; ``text`` (must be a string); ``json`` (a string that parses); ``object`` (must be, or
    parse to, an object)."""
    tool_name_pattern: str | None = None
    tools_declared: bool = False
    """Tools must be declared when the history holds calls or results."""
    empty_tool_calls: bool = True
    """``tool_calls: []`` is taken."""
    legacy_functions: bool = True
    """``function_call`` and the role ``function`` are taken."""
    result_names: bool = False
    """A result must name its tool, and be an object."""
    calls_last: bool = False
    """Nothing of the assistant may stand between its calls and their results."""
    words_behind_calls: bool = False
    """Text between a call and its result may belong to the same turn: LiteLLM writes the text of Anthropic's messages
    after their calls when it makes Responses items of them."""

    server_tools_paired: bool = False
    """A call of a tool that the provider runs itself has its result in the same turn, and a result its call."""

    # Content
    empty_roles: frozenset[Role] = frozenset()
    """Roles whose messages may not be empty (an assistant message with calls never is)."""
    blank_is_empty: bool = False
    """White space counts as empty: in messages of the roles above, and in parts where empty parts are refused."""
    bare_is_empty: bool = False
    """Only a message without any part counts as empty: one with an empty text is taken."""
    empty_parts: bool = True
    """Empty text parts are taken inside a list of parts."""
    null_content: frozenset[Role | Literal["assistant+calls"]] | None = None
    """Roles whose ``content`` may not be null; None: all may. ``assistant`` means an assistant message without calls,
    ``assistant+calls`` one with calls."""
    empty_lists: bool = True
    """A content that is a list of nothing is taken, where an empty text is."""
    text_content: frozenset[Role] = frozenset()
    """Roles whose content must be a plain string."""
    part_types: frozenset[str] | None = None
    """Types of content parts that are known; None: any."""
    block_types: frozenset[str] | None = None
    """The same for a dialect of blocks, in user messages and tool results."""
    said_types: frozenset[str] | None = None
    """The same in what the model wrote, in such a dialect; None: not asked."""
    item_types: frozenset[str] | None = None
    """Types of entries that are known, in a dialect where an entry has one; None: any."""
    typeless_parts: bool = True
    """A part without a type is taken."""
    bare_strings: bool = True
    """A bare string is taken as a part."""
    file_references: str | None = None
    """Regular expression found in every ``file_id`` that the target can look up; others name a file that lies in the
    store of another provider. None: any."""
    message_name: frozenset[Role] | None = None
    """Roles on which ``name`` is taken; None: all."""
    message_name_pattern: str | None = None
    known_keys: frozenset[str] | None = None
    """Keys that a message may have; None: any but those refused."""
    refused_keys: frozenset[str] = frozenset()
    """Keys of a message that are refused."""
    refused_beside_content: frozenset[str] = frozenset()
    """Keys that are refused in a message with calls that has content, too."""
    part_keys: frozenset[str] | None = None
    """The only keys of a content part that are taken; None: any."""
    refused_part_keys: frozenset[str] = frozenset()
    """Keys of a content part that are refused."""
    item_ids: bool = False
    """Entries have ids of their own, which must have their type's prefix and occur once."""

    # Thinking
    thinking: Literal["any", "signed", "refused"] = "any"
    """Thinking blocks: ``any`` (not looked at); ``signed`` (only with this provider's signature); ``refused``."""
    signature_owners: frozenset[str] = frozenset()
    """Providers or model families whose signatures are valid here, as ``_provenance`` would name them."""
    trailing_thinking: bool = True
    """An assistant turn may end with thinking."""
    adjacent_thinking: bool = True
    """Two thinking blocks may stand side by side."""
    reasoning_content: Literal["any", "required", "refused"] = "any"
    """The key ``reasoning_content``: ``any``, ``required`` (on messages with calls, while thinking is on) or
    ``refused``."""
    reasoning_items: Literal["any", "followed", "required"] = "any"
    """Entries of reasoning with an id: ``any``; ``followed`` (the entry that they led to must follow); ``required``
    (and entries with an id of the same answer must have theirs)."""
    empty_reasoning: bool = True
    """An entry of reasoning with neither a summary nor encrypted content is taken."""
    thought_signatures: Literal["any", "base64", "required"] = "any"
    """Gemini's signatures on calls: ``any``, ``base64`` (must decode), ``required`` (and must be there)."""

    # Images
    images: ImageLimits = _ANY_IMAGE

    # Cache markers
    max_cache_markers: int | None = None
    """How many cache markers a request may hold; None: markers are not looked at."""

    # What single rules own
    own: tuple[tuple[str, object], ...] = ()
    """Limits that a rule's file declares itself, by name: the table ``[rules]`` of a target."""

    def of(self, name: str) -> Any:  # noqa: ANN401 - whatever type the rule that owns it has declared
        """The value of a limit that a rule owns; None where the target has none."""
        return next((value for known, value in self.own if known == name), None)

    def beside(self, *, thinking: bool, tools: bool) -> Limits:
        """The limits of a request in which thinking is enabled, or tools are declared."""
        return _beside(self, thinking, tools) if thinking or tools else self

    def __hash__(self) -> int:
        """Some of the fields that differ most: what is built for limits is looked up by them, once a transcript."""
        return hash((self.roles, self.system, self.call_id_pattern, self.thinking, self.part_types, self.refused_keys))


_STRICTNESS: tuple[Trailing, ...] = ("accepted", "no-trailing-space", "refused")


@lru_cache(maxsize=64)
def _beside(limits: Limits, thinking: bool, tools: bool) -> Limits:  # noqa: FBT001 - positional, as a cache wants them
    modes: list[Trailing] = [limits.trailing_assistant]
    modes += [limits.trailing_assistant_with_thinking] if thinking else []
    modes += [limits.trailing_assistant_with_tools] if tools else []
    strictest = max(modes, key=_STRICTNESS.index)
    return limits if strictest == limits.trailing_assistant else replace(limits, trailing_assistant=strictest)
