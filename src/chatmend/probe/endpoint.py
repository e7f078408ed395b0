"""Where a probe sends its requests: URL, key, model and wire format."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chatmend.errors import ProbeError
from chatmend.probe.cases import FORMATS
from chatmend.targets import resolve
from chatmend.targets.resolve import find_table

if TYPE_CHECKING:
    from chatmend.targets import Target
    from chatmend.targets.limits import Limits

_ANTHROPIC_VERSION = "2023-06-01"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address and the model that a probe tests."""

    target: Target
    """Host and model, with the limits to test."""
    dialect: str
    """The wire format: ``openai_chat``, ``anthropic_messages`` or ``gemini_contents``."""
    model: str
    """The model id in the request."""
    url: str
    key_variable: str
    """The environment variable with the API key; empty: no key is sent."""
    tokens_key: str = "max_tokens"
    """The key for the largest number of output tokens in chat completions."""

    @property
    def limits(self) -> Limits:
        """The limits of the target in the wire format."""
        return self.target.limits_in(self.dialect)

    def headers(self) -> dict[str, str]:
        """Return the headers with the API key.

        Raises:
            ProbeError: the environment variable is not set.
        """
        if not self.key_variable:
            return {}
        key = os.environ.get(self.key_variable, "").strip()
        if not key:
            message = (
                f"no API key: set the environment variable {self.key_variable}, or name "
                "another one with --key-variable"
            )
            raise ProbeError(message)
        if self.dialect == "anthropic_messages":
            return {"x-api-key": key, "anthropic-version": _ANTHROPIC_VERSION}
        if self.dialect == "gemini_contents":
            return {"x-goog-api-key": key}
        return {"authorization": f"Bearer {key}"}


def find_endpoint(
    name: str, *, url: str = "", key_variable: str = "", dialect: str = ""
) -> Endpoint:
    """Return where to probe a target.

    Args:
        name: ``HOST`` or ``HOST/MODEL``. Without a model, the host's table names a cheap one.
        url: the complete URL of the endpoint; empty: the one in the host's table.
        key_variable: the environment variable with the API key; empty: the one in the table.
        dialect: the wire format of the endpoint; empty: the one in the table.

    Raises:
        ProbeError: the table of the host has no ``[probe]`` and ``url`` is empty, or no model is
            named, or the wire format cannot be probed.
        TargetError: the name is a single word that no table lists.
    """
    host, model = find_table(name.strip())
    known: dict[str, Any] = host.get("probe", {}) if host else {}
    if not url and not known:
        message = (
            f"the table of {name.partition('/')[0]!r} has no address to probe: give the complete "
            "URL of an endpoint with --url, for example "
            "--url http://localhost:8000/v1/chat/completions"
        )
        raise ProbeError(message)
    model = model or str(known.get("model", ""))
    if not model:
        message = f"name a model: chatmend probe {name}/MODEL"
        raise ProbeError(message)
    dialect = dialect or str(known.get("format", FORMATS[0]))
    if dialect not in FORMATS:
        message = f"--format {dialect!r}: choose one of {', '.join(FORMATS)}"
        raise ProbeError(message)
    prefix = name.strip().partition("/")[0]
    target = resolve(f"{prefix}/{model}" if host is None or "/" not in name else name)
    template = url or str(known["url"])
    return Endpoint(
        target=target,
        dialect=dialect,
        model=model,
        url=template.replace("{model}", model),
        key_variable=key_variable or ("" if url and not known else str(known.get("key", ""))),
        tokens_key=str(known.get("tokens_key", "max_tokens")),
    )
