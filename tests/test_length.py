"""Functions are short enough to be read at once."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src"
MOST_LINES = 60
"""Of a function, with its signature and without its docstring."""


def _long_functions(text: str) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            documented = ast.get_docstring(node, clean=False) is not None
            doc = (first.end_lineno or 0) - first.lineno + 1 if documented else 0
            lines = (node.end_lineno or 0) - node.lineno + 1 - doc
            if lines > MOST_LINES:
                found.append(f"{node.name}: {lines} lines")
    return found


def test_the_lines_of_a_function_are_counted_without_its_docstring() -> None:
    docstring = '    """' + "x\n" * 70 + '"""\n'
    body = "    a = 1\n" * (MOST_LINES - 1)
    assert _long_functions("def f():\n" + docstring + body) == []
    assert _long_functions("def f():\n" + docstring + body + "    a = 1\n") == ["f: 61 lines"]


@pytest.mark.parametrize("package", ["chatmend", "chatmend_pytest"])
def test_no_function_is_long(package: str) -> None:
    files = sorted((SOURCE / package).rglob("*.py"))
    assert files
    found = {str(path): _long_functions(path.read_text("utf-8")) for path in files}
    assert {name: names for name, names in found.items() if names} == {}
