"""Puts chatmend into service in a real proxy, as the operator's guide describes it.

    python -m tests.litellm_adapter.operator_run 10000 1000

Two keys of two teams, made with LiteLLM's own endpoints, send requests to a proxy with a
PostgreSQL: in report mode, then with 1 % of the conversations repaired, then with all, then for one
team only, and then the switch file disables chatmend while the proxy is running. Each step is
checked; a failing one raises.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import psycopg
import yaml
from typer.testing import CliRunner

from chatmend.cli import app
from chatmend.lesson_store import key_of_conversation
from tests.data.server import create_tables, running_server
from tests.litellm_adapter.database import environment
from tests.litellm_adapter.proxy import Proxy
from tests.litellm_adapter.transcripts import CHAT_TOOLS, MESSAGES_TOOLS, chat, messages, valid

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

KEYS = {
    "sk-research-000001": ("research-batch", "team-1", "Research"),
    "sk-support-000001": ("support-bot", "team-2", "Support"),
}
"""The keys of the proxy with alias, team and the name of the team."""
CHAT, MESSAGES = "/v1/chat/completions", "/v1/messages"
RESEARCH, SUPPORT = KEYS
MASTER_KEY = "sk-of-the-operator"
_SECONDS_TO_WRITE = 1
"""How often LiteLLM writes spend logs to the database; it adds up to 5 seconds."""
_AT_ONCE = 8
_BROKEN = 10
"""One in so many requests of the replay lacks a tool result."""
_SHARE = 0.01
_BITS = 52


@dataclass(frozen=True, slots=True)
class Sent:
    """One request of a client."""

    path: str
    body: dict[str, Any]
    key: str
    broken: bool


class Operation:
    """A proxy in operation, and what an operator can do with it."""

    def __init__(
        self,
        sandbox: Any,
        folder: Path,
        database: str,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """Write the configuration; ``variables`` are more variables of the proxy's environment."""
        self.database = database
        self.switch = folder / "switch"
        self._options: dict[str, Any] = {"switch_file": str(self.switch), "reload": True}
        self.proxy = Proxy(
            sandbox,
            folder,
            {
                **environment(database),
                "CHATMEND_CONFIG": str(folder / "chatmend.yaml"),
                **(variables or {}),
            },
            litellm_settings={"callbacks": ["chatmend.litellm.callback", "prometheus"]},
            general_settings={
                "master_key": MASTER_KEY,
                "proxy_batch_write_at": _SECONDS_TO_WRITE,
            },
            guardrails=[],
        )
        self._config = folder / "chatmend.yaml"
        self.configure(mode="report")

    def make_keys(self) -> None:
        """Make the teams and their keys with LiteLLM's endpoints, as an operator does."""
        for key, (alias, team, name) in KEYS.items():
            self._manage("/team/new", team_id=team, team_alias=name)
            tags = {"tags": [f"tag-{alias}"]}
            self._manage("/key/generate", key=key, key_alias=alias, team_id=team, metadata=tags)

    def _manage(self, path: str, **body: Any) -> None:
        headers = {"Authorization": f"Bearer {MASTER_KEY}"}
        answer = httpx.post(self.proxy.url(path), json=body, headers=headers, timeout=60)
        assert answer.status_code == httpx.codes.OK, answer.text

    def configure(self, **options: Any) -> None:
        """Write the options of chatmend; the running proxy reads them at the next request."""
        text = yaml.safe_dump({"chatmend": {**self._options, **options}})
        new = self._config.with_suffix(".new")
        new.write_text(text)
        new.rename(self._config)

    def send(
        self, requests: Iterable[Sent], headers: Mapping[str, str] | None = None
    ) -> list[httpx.Response]:
        """Send requests, several at a time, and return the responses in their order."""
        return asyncio.run(self._send(list(requests), headers or {}))

    async def _send(self, requests: list[Sent], headers: Mapping[str, str]) -> list[httpx.Response]:
        limit = asyncio.Semaphore(_AT_ONCE)
        async with httpx.AsyncClient(timeout=120) as client:

            async def one(sent: Sent) -> httpx.Response:
                async with limit:
                    return await client.post(
                        self.proxy.url(sent.path),
                        json=sent.body,
                        headers={"Authorization": f"Bearer {sent.key}", **headers},
                    )

            return list(await asyncio.gather(*map(one, requests)))

    def report(self, rows: int) -> list[dict[str, Any]]:
        """Return what ``chatmend report`` prints when the table has so many rows."""
        for _ in range(600):
            if self._rows() >= rows:
                break
            self.proxy.pause()
        assert self._rows() == rows, self.proxy.log.read_text()[-2000:]
        done = CliRunner().invoke(app, ["report", self.database, "--json"])
        assert done.exit_code == 0, done.output
        found: list[dict[str, Any]] = json.loads(done.stdout)
        return found

    def _rows(self) -> int:
        with psycopg.connect(self.database) as connection:
            (number,) = connection.execute('SELECT count(*) FROM "LiteLLM_SpendLogs"').fetchone()
            return int(number)

    def metric(self, name: str, **labels: str) -> float:
        """Return the sum of a series on ``/metrics`` over all labels that are not given."""
        headers = {"Authorization": f"Bearer {MASTER_KEY}"}
        answer = httpx.get(self.proxy.url("/metrics/"), headers=headers, timeout=60)
        assert answer.status_code == httpx.codes.OK, answer.text
        lines = answer.text.splitlines()
        wanted = [f'{label}="{value}"' for label, value in labels.items()]
        return sum(
            float(line.rpartition(" ")[2])
            for line in lines
            if line.partition("{")[0].partition(" ")[0] == name
            and all(label in line for label in wanted)
        )


def replay(size: int) -> Iterator[Sent]:
    """Yield requests of both keys in two wire formats, some of them broken."""
    for number in range(size):
        key, broken = (RESEARCH, SUPPORT)[number % 2], number // 2 % _BROKEN == 0
        asked = {"role": "user", "content": f"Request {number}"}
        if number // 4 % 2:
            body = {"model": "ant", "max_tokens": 16, "tools": MESSAGES_TOOLS}
            sent = [asked, *messages()[1:]] if broken else [asked]
            yield Sent(MESSAGES, {**body, "messages": sent}, key, broken)
        else:
            sent = [asked, *chat()[1:]] if broken else [asked, *valid(4)[1:]]
            body = {"model": "oai", "messages": sent, "tools": CHAT_TOOLS}
            yield Sent(CHAT, body, key, broken)


def conversations(size: int, label: str, turns: int = 3) -> list[list[Sent]]:
    """Return conversations that are broken from their second request on."""
    found = []
    for number in range(size):
        opening = {"role": "user", "content": f"{label} {number}"}
        history = [opening, *chat()[1:]]
        bodies = [[opening], history]
        for turn in range(2, turns):
            history = [
                *history,
                {"role": "assistant", "content": f"Yes, {turn}."},
                {"role": "user", "content": "Go on."},
            ]
            bodies.append(history)
        key = (RESEARCH, SUPPORT)[number % 2]
        found.append(
            [
                Sent(
                    CHAT, {"model": "oai", "messages": one, "tools": CHAT_TOOLS}, key, len(one) > 1
                )
                for one in bodies
            ]
        )
    return found


def observe(operation: Operation, size: int) -> list[dict[str, Any]]:
    """Report mode: nothing changes for clients, and the report has the exact figures."""
    requests = list(replay(size))
    answers = operation.send(requests)
    expected: dict[tuple[str, str], Counter[str]] = {}
    for sent, answer in zip(requests, answers, strict=True):
        assert answer.status_code == (400 if sent.broken else 200), answer.text
        assert ("x-chatmend-findings" in answer.headers) == sent.broken
        row = expected.setdefault((sent.body["model"], KEYS[sent.key][0]), Counter())
        row.update(requests=1, refused=sent.broken, repairable=sent.broken)
    rows = operation.report(size)
    found = {(row["model"], row["key"]): row for row in rows}
    assert found.keys() == expected.keys()
    for name, figures in expected.items():
        row = found[name]
        assert {key: row[key] for key in figures} == dict(figures), (name, row)
        assert row["rules"] == ({"TOOL007": figures["refused"]} if figures["refused"] else {})
        assert row["repaired"] == 0
    return rows


def sample(operation: Operation, size: int, share: float = _SHARE) -> int:
    """A share of the conversations: repaired from the first request on, or never.

    Returns how many conversations are repaired.
    """
    operation.configure(mode="repair", sample=share)
    talks = conversations(size, "sampled")
    repaired = 0
    for turn in range(len(talks[0])):
        answers = operation.send(talk[turn] for talk in talks)
        chosen = [_is_chosen(talk[0], share) for talk in talks]
        repaired = sum(chosen)
        for answer, is_chosen in zip(answers, chosen, strict=True):
            expected = 200 if is_chosen or turn == 0 else 400
            assert answer.status_code == expected, answer.text
            header = "x-chatmend-changes" if is_chosen else "x-chatmend-findings"
            assert (header in answer.headers) == (turn > 0)
    return repaired


def _is_chosen(first: Sent, share: float) -> bool:
    digest = key_of_conversation(f"team {KEYS[first.key][1]}", first.body["messages"])
    return int(digest[: _BITS // 4], 16) < share * 2**_BITS


def repair_all(operation: Operation, size: int) -> None:
    """All conversations: every request is accepted."""
    operation.configure(mode="repair")
    for turn in zip(*conversations(size, "all"), strict=True):
        assert {answer.status_code for answer in operation.send(turn)} == {200}


def repair_one_team(operation: Operation) -> None:
    """An override for a team: the requests of the other one are only reported."""
    operation.configure(mode="report", overrides=[{"teams": ["Research"], "mode": "repair"}])
    research, support = (talk[1] for talk in conversations(2, "team"))
    answers = operation.send([research, support])
    assert [answer.status_code for answer in answers] == [200, 400]
    assert "x-chatmend-findings" in answers[1].headers


def switch_off(operation: Operation) -> None:
    """The switch file: it applies to the next request, and so does its removal."""
    operation.configure(mode="repair")
    request = conversations(1, "switched")[0][1]

    def answer() -> tuple[int, set[str]]:
        (found,) = operation.send([request])
        return found.status_code, {name for name in found.headers if "chatmend" in name}

    assert answer() == (200, {"x-chatmend-changes"})
    operation.switch.touch()
    assert answer() == (400, set())
    operation.switch.write_text("report\n")
    assert answer() == (400, {"x-chatmend-findings"})
    operation.switch.unlink()
    assert answer() == (200, {"x-chatmend-changes"})


def main(requests: int, talks: int) -> int:
    """Run all steps and print what an operator would see."""
    from chatmend.sandbox import Sandbox

    with ExitStack() as stack:
        database = stack.enter_context(running_server())
        create_tables(database)
        sandbox = stack.enter_context(Sandbox())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="chatmend-proxy-")))
        operation = Operation(sandbox, folder, database)
        stack.enter_context(operation.proxy)
        operation.make_keys()
        observe(operation, requests)
        print(f"report mode: {requests:,} requests, nothing changed. chatmend report prints:")
        print(CliRunner().invoke(app, ["report", database]).stdout)
        count = sample(operation, talks)
        print(
            f"sample: {_SHARE}: {count} of {talks:,} conversations repaired, at all turns or none"
        )
        repair_all(operation, talks)
        print(f"all: {talks:,} of {talks:,} conversations accepted")
        repair_one_team(operation)
        print("override: one team repaired, the other one reported")
        switch_off(operation)
        print("switch file: off, report and on again, each at the next request")
        for outcome in ("clean", "repaired", "reported", "off", "refused", "failed"):
            number = operation.metric("chatmend_requests_total", outcome=outcome)
            print(f'chatmend_requests_total{{outcome="{outcome}"}} {number:.0f}')
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:3])))
