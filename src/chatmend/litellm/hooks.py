"""``ChatMend``: the hooks that LiteLLM calls. Each says when it is called; what is done stands in the other files."""

from __future__ import annotations

import asyncio
import os
from contextvars import ContextVar
from fnmatch import fnmatchcase
from itertools import count
from time import perf_counter
from typing import TYPE_CHECKING, Any

from litellm.integrations.custom_logger import CustomLogger

from chatmend.litellm import notes
from chatmend.litellm.accounts import Accounts, account_of, place, tell_beside
from chatmend.litellm.attempt import Attempt, attempt, carries, is_heavy
from chatmend.litellm.exchange import Sent, exchange, keep_sent
from chatmend.litellm.recording import recording
from chatmend.litellm.shapes import SHAPES, name_of, shape_of_route
from chatmend.litellm.shared_images import SharedImages, owner_of
from chatmend.litellm.starting import proxy_config, start_line
from chatmend.litellm.streams import ChunkMarker
from chatmend.litellm.target import target_of, target_of_route
from chatmend.options import (
    Mode,
    OnError,
    UsagePlace,
    known_hosts,
    mode_of,
    on_error_of,
    patterns_of,
    policy_of,
    usage_of,
)
from chatmend.telemetry import tell
from chatmend.usage import UsageLedger

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable, Mapping

    from chatmend.litellm.exchange import Exchange
    from chatmend.litellm.shapes import Shape
    from chatmend.policy import Policy
    from chatmend.sessions import SessionStore
    from chatmend.sessions.recorder import Recorder

_passed: ContextVar[notes.Note | None] = ContextVar("chatmend_passed", default=None)
"""The note of a pass-through request, whose later hooks are not shown LiteLLM's record of the call."""

in_reach: ContextVar[bool] = ContextVar("chatmend_in_reach", default=False)
"""Whether the synchronous call that is under way came through `install` or the drop-in."""

_numbers = count(1)
"""LiteLLM takes two callbacks with the same plain attributes for one, and would log to the first only."""


class ChatMend(CustomLogger):  # type: ignore[misc, unused-ignore] # untyped where litellm is not installed
    """Repairs the transcript of each request for the provider and model that it goes to, and normalises its usage.

    Args:
        policy: choices between repairs, or the name of a policy (``"offline"``); the default is lossless.
        on_error: ``"pass"`` sends the request unchanged if chatmend itself fails, with one warning; ``"raise"`` lets
            the exception out, for tests.
        mode: ``"repair"``, or ``"report"`` to tell what would be changed and send the original.
        images: what recompresses images: a ``chatmend.images.Recompressor`` (by default the process's own), or
            ``SharedImages``, whose results replicas share through LiteLLM's cache.
        record: a ``SessionStore`` keeps every call that succeeded as a turn of a session on disk; a function is called
            off the event loop with its ``Exchange``.
        allow: patterns of models (``"anthropic/*"``, a deployment, or a model group of the Router), as a list or one
            text with commas; none: all.
        deny: patterns of models that are left alone, also where ``allow`` names them.
        usage: where the normalised usage of an answer goes: ``"body"`` writes it into the answer's ``usage``, next to
            LiteLLM's figures; ``"hidden"`` keeps it in ``_hidden_params`` and in logs; ``"off"`` only counts it in the
            ledger. The default is ``"hidden"`` in the proxy and ``"body"`` in the SDK. Where nothing may be repaired
            (report mode, a model that is denied) ``"body"`` is ``"hidden"``.
        ledger: the ledger to add to; one of its own by default.

    Raises:
        PolicyError: an option has a value that does not exist.
    """

    started_as = "chatmend"
    """As which the line at the proxy's start names it."""

    def __init__(  # noqa: PLR0913 - each is one choice, and all have a default
        self,
        policy: Policy | str | dict[str, Any] | None = None,
        *,
        on_error: OnError = "pass",
        mode: Mode = "repair",
        images: Any = None,
        record: SessionStore | Recorder | Callable[[Exchange], object] | None = None,
        allow: Iterable[str] | str = (),
        deny: Iterable[str] | str = (),
        usage: UsagePlace | None = None,
        ledger: UsageLedger | None = None,
    ) -> None:
        """Check the choices; nothing else happens before the first request."""
        super().__init__()
        self.number = next(_numbers)
        self.policy = policy_of(policy)
        self.on_error = on_error_of(on_error)
        known_hosts()  # what cannot be read is an error now
        self.mode = mode_of(mode)
        self.images = images
        self.record = recording(record)
        self.allow, self.deny = patterns_of("allow", allow), patterns_of("deny", deny)
        self.usage_place = usage_of(usage)
        self.usage = ledger if ledger is not None else UsageLedger()
        self.failures = notes.Failures(self.on_error)
        self._accounts = Accounts(self.usage, failed=self._uncounted)
        self._warned = False
        if proxy_config() is not None:
            print(start_line(self, disabled=is_disabled()), flush=True)  # noqa: T201 - for the operator, whatever is logged

    def _uncounted(self, error: Exception) -> None:
        if not self.failures.swallow(error):
            raise error

    def concerns(self, kwargs: Mapping[str, Any], target: str) -> bool:
        """Whether a request to this target is to be looked at: the kill switch, and the lists of models."""
        return not is_disabled() and self._is_chosen(kwargs, target)

    def _is_chosen(self, kwargs: Mapping[str, Any], target: str | None = None) -> bool:
        """Whether the lists of models let a call through."""
        if not self.allow and not self.deny:
            return True
        target = target_of(kwargs) if target is None else target
        said = kwargs.get("litellm_metadata") or kwargs.get("metadata") or {}
        group = said.get("model_group") if isinstance(said, dict) else None
        names = [name for name in (target, kwargs.get("model"), group) if isinstance(name, str)]
        if _matches(names, self.deny):
            return False
        return not self.allow or _matches(names, self.allow)

    def place_of_usage(self, kwargs: Mapping[str, Any]) -> UsagePlace:
        """Where the usage of a call's answer goes. An answer to a request that is left alone is LiteLLM's, to the byte.

        The proxy's calls are known by the client's request, which it hands on. At the end of a Responses stream LiteLLM
        1.82 gives its record of the call, which holds these things one level deeper.
        """
        known, params = self.usage_place, kwargs.get("litellm_params")
        if isinstance(params, dict):
            kwargs = {**params, **kwargs}
        if known == "off" or (known != "hidden" and self.mode == "repair" and self._is_chosen(kwargs)):
            return known or ("hidden" if kwargs.get("proxy_server_request") else "body")
        return "hidden"

    def mend(self, kwargs: dict[str, Any], shape: Shape, target: str, key: Any = None) -> Attempt:
        """Repair one request, of the owner of the proxy's key; in report mode, say what would be done."""
        images = self.images.of(owner_of(kwargs, key)) if isinstance(self.images, SharedImages) else self.images
        started = perf_counter()
        made = attempt(kwargs, shape, target, self.policy, images)
        tell(target, made.changes, perf_counter() - started, mode=self.mode)
        return made if self.mode == "repair" else Attempt(made.target, made.changes)

    async def _mended(self, kwargs: dict[str, Any], shape: Shape, target: str, key: Any = None) -> Attempt:
        """As `mend`, off the event loop where it may take long."""
        if not carries(kwargs, shape):
            return Attempt(target)
        if is_heavy(kwargs[shape.field]):
            return await asyncio.to_thread(self.mend, kwargs, shape, target, key)
        return self.mend(kwargs, shape, target, key)

    async def async_pre_call_deployment_hook(self, kwargs: dict[str, Any], call_type: Any) -> dict[str, Any] | None:
        """Every asynchronous call, once per attempt, when the deployment is known: repair the request."""
        name = name_of(call_type)
        shape = SHAPES.get(name)
        try:
            # With fallbacks= each model gets a call of its own inside this one, from the messages as they came in.
            if shape is None or kwargs.get("fallbacks"):
                return None
            target = target_of(kwargs)
            if not self.concerns(kwargs, target):
                return None
            return self._noted(kwargs, name, shape, await self._mended(kwargs, shape, target))
        except Exception as error:
            if not self.failures.swallow(error):
                raise
        return None

    def _noted(self, kwargs: dict[str, Any], name: str, shape: Shape, made: Attempt) -> dict[str, Any] | None:
        """The request that goes out, if it is another one; what was done to it stands in LiteLLM's record of it."""
        logged: Any = kwargs.get("litellm_logging_obj")
        goes = made.request
        if self.record is not None and carries(kwargs, shape):
            keep_sent(logged, name, Sent.of(goes or kwargs, shape, made.target))
        if not made.changes:
            notes.keep(logged, name, {"target": made.target, "mode": self.mode, "changes": {}})
            return None
        told = notes.note(made.target, self.mode, made.changes)
        on_record = notes.keep(logged, name, told.to_dict())
        if goes and shape.field == "messages" and hasattr(logged, "update_messages"):
            # Otherwise LiteLLM's logs show what was not sent.
            logged.update_messages(goes["messages"])
        return goes if on_record or not told.changes else dict(notes.noted(goes or kwargs, told, shape))

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: Any
    ) -> dict[str, Any] | None:
        """Every request of the proxy: repair those that pass through, which have no deployment."""
        _passed.set(None)
        if call_type != "pass_through_endpoint":
            return None
        with self.failures.caught():
            path = str(getattr(user_api_key_dict, "request_route", None) or "")
            shape = shape_of_route(path)
            if shape is None or not carries(data, shape):
                return None
            target = target_of_route(path, data.get("model"), shape)
            if not self.concerns(data, target):
                return None
            made = await self._mended(data, shape, target, user_api_key_dict)
            _passed.set(notes.note(target, self.mode, made.changes))
            return made.request
        return None

    async def async_post_call_success_deployment_hook(self, request_data: Any, response: Any, call_type: Any) -> None:
        """Every whole answer of an asynchronous call: the account and the note go with it."""
        if name_of(call_type) not in SHAPES:
            return
        try:
            ours = notes.of(request_data.get("litellm_logging_obj"))
            if ours is not None or not is_disabled():
                note = ours.shown() if ours else notes.shown_of_request(request_data)
                self.finish(response, note, self.place_of_usage(request_data))
        except Exception as error:
            if not self.failures.swallow(error):
                raise

    def finish(self, response: Any, note: Mapping[str, Any] | None, where: UsagePlace) -> None:
        """Write the account of a whole answer where it goes, and account and note, as it is for JSON, beside it."""
        tell_beside(response, shown(note, place(response, where)))

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: dict[str, Any]
    ) -> AsyncGenerator[Any, None]:
        """Every stream of the proxy: it passes unread, unless the account is to go with the usage of a chunk."""
        marker = ChunkMarker(self.failures) if self._writes_into_stream(request_data) else None
        async for chunk in response:
            passed = chunk if marker is None else marker.each(chunk)
            if passed != b"":
                yield passed
        for rest in marker.end() if marker is not None else ():
            yield rest

    def _writes_into_stream(self, request: Mapping[str, Any]) -> bool:
        """Whether a stream of the proxy carries the account: if its request was one to repair, which a note tells."""
        if self.usage_place != "body" or self.mode == "report":
            return False
        return notes.of(request.get("litellm_logging_obj")) is not None

    async def async_post_call_response_headers_hook(
        self,
        data: dict[str, Any],
        user_api_key_dict: Any,
        response: Any,
        request_headers: Any = None,
        litellm_call_info: Any = None,
    ) -> dict[str, str] | None:
        """Every answer of the proxy: say in a header what was changed."""
        with self.failures.caught():
            return notes.headers(notes.of_request(data) or _passed.get())
        return None

    def logging_hook(self, kwargs: dict[str, Any], result: Any, call_type: Any) -> tuple[dict[str, Any], Any]:
        """Before any logger sees a call: the note and the account stand in the metadata that loggers show."""
        try:
            ours = notes.of(kwargs)
            if ours is not None or not is_disabled():
                told = None if self.usage_place == "off" else account_of(result)
                if told is not None:
                    tell_beside(result, {"usage": told})
                export(kwargs, shown(ours.shown() if ours else notes.shown(kwargs), told))
        except Exception as error:
            if not self.failures.swallow(error):
                raise
        return kwargs, result

    async def async_logging_hook(
        self, kwargs: dict[str, Any], result: Any, call_type: Any
    ) -> tuple[dict[str, Any], Any]:
        """As `logging_hook`, for asynchronous calls."""
        return self.logging_hook(kwargs, result, call_type)

    def log_pre_api_call(self, model: Any, messages: Any, kwargs: Any) -> None:
        """Any request is about to leave: a synchronous completion that nobody has looked at is warned of, once."""
        if self._warned:
            return
        try:
            if _is_out_of_reach(kwargs) and not is_disabled():
                self._warned = True
                notes.warn_of_synchronous()
        except Exception as error:
            if not self.failures.swallow(error):
                raise

    def log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        """A synchronous call that succeeded, streams at their end: count it."""
        self._count(kwargs, response_obj)
        if self.record is not None:
            self._record(kwargs, response_obj)

    async def async_log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        """An asynchronous call that succeeded, streams at their end: count it."""
        self._count(kwargs, response_obj)
        if self.record is not None:
            try:
                recorded = asyncio.get_running_loop().run_in_executor(None, self._record, kwargs, response_obj)
            except RuntimeError:  # Python ends: no new threads, and nobody who waits
                self._record(kwargs, response_obj)
            else:
                await recorded

    def _count(self, kwargs: Any, response: Any) -> None:
        try:
            if notes.of(kwargs) is not None or not is_disabled():
                self._accounts.add(kwargs, response)
        except Exception as error:
            if not self.failures.swallow(error):
                raise

    def _record(self, kwargs: Any, response: Any) -> None:
        if self.record is not None and not is_disabled():
            with self.failures.caught():
                self.record(exchange(kwargs, response))


def _is_out_of_reach(record: Mapping[str, Any]) -> bool:
    """Whether a call is a synchronous completion that went past `install` and the drop-in."""
    if record.get("call_type") != "completion":
        return False
    call = record.get("litellm_params") or {}
    return not call.get("acompletion") and not in_reach.get()


def is_disabled() -> bool:
    """The kill switch, which works while a process runs."""
    return os.environ.get("CHATMEND_DISABLED") == "1"


def _matches(names: Iterable[str], patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in names)


def export(record: dict[str, Any], told: dict[str, Any] | None) -> None:
    """Write note and account where loggers look: into LiteLLM's record, and a copy of the caller's metadata."""
    if told is None:
        return
    params, payload = record.get("litellm_params"), record.get("standard_logging_object")
    said = params.get("metadata") if params else None
    record["litellm_params"] = {**(params or {}), "metadata": {**(said or {}), notes.KEY: told}}
    if isinstance(payload, dict):
        # This metadata is LiteLLM's own, made for this call.
        payload["metadata"] = (payload.get("metadata") or {}) | {notes.KEY: told}


def shown(note: Mapping[str, Any] | None, account: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Note and account as they are shown together; ``None`` where there is neither."""
    if account is None:
        return None if note is None else notes.Ours(note)
    return notes.Ours(usage=account) if note is None else notes.Ours(note, usage=account)
