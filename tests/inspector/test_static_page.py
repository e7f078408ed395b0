"""The static page of the documentation in a real browser: Python in a worker, no server, no network."""

from __future__ import annotations

import base64
import functools
import http.server
import io
import json
import random
import re
import shutil
import subprocess
import threading
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image

from tests.inspector.browser import ROOT, WIDE, Watch, accessibility_faults, chromium, missing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PYODIDE = ROOT / "inspector/node_modules/pyodide"
REASON = missing() or ("" if PYODIDE.exists() else "Pyodide is not installed (make inspector)")
pytestmark = [pytest.mark.showpiece, pytest.mark.skipif(bool(REASON), reason=REASON or "present")]
CALL = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
BODY = {
    "model": "claude-sonnet-4-6",
    "max_tokens": 100,
    "tools": [{"name": "f", "input_schema": {"type": "object"}}],
    "messages": [
        {"role": "user", "content": "private words"},
        {"role": "assistant", "content": [CALL]},
        {"role": "user", "content": "Never mind."},
    ],
}


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files as any static host does, without security headers."""

    def log_message(self, *_words: Any) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the page as ``make docs`` does."""
    folder = tmp_path_factory.mktemp("site")
    node = shutil.which("node") or "node"
    command = [node, "site.mjs", str(folder / "inspector"), "0.0.1"]
    subprocess.run(command, cwd=ROOT / "inspector", check=True, capture_output=True)  # noqa: S603
    return folder


@pytest.fixture(scope="module")
def server(site: Path) -> Iterator[http.server.ThreadingHTTPServer]:
    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as found:
        threading.Thread(target=found.serve_forever, daemon=True).start()
        yield found
        found.shutdown()


@pytest.fixture(scope="module")
def shared_page(server: http.server.ThreadingHTTPServer) -> Iterator[Any]:
    address = f"http://127.0.0.1:{server.server_port}/inspector/"
    with chromium() as browser:
        context = browser.new_context(
            viewport=WIDE, permissions=["clipboard-read", "clipboard-write"]
        )
        found = context.new_page()
        found.set_default_timeout(60_000)
        watch = Watch(found, address)
        found.goto(address)
        found.wait_for_selector("body[data-ready]")
        yield found
        assert watch.faults == []


@pytest.fixture
def page(shared_page: Any) -> Any:
    """A page on which nothing is pasted: the same for all tests, because Python takes long to start."""
    shared_page.get_by_role("button", name="Clear").click()
    shared_page.locator(".empty").wait_for()
    return shared_page


def insert(page: Any, value: object, path: Path) -> None:
    path.write_text(json.dumps(value), "utf-8")
    page.set_input_files("#file", str(path))


def test_a_request_is_repaired_in_the_page(page: Any, tmp_path: Path) -> None:
    insert(page, BODY, tmp_path / "request.json")
    page.wait_for_selector(".card")
    assert page.locator(".card .code").inner_text() == "TOOL007"
    assert page.locator(".card .code").get_attribute("href") == "../rules/missing-tool-result.html"
    assert "Accepted after the repair" in page.locator(".verdict").inner_text()
    assert accessibility_faults(page) == []


def test_rows_of_json_lines_are_examined_in_the_page(page: Any, tmp_path: Path) -> None:
    clean = json.dumps({**BODY, "messages": BODY["messages"][:1]})
    path = tmp_path / "chats.jsonl"
    path.write_text("\n".join([clean, clean, json.dumps(BODY)]), "utf-8")
    page.set_input_files("#file", str(path))
    page.locator("#rows [role=status]", has_text="1 of 3 lines has findings.").wait_for()
    page.get_by_role("button", name="line 3: TOOL007").click()
    page.locator("#said", has_text="Line 3 of 3.").wait_for()
    page.wait_for_selector(".card")


def test_an_image_is_recompressed_by_the_browser(page: Any, tmp_path: Path) -> None:
    noise = Image.frombytes("RGB", (100, 75), random.Random(1).randbytes(100 * 75 * 3))
    out = io.BytesIO()
    noise.resize((4000, 3000)).save(out, "PNG", compress_level=1)
    data = base64.b64encode(out.getvalue()).decode()
    source = {"type": "base64", "media_type": "image/png", "data": data}
    body = {
        **BODY,
        "messages": [{"role": "user", "content": [{"type": "image", "source": source}]}],
    }
    insert(page, body, tmp_path / "image.json")
    # Another question while the browser encodes the image.
    page.locator("#error").fill("messages.0: image exceeds the maximum")
    page.locator(".panel.error").wait_for()
    page.locator(".card figure >> nth=1").wait_for()
    before, after = page.locator(".card figcaption").all_inner_texts()
    assert before.startswith("PNG, 4000 x 3000")
    assert after.startswith("JPEG, ")
    page.get_by_role("button", name="Copy: Repaired body").click()
    page.locator("#notice", has_text="Copied").wait_for()
    sent = json.loads(page.evaluate("navigator.clipboard.readText()"))
    block = sent["messages"][0]["content"][0]["source"]
    assert block["media_type"] == "image/jpeg"
    with Image.open(io.BytesIO(base64.b64decode(block["data"]))) as image:
        assert re.search(rf"JPEG, {image.width} x {image.height}, ", after)
        assert max(image.size) <= 2000


def test_the_content_is_in_a_link_only_if_asked_for(page: Any, tmp_path: Path) -> None:
    insert(page, BODY, tmp_path / "request.json")
    page.wait_for_selector(".card")
    assert "#" not in page.url
    page.get_by_role("button", name="Link with this content").click()
    page.locator("#notice", has_text="The link contains everything").wait_for()
    link = page.evaluate("navigator.clipboard.readText()")
    assert "#c=" in link
    page.goto("about:blank")
    page.goto(link)
    page.wait_for_selector(".card")
    assert "private words" in page.locator("#editor .cm-content").inner_text()


def test_the_policy_forbids_requests_to_others_in_page_and_worker(
    page: Any, site: Path, server: http.server.ThreadingHTTPServer
) -> None:
    policy = page.locator("meta[http-equiv]").get_attribute("content")
    assert "connect-src 'self'" in policy
    assert "'unsafe" not in policy
    fetched = "address => fetch(address).then(() => 'sent', error => error.name)"
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as other:
        address = f"http://127.0.0.1:{other.server_port}/"
        (worker,) = page.workers
        assert worker.evaluate(fetched, address) == "TypeError"
    own = f"http://127.0.0.1:{server.server_port}/inspector/settings.json"
    assert worker.evaluate(fetched, own) == "sent"
    assert policy in (site / "inspector/service_worker.js").read_text("utf-8")


def test_it_works_offline_after_the_first_visit(
    page: Any, server: http.server.ThreadingHTTPServer, tmp_path: Path
) -> None:
    page.wait_for_function("() => navigator.serviceWorker.controller !== null")
    server.shutdown()
    server.server_close()
    page.context.set_offline(True)
    page.goto("about:blank")
    page.goto(f"http://127.0.0.1:{server.server_port}/inspector/")
    try:
        page.wait_for_selector("body[data-ready]", timeout=45_000)
    except Exception as error:
        raise AssertionError(page.locator("#said").inner_text()) from error
    insert(page, BODY, tmp_path / "request.json")
    page.wait_for_selector(".card")
