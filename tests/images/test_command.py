"""``chatmend image``: shows, writes, and draws a sheet."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from PIL import Image

from chatmend.images import probe_image
from tests.images.pictures import samples

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result

pytest.importorskip("typer")


def run(*arguments: str | Path) -> Result:
    from typer.testing import CliRunner  # noqa: PLC0415

    from chatmend.cli import app  # noqa: PLC0415 - it needs typer

    return CliRunner().invoke(app, ["image", *map(str, arguments)])


def test_an_image_is_shown_before_and_after_with_its_tokens_and_written(tmp_path: Path) -> None:
    source = tmp_path / "photo.png"
    source.write_bytes(samples()["photo as png"].data)
    done = run(source, "--target", "anthropic/claude-sonnet-4-5", "--out", tmp_path / "out")
    assert done.exit_code == 0, done.stderr
    assert "PNG, 2200 x 1500, 6.5 MB, about 1551 tokens; becomes WebP, 2000 x 1363" in done.stdout
    assert probe_image((tmp_path / "out" / "photo.webp").read_bytes()).display_size == (2000, 1363)


def test_a_legal_image_is_written_byte_for_byte(tmp_path: Path) -> None:
    source = tmp_path / "a.png"
    source.write_bytes(samples()["screenshot"].data)
    done = run(source, "-t", "openai/gpt-4o", "--out", tmp_path / "out")
    assert "; unchanged" in done.stdout
    assert (tmp_path / "out" / "a.png").read_bytes() == samples()["screenshot"].data


def test_a_tall_page_is_scaled_with_a_hint_at_the_tiles_of_a_message(tmp_path: Path) -> None:
    source = tmp_path / "page.png"
    source.write_bytes(samples()["tall page"].data)
    done = run(source, "-t", "anthropic/claude-sonnet-4-5")
    assert "400 x 2000" in done.stdout
    assert "; in a message, repair cuts it into tiles" in done.stdout
    done = run(source, "-t", "anthropic/claude-sonnet-4-5", "--set", "tall=scale")
    assert "tiles" not in done.stdout


def test_a_contact_sheet_shows_each_before_and_after(tmp_path: Path) -> None:
    for name in ("large photo", "orientation 6"):
        (tmp_path / f"{name}.jpg").write_bytes(samples()[name].data)
    done = run(*tmp_path.glob("*.jpg"), "-t", "anthropic", "--sheet", tmp_path / "sheet.png")
    assert done.exit_code == 0, done.stderr
    with Image.open(io.BytesIO((tmp_path / "sheet.png").read_bytes())) as sheet:
        assert sheet.size == (840, 2 * 460)
        assert len(set(sheet.getcolors(1 << 20) or [])) > 1000


def test_what_cannot_be_read_is_named_and_the_status_says_so(tmp_path: Path) -> None:
    (tmp_path / "bad.png").write_bytes(samples()["truncated png"].data)
    done = run(tmp_path / "bad.png", tmp_path / "absent.png", "-t", "anthropic")
    assert done.exit_code == 2
    assert "it cannot be decoded" in done.stderr
    assert "absent.png: could not be read" in done.stderr


def test_a_misspelt_target_stops_before_any_file_is_read(tmp_path: Path) -> None:
    done = run(tmp_path / "absent.png", "-t", "antropic/claude-sonnet-4-5")
    assert done.exit_code == 2
    assert "did you mean 'anthropic'" in done.stderr
    assert "absent" not in done.stderr


def test_a_name_of_control_characters_reaches_no_terminal(tmp_path: Path) -> None:
    done = run(tmp_path / "a\x1b[31m.png", "-t", "anthropic")
    assert done.exit_code == 2
    assert "could not be read" in done.stderr
    assert "\x1b" not in done.stderr
