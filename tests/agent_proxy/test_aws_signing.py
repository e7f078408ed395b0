"""A request that an agent has signed gets a valid signature of the proxy."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from tests.transport.recording import recording

pytest.importorskip("litellm")
pytest.importorskip("botocore")

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from chatmend.litellm import aws_signing
from chatmend.litellm.aws_signing import SigningTransport

PATH = "/model/us.anthropic.claude-sonnet-4-5-20250929-v1:0/converse"
SIGNED = {
    "authorization": "AWS4-HMAC-SHA256 Credential=AKIAAGENT/20261124/eu-west-1/bedrock/aws4_request, SignedHeaders=host, Signature=00",
    "x-amz-date": "20261124T000000Z",
    "x-amz-security-token": "token-of-the-agent",
    "content-type": "application/json",
    "x-agent": "1",
}
OK = (200, {"content-type": "application/json"}, b"{}")


def send(url: str, headers: dict[str, str]) -> Any:
    async def post() -> Any:
        transport = SigningTransport(httpx.AsyncHTTPTransport())
        async with httpx.AsyncClient(transport=transport) as http:
            return await http.post(url, content=b'{"messages":[]}', headers=headers)

    return asyncio.run(post())


def expected_signature(url: str, headers: dict[str, str], credentials: Any) -> str:
    """Compute the signature as AWS does from what has arrived."""
    request = AWSRequest(
        "POST", url, headers={"content-type": headers["content-type"]}, data=b'{"messages":[]}'
    )
    request.context["timestamp"] = headers["X-Amz-Date"]
    signer = SigV4Auth(credentials, "bedrock", "eu-west-1")
    request.headers["X-Amz-Date"] = headers["X-Amz-Date"]
    text = signer.string_to_sign(request, signer.canonical_request(request))
    return str(signer.signature(text, request))


def test_a_signed_request_gets_a_valid_signature_of_the_proxy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    credentials = Credentials("AKIAPROXY", "secret")
    monkeypatch.setattr(aws_signing, "_credentials", lambda: credentials)
    with recording(OK) as server:
        assert send(f"{server.url}{PATH}", SIGNED).status_code == 200
    [(_, path, headers, body)] = server.requests
    headers = {name.title(): value for name, value in headers.items()}
    arrived = {**headers, "content-type": headers["Content-Type"]}
    assert (path, body) == (PATH, b'{"messages":[]}')
    assert "Credential=AKIAPROXY/" in headers["Authorization"]
    assert "/eu-west-1/bedrock/aws4_request" in headers["Authorization"]
    assert headers["X-Agent"] == "1"
    assert "token-of-the-agent" not in headers.values()
    signature = expected_signature(f"{server.url}{PATH}", arrived, credentials)
    assert headers["Authorization"].endswith(f"Signature={signature}")


def test_without_credentials_the_answer_names_the_next_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(aws_signing, "_credentials", lambda: None)
    with recording(OK) as server:
        answer = send(f"{server.url}{PATH}", SIGNED)
    assert answer.status_code == 403
    assert "AWS_BEARER_TOKEN_BEDROCK" in answer.json()["message"]
    assert not server.requests


def test_other_requests_pass_unchanged() -> None:
    with recording(OK) as server:
        send(f"{server.url}{PATH}", {"authorization": "Bearer k"})
    assert server.requests[0][2]["authorization"] == "Bearer k"
