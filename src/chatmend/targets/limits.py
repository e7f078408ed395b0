"""What a target accepts and refuses in messages. The defaults refuse nothing (target ``other``)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

from chatmend.targets.image_limits import ImageLimits

Role = Literal["system", "developer", "user", "assistant", "tool", "function", "model"]
"""Roles of the wire formats."""
Trailing = Literal["accepted", "no-trailing-space", "refused"]
"""How a target treats a last message of the assistant."""

_ANY_IMAGE = ImageLimits()


class _Hashed:
    """Has a place for the hash, which is computed once."""

    __slots__ = ("_hash",)
    _hash: int


@dataclass(frozen=True, slots=True)
class Limits(_Hashed):
    """The limits that rules check.

    A target's table gives each value with its source and the date when it was last checked.
    """

    # Roles
    roles: frozenset[Role] | None = None
    """The provider accepts only messages with these roles; None: any role."""
    system: Literal["anywhere", "leading", "first", "after-user", "not-after-reply", "never"] = (
        "anywhere"
    )
    """Positions at which the provider accepts system messages.

    - ``anywhere``: at every position
    - ``leading``: one or several, before all other messages
    - ``first``: one, as the first message
    - ``after-user``: also later, directly after a user turn and before an assistant turn or the end
    - ``not-after-reply``: not directly after an assistant or tool message
    - ``never``: at no position
    """

    # Turns
    folds_turns: bool = False
    """The provider merges consecutive messages of the same role before it validates them."""
    alternation: bool = False
    """The provider refuses two consecutive messages of the same role.

    Tool results and the calls before them do not count.
    """
    user_after_tool: bool = True
    """The provider accepts a user message directly after a tool result."""
    first_user: bool = False
    """The provider refuses a conversation that does not begin with a user message.

    System messages at the beginning do not count.
    """
    needs_user: bool = False
    """The provider refuses a conversation without a user message."""
    trailing_assistant: Trailing = "accepted"
    """How the provider treats a conversation whose last message is the assistant's.

    It is ``accepted``, accepted if its text does not end with white space (``no-trailing-space``),
    or ``refused``.
    """
    trailing_assistant_with_thinking: Trailing = "accepted"
    """Like ``trailing_assistant``, for requests with thinking enabled; the stricter value holds."""
    trailing_assistant_with_tools: Trailing = "accepted"
    """Like ``trailing_assistant``, for requests that declare tools; the stricter value holds."""
    prefill_key: str | None = None
    """Key of an assistant message that makes the provider accept it as the last message.

    Its value must be true (``prefix`` on Mistral). None: there is no such key.
    """

    # Tool calls and results
    tools_taken: bool = True
    """The provider accepts tool calls and tool results."""
    pairing: bool = False
    """The provider refuses a tool call without a result and a result without its call.

    The results must directly follow the message with the calls.
    """
    trailing_calls: bool = False
    """The provider accepts calls without results in the last message of a conversation."""
    results_in_order: bool = False
    """The provider requires tool results in the order of their calls."""
    results_together: bool = False
    """The provider requires all results of one assistant turn in one message.

    Used for wire formats whose results are parts of user messages.
    """
    results_alone: bool = False
    """The provider refuses other content beside tool results in one message.

    Used for wire formats whose results are parts of user messages.
    """
    max_calls_per_message: int | None = None
    """The provider refuses a message with more tool calls; None: any number."""
    equal_calls: bool = True
    """The provider accepts two calls with the same name and arguments in one message."""
    call_id_required: bool = False
    """The provider refuses a call or result whose call id is missing, empty or not a string."""
    optional_call_ids: bool = False
    """The provider accepts calls without an id, but refuses an id that is empty or not a string."""
    call_ids_accepted: bool = True
    """The provider accepts ids in calls and results that are matched by name and position."""
    call_id_pattern: str | None = None
    """The provider refuses a call id that this regular expression does not match completely."""
    call_id_style: Literal["any", "alnum", "alnum9"] = "any"
    """Form of the call ids that chatmend generates for this provider.

    - ``any``: a readable beginning and a hash, from the characters ``[A-Za-z0-9_-]``
    - ``alnum``: the same from letters and digits only
    - ``alnum9``: nine letters or digits
    """
    max_call_id_length: int | None = None
    """The provider refuses a call id that is longer, in characters; None: any length."""
    unique_call_ids: Literal["no", "message", "request"] = "no"
    """Scope in which the provider refuses two calls with the same id.

    The scope is one ``message`` or the whole ``request``; ``no``: repeated ids are accepted.
    """
    arguments: Literal["any", "text-or-object", "text", "object"] = "any"
    """Form of tool call arguments that the provider accepts.

    - ``any``: every value
    - ``text-or-object``: a string or an object
    - ``text``: a string
    - ``object``: an object; in chat completions, a string whose JSON is an object
    """
    tool_name_pattern: str | None = None
    """The provider refuses a tool name that this regular expression does not match completely."""
    tools_declared: bool = False
    """The provider refuses a history with calls or results in a request that declares no tools."""
    tool_references: bool = True
    """The provider accepts references to tools (``tool_reference``) in tool results."""
    references_declared: bool = False
    """The provider refuses a reference to a tool that the request does not declare."""
    empty_tool_calls: bool = True
    """The provider accepts an empty list of calls (``tool_calls: []``)."""
    legacy_functions: bool = True
    """The provider accepts the older ``function_call`` key and the role ``function``."""
    custom_calls: bool = True
    """The provider accepts calls of custom tools (``type: custom``) in ``tool_calls``."""
    result_names: bool = False
    """The provider requires that a tool result names its tool and is an object."""
    tools_in_system: bool = False
    """The provider reads ``tools`` of a system message, which then has no content."""
    result_names_match: bool = False
    """The provider refuses a tool result whose name differs from the name of its call."""
    calls_last: bool = False
    """The provider refuses assistant content between calls and their results."""
    calls_end_message: bool = False
    """The provider refuses a text at the end of an assistant message with calls."""
    words_behind_calls: bool = False
    """Assistant text between a call and its result may belong to the same turn.

    LiteLLM writes the text of Anthropic's messages after their calls when it converts them to
    items of the Responses API.
    """

    unserved_tools: frozenset[str] = frozenset()
    """Anthropic's hosted tools that the host does not run, and whose history it refuses."""
    server_tools_in_chat: bool = False
    """LiteLLM rebuilds calls of hosted tools for the provider.

    The results are those in the ``provider_specific_fields`` of a chat message.
    """
    server_tools_paired: bool = False
    """The provider refuses a call of a hosted tool without its result in the same turn.

    It also refuses such a result without its call.
    """

    # Content
    empty_roles: frozenset[Role] = frozenset()
    """The provider refuses empty messages of these roles.

    An assistant message with calls is never empty.
    """
    blank_is_empty: bool = False
    """The provider treats text of only white space as empty.

    This applies to messages (``empty_roles``) and to text parts (``empty_parts``).
    """
    blank_in_answers: bool = True
    """The provider accepts a text of only white space next to other parts of an assistant message.

    Models generate such texts themselves. Decides only where ``blank_is_empty`` holds.
    """
    bare_is_empty: bool = False
    """The provider accepts a message with an empty text; only one without parts counts as empty."""
    empty_parts: bool = True
    """The provider accepts empty text parts in a list of parts."""
    empty_beside_calls: bool = True
    """The provider accepts an empty text as the content of an assistant message with calls."""
    null_content: frozenset[Role | Literal["assistant+calls"]] | None = None
    """The provider refuses null or missing content in messages of these roles; None: of no role.

    ``assistant`` means an assistant message without calls, ``assistant+calls`` one with calls.
    """
    missing_content_is_null: bool = True
    """The provider treats a missing content of a message with calls like null.

    Otherwise it accepts such a message even if ``null_content`` names ``assistant+calls``.
    """
    answer_keys: frozenset[str] = frozenset()
    """The provider accepts null content in an assistant message that has one of these keys."""
    empty_lists: bool = True
    """The provider accepts an empty list as the content of a tool result."""
    text_content: frozenset[Role] = frozenset()
    """The provider requires a string as the content of messages of these roles, not a list."""
    empty_results: bool = True
    """The provider accepts a tool result without content, or with only empty texts."""
    empty_error_results: bool = True
    """The provider accepts such a result also if it is marked as an error (``is_error``)."""
    part_types: frozenset[str] | None = None
    """The provider accepts only content parts of these types; None: any type."""
    assistant_part_types: frozenset[str] = frozenset()
    """The provider accepts content parts of these types only in assistant messages."""
    part_types_by_role: frozenset[str] = frozenset()
    """The provider accepts only these ``part_types`` in messages of some roles.

    Each is a role and a type, such as ``user file``; roles that are not listed may have all
    ``part_types``. The entries of ``system`` also apply to ``developer``.
    """
    block_types: frozenset[str] | None = None
    """The provider accepts only these block types in user messages and tool results; None: any.

    Used for wire formats in which the block types depend on the role.
    """
    said_types: frozenset[str] | None = None
    """The provider accepts only these block types in assistant messages; None: not checked.

    Used for wire formats in which the block types depend on the role.
    """
    item_types: frozenset[str] | None = None
    """The provider accepts only items of these types in the Responses API; None: any type."""
    refused_items: frozenset[str] = frozenset()
    """Types of items of the Responses API that the provider refuses."""
    typed_messages: Literal["any", "answers", "all"] = "any"
    """Which messages the provider recognises only by ``type: message`` in the Responses API."""
    listed_answers: bool = True
    """The provider accepts an answer with a list of texts but without ``type: message``.

    This applies to the Responses API.
    """
    media_without_data: bool = False
    """A part ``{"type": "image"}`` refers to an image in another place, as in training data."""
    mixed_parts: bool = True
    """The provider accepts a content part that has the key of another type (text and image_url)."""
    typeless_parts: bool = True
    """The provider accepts content parts without a type."""
    bare_strings: bool = True
    """The provider accepts strings as items of a list of content parts."""
    file_references: str | None = None
    """Regular expression that the provider's own file ids contain a match of; None: any id.

    Any other ``file_id`` names a file that another provider stores.
    """
    message_name: frozenset[Role] | None = None
    """The provider accepts the key ``name`` only in messages of these roles; None: of all roles."""
    message_name_pattern: str | None = None
    """The provider refuses a ``name`` of a message that this regular expression does not match."""
    known_keys: frozenset[str] | None = None
    """The provider accepts only these keys in a message; None: all keys except refused ones."""
    refused_keys: frozenset[str] = frozenset()
    """The provider refuses messages with one of these keys."""
    refused_beside_content: frozenset[str] = frozenset()
    """The provider refuses these keys in an assistant message that has both calls and content."""
    part_keys: frozenset[str] | None = None
    """The provider accepts only these keys in a content part; None: all keys."""
    refused_part_keys: frozenset[str] = frozenset()
    """The provider refuses content parts with one of these keys."""
    refused_text_keys: frozenset[str] = frozenset()
    """The provider refuses texts, images and files with one of these keys.

    Client libraries and other providers add them, and this provider has no use for them.
    """
    refused_blocks: frozenset[str] = frozenset()
    """Digests of the blocks that the provider has refused in this conversation.

    Only lessons set it; see ``chatmend.react``.
    """
    outdated_blocks: frozenset[str] = frozenset()
    """Digests of the thinking blocks before which the prompt of this conversation has changed.

    ``DIGEST#2`` names a block from the second message on that has it.
    Only a session memory sets it.
    """
    block_keys: bool = False
    """The provider accepts in a content block only the keys of the block's type."""
    item_ids: bool = False
    """The provider requires unique item ids that begin with the prefix of the item's type."""
    item_keys: bool = False
    """The provider requires the keys of an item's type, and accepts no others."""

    # Thinking
    thinking: Literal["any", "unsigned", "signed", "chunks", "refused"] = "any"
    """How the provider treats thinking blocks in the history.

    - ``any``: they are not checked
    - ``unsigned``: they are accepted only without a signature
    - ``signed``: they are accepted only with the provider's own signature
    - ``chunks``: only Mistral's chunks are accepted, whose thinking is a list of texts
    - ``refused``: they are refused

    With ``chunks`` and ``refused``, blocks in messages that name one of ``signature_owners`` are
    accepted.
    """
    thinking_bound: bool = False
    """The provider refuses signed thinking if system prompt, tools or messages before it differ."""
    signature_owners: frozenset[str] = frozenset()
    """Providers and model families whose thinking signatures the provider accepts.

    The names are those of the key ``provider`` in ``_provenance``. Empty: all are accepted.
    """
    thinking_first: Literal["no", "manual", "always"] = "no"
    """Whether the current tool loop must begin with thinking while the request enables thinking.

    It need not (``no``), must in Anthropic's manual mode (``manual``), or must in every mode that
    the request can enable (``always``).
    """
    unused_thinking: bool = True
    """The provider accepts thinking of tool loops in a request that does not enable thinking.

    No table says otherwise, because a request without the parameter may get it elsewhere: a refusal
    shows it.
    """
    disabled_thinking: bool = True
    """The provider accepts thinking of the current tool loop in a request that disables thinking.

    The thinking of earlier loops is always accepted.
    """
    thinking_optional: bool = True
    """The provider accepts a request that disables thinking."""
    trailing_thinking: bool = True
    """The provider accepts an assistant turn that ends with thinking."""
    adjacent_thinking: bool = True
    """The provider accepts two consecutive thinking blocks."""
    reasoning_content: Literal["any", "required", "always", "refused"] = "any"
    """How the provider treats the key ``reasoning_content`` of assistant messages.

    It ignores the key (``any``), requires it while thinking is enabled, in messages with calls
    (``required``) or in all (``always``), or refuses it (``refused``).
    """
    reasoning_with_tools: bool = False
    """With tools in the request, ``required`` reasoning is required in all assistant messages."""
    thinking_with_calls: bool = False
    """The provider requires a thinking block in messages with calls, in Anthropic's format."""
    reasoning_key: Literal["any", "reasoning_content", "reasoning"] = "any"
    """Key of assistant messages under which the provider reads reasoning.

    It ignores or refuses reasoning under the other key. ``any``: not known, no key is renamed.
    """
    reasoning_items: Literal["any", "followed", "required"] = "any"
    """How the provider checks reasoning items that have an id.

    - ``any``: they are not checked
    - ``followed``: the item that the reasoning led to must follow it
    - ``required``: also, an item with an id must have the reasoning of its answer before it
    """
    reasoning_form: Literal["any", "without-null", "unencrypted", "content"] = "any"
    """The form in which the provider accepts reasoning items.

    - ``any``: every form
    - ``without-null``: ``content`` is a list or missing, not null
    - ``unencrypted``: without encrypted content; it reads the text
    - ``content``: also, the text must be in ``content``; it does not read a summary
    """
    stores_items: bool = True
    """The provider can look up items that are sent as a reference or only by their id.

    Never in a request that sets ``store`` to false.
    """
    empty_reasoning: bool = True
    """The provider accepts a reasoning item without a summary and encrypted content."""
    thought_signatures: Literal["any", "base64", "required"] = "any"
    """How the provider checks Gemini's thought signatures of calls.

    They are not checked (``any``), must be valid base64 (``base64``), or must also be present
    (``required``).
    """

    # Images
    images: ImageLimits = _ANY_IMAGE
    """Limits of images."""

    # Cache markers
    max_cache_markers: int | None = None
    """The provider refuses a request with more cache markers; None: markers are not checked."""

    # Limits of single rules
    own: tuple[tuple[str, object], ...] = ()
    """Limits that rules declare in their own files, by name: the table ``[rules]`` of a target."""

    def of(self, name: str) -> Any:  # noqa: ANN401 - the rule declares the type
        """Return the value of a limit that a rule declares; None if the target does not set it."""
        for known, value in self.own:
            if known == name:
                return value
        return None

    def accepted_part_types(self, role: str) -> frozenset[str] | None:
        """Return the types of content parts that messages of a role may have; None: any type."""
        return _accepted_part_types(
            self.part_types, self.assistant_part_types, self.part_types_by_role, role
        )

    def beside(
        self,
        *,
        thinking: bool,
        tools: bool,
        stored: bool = True,
        thinking_disabled: bool = False,
        ends_with_assistant: bool = False,
    ) -> Limits:
        """Return the limits of a request that enables thinking, declares tools or is not stored.

        ``thinking_disabled``: whether it disables thinking. A model may think if it does neither.
        ``ends_with_assistant``: whether a parameter lets the assistant's message be the last one.
        """
        limits = self if stored else _without_store(self)
        if thinking_disabled:
            limits = _without_reasoning(limits)
        if thinking or tools:
            limits = _for_request(limits, thinking, tools)
        return _ending_with_assistant(limits) if ends_with_assistant else limits

    def __hash__(self) -> int:
        """Return a hash of the fields that differ most, because caches are keyed by limits."""
        try:
            return self._hash
        except AttributeError:
            object.__setattr__(self, "_hash", self._compute_hash())
            return self._hash

    def _compute_hash(self) -> int:
        fields = (
            self.roles, self.system, self.call_id_pattern, self.thinking, self.part_types,
            self.refused_keys,
        )  # fmt: skip
        try:
            return hash((*fields, self.own))
        except TypeError:  # the value of a rule's limit is a list
            return hash(fields)


TRAILING: tuple[Trailing, ...] = ("accepted", "no-trailing-space", "refused")
"""What may stand at the end of a request, from the mildest to the strictest."""


_THINKING_TYPES = frozenset({"thinking", "redacted_thinking"})
"""Types of parts that no format has in other messages than the assistant's."""


@lru_cache(maxsize=256)
def _accepted_part_types(
    known: frozenset[str] | None, assistants: frozenset[str], by_role: frozenset[str], role: str
) -> frozenset[str] | None:
    if known is not None and role != "assistant":
        known -= assistants | _THINKING_TYPES
    beginning = f"{'system' if role == 'developer' else role} "
    own = {one.removeprefix(beginning) for one in by_role if one.startswith(beginning)}
    if not own:
        return known
    return frozenset(own) if known is None else known & own


@lru_cache(maxsize=64)
def _without_store(limits: Limits) -> Limits:
    return replace(limits, stores_items=False)


@lru_cache(maxsize=64)
def _without_reasoning(limits: Limits) -> Limits:
    """Return the limits of a request in which no message needs reasoning."""
    needed = limits.reasoning_content in ("required", "always")
    if not (needed or limits.thinking_with_calls):
        return limits
    content = "any" if needed else limits.reasoning_content
    return replace(limits, reasoning_content=content, thinking_with_calls=False)


@lru_cache(maxsize=64)
def _ending_with_assistant(limits: Limits) -> Limits:
    return replace(limits, trailing_assistant="accepted")


@lru_cache(maxsize=64)
def _for_request(limits: Limits, thinking: bool, tools: bool) -> Limits:  # noqa: FBT001 - cached
    modes: list[Trailing] = [limits.trailing_assistant]
    modes += [limits.trailing_assistant_with_thinking] if thinking else []
    modes += [limits.trailing_assistant_with_tools] if tools else []
    strictest = max(modes, key=TRAILING.index)
    if strictest != limits.trailing_assistant:
        limits = replace(limits, trailing_assistant=strictest)
    if tools and limits.reasoning_with_tools and limits.reasoning_content == "required":
        limits = replace(limits, reasoning_content="always")
    return limits
