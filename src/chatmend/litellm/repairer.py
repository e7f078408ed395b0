"""``Repairer``: what the callback does with a request, independently of LiteLLM's hooks."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple

from chatmend.failures import NOT_REMEMBERED
from chatmend.litellm import summaries
from chatmend.litellm.attempt import (
    Attempt,
    has_transcript,
    is_heavy,
    lesson_of,
    repair_attempt,
)
from chatmend.litellm.rollout import OFF, Choices, Treatment, matches, weaker
from chatmend.litellm.shared_images import SharedImages, owner_of
from chatmend.litellm.target import target_of
from chatmend.options import is_disabled
from chatmend.telemetry import record_repair

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from chatmend.lesson_store import LessonStore
    from chatmend.lessons import Lesson
    from chatmend.litellm.call_memories import AddedTurn, CallMemories
    from chatmend.litellm.live import Reloading, Switch
    from chatmend.litellm.shapes import Shape
    from chatmend.options import Override, RolloutMode, UsageMode
    from chatmend.policy import Policy
    from chatmend.session_memory import SessionMemory


class _Call(NamedTuple):
    kwargs: dict[str, Any]
    shape: Shape
    target: str
    tenant: str


class Repairer:
    """Decides about requests and repairs them. ``ChatMend`` checks and sets the options."""

    policy: Policy | None
    mode: RolloutMode
    images: Any
    allow: tuple[str, ...]
    deny: tuple[str, ...]
    usage_mode: UsageMode | None
    react: int
    sample: float
    overrides: tuple[Override, ...]
    trusted_keys: tuple[str, ...]
    switch: Switch | None
    reloading: Reloading | None
    """Applies a changed configuration file; see ``chatmend.litellm.settings``."""
    memories: CallMemories
    lessons: LessonStore
    failures: summaries.Failures

    def is_disabled(self) -> bool:
        """Whether all repairs are disabled, by the environment or by the switch file."""
        return is_disabled() or (self.switch is not None and self.switch.mode() == "off")

    def treatment_of(
        self, kwargs: Mapping[str, Any], target: str, messages: Any = None, key: Any = None
    ) -> Treatment:
        """Return whether to repair, report or pass on a request, and the policy.

        Args:
            kwargs: the request.
            target: the provider and model that receive the request.
            messages: its messages, which decide whether it belongs to the sample.
            key: the proxy's ``user_api_key_dict`` of a pass-through request.
        """
        if self.reloading is not None:
            self.reloading.poll()
        names = self._names_of(kwargs, target)
        if self.is_disabled() or not self._is_allowed(names):
            return OFF
        chosen = Choices(self.mode, self.policy, self.sample, self.overrides, self.trusted_keys)
        found = chosen.treatment(kwargs, names, messages, key)
        if self.switch is None:
            return found
        return Treatment(weaker(found.mode, self.switch.mode()), found.policy)

    def _names_of(self, kwargs: Mapping[str, Any], target: str) -> list[str]:
        """Return the names of a model for patterns: the target, the deployment and the group."""
        metadata = kwargs.get("litellm_metadata") or kwargs.get("metadata") or {}
        group = metadata.get("model_group") if isinstance(metadata, dict) else None
        return [name for name in (target, kwargs.get("model"), group) if isinstance(name, str)]

    def _is_allowed(self, names: Iterable[str]) -> bool:
        """Whether ``allow`` and ``deny`` permit changes to a call."""
        if matches(names, self.deny):
            return False
        return not self.allow or matches(names, self.allow)

    def usage_mode_for(
        self, kwargs: Mapping[str, Any], mode: RolloutMode | None = None
    ) -> UsageMode:
        """Return where the usage record of a call's response goes.

        The responses to requests that chatmend does not process stay LiteLLM's, byte for byte.

        Calls of the proxy are recognised by the client's request, which the proxy passes on. At the
        end of a Responses stream LiteLLM 1.82 passes its record of the call, in which these values
        are nested one level deeper.

        Args:
            kwargs: the request.
            mode: the mode in which the request was processed; None if it is not known.
        """
        known, params = self.usage_mode, kwargs.get("litellm_params")
        if isinstance(params, dict):
            kwargs = {**params, **kwargs}
        if known == "off":
            return "off"
        if known != "hidden" and (mode or self._mode_of_answer(kwargs)) == "repair":
            return known or ("hidden" if kwargs.get("proxy_server_request") else "body")
        return "hidden"

    def _mode_of_answer(self, kwargs: Mapping[str, Any]) -> RolloutMode:
        """Return the mode in which the request of an answer was processed."""
        stored = summaries.stored_summaries(kwargs.get("litellm_logging_obj"))
        if stored:
            mode: RolloutMode = stored.merged()["mode"]
            return mode
        return self.treatment_of(kwargs, target_of(kwargs)).mode

    def repair_call(
        self,
        kwargs: dict[str, Any],
        shape: Shape,
        target: str,
        key: Any = None,
        treatment: Treatment | None = None,
    ) -> Attempt:
        """Repair one request; in report mode, list the changes without applying them.

        Args:
            kwargs: the request.
            shape: the format of the call.
            target: the provider and model that receive the request.
            key: the proxy's ``user_api_key_dict`` of a pass-through request. Its owner selects the
                image cache.
            treatment: mode and policy; by default those of ``treatment_of``.
        """
        tenant, messages = owner_of(kwargs, key), kwargs[shape.field]
        call = _Call(kwargs, shape, target, tenant)
        treatment = treatment or self.treatment_of(kwargs, target, messages, key)
        if treatment.mode != "repair":
            made = self._repair_attempt(call, None, treatment)
            added = self.remember(kwargs, shape, target, key)
            return made._replace(request=None, memory=None, added=added)
        memory = self.memories.of_call(tenant, messages, target)
        made = self._repair_attempt(call, memory, treatment)
        with self.failures.guard(NOT_REMEMBERED):
            added = self.memories.add(tenant, messages, made.memory, memory)
            return made if added is None else made._replace(added=added)
        return made

    def _repair_attempt(
        self, call: _Call, memory: SessionMemory | None, treatment: Treatment
    ) -> Attempt:
        kwargs, shape, target, tenant = call
        images = self.images_of(tenant)
        lessons = self._lessons(tenant, kwargs[shape.field])
        made = repair_attempt(
            kwargs, shape, target, treatment.mode, policy=treatment.policy, recompressor=images,
            lessons=lessons, memory=memory,
        )  # fmt: skip
        record_repair(target, made.changes, made.seconds, mode=treatment.mode)
        return made

    def images_of(self, tenant: str) -> Any:
        """Return the recompressor for the images of a tenant."""
        return (
            self.images.for_owner(tenant) if isinstance(self.images, SharedImages) else self.images
        )

    def _lessons(self, tenant: str, messages: Any) -> tuple[Lesson, ...]:
        return self.lessons.of(tenant, messages) if self.react else ()

    def remember(
        self, kwargs: dict[str, Any], shape: Shape, target: str, key: Any = None
    ) -> AddedTurn | None:
        """Add a request that is sent without a repair to the memory of its conversation.

        The arguments are those of ``repair_call``.
        """
        tenant, messages = owner_of(kwargs, key), kwargs[shape.field]
        lessons = self._lessons(tenant, messages) if self.memories.concern(target) else ()
        return self.memories.add_unrepaired(tenant, kwargs, shape, target, lessons)

    def learn(
        self, kwargs: dict[str, Any], shape: Shape, target: str, error: Exception
    ) -> Lesson | None:
        """Keep what a refusal of a call shows for the conversation, and return it.

        None if no other repair would help, or if the request is not repaired.
        """
        tenant, messages = owner_of(kwargs), kwargs[shape.field]
        treatment = self.treatment_of(kwargs, target, messages)
        if treatment.mode != "repair":
            return None
        known = self.lessons.of(tenant, messages)
        memory = self.memories.of_call(tenant, messages, target)
        made = self._repair_attempt(_Call(kwargs, shape, target, tenant), memory, treatment)
        sent = made.request or kwargs
        lesson = lesson_of(sent, shape, target, error, policy=treatment.policy, lessons=known)
        if lesson is not None:
            self.lessons.add(tenant, messages, lesson)
        return lesson

    async def process(
        self,
        kwargs: dict[str, Any],
        shape: Shape,
        target: str,
        treatment: Treatment,
        key: Any = None,
    ) -> Attempt:
        """Repair one request like `repair_call`, or only remember it if the mode is off.

        Large requests, and those for which a store is read, are processed in a thread.
        """
        if not has_transcript(kwargs, shape):
            return Attempt(target, mode=treatment.mode)
        is_remembered = self.memories.concern(target)
        if treatment.mode == "off" and not is_remembered:
            return Attempt(target, mode="off")
        uses_store = self.memories.state is not None and (is_remembered or self.react > 0)
        work = self._pass if treatment.mode == "off" else self.repair_call
        if uses_store or is_heavy(kwargs[shape.field]):
            return await asyncio.to_thread(work, kwargs, shape, target, key, treatment)
        return work(kwargs, shape, target, key, treatment)

    def _pass(
        self, kwargs: dict[str, Any], shape: Shape, target: str, key: Any, _treatment: Treatment
    ) -> Attempt:
        """Return the attempt of a request that is not processed, only remembered."""
        return Attempt(target, mode="off", added=self.remember(kwargs, shape, target, key))
