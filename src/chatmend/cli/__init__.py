"""The command line: reads files, calls the library and prints the results.

Each command is one file; ``app.py`` lists them. Only ``repair --diff``, ``repair`` to standard
output and ``sessions show`` print content of a transcript.
"""

import sys

try:
    import orjson  # noqa: F401 - only to check that it is installed
    import rich  # noqa: F401
    import typer  # noqa: F401
except ImportError as error:
    command = "".join(sys.argv[1:2])
    extra = command if command in ("inspect", "sandbox") else "cli"
    text = (
        f"the command line requires Typer, Rich and orjson ({error}); "
        f"install them: pip install 'chatmend[{extra}]'"
    )
    raise ImportError(text, name=error.name) from error

from chatmend.cli.app import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line and exit with its status."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A file name that the terminal cannot show must not end the run.
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="chatmend")
