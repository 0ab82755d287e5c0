"""What of a text is a key, and what a query proves."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylk_ray.knowledge.gate.keys import document_keys, query_keys
from sylk_ray.knowledge.words import name_number, word_number


@pytest.mark.parametrize(
    ("document", "query", "found"),
    [
        ("def parse_config(path):", "where is the config parsed", True),
        ("def parse_config(path):", "parsers", False),
        ("class ConfigParser:", "parsers of the configs", True),
        ("def parse_config(path):", "kubernetes operator", False),
        ("def parse_config(path):", "kubernetes path", True),
        ("def parse_config(path):", '"parse_config"', True),
        ("def parse_config(path):", '"PARSE_CONFIG" or `path`', True),
        ("def parse_config(path):", '"parse"', False),
        ("def parse_config(path):", 'config of "operator"', False),
        ("def parse_config(path):", "where is it", True),
        ("def parse_config(path):", "", True),
        ("函数解析", "解析", True),
    ],
)
def test_a_query_may_match_what_shares_a_word_and_has_every_quoted_name(document, query, found):
    keys, asked = document_keys(document), query_keys(query)
    assert (asked.exact <= keys and (not asked.any or bool(asked.any & keys))) == found


def test_a_query_of_stop_words_alone_says_nothing():
    assert query_keys("what is it and how do I").says_nothing
    assert not query_keys('"is"').says_nothing


@given(
    st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20), max_size=8), st.data()
)
def test_any_identifier_of_a_text_is_found_in_it(parts, data):
    text = " ".join(parts)
    word = data.draw(st.sampled_from(parts)) if parts else ""
    keys, asked = document_keys(text), query_keys(word)
    assert asked.exact <= keys
    assert asked.any <= keys


def test_keys_are_the_same_in_every_process_and_version():
    assert word_number("parse") == 0x2DC5DD9B071346C3
    assert name_number("Parse") == name_number("parse") == 0x576C17742A25B632
    program = "from sylk_ray.knowledge.gate import document_keys; print(sorted(document_keys('parseConfig the x')))"
    environment = {**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": str(Path(__file__).parents[4])}
    told = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert told.stdout.strip() == str(sorted(document_keys("parseConfig the x")))
