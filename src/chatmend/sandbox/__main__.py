"""``python -m chatmend.sandbox``: serve on 127.0.0.1:8090."""

from chatmend.sandbox.serving import serve


def main() -> None:
    """Serve with the defaults; ``chatmend sandbox`` has options."""
    serve()


if __name__ == "__main__":
    main()
