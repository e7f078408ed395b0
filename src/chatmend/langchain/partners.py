"""Finds the destination of a chat model by its class, its model id and the options of a call.

The classes are listed in ``partners.toml``.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import metadata
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables.base import RunnableBindingBase

from chatmend.dialects.entries import PREFIXES
from chatmend.dialects.openai_responses import NAME as RESPONSES
from chatmend.dialects.openai_responses import TRAITS as _TRAITS
from chatmend.dialects.traits import continues_stored
from chatmend.errors import TargetError
from chatmend.jsontext import is_one_of
from chatmend.langchain.message_fields import metadata_of
from chatmend.options import known_hosts
from chatmend.rules import unsendable_part
from chatmend.targets import Target, resolve
from chatmend.targets.addresses import target_at_address
from chatmend.targets.converter_limits import ConverterLimits
from chatmend.targets.resolve import apply_facts, with_model

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_log = logging.getLogger("chatmend.langchain")
_GENERIC = "openai_compatible"
"""The host whose limits all servers with OpenAI's API share."""
_NO_TYPES: frozenset[str] = frozenset()
_MODEL_OF_MAKER = {"anthropic": "anthropic.claude", "amazon": "amazon.nova"}
"""What the ids of a maker's models on Bedrock begin with, if not only with its name."""


@dataclass(frozen=True, slots=True, eq=False)
class Destination:
    """The target of a model's requests, and the abilities of its partner package.

    There is one instance for each combination of name and partner; instances are compared by
    identity.
    """

    target: Target
    chat_messages: bool
    """Whether the partner package can send a ``ChatMessage``."""
    cumulative: bool = False
    """Whether every usage record of a stream is the total so far."""
    clients: tuple[str, ...] = ()
    """Attributes of the model with the HTTP clients whose streams must be observed.

    Set if the chunks of the partner package contain less usage than the provider sends.
    """
    event_method: str = ""
    """The method of the model that converts each event of a stream, for the same purpose."""
    converter_function: str = ""
    """The function that builds the payload, if no method does: ``module:function``."""
    sends_ids: bool = True
    """Whether requests contain the ids of calls."""
    id_pattern: str = ""
    """The ids that the converter sends unchanged; it replaces any other. Empty: it sends all."""
    converter: ConverterLimits = field(init=False)
    """What the converter of the partner package can send; a limit of the target."""
    completes_answers: bool = field(init=False)
    """Whether the provider requires something of answers that converters leave out."""

    def __post_init__(self) -> None:
        """Read the values that each call needs."""
        converter = self.target.limits.of(unsendable_part.LIMIT) or ConverterLimits()
        completes = self.needs_reasoning or self.needs_texts or self.needs_signatures
        object.__setattr__(self, "converter", converter)
        object.__setattr__(self, "completes_answers", completes)

    def with_converter(self, **changes: Any) -> Destination:
        """Return the same destination with other abilities of the converter."""
        converter = replace(self.converter, **changes)
        return replace(self, target=_with_converter(self.target, converter))

    @property
    def needs_reasoning(self) -> bool:
        """Whether the provider refuses calls that are sent back without their reasoning."""
        return self.target.limits.reasoning_content == "required"

    @property
    def needs_texts(self) -> bool:
        """Whether the provider refuses null as the content of an answer with calls."""
        return "assistant+calls" in (self.target.limits.null_content or ())

    @property
    def needs_signatures(self) -> bool:
        """Whether the provider refuses calls that are sent back without their signatures."""
        return self.target.limits.thought_signatures == "required"


def find_destination(
    model: BaseChatModel, options: Mapping[str, Any], target_name: str | None = None
) -> Destination:
    """Return the destination of a call.

    Args:
        model: any chat model. A model whose class is in no table is identified by the model that
            it delegates to, or by its model id. If that is unknown too, it gets the limits that
            all servers with OpenAI's API share, with one warning.
        options: the options of the call: ``model=``, ``tools=``, ...
        target_name: a target that the caller named; it takes precedence over the model.

    Raises:
        TargetError: no table describes the named target.
    """
    destination = _find_destination(model, options, target_name)
    return (
        _with_reasoning(destination)
        if destination.needs_reasoning and _adds_reasoning(model)
        else destination
    )


def _adds_reasoning(model: BaseChatModel) -> bool:
    """Return whether the method that builds the payload of this model is wrapped."""
    from chatmend.langchain.payloads import PAYLOADS  # noqa: PLC0415 - imports this module's types

    return any(hasattr(getattr(model, name, None), "__chatmend__") for name in PAYLOADS)


@lru_cache(maxsize=64)
def _with_reasoning(destination: Destination) -> Destination:
    return destination.with_converter(reasoning=True)


def _find_destination(
    model: BaseChatModel, options: Mapping[str, Any], target_name: str | None
) -> Destination:
    key = find_partner(model)
    model_id = _model_id(model, options)
    unsupported = _unsupported_types(model, model_id)
    if target_name is not None:
        return _make_destination(*_with_api(target_name, key, model, options), unsupported)
    if key is None:
        if (inner := inner_model(model)) is not None:
            return _find_destination(inner, options, None)
        name = model_id if _is_known(model_id) else f"{_GENERIC}/{model_id}".rstrip("/")
        _warn_of_class(f"{type(model).__module__}.{type(model).__qualname__}", name)
        return _make_destination(name, None, unsupported)
    provider = str(_partner(key)["provider"])
    name = (
        target_at_address(f"{provider}/{model_id}", _base_url(model), known_hosts())
        if provider
        else model_id
    )
    name = with_model(name, _hidden_model(model, key))
    return _make_destination(*_with_api(name, key, model, options), unsupported)


def _hidden_model(model: BaseChatModel, key: str) -> str:
    """Return a name of the model that an ARN of Bedrock hides; empty if it is not known.

    The classes for Bedrock require at least the maker, except the one that calls only Claude.
    """
    if base := getattr(model, "base_model_id", None):
        return str(base)
    maker = str(getattr(model, "provider", None) or _partner(key).get("maker", ""))
    return _MODEL_OF_MAKER.get(maker, f"{maker}." if maker else "")


def _with_api(
    name: str, key: str | None, model: BaseChatModel, options: Mapping[str, Any]
) -> tuple[str, str | None]:
    """Return the target and the row of a model, which differ if it uses the Responses API."""
    is_openai = key is not None and "openai-chat" in (key, _partners()[key].get("like"))
    if not is_openai or not _uses_responses_api(model, options):
        return name, key
    is_named = "/responses/" in name or "/" not in name
    return name if is_named else "/responses/".join(name.split("/", 1)), _RESPONSES_ROW


def continues_stored_messages(
    model: BaseChatModel, options: Mapping[str, Any], destination: Destination
) -> bool:
    """Return whether the provider stores earlier messages, which those of a call continue."""
    if not destination.converter.item_ids:
        return False
    parameters = _value_or_none(lambda: getattr(model, "_default_params", None)) or {}
    return continues_stored(options, _TRAITS) or continues_stored(parameters, _TRAITS)


def unbound(model: Any) -> tuple[BaseChatModel, dict[str, Any]]:
    """Return a chat model without its bindings (``bind_tools``), and the options that they hold.

    Raises:
        TypeError: it is not a chat model.
    """
    options: dict[str, Any] = {}
    while isinstance(model, RunnableBindingBase):
        options, model = {**model.kwargs, **options}, model.bound
    if isinstance(model, BaseChatModel):
        return model, options
    text = (
        f"expected a chat model, not a {type(model).__name__}; pass one of the models that it "
        "calls, or to repair_node the name of a target"
    )
    raise TypeError(text)


def inner_model(model: BaseChatModel) -> BaseChatModel | None:
    """Return the chat model that a model of an unknown class delegates to, if a field holds one."""
    fields = getattr(model, "__dict__", {}).values()
    found = (value for value in fields if isinstance(value, BaseChatModel) and value is not model)
    return next(found, None)


@lru_cache(maxsize=256)
def _warn_of_class(kind: str, name: str) -> None:
    _log.warning(
        "no table for the chat model class %s: its messages are repaired for %r; if that is wrong, "
        "name the target (target='provider/model'); chatmend.langchain.explain(model) prints what "
        "is known",
        kind,
        name,
    )


def _unsupported_types(model: BaseChatModel, model_id: str) -> frozenset[str]:
    """Return the block types that the model's profile rules out with an explicit False."""
    profile = getattr(model, "profile", None)
    if not isinstance(profile, dict) or model_id != _model_id(model, {}):
        return _NO_TYPES
    return _media_types(profile.get("audio_inputs") is False, profile.get("video_inputs") is False)


@lru_cache(maxsize=4)
def _media_types(audio: bool, video: bool) -> frozenset[str]:  # noqa: FBT001 - lru_cache key
    return frozenset([*(("audio", "input_audio") if audio else ()), *(("video",) if video else ())])


def find_destination_by_name(name: str, messages: Sequence[object] = ()) -> Destination:
    """Return the destination of a target without a model, assuming its usual partner package.

    ``messages``: those to send. If an OpenAI model gave one of the answers through the Responses
    API, the destination is that API. For other providers the name must say so
    (``azure/responses/...``).

    Raises:
        TargetError: no table describes the target.
    """
    target = resolve(name)
    is_items = target.provider in _RESPONSES_PROVIDERS and target.model.startswith("responses/")
    if target.provider == "openai" and not is_items and any(map(_has_items, messages)):
        is_items = True
        name = "/responses/".join(name.split("/", 1)) if "/" in name else f"openai/responses/{name}"
    return _make_destination(name, _RESPONSES_ROW if is_items else _usual_partner(target))


def _usual_partner(target: Target) -> str | None:
    """Return the row of the class that is used for a target; None if no row describes one."""
    return next(
        (
            key
            for key, row in _partners().items()
            if row["provider"] == target.provider and row.get("models", "") in target.model
        ),
        None,
    )


_RESPONSES_ROW = "openai-responses"
_RESPONSES_PROVIDERS = ("openai", "azure", "xai")
"""Providers whose Responses API partner packages call."""
_SHARED_ITEMS = frozenset(
    {"reasoning", "function_call", "compaction", "custom_tool_call", "custom_tool_call_output"}
)
"""Types of items that blocks of other providers or APIs have too."""
_HOSTED_ITEMS = _TRAITS.item_types - _SHARED_ITEMS
"""Types of blocks that only an answer of the Responses API has."""
_OWN_TYPES = _TRAITS.item_types | {"server_tool_call"}
"""Types of blocks that an answer of OpenAI's models has only if it came from the Responses API."""


def _has_items(message: object) -> bool:
    """Return whether a message holds items of OpenAI's Responses API.

    In an answer that does not name its provider, they are recognised by types that no other API
    has, or by their ids.
    """
    if not isinstance(message, AIMessage) or not isinstance(message.content, list):
        return False
    recorded = metadata_of(message).get("model_provider")
    types = _OWN_TYPES if recorded == "openai" else _HOSTED_ITEMS
    return any(
        is_one_of(block.get("type"), types) or (not recorded and _has_item_id(block))
        for block in message.content
        if isinstance(block, dict)
    )


def _has_item_id(block: Mapping[str, Any]) -> bool:
    kind, item_id = block.get("type"), block.get("id")
    if not is_one_of(kind, _SHARED_ITEMS) or not isinstance(item_id, str):
        return False
    return kind in PREFIXES and item_id.startswith(f"{PREFIXES[kind]}_")


@lru_cache(maxsize=512)
def _make_destination(
    name: str, partner: str | None, unsupported: frozenset[str] = frozenset()
) -> Destination:
    try:
        target = resolve(name)
    except TargetError:
        if partner is None:
            raise
        target = resolve("other")
    row = _partner(partner) if partner is not None else {}
    takes_documents = "document" in (target.limits.part_types or {"document"})
    if wire := row.get("wire"):
        spoken = target.limits_in(wire)
        target = _with_own_limits(target, dict(spoken.own))
        target = replace(target, limits=replace(target.limits, thinking=spoken.thinking))
    for facts in _limit_overrides(partner):
        target = replace(
            target,
            limits=apply_facts(target.limits, facts),
            hygiene=apply_facts(target.hygiene, facts),
        )
    target = _with_rule_limits(target, row.get("rules", {}))
    facts = {**row.get("carries", {})}
    facts |= {name: frozenset(value) for name, value in facts.items() if isinstance(value, list)}
    converter = _refusing(ConverterLimits(**facts), unsupported)
    if row.get("passes_documents") and takes_documents:
        converter = replace(converter, sources=(converter.sources or _NO_TYPES) | {"document"})
    if roles := row.get("image_roles"):
        target = _with_image_roles(target, frozenset(roles))
    target, converter = _for_gemini(row, target, converter)
    if converter.item_ids:
        target = _with_unpaired_ids(target)
    if target.limits.server_tools_paired:  # the rule for hosted tools repairs their blocks
        needed = frozenset(key for key in converter.required_keys if not key.startswith("server_"))
        converter = replace(converter, foreign_ids="", required_keys=needed)
    return Destination(
        _with_converter(target, converter),
        row.get("chat_messages", True),
        row.get("cumulative_usage", False),
        tuple(row.get("clients", ())),
        row.get("event_method", ""),
        row.get("converter", ""),
        row.get("sends_ids", True),
        row.get("id_pattern", ""),
    )


def _for_gemini(
    row: Mapping[str, Any], target: Target, converter: ConverterLimits
) -> tuple[Target, ConverterLimits]:
    """Return a target and a converter with limits that depend on the generation of Gemini."""
    gemini = target.limits_in(_GEMINI)
    if row.get("separates_files") and gemini.results_alone:
        target = _with_rule_limits(target, {"files_in_results": {"value": False}})
        converter = replace(converter, result_refuses=converter.result_refuses | {"text-plain"})
    limits = target.limits
    if row.get("names_results") and gemini.result_names_match:
        limits = replace(limits, result_names_match=True)
    if row.get("merges_results") and gemini.results_alone:
        # A system message between a result and the user's message would become the system prompt.
        limits = replace(limits, user_after_tool=False, system="leading")
    target = replace(target, limits=limits)
    if row.get("parses_results") and gemini.of("references_resolved"):
        target = _with_rule_limits(target, {"results_parsed": {"value": True}})
    return target, converter


def _with_rule_limits(target: Target, facts: Mapping[str, Any]) -> Target:
    """Return a target with the limits of single rules that a partner package adds."""
    return _with_own_limits(target, {name: fact["value"] for name, fact in facts.items()})


def _with_own_limits(target: Target, values: Mapping[str, object]) -> Target:
    """Return a target with values for limits that rules declare."""
    own = {**dict(target.limits.own), **values}
    return replace(target, limits=replace(target.limits, own=tuple(own.items())))


def _with_image_roles(target: Target, sent: frozenset[Any]) -> Target:
    """Return a target that accepts images only in messages of roles with which they are sent."""
    images = target.limits.images
    roles = sent if images.roles is None else sent & images.roles
    return replace(target, limits=replace(target.limits, images=replace(images, roles=roles)))


def _with_unpaired_ids(target: Target) -> Target:
    """Return a target that accepts the ids of items in a request without any reasoning.

    Answers that needed no reasoning have such ids. Only a refusal shows that reasoning was removed.
    """
    limits = target.limits_in(RESPONSES)
    if limits.reasoning_items != "required":
        return target
    both = replace(limits, reasoning_items="followed"), target.limits_in(RESPONSES, hygiene=True)
    return replace(target, spoken={**target.spoken, RESPONSES: both})


def _with_converter(target: Target, converter: ConverterLimits) -> Target:
    """Return a target with the abilities of a converter among its limits."""
    name = unsendable_part.LIMIT
    own = (*((key, value) for key, value in target.limits.own if key != name), (name, converter))
    return replace(target, limits=replace(target.limits, own=own))


def _refusing(converter: ConverterLimits, unsupported: frozenset[str]) -> ConverterLimits:
    if not unsupported:
        return converter
    return replace(
        converter,
        user_refuses=converter.user_refuses | unsupported,
        answer_refuses=converter.answer_refuses | unsupported,
        result_refuses=converter.result_refuses | unsupported,
    )


def _limit_overrides(partner: str | None) -> list[dict[str, Any]]:
    """Return the limits of all partner packages and of this one, in the order to apply them."""
    partner_limits = _partner(partner)["limits"] if partner is not None else {}
    return [_table()["every"]["limits"], partner_limits]


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    import tomllib  # noqa: PLC0415 - needed only for the first destination

    return tomllib.loads(files(__package__).joinpath("partners.toml").read_text("utf-8"))


def _partners() -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = _table()["partner"]
    return rows


_GEMINI = "gemini_contents"
"""The format in which Gemini 3 refuses other parts in a message with tool results."""
_INHERITED = (
    *("chat_messages", "cumulative_usage", "id_pattern", "names_results", "parses_results"),
    "separates_files",
)
"""The values of a row that another row inherits, apart from its tables."""


@lru_cache(maxsize=64)
def _partner(key: str) -> dict[str, Any]:
    """Return a row of the table with the values that it inherits through ``like``."""
    row = _partners()[key]
    parent: dict[str, Any] = _partner(row["like"]) if "like" in row else {}
    inherited: dict[str, Any] = {name: parent[name] for name in _INHERITED if name in parent}
    nested: dict[str, Any] = {
        name: {**parent.get(name, {}), **row.get(name, {})} for name in ("limits", "carries")
    }
    for older in row.get("older", ()):
        if _is_before(older["package"], older["before"]):
            unlimited = older.get("unlimited", ())
            limits = {key: nested["carries"][key] for key in nested["carries"].keys() - unlimited}
            nested["carries"] = limits | older["carries"]
    if isinstance(name := nested["carries"].get("forms"), str):
        nested["carries"]["forms"] = _table()["forms"][name]
    return {"chat_messages": False, "cumulative_usage": False, **inherited, **row, **nested}


def _is_before(package: str, version: str) -> bool:
    """Return whether the installed version of a package is older than a version."""
    from packaging.version import Version  # noqa: PLC0415 - only for rows with older versions

    try:
        return Version(metadata.version(package)) < Version(version)
    except metadata.PackageNotFoundError:
        return False


def find_partner(model: BaseChatModel) -> str | None:
    """Return the row of a model by its type, its provider in tracing data, or its ancestors."""
    rows = _partners()
    # LangChain documents both as the way to identify a model.
    kind = _value_or_none(lambda: model._llm_type)  # noqa: SLF001 - see above
    if kind in rows:
        return str(kind)
    provider = _value_or_none(
        lambda: model._get_ls_params().get("ls_provider")  # noqa: SLF001 - see above
    )
    for key, row in rows.items():
        if provider is not None and row.get("ls_provider") == provider:
            return key
    names = {cls.__name__ for cls in type(model).__mro__}
    return next(
        (key for key, row in rows.items() if not names.isdisjoint(row.get("classes", ()))), None
    )


def _value_or_none(read: Any) -> Any:
    """Return the result of a function that reads an attribute of a model; None if it raises."""
    try:
        return read()
    except Exception:  # noqa: BLE001 - a property of the model failed; the request goes on
        return None


def _model_id(model: BaseChatModel, options: Mapping[str, Any]) -> str:
    model_id = options.get("model") or options.get("model_name") or options.get("model_id")
    if not isinstance(model_id, str):
        candidates = (
            getattr(model, name, None)
            for name in ("model_name", "model", "model_id", "deployment_name")
        )
        model_id = next((name for name in candidates if isinstance(name, str) and name), "")
    return model_id.removeprefix("models/")


def _is_known(name: str) -> bool:
    try:
        resolve(name)
    except TargetError:
        return False
    return True


def _base_url(model: BaseChatModel) -> str | None:
    """Return the base URL of a model, including one that its client read from the environment."""
    # The client of ChatOpenAI has read the environment.
    client = _value_or_none(lambda: str(model.root_client.base_url))  # type: ignore[attr-defined]
    fields = (getattr(model, name, None) for name in ("openai_api_base", "anthropic_api_url"))
    return next((url for url in (client, *fields) if isinstance(url, str) and url), None)


def _uses_responses_api(model: BaseChatModel, options: Mapping[str, Any]) -> bool:
    uses_responses = getattr(model, "_use_responses_api", None)
    return bool(
        uses_responses is not None
        and _value_or_none(
            lambda: uses_responses({**getattr(model, "_default_params", {}), **options})
        )
    )
