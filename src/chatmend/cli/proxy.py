"""``chatmend proxy``: a LiteLLM proxy that repairs the requests of agents in any language."""

from __future__ import annotations

import gc
import os
import socket
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from chatmend import upstreams
from chatmend.cli.terminal import error_exit
from chatmend.errors import ChatmendError
from chatmend.options import mode_of, policy_of

_INSTALL = "pip install 'chatmend[proxy]'"
_LOCAL = ("MODEL_COST_MAP", "ANTHROPIC_BETA_HEADERS", "BLOG_POSTS", "POLICY_TEMPLATES")
"""What LiteLLM would fetch from the internet at start, and has in its package, too."""
_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - compared, not bound

_Host = Annotated[
    str, typer.Option(help="The address to listen on; the default is this machine only.")
]
_Port = Annotated[int, typer.Option(help="0 selects a free port.", min=0, max=65535)]
_Mode = Annotated[str, typer.Option(help="'repair' requests, or 'report' what would change.")]
_Policy = Annotated[str | None, typer.Option(help="The name of a policy.")]
_React = Annotated[
    int,
    typer.Option(help="How often a request is sent again after a refusal.", min=0, max=2),
]
_Upstream = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PROVIDER=URL",
        help="Send the requests to a provider elsewhere, such as the gateway of your company. "
        "Can be repeated.",
    ),
]
_PrintConfig = Annotated[
    bool, typer.Option("--print-config", help="Print LiteLLM's configuration and exit.")
]


def proxy(  # noqa: PLR0913 - the options of a command
    *,
    host: _Host = "127.0.0.1",
    port: _Port = 4000,
    mode: _Mode = "repair",
    policy: _Policy = None,
    react: _React = 1,
    upstream: _Upstream = None,
    print_config: _PrintConfig = False,
) -> None:
    """Run a proxy that repairs the requests of agents in any language.

    Prints the environment variables for agents and SDKs, such as ANTHROPIC_BASE_URL. Agents send
    their own API keys, which are passed through and not logged. Ctrl-C ends it.

    Exit status: 2 an option is wrong, the port is in use, or LiteLLM is not installed.
    """
    try:
        options: dict[str, Any] = {"mode": mode_of(mode), "react": react}
        options |= {"policy": policy} if policy_of(policy) else {}
    except ChatmendError as error:
        raise error_exit(str(error)) from error
    urls = {name: known.url for name, known in upstreams.UPSTREAMS.items()}
    urls |= dict(_parse_upstream(text, urls) for text in upstream or ())
    config = upstreams.make_config(urls, options)
    if print_config:
        typer.echo(_as_yaml(config), nl=False)
        return
    port = _free_port(host, port)
    typer.echo("LiteLLM starts; this takes about 20 seconds. Ctrl-C ends it.")
    sys.stdout.flush()
    run_server = _import_litellm()
    shown = "127.0.0.1" if host in _EVERYWHERE else host
    for line in upstreams.environment_lines(f"http://{shown}:{port}", urls):
        typer.echo(line)
    sys.stdout.flush()
    os.environ["CHATMEND_HOSTS"] = upstreams.known_addresses(
        urls, os.environ.get("CHATMEND_HOSTS", "")
    )
    with tempfile.TemporaryDirectory(prefix="chatmend-proxy-") as folder:
        path = Path(folder, "config.yaml")
        path.write_text(_as_yaml(config), "utf-8")
        run_server.main(
            ["--config", str(path), "--host", host, "--port", str(port), "--telemetry", "False"],
            standalone_mode=False,
        )


def _import_litellm() -> Any:  # noqa: ANN401 - a command of click
    """Import LiteLLM's proxy and return the command that starts it.

    Garbage collection would take a quarter of the time of the import.
    """
    for name in _LOCAL:
        os.environ.setdefault(f"LITELLM_LOCAL_{name}", "True")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")  # otherwise LiteLLM reads files named .env
    gc.disable()
    try:
        # Only this command needs LiteLLM.
        from litellm.proxy import proxy_server  # noqa: F401, PLC0415 - `run_server` imports it
        from litellm.proxy.proxy_cli import run_server  # noqa: PLC0415

        from chatmend.litellm import agent_proxy  # noqa: F401, PLC0415 - fails here, not in LiteLLM
    except ImportError as error:
        raise _missing(str(error)) from error
    finally:
        gc.enable()
    return run_server


def _parse_upstream(text: str, known: dict[str, str]) -> tuple[str, str]:
    """Return the provider and the URL of ``PROVIDER=URL``."""
    provider, _, url = text.partition("=")
    if provider not in known or not url.startswith(("http://", "https://")):
        raise error_exit(
            f"--upstream {text!r} is not PROVIDER=URL; the providers are {', '.join(known)}"
        )
    return provider, url.rstrip("/")


def _free_port(host: str, port: int) -> int:
    """Return the port, or a free one for 0; LiteLLM would take another one if it is in use."""
    try:
        with socket.create_server((host, port)) as listener:
            return int(listener.getsockname()[1])
    except OSError as error:
        raise error_exit(
            f"cannot listen on {host}:{port}: {error.strerror or error}; try --port 0"
        ) from error


def _missing(reason: str) -> typer.Exit:
    return error_exit(f"the proxy requires LiteLLM ({reason}): {_INSTALL}")


def _as_yaml(config: dict[str, Any]) -> str:
    try:
        import yaml  # noqa: PLC0415 - a dependency of LiteLLM
    except ImportError as error:
        raise _missing(str(error)) from error
    return str(yaml.safe_dump(config, sort_keys=False))
