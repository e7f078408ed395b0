"""Call ids that are missing, shared, illegal, too long, or look like a repairer's own."""

from collections.abc import Sequence
from random import Random
from typing import Any

from ..nested import copied
from ..sites import calls, exchanges, id_key, parallel, pick, plant, rename, results
from ..wires import Wire
from .defect import Defects

DEFECTS = Defects()

NOT_STRINGS = (7, 0, None, True, 1.5, ["call_a"], {"id": "call_a"})
ILLEGAL = (
    "functions.bash:0",
    "call_abc|fc_def",
    "call a b",
    " call_padded ",
    "appel_é_ü",
    "呼び出し_1",
    "call/1",
    "call\n1",
    "🛠",
    "call_x__thought__Q29uc2lkZXI=",
    "::",
    "-",
    "_",
)
ILLEGAL_CHARACTERS = ".: /|,;!?@#$%&*+=<>~"
LIKE_MINTED = ("a", "a_2", "a", "a_2_2", "a_3", "a_2", "call_2", "call")


@DEFECTS.both
def call_without_id(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(rng, [site for site in calls(messages) if "id" in site.native]):
        del site.native["id"]


@DEFECTS.both
def call_with_empty_id(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(rng, [site for site in calls(messages) if site.native.get("id") != ""]):
        site.native["id"] = ""


@DEFECTS.both
def call_id_not_a_string(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(
        rng, [site for site in calls(messages) if isinstance(site.native.get("id"), str)]
    ):
        site.native["id"] = copied(rng.choice(NOT_STRINGS))


@DEFECTS.both
def exchange_id_not_a_string(messages: list[Any], rng: Random, wire: Wire) -> None:
    for exchange in pick(rng, exchanges(messages)):
        rename(exchange, rng.choice(NOT_STRINGS))


@DEFECTS.both
def exchange_with_empty_id(messages: list[Any], rng: Random, wire: Wire) -> None:
    for exchange in pick(rng, [pair for pair in exchanges(messages) if pair[0].native["id"] != ""]):
        rename(exchange, "")


@DEFECTS.both
def result_without_id(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(
        rng, [site for site in results(messages) if id_key(site.native) in site.native]
    ):
        del site.native[id_key(site.native)]


@DEFECTS.both
def result_id_not_a_string(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in pick(
        rng,
        [
            site
            for site in results(messages)
            if isinstance(site.native.get(id_key(site.native)), str)
        ],
    ):
        site.native[id_key(site.native)] = copied(rng.choice(NOT_STRINGS))


@DEFECTS.both
def result_id_padded(messages: list[Any], rng: Random, wire: Wire) -> None:
    for _, result in pick(rng, exchanges(messages)):
        result.native[id_key(result.native)] += " "


@DEFECTS.both
def same_id_in_one_message(messages: list[Any], rng: Random, wire: Wire) -> None:
    for group in pick(rng, parallel(messages)):
        chosen = {id(site.holder) for site in group}
        for exchange in exchanges(messages):
            if id(exchange[0].holder) in chosen:
                rename(exchange, "call_same")


@DEFECTS.both
def same_id_in_two_windows(messages: list[Any], rng: Random, wire: Wire) -> None:
    plant(messages, rng, wire)
    pairs = exchanges(messages)
    first = rng.choice(pairs)[0]
    rename(pairs[-1], first.native["id"] if first.index < pairs[-1][0].index else "call_same")


@DEFECTS.both
def call_0_everywhere(messages: list[Any], rng: Random, wire: Wire) -> None:
    for site in [*calls(messages), *results(messages)]:
        site.native[id_key(site.native)] = "call_0"


@DEFECTS.both
def id_with_illegal_characters(messages: list[Any], rng: Random, wire: Wire) -> None:
    for exchange in pick(rng, exchanges(messages)):
        rename(exchange, rng.choice(ILLEGAL))


@DEFECTS.both
def ids_illegal_everywhere(messages: list[Any], rng: Random, wire: Wire) -> None:
    for number, (call, result) in enumerate(exchanges(messages)):
        name = call.native.get("name") or "read_file"
        rename((call, result), f"functions.{name}:{number}")


@DEFECTS.both
def id_too_long(messages: list[Any], rng: Random, wire: Wire) -> None:
    for exchange in pick(rng, exchanges(messages)):
        rename(exchange, "call_" + "Ab0" * rng.randint(12, 98) + "z")


@DEFECTS.both
def ids_too_long_with_one_beginning(messages: list[Any], rng: Random, wire: Wire) -> None:
    for number, exchange in enumerate(exchanges(messages)):
        rename(exchange, "call_" + "a" * 70 + str(number))


@DEFECTS.both
def ids_of_one_stem(messages: list[Any], rng: Random, wire: Wire) -> None:
    plant(messages, rng, wire)
    _rename_all(
        messages, [f"a{one}{two}b" for one in ILLEGAL_CHARACTERS for two in ILLEGAL_CHARACTERS], rng
    )


@DEFECTS.both
def ids_like_minted(messages: list[Any], rng: Random, wire: Wire) -> None:
    plant(messages, rng, wire)
    _rename_all(messages, LIKE_MINTED, rng)


def _rename_all(messages: list[Any], names: Sequence[str], rng: Random) -> None:
    """Give the exchanges these ids, in the given order but from a random one on."""
    start = rng.randrange(len(names))
    for number, exchange in enumerate(exchanges(messages)):
        rename(exchange, names[(start + number) % len(names)])
