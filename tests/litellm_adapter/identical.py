"""Sends recorded requests through a LiteLLM proxy with chatmend and one without, and compares what both do, as bytes.

``python -m tests.litellm_adapter.identical 1000``. Requests that real providers accepted go through every route of a
real proxy to a server that records them and gives fixed answers. LiteLLM is compared with itself first: whatever
differs between two runs without chatmend (ids that it draws, times) is excepted, by route and place, and nothing else.
Status, headers, answer and the request upstream are compared with chatmend in report mode, with every model denied,
disabled, and in repair mode. In repair mode a request may differ upstream only where LiteLLM alone refuses it, or where
the sandbox, which refuses what the target would, refuses what LiteLLM sends without chatmend.
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

OWN = {
    "anthropic": "anthropic", "deepseek": "deepseek", "google": "gemini", "mistral": "mistral", "openai": "openai",
    "openrouter": "openrouter", "perplexity": "perplexity", "xai": "xai",
}  # fmt: skip
"""Providers of the corpus, by LiteLLM's name, that are reached at their own address, as far as LiteLLM can see."""
FOREIGN = "foreign"
"""Stands for all others: servers with an address of their own, which speak OpenAI's format."""
JUDGES = {
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
"""Where the sandbox takes what came in at a path of the recording server; Gemini's paths are the same."""
MODES: dict[str, dict[str, Any]] = {
    "report": {"on": True, "mode": "report"},
    "denied": {"on": True, "deny": ["*"]},
    "disabled": {"on": False},
    "repair": {"on": True},
}
OURS = "x-chatmend-"
SHORTEST = 6
"""Letters of a value that may be masked: a shorter one might stand elsewhere, too."""


class Request(NamedTuple):
    """A request of a client of the proxy."""

    row: str
    path: str
    body: dict[str, Any]

    @property
    def route(self) -> str:
        """The path without the model, and whether the answer is streamed: what varies, varies by it."""
        path = "generateContent" if "enerateContent" in self.path else self.path
        prefix = "pass-through " if self.path.startswith(("/anthropic/", "/openai_", "/openai/", "/gemini/")) else ""
        model = str(self.body.get("model") or "").partition("/")[0] if not prefix else ""
        return f"{prefix}{path} {model} {'stream' if is_streamed(self) else 'whole'}"


def is_streamed(request: Request) -> bool:
    return bool(request.body.get("stream")) or ":stream" in request.path


class Answered(NamedTuple):
    """What a client got, and what arrived upstream on its behalf."""

    status: int
    headers: dict[str, str]
    body: bytes
    received: list[Received]


def requests(count: int) -> list[Request]:
    """So many requests of the corpus, spread over it; none where it is absent."""
    every = [request for number, row in enumerate(rows("requests_accepted")) for request in _routed(number, row)]
    step = max(1.0, len(every) / count)
    return [every[int(at * step)] for at in range(min(count, len(every)))]


def _routed(number: int, row: dict[str, Any]) -> Iterator[Request]:
    """The request of a row by one or two routes: as a deployment's, and passed through, bridged or streamed."""
    name = f"{row['id']} {row['provider']}"
    body, model = dict(row["body"]), str(row["model"] or "")
    provider = OWN.get(row["provider"], FOREIGN)
    if "keep_alive" in body:  # Ollama's own API, whose arguments are objects: no route leads there
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
        yield Request(name, f"{route}/{model}:{verb}", {key: item for key, item in body.items() if key != "model"})


def pair(stack: ExitStack, folder: Path) -> tuple[Side, Side]:
    """A proxy without chatmend and one with it, which start at the same time, and the server behind both."""
    sides, upstream = [], stack.enter_context(Recorder())
    for name in ("without", "with"):
        (folder / name).mkdir()
        more = {} if name == "with" else {"litellm_settings": {}}
        bases = {f"{own.upper()}_API_BASE": upstream.url(own) for own in OWN.values()}
        keys = {f"{own.upper()}_API_KEY": "any" for own in OWN.values()}
        keys["PERPLEXITYAI_API_KEY"] = "any"
        settings = {"guardrails": [], "chatmend": {}, **more, "model_list": list(_deployments(upstream))}
        proxy = Proxy(upstream, folder / name, {**bases, **keys}, **settings)
        sides.append(Side(proxy.start(), upstream))
        stack.enter_context(proxy)
    return sides[0], sides[1]


def _deployments(upstream: Recorder) -> Iterator[dict[str, Any]]:
    # OpenAI's address is told by the environment: written here, it would be that of a server of somebody else.
    places = {name: (name, upstream.url(name)) for name in OWN.values() if name != "openai"}
    places |= {"gemini": ("gemini", upstream.url("gemini/v1beta")), FOREIGN: ("openai", upstream.url("foreign/v1"))}
    yield {"model_name": "openai/*", "litellm_params": {"model": "openai/*", "api_key": "any"}}
    for name, (provider, base) in places.items():
        yield {"model_name": f"{name}/*", "litellm_params": _deployment(provider, base)}


def _deployment(provider: str, base: str) -> dict[str, str]:
    return {"model": f"{provider}/*", "api_key": "any", "api_base": base}


@dataclass
class Side:
    """A proxy and what is behind it. Only one request is under way at a time."""

    proxy: Proxy
    upstream: Recorder

    def ask(self, request: Request, **options: Any) -> Answered:
        """Send a request; the answer with what came in upstream meanwhile. ``options`` are those of the callback."""
        if options:
            self.proxy.switch(**options)
        self.upstream.take()
        found = self.proxy.post(request.path, request.body)
        return Answered(found.status_code, dict(found.headers.items()), found.content, self.upstream.take())


@dataclass
class Varying:
    """What LiteLLM itself does not do twice in the same way, by route."""

    places: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    headers: set[str] = field(default_factory=set)

    def learn(self, route: str, one: Answered, other: Answered) -> str:
        """Take in how two answers of LiteLLM's alone differ; in words, if they differ in more than values."""
        self.headers |= {name for name in one.headers.keys() | other.headers if _differs(name, one, other)}
        for name, (before, after) in _texts(one, other).items():
            here, there = list(_leaves(before)), list(_leaves(after))
            if [place for place, _ in here] != [place for place, _ in there]:
                return f"{name}: LiteLLM alone differs in structure"
            for (place, value), (_, again) in zip(here, there, strict=True):
                if value != again:
                    self.places[f"{route} {name}"].add(place)
        return "" if (one.status, len(one.received)) == (other.status, len(other.received)) else "LiteLLM alone differs"

    def masked(self, route: str, name: str, text: bytes) -> bytes:
        """A text with a star for each value that varies."""
        places = self.places.get(f"{route} {name}")
        if not places:
            return text
        for place, value in _leaves(text):
            token = json.dumps(value).encode()
            if place in places and len(token) >= SHORTEST:
                text = text.replace(token, b'"*"')
        return text

    def difference(self, route: str, one: Answered, other: Answered) -> Iterator[str]:
        """In what an answer with chatmend differs from one without; of a request, the words begin with ``upstream``."""
        if one.status != other.status:
            yield f"status {one.status} -> {other.status}: {one.body[:200]!r} -> {other.body[:200]!r}"
            return
        names = one.headers.keys() | other.headers.keys()
        for name in sorted(names - self.headers):
            if not name.startswith(OURS) and _differs(name, one, other):
                yield f"header {name}: {one.headers.get(name)} -> {other.headers.get(name)}"
        if [path for path, _ in one.received] != [path for path, _ in other.received]:
            yield f"upstream paths {[path for path, _ in one.received]} -> {[path for path, _ in other.received]}"
        for name, (before, after) in _texts(one, other).items():
            here, there = self.masked(route, name, before), self.masked(route, name, after)
            if here != there:
                yield f"{name} {_around(here, there)}"


def _differs(name: str, one: Answered, other: Answered) -> bool:
    return one.headers.get(name) != other.headers.get(name)


def _texts(one: Answered, other: Answered) -> dict[str, tuple[bytes, bytes]]:
    """The bytes to compare, by name."""
    sent = zip(one.received, other.received, strict=False)
    return {"answer": (one.body, other.body)} | {
        f"upstream {number}": (before.body, after.body) for number, (before, after) in enumerate(sent)
    }


def _leaves(text: bytes) -> Iterator[tuple[str, Any]]:
    """The values of a JSON text, or of the events of a stream, each with its place."""
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


def _inner(place: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, held in value.items():
            yield from _inner(f"{place}.{key}", held)
    elif isinstance(value, list):
        for held in value:
            yield from _inner(f"{place}[]", held)
    else:
        yield place, value


def _around(one: bytes, other: bytes) -> str:
    """The two texts around their first difference."""
    at = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    start = max(0, at - 60)
    return f"at byte {at}: {one[start : at + 80]!r} -> {other[start : at + 80]!r}"


@dataclass
class Judge:
    """Says whether a target would refuse what LiteLLM sends without chatmend."""

    sandbox: Sandbox

    def refuses(self, received: Received) -> str:
        """The refusal, or nothing."""
        path, mark, rest = received.path.strip("/").partition("?")
        place = path if path.startswith("gemini/") else JUDGES.get(path)
        if place is None:
            return ""
        headers = {"Authorization": "Bearer any", "x-api-key": "any", "x-goog-api-key": "any"}
        headers |= {"anthropic-version": "2023-06-01", "Content-Type": "application/json"}
        found = httpx.post(self.sandbox.url(f"{place}{mark}{rest}"), content=received.body, headers=headers)
        return "" if found.is_success else f"{found.status_code} {found.text[:200]}"


@dataclass
class Outcome:
    """What came of a run."""

    compared: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    repaired: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


class Compared(NamedTuple):
    """What a request came to without chatmend and with it."""

    mode: str
    request: Request
    one: Answered
    other: Answered


def run(every: list[Request], without: Side, with_us: Side, judge: Judge) -> tuple[Outcome, Varying]:
    """Compare everything.

    Without chatmend each request is sent twice before, and once after all modes: a clock that moves between the first
    and one with chatmend has moved until the last as well.
    """
    outcome, varying = Outcome(), Varying()
    unequal: list[Compared] = []
    for request in every:
        first, again = without.ask(request), without.ask(request)
        found = [Compared(mode, request, first, with_us.ask(request, **how)) for mode, how in MODES.items()]
        learnt = [varying.learn(request.route, first, other) for other in (again, without.ask(request))]
        if told := next(filter(None, learnt), ""):
            outcome.left_out[f"{request.route}: {told}"] += 1
            continue
        outcome.compared[f"{first.status} {request.route}"] += 1
        unequal += [one for one in found if any(varying.difference(request.route, one.one, one.other))]
        if with_us.proxy.hooks() < len(MODES):
            outcome.faults.append(f"{request.row} {request.route}: chatmend was not called in every mode")
    for one in unequal:  # once all that varies is known
        _judge(one, varying, judge, outcome)
    return outcome, varying


def _judge(compared: Compared, varying: Varying, judge: Judge, outcome: Outcome) -> None:
    mode, request, one, other = compared
    differences = list(varying.difference(request.route, one, other))
    codes = other.headers.get("x-chatmend-changes", "no change told")
    if mode == "repair" and differences and (refusal := _refusal(compared, differences, judge)):
        outcome.repaired[f"{codes}: {refusal[:100]}"] += 1
        return
    outcome.faults += [f"{mode} {request.row} {request.route} ({codes}): {told}" for told in differences]


def _refusal(compared: Compared, differences: list[str], judge: Judge) -> str:
    """Why a request that was repaired is refused without: by LiteLLM, which then sends nothing, or by the target."""
    if not compared.one.received:
        return f"LiteLLM answers {compared.one.status}" if compared.other.status == httpx.codes.OK else ""
    if not all(told.startswith("upstream") for told in differences):
        return ""
    return next(filter(None, map(judge.refuses, compared.one.received)), "")


def main(count: int) -> int:
    """Print what was compared; 1 if anything differs."""
    every = requests(count)
    if not every:
        print("left out: no recorded requests here (CHATMEND_CORPUS)")
        return 0
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        without, with_us = pair(stack, folder)
        outcome, varying = run(every, without, with_us, Judge(stack.enter_context(Sandbox(bodies=False))))
    counted = sorted(outcome.compared.items())
    _show(f"compared in {len(MODES)} modes", (f"{number:6} {route}" for route, number in counted))
    _show("excepted, because LiteLLM alone varies there", _places(varying))
    _show("left out", (f"{number:6} {why}" for why, number in sorted(outcome.left_out.items())))
    _show("repaired, and refused without", (f"{number:6} {why}" for why, number in sorted(outcome.repaired.items())))
    _show("differences", outcome.faults)
    comparisons = sum(outcome.compared.values()) * len(MODES)
    print(f"{len(every)} requests, {comparisons} comparisons, {len(outcome.faults)} differences")
    return int(bool(outcome.faults))


def _places(varying: Varying) -> Iterator[str]:
    yield f"headers {', '.join(sorted(varying.headers))}"
    for route, places in sorted(varying.places.items()):
        yield f"{route}: {', '.join(sorted(places))}"


def _show(title: str, lines: Iterable[str]) -> None:
    print(f"\n{title}:")
    for line in lines:
        print(f"  {line}")


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000))
