"""What a change means that does not fit word for word."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylk_ray.thinking.meant import as_it_stands, ended_early, redefined, replaceable

TEXT = "class A:\n    def f(self):\n        return 1  \n\n    def g(self):\n        return 1\n"


@pytest.mark.parametrize("shift", ["", "  ", "\t", "        "])
@pytest.mark.parametrize("around", ["", "\n", "\n\n"])
def test_lines_are_found_however_far_they_are_indented_and_the_new_ones_go_where_they_are(shift, around):
    old = f"{around}{shift}def f(self):\n{shift}    return 1\n\n{shift}def g(self):{around}"
    new = f"{around}{shift}def f(self):\n\n{shift}    return 2{around}"
    assert as_it_stands("a.py", TEXT, old, new) == (
        "    def f(self):\n        return 1  \n\n    def g(self):",
        "    def f(self):\n\n        return 2",
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return 1", "return 2"),
        ("def f(self):\nreturn 1", "x"),
        ("def f(self):\n        return 1", "x"),
        ("return 2", "x"),
        (" \n\n", "x"),
        ("    def f(self):", "x"),
    ],
    ids=["twice", "flat", "too far", "not there", "nothing", "the new one less far"],
)
def test_what_is_not_plainly_meant_is_not_found(old, new):
    assert as_it_stands("a.py", TEXT, old, new) is None


LINES = st.lists(st.text(" \tab:", max_size=8), min_size=1, max_size=8)


@given(LINES, LINES, LINES)
def test_what_is_found_is_there_and_says_the_same(lines, old, new):
    text = "\n".join(lines)
    found = as_it_stands("a.txt", text, "\n".join(old), "\n".join(new))
    if found is not None:
        stands, moved = found
        assert stands in text
        assert stands.split() == " ".join(old).split()
        assert moved.split() == " ".join(new).split()


A = "def a():\n    return 1\n"
FILE = f"import x\n\n\n# what it is\n{A}\n\nclass B:\n    a = a\n\n\ndef d(): ...\n"


def test_what_is_defined_anew_stands_where_it_did_and_what_is_new_beside_it():
    added = "def c():\n    '''\n    d\n    '''\n\n\nasync def a():\n    return 2\ndef d():\n    return 3\ndef e(): ..."
    assert redefined("a.py", FILE, added) == (
        "import x\n\n\n# what it is\ndef c():\n    '''\n    d\n    '''\n\n\nasync def a():\n    return 2\n\n\n"
        "class B:\n    a = a\n\n\ndef d():\n    return 3\n\n\ndef e(): ...\n"
    )
    assert redefined("a.py", FILE.rstrip(), "def a(): ...") == FILE.rstrip().replace(A, "def a(): ...\n")


@pytest.mark.parametrize(
    ("text", "added"),
    [
        (FILE, "def c(): ..."),
        (FILE, "import y\ndef a(): ..."),
        (FILE, "# of late\ndef a(): ..."),
        (FILE, "@cached\ndef a(): ..."),
        (FILE, "def a(): ...\ndef a(): ..."),
        (FILE, "def d(): ...\ndef a(): ..."),
        (FILE, "class B:\n    b = 1\n"),
        (FILE, "def a(:"),
        (FILE.replace("\n", "\r\n"), "def a(): ..."),
        (f"{FILE}(", "def a(): ..."),
        (f"@cached\n{A}", "def a(): ..."),
        (f"{A}{A}", "def a(): ..."),
        (f"if x:\n    {A.replace(chr(10), chr(10) + '    ')}", "def a(): ..."),
    ],
)
def test_what_is_not_plainly_a_function_in_the_place_of_another_is_none(text, added):
    assert redefined("a.py", text, added) is None
    assert redefined("a.txt", FILE, "def a(): ...") is None


def test_what_could_be_replaced_is_what_is_said_first_and_plainly_defined():
    text = f"{FILE}\n\n@cached\ndef c(): ...\n\n\ndef d(): ...\n\n\ndef d(): ...\n"
    assert replaceable("a.py", text, "c(d, B, a)") == "a"
    assert replaceable("a.py", text, "c(d, B)") == ""
    assert replaceable("a.txt", text, "a") == replaceable("a.py", "def a(:", "a") == ""


MEAN = 'def mean(a):\n    """The mean."""\n    return total(a) // len(a)\n'
BETTER = "def mean(a):\n    if not a:\n        return 0\n    return total(a) // len(a)"


@pytest.mark.parametrize("shift", ["", "    "])
@pytest.mark.parametrize("old", ["def mean(a):", "def mean(a):\n"])
def test_a_function_that_returns_before_the_old_one_goes_on_is_in_its_place_and_keeps_its_documentation(shift, old):
    def moved(code):
        return "".join(f"{shift}{line}\n" for line in code.splitlines())

    text = f"{'class A:' if shift else 'x = 1'}\n{moved(MEAN)}\n\ny = 1\n"
    kept = BETTER.replace(":\n", ':\n    """The mean."""\n', 1)
    assert ended_early("a.py", text, old, BETTER) == (moved(MEAN).rstrip("\n"), moved(kept).rstrip("\n"))
    documented = BETTER.replace(":\n", ':\n    """0 for none."""\n', 1)
    found = ended_early("a.py", text, f"{shift}{old}", moved(documented))
    assert found == (moved(MEAN).rstrip("\n"), moved(documented).rstrip("\n"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (MEAN, BETTER),
        ("def mean(a):", "def mean(a, b):\n    check(b)"),
        ("def mean(a):", "def median(a):\n    return 0"),
        ("def mean(a):", "x = 1\ndef mean(a):\n    return 0"),
        ("def mean(a):", "def mean(a, b):"),
        ("return total(a)", BETTER),
        ("a", BETTER),
    ],
)
def test_what_goes_on_with_the_old_function_is_left_as_it_is_said(old, new):
    assert ended_early("a.py", MEAN, old, new) is None
    assert ended_early("a.txt", MEAN, old, new) is None


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ('def f(g):\n    """D."""\n    x = 1\n', "def f(g):", "def f(g):\n    @w(g)\n    def h(): ...\n    return h"),
        ('def f(a):\n    """D\n\n U\n    """\n    x = 1\n', "def f(a):", "def f(a):\n    return 1"),
        ('class A:\n\tdef f(a):\n\t\t"""D."""\n\t\tx = 1\n', "\tdef f(a):", "\tdef f(a):\n\t\treturn 2"),
        ('def f(a):\n    """D."""\n    x = 1\n', "def f(a):", "def f(a,\n  b): return 2"),
        ("def f():\r\n    x = 1\r\n", "def f():", "def f():\n    return 2"),
    ],
    ids=["decorated", "less far", "tabs", "several lines", "Windows"],
)
def test_a_function_that_could_not_be_read_then_is_left_as_it_is_said(text, old, new):
    found = ended_early("a.py", text, old, new)
    assert found is None or ast.parse(text.replace(*found))


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("if x:\n\tif y:\n\t\ta = 1\n", "    if y:", "    if y:\n        b = 2"),
        ("def g():\n    x = 1\n", "x = 1 ", 'x = """\na\n"""'),
        ("a = 1\n    b = 2\n", "a = 1 \nb = 2", ""),
    ],
    ids=["tabs", "a string", "nothing"],
)
def test_lines_that_would_be_broken_by_moving_them_are_not_found(text, old, new):
    assert as_it_stands("a.py", text, old, new) is None
