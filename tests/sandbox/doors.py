"""A broken conversation through each SDK and framework, without and with chatmend, for recordings.

    python -m tests.sandbox.doors

``make cassettes`` runs it in both environments, because Together and Fireworks are only in one. The
recordings are of the sandbox.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from chatmend.sandbox import Sandbox
from chatmend.transport import client, repair_boto3
from tests.sandbox.record import FOLDER, recording_to
from tests.transport.sdks import CLAUDE, CONVERSE, CONVERSE_TOOLS, ITEMS, SDKS

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.transport.sdks import Sdk

FILE = "broken-conversation"
_PACKAGES = {
    "together": "together",
    "fireworks": "fireworks",
    "openai-agents": "agents",
    "pydantic-ai": "pydantic_ai",
}
"""The packages of the doors that are in the environment of ``make doors``; the last is in both."""


def _through(sdk: Sdk) -> Callable[[str], None]:
    def call(root: str) -> None:
        url = f"{root}/{sdk.path}"
        os.environ["CHATMEND_HOSTS"] = f"{url}={sdk.provider}"
        _send_refused(lambda: sdk.send(url, importlib.import_module(sdk.library).Client()))
        sdk.send(url, client(sdk.library, on_error="raise"))

    return call


def _boto3(root: str) -> None:
    import boto3  # noqa: PLC0415 - only this door needs it

    url = f"{root}/bedrock"
    os.environ["CHATMEND_HOSTS"] = f"{url}=bedrock"
    bedrock = boto3.client(
        "bedrock-runtime", region_name="us-east-1", endpoint_url=url,
        aws_access_key_id="sandbox", aws_secret_access_key="sandbox",  # noqa: S106 - no key
    )  # fmt: skip
    conversation = {"modelId": CLAUDE, "messages": CONVERSE, "toolConfig": CONVERSE_TOOLS}
    _send_refused(lambda: bedrock.converse(**conversation))
    repair_boto3(bedrock, on_error="raise").converse(**conversation)


def get_weather(city: str) -> str:
    """Return the weather in a city."""
    return f"18 degrees in {city}"


def _pydantic_ai(root: str) -> None:
    from pydantic_ai import Agent  # noqa: PLC0415
    from pydantic_ai.models.anthropic import AnthropicModel  # noqa: PLC0415
    from pydantic_ai.providers.anthropic import AnthropicProvider  # noqa: PLC0415

    from chatmend.integrations.pydantic_ai import RepairHistory  # noqa: PLC0415
    from tests.integrations.test_pydantic_ai import BROKEN  # noqa: PLC0415

    url = f"{root}/anthropic"
    os.environ["CHATMEND_HOSTS"] = f"{url}=anthropic"

    def send(*capabilities: Any) -> None:
        model = AnthropicModel(
            "claude-sonnet-4-6", provider=AnthropicProvider(api_key="k", base_url=url)
        )
        agent = Agent(model, capabilities=capabilities)
        agent.tool_plain(get_weather)
        agent.run_sync("And in Rome?", message_history=BROKEN)

    _send_refused(send)
    send(RepairHistory(on_error="raise"))


def _openai_agents(root: str) -> None:
    from agents import Agent, OpenAIResponsesModel, Runner, set_tracing_disabled  # noqa: PLC0415
    from openai import AsyncOpenAI  # noqa: PLC0415

    from chatmend.integrations.openai_agents import RepairedModel  # noqa: PLC0415

    url = f"{root}/openai/v1"
    os.environ["CHATMEND_HOSTS"] = f"{url}=openai"
    set_tracing_disabled(disabled=True)

    def send(wrap: Callable[[Any], Any]) -> None:
        sdk = AsyncOpenAI(base_url=url, api_key="k", max_retries=0)
        model = wrap(OpenAIResponsesModel("gpt-4.1", sdk))
        asyncio.run(Runner.run(Agent(name="a", model=model), list(ITEMS)))

    _send_refused(lambda: send(lambda model: model))
    send(lambda model: RepairedModel(model, on_error="raise"))


def _send_refused(send: Callable[[], Any]) -> None:
    try:
        send()
    except Exception:  # noqa: BLE001 - each SDK has its own exceptions
        return
    raise AssertionError("the request that must be refused was accepted")


def folder_of(name: str) -> str:
    """Return the folder of a door in ``cassettes``."""
    return f"transport/{name.replace(' ', '-')}"


PROXY = "proxy/anthropic"
"""The folder of ``chatmend proxy``, which `proxy_door` records in another process."""

DOORS: dict[str, Callable[[str], None]] = {
    **{folder_of(sdk.name): _through(sdk) for sdk in SDKS},
    folder_of("boto3"): _boto3,
    "integrations/pydantic-ai": _pydantic_ai,
    "integrations/openai-agents": _openai_agents,
}
"""By folder: a function that sends the conversation twice to the sandbox at a URL."""


def is_here(folder: str) -> bool:
    """Return whether the SDK of a door is installed."""
    package = _PACKAGES.get(folder.rpartition("/")[2])
    if package is None:
        return importlib.util.find_spec("cohere") is not None
    return importlib.util.find_spec(package) is not None


def main() -> None:
    """Record every door whose SDK is installed."""
    with Sandbox() as sandbox:
        for folder, call in DOORS.items():
            if is_here(folder):
                with recording_to(FOLDER / folder / f"{FILE}.yaml", sandbox.url()):
                    call(sandbox.url())
                print(f"  {folder}")
    if importlib.util.find_spec("litellm") is not None:
        command = [sys.executable, "-m", "tests.sandbox.proxy_door", "record"]
        subprocess.run(command, check=True)  # noqa: S603 - our own module
        print(f"  {PROXY}")


if __name__ == "__main__":
    main()
