"""The callback of ``chatmend proxy``, which also reacts to refusals of pass-through requests.

LiteLLM has no hook that repeats such a request. So the transport of its HTTP client is wrapped: the
callback repairs the request, and ``chatmend.transport`` sends it again after a refusal.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import httpx
from litellm.llms.custom_httpx.http_handler import get_async_httpx_client
from litellm.passthrough.timeout_utils import resolve_pass_through_request_timeout
from litellm.types.llms.custom_http import httpxSpecialProvider

from chatmend.litellm import summaries
from chatmend.litellm.aws_signing import SigningTransport
from chatmend.litellm.hooks import ChatMend, pass_through_treatment
from chatmend.transport import AsyncTransport, RequestRepair
from chatmend.transport.calls import EXTENSION, RequestReport

if TYPE_CHECKING:
    from chatmend.options import OnError
    from chatmend.policy import Policy


class AgentChatMend(ChatMend):
    """A callback whose ``react`` also holds for pass-through requests."""

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: Any
    ) -> dict[str, Any] | None:
        """Repair a pass-through request, and see to it that a refusal can be answered."""
        if call_type == "pass_through_endpoint":
            with self.failures.guard():
                self._wrap_client()
        return await super().async_pre_call_hook(user_api_key_dict, cache, data, call_type)

    async def async_post_call_response_headers_hook(
        self,
        data: dict[str, Any],
        user_api_key_dict: Any,
        response: Any,
        request_headers: Any = None,
        litellm_call_info: Any = None,
    ) -> dict[str, str] | None:
        """Return the response headers, with the changes that a reaction has made."""
        headers = await super().async_post_call_response_headers_hook(
            data, user_api_key_dict, response, request_headers, litellm_call_info
        )
        with self.failures.guard():
            report = getattr(response, "extensions", {}).get(EXTENSION)
            if isinstance(report, RequestReport) and (report.reacted or report.changes):
                return _with_report(headers or {}, report)
        return headers

    def _wrap_client(self) -> None:
        """Wrap the transport of LiteLLM's client for pass-through requests.

        LiteLLM keeps the client for an hour and then makes a new one.
        """
        client = get_async_httpx_client(
            llm_provider=httpxSpecialProvider.PassThroughEndpoint,
            params={"timeout": resolve_pass_through_request_timeout(None)},
        ).client
        state = vars(client)
        if not isinstance(state["_transport"], _ReactingTransport):
            signing = SigningTransport(state["_transport"])
            state["_transport"] = _ReactingTransport(signing, self.on_error, self.react)


class _RepairBeforeSigning(RequestRepair):
    """Repairs requests for the `SigningTransport`, which signs each attempt again."""

    is_signed_later = True


class _ReactingTransport(httpx.AsyncBaseTransport):
    """Reacts to refusals of the requests that the callback repairs, and sends others as they are.

    The callback has decided about each request, and with which policy it is repaired.
    """

    def __init__(self, plain: httpx.AsyncBaseTransport, on_error: OnError, react: int) -> None:
        self._plain, self._on_error, self._react = plain, on_error, react
        self._reacting: dict[Policy | None, AsyncTransport] = {}
        """A transport for each policy of the callback and its overrides."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request."""
        mode, policy = pass_through_treatment.get()
        transport = self._plain if mode != "repair" else self._reacting_with(policy)
        return await transport.handle_async_request(request)

    def _reacting_with(self, policy: Policy | None) -> AsyncTransport:
        if policy not in self._reacting:
            # The callback keeps the session memory; a second one would see only repaired requests.
            repair = _RepairBeforeSigning(
                policy=policy, on_error=self._on_error, react=self._react, session_memory="off"
            )
            self._reacting[policy] = AsyncTransport(self._plain, repair)
        return self._reacting[policy]

    async def aclose(self) -> None:
        """Close the transport that sends."""
        await self._plain.aclose()


def _with_report(headers: dict[str, str], report: RequestReport) -> dict[str, str]:
    """Return headers with the changes of a reaction added to those of the callback."""
    counts: Counter[str] = Counter(change.code for change in report.changes if change.applied)
    for entry in filter(None, headers.get(summaries.HEADER, "").split(",")):
        code, _, number = entry.partition("=")
        counts[code] += int(number)
    summary = summaries.ChangeSummary(report.target, "repair", counts, report.reacted)
    return {**headers, **(summaries.response_headers(summary) or {})}
