"""Reads LiteLLM's spend logs from PostgreSQL, with a cursor on the server.

Rows become lines of JSON in the database, so they are repaired and written like a JSONL file. Keys
and addresses of clients are not read.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from chatmend.cli.data_files import Lines
from chatmend.cli.data_run import DataFile
from chatmend.cli.terminal import error_exit

if TYPE_CHECKING:
    from collections.abc import Iterator

_SCHEMES = ("postgresql://", "postgres://")
_KEYS = (
    "request_id", "call_type", "model", "custom_llm_provider", "startTime", "session_id", "status",
    "messages", "proxy_server_request", "response",
)  # fmt: skip
_ROWS = 200
"""Rows that the server sends at a time."""
_QUERY = """
SELECT (SELECT json_object_agg(key, value) FROM jsonb_each(to_jsonb(log))
        WHERE key = ANY(%s))::text
FROM {table} AS log ORDER BY "request_id"
"""


def is_database(name: str) -> bool:
    """Return whether an argument is the address of a PostgreSQL database."""
    return name.startswith(_SCHEMES)


def open_database(address: str, table: str) -> DataFile:
    """Return the spend logs of a database as a source.

    Raises:
        typer.Exit: psycopg is not installed.
    """
    try:
        import psycopg  # noqa: F401, PLC0415 - an extra
    except ImportError as error:
        raise error_exit(
            f"a database needs psycopg ({error}); install it: pip install 'chatmend[postgres]'"
        ) from error
    name = Path(f"{table}.jsonl")
    return DataFile(name, name, Lines(), partial(_chunks, address, table))


def _chunks(address: str, table: str) -> Iterator[tuple[bytes, float]]:
    """Yield lines of JSON, all from one snapshot of the table.

    Raises:
        OSError: the database cannot be read.
    """
    import psycopg  # noqa: PLC0415
    from psycopg import sql  # noqa: PLC0415

    query = sql.SQL(_QUERY).format(table=sql.Identifier(table))
    try:
        with psycopg.connect(address) as connection:
            connection.read_only = True
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            with connection.cursor("chatmend") as cursor:
                cursor.execute(query, ([*_KEYS],))
                while rows := cursor.fetchmany(_ROWS):
                    yield "".join(f"{text}\n" for (text,) in rows).encode(), 0.0
    except psycopg.Error as error:
        # The text of the error may contain the address with the password.
        reason = (error.diag.message_primary or type(error).__name__).strip()
        raise OSError(None, f"PostgreSQL: {reason}") from error
