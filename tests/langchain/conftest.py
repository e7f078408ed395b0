"""The sandbox for the LangChain tests, the tables of botocore, and tests that old versions cannot pass."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import pytest

from chatmend_pytest import sandbox, sandbox_server

if TYPE_CHECKING:
    from collections.abc import Iterator

OLD = {
    "test_events_of_protocol_v3_are_accepted": "langchain-core 1.0 has no stream_events",
    "test_audio_is_refused_for_a_model_whose_profile": "langchain-core 1.0 has no profiles",
    "test_the_destination_of_a_changed_model_is_computed_again[profile": (
        "langchain-core 1.0 has no profiles"
    ),
    "test_results_in_a_function_message_answer_their_calls": (
        "langchain-aws 1.0 has no ChatAnthropicBedrock"
    ),
    "test_partial_counts_are_summed": "langchain-aws 1.0 has no ChatAnthropicBedrock",
    "is_accepted[responses items-openai]": "langchain-openai 1.0 sends items as parts of a chat",
    "test_a_patch_without_its_output": "langchain-openai 1.0 drops patches",
    "test_a_patch_with_its_output": "langchain-openai 1.0 drops patches",
    "test_a_change_of_an_item_is_reported": "langchain-openai 1.0 drops patches",
    "stays_enabled_behind_its_own_thinking[block3]": "langchain-aws 1.0 drops redacted thinking",
    "test_a_withdrawn_call_in_the_content": "langchain-aws 1.0 sends calls of other providers",
    "test_a_repeated_call_that_bedrock": "langchain-aws 1.0 sends calls of other providers",
    "another_opening_is_found_by_its_messages[summary]": "langchain 1.0 names the options otherwise",
    "test_a_result_whose_id_the_class_replaces": "langchain-anthropic 1.0 sends every id unchanged",
    "test_the_marker_of_the_whole_request": "langchain-anthropic 1.0 marks the last message",
    "own_format_is_unchanged[block0": "langchain-aws 1.0 cannot send non_standard",
    "own_format_is_unchanged[block1": "langchain-aws 1.0 cannot send non_standard",
    "test_a_cache_point_in_a_result": "langchain-aws 1.0 cannot send non_standard",
    "test_a_hosted_tool_of_bedrock_with_its_result": "langchain-aws 1.0 raises for hosted tools",
    "bill[openai-responses-cached]": "langchain-openai 1.0 drops cache writes",
    "none_is_lost[azure-written]": "langchain-openai 1.0 drops cache writes",
    "none_is_lost[xai-responses-cached]": "langchain-openai 1.0 drops cache writes",
    "counted_once[openai-written": "langchain-openai 1.0 drops cache writes",
    "bill[groq-cached]": "langchain-groq 1.0 drops the details of a stream",
    "none_is_lost[groq-cached]": "langchain-groq 1.0 drops the details of a stream",
    "none_is_lost[anthropic-5m and 1h]": "langchain-anthropic 1.0 drops reasoning tokens",
}
"""Parts of the names of tests, with what the oldest supported packages lack or cannot send."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests that need newer packages, with the reason."""
    try:
        is_old = version("langchain-core").startswith("1.0.")
    except PackageNotFoundError:
        return
    for item in items if is_old else ():
        for part, reason in OLD.items():
            if part in item.nodeid:
                item.add_marker(pytest.mark.skip(reason=reason))


__all__ = ["sandbox", "sandbox_server"]


@pytest.fixture(scope="session", autouse=True)
def _tables_of_botocore() -> Iterator[None]:
    """Read each table of botocore once; every model of ``langchain_aws`` would read 2 MB of them again."""
    try:
        from botocore.loaders import JSONFileLoader  # noqa: PLC0415 - not in every environment
    except ImportError:
        yield
        return
    load = cache(JSONFileLoader().load_file)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(JSONFileLoader, "load_file", lambda _, path: load(path))
        yield
