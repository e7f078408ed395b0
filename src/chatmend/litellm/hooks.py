"""``ChatMend``: the callback whose hooks LiteLLM calls before and after each request.

The docstring of a hook states when LiteLLM calls it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from itertools import count
from os import PathLike
from typing import TYPE_CHECKING, Any

import litellm
from litellm.integrations.custom_logger import CustomLogger

from chatmend.errors import PolicyError
from chatmend.failures import NOT_REMEMBERED
from chatmend.lesson_store import LessonStore
from chatmend.litellm import metrics, proxy_metadata, summaries
from chatmend.litellm.attempt import (
    Attempt,
    has_transcript,
    positional_arguments,
)
from chatmend.litellm.call_memories import CallMemories, note_attempt
from chatmend.litellm.counting import count_repaired
from chatmend.litellm.exchange import SentRequest, build_exchange, keep_sent
from chatmend.litellm.failure_headers import add_to_failures
from chatmend.litellm.live import Switch
from chatmend.litellm.recording import as_record_function, state_of
from chatmend.litellm.repairer import Repairer
from chatmend.litellm.rollout import OFF, Treatment
from chatmend.litellm.shapes import (
    SHAPES,
    name_of,
    shape_of_nested_body,
    shape_of_route,
)
from chatmend.litellm.shared_images import SharedImages
from chatmend.litellm.starting import print_log_lines, proxy_config, start_line
from chatmend.litellm.streams import ChunkUsageWriter
from chatmend.litellm.target import target_of, target_of_route
from chatmend.litellm.usage_records import (
    CallCounter,
    add_to_hidden_params,
    hidden_params_of,
    usage_record_of,
    write_usage_record,
)
from chatmend.options import (
    OnError,
    Override,
    RolloutMode,
    SessionMemoryMode,
    UsageMode,
    is_disabled,
    known_hosts,
    on_error_of,
    overrides_of,
    patterns_of,
    policy_of,
    react_of,
    rollout_mode_of,
    sample_of,
    session_memory_of,
    usage_of,
)
from chatmend.usage import UsageLedger

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Mapping
    from pathlib import Path

    from chatmend.litellm.exchange import Exchange
    from chatmend.litellm.shapes import Shape
    from chatmend.policy import Policy
    from chatmend.sessions import SessionStore
    from chatmend.sessions.recorder import Recorder
    from chatmend.shared_state import SessionMemories

_pass_through_summary: ContextVar[summaries.ChangeSummary | None] = ContextVar(
    "chatmend_pass_through_summary", default=None
)
"""The summary of a pass-through request: its later hooks do not receive LiteLLM's record."""

pass_through_treatment: ContextVar[Treatment] = ContextVar(
    "chatmend_pass_through_treatment", default=OFF
)
"""What was decided about a pass-through request, for the transport that sends it."""

is_wrapped_call: ContextVar[bool] = ContextVar("chatmend_wrapped_call", default=False)
"""Whether the current synchronous call uses `install` or chatmend's own `completion`."""

CALLBACK_ATTRIBUTE = "_self_chatmend"
"""The attribute of a function of LiteLLM, wrapped by ``install()``, that holds its callback."""

_REFUSED = frozenset({400, 413, 422})
"""The statuses with which providers refuse a request itself, not its sender or its time."""

_instance_numbers = count(1)
"""LiteLLM treats two callbacks with equal plain attributes as one and logs only to the first."""


# Without LiteLLM installed, its class is untyped for mypy.
class ChatMend(Repairer, CustomLogger):  # type: ignore[misc, unused-ignore]
    """Repairs each request for the provider and model that receive it, and normalises its usage.

    Args:
        policy: choices between repairs, or the name of a policy (``"offline"``); the default is
            lossless.
        on_error: ``"pass"`` sends the request unchanged if chatmend itself fails, with one warning;
            ``"raise"`` raises the exception, for tests.
        mode: ``"repair"``, ``"report"`` to list the changes and send the original, or ``"off"``.
        images: recompresses images: a ``chatmend.images.Recompressor`` (by default the one of the
            process), or ``SharedImages``, whose results replicas share through LiteLLM's cache.
        record: a ``SessionStore``, or its directory, stores every successful call as a turn of a
            session; a function is called with the `Exchange` of every successful call, not on the
            event loop.
        allow: patterns of models (``"anthropic/*"``, a deployment, or a model group of the Router)
            to process, as a list or as one string with commas. The default is all models.
        deny: patterns of models whose requests are never changed, even if ``allow`` matches them.
        usage: where the usage record of a response goes. ``"body"`` writes it into the ``usage`` of
            the response, next to LiteLLM's figures; ``"hidden"`` into ``_hidden_params`` and logs;
            ``"off"`` only adds it to the ledger. The default is ``"hidden"`` in the proxy and
            ``"body"`` in the SDK. In report mode, and for models that are not processed,
            ``"body"`` means ``"hidden"``.
        ledger: the ledger to which calls are added; the default is a new one.
        react: how many more attempts a call may have after the provider has refused its transcript
            (0 to 2; see ``chatmend.react``). In the proxy the callback wraps LiteLLM's functions
            for it when it is constructed; in the SDK, call ``install()``.
        lessons_file: a file to which each lesson of a refusal is appended as a line of JSON, for
            ``chatmend lessons``. Error messages may quote the transcript.
        session_memory: for which requests the callback keeps what was sent in a conversation (see
            ``chatmend.SessionMemory``): ``"bound"`` for targets that refuse thinking behind a
            changed prompt, ``"all"`` or ``"off"``. It is kept in this process, for 1,000
            conversations; with ``record=SessionStore(...)`` in its directory, with
            ``SharedMemories(...)`` in a cache of LiteLLM that replicas share, and with
            ``chatmend.shared_state.SessionMemories(...)`` in any store.
        sample: the share of conversations to repair, from 0 to 1; the others are reported. A
            conversation is repaired from its first request on, or never.
        overrides: other values of ``mode``, ``policy`` and ``sample`` for some models, keys, teams
            or tags of a proxy, as mappings with the fields of ``chatmend.options.Override``. The
            first one that matches a request applies.
        trusted_keys: patterns of aliases or hashes of keys whose requests may have the header
            ``x-chatmend: off`` or ``report``.
        switch_file: a file that disables all repairs while it exists, or permits what it contains:
            ``off``, ``report`` or ``on``.

    Raises:
        PolicyError: an option has an invalid value.
    """

    startup_name = "chatmend"
    """The name in the line that is printed when the proxy starts."""

    def __init__(  # noqa: PLR0913 - each is one choice, and all have a default
        self,
        policy: Policy | str | dict[str, Any] | None = None,
        *,
        on_error: OnError = "pass",
        mode: RolloutMode = "repair",
        images: Any = None,
        record: str | Path | SessionStore | Recorder | Callable[[Exchange], object] | None = None,
        allow: Iterable[str] | str = (),
        deny: Iterable[str] | str = (),
        usage: UsageMode | None = None,
        ledger: UsageLedger | None = None,
        react: int | str = 0,
        lessons_file: str | Path | None = None,
        session_memory: SessionMemoryMode | SessionMemories = "bound",
        sample: float | str = 1,
        overrides: Iterable[Override | Mapping[str, Any]] = (),
        trusted_keys: Iterable[str] | str = (),
        switch_file: str | Path | None = None,
    ) -> None:
        """Check the options. No other work is done before the first request."""
        super().__init__()
        self.number = next(_instance_numbers)
        self.policy = policy_of(policy)
        self.on_error = on_error_of(on_error)
        known_hosts()  # reports an invalid CHATMEND_HOSTS now, not at the first request
        self.mode = rollout_mode_of(mode)
        self.sample = sample_of(sample)
        self.overrides = overrides_of(overrides)
        self.trusted_keys = patterns_of("trusted_keys", trusted_keys)
        _check("switch_file", switch_file, (str, PathLike), "a path")
        self.switch = None if switch_file is None else Switch(switch_file)
        self.reloading = None
        _check("images", images, (SharedImages, Callable), "a Recompressor, SharedImages")
        self.images = images
        self.record = as_record_function(record)
        self.allow, self.deny = patterns_of("allow", allow), patterns_of("deny", deny)
        self.usage_mode = usage_of(usage)
        _check("ledger", ledger, UsageLedger, "a UsageLedger")
        self.usage = ledger if ledger is not None else UsageLedger()
        self.react = react_of(react)
        self.memories = CallMemories(session_memory_of(session_memory), state=state_of(self.record))
        _check("lessons_file", lessons_file, (str, PathLike), "a path")
        self.lessons = LessonStore(lessons_file, state=self.memories.state)
        self.failures = summaries.Failures(self.on_error)
        self._call_counter = CallCounter(self.usage, on_failure=self._handle_uncounted)
        self._warned = self._warned_of_position = self._warned_of_react = False
        if proxy_config() is not None:
            # Printed, not logged: operators must see it with any logging configuration.
            print(start_line(self, disabled=is_disabled()), flush=True)  # noqa: T201
            print_log_lines()
            add_to_failures(self.failures)
            count_repaired(self)
            if self.react:
                # At run time, because that module imports this one.
                from chatmend.litellm.install import wrap_functions  # noqa: PLC0415

                wrap_functions(self)

    def _handle_uncounted(self, error: Exception) -> None:
        if not self.failures.swallow(error, summaries.NOT_COUNTED):
            raise error

    async def async_pre_call_deployment_hook(
        self, kwargs: dict[str, Any], call_type: Any
    ) -> dict[str, Any] | None:
        """Repair the request of one attempt.

        LiteLLM calls this for each attempt of an asynchronous call, after it has chosen the
        deployment.
        """
        name = name_of(call_type)
        shape = SHAPES.get(name) or shape_of_nested_body(name, kwargs)
        try:
            # With fallbacks= LiteLLM makes an inner call for each model, with the same messages.
            if shape is None or kwargs.get("fallbacks"):
                return None
            if name in SHAPES and (hidden := positional_arguments(kwargs, shape)):
                self._warn_of_position(hidden)
                return None
            target, logging_obj = target_of(kwargs), kwargs.get("litellm_logging_obj")
            record = getattr(logging_obj, "model_call_details", None)
            with self.failures.guard(NOT_REMEMBERED):
                await self.memories.refuse_attempts_async(record, name)
            body = kwargs if name in SHAPES else kwargs["data"]
            treatment = self.treatment_of(kwargs, target, body.get(shape.field))
            made = await self.process(body, shape, target, treatment)
            note_attempt(logging_obj, name, made.added)
            metrics.record(made, is_first_pass=summaries.is_first_pass(logging_obj, name))
            if treatment.mode == "off":
                return None
            if name not in SHAPES:
                return self._outgoing_nested_body(kwargs, name, made)
            return self._outgoing_request(kwargs, name, shape, made)
        except Exception as error:
            metrics.record_outcome("failed")
            if not self.failures.swallow(error):
                raise
        return None

    def _warn_of_position(self, names: list[str]) -> None:
        if not self._warned_of_position and not self.is_disabled():
            self._warned_of_position = True
            summaries.warn_about_positional_arguments(names)

    def _outgoing_nested_body(
        self, kwargs: dict[str, Any], name: str, made: Attempt
    ) -> dict[str, Any] | None:
        """Return a pass-through request to Bedrock, whose body is under ``data``; None if same."""
        summary = summaries.summarize(made.target, made.mode, made.changes)
        self._store(kwargs, name, summary, made.seconds)
        return None if made.request is None else {**kwargs, "data": made.request}

    def _store(
        self,
        kwargs: Mapping[str, Any],
        name: str,
        summary: summaries.ChangeSummary,
        seconds: float,
    ) -> bool:
        """Store a summary in LiteLLM's record of the call, and in the metadata of the proxy.

        Returns whether LiteLLM has a record.
        """
        own = summary.to_dict()
        stored = summaries.store(kwargs.get("litellm_logging_obj"), name, own)
        proxy_metadata.write(kwargs, own if stored is None else stored.merged(), seconds)
        return stored is not None

    def _outgoing_request(
        self, kwargs: dict[str, Any], name: str, shape: Shape, made: Attempt
    ) -> dict[str, Any] | None:
        """Return the request to send, or None to send the original.

        The summary of its changes is stored in LiteLLM's record of the call.
        """
        logging_obj: Any = kwargs.get("litellm_logging_obj")
        repaired = made.request
        if self.record is not None and has_transcript(kwargs, shape):
            keep_sent(
                logging_obj, name, SentRequest.from_call(repaired or kwargs, shape, made.target)
            )
        summary = summaries.summarize(made.target, made.mode, made.changes)
        is_stored = self._store(kwargs, name, summary, made.seconds)
        if not made.changes:
            return None
        if repaired and shape.field == "messages" and hasattr(logging_obj, "update_messages"):
            # Without this, LiteLLM logs the original messages, which were not sent.
            logging_obj.update_messages(repaired["messages"])
        return (
            repaired
            if is_stored or not summary.changes
            else dict(summaries.with_summary(repaired or kwargs, summary, shape))
        )

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: Any
    ) -> dict[str, Any] | None:
        """Repair a pass-through request, which has no deployment.

        LiteLLM calls this for every request of the proxy.
        """
        _pass_through_summary.set(None)
        pass_through_treatment.set(OFF)
        if call_type != "pass_through_endpoint":
            return None
        with self.failures.guard():
            path = str(getattr(user_api_key_dict, "request_route", None) or "")
            shape = shape_of_route(path)
            if shape is None or not has_transcript(data, shape):
                return None
            target = target_of_route(path, data.get("model"), shape)
            treatment = self.treatment_of(data, target, data[shape.field], user_api_key_dict)
            made = await self.process(data, shape, target, treatment, user_api_key_dict)
            metrics.record(made)
            if treatment.mode == "off":
                return None
            summary = summaries.summarize(target, made.mode, made.changes)
            _pass_through_summary.set(summary)
            pass_through_treatment.set(treatment)
            return made.request
        return None

    async def async_post_call_success_deployment_hook(
        self, request_data: Any, response: Any, call_type: Any
    ) -> None:
        """Add change summary and usage record to a response.

        LiteLLM calls this for each complete response of an asynchronous call.
        """
        if name_of(call_type) not in SHAPES:
            return
        try:
            stored = summaries.stored_summaries(request_data.get("litellm_logging_obj"))
            if stored is not None or not self.is_disabled():
                summary = (
                    stored.merged() if stored else summaries.summary_dict_of_request(request_data)
                )
                self.complete_response(response, summary, self.usage_mode_for(request_data))
        except Exception as error:
            if not self.failures.swallow(error, summaries.NOT_REPORTED):
                raise

    def complete_response(
        self, response: Any, summary: Mapping[str, Any] | None, where: UsageMode
    ) -> None:
        """Write the usage record to ``where``, and record and summary to ``_hidden_params``.

        The answers of ``/v1/messages`` are plain dicts without ``_hidden_params``.
        """
        if where == "body" or hidden_params_of(response) is not None:
            add_to_hidden_params(response, combined(summary, write_usage_record(response, where)))

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: dict[str, Any]
    ) -> AsyncGenerator[Any, None]:
        """Write usage records into the chunks of a stream, if they are to go into the body.

        LiteLLM calls this for every stream of the proxy. Other streams are passed on without being
        parsed.
        """
        writer = (
            ChunkUsageWriter(self.failures) if self._adds_usage_to_stream(request_data) else None
        )
        async for chunk in response:
            passed = chunk if writer is None else writer.process(chunk)
            if passed != b"":
                yield passed
        for rest in writer.flush() if writer is not None else ():
            yield rest

    def _adds_usage_to_stream(self, request: Mapping[str, Any]) -> bool:
        """Whether to write usage records into a stream of the proxy.

        They are written only if chatmend processed the request: then it has a change summary.
        """
        if self.usage_mode != "body":
            return False
        stored = summaries.stored_summaries(request.get("litellm_logging_obj"))
        return stored is not None and stored.merged()["mode"] == "repair"

    async def async_post_call_response_headers_hook(
        self,
        data: dict[str, Any],
        user_api_key_dict: Any,
        response: Any,
        request_headers: Any = None,
        litellm_call_info: Any = None,
    ) -> dict[str, str] | None:
        """Return the response header that lists the changes.

        LiteLLM calls this for every response of the proxy.
        """
        with self.failures.guard():
            return summaries.headers_of_request(data) or summaries.response_headers(
                _pass_through_summary.get()
            )
        return None

    def logging_hook(
        self, kwargs: dict[str, Any], result: Any, call_type: Any
    ) -> tuple[dict[str, Any], Any]:
        """Write change summary and usage record into the metadata that loggers read.

        LiteLLM calls this before it passes a call to any logger.
        """
        try:
            stored = summaries.stored_summaries(kwargs)
            if stored is not None or not self.is_disabled():
                record = None if self.usage_mode == "off" else usage_record_of(result)
                if record is not None:
                    add_to_hidden_params(result, {"usage": record})
                add_to_logging_metadata(
                    kwargs,
                    combined(
                        stored.merged() if stored else summaries.last_summary_dict(kwargs), record
                    ),
                )
        except Exception as error:
            if not self.failures.swallow(error, summaries.NOT_REPORTED):
                raise
        return kwargs, result

    async def async_logging_hook(
        self, kwargs: dict[str, Any], result: Any, call_type: Any
    ) -> tuple[dict[str, Any], Any]:
        """Do the same as `logging_hook`, for asynchronous calls."""
        return self.logging_hook(kwargs, result, call_type)

    def log_pre_api_call(self, model: Any, messages: Any, kwargs: Any) -> None:
        """Warn once if a synchronous completion was not repaired.

        LiteLLM calls this directly before it sends a request.
        """
        if self._warned:
            return
        try:
            if _is_unrepaired_completion(kwargs) and not self.is_disabled():
                self._warned = True
                summaries.warn_about_synchronous_calls()
        except Exception as error:
            if not self.failures.swallow(error):
                raise

    def log_success_event(
        self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """Count and record a synchronous call.

        LiteLLM calls this after a call has succeeded, for streams at their end.
        """
        self._count(kwargs, response_obj)
        if self.record is not None:
            self._record(kwargs, response_obj)

    async def async_log_success_event(
        self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """Count and record an asynchronous call.

        LiteLLM calls this after a call has succeeded, for streams at their end.
        """
        self._count(kwargs, response_obj)
        if self.record is not None:
            try:
                recorded = asyncio.get_running_loop().run_in_executor(
                    None, self._record, kwargs, response_obj
                )
            except RuntimeError:  # Python is shutting down and starts no more threads
                self._record(kwargs, response_obj)
            else:
                await recorded

    def log_failure_event(
        self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """Note in the session memory that a call has failed.

        It also writes the change summary into the metadata that loggers read, and warns once if no
        call is made again after a refusal, although ``react`` asks for it.
        LiteLLM calls this after a call has failed.
        """
        with self.failures.guard(NOT_REMEMBERED):
            self.memories.refuse_attempts(kwargs)
            if _is_refusal(kwargs.get("exception")):
                metrics.record_outcome("refused")
            if stored := summaries.stored_summaries(kwargs):
                add_to_logging_metadata(kwargs, summaries.OwnMetadata(stored.merged()))
        if self.react and not self._warned_of_react and not self.is_disabled():
            is_wrapped = getattr(litellm.acompletion, CALLBACK_ATTRIBUTE, None) is self
            self._warned_of_react = not is_wrapped
            if not is_wrapped:
                summaries.warn_about_unused_react()

    async def async_log_failure_event(
        self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """Do the same as `log_failure_event`, for asynchronous calls."""
        with self.failures.guard(NOT_REMEMBERED):
            await self.memories.refuse_attempts_async(kwargs)
        self.log_failure_event(kwargs, response_obj, start_time, end_time)

    def _count(self, kwargs: Any, response: Any) -> None:
        try:
            if summaries.stored_summaries(kwargs) is not None or not self.is_disabled():
                self._call_counter.add(kwargs, response)
        except Exception as error:
            if not self.failures.swallow(error, summaries.NOT_COUNTED):
                raise

    def _record(self, kwargs: Any, response: Any) -> None:
        if self.record is not None and not self.is_disabled():
            with self.failures.guard(summaries.NOT_RECORDED):
                self.record(build_exchange(kwargs, response))


def _check(name: str, value: object, kinds: Any, expected: str) -> None:
    """Raise an exception if the value of an option is neither None nor of these types."""
    if value is not None and not isinstance(value, kinds):
        raise PolicyError(f"{name}={value!r}: pass {expected} or None")


def _is_refusal(error: object) -> bool:
    """Whether a provider refused the request itself."""
    return getattr(error, "status_code", None) in _REFUSED


def _is_unrepaired_completion(record: Mapping[str, Any]) -> bool:
    """Whether a call is a synchronous completion that chatmend's wrappers did not process."""
    if record.get("call_type") != "completion":
        return False
    call = record.get("litellm_params") or {}
    return not call.get("acompletion") and not is_wrapped_call.get()


def add_to_logging_metadata(record: dict[str, Any], entries: dict[str, Any] | None) -> None:
    """Add change summary and usage record to the metadata that loggers read.

    The caller's metadata is copied first.
    """
    if entries is None:
        return
    params, payload = record.get("litellm_params"), record.get("standard_logging_object")
    metadata = params.get("metadata") if params else None
    record["litellm_params"] = {
        **(params or {}),
        "metadata": {**(metadata or {}), summaries.KEY: entries},
    }
    if isinstance(payload, dict):
        # LiteLLM created this metadata for this call, so no copy is needed.
        payload["metadata"] = (payload.get("metadata") or {}) | {summaries.KEY: entries}


def combined(
    summary: Mapping[str, Any] | None, usage_record: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """Return change summary and usage record as one dict; ``None`` if there is neither."""
    if usage_record is None:
        return None if summary is None else summaries.OwnMetadata(summary)
    return (
        summaries.OwnMetadata(usage=usage_record)
        if summary is None
        else summaries.OwnMetadata(summary, usage=usage_record)
    )
