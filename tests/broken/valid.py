"""Valid agent conversations: a plan, drawn at random or by Hypothesis, and its form in each dialect.

Every plan renders to a valid conversation. The last turn has no answer yet, so that it ends with what the user said or
with the results of the last calls: a request that could be sent.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final, Literal, get_args

from .tokens import Tokens
from .wires import TOOLS, WIRES, Dialect, Native, Wire, text_part

Shape = Literal["string", "parts", "image", "document"]
Thinking = Literal["none", "signed", "redacted"]
System = Literal["none", "string", "parts"]
Ids = Literal["call", "toolu", "short"]

ID_PREFIXES: Final[dict[Ids, tuple[str, int]]] = {
    "call": ("call_", 24),
    "toolu": ("toolu_01", 22),
    "short": ("", 9),
}
"""Per style of id, its prefix and how many characters follow."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """An assistant message with calls, and their results."""

    calls: int = 1
    """1 to 4, answered in order."""
    text: bool = False
    """Whether the assistant says something before it calls."""
    results: Shape = "string"
    """``image`` is only rendered where results may hold images (Anthropic)."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What a user says, the exchanges that follow, and (except in the last turn) the answer."""

    user: Shape = "string"
    exchanges: tuple[Exchange, ...] = ()
    thinking: Thinking = "none"
    """Holds for every assistant message of the turn: providers want it so while thinking is enabled."""
    answer: Shape = "string"
    """``string`` or ``parts``."""

    def size(self) -> int:
        """How many messages the turn has in the dialect that needs most of them, the answer included."""
        return 2 + sum(1 + exchange.calls for exchange in self.exchanges)


@dataclass(frozen=True, slots=True)
class Plan:
    """The shape of a whole conversation."""

    turns: tuple[Turn, ...]
    system: System = "none"
    ids: Ids = "call"
    extras: bool = False
    """Whether cache markers and keys that only frameworks know are put in; in openai_chat thinking is one of these."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """What a request consists of."""

    messages: list[Any]
    system: Any
    """None, a string or a list of text parts; always None in openai_chat, where it is the first message."""
    tools: list[Native]


def plan(rng: Random) -> Plan:
    """Draw a conversation of 3 to 60 messages, short ones more often."""
    budget = int(3 + 56 * rng.random() ** 2.5)
    turns: list[Turn] = []
    used = 0
    while used < budget:
        turn = _turn(rng, budget - used)
        used += turn.size()
        turns.append(turn)
    if len(turns) == 1 and not turns[0].exchanges:
        turns.append(Turn())
    return Plan(
        turns=tuple(turns),
        system=rng.choice(get_args(System)),
        ids=rng.choice(get_args(Ids)),
        extras=rng.random() < 0.5,
    )


def _turn(rng: Random, budget: int) -> Turn:
    exchanges: list[Exchange] = []
    left = budget - 2
    while left >= 2 and rng.random() < 0.65:
        calls = min(rng.choice((1, 1, 1, 2, 2, 3, 4)), left - 1)
        exchanges.append(
            Exchange(calls, rng.random() < 0.5, rng.choice(("string", "string", "parts", "image")))
        )
        left -= 1 + calls
    return Turn(
        user=rng.choice(("string", "string", "string", "parts", "image", "document")),
        exchanges=tuple(exchanges),
        thinking=rng.choice(("none", "none", "signed", "signed", "redacted")),
        answer=rng.choice(("string", "string", "parts")),
    )


def conversation(seed: int, dialect: Dialect, *, extras: bool | None = None) -> Conversation:
    """The valid conversation with this seed. ``extras=False`` has official keys only; None leaves it to the seed."""
    drawn = plan(Random(f"{dialect}:{seed}"))
    if extras is not None:
        drawn = replace(drawn, extras=extras)
    return render(drawn, dialect)


def valid(seed: int, dialect: Dialect, *, extras: bool | None = None) -> list[Any]:
    """The messages of ``conversation(seed, dialect)``."""
    return conversation(seed, dialect, extras=extras).messages


def render(drawn: Plan, dialect: Dialect) -> Conversation:
    """Write the plan down in a dialect. The same plan always gives the same conversation."""
    return _Writer(drawn, WIRES[dialect]).write()


class _Writer:
    """Writes one plan, counting tokens as it goes."""

    def __init__(self, drawn: Plan, wire: Wire) -> None:
        self._plan = drawn
        self._wire = wire
        self._tokens = Tokens()

    def write(self) -> Conversation:
        system = self._system()
        messages: list[Any] = []
        for left, turn in zip(
            range(len(self._plan.turns) - 1, -1, -1), self._plan.turns, strict=True
        ):
            messages += self._turn(turn, answered=left > 0)
        if self._wire.dialect == "openai_chat" and system is not None:
            messages.insert(0, {"role": "system", "content": system})
            system = None
        if self._plan.extras:
            self._add_extras(messages)
        return Conversation(messages, system, [self._wire.offer(tool) for tool in TOOLS])

    def _turn(self, turn: Turn, *, answered: bool) -> list[Native]:
        messages: list[Native] = [{"role": "user", "content": self._user(turn.user)}]
        for exchange in turn.exchanges:
            messages += self._exchange(exchange, turn.thinking)
        if answered:
            said = self._content("Done: {}.", turn.answer)
            messages.append(self._wire.assistant(said, (), self._thinking(turn.thinking)))
        return messages

    def _exchange(self, exchange: Exchange, thinking: Thinking) -> list[Native]:
        thought = self._thinking(thinking)
        said = self._content("Let me look at {}.", "string") if exchange.text else None
        calls = [self._call() for _ in range(exchange.calls)]
        answers = [(call["id"], self._result(exchange.results)) for call in calls]
        return [self._wire.assistant(said, calls, thought), *self._wire.results(answers)]

    def _system(self) -> Any:
        if self._plan.system == "none":
            return None
        return self._content("You are a careful agent ({}).", self._plan.system)

    def _user(self, shape: Shape) -> Any:
        content = self._content("Please see to {}.", shape)
        if shape == "image":
            content.append(self._image())
        elif shape == "document":
            content.append(self._wire.document(self._tokens.token()))
        return content

    def _image(self) -> Native:
        number = self._tokens.number()
        if number % 3:
            return self._wire.image(self._tokens.png())
        return self._wire.linked_image(f"https://example.com/{self._tokens.token()}.png")

    def _result(self, shape: Shape) -> Any:
        content = self._content('{{"ok": true, "out": "{}"}}', shape)
        if shape == "image" and self._wire.dialect == "anthropic_messages":
            content.append(self._wire.image(self._tokens.png()))
        return content

    def _content(self, sentence: str, shape: Shape) -> Any:
        text = sentence.format(self._tokens.token())
        return text if shape == "string" else [text_part(text)]

    def _call(self) -> Native:
        number = self._tokens.number()
        tool = TOOLS[number % len(TOOLS)]
        prefix, length = ID_PREFIXES[self._plan.ids]
        call_id = prefix + _letters(number)[:length]
        return self._wire.call(
            call_id, tool.name, {name: f"{name} {self._tokens.token()}" for name in tool.arguments}
        )

    def _thinking(self, thinking: Thinking) -> Sequence[Native]:
        if thinking == "none" or (self._wire.dialect == "openai_chat" and not self._plan.extras):
            return ()
        signature = _letters(self._tokens.number())
        if thinking == "redacted":
            return ({"type": "redacted_thinking", "data": signature},)
        return (
            {
                "type": "thinking",
                "thinking": f"Consider {self._tokens.token()}.",
                "signature": signature,
            },
        )

    def _add_extras(self, messages: list[Any]) -> None:
        for message in messages:
            if message["role"] == "assistant" and self._wire.dialect == "openai_chat":
                message["x_request_id"] = f"req_{self._tokens.number()}"
            content = message["content"]
            if message is messages[-1] and isinstance(content, list):
                content[-1]["cache_control"] = {"type": "ephemeral"}


def _letters(number: int) -> str:
    """64 letters and digits that encode ``number`` and look random."""
    return hashlib.sha256(str(number).encode()).hexdigest()
