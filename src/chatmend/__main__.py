"""``python -m chatmend``, and the installed ``chatmend``: the command line, or what to install for it."""

import sys


def main() -> None:
    """Run the command line; without its extra, say what to install and leave with status 2."""
    try:
        from chatmend.cli import main as run  # noqa: PLC0415 - the extra may be missing
    except ImportError as error:
        sys.stderr.write(f"chatmend: {error}\n")
        sys.exit(2)
    run()


if __name__ == "__main__":
    main()
