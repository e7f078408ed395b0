"""Options have one name, one set of values and one error in every adapter, and are checked at construction."""

from __future__ import annotations

import warnings
from dataclasses import fields
from typing import Any

import pytest

import chatmend
from chatmend import Effect, Policy
from chatmend.errors import PolicyError, TargetError
from chatmend.options import (
    POLICY_FIELDS,
    mode_of,
    on_error_of,
    patterns_of,
    policy_with,
    target_of,
)
from chatmend.policy import NAMES, resolve_policy

CLAUDE = "anthropic/claude-sonnet-4-5"
ORPHAN = [
    {"role": "user", "content": "go"},
    {"role": "tool", "tool_call_id": "gone", "content": "42"},
]


def callback(**options: Any) -> Any:
    pytest.importorskip("litellm")
    from chatmend.litellm import ChatMend  # noqa: PLC0415 - only where LiteLLM is installed

    return ChatMend(**options)


def model(**options: Any) -> Any:
    core = pytest.importorskip("langchain_core.language_models")
    from chatmend.langchain import mend  # noqa: PLC0415 - only where LangChain is installed

    return mend(core.FakeListChatModel(responses=["x"]), **options)


def middleware(**options: Any) -> Any:
    pytest.importorskip("langchain.agents.middleware")
    from chatmend.langchain import RepairMiddleware  # noqa: PLC0415 - as above

    return RepairMiddleware(**options)


def transformer(**options: Any) -> Any:
    pytest.importorskip("langchain_core")
    from chatmend.langchain import repair_messages  # noqa: PLC0415 - as above

    return repair_messages(**{"target": CLAUDE, **options})


def node(**options: Any) -> Any:
    pytest.importorskip("langchain_core")
    from chatmend.langchain import repair_node  # noqa: PLC0415 - as above

    return repair_node(options.pop("target", CLAUDE), **options)


ADAPTERS = [callback, model, middleware, transformer, node]
WITH_MODE = [callback, model, middleware]
WITH_TARGET = [model, middleware, transformer, node]


@pytest.mark.parametrize("make", ADAPTERS)
@pytest.mark.parametrize(
    "policy", [None, Policy.offline(), *NAMES, {"orphans": "drop", "allow": "adds"}]
)
def test_a_policy_may_be_an_object_a_name_or_fields(make: Any, policy: Any) -> None:
    make(policy=policy)


@pytest.mark.parametrize("make", ADAPTERS)
@pytest.mark.parametrize(
    "policy", ["strict", 7, ["offline"], {"orphan": "drop"}, {"orphans": "burn"}, {"allow": "all"}]
)
def test_a_policy_that_does_not_exist_is_refused_at_construction(make: Any, policy: Any) -> None:
    with pytest.raises(PolicyError, match=r"strict_alternation|choose one of|the fields are turns"):
        make(policy=policy)


@pytest.mark.parametrize("make", ADAPTERS)
def test_on_error_has_the_same_values_everywhere(make: Any) -> None:
    make(on_error="pass")
    make(on_error="raise")
    with pytest.raises(PolicyError, match="on_error='send' is invalid; choose 'pass' or 'raise'"):
        make(on_error="send")


@pytest.mark.parametrize("make", WITH_MODE)
def test_mode_has_the_same_values_everywhere(make: Any) -> None:
    make(mode="repair")
    make(mode="report")
    with pytest.raises(PolicyError, match="mode='dry_run' is invalid; choose 'repair' or 'report'"):
        make(mode="dry_run")


@pytest.mark.parametrize("make", WITH_TARGET)
def test_a_misspelt_target_is_refused_at_construction(make: Any) -> None:
    make(target=CLAUDE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of the limits of an unknown server, which are not used
        with pytest.raises(TargetError, match="no table for 'antropic'; did you mean 'anthropic'"):
            make(target="antropic/claude-sonnet-4-6")


@pytest.mark.parametrize(
    ("value", "patterns"),
    [
        ((), ()),
        ("", ()),
        ("internal-*", ("internal-*",)),
        ("a-*, b ,", ("a-*", "b")),
        (["a,b", " c "], ("a,b", "c")),
        (iter(("x",)), ("x",)),
    ],
)
def test_patterns_are_a_list_or_one_text(value: Any, patterns: tuple[str, ...]) -> None:
    assert patterns_of("deny", value) == patterns


@pytest.mark.parametrize("value", [7, None, b"x", {"a": 1}, [None], ["a", 3]])
def test_other_patterns_are_refused_with_the_name_of_the_option(value: Any) -> None:
    with pytest.raises(PolicyError, match=r"^deny"):
        patterns_of("deny", value)


def test_a_text_denies_what_it_names_and_nothing_else() -> None:
    one = callback(deny="internal-*", allow="internal-*,openai/*")
    assert one.treatment_of({}, "openai/gpt-4o").mode == "repair"
    assert one.treatment_of({}, "internal-a").mode == "off"
    assert one.treatment_of({}, "anthropic/claude-sonnet-4-5").mode == "off"


def test_the_core_takes_the_name_of_a_policy_too() -> None:
    by_name = chatmend.repair(ORPHAN, CLAUDE, policy="drop_instead_of_note")
    assert (
        by_name.messages
        == chatmend.repair(ORPHAN, CLAUDE, policy=Policy.drop_instead_of_note()).messages
    )
    assert chatmend.check(ORPHAN, CLAUDE, policy="drop_instead_of_note") == chatmend.check(
        ORPHAN, CLAUDE, policy=Policy.drop_instead_of_note()
    )
    body = {"model": "m", "messages": ORPHAN}
    assert (
        chatmend.repair_request(body, CLAUDE, policy="drop_instead_of_note").body["messages"]
        == by_name.messages
    )
    with pytest.raises(
        PolicyError, match=r"policy: .ofline. is not a policy; pass a chatmend\.Policy, one of"
    ):
        chatmend.repair(ORPHAN, CLAUDE, policy="ofline")


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_that_of_a_policy(name: str) -> None:
    assert resolve_policy(name) == getattr(Policy, name)()
    assert resolve_policy(name) != Policy()


def test_an_effect_may_be_named_in_either_case_or_given() -> None:
    for allow in ("adds", "ADDS", Effect.ADDS):
        assert resolve_policy({"allow": allow}) == Policy(allow=Effect.ADDS)


def test_values_are_returned_as_they_are() -> None:
    assert (on_error_of("raise"), mode_of("report"), target_of(None), target_of(CLAUDE)) == (
        "raise",
        "report",
        None,
        CLAUDE,
    )


def test_texts_set_fields_on_top_of_a_policy() -> None:
    assert policy_with(None, []) is None
    assert policy_with("offline", []) == Policy.offline()
    assert policy_with(None, ["image_notes=TRUE", "allow=Adds"]) == Policy(
        image_notes=True, allow=Effect.ADDS
    )
    assert policy_with(Policy.offline(), ["duplicates=results"]) == Policy(late_results="move")
    assert policy_with(None, ["turns=insert", "turns=merge"]) == Policy()


@pytest.mark.parametrize("field", [field.name for field in fields(Policy)])
def test_every_field_can_be_set_by_a_text(field: str) -> None:
    made = {
        getattr(policy_with(None, [f"{field}={value}"]), field) for value in POLICY_FIELDS[field]
    }
    assert len(made) == len(POLICY_FIELDS[field]) >= 2


@pytest.mark.parametrize("value", ["no", "maybe", None, 2])
def test_a_field_that_is_true_or_false_takes_nothing_else(value: Any) -> None:
    with pytest.raises(PolicyError, match=r"image_notes=.*: choose one of False, True"):
        Policy(image_notes=value)
