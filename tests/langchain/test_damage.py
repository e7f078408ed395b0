"""Every broken history, with every model and adapter: the sandbox accepts the repaired request.

The history of the caller is unchanged.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

pytest.importorskip("langchain_core")
from chatmend.langchain import mend, repair_messages
from tests.langchain.configurations import CONFIGURATIONS
from tests.langchain.damage import DAMAGE, VALID
from tests.langchain.test_dialect import state
from tests.scale import sampled

HISTORIES = list(product(DAMAGE, CONFIGURATIONS))


def look(at: str) -> str:
    """Look at a place."""
    return f"18 degrees in {at}"


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_the_request_of_the_bare_model_is_refused(sandbox: Any, name: str) -> None:
    with pytest.raises(Exception, match="400"):
        CONFIGURATIONS[name].model(sandbox).invoke(DAMAGE["one of two calls unanswered"])


@pytest.mark.parametrize(("row", "name"), sampled(HISTORIES, HISTORIES[::3]))
def test_the_request_of_the_wrapped_model_is_accepted(sandbox: Any, name: str, row: str) -> None:
    messages = DAMAGE[row]
    before = state(messages)
    model = mend(CONFIGURATIONS[name].model(sandbox), on_error="raise")
    answer = model.invoke(messages)
    assert answer.content
    assert not sandbox.refusals
    assert model.bind_tools([look]).invoke(messages).response_metadata
    assert not sandbox.refusals
    assert state(messages) == before


@pytest.mark.parametrize(("row", "name"), sampled(HISTORIES, HISTORIES[::3]))
def test_the_request_of_the_transformer_with_a_bare_model_is_accepted(
    sandbox: Any, name: str, row: str
) -> None:
    configuration = CONFIGURATIONS[name]
    chain = repair_messages(target=configuration.target, on_error="raise") | configuration.model(
        sandbox
    ).bind_tools([look])
    assert chain.invoke(DAMAGE[row]).response_metadata
    assert not sandbox.refusals


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_valid_history_is_sent_as_the_bare_model_sends_it(sandbox: Any, name: str) -> None:
    model = CONFIGURATIONS[name].model(sandbox).bind_tools([look])
    model.invoke(VALID)
    answer = mend(model, on_error="raise").invoke(VALID)
    bare, wrapped = (verdict.body for verdict in sandbox.requests)
    assert bare == wrapped
    assert "chatmend" not in answer.response_metadata
