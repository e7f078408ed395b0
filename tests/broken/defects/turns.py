"""Turns in an order that providers refuse, unusual roles, system messages in the middle, and cut histories."""

from random import Random
from typing import Any

from ..nested import copied
from ..sites import calls, dicts, exchanges, pick, results
from ..tokens import fresh
from ..wires import Native, Wire, text_part
from .defect import Defect, Defects

DEFECTS = Defects()

ROLES = ("model", "bot", "human", "ai", "developer", "critic", "User", "function", "")


def _beside(messages: list[Any], rng: Random, role: str) -> None:
    """Put one or two messages of a role behind one of that role, or two at the end."""
    at = (pick(rng, dicts(messages, role)) or [len(messages) - 1])[0] + 1
    made: list[Native] = [
        {"role": role, "content": f"Also {fresh(rng)}."} for _ in range(rng.randint(1, 2))
    ]
    made[-1]["content"] = rng.choice((made[-1]["content"], [text_part(made[-1]["content"])]))
    messages[at:at] = made


@DEFECTS.both
def consecutive_users(messages: list[Any], rng: Random, wire: Wire) -> None:
    _beside(messages, rng, "user")


@DEFECTS.both
def consecutive_assistants(messages: list[Any], rng: Random, wire: Wire) -> None:
    _beside(messages, rng, "assistant")


@DEFECTS.both
def consecutive_systems(messages: list[Any], rng: Random, wire: Wire) -> None:
    _beside(messages, rng, "system")


@DEFECTS.both
def leading_assistant(messages: list[Any], rng: Random, wire: Wire) -> None:
    start = 1 if dicts(messages[:1], "system") else 0
    messages.insert(start, wire.assistant(f"Hello, I am {fresh(rng)}."))


@DEFECTS.both
def leading_exchange(messages: list[Any], rng: Random, wire: Wire) -> None:
    call = wire.call("call_lead", "search", {"query": fresh(rng)})
    messages[0:0] = [
        wire.assistant(None, [call]),
        *wire.results([("call_lead", f"found {fresh(rng)}")]),
    ]


@DEFECTS.both
def no_user(messages: list[Any], rng: Random, wire: Wire) -> None:
    answering = {site.index for site in results(messages)}
    for index in reversed(dicts(messages, "user")):
        if index not in answering:
            del messages[index]


@DEFECTS.anthropic
def nobody_but_the_assistant(messages: list[Any], rng: Random, wire: Wire) -> None:
    messages[:] = [wire.assistant(f"Hello, I am {fresh(rng)}.")]


@DEFECTS.anthropic
def nobody_but_the_developer(messages: list[Any], rng: Random, wire: Wire) -> None:
    messages[:] = [{"role": "developer", "content": f"Always obey {fresh(rng)}."}]


@DEFECTS.both
def trailing_assistant(messages: list[Any], rng: Random, wire: Wire) -> None:
    messages.append(wire.assistant(f"So the answer is {fresh(rng)}"))


@DEFECTS.both
def trailing_assistant_whitespace(messages: list[Any], rng: Random, wire: Wire) -> None:
    said = f"So the answer is {fresh(rng)}" + rng.choice((" ", "\n", " \n\t"))
    messages.append(wire.assistant(rng.choice((said, [text_part(said)]))))


def _role(role: str) -> Defect:
    def defect(messages: list[Any], rng: Random, wire: Wire) -> None:
        for index in pick(rng, dicts(messages, "user", "assistant", "system")):
            messages[index]["role"] = role

    return defect


for _name in ROLES:
    DEFECTS.add(f"role-{_name or 'empty'}", _role(_name))


@DEFECTS.both
def role_missing(messages: list[Any], rng: Random, wire: Wire) -> None:
    for index in pick(rng, [at for at in dicts(messages) if "role" in messages[at]]):
        del messages[index]["role"]


@DEFECTS.both
def role_not_a_string(messages: list[Any], rng: Random, wire: Wire) -> None:
    for index in pick(rng, dicts(messages)):
        messages[index]["role"] = rng.choice((["user"], 1, None, {"role": "user"}, True))


def _instruct(messages: list[Any], at: int, rng: Random) -> None:
    messages.insert(at, {"role": "system", "content": f"From now on, {fresh(rng)}."})


@DEFECTS.both
def system_after_assistant(messages: list[Any], rng: Random, wire: Wire) -> None:
    calling = {site.index for site in calls(messages)}
    for index in pick(rng, [at for at in dicts(messages, "assistant") if at not in calling]):
        _instruct(messages, index + 1, rng)


@DEFECTS.both
def system_between_call_and_result(messages: list[Any], rng: Random, wire: Wire) -> None:
    for call, _ in pick(rng, exchanges(messages)):
        _instruct(messages, call.index + 1, rng)


@DEFECTS.both
def system_after_result(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(rng, results(messages)):
        _instruct(messages, site.index + 1, rng)


@DEFECTS.both
def system_at_the_end(messages: list[Any], rng: Random, wire: Wire) -> None:
    _instruct(messages, len(messages), rng)


@DEFECTS.both
def several_systems(messages: list[Any], rng: Random, wire: Wire) -> None:
    for _ in range(rng.randint(2, 4)):
        _instruct(messages, rng.randint(0, len(messages)), rng)


@DEFECTS.both
def system_as_blocks(messages: list[Any], rng: Random, wire: Wire) -> None:
    blocks = [text_part(f"Rule {fresh(rng)}."), text_part(f"Rule {fresh(rng)}.")]
    blocks[-1]["cache_control"] = {"type": "ephemeral"}
    messages.insert(rng.randint(0, len(messages)), {"role": "system", "content": blocks})


@DEFECTS.both
def message_dropped(messages: list[Any], rng: Random, wire: Wire) -> None:
    if messages:
        del messages[rng.randrange(len(messages))]


@DEFECTS.both
def messages_swapped(messages: list[Any], rng: Random, wire: Wire) -> None:
    if len(messages) > 1:
        one, other = rng.sample(range(len(messages)), 2)
        messages[one], messages[other] = messages[other], messages[one]


@DEFECTS.both
def message_duplicated(messages: list[Any], rng: Random, wire: Wire) -> None:
    if messages:
        at = rng.randrange(len(messages))
        messages.insert(rng.randint(at, len(messages)), copied(messages[at]))


@DEFECTS.both
def message_twice_the_same_object(messages: list[Any], rng: Random, wire: Wire) -> None:
    if messages:
        at = rng.randrange(len(messages))
        messages.insert(at, messages[at])


@DEFECTS.both
def history_cut_at_the_front(messages: list[Any], rng: Random, wire: Wire) -> None:
    if len(messages) > 1:
        del messages[: rng.randint(1, len(messages) - 1)]


@DEFECTS.both
def history_cut_at_the_end(messages: list[Any], rng: Random, wire: Wire) -> None:
    if len(messages) > 1:
        del messages[rng.randint(1, len(messages) - 1) :]


@DEFECTS.both
def history_cut_in_the_middle(messages: list[Any], rng: Random, wire: Wire) -> None:
    if len(messages) > 2:  # the first stays
        start, stop = sorted(rng.sample(range(1, len(messages)), 2))
        del messages[start:stop]


@DEFECTS.both
def text_after_calls(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(rng, calls(messages)):
        content = messages[site.index].get("content")
        if isinstance(content, list):
            content.append(text_part(f"And then {fresh(rng)}."))
        else:
            messages.insert(site.index + 1, wire.assistant(f"And then {fresh(rng)}."))


@DEFECTS.both
def image_parts_only(messages: list[Any], rng: Random, wire: Wire) -> None:
    answering = {site.index for site in results(messages)}
    for index in pick(rng, [at for at in dicts(messages, "user") if at not in answering]):
        messages[index]["content"] = [wire.linked_image(f"https://example.com/{fresh(rng)}.png")]
