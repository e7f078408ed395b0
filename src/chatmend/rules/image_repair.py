"""Shared code of the image rules: visits the images of a window and recompresses defective ones."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from chatmend import images
from chatmend.changes import Effect, Fix
from chatmend.dialects.pictures import (
    LISTED,
    Picture,
    find_picture,
    listed_part,
    replace_image,
    replacement_text_part,
)
from chatmend.images.addresses import is_misspelt
from chatmend.images.defects import Defect
from chatmend.jsontext import is_one_of
from chatmend.rules import image_words
from chatmend.rules.rule import KeyedJudge
from chatmend.targets.image_limits import ImageLimits
from chatmend.transcript import Media, Text, ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.images import Outcome, Probe
    from chatmend.images.payload import Payload
    from chatmend.rules.rule import Judge
    from chatmend.targets.limits import Limits
    from chatmend.transcript import Message, Part
    from chatmend.windows import Window


HOSTED = "hosted"
"""The role of an image in the result of a tool that the provider defines, such as a screenshot.

Such a result holds exactly one image.
"""


@dataclass(frozen=True, slots=True)
class ImageRepair:
    """The parts that replace one image, with the reason and the effect."""

    parts: tuple[Part, ...]
    why: str
    effect: Effect
    finding: bool = False
    """True if the image is only reported and stays unchanged."""


@dataclass(slots=True)
class ImageRewriter:
    """Repairs the images in the parts of one message, up to an allowed effect."""

    repair_image: Callable[[Media, str], ImageRepair | None]
    allow: Effect
    repairs: list[ImageRepair] = field(default_factory=list)
    findings: list[ImageRepair] = field(default_factory=list)

    def rewrite(self, parts: tuple[Part, ...], role: str) -> tuple[Part, ...]:
        """Return the parts with repaired images; the same tuple if no image was repaired."""
        out: list[Part] = []
        for part in parts:
            if isinstance(part, ToolResult):
                content = self.rewrite(part.content, HOSTED if part.is_hosted else "tool")
                out.append(part if content is part.content else replace(part, content=content))
                continue
            repair = self.repair_image(part, role) if isinstance(part, Media) else None
            if repair is not None and repair.finding:
                self.findings.append(repair)
            if repair is None or repair.finding or repair.effect > self.allow:
                out.append(part)
                continue
            self.repairs.append(repair)
            out += repair.parts
        same = len(out) == len(parts) and all(a is b for a, b in zip(out, parts, strict=True))
        return parts if same else tuple(out)


def repair_images(
    window: Window, context: Context, repair_image: Callable[[Media, str], ImageRepair | None]
) -> Iterator[Fix]:
    """Yield one fix per message for its repairable images.

    Repairs that the policy does not allow, and findings, get separate fixes, so that they are
    reported. ``repair_image`` gets the image and the role of its message, or ``tool`` for an image
    inside a tool result, or `HOSTED`.
    """
    for at in _media_indexes(window):
        message = window.messages[at]
        for allow in sorted({min(context.policy.allow, Effect.DROPS), Effect.DROPS}):
            rewriter = ImageRewriter(repair_image, allow)
            parts = rewriter.rewrite(message.parts, message.role)
            worst = max((repair.effect for repair in rewriter.repairs), default=Effect.RESHAPES)
            if rewriter.repairs and (allow <= context.policy.allow or worst > context.policy.allow):
                yield Fix(
                    at,
                    at + 1,
                    (_with_parts(message, parts),),
                    _join_reasons(rewriter.repairs),
                    worst,
                )
        if rewriter.findings:
            yield Fix(
                at,
                at + 1,
                (message,),
                _join_reasons(rewriter.findings),
                rewriter.findings[0].effect,
                finding=True,
            )


def accepted_types(role: str, limits: Limits) -> frozenset[str] | None:
    """Return the types of parts that the target accepts next to an image or file; None: any.

    ``role`` is what ``repair_images`` passes.
    """
    return limits.accepted_part_types("tool" if role == HOSTED else role)


def accepts_type(part: Media, role: str, limits: Limits) -> bool:
    """Return whether the target accepts parts with the type of this one in its message."""
    accepted = accepted_types(role, limits)
    return accepted is None or is_one_of(part.extra.get("type"), accepted)


def _media_indexes(window: Window) -> list[int]:
    """Return the indexes of messages with images or files, cached because ten rules need them."""
    if window.media_indexes is None:
        window.media_indexes = [
            at for at, message in enumerate(window.messages) if _has_media(message.parts)
        ]
    return window.media_indexes


def _has_media(parts: tuple[Part, ...]) -> bool:
    return any(
        isinstance(part, Media) or (isinstance(part, ToolResult) and _has_media(part.content))
        for part in parts
    )


def _with_parts(message: Message, parts: tuple[Part, ...]) -> Message:
    return message.with_parts(parts)


def _join_reasons(repairs: list[ImageRepair]) -> str:
    """Join the distinct reasons, in order."""
    return "; ".join(dict.fromkeys(repair.why for repair in repairs))


def recompress_images(window: Window, context: Context, defect: Defect) -> Iterator[Fix]:
    """Yield fixes that recompress every image whose most serious defect is ``defect``.

    An image that cannot be recompressed is replaced by a text that gives the reason.
    """

    def repair_image(part: Media, role: str) -> ImageRepair | None:
        found = find_picture(part.extra)
        if found is None or found.payload is None:
            return None
        probe = probe_once(window, found.payload)
        first = images.diagnose(probe, context.limits.images, found.payload.text_size, found.detail)
        if (
            first is Defect.UNEXAMINED
            and defect is Defect.UNREADABLE
            and context.limits.images != ImageLimits()
        ):
            why = (
                f"{probe.description} is sent unchanged: its header takes too many steps to read "
                "for its size in bytes"
            )
            return ImageRepair((part,), why, Effect.RESHAPES, finding=True)
        return recompress(found, part, probe, context) if first is defect else None

    yield from repair_images(window, context, repair_image)


def probe_once(window: Window, payload: Payload) -> Probe:
    """Return the facts about an image, which is inspected only once per window."""
    key = (id(payload.data), payload.start)
    if key not in window.probes:
        window.probes[key] = (payload.data, payload.probe())
    probe: Probe = window.probes[key][1]
    return probe


def recompress(found: Picture, part: Media, probe: Probe, context: Context) -> ImageRepair:
    """Recompress an image, or replace it by a text that gives the reason why that is impossible."""
    assert found.payload is not None  # noqa: S101 - checked by the caller
    limits = context.limits.images
    wanted = images.plan_for(probe, limits, found.detail)
    problem = wanted if isinstance(wanted, str) else None
    if not isinstance(wanted, str):
        outcome = (context.recompressor or images.default_recompressor())(
            found.payload, probe, wanted
        )
        if outcome.text is not None:
            return _with_new_image(found, part, probe, outcome, context)
        problem = outcome.problem
        if outcome.undecoded and images.is_accepted(probe, limits, found.payload.text_size):
            why = (
                f"{probe.description} is sent unchanged because the target accepts it; "
                f"not recompressed: {problem}"
            )
            return ImageRepair((part,), why, Effect.DEGRADES, finding=True)
    text = image_words.removed_text(probe, str(problem))
    return ImageRepair(
        (replacement_text(part, text, context),),
        f"{probe.description}: {problem}",
        Effect.DROPS,
    )


def _with_new_image(
    found: Picture, part: Media, probe: Probe, outcome: Outcome, context: Context
) -> ImageRepair:
    native = part.extra
    becomes: list[Part] = [
        replace(
            part,
            native=replace_image(
                native, found, outcome.text or "", images.media_type(outcome.type)
            ),
        )
    ]
    if probe.frames > 1:
        becomes.append(caption(part, image_words.FIRST_FRAME, context))
    if context.policy.image_notes and probe.width and outcome.size != probe.display_size:
        scaled = image_words.scaled_text(probe.display_size, outcome.size)
        becomes.append(caption(part, scaled, context))
    return ImageRepair(tuple(becomes), _describe(found, probe, outcome, context), Effect.DEGRADES)


def replacement_text(part: Media, text: str, context: Context) -> Text:
    """Return a text in place of an image, in the same dialect and with its cache marker."""
    return Text(text, replacement_text_part(part.extra, text, context.traits.image_shapes))


def caption(part: Media, text: str, context: Context) -> Text:
    """Return a text that is sent with an image, in the same dialect and without a cache marker."""
    native = without_cache_marker(part.extra)
    return Text(text, replacement_text_part(native, text, context.traits.image_shapes))


def without_cache_marker(native: dict[str, Any]) -> dict[str, Any]:
    """Return a part without its cache marker."""
    return {key: value for key, value in native.items() if "cache" not in key}


def _describe(found: Picture, probe: Probe, outcome: Outcome, context: Context) -> str:
    """Describe an image before and after recompression: size in pixels, bytes and tokens."""
    limits = context.limits.images
    size = len(outcome.text or "") // 4 * 3
    description = (
        f"{probe.description} became {images.type_name(outcome.type)}, "
        f"{outcome.size[0]} x {outcome.size[1]}, {images.format_size(size)}"
    )
    before = images.tokens(limits, probe.display_size, found.detail) if probe.width else None
    after = images.tokens(limits, outcome.size, found.detail)
    if before is not None and after is not None and before > after:
        description += f", about {before - after} of {before} tokens saved"
    return description


IMAGE_KEYS = frozenset(
    {
        *("image_url", "source", "inlineData", "inline_data", "image", "data", "base64", "url"),
        *("file", LISTED),
    }
)
"""Every image part has at least one of these keys, and so has a message with a list of images."""


def is_mislabelled(payload: Payload, probe: Probe, limits: ImageLimits) -> bool:
    """Return whether the target would accept the data under another label or in standard form."""
    is_exact = payload.is_exact and not is_misspelt(payload.label_spelling, limits)
    return images.is_mislabelled(probe, limits, payload.label, is_exact=is_exact)


def make_image_judge(limits: Limits, traits: Traits) -> Judge | None:
    """Make the judge of image parts: its class is the shape of the image and its defect."""
    image_limits = limits.images

    def judge(part: dict[str, Any]) -> object:
        if (found := find_picture(part)) is None:
            images_of_message = part.get(LISTED)
            return (
                tuple(judge(image) for image in map(listed_part, images_of_message) if image)
                if isinstance(images_of_message, list)
                else None
            )
        if found.payload is None or not image_limits.vision:
            return (found.shape, found.payload is None)
        probe = found.payload.probe()
        defect = images.diagnose(probe, image_limits, found.payload.text_size, found.detail)
        return (
            found.shape,
            defect,
            is_mislabelled(found.payload, probe, image_limits),
        )

    return None if image_limits == ImageLimits() and limits.roles is None else judge


def is_text_only(result: ToolResult, limits: ImageLimits) -> bool:
    """Return whether the target accepts only texts in a result because it is an error."""
    failed = result.is_object and bool(result.extra.get("is_error"))
    return failed and not limits.error_results


IMAGES = {"parts": KeyedJudge(IMAGE_KEYS, make_image_judge)}
"""The judge that all image rules share."""
