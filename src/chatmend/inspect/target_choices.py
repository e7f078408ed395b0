"""The targets that the picker offers, and the target that a request most likely goes to."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from chatmend.dialects import format_of_body
from chatmend.dialects.recognition import Unsure, format_of
from chatmend.errors import TranscriptError
from chatmend.refusals import search
from chatmend.sessions.embedded import find_conversation
from chatmend.targets.addresses import provider_at
from chatmend.targets.layers import maker_behind
from chatmend.targets.resolve import UNKNOWN
from chatmend.targets.tables import (
    find_host,
    host_of_model,
    host_tables,
    maker_of_model,
    maker_tables,
)

if TYPE_CHECKING:
    from chatmend.inspect.recognition import Recognised
    from chatmend.targets.tables import Table

_BY_FORMAT = {
    "anthropic_messages": "anthropic",
    "openai_responses": "openai",
    "gemini_contents": "gemini",
    "bedrock_converse": "bedrock",
    "ollama_chat": "ollama",
}
_DEFAULT = "openai"
_MODEL_KEYS = ("model", "modelId")
_OTHER = "other"


class Guess(NamedTuple):
    """A target, and the reason why it was chosen."""

    target: str
    why: str


@lru_cache(maxsize=1)
def choices() -> tuple[dict[str, str], ...]:
    """Return hosts and makers: the targets that the picker offers, each with host and maker."""
    found: dict[str, dict[str, str]] = {}
    for host in host_tables():
        name = host["host"]
        for model in ("", *_models_of(host)):
            target = f"{name}/{model}" if model else name
            maker = maker_behind(host, model)
            found[target] = {"target": target, "host": name, "maker": maker}
    return tuple(found.values())


def _models_of(host: Table) -> list[str]:
    """Return a model of each maker that a host serves, with the prefix that the host gives it.

    A host that lists its own models, or that is the maker, gets only one.
    """
    own = host.get("probe", {}).get("model")
    if host["host"] == _OTHER or (own and (host.get("models") or "/" not in own)):
        return [own] if own else []
    prefixes = {
        entry["maker"]: pattern[:-1]
        for entry in host.get("serves", ())
        for pattern in entry.get("models", ())
        if pattern.endswith("/*") and pattern.startswith(f"{entry.get('maker')}/")
    }
    models = [f"{prefixes.get(maker['maker'], '')}{_example_of(maker)}" for maker in maker_tables()]
    return list(dict.fromkeys([*([own] if own else []), *models]))


@lru_cache(maxsize=16)
def _example(maker: str) -> str:
    for host in host_tables():
        model = host.get("probe", {}).get("model", "")
        table = maker_of_model(model) if model and "/" not in model else None
        if table is not None and table["maker"] == maker:
            return str(model)
    table = next(table for table in maker_tables() if table["maker"] == maker)
    return str(table["models"][0]).strip("*").strip("-") or maker


def _example_of(maker: Table) -> str:
    return _example(str(maker["maker"]))


def guess(found: Recognised, error: str) -> Guess:
    """Return the target that a request most likely goes to.

    The address of the request decides, then the model in the body, then the error text, then the
    wire format.
    """
    body = _body_of(found)
    model = next((str(body[key]) for key in _MODEL_KEYS if isinstance(body.get(key), str)), "")
    if found.url and (host := provider_at(found.url)):
        return Guess(f"{host}/{model}" if model else host, f"the request was sent to {host}")
    senders = _senders(error)
    if model:
        return _with_model(model, senders)
    if senders:
        return Guess(senders[0], f"{senders[0]} sends this error text")
    form = _format_of(found, body)
    if form in _BY_FORMAT:
        return Guess(_BY_FORMAT[form], "of the format of the messages")
    return Guess(_DEFAULT, "nothing names another provider")


def _with_model(model: str, senders: tuple[str, ...]) -> Guess:
    first = model.partition("/")[0].lower()
    if "/" in model and find_host(first) is not None:
        return Guess(model, "the request names this model")
    if senders:
        return Guess(f"{senders[0]}/{model}", f"{senders[0]} sends this error text")
    host = host_of_model(model)
    name = str(host["host"]) if host is not None else UNKNOWN
    return Guess(f"{name}/{model}", "the request names this model")


def _senders(error: str) -> tuple[str, ...]:
    refusal = search(error) if error else None
    return refusal.by if refusal is not None else ()


def _body_of(found: Recognised) -> dict[str, Any]:
    value: object = found.conversation
    embedded = find_conversation(value)
    inner = value if embedded is None else embedded.conversation
    return inner if isinstance(inner, dict) else {}


def _format_of(found: Recognised, body: dict[str, Any]) -> str:
    try:
        if body:
            form = format_of_body(body)
        elif isinstance(found.conversation, list):
            form = format_of(found.conversation)
        else:
            return ""
    except TranscriptError:
        return ""
    return "" if isinstance(form, Unsure) or form is None else form
