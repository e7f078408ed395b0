"""The error for a missing extra names it and the command that installs it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from chatmend.transport import client


@pytest.mark.parametrize(
    ("framework", "module", "extra"),
    [
        ("litellm", "chatmend.litellm", "litellm"),
        ("langchain_core", "chatmend.langchain", "langchain"),
        ("uvicorn", "chatmend.sandbox", "sandbox"),
        ("httpx", "chatmend.transport", "transport"),
    ],
)
def test_a_missing_extra_is_told_with_the_command_that_installs_it(
    framework: str, module: str, extra: str
) -> None:
    code = f"import sys; sys.modules[{framework!r}] = None; from {module} import *"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603
    assert done.stderr.endswith(f"pip install 'chatmend[{extra}]'\n")


def test_the_one_name_that_needs_langchain_itself_says_so() -> None:
    code = "import sys; sys.modules['langchain'] = None; from chatmend.langchain import mend, RepairMiddleware"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603
    told = done.stderr.splitlines()[-1]
    assert "RepairMiddleware needs langchain (" in told
    assert told.endswith("install it: pip install langchain")


@pytest.mark.parametrize(
    ("library", "package"), [("httpx", "'chatmend[transport]'"), ("httpx2", "httpx2")]
)
def test_a_client_without_its_http_library_is_told_the_command_that_installs_it(
    library: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ModuleNotFoundError) as refused:
        client(library)  # type: ignore[arg-type]
    assert str(refused.value).startswith(f"chatmend.transport needs {library} (")
    assert str(refused.value).endswith(f"install it: pip install {package}")
