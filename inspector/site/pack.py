"""Packs the modules that the page needs into /chatmend.zip. Runs in Pyodide."""

import zipfile
from typing import Any

archive = zipfile.ZipFile("/chatmend.zip", "w", zipfile.ZIP_DEFLATED)


def add(name: str, content: Any) -> None:  # noqa: ANN401 - called from JavaScript
    """Add a file; its time is constant, so that the same files give the same archive."""
    archive.writestr(zipfile.ZipInfo(name), content.to_bytes(), zipfile.ZIP_DEFLATED)


def finish() -> None:
    """Write the archive."""
    archive.close()
