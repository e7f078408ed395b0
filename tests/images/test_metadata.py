"""Metadata is removed without changing a pixel, and only if the policy asks for it."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image, ImageCms, PngImagePlugin
from typer.testing import CliRunner

import chatmend
from chatmend.cli.app import app
from chatmend.images.metadata import strip_metadata
from tests.images.pictures import noise

if TYPE_CHECKING:
    from pathlib import Path

VLLM, CLAUDE = "hosted_vllm/x", "anthropic/claude-sonnet-4-5"
SECRET = b"a-secret-of-mine"
STRIP = {"metadata": "strip"}


def saved(form: str, orientation: int = 1, **options: Any) -> bytes:
    """A small image with EXIF data, GPS, and a colour profile."""
    exif = Image.Exif()
    exif[0x010F] = SECRET.decode()
    exif.get_ifd(0x8825)[2] = (51.0, 30.0, 0.0)
    if orientation != 1:
        exif[0x0112] = orientation
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    out = io.BytesIO()
    noise(40, 30).save(out, form, exif=exif, icc_profile=profile, **options)
    return out.getvalue()


def texts() -> PngImagePlugin.PngInfo:
    info = PngImagePlugin.PngInfo()
    info.add_text("prompt", SECRET.decode())
    info.add_itxt("XML:com.adobe.xmp", SECRET.decode(), zip=True)
    return info


def animated() -> bytes:
    out = io.BytesIO()
    frames = [noise(20, 20, seed=seed).quantize(16) for seed in range(3)]
    frames[0].save(
        out, "GIF", comment=SECRET, save_all=True, append_images=frames[1:], loop=0, duration=50
    )
    return out.getvalue()


FILES = {
    "jpeg": saved("JPEG", comment=SECRET) + SECRET,
    "progressive jpeg": saved("JPEG", progressive=True),
    "turned jpeg": saved("JPEG", 6),
    "png": saved("PNG", pnginfo=texts()) + SECRET,
    "turned png": saved("PNG", 8),
    "webp": saved("WEBP", xmp=b"<x>" + SECRET + b"</x>"),
    "turned webp": saved("WEBP", 3),
    "gif": animated(),
}


def part(data: bytes, form: str) -> list[Any]:
    url = f"data:image/{form};base64,{base64.b64encode(data).decode()}"
    return [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]


def sent(messages: list[Any]) -> bytes:
    return base64.b64decode(messages[0]["content"][0]["image_url"]["url"].partition(",")[2])


def pixels(image: Image.Image) -> list[bytes]:
    found = []
    for frame in range(getattr(image, "n_frames", 1)):
        image.seek(frame)
        found.append(image.convert("RGBA").tobytes())
    return found


@pytest.mark.parametrize("name", FILES)
def test_metadata_goes_and_every_pixel_stays(name: str) -> None:
    data, form = FILES[name], name.rsplit(maxsplit=1)[-1]
    stripped = strip_metadata(data, form)
    assert stripped is not None
    assert SECRET not in stripped
    before, after = Image.open(io.BytesIO(data)), Image.open(io.BytesIO(stripped))
    assert pixels(before) == pixels(after)
    assert after.info.get("icc_profile") == before.info.get("icc_profile")
    assert after.info.get("loop") == before.info.get("loop")
    assert after.info.get("duration") == before.info.get("duration")
    kept = dict(after.getexif())
    assert kept == ({0x0112: before.getexif()[0x0112]} if "turned" in name else {})
    assert strip_metadata(stripped, form) is None


def test_by_default_an_image_is_sent_with_its_metadata() -> None:
    messages = part(FILES["progressive jpeg"], "jpeg")
    assert chatmend.repair(messages, VLLM).messages is messages
    assert chatmend.repair(messages, CLAUDE).messages is messages


@pytest.mark.parametrize("target", [VLLM, CLAUDE, "openai/gpt-4.1"])
def test_the_policy_removes_it_from_what_is_sent(target: str) -> None:
    for name in ("progressive jpeg", "png", "webp"):
        messages = part(FILES[name], name.split()[-1])
        done = chatmend.repair(messages, target, policy=STRIP)
        data = sent(done.messages)
        assert SECRET not in data
        assert not Image.open(io.BytesIO(data)).getexif()
        assert chatmend.replay(messages, done.changes) == done.messages
        assert chatmend.repair(done.messages, target, policy=STRIP).messages is done.messages


def test_the_command_for_image_files_removes_it_too(tmp_path: Path) -> None:
    file, out = tmp_path / "a.jpg", tmp_path / "out"
    file.write_bytes(FILES["progressive jpeg"])
    arguments = ["image", str(file), "--target", VLLM, "--set", "metadata=strip", "--out", str(out)]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    (written,) = out.iterdir()
    assert SECRET not in written.read_bytes()


def test_an_image_without_metadata_is_the_same_object() -> None:
    out = io.BytesIO()
    noise(20, 20).save(out, "PNG")
    messages = part(out.getvalue(), "png")
    assert chatmend.repair(messages, CLAUDE, policy=STRIP).messages is messages


def test_a_recompressed_image_has_no_metadata() -> None:
    done = chatmend.repair(part(FILES["turned jpeg"], "jpeg"), CLAUDE)
    data = sent(done.messages)
    assert SECRET not in data
    assert not Image.open(io.BytesIO(data)).getexif()


def test_large_text_chunks_do_not_keep_an_image_from_being_read() -> None:
    info, out = PngImagePlugin.PngInfo(), io.BytesIO()
    info.add_text("bomb", "0" * 70_000_000, zip=True)
    noise(24, 24).save(out, "PNG", pnginfo=info)
    done = chatmend.repair(part(out.getvalue(), "png"), CLAUDE, policy={"images": "native"})
    assert done.messages[0]["content"][0]["type"] == "image_url"
    cut = out.getvalue() + b"\0" * 1000
    done = chatmend.repair(part(cut, "png"), CLAUDE)
    assert done.messages[0]["content"][0]["type"] == "image_url"
    assert len(sent(done.messages)) < 10_000
