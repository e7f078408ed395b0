"""From a chat model to its target: by the table ``partners.toml``, the model's id, and what one call overrides."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from chatmend.errors import TargetError
from chatmend.langchain.carries import Carries
from chatmend.langchain.reasoning import PAYLOADS
from chatmend.options import known_hosts
from chatmend.targets import Target, resolve
from chatmend.targets.hosts import addressed
from chatmend.targets.resolve import lay_over

if TYPE_CHECKING:
    from collections.abc import Mapping

    from langchain_core.language_models import BaseChatModel


_NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """Where a model's messages go, and how they get there. Made once for a name and a partner: compared by identity."""

    target: Target
    chat_messages: bool
    """Whether the partner package can send a ``ChatMessage``."""
    cumulative: bool = False
    """Whether each account of a stream is the whole so far."""
    carries: Carries = Carries()  # noqa: RUF009 - frozen
    """What the partner package can carry."""
    clients: tuple[str, ...] = ()
    """Attributes with the HTTP clients of a package whose streams say less of usage than the provider does."""

    @property
    def wants_reasoning(self) -> bool:
        """Whether the provider refuses calls that come back without their reasoning."""
        return self.target.limits.reasoning_content == "required"


def place_of(model: BaseChatModel, options: Mapping[str, Any], named: str | None = None) -> Place:
    """The place that a model sends to.

    Args:
        model: any chat model; one that no table knows is judged by its model id, and otherwise left alone.
        options: what the call overrides: ``model=``, ``tools=``, ...
        named: a target that the caller named; it goes before everything recognised.

    Raises:
        TargetError: the named target leads to no table.
    """
    place = _place_of(model, options, named)
    return _carrying(place) if place.wants_reasoning and _makes_payloads(model) else place


def _makes_payloads(model: BaseChatModel) -> bool:
    """Whether the model is mended where its messages become a payload."""
    return any(hasattr(getattr(model, name, None), "__chatmend__") for name in PAYLOADS)


@lru_cache(maxsize=64)
def _carrying(place: Place) -> Place:
    return replace(place, carries=replace(place.carries, reasoning=True))


def _place_of(model: BaseChatModel, options: Mapping[str, Any], named: str | None) -> Place:
    key = _partner_of(model)
    model_id = _model_id(model, options)
    lacks = _lacks(model, model_id)
    if named is not None:
        return _place(named, key, lacks)
    if key is None:
        return _place(model_id, None, lacks) if _is_known(model_id) else _place("other", None)
    provider = str(_partner(key)["provider"])
    name = addressed(f"{provider}/{model_id}", _address(model), known_hosts()) if provider else model_id
    if key == "openai-chat" and _speaks_responses(model, options):
        key, name = "openai-responses", "/responses/".join(name.split("/", 1))
    return _place(name, key, lacks)


def _lacks(model: BaseChatModel, model_id: str) -> frozenset[str]:
    """The types of blocks that the profile of the model says it cannot take; only a plain no counts."""
    profile = getattr(model, "profile", None)
    if not isinstance(profile, dict) or model_id != _model_id(model, {}):
        return _NOTHING
    return _types_lacked(profile.get("audio_inputs") is False, profile.get("video_inputs") is False)


@lru_cache(maxsize=4)
def _types_lacked(audio: bool, video: bool) -> frozenset[str]:  # noqa: FBT001 - the key of a cache
    return frozenset([*(("audio", "input_audio") if audio else ()), *(("video",) if video else ())])


def place_named(name: str) -> Place:
    """The place of a target for which no model is at hand; its usual partner package is assumed.

    Raises:
        TargetError: the name leads to no table.
    """
    target = resolve(name)
    wanted = f"{target.provider}/responses" if target.model.startswith("responses/") else target.provider
    return _place(name, next((key for key, row in _partners().items() if row["provider"] == wanted), None))


@lru_cache(maxsize=512)
def _place(name: str, partner: str | None, lacks: frozenset[str] = frozenset()) -> Place:
    try:
        target = resolve(name)
    except TargetError:
        if partner is None:
            raise
        target = resolve("other")
    for facts in _facts(partner):
        target = replace(target, limits=lay_over(target.limits, facts), hygiene=lay_over(target.hygiene, facts))
    if partner is None:
        return Place(target, chat_messages=True, carries=_without(Carries(), lacks))
    row = _partner(partner)
    facts = {**row.get("carries", {})}
    facts |= {name: frozenset(value) for name, value in facts.items() if isinstance(value, list)}
    carries = _without(Carries(**facts), lacks)
    return Place(target, row["chat_messages"], row["cumulative_usage"], carries, tuple(row.get("clients", ())))


def _without(carries: Carries, lacks: frozenset[str]) -> Carries:
    if not lacks:
        return carries
    return replace(
        carries,
        user_refuses=carries.user_refuses | lacks,
        answer_refuses=carries.answer_refuses | lacks,
        result_refuses=carries.result_refuses | lacks,
    )


def _facts(partner: str | None) -> list[dict[str, Any]]:
    """What is laid over the target's limits, in order."""
    own = _partner(partner)["limits"] if partner is not None else {}
    return [_table()["every"]["limits"], own]


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    import tomllib  # noqa: PLC0415 - read when the first model is mended

    return tomllib.loads(files(__package__).joinpath("partners.toml").read_text("utf-8"))


def _partners() -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = _table()["partner"]
    return rows


@lru_cache(maxsize=64)
def _partner(key: str) -> dict[str, Any]:
    """A row, with what it takes from the row that it is like."""
    row = _partners()[key]
    base: dict[str, Any] = _partner(row["like"]) if "like" in row else {}
    inherited: dict[str, Any] = {name: base[name] for name in ("chat_messages", "cumulative_usage") if name in base}
    nested: dict[str, Any] = {name: {**base.get(name, {}), **row.get(name, {})} for name in ("limits", "carries")}
    return {"chat_messages": False, "cumulative_usage": False, **inherited, **row, **nested}


def _partner_of(model: BaseChatModel) -> str | None:
    """The row of a model: by its type, by the provider that it tells tracers, by its ancestors."""
    rows = _partners()
    kind = _asked(lambda: model._llm_type)  # noqa: SLF001 - the documented way to tell models apart
    if kind in rows:
        return str(kind)
    told = _asked(lambda: model._get_ls_params().get("ls_provider"))  # noqa: SLF001 - as above
    for key, row in rows.items():
        if told is not None and row.get("ls_provider") == told:
            return key
    names = {cls.__name__ for cls in type(model).__mro__}
    return next((key for key, row in rows.items() if not names.isdisjoint(row.get("classes", ()))), None)


def _asked(question: Any) -> Any:
    """The answer of somebody else's property, or None where it fails."""
    try:
        return question()
    except Exception:  # noqa: BLE001 - whatever a model raises there, the request must go on
        return None


def _model_id(model: BaseChatModel, options: Mapping[str, Any]) -> str:
    told = options.get("model") or options.get("model_name") or options.get("model_id")
    if not isinstance(told, str):
        held = (getattr(model, name, None) for name in ("model_name", "model", "model_id", "deployment_name"))
        told = next((name for name in held if isinstance(name, str) and name), "")
    return told.removeprefix("models/")


def _is_known(name: str) -> bool:
    try:
        resolve(name)
    except TargetError:
        return False
    return True


def _address(model: BaseChatModel) -> str | None:
    """The base URL that a model was given, or that its client found in the environment."""
    client = _asked(lambda: str(model.root_client.base_url))  # type: ignore[attr-defined]  # OpenAI's, who reads it
    held = (getattr(model, name, None) for name in ("openai_api_base", "anthropic_api_url"))
    return next((address for address in (client, *held) if isinstance(address, str) and address), None)


def _speaks_responses(model: BaseChatModel, options: Mapping[str, Any]) -> bool:
    ask = getattr(model, "_use_responses_api", None)
    return bool(ask is not None and _asked(lambda: ask({**getattr(model, "_default_params", {}), **options})))
