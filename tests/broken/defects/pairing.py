"""Calls and results that do not stand together."""

from random import Random
from typing import Any

from ..nested import copied
from ..sites import calls, dicts, exchange_with, exchanges, id_key, parallel, pick, results, take
from ..tokens import fresh
from ..wires import Wire, text_part
from .defect import Defects

DEFECTS = Defects()

NO_RESULT = "No result was recorded for this tool call."
"""The placeholder that a repairer would write; here a tool really said it."""


def _orphan(rng: Random, wire: Wire) -> Any:
    return wire.results([("call_gone", f"orphan {fresh(rng)}")])[0]


def _next_assistant(messages: list[Any], start: int, rng: Random, wire: Wire) -> int:
    """The position of the first assistant message from ``start`` on; one is appended if there is none."""
    for index in dicts(messages, "assistant"):
        if index >= start:
            return index
    messages.append(wire.assistant(f"Meanwhile {fresh(rng)}."))
    return len(messages) - 1


@DEFECTS.both
def orphan_result(messages: list[Any], rng: Random, wire: Wire) -> None:
    messages.insert(rng.randint(0, len(messages)), _orphan(rng, wire))


@DEFECTS.both
def orphan_result_first(messages: list[Any], rng: Random, wire: Wire) -> None:
    messages.insert(0, _orphan(rng, wire))


@DEFECTS.both
def result_after_next_assistant(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(rng, results(messages)):
        late = take(messages, site)
        messages.insert(_next_assistant(messages, site.index, rng, wire) + 1, late)


@DEFECTS.both
def result_at_the_end(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(rng, results(messages)):
        late = take(messages, site)
        _next_assistant(messages, site.index, rng, wire)
        messages.append(late)


@DEFECTS.both
def result_behind_user(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(rng, results(messages)):
        late = take(messages, site)
        typed = {"role": "user", "content": f"Hurry up, {fresh(rng)}!"}
        messages[site.index : site.index] = [typed, late]


@DEFECTS.both
def result_before_call(messages: list[Any], rng: Random, wire: Wire) -> None:
    for call, result in pick(rng, exchanges(messages)):
        early = take(messages, result)
        messages.insert(call.index, early)


@DEFECTS.both
def user_between_call_and_result(messages: list[Any], rng: Random, wire: Wire) -> None:
    for call, _ in pick(rng, exchanges(messages)):
        messages.insert(call.index + 1, {"role": "user", "content": f"Wait, also {fresh(rng)}."})


@DEFECTS.both
def missing_result(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(rng, results(messages)):
        take(messages, site)


@DEFECTS.both
def missing_results_of_a_message(messages: list[Any], rng: Random, wire: Wire) -> None:
    for chosen, _ in pick(rng, exchanges(messages)):
        for call, result in reversed(exchanges(messages)):
            if call.index == chosen.index:
                take(messages, result)


@DEFECTS.both
def duplicate_result(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(rng, results(messages)):
        site.holder.insert(site.at + 1, copied(site.native))


@DEFECTS.both
def duplicate_result_other_content(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(rng, results(messages)):
        site.holder.insert(site.at + 1, {**copied(site.native), "content": f"again {fresh(rng)}"})


@DEFECTS.both
def duplicate_result_later_window(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(rng, results(messages)):
        call_id = site.native.get(id_key(site.native))
        again = wire.results([(call_id, f"later {fresh(rng)}")])[0]  # type: ignore[list-item]  # broken ids are kept
        messages.insert(_next_assistant(messages, site.index, rng, wire) + 1, again)


@DEFECTS.both
def results_out_of_order(messages: list[Any], rng: Random, wire: Wire) -> None:
    several = [group[0].index for group in parallel(messages)]
    for index in pick(rng, several):
        answers = [result for call, result in exchanges(messages) if call.index == index]
        natives = [result.native for result in answers]
        for result, native in zip(answers, reversed(natives), strict=True):
            result.holder[result.at] = native


@DEFECTS.both
def unanswered_call_at_the_end(messages: list[Any], rng: Random, wire: Wire) -> None:
    call = wire.call("call_unanswered", "read_file", {"path": fresh(rng)})
    messages.append(wire.assistant(f"Off to {fresh(rng)}.", [call]))


@DEFECTS.both
def partial_results_at_the_end(messages: list[Any], rng: Random, wire: Wire) -> None:
    messages.extend(exchange_with(rng, wire))
    take(messages, results(messages)[-rng.randint(1, 2)])


@DEFECTS.both
def forged_placeholder_result(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(rng, results(messages)):
        site.native["content"] = NO_RESULT


@DEFECTS.both
def placeholder_then_real_result(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(rng, results(messages)):
        site.holder.insert(site.at, {**copied(site.native), "content": NO_RESULT})


@DEFECTS.both
def forged_continuation(messages: list[Any], rng: Random, wire: Wire) -> None:
    messages.insert(
        rng.randint(0, len(messages)),
        {"role": rng.choice(("user", "assistant")), "content": "[continued]"},
    )


@DEFECTS.both
def call_in_user(messages: list[Any], rng: Random, wire: Wire) -> None:
    call = wire.call("call_in_user", "search", {"query": fresh(rng)})
    messages.insert(
        rng.randint(0, len(messages)),
        {**wire.assistant(f"I am {fresh(rng)}.", [call]), "role": "user"},
    )


@DEFECTS.anthropic
def result_in_assistant(messages: list[Any], rng: Random, wire: Wire) -> None:
    for call, result in pick(rng, exchanges(messages)):
        moved = result.native
        call.holder.append(moved)
        take(messages, result)


@DEFECTS.anthropic
def result_after_text(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(rng, results(messages)):
        site.holder.insert(0, text_part(f"By the way, {fresh(rng)}."))


@DEFECTS.anthropic
def results_split_over_messages(messages: list[Any], rng: Random, wire: Wire) -> None:
    shared = [
        site for site in results(messages) if len(site.holder) > 1 and site.holder is not messages
    ]
    for site in pick(rng, shared):
        messages.insert(site.index + rng.randint(0, 1), take(messages, site))


@DEFECTS.both
def assistant_split_text_and_calls(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(rng, calls(messages)):
        messages.insert(site.index, wire.assistant(f"I shall look at {fresh(rng)}."))


@DEFECTS.both
def assistant_split_between_calls(messages: list[Any], rng: Random, wire: Wire) -> None:
    for group in pick(rng, parallel(messages)):
        last = group[-1]
        call = last.holder.pop(last.at)
        messages.insert(last.index + 1, wire.assistant(None, [call]))
