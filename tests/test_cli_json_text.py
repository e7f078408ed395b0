"""Text in which some messages change: all others keep their bytes, the new ones are written as the old ones were."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chatmend.cli.json_text import splice

NEW = {"role": "user", "content": "é", "more": {"a": [1, 2]}}

texts = st.text('aé"\\\n\U0001f600{}[],: ', max_size=6)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
messages = st.dictionaries(st.sampled_from(["role", "content", "name", "id"]), values, min_size=1)
styles = st.fixed_dictionaries(
    {
        "indent": st.sampled_from([None, 1, 2, 4, "\t"]),
        "ensure_ascii": st.booleans(),
        "separators": st.sampled_from([(",", ":"), (", ", ": "), (",", ": "), (" ,  ", " : ")]),
    }
)


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        " [\n]\n",
        "{}",
        '{"messages":[]}',
        '[ {"a" :1.10} , 1e2 ]',
        '[{"a":1},{"b":2}, {"c":3},1 , 1,1]',
        '\ufeff[{"a": "\\u00e9"}]\r\n',
    ],
)
def test_a_text_in_which_nothing_changes_stays_as_it_is(text: str) -> None:
    old = json.loads(text.lstrip("\ufeff"))
    assert splice(text, old, old) == text
    assert splice(text, old, type(old)(old)) == text


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(old=st.lists(messages, max_size=5), style=styles, data=st.data())
def test_the_new_text_says_the_new_list_and_keeps_the_text_of_what_stayed(
    old: list[Any], style: dict[str, Any], data: st.DataObject
) -> None:
    text = json.dumps(old, **style)
    read = json.loads(text)
    new = data.draw(st.permutations(read))[: data.draw(st.integers(0, 5))]
    for at in data.draw(st.lists(st.integers(0, len(new)), max_size=2)):
        new.insert(at, data.draw(messages))
    assert json.loads(splice(text, read, new)) == new


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    body=st.dictionaries(texts, values, max_size=3),
    old=st.lists(messages, max_size=3),
    style=styles,
)
def test_the_new_text_says_the_new_body(
    body: dict[str, Any], old: list[Any], style: dict[str, Any]
) -> None:
    read = json.loads(text := json.dumps({**body, "messages": old}, **style))
    new = {**read, "messages": [NEW, *read["messages"]], "tools": [NEW], "system": "{"}
    assert json.loads(splice(text, read, new)) == new


def test_spaces_digits_and_escapes_of_what_stayed_are_kept() -> None:
    text = '[ {"role":"user", "cost" : 1.10,"text":"caf\\u00e9 \\/"} ,\t{"role":"tool"} ]\n'
    old = json.loads(text)
    assert splice(text, old, [old[0], NEW]) == (
        '[ {"role":"user", "cost" : 1.10,"text":"caf\\u00e9 \\/"} ,\t'
        '{"role":"user", "content":"\\u00e9", "more":{"a":[1, 2]}} ]\n'
    )


def test_spaces_between_items_that_stayed_are_kept() -> None:
    text = '[{"a":1},{"b":2} ,\n {"c":3},  {"d":4}]'
    old = json.loads(text)
    assert splice(text, old, [*old[:3], {"e": 5}]) == '[{"a":1},{"b":2} ,\n {"c":3},{"e":5}]'
    assert splice(text, old, old[1:]) == '[{"b":2} ,\n {"c":3},  {"d":4}]'


def test_line_ends_indentation_and_the_mark_at_the_front_are_kept() -> None:
    text = '\ufeff{\r\n\t"messages": [\r\n\t\t{\r\n\t\t\t"role": "user"\r\n\t\t}\r\n\t],\r\n\t"n": 1.50\r\n}\r\n'
    old = json.loads(text.lstrip("\ufeff"))
    new = {**old, "messages": [*old["messages"], {"role": "a"}], "tools": []}
    assert splice(text, old, new) == (
        '\ufeff{\r\n\t"messages": [\r\n\t\t{\r\n\t\t\t"role": "user"\r\n\t\t},\r\n\t\t{'
        '\r\n\t\t\t"role": "a"\r\n\t\t}\r\n\t],\r\n\t"n": 1.50,\r\n\t"tools": []\r\n}\r\n'
    )


def test_letters_stay_letters_where_the_text_has_letters() -> None:
    text = '[{"content": "Köln"}]'
    assert splice(text, json.loads(text), [NEW]).startswith('[{"role": "user", "content": "é"')


def test_half_a_character_is_written_as_an_escape() -> None:
    assert splice('[{"a": "é"}]', [{"a": "é"}], [{"a": "half \ud83d"}]) == '[{"a": "half \\ud83d"}]'


def test_of_a_key_that_stands_twice_the_one_that_counts_is_changed() -> None:
    text = '{"messages": [1], "messages": [{"a": 2}]}'
    assert (
        splice(text, json.loads(text), {"messages": [{"b": 3}]})
        == '{"messages": [1], "messages": [{"b": 3}]}'
    )
