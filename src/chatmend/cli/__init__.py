"""The command line. It reads files, calls the library, and prints the account of it.

One file a command; ``app.py`` lists them. Nothing that was said in a transcript is printed, but by ``repair --diff``
and ``repair`` to standard output.
"""

import sys

try:
    import orjson  # noqa: F401 - only whether it is there
    import rich  # noqa: F401
    import typer  # noqa: F401
except ImportError as error:
    extra = "sandbox" if sys.argv[1:2] == ["sandbox"] else "cli"
    text = f"the command line needs Typer, Rich and orjson ({error}); install them: pip install 'chatmend[{extra}]'"
    raise ImportError(text, name=error.name) from error

from chatmend.cli.app import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line, and leave with its exit status."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a name that the terminal cannot show must not end the run
    app(prog_name="chatmend")
