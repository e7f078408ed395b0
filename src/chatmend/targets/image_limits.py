"""What a target accepts and refuses in images. The defaults refuse nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ImageType = Literal["jpeg", "png", "gif", "webp", "bmp", "tiff", "heic", "avif", "ico"]
"""Image types, named as in ``Probe.type``."""
KEPT_SHARE = 0.75
"""The share of a request's limit that is used after images were removed because it was exceeded.

The tiles of one image use at most this share of the number of images and of the bytes.
"""


@dataclass(frozen=True, slots=True)
class ImageLimits:
    """The limits of images that rules check, and how the target scales and bills images."""

    native: bool = False
    """Images are scaled to exactly the size that the model sees (``Policy(images="native")``).

    The caller sets this; it is not a limit of a provider.
    """
    tall: Literal["tile", "scale"] = "tile"
    """Whether an illegible tall or wide image is cut into tiles or only scaled (``Policy.tall``).

    The caller sets this; it is not a limit of a provider.
    """
    metadata: Literal["keep", "strip"] = "keep"
    """Whether the metadata of images is removed (``Policy.metadata``).

    The caller sets this; it is not a limit of a provider.
    """

    # Where
    vision: bool = True
    """The model accepts images."""
    roles: frozenset[Literal["system", "user", "assistant", "tool"]] | None = None
    """The provider accepts images only in messages of these roles; None: of any role.

    An image in a tool result has the role ``tool``, in all wire formats.
    """
    error_results: bool = True
    """The provider accepts not only texts in a tool result that is marked as an error."""

    # What
    types: frozenset[ImageType] | None = None
    """The provider accepts only images of these types; None: any type."""
    written: frozenset[ImageType] = frozenset({"jpeg", "png"})
    """Image types that chatmend may recompress to for this provider."""
    label_checked: Literal["no", "types", "bytes"] = "no"
    """How the provider checks the media type that a request states for an image.

    - ``no``: any media type is accepted
    - ``types``: it must be one of the accepted types
    - ``bytes``: it must be the type of the image's bytes
    """
    label_spelling: Literal["any", "lower", "exact"] = "any"
    """How a request must write the media type of an image or a document.

    - ``any``: capital letters and parameters are accepted (``image/PNG``, ``image/png;name=a``)
    - ``lower``: it must be in lower case
    - ``exact``: it must be in lower case and have no parameters
    """
    strict_base64: bool = False
    """The provider requires standard base64: on one line, padded, not in the URL-safe alphabet."""
    decoded: bool = False
    """The provider refuses an image that cannot be decoded: empty, truncated or corrupt."""
    animation: bool = True
    """The provider accepts GIF and WebP images with several frames."""
    orientation: bool = True
    """The provider applies the EXIF orientation, so that the model sees the image upright."""
    plain_only: bool = False
    """The provider cannot reliably decode images in CMYK or with more than 8 bits per channel."""

    # How large: what is refused
    max_bytes: int | None = None
    """The provider refuses an image that is larger, in bytes counted as ``bytes_of`` says."""
    bytes_of: Literal["base64", "raw"] = "base64"
    """What the provider counts for ``max_bytes``: the ``base64`` text or the ``raw`` file."""
    min_side: int = 1
    """The provider refuses an image whose shorter side is smaller, in pixels."""
    max_side: int | None = None
    """The provider refuses an image whose longer side is larger, in pixels.

    If the limit depends on the number of images, this is the one for many images: later messages
    may add more.
    """
    few_images: int | None = None
    """A request with at most this many images may hold images with sides up to ``few_side``."""
    few_side: int | None = None
    """Limit of the longer side, in pixels, in requests with at most ``few_images`` images."""
    max_pixels: int | None = None
    """The provider refuses an image with more pixels (width x height)."""
    max_aspect: int | None = None
    """The provider refuses an image whose longer side is more than this many times the shorter."""

    # How large: what the model does not see. The provider accepts such an image, so these limits
    # apply only to images that have to be scaled for another reason.
    useful_side: int | None = None
    """The provider scales an image down if its longer side is larger, in pixels."""
    useful_pixels: int | None = None
    """The provider scales an image down if it has more pixels (width x height)."""

    # How many: one request
    max_images: int | None = None
    """The provider refuses a request with more images."""
    max_request_bytes: int | None = None
    """The provider refuses a request whose body is larger, in bytes."""

    # What the model sees, and what that costs
    scales: Literal["unknown", "edge", "patches", "tiles", "whole-patches"] = "unknown"
    """How the provider scales images down before the model sees them.

    - ``unknown``: the provider does not document it
    - ``edge``: the longer side to ``seen_side``
    - ``patches``: to the largest size within ``seen_side`` and ``max_patches`` patches of
      ``patch`` pixels
    - ``tiles``: the longer side to ``seen_side``, then the shorter side to ``short_side``
    - ``whole-patches``: the longer side to ``seen_side``, then until whole patches of ``patch``
      pixels are at most ``max_patches``
    """
    seen_side: int | None = None
    """The longer side, in pixels, of the largest image that the model sees."""
    short_side: int | None = None
    """The shorter side, in pixels, of the largest image that the model sees (``tiles``)."""
    patch: int = 28
    """The side, in pixels, of the square patches in which the provider counts an image."""
    max_patches: int | None = None
    """The number of patches of the largest image that the model sees."""
    low_side: int | None = None
    """The longer side, in pixels, that the model sees of an image with ``detail: low``.

    None: the provider has no such option.
    """
    counts: Literal["unknown", "patches", "tiles", "crops", "flat"] = "unknown"
    """How the provider counts the tokens of an image.

    - ``unknown``: the provider does not document it
    - ``patches``: ``tokens_each`` per patch of ``patch`` pixels
    - ``tiles``: ``tokens_base``, and ``tokens_each`` per tile of ``tile`` pixels
    - ``crops``: ``tokens_each`` per crop of at most ``tile`` pixels; a small image is one crop
    - ``flat``: ``tokens_base`` for every image
    """
    tile: int = 512
    """The side, in pixels, of the square tiles or crops in which the provider counts an image."""
    tokens_base: int = 0
    """Tokens that every image costs, in addition to its tiles."""
    tokens_each: float = 1.0
    """Tokens that each patch, tile or crop of an image costs."""
