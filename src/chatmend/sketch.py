"""What messages look like: their structure, and the classes of the values in it.

Agents say much, in few structures: the same keys, types and orders come again and again. A sketch makes of a message a
tuple: for each dict in it the plan that dicts of its keys and types share, the short values that are structure
themselves (``role``, ``type``), and for any unusual value its class: empty, blank, not encodable, or what a rule
declares. Nothing here says what is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chatmend.jsontext import is_sound, is_sound_value, is_too_deep, strings

if TYPE_CHECKING:
    from collections.abc import Callable

    Classes = dict[str, list[tuple[frozenset[str] | None, Callable[[Any], object]]]]
    """For a column the judges of its values, each with the keys of which a part has one that it is to judge."""

TEXT, EMPTY, BLANK, UNSOUND = range(4)
"""The classes of a text."""
_LIST, _END, _WORDS, _WORD, _NULL, _TRUE, _FALSE, _NUMBER = range(10, 18)
_SPELLED = frozenset({
    "role", "type", "ttl", "status", "detail", "media_type", "mime_type", "mimeType", "format", "provider", "encoding",
})  # fmt: skip
"""Keys whose short values are structure."""
_LONGEST = 64
"""How long such a value may be."""
_DEEPEST = 12
_COLUMNS = {
    "id": "ids", "call_id": "ids", "tool_call_id": "ids", "tool_use_id": "ids", "item_id": "ids",
    "name": "names",
    "arguments": "arguments", "input": "arguments", "args": "arguments",
    "signature": "proofs", "data": "proofs", "thinking_signature": "proofs", "thoughtSignature": "proofs",
    "thought_signature": "proofs", "encrypted_content": "proofs",
}  # fmt: skip
"""In which column a text stands, by its key; any other stands in ``texts``."""
COLUMNS = frozenset({*_COLUMNS.values(), "texts", "parts"})
"""The columns of values that rules may judge; ``parts`` are the message and the dicts in it, each as a whole."""
_FREE = frozenset({"arguments", "input", "args", "json", "response", "parameters", "outputs"})
"""Keys that hold values of the caller's tools, whose structure never repeats and is judged by no rule."""
_USUAL = frozenset({
    "id", "type", "function", "name", "arguments", "text", "input", "tool_use_id", "content", "thinking", "signature",
    "functionCall", "functionResponse",
})  # fmt: skip
"""Keys of the parts that dialects know by their forms."""
_NUMBERS = (int, float, type(None))
_MOST = 4096
"""How many plans, ids and names are remembered."""
_NEW = object()
_FEW = 16
"""Up to how many values it is quicker to look for each among all."""


@dataclass(frozen=True, slots=True)
class Group:
    """What holds for messages of some structures in a row."""

    word: str
    """The letters of the messages."""
    is_known: bool
    """Whether all of them have structures that are remembered."""
    run: int
    """How many messages of the model's there are, which all stand in front."""
    goes_on: bool
    """Whether words stand behind a call in its run."""
    followed: bool
    """Whether there is one that is not the model's."""
    heard: bool
    """Whether there is a user's or a result."""
    has_user: bool
    has_turns: bool
    """Whether there is one that is no system message."""
    is_signed: bool
    is_laden: bool
    is_remembered: bool
    reasons: bool
    ids: int
    names: int
    calls: tuple[int, ...]
    """The places of the ids of the calls among the ids."""
    entries: tuple[int, ...]
    """The places of the ids of entries."""


@dataclass(slots=True)
class Seen:
    """What one look at a window has seen."""

    group: Group
    ids: list[str]
    """Of calls, results and entries, in order."""
    names: list[str]
    last: bool
    """Nothing comes after this window."""

    @property
    def calls(self) -> list[str]:
        """The ids of the calls."""
        return [self.ids[place] for place in self.group.calls]

    @property
    def entries(self) -> list[str]:
        """The ids of the entries."""
        return [self.ids[place] for place in self.group.entries]


class Unsketched(Exception):  # noqa: N818 - no error: the rules look for themselves
    """A message holds what no sketch says: an object of a class of its own, or something nested deep."""


class Plan:
    """How dicts of the same keys, and of the same types under them, are looked through."""

    __slots__ = ("dicts", "free", "has_more", "ids", "judged", "lists", "names", "parts", "spelled", "texts")

    def __init__(self, shown: dict[Any, Any], classes: Classes, *, top: bool) -> None:
        """``top``: the dict is a message.

        Raises:
            Unsketched: it holds an object of a class of its own.
        """
        self.spelled: list[Any] = []
        self.texts: list[Any] = []
        self.ids: list[Any] = []
        self.names: list[Any] = []
        self.judged: list[tuple[Any, Callable[[Any], object] | None]] = []
        self.free: list[tuple[Any, Callable[[Any], object] | None]] = []
        self.lists: list[Any] = []
        self.dicts: list[Any] = []
        places = {"texts": self.texts, "ids": self.ids, "names": self.names}
        for key, value in shown.items():
            kind = value.__class__
            column = _COLUMNS.get(key, "texts")
            if kind is bool or (kind is str and key in _SPELLED):
                self.spelled.append(key)
            elif kind is str and column in places:
                places[column].append(key)
            elif kind is str:
                self.judged.append((key, together(classes.get(column, ()))))
            elif kind is list and (top or key not in _FREE):
                self.lists.append(key)
            elif kind is dict and key not in _FREE:
                self.dicts.append(key)
            elif kind is list or kind is dict:
                judge = together(classes.get(column, ()))
                self.free.append((key, judge if column != "texts" else each_text(judge)))
            elif kind not in _NUMBERS:
                raise Unsketched
        self.parts = together([(None, judge) for keys, judge in classes.get("parts", ()) if not _apart(keys, shown)])
        self.has_more = bool(self.judged or self.free or self.lists or self.dicts or self.parts)


class Values:
    """What is known of the values of messages under the rules of a target: who judges them, and what was learnt."""

    __slots__ = (
        "arguments",
        "classes",
        "ids",
        "judges",
        "names",
        "plans",
        "proofs",
        "takes_forms",
        "takes_words",
        "texts",
    )

    def __init__(self, classes: Classes) -> None:
        """``classes``: what says a value's class."""
        self.classes = classes
        self.plans: dict[object, Plan] = {}
        self.ids: dict[str, object] = {}
        self.names: dict[str, object] = {}
        """The classes of ids and names that came already."""
        self.arguments, self.proofs = together(classes.get("arguments", ())), together(classes.get("proofs", ()))
        self.texts = together(classes.get("texts", ()))
        self.judges = {column: together(classes.get(column, ())) for column in ("ids", "names")}
        self.takes_words = self.texts is None
        """Whether a text that is neither empty nor blank, and can be encoded, is like any other."""
        self.takes_forms = not any(keys is None or not keys.isdisjoint(_USUAL) for keys, _ in classes.get("parts", ()))
        """Whether parts of the usual forms, whose keys are few, are all the same to every rule."""


class Sketch:
    """The structures of messages; ``ids`` and ``names`` gather what stands in those that are walked."""

    __slots__ = (
        "_known_ids",
        "_known_names",
        "_plans",
        "_takes_parts",
        "_texts",
        "_values",
        "ids",
        "names",
        "takes_words",
    )

    def __init__(self, values: Values) -> None:
        """``values``: what was learnt of them, by threads and transcripts alike."""
        self._values, self._plans, self._texts = values, values.plans, values.texts
        self._known_ids, self._known_names = values.ids, values.names
        self.takes_words, self._takes_parts = values.takes_words, values.takes_words and values.takes_forms
        self.ids: list[str] = []
        self.names: list[str] = []

    def message(self, native: dict[Any, Any]) -> tuple[object, ...]:
        """The structure of a message.

        Raises:
            Unsketched: it is nested deep, or holds an object of a class of its own.
        """
        shape: list[object] = []
        self._walk(native, shape, 0)
        return tuple(shape)

    def is_text(self, value: Any) -> bool:  # noqa: ANN401 - anything may stand in a message, here and below
        """Whether it is a text like most."""
        if value.__class__ is not str or not value or value.isspace() or not self.takes_words:
            return False
        return value.isascii() or is_sound(value)

    def is_id(self, value: Any) -> bool:  # noqa: ANN401
        """Whether it is an id like most; it is gathered."""
        return self.class_of_id(value) is None

    def class_of_id(self, value: Any) -> object:  # noqa: ANN401
        """The class of an id, which is gathered; None for one like most, False for what is no text."""
        if value.__class__ is not str:
            return False
        self.ids.append(value)
        said = self._known_ids.get(value, _NEW)
        return self._learn("ids", value, self._known_ids) if said is _NEW else said

    def is_name(self, value: Any) -> bool:  # noqa: ANN401
        """Whether it is a name like most; it is gathered."""
        return self.class_of_name(value) is None

    def class_of_name(self, value: Any) -> object:  # noqa: ANN401
        """The class of a name, which is gathered; None for one like most, False for what is no text."""
        if value.__class__ is not str:
            return False
        self.names.append(value)
        said = self._known_names.get(value, _NEW)
        return self._learn("names", value, self._known_names) if said is _NEW else said

    def is_arguments(self, value: Any) -> bool:  # noqa: ANN401
        """Whether it is the text of arguments like most."""
        if value.__class__ is not str or not value or not value.isascii() or value.isspace():
            return False
        return self._values.arguments is None or not self._values.arguments(value)

    def is_proof(self, value: Any) -> bool:  # noqa: ANN401
        """Whether it is a signature like most."""
        if value.__class__ is not str or not value or not value.isascii() or value.isspace():
            return False
        return self._values.proofs is None or not self._values.proofs(value)

    def is_object(self, value: Any) -> bool:  # noqa: ANN401
        """Whether it is an object of arguments, or what a tool gave back, like most."""
        return value.__class__ is dict and self.takes_words and not _free(value, self._values.arguments)

    def _walk(self, value: dict[Any, Any], shape: list[object], depth: int) -> None:
        plan = self._plans.get((*value, *map(type, value.values()))) or self._plan(value, depth)
        push = shape.append
        push(plan)
        for key in plan.spelled:
            item = value[key]
            push(item if item is True or item is False or len(item) < _LONGEST else _class_of_text(item))
        for key in plan.texts:
            item = value[key]
            if not item or not item.isascii() or item.isspace() or self._texts is not None:
                self._unusual(key, item, self._texts, shape)
        for key in plan.ids:
            if said := self.class_of_id(value[key]):
                push((key, said))
        for key in plan.names:
            if said := self.class_of_name(value[key]):
                push((key, said))
        if plan.has_more:
            self._walk_deeper(plan, value, shape, depth)

    def _walk_deeper(self, plan: Plan, value: dict[Any, Any], shape: list[object], depth: int) -> None:
        for key, judge in plan.judged:
            self._unusual(key, value[key], judge, shape)
        for key, judge in plan.free:
            if said := _free(value[key], judge):
                shape.append((key, said))
        if plan.parts is not None:
            shape.append(plan.parts(value))
        for key in plan.lists:
            self._list(value[key], shape, depth + 1)
        for key in plan.dicts:
            self._walk(value[key], shape, depth + 1)

    def _list(self, items: list[Any], shape: list[object], depth: int) -> None:
        if depth > _DEEPEST:
            raise Unsketched
        push = shape.append
        push(_LIST)
        for item in items:
            kind = item.__class__
            if kind is dict:
                if len(item) == 2 and item.get("type") == "text" and self._takes_parts:  # noqa: PLR2004
                    text = item.get("text")
                    if text.__class__ is str and text and text.isascii() and not text.isspace():
                        push(_WORDS)
                        continue
                self._walk(item, shape, depth + 1)
            elif kind is str:
                push(_WORD)
                self._unusual(None, item, self._texts, shape)
            elif kind is list:
                self._list(item, shape, depth + 1)
            else:
                push(_scalar(item))
        push(_END)

    def _plan(self, value: dict[Any, Any], depth: int) -> Plan:
        plan = Plan(value, self._values.classes, top=not depth)
        if depth > _DEEPEST or len(self._plans) >= _MOST:
            raise Unsketched
        return self._plans.setdefault((*value, *map(type, value.values())), plan)

    def _unusual(self, key: object, text: str, judge: Callable[[Any], object] | None, shape: list[object]) -> None:
        """Note the class of a text, where it is not that of most."""
        own, said = _class_of_text(text), None if judge is None else judge(text)
        if own or said:
            shape.append((key, own, said))

    def _learn(self, column: str, text: str, known: dict[str, object]) -> object:
        """The class of an id or a name: None where it is that of most."""
        judge = self._values.judges[column]
        own, said = _class_of_text(text), None if judge is None else judge(text)
        if len(known) >= _MOST:
            known.clear()
        found = known[text] = (own, said) if own or said else None
        return found


def together(judges: Any) -> Callable[[Any], object] | None:  # noqa: ANN401 - pairs of keys and judges
    """One judge for several: None for none of them."""
    own = [judge for _, judge in judges]
    if len(own) < 2:  # noqa: PLR2004
        return own[0] if own else None

    def judge_all(value: Any) -> object:  # noqa: ANN401 - anything may stand in a message
        said: tuple[object, ...] | None = None
        for number, judge in enumerate(own):
            if one := judge(value):
                said = (said, number, one)
        return said

    return judge_all


def each_text(judge: Callable[[Any], object] | None) -> Callable[[Any], object] | None:
    """A judge of texts for a nested value: it judges every text in it."""
    return None if judge is None else lambda value: tuple([said for text in strings(value) if (said := judge(text))])


def _apart(keys: frozenset[str] | None, shown: dict[Any, Any]) -> bool:
    return keys is not None and keys.isdisjoint(shown)


def _free(value: Any, judge: Callable[[Any], object] | None) -> object:  # noqa: ANN401
    """The class of a value whose structure nobody judges: None for that of most, an object with something in it."""
    said = None if judge is None else judge(value)
    if value.__class__ is dict and value and not said:
        for key, item in value.items():
            if item.__class__ is str and item.isascii() and key.__class__ is str and key.isascii():
                continue
            break
        else:
            return None
    facts = (value.__class__, not value, is_sound_value(value), is_too_deep(value))
    return None if facts == (dict, False, True, False) and not said else (facts, said)


def _class_of_text(text: str) -> int:
    if text.isascii():
        return TEXT if text and not text.isspace() else BLANK if text else EMPTY
    return (BLANK if text.isspace() else TEXT) if is_sound(text) else UNSOUND


def _scalar(item: object) -> int:
    if item is None:
        return _NULL
    if item is True or item is False:
        return _TRUE if item else _FALSE
    if item.__class__ is int or item.__class__ is float:
        return _NUMBER
    raise Unsketched


def pattern(values: list[str], *known: set[str]) -> tuple[int, ...]:
    """Which of some values are equal, and in which sets each is: by their first places."""
    for held in known:
        if held and not held.isdisjoint(values):
            break
    else:
        if len(values) <= _FEW:
            return tuple(map(values.index, values))
    places: dict[str, int] = {}
    out = []
    for value in values:
        held_in = sum([1 << number for number, held in enumerate(known) if value in held])
        out.append(-1 - places.setdefault(value, len(places)) - (held_in << 40))
    return tuple(out)
