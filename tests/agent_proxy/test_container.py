"""The Dockerfile and the Compose file fit the command and the package. Nothing builds the image here."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from chatmend.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
SERVICE = yaml.safe_load((ROOT / "docker/compose.yaml").read_text("utf-8"))["services"]["chatmend"]
LINES = (ROOT / "docker/Dockerfile").read_text("utf-8").splitlines()


def options_of_the_command() -> set[str]:
    command = get_command(app).commands["proxy"]  # type: ignore[attr-defined]
    return {name for parameter in command.params for name in parameter.opts}


def arguments_of(instruction: str) -> list[str]:
    [line] = [line for line in LINES if line.startswith(f"{instruction} ")]
    found: list[str] = json.loads(line.partition(" ")[2])
    return found


def test_the_arguments_are_options_of_the_command() -> None:
    program, command, *arguments = arguments_of("ENTRYPOINT")
    assert (program, command) == ("chatmend", "proxy")
    for argument in [*arguments, *SERVICE["command"]]:
        assert not argument.startswith("-") or argument in options_of_the_command()


def test_the_image_installs_extras_that_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    [extras] = re.findall(r"chatmend\[([\w,-]+)\]", "\n".join(LINES))
    assert set(extras.split(",")) <= set(project["optional-dependencies"])


def test_the_port_is_the_one_of_the_command_and_only_open_on_this_machine() -> None:
    assert SERVICE["ports"] == ["127.0.0.1:4000:4000"]
    assert "EXPOSE 4000" in LINES
    assert (ROOT / "docker" / SERVICE["build"] / "Dockerfile").is_file()


@pytest.mark.parametrize("instruction", ["FROM", "USER", "ENTRYPOINT"])
def test_the_image_has_a_base_a_user_without_rights_and_a_command(instruction: str) -> None:
    assert sum(line.startswith(f"{instruction} ") for line in LINES) == 1
    assert "USER nobody" in LINES
