"""``python -m chatmend.sandbox``: runs the sandbox on 127.0.0.1:8090."""

import sys


def main() -> None:
    """Run the sandbox with its defaults; print an error and exit with status 2 if that fails."""
    if sys.argv[1:]:
        _stop(
            "python -m chatmend.sandbox takes no options; "
            "use 'chatmend sandbox', see 'chatmend sandbox --help'"
        )
    try:
        from chatmend.sandbox import serve  # noqa: PLC0415 - the extra may be missing

        serve()
    except ImportError as error:
        _stop(str(error))
    except OSError as error:
        _stop(
            f"cannot listen on port 8090: {error.strerror or error}; "
            "try 'chatmend sandbox --port 0'"
        )


def _stop(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.exit(2)


if __name__ == "__main__":
    main()
