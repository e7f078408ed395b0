"""The choices between possible repairs, and their predefined combinations."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from chatmend.changes import Effect
from chatmend.errors import PolicyError
from chatmend.targets.image_limits import ImageLimits

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from chatmend.targets import Limits

CHOICES: dict[str, tuple[object, ...]] = {
    "turns": ("merge", "insert"),
    "alternation": ("needed", "always"),
    "system": ("inline", "hoist"),
    "late_results": ("note", "move"),
    "orphans": ("note", "drop"),
    "duplicates": ("results", "messages"),
    "rules": ("all", "hygiene"),
    "lost_thinking": ("disable", "text", "report"),
    "bound_thinking": ("strip", "drop_block", "report"),
    "images": ("fit", "native", "off"),
    "tall": ("tile", "scale"),
    "image_notes": (False, True),
    "documents": ("note", "split"),
    "metadata": ("keep", "strip"),
    "purpose": ("serve", "train"),
}
"""The valid values of each field except ``allow``, whose values are effects."""
_TRAINING_LIMITS: dict[str, Any] = {
    # The last answer is what the model learns, so nothing may follow it.
    "trailing_assistant": "accepted",
    "trailing_assistant_with_thinking": "accepted",
    "trailing_assistant_with_tools": "accepted",
    # Thinking is learnt as text: no server checks its signatures, its key or its position.
    "thinking": "any",
    "thinking_bound": False,
    "thinking_first": "no",
    "unused_thinking": True,
    "disabled_thinking": True,
    "trailing_thinking": True,
    "media_without_data": True,
    "adjacent_thinking": True,
    "signature_owners": frozenset(),
    "thought_signatures": "any",
    "reasoning_content": "any",
    "reasoning_key": "any",
    "reasoning_items": "any",
    "empty_reasoning": True,
    "refused_beside_content": frozenset(),
}
"""The limits of requests that a training set does not have."""
_FILE_LIMITS = frozenset(
    {
        *("audio", "document_name_pattern", "document_types", "documents_counted", "file_stores"),
        *(
            "documents_in_results",
            "files_in_results",
            "link_schemes",
            "max_document_bytes",
            "max_document_pages",
            "max_documents",
            "recordings_in_results",
        ),
        *("max_pdf_pages", "pdf_checked", "text_documents", "video"),
    }
)
"""The limits of files that rules declare. A training set may hold any file, or only its place."""
_TRAINING_KEYS = frozenset(
    {"reasoning", "reasoning_content", "thinking", "thinking_blocks", "weight"}
)
"""Keys of chat messages that trainers read: thinking, and the weight of a message in the loss."""
_TRAINING_PARTS = frozenset({"thinking", "redacted_thinking", "reasoning"})
"""Types of content parts that hold thinking."""
_TRAINING_MEDIA = frozenset({"image", "video", "audio"})
"""Types of content parts that chat templates read; the media may be in another column."""


@dataclass(frozen=True, slots=True)
class Policy:
    """Select between repairs where more than one is possible.

    The defaults discard nothing and do not change messages that were already sent.

    Raises:
        PolicyError: a field has an invalid value.
    """

    turns: str = "merge"
    """How to separate consecutive messages of one role.

    ``merge`` joins them, which adds no content; ``insert`` puts a synthetic message between them.
    """
    alternation: str = "needed"
    """Make roles alternate where the target requires it (``needed``), or ``always``."""
    system: str = "inline"
    """What becomes of a system message in mid-conversation that the target does not accept there.

    ``inline`` keeps its position, converted to text if necessary, so the start of the prompt keeps
    its bytes; ``hoist`` moves it to the system prompt, except for targets whose thinking is bound
    to that.
    """
    late_results: str = "note"
    """What becomes of a result that follows the window of its call.

    ``note`` converts it to text at its position, because its call has already been sent with a
    placeholder as the result. ``move`` moves it to its call: for offline repair of conversations
    that are not sent.
    """
    orphans: str = "note"
    """What becomes of a result without a call.

    ``note`` converts it to text, which loses nothing; ``drop`` discards it, for hostile input.
    """
    duplicates: str = "results"
    """Drop only duplicate ``results``, or also ``messages`` that repeat the previous message."""
    rules: str = "all"
    """Apply ``all`` rules that the target's limits require, or only ``hygiene``.

    ``hygiene`` are the changes that agent gateways make for the target.
    """
    lost_thinking: str = "disable"
    """What to do if a tool loop lacks the thinking that it must begin with.

    ``disable`` disables thinking until the loop ends, so no message changes; ``text`` keeps it
    enabled and converts the calls and results of such loops to text; ``report`` changes nothing.
    """
    bound_thinking: str = "strip"
    """What to do if the prompt before signed thinking has changed, and the provider refuses that.

    ``strip`` removes the thinking after the change; ``drop_block`` lets the provider ignore it, if
    the request enables adaptive thinking, and otherwise means ``strip``;
    ``report`` changes nothing. The change is known from a ``SessionMemory``; without one, only a
    refusal shows it (see ``react``).
    """
    images: str = "fit"
    """Which images to recompress.

    ``fit``: those that the target would refuse or misread; ``native``: all, to exactly the size
    that the model sees, for work with coordinates; ``off``: none.
    """
    tall: str = "tile"
    """What becomes of a tall or wide image whose text the model could not read.

    ``tile`` cuts it into overlapping tiles, each with a caption, because a page that nobody can
    read is of no use; ``scale`` scales it, which costs fewer tokens. It does not apply to
    ``images="native"``, where coordinates need one image.
    """
    image_notes: bool = False
    """Add a text after each scaled image that states the factor, for work with coordinates."""
    allow: Effect = Effect.DROPS
    """The strongest effect allowed. Other changes are only reported."""
    purpose: str = "serve"
    """What the transcripts are for.

    ``serve``: to be sent to the target. ``train``: to teach a model. The last message stays what
    the model learns, so nothing synthetic follows it, and thinking is kept.
    """
    documents: str = "note"
    """What becomes of a PDF that alone has more pages or bytes than the target accepts.

    ``note`` replaces it by a text, because the bytes of a split PDF depend on the version of pypdf;
    ``split`` cuts it at the limit, if the extra ``pdf`` is installed.
    """
    metadata: str = "keep"
    """What becomes of the metadata in images: EXIF with GPS, XMP, IPTC, comments and text chunks.

    ``keep`` leaves images that the target accepts unchanged; ``strip`` removes the metadata without
    changing a pixel. The colour profile and the orientation are kept. An image that is recompressed
    never keeps metadata.
    """

    def __post_init__(self) -> None:
        """Raise ``PolicyError`` if a field has an invalid value."""
        for field, choices in CHOICES.items():
            if getattr(self, field) not in choices:
                message = (
                    f"{field}={getattr(self, field)!r}: "
                    f"choose one of {', '.join(map(repr, choices))}"
                )
                raise PolicyError(message)
        if self.allow not in tuple(Effect):
            known = ", ".join(f"Effect.{effect.name}" for effect in Effect)
            message = f"allow={self.allow!r}: choose one of {known} (from chatmend import Effect)"
            raise PolicyError(message)

    @classmethod
    def strict_alternation(cls) -> Policy:
        """Return a policy for strictly alternating roles after one system message.

        Synthetic messages separate consecutive messages of one role.
        """
        return cls(turns="insert", alternation="always", system="hoist")

    @classmethod
    def provider_hygiene(cls) -> Policy:
        """Return a policy that makes only the changes that agent gateways make for the provider.

        The tables of the targets list these changes under ``hygiene``.
        """
        return cls(rules="hygiene", system="hoist")

    @classmethod
    def drop_instead_of_note(cls) -> Policy:
        """Return a policy that drops results without a call.

        It is for input that an attacker may have written.
        """
        return cls(orphans="drop")

    @classmethod
    def offline(cls) -> Policy:
        """Return a policy for stored conversations that are not continued.

        Late results move to their calls, and repeated messages are dropped.
        """
        return cls(late_results="move", duplicates="messages")

    @classmethod
    def train(cls) -> Policy:
        """Return a policy for transcripts that teach a model.

        The last answer stays the end, thinking is kept, late results move to their calls, and
        images stay unchanged. A transcript that ends in an incomplete exchange or an empty message
        still gets a placeholder; ``chatmend.data`` quarantines such rows.
        """
        return cls(purpose="train", late_results="move", images="off")

    def apply(self, limits: Limits) -> Limits:
        """Return the limits with the restrictions and exceptions of this policy."""
        if self.purpose == "train":
            return _apply_for_training(self, limits)
        changes: dict[str, Any] = {}
        if self.alternation == "always":
            changes |= {
                "alternation": True,
                "first_user": True,
                "pairing": True,
                "folds_turns": False,
            }
        # Thinking that is bound to the system prompt would become invalid.
        if (
            self.system == "hoist"
            and not limits.thinking_bound
            and limits.system
            in (
                "anywhere",
                "leading",
                "after-user",
                "not-after-reply",
            )
        ):
            changes["system"] = (
                "first"
                if self.alternation == "always" or limits.system != "anywhere"
                else limits.system
            )
        if self.images == "off":
            changes |= {"images": ImageLimits(), "own": _without(limits, {"link_schemes"})}
        elif self.images == "native":
            changes["images"] = _restrict_images(self, limits, native=True)
        elif limits.images != ImageLimits() and (self.tall, self.metadata) != ("tile", "keep"):
            changes["images"] = _restrict_images(self, limits)
        return _restrict(limits, **changes) if changes else limits


@lru_cache(maxsize=64)
def _apply_for_training(policy: Policy, limits: Limits) -> Limits:
    return replace(policy, purpose="serve").apply(_for_training(limits))


def _without(limits: Limits, names: AbstractSet[str]) -> tuple[tuple[str, object], ...]:
    """Return the limits that rules declare, without some of them."""
    return tuple(own for own in limits.own if own[0] not in names)


def _for_training(limits: Limits) -> Limits:
    """Return the limits without those that only a server has."""
    changes = {**_TRAINING_LIMITS, "own": _without(limits, _FILE_LIMITS)}
    # A call at the end is complete; where calls need no results, nothing changes.
    changes["trailing_calls"] = limits.trailing_calls or limits.pairing
    # Elsewhere than in Chat Completions, these keys show that a message is of another format.
    if "tool_calls" not in limits.refused_keys:
        changes["refused_keys"] = limits.refused_keys - _TRAINING_KEYS
    if limits.known_keys is not None and "tool_calls" in limits.known_keys:
        changes["known_keys"] = limits.known_keys | _TRAINING_KEYS
    if limits.part_types is not None:
        limits = replace(limits, part_types=limits.part_types | _TRAINING_MEDIA)
    changes["part_types_by_role"] = frozenset()
    for name in ("part_types", "said_types"):
        if (types := getattr(limits, name)) is not None:
            changes[name] = types | _TRAINING_PARTS
    return replace(limits, **changes)


DEFAULT = Policy()
"""The policy of a repair without another one."""
NAMES = ("strict_alternation", "provider_hygiene", "drop_instead_of_note", "offline", "train")
"""The names of the predefined policies."""


def _restrict_images(policy: Policy, limits: Limits, *, native: bool = False) -> ImageLimits:
    """Return the limits of images with the choices of a policy."""
    chosen: dict[str, Any] = {"metadata": policy.metadata, "native": native}
    if not native:
        chosen["tall"] = policy.tall
    return replace(limits.images, **chosen)


@lru_cache(maxsize=256)
def _restrict(limits: Limits, **changes: object) -> Limits:
    """Return the same object for every repair, because caches are keyed by limits."""
    return replace(limits, **changes)  # type: ignore[arg-type]  # fields of ``Limits``


def resolve_policy(policy: object) -> Policy | None:
    """Return a policy from a ``Policy``, its name, or a dict of fields.

    >>> resolve_policy("offline") == Policy.offline()
    True
    >>> resolve_policy({"orphans": "drop"}) == Policy(orphans="drop")
    True

    Args:
        policy: None means the default. In a dict, ``allow`` may be the name of an effect, such as
            ``"reshapes"``.

    Raises:
        PolicyError: a name, field or value is unknown, or ``policy`` has another type.
    """
    if policy is None or isinstance(policy, Policy):
        return policy
    if isinstance(policy, str) and policy in NAMES:
        found: Policy = getattr(Policy, policy)()
        return found
    if not isinstance(policy, dict):
        given = (
            repr(policy) if isinstance(policy, str) else f"a value of type {type(policy).__name__}"
        )
        message = (
            f"policy: {given} is not a policy; pass a chatmend.Policy, "
            f"one of the names {', '.join(NAMES)}, or a dict of fields"
        )
        raise PolicyError(message)
    known = [field.name for field in fields(Policy)]
    if unknown := [key for key in policy if key not in known]:
        message = f"policy: unknown field {unknown[0]!r}; the fields are {', '.join(known)}"
        raise PolicyError(message)
    return Policy(
        **{**policy, "allow": _parse_effect(policy["allow"])} if "allow" in policy else policy
    )


def describe_policy(policy: Policy | None) -> str:
    """Return the name of a policy, or the fields in which it differs from the default.

    >>> describe_policy(None), describe_policy(Policy.offline())
    ('default', 'offline')
    >>> describe_policy(Policy(orphans="drop", images="off"))
    'orphans=drop images=off'
    """
    if policy is None or policy == Policy():
        return "default"
    for name in NAMES:
        if policy == resolve_policy(name):
            return name
    differing = [
        field.name for field in fields(Policy) if getattr(policy, field.name) != field.default
    ]
    values = {name: getattr(policy, name) for name in differing}
    if "allow" in values:
        values["allow"] = policy.allow.name.lower()
    return " ".join(f"{name}={value}" for name, value in values.items())


def _parse_effect(value: object) -> Effect:
    try:
        return value if isinstance(value, Effect) else Effect[str(value).upper()]
    except KeyError:
        known = ", ".join(effect.name.lower() for effect in Effect)
        message = f"allow={value!r}: choose one of {known}"
        raise PolicyError(message) from None
