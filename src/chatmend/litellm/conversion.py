"""Limits of LiteLLM's own conversion, which are added to the limits of the provider."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from litellm.types.llms.openai import ValidUserMessageContentTypes
from litellm.types.utils import LlmProviders
from litellm.utils import ProviderConfigManager

from chatmend.dialects import server_tools
from chatmend.litellm.quiet import without_prints
from chatmend.litellm.shapes import CHAT, MESSAGES, RESPONSES
from chatmend.targets.resolve import Target, apply_facts, resolve, value_of

if TYPE_CHECKING:
    from chatmend.targets.limits import Limits


@lru_cache(maxsize=1024)
def target_through_litellm(name: str) -> Target:
    """Return a target whose limits include those of LiteLLM's conversion.

    A target that no table describes is returned unchanged.

    Raises:
        TargetError: the name is empty, or is a single word that no table describes.
    """
    target = resolve(name)
    limits, hygiene = target.limits_in(CHAT.dialect), target.limits_in(CHAT.dialect, hygiene=True)
    if limits.roles is None:
        return target
    entries = _entries_for(f"{target.provider}/{target.model}".lower())
    chat: tuple[Limits, Limits] = (
        _with_types_of_users(_without_files_in_results(_apply(limits, entries))),
        _apply(hygiene, entries),
    )
    formats = {CHAT.dialect: chat, RESPONSES.dialect: _responses_limits(target)}
    if _converts_messages(target):
        formats[MESSAGES.dialect] = _messages_limits(target)
    return replace(target, spoken={**target.spoken, **formats})


def _converts_messages(target: Target) -> bool:
    """Return whether LiteLLM converts Anthropic's requests for this target to another format."""
    try:
        provider = LlmProviders(target.provider)
        with without_prints():
            native = ProviderConfigManager.get_provider_anthropic_messages_config(
                model=target.model, provider=provider
            )
    except Exception:  # noqa: BLE001 - it does not know the provider
        return False
    return native is None


def _messages_limits(target: Target) -> tuple[Limits, Limits]:
    """Return the limits of Anthropic's messages, of which LiteLLM drops some blocks silently.

    These are hosted tools and their results, the blocks in the table, documents that are texts or
    stored files, and images of the assistant. Source: litellm 1.106.2,
    ``translate_anthropic_messages_to_openai``; run in 1.110.2.
    """
    name = MESSAGES.dialect
    limits, hygiene = target.limits_in(name), target.limits_in(name, hygiene=True)
    drops_tools = partial(replace, server_tools_paired=True, unserved_tools=server_tools.TOOLS)
    read = resolve("anthropic").limits_in(name)
    dropped, in_results = _dropped_blocks(f"{target.provider}/{target.model}".lower())
    roles = limits.images.roles or frozenset({"system", "user", "tool"})
    limits = replace(
        limits,
        block_types=read.block_types and read.block_types - dropped,
        said_types=read.said_types and read.said_types - dropped,
        file_references=None,
        images=replace(limits.images, roles=roles - {"assistant"}),
    )
    limits = _with_own(limits, "text_documents", value=False)
    limits = _with_own(limits, "file_stores", value=frozenset())
    if in_results:
        limits = _with_own(limits, "files_in_results", value=False)
    if _shortens_names(target):
        limits, hygiene = map(_with_names_of_any_length, (limits, hygiene))
    return drops_tools(limits), drops_tools(hygiene)


def _shortens_names(target: Target) -> bool:
    """Return whether LiteLLM shortens long names of tools, in declarations and in calls.

    A name that chatmend shortened would be another one than that of the declaration. Source:
    litellm 1.110.2, ``truncate_tool_name``, which is not used for OpenAI's Responses API.
    """
    return target.provider != "openai" and _is_installed({"since": "1.110.0"})


def _with_names_of_any_length(limits: Limits) -> Limits:
    pattern = limits.tool_name_pattern
    if pattern is None:
        return limits
    return replace(limits, tool_name_pattern=re.sub(r"\{(\d+),\d+\}", r"{\1,}", pattern))


def _dropped_blocks(name: str) -> tuple[frozenset[str], bool]:
    """Return the types of blocks that the installed LiteLLM drops when it converts messages.

    Also returns whether it drops files in tool results.
    """
    rows = [
        row
        for row in _tables()["dropped_blocks"]
        if any(fnmatchcase(name, pattern) for pattern in row["match"]) and _is_installed(row)
    ]
    types: list[frozenset[str]] = [value_of(row["types"]) for row in rows]
    return frozenset().union(*types), any(row.get("files_in_results") is False for row in rows)


def _with_own(limits: Limits, name: str, *, value: object) -> Limits:
    """Return limits with a limit of a single rule."""
    return replace(limits, own=tuple({**dict(limits.own), name: value}.items()))


def _with_types_of_users(limits: Limits) -> Limits:
    """Return limits without the content parts for which LiteLLM refuses a user message.

    ``validate_chat_completion_user_messages`` raises an exception for any other type.
    """
    accepted, known = limits.accepted_part_types("user"), frozenset(ValidUserMessageContentTypes)
    of_users = known if accepted is None else accepted & known
    of_others = {one for one in limits.part_types_by_role if not one.startswith("user ")}
    by_role = frozenset({*of_others, *(f"user {kind}" for kind in of_users)})
    return replace(limits, part_types_by_role=by_role)


def _without_files_in_results(limits: Limits) -> Limits:
    """Return limits without files in tool results if no user message may follow these directly.

    LiteLLM moves images and files into a user message behind the results
    (``hoist_images_from_tool_messages`` in 1.106.2, run with files in 1.110.2).
    """
    if limits.user_after_tool:
        return limits
    return _with_own(limits, "files_in_results", value=False)


def _responses_limits(target: Target) -> tuple[Limits, Limits]:
    """Return the limits of Responses items, in which assistant text may follow a tool call.

    LiteLLM's conversion to items places text after the calls that it preceded. If LiteLLM converts
    the items to a chat request, the tool loops must begin with the same thinking as there, and
    LiteLLM, not the server, limits the types of items.
    """
    name = RESPONSES.dialect
    limits, hygiene = target.limits_in(name), target.limits_in(name, hygiene=True)
    if _converts_items(target):
        read = resolve("openai").limits_in(name)
        limits = replace(
            limits,
            thinking_first=target.limits_in(CHAT.dialect).thinking_first,
            item_types=read.item_types,
            block_types=read.block_types,
            said_types=read.said_types,
            refused_items=_dropped_items(),
            reasoning_form="any",
            typed_messages="any",
            listed_answers=True,
        )
    return replace(limits, words_behind_calls=True), replace(hygiene, words_behind_calls=True)


@lru_cache(maxsize=1)
def _dropped_items() -> frozenset[str]:
    """Return the types of items that the installed LiteLLM drops when it converts items."""
    rows = [row for row in _tables()["dropped_items"] if _is_installed(row)]
    return frozenset().union(*(value_of(row["types"]) for row in rows))


def _converts_items(target: Target) -> bool:
    """Return whether LiteLLM converts Responses requests for this target to chat requests."""
    try:
        provider = LlmProviders(target.provider)
        with without_prints():
            native = ProviderConfigManager.get_provider_responses_api_config(
                provider=provider, model=target.model
            )
    except Exception:  # noqa: BLE001 - it does not know the provider
        return False
    return native is None


def _entries_for(name: str) -> list[dict[str, Any]]:
    """Return the entries of the table for a model and the installed version of LiteLLM."""
    return [
        entry
        for entry in _tables()["conversion"]
        if any(fnmatchcase(name, pattern) for pattern in entry["match"]) and _is_installed(entry)
    ]


def _is_installed(entry: dict[str, Any]) -> bool:
    """Return whether an entry holds for the installed version of LiteLLM."""
    installed = _numbers(version("litellm"))
    is_old = "until" in entry and installed >= _numbers(entry["until"])
    return installed >= _numbers(entry.get("since", "")) and not is_old


def _apply(limits: Limits, entries: list[dict[str, Any]]) -> Limits:
    for entry in entries:
        limits = apply_facts(limits, entry.get("limits", {}))
        limits = replace(limits, images=apply_facts(limits.images, entry.get("images", {})))
        read = value_of(entry.get("reads", []))
        known = None if limits.known_keys is None else limits.known_keys | read
        limits = replace(limits, known_keys=known, refused_keys=limits.refused_keys - read)
    return limits


def _numbers(version_text: str) -> list[int]:
    """Return the numbers of a version such as ``1.109.0``, to compare it with others."""
    return [int(number) for number in re.findall(r"\d+", version_text)[:3]]


@lru_cache(maxsize=1)
def _tables() -> dict[str, list[dict[str, Any]]]:
    return tomllib.loads(files(__package__).joinpath("conversion.toml").read_text("utf-8"))
