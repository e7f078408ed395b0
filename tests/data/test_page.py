"""``chatmend data --report html``: one page that loads nothing, with statistics and examples."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest

from tests.data.test_files import BROKEN, HOPELESS, VALID, lines, run
from tests.data.test_formats import ANSWER, ASK
from tests.inspector.browser import AXE, PHONE, SERIOUS, WIDE, chromium, executable

if TYPE_CHECKING:
    from pathlib import Path

PRIVATE_TEXT = "Secret <script>alert(1)</script> \u202e text"
PRIVATE = {"messages": [ASK, {"role": "bot", "content": PRIVATE_TEXT}]}


class _Page(HTMLParser):
    """Collects the texts and tags of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.text, self.tags = "", list[tuple[str, dict[str, str | None]]]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def report(tmp_path: Path, *words: object, rows: list[Any]) -> str:
    (tmp_path / "a.jsonl").write_bytes(lines(*rows))
    out = tmp_path / "out"
    done = run(tmp_path / "a.jsonl", "--out", out, "--report", "html", *words)
    assert done.stdout.rstrip().endswith(f"report in {out / 'report.html'}")
    return (out / "report.html").read_text("utf-8")


def parsed(html: str) -> _Page:
    found = _Page()
    found.feed(html)
    return found


def test_the_page_counts_rows_rules_and_reasons(tmp_path: Path) -> None:
    text = parsed(report(tmp_path, rows=[VALID, BROKEN, BROKEN, HOPELESS])).text
    assert "Repair of 4 rows" in text
    assert "1valid (25.0 %)2repaired (50.0 %)1quarantined (25.0 %)" in text
    assert "missing-tool-result" in text
    assert "a.jsonl, row 1" in text
    assert "messages[1]: TOOL007 missing-tool-result (adds): the call has no result" in text
    assert "Quarantined: empty or not in the layout messages" in text
    assert "target" in text
    assert "hosted_vllm/Qwen/Qwen3-8B" in text


def test_a_set_without_defects_has_no_examples(tmp_path: Path) -> None:
    html = report(tmp_path, rows=[VALID])
    assert "Nothing was repaired." in html
    assert "<details>" not in html


def test_the_page_loads_nothing_and_escapes_all_content(tmp_path: Path) -> None:
    html = report(tmp_path, rows=[PRIVATE])
    found = parsed(html)
    style = re.search("<style>(.*)</style>", html, re.DOTALL)
    assert style
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    (policy,) = (a["content"] for _, a in found.tags if a.get("http-equiv"))
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"  # fmt: skip
    assert not [tag for tag, _ in found.tags if tag in ("script", "link", "img", "iframe")]
    names = {name for _, attributes in found.tags for name in attributes}
    assert not names & {"src", "href", "style", "onclick"}
    assert "Secret <script>alert(1)</script> \\u202e text" in found.text
    assert "\u202e" not in html
    assert "://" not in html


def test_texts_can_be_left_out(tmp_path: Path) -> None:
    rows = [PRIVATE, {"messages": [{"role": "user", "content": PRIVATE_TEXT, PRIVATE_TEXT: PRIVATE_TEXT}, ANSWER], PRIVATE_TEXT: 1}, {PRIVATE_TEXT: [PRIVATE_TEXT]}]  # fmt: skip
    with_texts = report(tmp_path, rows=rows)
    assert "Secret" in with_texts
    without = report(tmp_path, "--no-texts", rows=rows)
    assert "Secret" not in without
    assert f"&lt;{len(PRIVATE_TEXT)} characters&gt;" in without
    assert "Texts are replaced by their lengths." in without


def test_examples_are_few_and_short(tmp_path: Path) -> None:
    long = {"messages": [ASK, {"role": "bot", "content": "word " * 5_000}]}
    html = report(tmp_path, rows=[BROKEN] * 50 + [long] * 50)
    assert html.count("<article>") == 6
    assert len(html) < 30_000
    assert "(25,0" in html


def test_a_completed_run_gives_the_same_page_again(tmp_path: Path) -> None:
    rows = [VALID, BROKEN, HOPELESS, PRIVATE]
    first = report(tmp_path, rows=rows)
    done = run(tmp_path / "a.jsonl", "--out", tmp_path / "out", "--report", "html")
    assert "0 files written; 1 file already complete" in done.stdout
    assert (tmp_path / "out" / "report.html").read_text("utf-8") == first


def test_an_unknown_format_of_the_report_names_the_known_ones(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(lines(VALID))
    done = run(tmp_path / "a.jsonl", "--out", tmp_path / "out", "--report", "pdf")
    assert (done.exit_code, "--report pdf: choose one of html" in done.stderr) == (2, True)


@pytest.mark.showpiece
def test_a_browser_shows_the_page_in_both_colour_schemes_and_on_a_phone(tmp_path: Path) -> None:
    pytest.importorskip("playwright")
    if executable() is None:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium)")
    report(tmp_path, rows=[VALID, BROKEN, HOPELESS, PRIVATE])
    with chromium() as browser:
        for size, scheme in ((WIDE, "light"), (PHONE, "dark")):
            # Tests of accessibility are a script, which the page itself forbids.
            context = browser.new_context(viewport=size, color_scheme=scheme, bypass_csp=True)
            tab = context.new_page()
            problems: list[str] = []
            tab.on("console", lambda message, kept=problems: kept.append(message.text))
            tab.goto((tmp_path / "out" / "report.html").as_uri())
            tab.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
            assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
            assert tab.locator("article:visible").count() >= 3
            assert problems == []
            if AXE.exists():
                tab.add_script_tag(path=str(AXE))
                found = tab.evaluate("axe.run().then(done => done.violations)")
                assert [v["id"] for v in found if v["impact"] in SERIOUS] == []
