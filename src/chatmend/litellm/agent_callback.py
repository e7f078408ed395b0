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
from chatmend.litellm.hooks import ChatMend, pass_through_summary
from chatmend.transport import AsyncTransport, RequestRepair
from chatmend.transport.calls import EXTENSION, RequestReport

if TYPE_CHECKING:
    from chatmend.options import RolloutMode


class AgentChatMend(ChatMend):
    """A callback whose ``react`` also holds for pass-through requests."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Take the arguments of `ChatMend`."""
        super().__init__(*arguments, **options)
        # The callback keeps the session memory; a second one would see only repaired requests.
        self._sending = RequestRepair(
            policy=self.policy,
            on_error=self.on_error,
            react=self.react,
            session_memory="off",
        )

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
                return _with_report(headers or {}, report, self.mode)
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
            state["_transport"] = _ReactingTransport(signing, self._sending)


class _ReactingTransport(httpx.AsyncBaseTransport):
    """Reacts to refusals of the requests that the callback repairs, and sends others as they are.

    The mode, the sample and the switch file of the callback decide which these are.
    """

    def __init__(self, plain: httpx.AsyncBaseTransport, sending: RequestRepair) -> None:
        self._plain, self._reacting = plain, AsyncTransport(plain, sending)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request."""
        summary = pass_through_summary.get()
        is_repaired = summary is not None and summary.mode == "repair"
        transport = self._reacting if is_repaired else self._plain
        return await transport.handle_async_request(request)

    async def aclose(self) -> None:
        """Close both transports."""
        await self._reacting.aclose()


def _with_report(
    headers: dict[str, str], report: RequestReport, mode: RolloutMode
) -> dict[str, str]:
    """Return headers with the changes of a reaction added to those of the callback."""
    counts: Counter[str] = Counter(change.code for change in report.changes if change.applied)
    for entry in filter(None, headers.get(summaries.HEADER, "").split(",")):
        code, _, number = entry.partition("=")
        counts[code] += int(number)
    summary = summaries.ChangeSummary(report.target, mode, counts, report.reacted)
    return {**headers, **(summaries.response_headers(summary) or {})}
