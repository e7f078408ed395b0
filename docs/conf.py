"""Sphinx settings of the documentation site.

Pages are written in Markdown, notebooks keep their committed outputs, and the API reference is
generated from docstrings.
"""

from __future__ import annotations

import shutil
import sys
from importlib.metadata import version as version_of
from pathlib import Path
from typing import TYPE_CHECKING

from sphinx.ext.napoleon.docstring import GoogleDocstring

if TYPE_CHECKING:
    from sphinx.application import Sphinx

HERE = Path(__file__).parent
NOTEBOOKS = HERE / "notebooks"

project = "chatmend"
author = "The chatmend authors"
copyright = author  # noqa: A001 - the name that Sphinx reads
release = version = version_of("chatmend")

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"chatmend {release}"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_js_files = [("error_search.js", {"defer": "defer"})]
html_theme_options = {
    "source_repository": "https://github.com/chatmend/chatmend/",
    "source_branch": "main",
    "source_directory": "docs/",
}

nb_execution_mode = "off"  # `make notebooks` runs them
linkcheck_ignore = [
    r"https?://127\.0\.0\.1",
    r"https://([a-z]+\.)?example",
]  # reserved for examples
linkcheck_timeout = 20
myst_heading_anchors = 4
myst_enable_extensions = ["linkify"]
myst_linkify_fuzzy_links = False
suppress_warnings = ["myst.header"]  # generated pages may begin with a second-level heading

# Docstrings of fields are sentences; Napoleon would parse the part before a colon as a type.
GoogleDocstring._parse_attribute_docstring = GoogleDocstring._consume_to_end  # noqa: SLF001
autodoc_typehints = "signature"
maximum_signature_line_length = 70  # then one parameter per line
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": False}

# Sphinx reads only files below this directory.
shutil.rmtree(NOTEBOOKS, ignore_errors=True)
NOTEBOOKS.mkdir()
for notebook in (HERE.parent / "notebooks").glob("*.ipynb"):
    shutil.copy(notebook, NOTEBOOKS)
sys.path.insert(0, str(HERE.parent / "src"))


_INSPECTOR = "<!-- inspector -->"
"""Pages contain this where the site links to the inspector that `make docs` builds into it."""
_LINK = '<a href="{}inspector/index.html">Open the inspector in this browser</a>: no installation.'


_MOST_FIELDS = 14
"""Fields of a class that its signature lists."""


def _as_site(_app: Sphinx, page: str, source: list[str]) -> None:
    """Adapt links and tables of contents, which GitHub displays differently."""
    text = source[0].replace("](../notebooks/", "](notebooks/")
    text = text.replace(_INSPECTOR, _LINK.format("../" * page.count("/")))
    source[0] = text.replace("](../../notebooks/", "](../notebooks/")
    if page.endswith("/README"):
        pages = "hosts/*\nmakers/*" if page.startswith("providers/") else "*"
        source[0] += f"\n```{{toctree}}\n:hidden:\n:glob:\n\n{pages}\n```\n"


def _shorten(
    _app: Sphinx, what: str, _name: str, _obj: object, _options: object, text: str, result: str
) -> tuple[str, str] | None:
    """Replace the signature of a class with many fields; each field is described below it."""
    is_long = what == "class" and bool(text) and text.count(":") > _MOST_FIELDS
    return ("(**fields)", result) if is_long else None


def setup(app: Sphinx) -> None:
    """Register the functions above; Sphinx calls this."""
    app.connect("source-read", _as_site)
    app.connect("autodoc-process-signature", _shorten)
