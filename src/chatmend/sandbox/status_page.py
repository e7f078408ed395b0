"""The page at ``/``: status, requests, refusals and scripts, for people; JSON for programs."""

from __future__ import annotations

from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any

from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from chatmend.sandbox.guide import PROVIDERS

if TYPE_CHECKING:
    from starlette.requests import Request as Http

    from chatmend.sandbox.ledger import Ledger, Verdict
    from chatmend.sandbox.script import Script, ScriptedChanges

_SHOWN = 200
"""The latest requests on the page."""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .25rem .8rem .25rem 0; border-top: 1px solid #8884;
  vertical-align: top; overflow-wrap: anywhere; }
td:first-child { white-space: nowrap; }
code { font: 13px/1.5 ui-monospace, monospace; overflow-wrap: anywhere; }
.refused { color: #b42318; font-weight: 600; }
.accepted { color: #1c7035; }
@media (prefers-color-scheme: dark) { .refused { color: #ff8f85; } .accepted { color: #74d08d; } }
"""


def status_route(ledger: Ledger, script: Script, changes: ScriptedChanges) -> Route:
    """Return the route of the page."""

    async def answer(http: Http) -> Response:
        root = str(http.base_url).rstrip("/")
        data = _status(ledger, script, changes)
        if "text/html" not in http.headers.get("accept", ""):
            return JSONResponse(data)
        page = _page(root, data, ledger)
        return HTMLResponse(page, headers={"content-security-policy": _POLICY})

    return Route("/", answer, methods=["GET"])


def _status(ledger: Ledger, script: Script, changes: ScriptedChanges) -> dict[str, Any]:
    return {
        "sandbox": "chatmend",
        **ledger.report(),
        "scripted": {"answers": len(script), "changes": len(changes)},
    }


def _page(root: str, data: dict[str, Any], ledger: Ledger) -> str:
    latest = list(islice(reversed(list(ledger)), _SHOWN))
    refused = sum(verdict.refused for verdict in ledger)
    scripted = data["scripted"]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>chatmend sandbox</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body><main><h1>chatmend sandbox</h1>"
        f"<p>It runs on <code>{escape(root)}</code>, accepts any API key and sends nothing to the "
        f"network. {_counted(data['requests'], 'request')}, {refused:,} refused. Scripted: "
        f"{_counted(scripted['answers'], 'answer')}, {_counted(scripted['changes'], 'change')}. "
        "Reload the page to see later requests.</p>"
        f"<h2>Requests</h2>{_requests(latest)}"
        f"<h2>Addresses</h2>{_addresses(root)}"
        "<p>Programs get this page as JSON, with counts by provider and rule.</p>"
        "</main></body></html>"
    )


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _requests(verdicts: list[Verdict]) -> str:
    if not verdicts:
        return "<p>None yet. Point a client at one of the addresses below.</p>"
    rows = "".join(
        f"<tr><td>{verdict.number}</td>"
        f'<td class="{"refused" if verdict.rule else "accepted"}">{verdict.status}</td>'
        f"<td><code>{escape(verdict.path)}</code></td><td>{escape(verdict.model)}</td>"
        f"<td>{escape(verdict.rule or verdict.note or 'accepted')}"
        f"{f'<br><code>{escape(verdict.text)}</code>' if verdict.text else ''}</td></tr>"
        for verdict in verdicts
    )
    head = "<tr><th>number<th>status<th>path<th>model<th>result</tr>"
    return f'<div class="scroll"><table>{head}{rows}</table></div>'


def _addresses(root: str) -> str:
    port = escape(root.rpartition(":")[2])
    rows = "".join(
        f"<tr><td>{escape(provider)}</td><td><code>{escape(root + path)}</code></td>"
        f'<td><code>eval "$(chatmend sandbox --env {escape(name)} --port {port})"</code></td></tr>'
        for name, (provider, path) in PROVIDERS.items()
    )
    head = "<tr><th>provider<th>base URL<th>in a shell</tr>"
    return f'<div class="scroll"><table>{head}{rows}</table></div>'
