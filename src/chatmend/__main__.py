"""Entry point of ``python -m chatmend`` and of the ``chatmend`` command."""

import sys


def main() -> None:
    """Run the command line; without its extra, print what to install and exit with status 2."""
    try:
        from chatmend.cli import main as run  # noqa: PLC0415 - the extra may be missing
    except ImportError as error:
        sys.stderr.write(f"chatmend: {error}\n")
        sys.exit(2)
    run()


if __name__ == "__main__":
    main()
