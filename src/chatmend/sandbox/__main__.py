"""``python -m chatmend.sandbox``: serve on 127.0.0.1:8090."""

import sys


def main() -> None:
    """Serve with the defaults, or say in a line what prevents it and leave with status 2."""
    if sys.argv[1:]:
        _stop("python -m chatmend.sandbox takes no options: 'chatmend sandbox' does, see 'chatmend sandbox --help'")
    try:
        from chatmend.sandbox import serve  # noqa: PLC0415 - the extra may be missing

        serve()
    except ImportError as error:
        _stop(str(error))
    except OSError as error:
        _stop(f"cannot listen on port 8090: {error.strerror or error}; try 'chatmend sandbox --port 0'")


def _stop(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.exit(2)


if __name__ == "__main__":
    main()
