"""Whole runs of requests in plain words, as a small real model on two cores carried them out.

The file of a run beside this one is what was asked and answered; ``python -m tests.recordings`` makes it anew.
What Qwen2.5-Coder-1.5B made of them, planning included, on two cores:

- ``new_function``: done in 114 s, 12 calls, 13,448 tokens, 2 repairs. Its Tester tried to copy the function into the
  tests, which was refused, and ran those that there were.
- ``failing_test``: done in 158 s, 16 calls, 22,407 tokens, 1 repair. Its Engineer mended the function with its second
  call, above the docstring; nine of the calls are an Inspector that finds nothing to say.
- ``rename``: done in 353 s, 27 calls, 39,761 tokens, 1 repair. Its Engineer renamed in one file, its Inspector let that
  pass, its Tester's tests failed, and then it renamed in all.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
MODEL: dict[str, Any] = {
    "model": "qwen2.5-coder-1.5b",
    "context_window": 8192,
    "max_tokens": 700,
    "temperature": 0,
    "always_calls": True,
}
"""The model's settings, which a replay needs as well: they are a part of what is asked."""
REPOSITORY = {
    "README.md": "# shelf\n\nA little library for a shop: prices, receipts and texts.\n",
    "pytest.ini": "[pytest]\naddopts = -q\npythonpath = .\n",
    "shelf/__init__.py": '"""Prices, receipts and texts of a shop."""\n',
    "shelf/prices.py": '''"""Prices are whole cents."""


def fmt_price(cents):
    """A price as it is written: 1250 is "12.50"."""
    return f"{cents // 100}.{cents % 100:02d}"


def total(prices):
    """The sum of some prices."""
    return sum(prices)


def discount(cents, percent):
    """A price with so many percent off, rounded down."""
    return cents * (100 - percent) // 100
''',
    "shelf/receipt.py": '''"""What a customer gets."""

from shelf.prices import fmt_price, total


def line(name, cents):
    """One article on a line."""
    return f"{name}: {fmt_price(cents)}"


def receipt(articles):
    """All articles, and what they cost together."""
    lines = [line(name, cents) for name, cents in articles]
    lines.append(f"total: {fmt_price(total(cents for _, cents in articles))}")
    return "\\n".join(lines)
''',
    "shelf/text.py": '''"""Texts on labels."""


def shorten(text, width):
    """A text that is not longer than a width; dots stand for what is left out."""
    if len(text) <= width:
        return text
    return text[: width - 3] + "..."


def slug(title):
    """A title as a part of an address: "Red Wine" is "red-wine"."""
    return "-".join(title.lower().split())
''',
    "tests/test_prices.py": """from shelf.prices import discount, fmt_price, total


def test_fmt_price():
    assert fmt_price(1250) == "12.50"
    assert fmt_price(5) == "0.05"


def test_total():
    assert total([100, 250]) == 350
    assert total([]) == 0


def test_discount():
    assert discount(1000, 15) == 850
""",
    "tests/test_receipt.py": """from shelf.receipt import receipt


def test_receipt():
    assert receipt([("tea", 300), ("milk", 129)]) == "tea: 3.00\\nmilk: 1.29\\ntotal: 4.29"
""",
    "tests/test_text.py": """from shelf.text import shorten, slug


def test_shorten():
    assert shorten("marmalade", 6) == "mar..."
    assert shorten("tea", 6) == "tea"


def test_slug():
    assert slug("Red Wine") == "red-wine"
""",
}


class Run(NamedTuple):
    """A request, and the repository that it is about."""

    request: str
    files: dict[str, str]


_AVERAGE = {
    "shelf/prices.py": REPOSITORY["shelf/prices.py"]
    + '''

def average(prices):
    """The mean price, rounded down; 0 when there is none."""
    return total(prices) // len(prices)
''',
    "tests/test_prices.py": REPOSITORY["tests/test_prices.py"].replace("import discount", "import average, discount")
    + """

def test_average():
    assert average([100, 200]) == 150
    assert average([]) == 0
""",
}
RUNS = {
    "new_function": Run(
        "Add a function count_words(text) to shelf/text.py that returns how many words a text has, with tests. "
        'count_words("red wine") is 2 and count_words("") is 0.',
        REPOSITORY,
    ),
    "failing_test": Run(
        "The test test_average in tests/test_prices.py fails with a ZeroDivisionError when there are no prices. "
        "Mend the function average in shelf/prices.py.",
        REPOSITORY | _AVERAGE,
    ),
    "rename": Run("Rename the function fmt_price to format_price, everywhere it is used.", REPOSITORY),
}


def recording_of(name: str) -> Path:
    """The file of a run."""
    return HERE / f"{name}.jsonl"
