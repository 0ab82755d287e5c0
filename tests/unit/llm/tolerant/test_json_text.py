"""JSON that is nearly right is read, what would have to be guessed at is refused, and JSON is read as it is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sylk_ray.llm.tolerant import NotJson, read_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("text", "value", "repairs"),
    [
        ('{"a": [1, 2.5, -3e2, true, null]}', {"a": [1, 2.5, -300.0, True, None]}, ()),
        ("42", 42, ()),
        ('"a\\n\\u00e9\\ud83d\\ude00"', "a\né😀", ()),
        ("{'a': 'it\\'s'}", {"a": "it's"}, ("single quotes", "invalid escape")),
        ("{\u201ca\u201d: \u2018b\u2019}", {"a": "b"}, ("curly quotes",)),
        ('{a: 1, b-c: "d"}', {"a": 1, "b-c": "d"}, ("unquoted name",)),
        ('{"a": [1, 2,],}', {"a": [1, 2]}, ("trailing comma",)),
        ('{"a": 1 "b": 2}', {"a": 1, "b": 2}, ("missing comma",)),
        ('{"a": True, "b": None, "c": False}', {"a": True, "b": None, "c": False}, ("Python literal",)),
        ('{"a": "one\ntwo\tthree"}', {"a": "one\ntwo\tthree"}, ("unescaped control character",)),
        (r'{"a": "\d+\.py"}', {"a": r"\d+\.py"}, ("invalid escape",)),
        ('{"a": """x = "1"\ny"""}', {"a": 'x = "1"\ny'}, ("triple quotes",)),
        ("{'a': '''it's'''}", {"a": "it's"}, ("single quotes", "triple quotes")),
        ('{"a": `x`}', {"a": "x"}, ("backquotes",)),
        ('{"a": 1, // one\n # two\n /* three */ "b": 2}', {"a": 1, "b": 2}, ("comment",)),
        ('{"a": [1, {"b": "c"}', {"a": [1, {"b": "c"}]}, ("missing bracket",)),
        ('{"a": "b"', {"a": "b"}, ("missing bracket",)),
        ('{{"a": {"b": 1}}}', {"a": {"b": 1}}, ("doubled braces",)),
        ('{{"a": 1}', {"a": 1}, ("doubled braces", "missing bracket")),
        ('{"a": 0x1F, "b": +5, "c": .5}', {"a": 31, "b": 5, "c": 0.5}, ("number as in a program",)),
        ('{"a": 1, "a": 1}', {"a": 1}, ()),
        ('{"a": "\\ud800"}', {"a": "\ufffd"}, ("invalid escape",)),
    ],
)
def test_what_is_nearly_right_is_read_and_the_repair_is_told(text: str, value: Any, repairs: tuple[str, ...]):
    read = read_json(text)
    assert (read.value, read.end, read.repairs) == (value, len(text), repairs)


@pytest.mark.parametrize(
    ("text", "told", "cut"),
    [
        ('{"a": "not whole', "line 1, column 7: there is '\"not whole', where a text with its closing quote", True),
        ('{"a": 12', "a number, which may be cut off", True),
        ('{"a": tru', "a value", True),
        ('{"a": }', "line 1, column 7: there is '}', where a value is wanted", False),
        ('{"a":', "the text ends, where a value is wanted", True),
        ('{"a"', "a colon after the name 'a'", True),
        ('{"a": 1,', "what follows the comma", True),
        ('{\n  "a": word\n}', "line 2, column 8: there is 'word\\n}', where a value (text needs quotes)", False),
        ('{"a": 1, "a": 2}', "one value of 'a'", False),
        ('{"a": "he said "hi" ok"}', "a colon after the name 'hi'", False),
        ("[1, , 2]", "a value", False),
        ('{"a": [1}', "a comma or ]", False),
        ("[" * 200, "nested too deeply", False),
        ("{" * 300, "nested too deeply", False),
        ('{{"a": 1}, "b": 2}', "a second }", False),
        ("", "the text ends", True),
        ('{"a": 1.2.3}', "a number, or quotes", False),
        ('{"a": """x', "closing quotes", True),
    ],
)
def test_what_would_have_to_be_guessed_at_is_refused_with_its_place(text: str, told: str, cut: bool):
    with pytest.raises(NotJson) as caught:
        read_json(text)
    assert told in str(caught.value)
    assert caught.value.cut is cut


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(VALUES, st.sampled_from([None, 2]))
def test_json_is_read_as_it_is_without_a_repair(value: Any, indent: int | None):
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    read = read_json(text)
    assert read.value == value
    assert set(read.repairs) <= {"unescaped control character"}
    assert read_json(json.dumps(value)).value == value


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(VALUES, st.integers(0, 200))
def test_a_text_that_is_cut_off_is_never_read_as_another_value_of_its_end(value: Any, cut: int):
    """Only whole members are kept: what is read of a cut text is a beginning of the value, never a changed part."""
    text = json.dumps([value])
    try:
        read = read_json(text[:cut])
    except NotJson:
        return
    assert is_beginning(read.value, [value])


def is_beginning(part: Any, whole: Any) -> bool:
    if part == whole:
        return True
    if isinstance(part, list) and isinstance(whole, list) and len(part) <= len(whole):
        return all(map(is_beginning, part, whole))
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(name in whole and is_beginning(each, whole[name]) for name, each in part.items())
    return False


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(alphabet="{}[]\"':,\\ntrue12.-abc \n#/`“”", max_size=60))
def test_anything_is_read_or_refused(text: str):
    try:
        read = read_json(text)
    except NotJson:
        return
    assert 0 < read.end <= len(text)
    json.dumps(read.value)
