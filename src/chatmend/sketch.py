"""Structures of messages, and classes of the values in them.

The messages of an agent have few structures: the same keys, types and orders come again and again.
The sketch of a message is a tuple. It holds, for each dict in the message, the walk plan that all
dicts with its keys and types share; the short values that are part of the structure (``role``,
``type``); and for each unusual value its class: empty, blank, not encodable, or a class that a
rule's judge returns. Whether a structure is valid is not decided here: only rules decide that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chatmend.jsontext import is_encodable, is_encodable_value, is_too_deep, strings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from collections.abc import Set as AbstractSet

    Classes = dict[str, list[tuple[frozenset[str] | None, Callable[[Any], object]]]]
    """For each column, the judges of its values.

    Each judge comes with the keys of which a part must have at least one to be judged; ``None``
    means that it judges every part.
    """

TEXT, EMPTY, BLANK, UNENCODABLE = range(4)
"""The classes of a text."""
_LIST, _END, _TEXT_PART, _STRING, _NULL, _TRUE, _FALSE, _NUMBER = range(10, 18)
_LITERAL_KEYS = frozenset({
    "role", "type", "ttl", "status", "detail", "media_type", "mime_type", "mimeType", "format",
    "provider", "encoding",
})  # fmt: skip
"""Keys whose short values are part of the structure."""
_MAX_LITERAL_LENGTH = 64
"""Longer values of these keys count only by their class."""
_MAX_DEPTH = 12
_COLUMNS = {
    "id": "ids", "call_id": "ids", "tool_call_id": "ids", "tool_use_id": "ids", "item_id": "ids",
    "toolUseId": "ids", "approval_request_id": "ids",
    "name": "names", "tool_name": "names",
    "arguments": "arguments", "input": "arguments", "args": "arguments",
    "signature": "signatures", "data": "signatures", "thinking_signature": "signatures",
    "thoughtSignature": "signatures", "thought_signature": "signatures",
    "encrypted_content": "signatures", "redactedContent": "signatures",
}  # fmt: skip
"""The column of a text by its key; texts under all other keys are in column ``texts``."""
ID_KEYS = frozenset(key for key, column in _COLUMNS.items() if column == "ids")
"""The keys of column ``ids``."""
LAST_TEXT = "last_text"
"""The column that contains only the text at the end of the last message."""
COLUMNS = frozenset({*_COLUMNS.values(), "texts", "parts", LAST_TEXT})
"""The columns of values that rules can judge.

Column ``parts`` contains the message and each dict in it.
"""
_TOOL_DATA_KEYS = frozenset(
    {"arguments", "input", "args", "json", "response", "parameters", "outputs"}
)
"""Keys of data of the caller's tools; no rule judges its structure, which never repeats."""
_COMMON_PART_KEYS = frozenset({
    "annotations", "args", "arguments", "cache_control", "call_id", "content",
    "encrypted_content", "function", "functionCall", "functionResponse", "id", "input", "name",
    "output", "parts", "role", "signature", "summary", "text", "thinking",
    "thinking_blocks", "thoughtSignature", "tool_call_id", "tool_calls", "tool_use_id", "ttl",
    "type",
})  # fmt: skip
"""Keys of the messages and parts that the ``sketch`` function of a dialect recognises.

The results of Gemini's tools, which have the key ``response``, are judged there, too.
"""
_RESPONSE = "response"
"""The key of the result in Gemini's parts."""
_NUMBERS = (int, float, type(None))
_SCALARS = frozenset({*_NUMBERS, bool})
_MAX_ENTRIES = 4096
"""The maximum number of walk plans, ids and names in the cache."""
_MAX_REMEMBERED = 256
"""Texts of arguments with fewer characters are remembered."""
_MAX_LETTERS = 64
"""The maximum number of letters that a walk plan remembers."""
_MAX_FLAT_ITEMS = 100
"""Lists and objects in arguments with more items are examined the slow way."""
_TYPE_AND_TEXT, _TEXT_AND_MARKER = 2, 3
_MISSING = object()
NO_FORM = object()
"""What the ``sketch`` function of a dialect returns for a message that must not be sketched."""


@dataclass(frozen=True, slots=True)
class Group:
    """Facts about a sequence of messages with given structures."""

    word: str
    """The letters of the messages."""
    is_known: bool
    """Whether the structures of all messages are in the cache."""
    run_length: int
    """How many messages are from the assistant; in a window these come first."""
    may_span_turns: bool
    """Whether it may hold several turns.

    True if the assistant adds text after a call, or anything after another role.
    """
    has_other_roles: bool
    """Whether a message is not from the assistant."""
    has_input: bool
    """Whether there is a user message or a tool result."""
    has_user: bool
    has_turns: bool
    """Whether there is a message other than system messages."""
    counted: int
    """The rules in ``LAST`` that count content of a message, as a bit mask."""
    updates_memory: bool
    has_reasoning: bool
    id_count: int
    name_count: int
    call_positions: tuple[int, ...]
    """The positions, among the ids, of the ids of calls."""
    item_positions: tuple[int, ...]
    """The positions, among the ids, of the ids of items."""


@dataclass(slots=True)
class WindowSketch:
    """The structure of one window, with its ids and names."""

    group: Group
    ids: list[str]
    """The ids of calls, results and items, in order."""
    names: list[str]
    is_last: bool
    """Whether no window follows."""
    last_text: object = None
    """The class of the text at the end of the last message; None if it is ordinary."""

    @property
    def call_ids(self) -> list[str]:
        """The ids of the calls."""
        return [self.ids[position] for position in self.group.call_positions]

    @property
    def item_ids(self) -> list[str]:
        """The ids of the items."""
        return [self.ids[position] for position in self.group.item_positions]


class Unsketched(Exception):  # noqa: N818 - not an error: every rule checks the message instead
    """A message cannot be sketched: an object in it has another class, or is nested too deeply."""


class WalkPlan:
    """How to walk dicts that have the same keys with values of the same types."""

    __slots__ = (
        "dicts",
        "has_more",
        "ids",
        "is_flat",
        "judged",
        "letters",
        "lists",
        "literals",
        "names",
        "parts",
        "texts",
        "tool_data",
    )

    def __init__(self, value: dict[Any, Any], cache: SketchCache, *, top: bool) -> None:
        """Sort the keys of ``value``; ``top`` means that the dict is a message.

        Raises:
            Unsketched: it holds an object of another class.
        """
        classes = cache.classes
        self.literals: list[Any] = []
        self.texts: list[Any] = []
        self.ids: list[Any] = []
        self.names: list[Any] = []
        self.judged: list[tuple[Any, Callable[[Any], object] | None]] = []
        self.tool_data: list[tuple[Any, Callable[[Any], object] | None]] = []
        self.lists: list[Any] = []
        self.dicts: list[Any] = []
        columns = {"texts": self.texts, "ids": self.ids, "names": self.names}
        for key, item in value.items():
            kind = item.__class__
            column = _COLUMNS.get(key, "texts")
            if top and key == "id" and not cache.has_item_ids:
                column = "texts"
            if kind is bool or (kind is str and key in _LITERAL_KEYS):
                self.literals.append(key)
            elif kind is str and column in columns:
                columns[column].append(key)
            elif kind is str:
                self.judged.append((key, combine_judges(classes.get(column, ()))))
            elif kind is list and (top or key not in _TOOL_DATA_KEYS):
                self.lists.append(key)
            elif kind is dict and key not in _TOOL_DATA_KEYS:
                self.dicts.append(key)
            elif kind is list or kind is dict:
                judge = combine_judges(classes.get(column, ()))
                self.tool_data.append((key, judge if column != "texts" else judge_each_text(judge)))
            elif kind not in _NUMBERS:
                raise Unsketched
        self.parts = combine_judges(
            [
                (None, judge)
                for keys, judge in classes.get("parts", ())
                if not _has_none_of(keys, value)
            ]
        )
        self.has_more = bool(self.ids or self.names or self.judged or self.tool_data or self.parts)
        self.is_flat = not (self.has_more or self.lists or self.dicts or cache.texts)
        """Whether it has only literals and texts, which no rule judges."""
        has_only_dicts = top and not (self.has_more or self.lists or cache.texts)
        self.letters: dict[object, str] | None = {} if has_only_dicts else None
        """For messages with only literals, texts and flat dicts: the letters of their structures.

        The keys are the literals, and the plans of the dicts with their literals.
        """

    def find_letter(self, message: dict[Any, Any], plans: dict[object, WalkPlan]) -> str | None:
        """Return the letter of a message if all its texts are ordinary and the letter is known.

        ``plans`` are those of the dicts in messages.
        """
        if not self.letters:
            return None
        if self.dicts:
            return self.letters.get(self._key(message, plans))
        if not self._has_ordinary_texts(message):
            return None
        literals = self.literals
        if len(literals) == 1:
            return self.letters.get((message[literals[0]],))
        return self.letters.get(tuple([message[key] for key in literals]))

    def remember_letter(
        self, message: dict[Any, Any], plans: dict[object, WalkPlan], letter: str
    ) -> None:
        """Remember the letter of a message whose texts are all ordinary."""
        if self.letters is None or len(self.letters) >= _MAX_LETTERS:
            return
        key = self._key(message, plans)
        if key and all(
            item.__class__ is not str or len(item) < _MAX_LITERAL_LENGTH for item in key
        ):
            self.letters[key] = letter

    def _key(self, message: dict[Any, Any], plans: dict[object, WalkPlan]) -> tuple[Any, ...]:
        """Return the key in ``letters``; empty if a text is not ordinary or a dict is not flat."""
        if not self._has_ordinary_texts(message):
            return ()
        key: list[Any] = [message[name] for name in self.literals]
        for name in self.dicts:
            value = message[name]
            plan = plans.get((*value, *map(type, value.values())))
            if plan is None or not plan.is_flat or not plan._has_ordinary_texts(value):  # noqa: SLF001
                return ()
            key.append(plan)
            if plan.literals:
                key += [value[inner] for inner in plan.literals]
        return tuple(key)

    def _has_ordinary_texts(self, value: dict[Any, Any]) -> bool:
        for key in self.texts:
            text = value[key]
            if not text or text.isspace() or not (text.isascii() or is_encodable(text)):
                return False
        return True


class SketchCache:
    """The judges of values for one target, with the walk plans and value classes found so far."""

    __slots__ = (
        "arguments",
        "classes",
        "has_item_ids",
        "ids",
        "ignores_common_parts",
        "ignores_text_values",
        "judges",
        "message_plans",
        "names",
        "plans",
        "results",
        "signatures",
        "texts",
        "usual_arguments",
    )

    def __init__(self, classes: Classes, *, has_item_ids: bool = True) -> None:
        """Start with no plans.

        Args:
            classes: for each column, the judges that return the class of a value.
            has_item_ids: whether the ``id`` of a message is an id of column ``ids``; otherwise it
                is an ordinary text.
        """
        self.classes, self.has_item_ids = classes, has_item_ids
        self.message_plans: dict[object, WalkPlan] = {}
        self.plans: dict[object, WalkPlan] = {}
        """The walk plans of messages, and of the dicts in them."""
        self.ids: dict[str, object] = {}
        self.names: dict[str, object] = {}
        """The classes of the ids and names that occurred before."""
        self.usual_arguments: set[str] = set()
        """Short texts of arguments that are ordinary."""
        self.arguments, self.signatures = (
            combine_judges(classes.get("arguments", ())),
            combine_judges(classes.get("signatures", ())),
        )
        self.texts = combine_judges(classes.get("texts", ()))
        self.judges = {
            column: combine_judges(classes.get(column, ())) for column in ("ids", "names")
        }
        self.ignores_text_values = self.texts is None
        """Whether all texts that are not blank and can be encoded are alike to every rule."""
        self.ignores_common_parts = not any(
            keys is None or not keys.isdisjoint(_COMMON_PART_KEYS)
            for keys, _ in classes.get("parts", ())
        )
        """Whether no rule judges parts that have only common keys."""
        self.results = combine_judges(
            [(k, judge) for k, judge in classes.get("parts", ()) if k and _RESPONSE in k]
        )


class Sketch:
    """Makes the structures of messages, and collects the ids and names in ``ids`` and ``names``."""

    __slots__ = (
        "_cache",
        "_known_arguments",
        "_known_ids",
        "_known_names",
        "_plans",
        "_skips_text_parts",
        "_texts",
        "id_start",
        "ids",
        "ignores_text_values",
        "name_start",
        "names",
        "unusual",
    )

    def __init__(self, cache: SketchCache) -> None:
        """``cache`` is shared by threads and transcripts."""
        self._cache, self._plans, self._texts = cache, cache.plans, cache.texts
        self._known_ids, self._known_names = cache.ids, cache.names
        self._known_arguments = cache.usual_arguments
        self.ignores_text_values, self._skips_text_parts = (
            cache.ignores_text_values,
            cache.ignores_text_values and cache.ignores_common_parts,
        )
        self.ids: list[str] = []
        self.names: list[str] = []
        self.id_start = self.name_start = 0
        """How many ids and names belong to the messages before the current one."""
        self.unusual: list[tuple[int, object]] = []
        """The class of each unusual id and name of the current message, after its number.

        Ids and names are numbered from 1; the number of a name is negative.
        """

    def message(self, native: dict[Any, Any], plan: WalkPlan | None = None) -> tuple[object, ...]:
        """Return the structure of a message.

        Args:
            native: the message.
            plan: its walk plan, if the caller knows it.

        Raises:
            Unsketched: it is nested too deeply, or holds an object of another class.
        """
        shape: list[object] = []
        self._follow(plan or self._plan_for(native, self._cache.message_plans), native, shape, 0)
        return tuple(shape)

    def is_text(self, value: Any) -> bool:  # noqa: ANN401 - any JSON value
        """Whether a value is an ordinary text."""
        if (
            value.__class__ is not str
            or not value
            or value.isspace()
            or not self.ignores_text_values
        ):
            return False
        return value.isascii() or is_encodable(value)

    def is_id(self, value: Any) -> bool:  # noqa: ANN401
        """Whether a value is an id; adds it to ``ids``, and its class to ``unusual``."""
        if value.__class__ is not str:
            return False
        self.ids.append(value)
        value_class = self._known_ids.get(value, _MISSING)
        if value_class is _MISSING:
            value_class = self._find_class("ids", value, self._known_ids)
        if value_class:
            self.unusual.append((len(self.ids) - self.id_start, value_class))
        return True

    def _class_of_id(self, value: str) -> object:
        """Return the class of an id, None if it is ordinary. Adds it to ``ids``."""
        self.ids.append(value)
        value_class = self._known_ids.get(value, _MISSING)
        return (
            self._find_class("ids", value, self._known_ids)
            if value_class is _MISSING
            else value_class
        )

    def is_name(self, value: Any) -> bool:  # noqa: ANN401
        """Whether a value is a name; adds it to ``names``, and its class to ``unusual``."""
        if value.__class__ is not str:
            return False
        self.names.append(value)
        value_class = self._known_names.get(value, _MISSING)
        if value_class is _MISSING:
            value_class = self._find_class("names", value, self._known_names)
        if value_class:
            self.unusual.append((self.name_start - len(self.names), value_class))
        return True

    def _class_of_name(self, value: str) -> object:
        """Return the class of a name, None if it is ordinary. Adds it to ``names``."""
        self.names.append(value)
        value_class = self._known_names.get(value, _MISSING)
        return (
            self._find_class("names", value, self._known_names)
            if value_class is _MISSING
            else value_class
        )

    def is_arguments(self, value: Any) -> bool:  # noqa: ANN401
        """Whether a value is an ordinary arguments text.

        The answer for short texts is remembered: an agent sends the same calls with each request.
        """
        if value.__class__ is not str:
            return False
        is_short = len(value) < _MAX_REMEMBERED
        if is_short and value in self._known_arguments:
            return True
        if not value or value.isspace() or not is_encodable(value):
            return False
        if self._cache.arguments is not None and self._cache.arguments(value):
            return False
        if is_short:
            if len(self._known_arguments) >= _MAX_ENTRIES:
                self._known_arguments.clear()
            self._known_arguments.add(value)
        return True

    def is_signature(self, value: Any) -> bool:  # noqa: ANN401
        """Whether a value is an ordinary signature."""
        if value.__class__ is not str or not value or not value.isascii() or value.isspace():
            return False
        return self._cache.signatures is None or not self._cache.signatures(value)

    def form_of_content(self, content: Any) -> object:  # noqa: ANN401
        """Return the form of null, a text or a list of texts; False for any other content."""
        if content.__class__ is str and content:
            return "text" if self.is_text(content) else False
        if content.__class__ is not list:
            return content if content is None or content == "" else False
        is_marked = False
        for part in content:
            if part.__class__ is not dict or part.get("type") != "text":
                return False
            if len(part) != _TYPE_AND_TEXT:
                is_marked = True
                if form_of_marker(part) is None:
                    return False
            if not self.is_text(part.get("text")):
                return False
        return tuple(map(form_of_marker, content)) if is_marked else len(content)

    def form_of_list(self, content: list[Any]) -> object:
        """Return the structure of a list of parts; False if it cannot be sketched."""
        shape: list[object] = []
        try:
            self._walk_list(content, shape, 1)
        except Unsketched:
            return False
        return tuple(shape)

    def is_thinking(self, block: Any) -> bool:  # noqa: ANN401
        """Whether a value is a thinking block with an ordinary text and signature."""
        return (
            block.__class__ is dict
            and len(block) == 3  # noqa: PLR2004 - type, thinking and signature
            and block.get("type") == "thinking"
            and self.is_text(block.get("thinking"))
            and self.is_signature(block.get("signature"))
        )

    def form_of_thinking(self, blocks: Any) -> object:  # noqa: ANN401
        """Return the form of a list of ordinary thinking blocks; None for any other value."""
        if blocks.__class__ is not list or not all(map(self.is_thinking, blocks)):
            return None
        return "thinking", len(blocks)

    def is_object(self, value: Any) -> bool:  # noqa: ANN401
        """Whether a value is an ordinary object of arguments, or result of a tool."""
        return (
            value.__class__ is dict
            and self.ignores_text_values
            and not _class_of_tool_data(value, self._cache.arguments)
        )

    def is_result(self, held: dict[Any, Any]) -> bool:
        """Whether the object of a function response, with its name, is ordinary."""
        judge = self._cache.results
        return self.is_object(held.get(_RESPONSE)) and not (judge and judge(held))

    def _walk(self, value: dict[Any, Any], shape: list[object], depth: int) -> None:
        plan = self._plans.get((*value, *map(type, value.values())))
        if plan is None:
            if depth > _MAX_DEPTH:
                raise Unsketched
            plan = self._plan_for(value, self._plans)
        self._follow(plan, value, shape, depth)

    def _follow(
        self, plan: WalkPlan, value: dict[Any, Any], shape: list[object], depth: int
    ) -> None:
        push = shape.append
        push(plan)
        for key in plan.literals:
            item = value[key]
            push(
                item
                if item is True or item is False or len(item) < _MAX_LITERAL_LENGTH
                else _class_of_text(item)
            )
        for key in plan.texts:
            item = value[key]
            if not item or not item.isascii() or item.isspace() or self._texts is not None:
                self._push_text_class(key, item, self._texts, shape)
        if plan.has_more:
            self._push_judged(plan, value, shape)
        for key in plan.lists:
            self._walk_list(value[key], shape, depth + 1)
        for key in plan.dicts:
            self._walk(value[key], shape, depth + 1)

    def _push_judged(self, plan: WalkPlan, value: dict[Any, Any], shape: list[object]) -> None:
        for keys, class_of in ((plan.ids, self._class_of_id), (plan.names, self._class_of_name)):
            shape += [(key, found) for key in keys if (found := class_of(value[key]))]
        for key, judge in plan.judged:
            self._push_text_class(key, value[key], judge, shape)
        for key, judge in plan.tool_data:
            if value_class := _class_of_tool_data(value[key], judge):
                shape.append((key, value_class))
        if plan.parts is not None:
            shape.append(plan.parts(value))

    def _walk_list(self, items: list[Any], shape: list[object], depth: int) -> None:
        if depth > _MAX_DEPTH:
            raise Unsketched
        push = shape.append
        push(_LIST)
        for item in items:
            kind = item.__class__
            if kind is dict:
                if (
                    self._skips_text_parts
                    and len(item) == _TYPE_AND_TEXT
                    and item.get("type") == "text"
                    and self.is_text(item.get("text"))
                ):
                    push(_TEXT_PART)
                    continue
                self._walk(item, shape, depth + 1)
            elif kind is str:
                push(_STRING)
                self._push_text_class(None, item, self._texts, shape)
            elif kind is list:
                self._walk_list(item, shape, depth + 1)
            else:
                push(_class_of_scalar(item))
        push(_END)

    def _plan_for(self, value: dict[Any, Any], plans: dict[object, WalkPlan]) -> WalkPlan:
        key = (*value, *map(type, value.values()))
        if (known := plans.get(key)) is not None:
            return known
        plan = WalkPlan(value, self._cache, top=plans is self._cache.message_plans)
        if len(plans) >= _MAX_ENTRIES:
            raise Unsketched
        return plans.setdefault(key, plan)

    def _push_text_class(
        self, key: object, text: str, judge: Callable[[Any], object] | None, shape: list[object]
    ) -> None:
        """Add the class of a text to the structure, unless it is the ordinary class."""
        text_class, judged = _class_of_text(text), None if judge is None else judge(text)
        if text_class or judged:
            shape.append((key, text_class, judged))

    def _find_class(self, column: str, text: str, known: dict[str, object]) -> object:
        """Return the class of an id or a name, None if it is ordinary, and cache it."""
        judge = self._cache.judges[column]
        text_class, judged = _class_of_text(text), None if judge is None else judge(text)
        if len(known) >= _MAX_ENTRIES:
            known.clear()
        found = known[text] = (text_class, judged) if text_class or judged else None
        return found


def form_of_marker(part: dict[Any, Any]) -> object:
    """Return the type and lifetime of the cache marker of a text part.

    None if it has no marker, or the marker or the part has other keys.
    """
    marker = part.get("cache_control")
    if len(part) != _TEXT_AND_MARKER or marker.__class__ is not dict:
        return None
    kind, lifetime = marker.get("type"), marker.get("ttl", "")
    if kind.__class__ is not str or lifetime.__class__ is not str:
        return None
    if len(marker) != 1 + ("ttl" in marker) or len(kind) + len(lifetime) > _MAX_LITERAL_LENGTH:
        return None
    return kind, lifetime if "ttl" in marker else None


def combine_judges(
    judges: Any,  # noqa: ANN401 - pairs of keys and judges
) -> Callable[[Any], object] | None:
    """Combine several judges into one; None if there are none."""
    own = [judge for _, judge in judges]
    if len(own) < 2:  # noqa: PLR2004
        return own[0] if own else None

    def judge_all(value: Any) -> object:  # noqa: ANN401 - a message may hold any value
        combined: tuple[object, ...] | None = None
        for number, judge in enumerate(own):
            if value_class := judge(value):
                combined = (combined, number, value_class)
        return combined

    return judge_all


def judge_each_text(judge: Callable[[Any], object] | None) -> Callable[[Any], object] | None:
    """Make a judge of nested values that applies a judge of texts to each text in them."""
    return (
        None
        if judge is None
        else lambda value: tuple(
            [value_class for text in strings(value) if (value_class := judge(text))]
        )
    )


def _has_none_of(keys: frozenset[str] | None, value: dict[Any, Any]) -> bool:
    return keys is not None and keys.isdisjoint(value)


def _class_of_tool_data(
    value: Any,  # noqa: ANN401
    judge: Callable[[Any], object] | None,
) -> object:
    """Return the class of tool data; None if it is ordinary, as most objects with keys are."""
    judged = None if judge is None else judge(value)
    if value.__class__ is dict and value and not judged:
        for key, item in value.items():
            if key.__class__ is not str or not (key.isascii() or is_encodable(key)):
                break
            if item.__class__ is str:
                if not (item.isascii() or is_encodable(item)):
                    break
            elif item.__class__ not in _SCALARS and not _is_plain_container(item):
                break
        else:
            return None
    facts = (value.__class__, not value, is_encodable_value(value), is_too_deep(value))
    return None if facts == (dict, False, True, False) and not judged else (facts, judged)


def _is_plain_container(value: Any) -> bool:  # noqa: ANN401
    """Whether a value is a short list or object of numbers and texts that can be encoded."""
    is_object = value.__class__ is dict
    if not (is_object or value.__class__ is list) or len(value) > _MAX_FLAT_ITEMS:
        return False
    return all(
        (item.isascii() or is_encodable(item))
        if item.__class__ is str
        else item.__class__ in _SCALARS
        for item in ((*value, *value.values()) if is_object else value)
    )


def _class_of_text(text: str) -> int:
    if text.isascii():
        return TEXT if text and not text.isspace() else BLANK if text else EMPTY
    return (BLANK if text.isspace() else TEXT) if is_encodable(text) else UNENCODABLE


def _class_of_scalar(item: object) -> int:
    if item is None:
        return _NULL
    if item is True or item is False:
        return _TRUE if item else _FALSE
    if item.__class__ is int or item.__class__ is float:
        return _NUMBER
    raise Unsketched


def equality_pattern(values: Sequence[str], *known: AbstractSet[str]) -> tuple[int, ...]:
    """Describe which values are equal, and which of the given sets contain each value.

    Each value is represented by the position of its first occurrence.
    """
    if not values:
        return ()
    first = (
        tuple(map(dict[str, int]().setdefault, values, range(len(values))))
        if len(values) > 1
        else (0,)
    )
    for known_set in known:
        if known_set and not known_set.isdisjoint(values):
            return tuple(
                [
                    -1 - at - (_membership(value, known) << 40)
                    for value, at in zip(values, first, strict=True)
                ]
            )
    return first


def _membership(value: str, known: Sequence[AbstractSet[str]]) -> int:
    """Return the sets that contain a value, as a bit mask."""
    return sum([1 << number for number, known_set in enumerate(known) if value in known_set])
