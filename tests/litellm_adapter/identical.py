"""Compare a LiteLLM proxy with chatmend to one without, byte by byte, on recorded requests.

    python -m tests.litellm_adapter.identical 1000

Requests that real providers accepted are sent through every route of a real proxy to a server that
records them and returns fixed answers. First LiteLLM is compared with itself: values that differ
between two runs without chatmend (generated ids, times) are excluded, by route and path, and
nothing else. Status, headers, answer and upstream request are then compared with chatmend in report
mode, with every model denied, disabled, and in repair mode. In repair mode an upstream request may
only differ if LiteLLM alone refuses the request, or if the sandbox, which refuses what the target
refuses, refuses what LiteLLM sends without chatmend.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter, defaultdict
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx

from chatmend.sandbox import Sandbox
from tests.corpus import rows
from tests.litellm_adapter.proxy import Proxy
from tests.litellm_adapter.upstream import Received, Recorder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

OWN_ADDRESS = {
    "anthropic": "anthropic", "deepseek": "deepseek", "google": "gemini", "mistral": "mistral", "openai": "openai",
    "openrouter": "openrouter", "perplexity": "perplexity", "xai": "xai",
}  # fmt: skip
"""Providers of the corpus that LiteLLM calls at the provider's own address, with LiteLLM's name."""
FOREIGN = "foreign"
"""The name used for all others: servers with another address that use OpenAI's wire format."""
SANDBOX_PATHS = {
    "anthropic/v1/messages": "anthropic/v1/messages",
    "deepseek/chat/completions": "deepseek/chat/completions",
    "mistral/chat/completions": "mistral/v1/chat/completions",
    "openai/chat/completions": "openai/v1/chat/completions",
    "openai/v1/chat/completions": "openai/v1/chat/completions",
    "openai/responses": "openai/v1/responses",
    "openai/v1/responses": "openai/v1/responses",
    "openrouter/chat/completions": "openrouter/api/v1/chat/completions",
    "perplexity/chat/completions": "perplexity/chat/completions",
    "xai/chat/completions": "xai/v1/chat/completions",
    "xai/responses": "xai/v1/responses",
}
"""The sandbox path for each path of the recording server; Gemini's paths are the same in both."""
MODES: dict[str, dict[str, Any]] = {
    "report": {"on": True, "mode": "report"},
    "denied": {"on": True, "deny": ["*"]},
    "disabled": {"on": False},
    "repair": {"on": True},
}
CHATMEND_HEADERS = "x-chatmend-"
MIN_MASKED_LENGTH = 6
"""The minimum length of masked values, in bytes; shorter ones may also occur at other paths."""


class Request(NamedTuple):
    """A request that a client sends to the proxy."""

    row: str
    path: str
    body: dict[str, Any]

    @property
    def route(self) -> str:
        """The path without the model, and whether the answer is streamed.

        Variation is recorded for each route.
        """
        path = "generateContent" if "enerateContent" in self.path else self.path
        prefix = (
            "pass-through "
            if self.path.startswith(("/anthropic/", "/openai_", "/openai/", "/gemini/"))
            else ""
        )
        model = str(self.body.get("model") or "").partition("/")[0] if not prefix else ""
        return f"{prefix}{path} {model} {'stream' if is_streamed(self) else 'whole'}"


def is_streamed(request: Request) -> bool:
    return bool(request.body.get("stream")) or ":stream" in request.path


class Answered(NamedTuple):
    """The response that a client received, and the requests that the proxy sent upstream for it."""

    status: int
    headers: dict[str, str]
    body: bytes
    received: list[Received]


def requests(count: int) -> list[Request]:
    """Return ``count`` requests, evenly spread over the corpus; an empty list if it is absent."""
    every = [
        request
        for number, row in enumerate(rows("requests_accepted"))
        for request in _routed(number, row)
    ]
    step = max(1.0, len(every) / count)
    return [every[int(at * step)] for at in range(min(count, len(every)))]


def _routed(number: int, row: dict[str, Any]) -> Iterator[Request]:
    """Yield the request of a row for each of its routes.

    The first route is that of a deployment; some rows are also passed through or bridged.
    """
    name = f"{row['id']} {row['provider']}"
    body, model = dict(row["body"]), str(row["model"] or "")
    provider = OWN_ADDRESS.get(row["provider"], FOREIGN)
    if "keep_alive" in body:  # Ollama's native API, which no route of the proxy supports
        return
    if row["format"] in ("openai_chat", "mistral_chat"):
        yield Request(name, "/v1/chat/completions", {**body, "model": f"{provider}/{model}"})
        if number % 4 == 0 and provider == "openai":
            yield Request(name, "/openai/v1/chat/completions", {**body, "model": model})
    elif row["format"] == "anthropic":
        bare = model.rpartition("anthropic.")[2]
        yield Request(name, "/v1/messages", {**body, "model": f"anthropic/{bare}"})
        if number % 4 == 0:
            yield Request(name, "/anthropic/v1/messages", {**body, "model": bare})
        if number % 9 == 0:
            yield Request(name, "/v1/messages", {**body, "model": "openai/gpt-4o"})
    elif row["format"] == "openai_responses":
        provider = provider if provider in ("openai", "xai") else FOREIGN
        yield Request(name, "/v1/responses", {**body, "model": f"{provider}/{model}"})
        if number % 4 == 0:
            yield Request(name, "/openai_passthrough/v1/responses", {**body, "model": model})
        if number % 9 == 0:
            yield Request(name, "/v1/responses", {**body, "model": "anthropic/claude-sonnet-4-5"})
    elif row["format"] == "gemini" and row["api"] == "generateContent":
        verb = "streamGenerateContent?alt=sse" if number % 3 == 0 else "generateContent"
        route = "/gemini/v1beta/models" if number % 2 == 0 else "/v1beta/models/gemini"
        yield Request(
            name,
            f"{route}/{model}:{verb}",
            {key: item for key, item in body.items() if key != "model"},
        )


def pair(stack: ExitStack, folder: Path) -> tuple[Side, Side]:
    """Start two proxies, without and with chatmend, and the server behind both."""
    sides, upstream = [], stack.enter_context(Recorder())
    for name in ("without", "with"):
        (folder / name).mkdir()
        more = {} if name == "with" else {"litellm_settings": {}}
        bases = {f"{own.upper()}_API_BASE": upstream.url(own) for own in OWN_ADDRESS.values()}
        keys = {f"{own.upper()}_API_KEY": "any" for own in OWN_ADDRESS.values()}
        keys["PERPLEXITYAI_API_KEY"] = "any"
        settings = {
            "guardrails": [],
            "chatmend": {},
            **more,
            "model_list": list(_deployments(upstream)),
        }
        proxy = Proxy(upstream, folder / name, {**bases, **keys}, **settings)
        sides.append(Side(proxy.start(), upstream))
        stack.enter_context(proxy)
    return sides[0], sides[1]


def _deployments(upstream: Recorder) -> Iterator[dict[str, Any]]:
    # OpenAI's address is set in the environment; a deployment with an api_base would count as a
    # server of another provider.
    addresses = {
        name: (name, upstream.url(name)) for name in OWN_ADDRESS.values() if name != "openai"
    }
    addresses |= {
        "gemini": ("gemini", upstream.url("gemini/v1beta")),
        FOREIGN: ("openai", upstream.url("foreign/v1")),
    }
    yield {"model_name": "openai/*", "litellm_params": {"model": "openai/*", "api_key": "any"}}
    for name, (provider, base) in addresses.items():
        yield {"model_name": f"{name}/*", "litellm_params": _deployment(provider, base)}


def _deployment(provider: str, base: str) -> dict[str, str]:
    return {"model": f"{provider}/*", "api_key": "any", "api_base": base}


@dataclass
class Side:
    """A proxy and the server behind it; only one request may be in progress at a time."""

    proxy: Proxy
    upstream: Recorder

    def ask(self, request: Request, **options: Any) -> Answered:
        """Send a request; return the answer and the upstream requests.

        ``options`` are options of the callback.
        """
        if options:
            self.proxy.switch(**options)
        self.upstream.take()
        found = self.proxy.post(request.path, request.body)
        return Answered(
            found.status_code, dict(found.headers.items()), found.content, self.upstream.take()
        )


@dataclass
class Variation:
    """The headers and values that differ between two runs of LiteLLM alone, by route."""

    paths: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    headers: set[str] = field(default_factory=set)

    def learn(self, route: str, one: Answered, other: Answered) -> str:
        """Record how two answers of LiteLLM alone differ.

        Return a description if they differ in more than values, otherwise an empty string.
        """
        self.headers |= {
            name for name in one.headers.keys() | other.headers if _differs(name, one, other)
        }
        for name, (before, after) in _texts(one, other).items():
            first, second = list(_leaves(before)), list(_leaves(after))
            if [path for path, _ in first] != [path for path, _ in second]:
                return f"{name}: the structure differs with LiteLLM alone"
            for (path, value), (_, again) in zip(first, second, strict=True):
                if value != again:
                    self.paths[f"{route} {name}"].add(path)
        return (
            ""
            if (one.status, len(one.received)) == (other.status, len(other.received))
            else "the status or the number of upstream requests differs with LiteLLM alone"
        )

    def mask(self, route: str, name: str, text: bytes) -> bytes:
        """Return the text with ``"*"`` in place of each value that varies."""
        paths = self.paths.get(f"{route} {name}")
        if not paths:
            return text
        for path, value in _leaves(text):
            token = json.dumps(value).encode()
            if path in paths and len(token) >= MIN_MASKED_LENGTH:
                text = text.replace(token, b'"*"')
        return text

    def difference(self, route: str, one: Answered, other: Answered) -> Iterator[str]:
        """Describe each difference between an answer with chatmend and one without.

        The descriptions of differences between upstream requests begin with ``upstream``.
        """
        if one.status != other.status:
            yield f"status {one.status} -> {other.status}: {one.body[:200]!r} -> {other.body[:200]!r}"
            return
        names = one.headers.keys() | other.headers.keys()
        for name in sorted(names - self.headers):
            if not name.startswith(CHATMEND_HEADERS) and _differs(name, one, other):
                yield f"header {name}: {one.headers.get(name)} -> {other.headers.get(name)}"
        if [path for path, _ in one.received] != [path for path, _ in other.received]:
            yield f"upstream paths {[path for path, _ in one.received]} -> {[path for path, _ in other.received]}"
        for name, (before, after) in _texts(one, other).items():
            first, second = self.mask(route, name, before), self.mask(route, name, after)
            if first != second:
                yield f"{name} {_around(first, second)}"


def _differs(name: str, one: Answered, other: Answered) -> bool:
    return one.headers.get(name) != other.headers.get(name)


def _texts(one: Answered, other: Answered) -> dict[str, tuple[bytes, bytes]]:
    """Return the bytes to compare, by name."""
    sent = zip(one.received, other.received, strict=False)
    return {"answer": (one.body, other.body)} | {
        f"upstream {number}": (before.body, after.body)
        for number, (before, after) in enumerate(sent)
    }


def _leaves(text: bytes) -> Iterator[tuple[str, Any]]:
    """Yield the values of a JSON text or of the events of a stream, each with its path."""
    if text.lstrip().startswith((b"data:", b"event:", b":")):
        for line in text.splitlines():
            if line.startswith(b"data:"):
                yield from _leaves(line.removeprefix(b"data:"))
        return
    try:
        value = json.loads(text)
    except ValueError:
        return
    yield from _inner("", value)


def _inner(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _inner(f"{path}.{key}", item)
    elif isinstance(value, list):
        for item in value:
            yield from _inner(f"{path}[]", item)
    else:
        yield path, value


def _around(one: bytes, other: bytes) -> str:
    """Return the two texts around their first difference."""
    at = next(
        (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )
    start = max(0, at - 60)
    return f"at byte {at}: {one[start : at + 80]!r} -> {other[start : at + 80]!r}"


@dataclass
class Judge:
    """Checks whether a target would refuse what LiteLLM sends without chatmend."""

    sandbox: Sandbox

    def refuses(self, received: Received) -> str:
        """Return the refusal, or an empty string if the sandbox accepts the request."""
        path, mark, rest = received.path.strip("/").partition("?")
        sandbox_path = path if path.startswith("gemini/") else SANDBOX_PATHS.get(path)
        if sandbox_path is None:
            return ""
        headers = {"Authorization": "Bearer any", "x-api-key": "any", "x-goog-api-key": "any"}
        headers |= {"anthropic-version": "2023-06-01", "Content-Type": "application/json"}
        found = httpx.post(
            self.sandbox.url(f"{sandbox_path}{mark}{rest}"), content=received.body, headers=headers
        )
        return "" if found.is_success else f"{found.status_code} {found.text[:200]}"


@dataclass
class Outcome:
    """The result of a run."""

    compared: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    repaired: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


class Compared(NamedTuple):
    """The answers to a request without chatmend and with it."""

    mode: str
    request: Request
    one: Answered
    other: Answered


def run(
    every: list[Request], without: Side, with_chatmend: Side, judge: Judge
) -> tuple[Outcome, Variation]:
    """Compare all requests in all modes.

    Without chatmend each request is sent twice before all modes and once after them: a timestamp
    that changes between the first request and one with chatmend also differs in the last request.
    """
    outcome, variation = Outcome(), Variation()
    unequal: list[Compared] = []
    for request in every:
        first, again = without.ask(request), without.ask(request)
        found = [
            Compared(mode, request, first, with_chatmend.ask(request, **how))
            for mode, how in MODES.items()
        ]
        learnt = [
            variation.learn(request.route, first, other) for other in (again, without.ask(request))
        ]
        if difference := next(filter(None, learnt), ""):
            outcome.skipped[f"{request.route}: {difference}"] += 1
            continue
        outcome.compared[f"{first.status} {request.route}"] += 1
        unequal += [
            one for one in found if any(variation.difference(request.route, one.one, one.other))
        ]
        if with_chatmend.proxy.take_hook_count() < len(MODES):
            outcome.faults.append(
                f"{request.row} {request.route}: chatmend was not called in every mode"
            )
    for one in unequal:  # only now all variation is known
        _judge(one, variation, judge, outcome)
    return outcome, variation


def _judge(compared: Compared, variation: Variation, judge: Judge, outcome: Outcome) -> None:
    mode, request, one, other = compared
    differences = list(variation.difference(request.route, one, other))
    codes = other.headers.get("x-chatmend-changes", "no change reported")
    if mode == "repair" and differences and (refusal := _refusal(compared, differences, judge)):
        outcome.repaired[f"{codes}: {refusal[:100]}"] += 1
        return
    outcome.faults += [
        f"{mode} {request.row} {request.route} ({codes}): {difference}"
        for difference in differences
    ]


def _refusal(compared: Compared, differences: list[str], judge: Judge) -> str:
    """Return why a repaired request is refused without chatmend, or an empty string.

    Either LiteLLM refuses it and sends nothing, or the target refuses it.
    """
    if not compared.one.received:
        return (
            f"LiteLLM answers {compared.one.status}"
            if compared.other.status == httpx.codes.OK
            else ""
        )
    if not all(difference.startswith("upstream") for difference in differences):
        return ""
    return next(filter(None, map(judge.refuses, compared.one.received)), "")


def main(count: int) -> int:
    """Print what was compared; return 1 if anything differs."""
    every = requests(count)
    if not every:
        print("skipped: no recorded requests available (set CHATMEND_CORPUS)")
        return 0
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        without, with_chatmend = pair(stack, folder)
        outcome, variation = run(
            every, without, with_chatmend, Judge(stack.enter_context(Sandbox(bodies=False)))
        )
    counted = sorted(outcome.compared.items())
    _show(f"compared in {len(MODES)} modes", (f"{number:6} {route}" for route, number in counted))
    _show("excluded, because they vary with LiteLLM alone", _varying_paths(variation))
    _show("skipped", (f"{number:6} {why}" for why, number in sorted(outcome.skipped.items())))
    _show(
        "repaired, and refused without chatmend",
        (f"{number:6} {why}" for why, number in sorted(outcome.repaired.items())),
    )
    _show("differences", outcome.faults)
    comparisons = sum(outcome.compared.values()) * len(MODES)
    print(f"{len(every)} requests, {comparisons} comparisons, {len(outcome.faults)} differences")
    return int(bool(outcome.faults))


def _varying_paths(variation: Variation) -> Iterator[str]:
    yield f"headers {', '.join(sorted(variation.headers))}"
    for route, paths in sorted(variation.paths.items()):
        yield f"{route}: {', '.join(sorted(paths))}"


def _show(title: str, lines: Iterable[str]) -> None:
    print(f"\n{title}:")
    for line in lines:
        print(f"  {line}")


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000))
