"""Options of the proxy callback, from the environment and from YAML."""

from __future__ import annotations

import base64
import io
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image

import chatmend
from chatmend import Effect, Policy, PolicyError
from chatmend.litellm import SharedImages
from chatmend.litellm.guardrail import Guardrail
from chatmend.litellm.settings import OPTIONS, from_environment, from_section
from chatmend.litellm.starting import start_line
from chatmend.options import Override

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CONFIG", "MODE", "ON_ERROR", "ALLOW", "DENY", "POLICY", "USAGE", "IMAGE_MEMORY"):
        monkeypatch.delenv(f"CHATMEND_{name}", raising=False)


def test_without_options_the_defaults_apply() -> None:
    callback = from_environment()
    assert (callback.mode, callback.on_error, callback.allow, callback.deny, callback.policy) == (
        "repair",
        "pass",
        (),
        (),
        None,
    )


def test_an_environment_variable_overrides_the_section_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(
        "chatmend:\n  mode: report\n  allow: ['openai/*']\n  policy: {orphans: drop, allow: adds}\n"
    )
    monkeypatch.setenv("CHATMEND_CONFIG", str(file))
    monkeypatch.setenv("CHATMEND_ALLOW", "anthropic/*, gemini/*")
    callback = from_environment()
    assert callback.mode == "report"
    assert callback.allow == ("anthropic/*", "gemini/*")
    assert callback.policy == Policy(orphans="drop", allow=Effect.ADDS)


@pytest.mark.parametrize("location", ["body", "hidden", "off"])
def test_the_usage_option_is_read_from_the_section_and_the_environment(
    location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert from_section({"usage": location}).usage_mode == location
    monkeypatch.setenv("CHATMEND_USAGE", location)
    assert from_environment().usage_mode == location


def test_the_line_at_startup_describes_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    callback = from_section(
        {"allow": "openai/*, gemini/*", "deny": ["*-mini"], "policy": "offline", "mode": "report"}
    )
    line = start_line(callback, disabled=True)
    expected = "mode report, policy offline, models openai/*, gemini/* except *-mini"
    assert line == f"chatmend {version('chatmend')} (disabled by CHATMEND_DISABLED): {expected}"
    fields = from_section({"policy": {"orphans": "drop", "allow": "adds"}})
    assert "policy orphans=drop allow=adds, models all" in start_line(fields, disabled=False)


def test_nothing_is_printed_outside_of_a_proxy(capsys: pytest.CaptureFixture[str]) -> None:
    from_environment()
    assert capsys.readouterr().out == ""


def test_the_environment_can_name_a_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATMEND_POLICY", "strict_alternation")
    assert from_environment().policy == Policy.strict_alternation()


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ({"modus": "report"}, "unknown options of chatmend: modus"),
        ({"mode": "dry"}, "choose 'repair' or 'report'"),
        ({"usage": "ledger"}, "choose 'body' or 'hidden' or 'off'"),
        ({"policy": "best"}, "one of the names strict_alternation"),
        ({"policy": {"orphan": "drop"}}, "orphan"),
        ({"image_memory": "much"}, "image_memory='much': give bytes, or a size"),
        ({"policy": {"orphans": "keep"}}, "choose one of 'note', 'drop'"),
        ({"policy": {"allow": "everything"}}, "choose one of reshapes"),
    ],
)
def test_an_error_in_the_options_names_the_option_and_the_choices(
    section: Any, expected: str
) -> None:
    with pytest.raises(PolicyError, match=expected):
        from_section(section)


def test_the_image_memory_is_given_in_bytes_or_as_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    assert from_section({}).images is None
    out = io.BytesIO()
    Image.new("RGB", (40, 30)).save(out, "BMP")
    url = f"data:image/bmp;base64,{base64.b64encode(out.getvalue()).decode()}"
    messages = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]
    monkeypatch.setenv("CHATMEND_IMAGE_MEMORY", "0.1 KB")
    for callback in (from_section({"image_memory": 100}), from_environment()):
        done = chatmend.repair(messages, "openai/gpt-4o", recompressor=callback.images)
        assert "the budget is 100 bytes" in done.messages[0]["content"][0]["text"]


def test_shared_images_use_the_image_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATMEND_SECRET", "0123456789abcdef")
    images = from_section({"image_memory": "1 GB", "shared_images": True}).images
    assert isinstance(images, SharedImages)
    assert images.memory == 1_000_000_000


def test_a_misspelt_variable_causes_a_warning_with_the_closest_name(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in {"MODE": "repair", "SECRET": "x" * 16, "DISABLED": "0"}.items():
        monkeypatch.setenv(f"CHATMEND_{name}", value)
    from_environment()
    assert caplog.messages == []
    monkeypatch.setenv("CHATMEND_MOD", "report")
    monkeypatch.setenv("CHATMEND_WEATHER", "fine")
    from_environment()
    assert caplog.messages == [
        "chatmend: CHATMEND_MOD has no effect; did you mean CHATMEND_MODE?",
    ]


def test_a_missing_configuration_file_raises_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATMEND_CONFIG", "/nowhere/chatmend.yaml")
    with pytest.raises(PolicyError, match="is not a file"):
        from_environment()


def test_a_section_that_is_not_a_mapping_raises_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("chatmend: [mode, report]\n")
    monkeypatch.setenv("CHATMEND_CONFIG", str(file))
    with pytest.raises(PolicyError, match="a mapping of options"):
        from_environment()


@pytest.mark.parametrize(
    "option", [{"react": 1}, {"usage": "body"}, {"record": True}, {"lessons_file": "x.jsonl"}]
)
def test_a_guardrail_refuses_options_that_need_an_answer(option: dict[str, Any]) -> None:
    with pytest.raises(
        PolicyError, match=f"cannot use {next(iter(option))}.*register the callback"
    ):
        Guardrail(option, guardrail_name="mend")


OVERRIDE = "{keys: ['ops-*'], mode: report, policy: {orphans: drop}}"
VARIABLES: list[tuple[str, str, str, Any]] = [
    ("mode", "report", "mode", "report"),
    ("on_error", "raise", "on_error", "raise"),
    ("allow", "anthropic/*, [ab]*", "allow", ("anthropic/*", "[ab]*")),
    ("deny", "[ab]*", "deny", ("[ab]*",)),
    ("policy", "offline", "policy", Policy.offline()),
    ("policy", "{orphans: drop, allow: adds}", "policy", Policy(orphans="drop", allow=Effect.ADDS)),
    ("usage", "body", "usage_mode", "body"),
    ("react", "2", "react", 2),
    ("sample", "0.1", "sample", 0.1),
    ("trusted_keys", "ops-*, x", "trusted_keys", ("ops-*", "x")),
    (
        "overrides",
        f"[{OVERRIDE}]",
        "overrides",
        (Override(keys=("ops-*",), mode="report", policy=Policy(orphans="drop")),),
    ),
]
OTHER_VARIABLES = {
    "record": "{folder}/sessions",
    "lessons_file": "{folder}/lessons.jsonl",
    "session_memory": "all",
    "shared_memory": "60",
    "shared_images": "true",
    "image_memory": "1 GB",
    "switch_file": "{folder}/off",
    "reload": "true",
}
"""Options whose effect is not an attribute of the callback."""


@pytest.mark.parametrize(("option", "text", "attribute", "value"), VARIABLES)
def test_a_variable_sets_its_option(
    option: str, text: str, attribute: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"CHATMEND_{option.upper()}", text)
    assert getattr(from_environment(), attribute) == value


@pytest.mark.parametrize(("option", "text"), OTHER_VARIABLES.items())
def test_every_other_variable_is_valid(
    option: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("chatmend: {mode: report}\n")
    monkeypatch.setenv("CHATMEND_CONFIG", str(file))
    monkeypatch.setenv("CHATMEND_SECRET", "0123456789abcdef")
    monkeypatch.setenv(f"CHATMEND_{option.upper()}", text.format(folder=tmp_path))
    assert from_environment().mode == "report"


def test_all_options_are_tested_as_variables() -> None:
    assert {option for option, *_ in VARIABLES} | set(OTHER_VARIABLES) == set(OPTIONS)


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("policy", "{orphans: drop"),
        ("overrides", "[{keys: ["),
        ("overrides", "ops-*"),
        ("overrides", "[{color: red}]"),
    ],
)
def test_an_invalid_variable_is_refused_with_an_example_or_the_fields(
    option: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"CHATMEND_{option.upper()}", text)
    with pytest.raises(PolicyError, match=r"such as|the fields are"):
        from_environment()
