"""The documentation site: pages in Markdown, notebooks with the outputs that are committed, the API from docstrings."""

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
copyright = author  # noqa: A001 - Sphinx's name for it
release = version = version_of("chatmend")

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"chatmend {release}"
html_theme_options = {
    "source_repository": "https://github.com/chatmend/chatmend/",
    "source_branch": "main",
    "source_directory": "docs/",
}

nb_execution_mode = "off"  # `make notebooks` runs them; the site shows what they printed
linkcheck_ignore = [r"https?://127\.0\.0\.1", r"https://([a-z]+\.)?example"]  # nobody is there
linkcheck_timeout = 20
myst_heading_anchors = 4
myst_enable_extensions = ["linkify"]
myst_linkify_fuzzy_links = False
suppress_warnings = ["myst.header"]  # generated pages begin where their table begins

# A docstring under a field is a sentence; Napoleon would take what stands before its first colon for a type.
GoogleDocstring._parse_attribute_docstring = GoogleDocstring._consume_to_end  # noqa: SLF001
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": False}

# The notebooks live beside the package; Sphinx reads only what is below it.
shutil.rmtree(NOTEBOOKS, ignore_errors=True)
NOTEBOOKS.mkdir()
for notebook in (HERE.parent / "notebooks").glob("*.ipynb"):
    shutil.copy(notebook, NOTEBOOKS)
sys.path.insert(0, str(HERE.parent / "src"))


def _as_site(_app: Sphinx, page: str, source: list[str]) -> None:
    """Pages are also read where nobody knows a toctree, and where the notebooks stand beside docs."""
    source[0] = source[0].replace("](../notebooks/", "](notebooks/")
    if page.endswith("/README"):
        source[0] += "\n```{toctree}\n:hidden:\n:glob:\n\n*\n```\n"


def setup(app: Sphinx) -> None:
    """Sphinx calls this."""
    app.connect("source-read", _as_site)
