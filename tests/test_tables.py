"""Every table of facts holds what its types say, and an error names file, key and allowed values."""

from __future__ import annotations

from pathlib import Path

import pytest

import chatmend
from tests.tables import Conversions, faults

SOURCE = Path(chatmend.__file__).parent
GOOD = """host = "acme"
names = ["acme"]

[limits]
alternation = {{ value = {}, source = "documented: Acme chat", checked = 2026-11-22 }}
{} = {{ value = {}, source = "documented: Acme chat", checked = 2026-11-22 }}
"""


@pytest.mark.parametrize(
    "path",
    sorted((SOURCE / "targets").glob("*/*.toml")),
    ids=lambda path: f"{path.parent.name}/{path.name}",
)
def test_a_table_of_a_target_is_valid(path: Path) -> None:
    assert faults(path) == []


def test_the_table_of_litellms_conversion_is_valid() -> None:
    assert faults(SOURCE / "litellm" / "conversion.toml", Conversions) == []


def found(
    folder: Path, alternation: str = "true", key: str = "first_user", value: str = "true"
) -> list[str]:
    path = folder / "acme.toml"
    path.write_text(GOOD.format(alternation, key, value), encoding="utf-8")
    return faults(path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("first_user", "false"),
        ("max_call_id_length", "12"),
        ("max_call_id_length", '"none"'),
        ("call_id_pattern", '"^[a-z]+$"'),
        ("roles", '["system", "user", "assistant", "tool"]'),
        ("null_content", '["user", "assistant+calls"]'),
        ("system", '"after-user"'),
    ],
)
def test_a_value_of_the_right_type_is_no_fault(tmp_path: Path, key: str, value: str) -> None:
    assert found(tmp_path, key=key, value=value) == []


@pytest.mark.parametrize(
    ("key", "value", "fault"),
    [
        (
            "first_user",
            '"no"',
            "acme.toml: limits.first_user.value: Input should be a valid boolean, not 'no'",
        ),
        (
            "first_user",
            "1",
            "acme.toml: limits.first_user.value: Input should be a valid boolean, not 1",
        ),
        ("roles", '"user"', "limits.roles.value"),
        (
            "roles",
            '["user", "robot"]',
            "value[1]: Input should be 'system', 'developer', 'user', 'assistant', 'tool', 'function' or 'model', not",
        ),
        (
            "system",
            '"somewhere"',
            "should be 'anywhere', 'leading', 'first', 'after-user', 'not-after-reply' or 'never', not 'somewhere'",
        ),
        ("max_call_id_length", "-1", "greater than or equal to 0, not -1"),
        ("max_call_id_length", '"many"', "limits.max_call_id_length.value"),
        ("call_id_pattern", '"[a-z"', "limits.call_id_pattern.value"),
        ("first_usr", "true", "acme.toml: limits.first_usr: Extra inputs are not permitted"),
    ],
)
def test_a_wrong_value_is_named_with_file_key_and_what_is_allowed(
    tmp_path: Path, key: str, value: str, fault: str
) -> None:
    wrong = found(tmp_path, key=key, value=value)
    assert wrong
    assert any(fault in one for one in wrong), wrong


def test_a_truthy_text_is_no_boolean(tmp_path: Path) -> None:
    assert found(tmp_path, alternation='"no"') == [
        "acme.toml: limits.alternation.value: Input should be a valid boolean, not 'no'"
    ]


def test_a_fact_needs_a_source_and_a_date(tmp_path: Path) -> None:
    path = tmp_path / "acme.toml"
    path.write_text(
        'host = "acme"\nnames = ["acme"]\n[limits]\nalternation = { value = true }\n', "utf-8"
    )
    assert [one.rpartition(", not ")[0] for one in faults(path)] == [
        "acme.toml: limits.alternation.source: Field required",
        "acme.toml: limits.alternation.checked: Field required",
    ]


def test_a_file_that_is_not_toml_is_named(tmp_path: Path) -> None:
    path = tmp_path / "acme.toml"
    path.write_text("host = acme", "utf-8")
    assert faults(path)[0].startswith("acme.toml: not TOML: Invalid value (at line 1, column 8)")
