"""What an operated proxy has and the other tests do not need: keys, teams and a table of spend logs.

LiteLLM's database mode needs Prisma's query engine. No package contains it: the npm package
``@prisma/engines`` downloads the program from another server when it is installed. So keys come from LiteLLM's ``custom_auth``, and
the rows of the table are made by LiteLLM's own functions and written by ``spend_logs``.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any

import psycopg
from litellm.integrations.custom_logger import CustomLogger
from litellm.proxy._types import UserAPIKeyAuth
from litellm.proxy.hooks.proxy_track_cost_callback import _ProxyDBLogger
from litellm.proxy.spend_tracking.spend_tracking_utils import get_logging_payload
from psycopg import sql

from tests.litellm_adapter.operator_run import DATABASE, KEYS

if TYPE_CHECKING:
    from fastapi import Request


async def authorize(request: Request, api_key: str) -> UserAPIKeyAuth:
    """Return the owner of a key; LiteLLM calls it for each request."""
    alias, team, name = KEYS[api_key]
    return UserAPIKeyAuth(
        api_key=hashlib.sha256(api_key.encode()).hexdigest(),
        key_alias=alias,
        team_id=team,
        team_alias=name,
        metadata={"tags": [f"tag-{alias}"]},
    )


class SpendLogs(CustomLogger):
    """Writes a row for each call, as LiteLLM's own logger does with a database."""

    def __init__(self) -> None:
        super().__init__()
        self._failed = _ProxyDBLogger(spend_writer=lambda: self)
        self._connection: psycopg.Connection | None = None

    async def async_log_success_event(
        self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        self._insert(get_logging_payload(kwargs, response_obj, start_time, end_time))

    async def async_post_call_failure_hook(
        self,
        request_data: dict[str, Any],
        original_exception: Exception,
        user_api_key_dict: Any,
        traceback_str: str | None = None,
    ) -> None:
        await self._failed.async_post_call_failure_hook(
            request_data, original_exception, user_api_key_dict, traceback_str
        )

    async def update_database(
        self, *, kwargs: Any, completion_response: Any, start_time: Any, end_time: Any, **_: Any
    ) -> None:
        """Write the row of a failed call, as ``DBSpendUpdateWriter.update_database`` does."""
        self._insert(get_logging_payload(kwargs, completion_response, start_time, end_time))

    def _insert(self, row: Any) -> None:
        if self._connection is None:
            self._connection = psycopg.connect(os.environ[DATABASE], autocommit=True)
        names = [name for name in row if row[name] is not None]
        query = sql.SQL("INSERT INTO {} ({}) VALUES ({}) ON CONFLICT DO NOTHING").format(
            sql.Identifier("LiteLLM_SpendLogs"),
            sql.SQL(", ").join(map(sql.Identifier, names)),
            sql.SQL(", ").join([sql.Placeholder()] * len(names)),
        )
        self._connection.execute(query, [row[name] for name in names])


spend_logs = SpendLogs()
