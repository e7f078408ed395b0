"""`chatmend probe` finds every limit that a provider has changed, and no other."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

pytest.importorskip("httpx")
pytest.importorskip("tenacity")

from chatmend.cli import app
from chatmend.probe.endpoint import find_endpoint
from chatmend.probe.proposals import proposals
from chatmend.probe.provider import Provider
from chatmend.probe.run import Report, answers, check_controls, plan, read_report
from chatmend.sandbox.providers import mistral
from chatmend.sandbox.refusals import load_table
from chatmend.sandbox.script import Failure
from tests.sandbox.conftest import sandbox, sandbox_server
from tests.scale import sampled

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmend.sandbox import Sandbox

__all__ = ["sandbox", "sandbox_server"]

KEY = "A_KEY_FOR_THE_SANDBOX"
PATHS = {
    "openai": "openai/v1/chat/completions",
    "anthropic": "anthropic/v1/messages",
    "gemini": "gemini/v1beta/models/{model}:generateContent",
    "mistral": "mistral/v1/chat/completions",
    "deepseek": "deepseek/chat/completions",
    "xai": "xai/v1/chat/completions",
    "groq": "groq/openai/v1/chat/completions",
    "moonshot": "moonshot/v1/chat/completions",
    "zai": "zai/api/paas/v4/chat/completions",
    "minimax": "minimax/v1/chat/completions",
    "cerebras": "cerebras/v1/chat/completions",
    "fireworks_ai": "fireworks_ai/inference/v1/chat/completions",
    "openrouter": "openrouter/api/v1/chat/completions",
    "perplexity": "perplexity/chat/completions",
    "cohere": "cohere/v2/chat",
    "ollama/llama3.1": "ollama/v1/chat/completions",
}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "any")


def asked(server: Sandbox, host: str, folder: Path) -> dict[str, str]:
    """What the sandbox answers to each case of a host."""
    endpoint = find_endpoint(host, url=f"{server.url()}/{PATHS[host]}", key_variable=KEY)
    todo = plan(endpoint)
    with Provider(endpoint, sleep=lambda _: None) as provider:
        check_controls(todo, provider.ask)
        report = Report(folder / "report.json", endpoint)
        found = {
            f"{entry['limit']}: {entry['form']}": entry["answer"]
            for entry in answers(todo, report, provider.ask)
        }
    (folder / "report.json").unlink()
    return found


def drop(table: str, *codes: str) -> Callable[[pytest.MonkeyPatch], None]:
    """An alteration: the provider no longer refuses what breaks these rules."""

    def alter(monkeypatch: pytest.MonkeyPatch) -> None:
        rules = load_table(table).rules
        for code in codes:
            nobody = replace(rules[code], providers=("nobody",))
            monkeypatch.setitem(rules, code, nobody)  # type: ignore[arg-type]  # it is a dict

    return alter


def refuse_keys(table: str, keys: list[str]) -> Callable[[pytest.MonkeyPatch], None]:
    """An alteration: the provider refuses other keys."""
    return lambda monkeypatch: monkeypatch.setitem(
        load_table(table).settings,  # type: ignore[arg-type]  # it is a dict
        "refused_keys",
        keys,
    )


def use(module: Any, name: str, value: Any) -> Callable[[pytest.MonkeyPatch], None]:
    """An alteration of a number or pattern that the provider checks."""
    return lambda monkeypatch: monkeypatch.setattr(module, name, value)


KEYS = load_table("cerebras").settings["refused_keys"]
ALTERED: dict[str, tuple[str, Callable[[pytest.MonkeyPatch], None], dict[str, str]]] = {
    "user after tool": (
        "mistral",
        drop("mistral", "mistral-user-after-tool"),
        {"user_after_tool: a user message directly after a result": "accepted"},
    ),
    "ten characters": (
        "mistral",
        use(mistral, "_ID", re.compile(r"[a-zA-Z0-9]{9,10}\Z")),
        {"call_id_pattern: a call id of 10 letters and digits": "accepted"},
    ),
    "a role more": (
        "mistral",
        drop("mistral", "mistral-unsupported-role"),
        {"roles: the role developer": "accepted", "roles: the role ipython": "accepted"},
    ),
    "fewer images": (
        "mistral",
        use(mistral, "_MAX_IMAGES", 7),
        {"images.max_images: 8 images": "refused"},
    ),
    "a key more": (
        "cerebras",
        refuse_keys("cerebras", [*KEYS, "id"]),
        {"refused_keys: the key id in an assistant message": "refused"},
    ),
    "a key less": (
        "cerebras",
        refuse_keys("cerebras", [key for key in KEYS if key != "reasoning_content"]),
        {"refused_keys: the key reasoning_content in an assistant message": "accepted"},
    ),
    "trailing assistant": (
        "mistral",
        drop("mistral", "mistral-last-role"),
        {"trailing_assistant: a last message of the assistant": "accepted"},
    ),
}


@pytest.fixture(scope="module")
def unaltered(sandbox_server: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the sandbox answers before it is altered, by host."""
    found: dict[str, dict[str, str]] = {}

    def answers_of(host: str) -> dict[str, str]:
        if host not in found:
            found[host] = asked(sandbox_server, host, tmp_path_factory.mktemp("probe"))
        return found[host]

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv(KEY, "any")
        yield answers_of


@pytest.mark.parametrize("name", ALTERED)
def test_what_was_altered_is_found_and_nothing_else(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, unaltered: Any, name: str
) -> None:
    host, alter, expected = ALTERED[name]
    before = unaltered(host)
    alter(monkeypatch)
    after = asked(sandbox, host, tmp_path)
    assert {case: after[case] for case in after if after[case] != before[case]} == expected


UNCERTAIN = tomllib.loads(
    (Path(__file__).parents[1] / "sandbox" / "uncertain.toml").read_text("utf-8")
)


@pytest.mark.parametrize("host", sampled(list(PATHS), list(PATHS)[::2]))
def test_the_sandbox_refuses_exactly_what_the_tables_say(unaltered: Any, host: str) -> None:
    """Both describe the same provider, and neither is made from the other.

    The limits in ``uncertain.toml`` are those that no recording of that host and form shows.
    """
    found = unaltered(host)
    assert set(found.values()) == {"accepted", "refused"}
    endpoint = find_endpoint(host, url="http://localhost", key_variable=KEY)
    differ: dict[str, set[str]] = {"accepted": set(), "refused": set()}
    for case in plan(endpoint).cases:
        answer = found[f"{case.limit}: {case.form}"]
        if answer != ("refused" if case.is_refused else "accepted"):
            differ[answer].add(case.limit)
    assert differ["refused"] == set()
    assert differ["accepted"] == set(UNCERTAIN.get(host, ()))


def words(server: Sandbox, host: str, *more: str) -> list[str]:
    url = f"{server.url()}/{PATHS[host]}"
    return ["probe", host, "--url", url, "--key-variable", KEY, *more]


def test_the_command_prints_what_is_out_of_date_and_proposes_the_edit(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    drop("mistral", "mistral-user-after-tool")(monkeypatch)
    path = tmp_path / "report.json"
    limits = "user_after_tool,trailing_assistant,call_id_pattern"
    done = CliRunner().invoke(
        app, words(sandbox, "mistral", "--limits", limits, "--report", str(path)), input="y\n"
    )
    assert done.exit_code == 1, done.output
    assert "10 requests with at most " in done.stdout
    assert "USD" in done.stdout
    assert "out of date  user_after_tool\n    a user message directly after a result: the " in (
        done.stdout
    )
    assert "confirmed    call_id_pattern" in done.stdout
    assert "any" not in json.dumps(read_report(path)["url"])
    edits = CliRunner().invoke(app, ["probe", "--propose", str(path)]).stdout
    generation = 'makers/mistral.toml, [[generation]] models = ["ministral-3b-2512"]'
    assert f"# {generation}, [generation.structure]\nuser_after_tool = {{ value = true, " in edits
    assert 'trailing_assistant = { value = "refused", source = "recorded: chatmend probe' in edits


def test_what_a_host_accepts_is_lifted_there_and_keys_are_proposed_as_a_list() -> None:
    def entry(limit: str, form: str, expected: str, answer: str, otherwise: Any = None) -> Any:
        known = {"limit": limit, "form": form, "expected": expected, "answer": answer}
        return {**known, "otherwise": otherwise, "checked": "2026-11-23"}

    key = "the key {} in an assistant message"
    report = {
        "target": "fireworks_ai/mistral-large",
        "format": "openai_chat",
        "cases": [
            entry("call_id_pattern", "a call id of 10 letters", "refused", "accepted"),
            entry("refused_keys", key.format("audio"), "refused", "accepted"),
            entry("refused_keys", key.format("id"), "accepted", "refused"),
            entry("pairing", "a call without a result", "refused", "unknown"),
        ],
    }
    lines = list(proposals(report))
    at = lines.index("# hosts/fireworks_ai.toml [lifts]")
    assert lines[at + 1].startswith("call_id_pattern = { source = ")
    (keys,) = [line for line in lines if line.startswith("refused_keys = ")]
    assert '"id"' in keys
    assert '"audio"' not in keys.partition(" source")[0]
    assert not any("pairing" in line for line in lines)


def test_nothing_is_sent_without_a_yes(sandbox: Sandbox, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    for more, status in (([], 1), (["--dry-run"], 0)):
        done = CliRunner().invoke(
            app, words(sandbox, "groq", "--report", str(path), *more), input="n\n"
        )
        assert done.exit_code == status, done.output
    assert sandbox.requests == []
    assert not path.exists()


def test_an_interrupted_run_continues_with_what_is_missing(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    path = tmp_path / "report.json"
    common = ("--limits", "roles,system", "--report", str(path), "--yes")
    CliRunner().invoke(app, words(sandbox, "mistral", *common))
    report = read_report(path)
    answered = len(report["cases"])
    report["cases"] = report["cases"][: answered - 2]
    path.write_text(json.dumps(report))
    sandbox.clear()
    done = CliRunner().invoke(app, words(sandbox, "mistral", *common))
    assert f"{answered - 2} answers of an earlier run will be kept." in done.stdout
    assert len(sandbox.requests) == 2 + 2, "two controls, two cases"
    assert len(read_report(path)["cases"]) == answered
    sandbox.clear()
    CliRunner().invoke(app, words(sandbox, "mistral", *common))
    assert sandbox.requests == []
    other = CliRunner().invoke(app, words(sandbox, "groq", "--report", str(path), "--yes"))
    assert other.exit_code == 2
    assert "is the report of another target" in other.stderr


def test_a_busy_provider_is_asked_again_after_the_time_that_it_names(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    url = f"{sandbox.url()}/{PATHS['openai']}"
    endpoint = find_endpoint("openai", url=url, key_variable=KEY)
    todo = plan(endpoint, ["equal_calls"])
    waited: list[float] = []
    sandbox.script([Failure(429, retry_after=7), Failure(503), Failure(529)])
    with Provider(endpoint, sleep=waited.append) as provider:
        report = Report(tmp_path / "report.json", endpoint)
        (entry,) = answers(todo, report, provider.ask)
        assert entry["answer"] == "accepted"
        assert waited == [7.0, 2.0, 4.0]
        sandbox.script([Failure(429)] * 6)
        (case,) = todo.cases
        assert provider.ask(todo.body(case)).verdict == "unknown"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["bedrock"], "has no address to probe: give the complete URL of an endpoint with --url"),
        (["hosted_vllm"], "name a model: chatmend probe hosted_vllm/MODEL"),
        (["opnai"], "did you mean 'openai'?"),
        (["openai", "--limits", "nothing"], "no request tests nothing; choose from:"),
        (["openai", "--key-variable", "NOT_SET"], "set the environment variable NOT_SET"),
        (["openai", "--format", "soap"], "choose one of openai_chat"),
        (["--propose", "no-such-file.json"], "cannot be read"),
    ],
)
def test_an_error_names_the_next_step(given: list[str], said: str) -> None:
    done = CliRunner().invoke(app, ["probe", *given])
    assert done.exit_code == 2
    assert said in " ".join(done.stderr.split())


def test_a_refused_key_ends_the_run(sandbox: Sandbox) -> None:
    sandbox.script([Failure(401, "Incorrect API key provided")])
    done = CliRunner().invoke(app, words(sandbox, "openai", "--yes"))
    assert done.exit_code == 2
    assert "answers 401: Incorrect API key provided" in " ".join(done.stderr.split())
