"""Reads LiteLLM's spend logs from PostgreSQL, with a cursor on the server.

Rows become lines of JSON in the database, so they are repaired and written like a JSONL file. Keys
and addresses of clients are not read.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
_REPORT_QUERY = """
SELECT json_build_object(
    'call_type', "call_type", 'model', "model", 'model_group', "model_group",
    'api_key', "api_key", 'team_id', "team_id", 'status', "status",
    'metadata', json_build_object(
        'status', held ->> 'status',
        'user_api_key_alias', held ->> 'user_api_key_alias',
        'user_api_key_team_alias', held ->> 'user_api_key_team_alias',
        'error_information',
        json_build_object('error_code', held #>> '{error_information,error_code}'),
        'guardrail_information', jsonb_path_query_array(
            held, '$.guardrail_information[*] ? (@.guardrail_provider == "chatmend")')))::text
FROM (
    SELECT *, CASE WHEN jsonb_typeof("metadata") = 'string'
        THEN ("metadata" #>> '{}')::jsonb ELSE "metadata" END AS held
    FROM "LiteLLM_SpendLogs"
    WHERE %s::timestamp IS NULL OR "startTime" >= %s::timestamp
) AS log
"""


def is_database(name: str) -> bool:
    """Return whether an argument is the address of a PostgreSQL database."""
    return name.startswith(_SCHEMES)


def open_database(address: str, table: str) -> DataFile:
    """Return the spend logs of a database as a source.

    Raises:
        typer.Exit: psycopg is not installed.
    """
    _check_psycopg()
    name = Path(f"{table}.jsonl")
    return DataFile(name, name, Lines(), partial(_chunks, address, table))


def read_spend_logs(address: str, since: str | None = None) -> Iterator[str]:
    """Yield what ``chatmend report`` counts, as a line of JSON for each row.

    The server leaves out everything else, so no text of a transcript is transferred.

    Args:
        address: the address of the database.
        since: leave out rows that started earlier (UTC); a time in ISO format.

    Raises:
        typer.Exit: psycopg is not installed.
        OSError: the database cannot be read.
    """
    _check_psycopg()
    for rows in _fetch(address, _REPORT_QUERY, (since, since)):
        yield from rows


def _check_psycopg() -> None:
    try:
        import psycopg  # noqa: F401, PLC0415 - an extra
    except ImportError as error:
        raise error_exit(
            f"a database needs psycopg ({error}); install it: pip install 'chatmend[postgres]'"
        ) from error


def _chunks(address: str, table: str) -> Iterator[tuple[bytes, float]]:
    """Yield lines of JSON, all from one snapshot of the table.

    Raises:
        OSError: the database cannot be read.
    """
    from psycopg import sql  # noqa: PLC0415

    query = sql.SQL(_QUERY).format(table=sql.Identifier(table))
    for rows in _fetch(address, query, ([*_KEYS],)):
        yield "".join(f"{text}\n" for text in rows).encode(), 0.0


def _fetch(address: str, query: Any, parameters: tuple[object, ...]) -> Iterator[list[str]]:  # noqa: ANN401 - psycopg is an extra
    """Yield the first column of a query, a part at a time, all from one snapshot.

    Raises:
        OSError: the database cannot be read.
    """
    import psycopg  # noqa: PLC0415

    try:
        with psycopg.connect(address) as connection:
            connection.read_only = True
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            with connection.cursor("chatmend") as cursor:
                cursor.execute(query, parameters)
                while rows := cursor.fetchmany(_ROWS):
                    yield [text for (text,) in rows]
    except psycopg.Error as error:
        # The text of the error may contain the address with the password.
        reason = (error.diag.message_primary or type(error).__name__).strip()
        raise OSError(None, f"PostgreSQL: {reason}") from error
