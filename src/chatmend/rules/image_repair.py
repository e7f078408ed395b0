"""What all image rules share: walks the images of a window, recompresses those with one defect, and says what came."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from chatmend import images
from chatmend.changes import Effect, Fix
from chatmend.dialects.pictures import Picture, picture, redrawn, told
from chatmend.images.defects import Defect
from chatmend.rules import image_words as words
from chatmend.rules.rule import Keyed
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


@dataclass(frozen=True, slots=True)
class Mended:
    """What a rule makes of one image."""

    parts: tuple[Part, ...]
    why: str
    effect: Effect
    finding: bool = False
    """The image is reported and stays."""


@dataclass(slots=True)
class Walk:
    """The parts of one message on their way through a rule, up to an effect."""

    mend: Callable[[Media, str], Mended | None]
    allow: Effect
    done: list[Mended] = field(default_factory=list)
    findings: list[Mended] = field(default_factory=list)

    def parts(self, parts: tuple[Part, ...], role: str) -> tuple[Part, ...]:
        """The parts with their images mended; the same tuple when none was."""
        out: list[Part] = []
        for part in parts:
            if isinstance(part, ToolResult):
                content = self.parts(part.content, "tool")
                out.append(part if content is part.content else replace(part, content=content))
                continue
            mended = self.mend(part, role) if isinstance(part, Media) else None
            if mended is not None and mended.finding:
                self.findings.append(mended)
            if mended is None or mended.finding or mended.effect > self.allow:
                out.append(part)
                continue
            self.done.append(mended)
            out += mended.parts
        same = len(out) == len(parts) and all(a is b for a, b in zip(out, parts, strict=True))
        return parts if same else tuple(out)


def each_image(window: Window, context: Context, mend: Callable[[Media, str], Mended | None]) -> Iterator[Fix]:
    """One fix a message for the images that ``mend`` changes; others, to be left, for what is not allowed or is a finding.

    ``mend`` gets the image and the role that it is seen in: ``tool`` inside a tool result.
    """
    for at in _pictured(window):
        message = window.messages[at]
        for allow in sorted({min(context.policy.allow, Effect.DROPS), Effect.DROPS}):
            walk = Walk(mend, allow)
            parts = walk.parts(message.parts, message.role)
            worst = max((mended.effect for mended in walk.done), default=Effect.RESHAPES)
            if walk.done and (allow <= context.policy.allow or worst > context.policy.allow):
                yield Fix(at, at + 1, (_with(message, parts),), _joined(walk.done), worst)
        if walk.findings:
            yield Fix(at, at + 1, (message,), _joined(walk.findings), walk.findings[0].effect, finding=True)


def _pictured(window: Window) -> list[int]:
    """The places of the messages that hold images or files: ten rules ask, and most windows hold none."""
    if window.pictured is None:
        window.pictured = [at for at, message in enumerate(window.messages) if _holds_media(message.parts)]
    return window.pictured


def _holds_media(parts: tuple[Part, ...]) -> bool:
    return any(
        isinstance(part, Media) or (isinstance(part, ToolResult) and _holds_media(part.content)) for part in parts
    )


def _with(message: Message, parts: tuple[Part, ...]) -> Message:
    return replace(message, parts=parts)


def _joined(done: list[Mended]) -> str:
    """The reasons, each once, in order."""
    return "; ".join(dict.fromkeys(mended.why for mended in done))


def recompress(window: Window, context: Context, defect: Defect) -> Iterator[Fix]:
    """Recompress every image whose first defect this is; what cannot be saved becomes a text that says so."""

    def mend(part: Media, role: str) -> Mended | None:
        found = picture(part.extra)
        if found is None or found.payload is None:
            return None
        probe = probed(window, found.payload)
        first = images.diagnose(probe, context.limits.images, found.payload.text_size, found.detail)
        if first is Defect.UNEXAMINED and defect is Defect.UNREADABLE and context.limits.images != ImageLimits():
            why = f"{probe.described}: its header takes more steps to read than its bytes justify"
            return Mended((part,), why, Effect.RESHAPES, finding=True)
        return _recompressed(found, part, probe, context) if first is defect else None

    yield from each_image(window, context, mend)


def probed(window: Window, payload: Payload) -> Probe:
    """What an image is; each is looked at once in a window, however many rules ask."""
    key = (id(payload.data), payload.start)
    if key not in window.probes:
        window.probes[key] = (payload.data, payload.probe())
    probe: Probe = window.probes[key][1]
    return probe


def _recompressed(found: Picture, part: Media, probe: Probe, context: Context) -> Mended | None:
    assert found.payload is not None  # noqa: S101 - asked before
    limits = context.limits.images
    wanted = images.plan_for(probe, limits, found.detail)
    problem = wanted if isinstance(wanted, str) else None
    if not isinstance(wanted, str):
        outcome = (context.recompressor or images.common())(found.payload, probe, wanted)
        if outcome.text is not None:
            return _replaced(found, part, probe, outcome, context)
        problem = outcome.problem
        if outcome.unknown and images.is_accepted(probe, limits, found.payload.text_size):
            why = f"{probe.described} is sent unchanged, because the target accepts it: {problem}"
            return Mended((part,), why, Effect.DEGRADES, finding=True)
    text = words.removed(probe, str(problem))
    return Mended((Text(text, told(part.extra, text)),), f"{probe.described}: {problem}", Effect.DROPS)


def _replaced(found: Picture, part: Media, probe: Probe, outcome: Outcome, context: Context) -> Mended:
    native = part.extra
    becomes: list[Part] = [
        replace(part, native=redrawn(native, found, outcome.text or "", images.media_type(outcome.type)))
    ]
    if probe.frames > 1:
        becomes.append(_said(native, words.FIRST_FRAME))
    if context.policy.image_notes and probe.width and outcome.size != probe.shown:
        becomes.append(_said(native, words.scaled(probe.shown, outcome.size)))
    return Mended(tuple(becomes), _account(found, probe, outcome, context), Effect.DEGRADES)


def _said(native: dict[str, Any], text: str) -> Text:
    """Words beside an image, in its dialect, without its cache marker."""
    return Text(text, told({key: value for key, value in native.items() if "cache" not in key}, text))


def _account(found: Picture, probe: Probe, outcome: Outcome, context: Context) -> str:
    """What the image was and is: size, bytes, tokens."""
    limits = context.limits.images
    size = len(outcome.text or "") // 4 * 3
    account = f"{probe.described} became {images.name_of(outcome.type)}, {outcome.size[0]} x {outcome.size[1]}, {images.weight(size)}"
    before = images.tokens(limits, probe.shown, found.detail) if probe.width else None
    after = images.tokens(limits, outcome.size, found.detail)
    if before is not None and after is not None and before > after:
        account += f", about {before - after} of {before} tokens saved"
    return account


_PICTURED = frozenset({"image_url", "source", "inlineData", "inline_data", "image", "data", "base64", "url", "file"})
"""Keys of a part of which an image has one."""


def looks(limits: Limits, traits: Traits) -> Judge | None:
    """What an image is to the rules about images: its form, and its defect."""
    facts = limits.images

    def judge(part: dict[str, Any]) -> object:
        if (found := picture(part)) is None:
            return None
        if found.payload is None or not facts.vision:
            return (found.shape, found.payload is None)
        probe = found.payload.probe()
        defect = images.diagnose(probe, facts, found.payload.text_size, found.detail)
        return (found.shape, defect, images.is_mislabelled(probe, facts, found.payload.label))

    return None if facts == ImageLimits() and limits.roles is None else judge


IMAGES = {"parts": Keyed(_PICTURED, looks)}
"""What the rules about images judge."""
