"""A Prometheus of the system's packages that scrapes one address."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import yaml

from tests.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_TRIES = 600


class PrometheusServer:
    """Answers queries about what it has scraped."""

    def __init__(self, url: str, process: subprocess.Popen[bytes]) -> None:
        self._url = url
        self._process = process

    def query(self, text: str) -> list[Any]:
        """Return the result of an instant query.

        Raises:
            AssertionError: the query is invalid.
        """
        read = httpx.get(f"{self._url}/api/v1/query", params={"query": text}, timeout=60).json()
        assert read["status"] == "success", (text, read)
        found: list[Any] = read["data"]["result"]
        return found

    def wait_for(self, text: str) -> None:
        """Wait until a query has a result."""
        for _ in range(_TRIES):
            with suppress(httpx.HTTPError, ValueError):  # it is still starting
                if self.query(text):
                    return
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(0.1)
                break
        raise AssertionError(f"Prometheus has no result for {text}")


@contextmanager
def scraping(address: str, key: str, folder: Path) -> Iterator[PrometheusServer]:
    """Run a server that scrapes ``/metrics/`` of an address with a key, once a second."""
    if (program := shutil.which("prometheus")) is None:
        pytest.skip("Prometheus is not installed: apt-get install prometheus")
    port = free_port()
    job = {
        "job_name": "litellm",
        "metrics_path": "/metrics/",
        "authorization": {"credentials": key},
        "static_configs": [{"targets": [address]}],
    }
    config = folder / "prometheus.yml"
    config.write_text(
        yaml.safe_dump({"global": {"scrape_interval": "1s"}, "scrape_configs": [job]})
    )
    words = [program, f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}"]
    words += [f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"]
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL) as process:
        try:
            yield PrometheusServer(f"http://127.0.0.1:{port}", process)
        finally:
            process.terminate()
