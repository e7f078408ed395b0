"""Repairs the requests of boto3's ``bedrock-runtime`` client, before they are signed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from chatmend.transport.calls import EXTENSION, RepairedCall
from chatmend.transport.request_repair import RequestRepair

if TYPE_CHECKING:
    from typing import Unpack

    from chatmend.transport.request_repair import RepairOptions

Client = TypeVar("Client")

_EVENT = "bedrock-runtime"
_NAME = "chatmend"
_AGAIN = 0
"""The seconds to wait before a request is sent again."""


def repair_boto3(client: Client, **options: Unpack[RepairOptions]) -> Client:
    """Repair the requests of a client for Bedrock: Converse, and InvokeModel with Claude.

    The response has a ``RequestReport`` in ``response["ResponseMetadata"]["chatmend"]``.

    Args:
        client: ``boto3.client("bedrock-runtime")``; it is changed and returned.
        options: as in ``chatmend.transport.client``.

    Raises:
        TypeError: ``client`` is not a client for ``bedrock-runtime``.
        PolicyError: an option has no such value.
        TargetError: no table describes ``target``.
    """
    meta = getattr(client, "meta", None)
    name = getattr(getattr(meta, "service_model", None), "service_name", None)
    if meta is None or name != _EVENT:
        raise TypeError("pass boto3.client('bedrock-runtime')")
    hook = _Hook(RequestRepair(**options))
    # The hook runs last, after hooks of the application that change the request.
    meta.events.register_last(f"before-call.{_EVENT}", hook.before_call, unique_id=f"{_NAME}-call")
    meta.events.register_first(
        f"needs-retry.{_EVENT}", hook.needs_retry, unique_id=f"{_NAME}-retry"
    )
    meta.events.register_first(f"after-call.{_EVENT}", hook.after_call, unique_id=f"{_NAME}-after")
    return client


class _Hook:
    """Handlers of botocore's events; what they know of a request is in its context."""

    def __init__(self, repair: RequestRepair) -> None:
        self._repair = repair

    def before_call(self, params: dict[str, Any], context: dict[str, Any], **_: Any) -> None:  # noqa: ANN401
        """Repair the body of a request."""
        path, body = params["url_path"].partition("?")[0], params.get("body")
        if not isinstance(body, str | bytes):
            return
        if not self._repair.is_transcript(params["method"], path):
            return
        content = body.encode() if isinstance(body, str) else body
        call = self._repair.repair(params["url"], path, params["headers"], content)
        context[EXTENSION] = call
        if isinstance(call, RepairedCall):
            _send(call, params)

    def needs_retry(
        self,
        response: Any,  # noqa: ANN401 - HTTP response and parsed body, None after an exception
        request_dict: dict[str, Any],
        **_: Any,  # noqa: ANN401
    ) -> int | None:
        """Return the delay after which a refused request is sent again; None for botocore's own."""
        call = request_dict.get("context", {}).get(EXTENSION)
        if not isinstance(call, RepairedCall) or response is None:
            return None
        status = response[0].status_code
        self._repair.note_status(call, status)
        # Only refusals are read: the answer can be a stream.
        if not self._repair.may_react(call, status):
            return None
        if not self._repair.learn(call, status, response[0].text):
            return None
        _send(call, request_dict)
        return _AGAIN

    def after_call(self, parsed: dict[str, Any], context: dict[str, Any], **_: Any) -> None:  # noqa: ANN401
        """Add the report to the metadata of the response."""
        if (call := context.get(EXTENSION)) is not None:
            parsed.setdefault("ResponseMetadata", {})[EXTENSION] = call.report


def _send(call: RepairedCall, params: dict[str, Any]) -> None:
    """Put the repaired body into the request, if it differs."""
    if (content := call.content()) is not None:
        params["body"] = content
