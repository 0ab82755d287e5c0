"""Which time a text speaks of, as one of a few names, so that answers about the same time can share a cache entry."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from functools import cache
from typing import NamedTuple

import msgspec

from sylk_ray.routing.tables import table

SCOPES = (
    "recently", "today", "yesterday", "this_week", "last_week", "this_month", "last_month", "this_year", "last_year",
    "earlier",
)  # fmt: skip
"""All names there are; ``earlier`` is before last year."""

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip
_UNIT_DAYS = {"minute": 0, "hour": 1 / 24, "day": 1, "week": 7, "month": 30, "year": 365}
_NUMBER = rf"(?P<number>\d{{1,4}}|{'|'.join(_NUMBERS)})"
_UNIT = r"(?P<unit>minute|hour|day|week|month|year)s?"

_AGO = re.compile(rf"\b{_NUMBER} {_UNIT} ago\b")
_PAST = re.compile(rf"\b(?:(?:in|over|during|for|within) )?the (?:past|last) (?:{_NUMBER} )?{_UNIT}\b")
_WEEKDAY = re.compile(rf"\b(?:(?:on|since|last|from|this|over) )*(?P<day>{'|'.join(_DAYS)})(?:'s)?\b")
_WEEKEND = re.compile(r"\b(?:over|at|on|since) the weekend\b")
_MONTH = re.compile(rf"\b(?:in|since|during|last|back in|from) (?P<month>{'|'.join(_MONTHS)})\b")
_DATE = re.compile(r"\b(?:on |since |from )?(?P<date>\d{4}-\d\d-\d\d)\b")


class Found(NamedTuple):
    """A scope, and where in the text it was said."""

    scope: str
    start: int
    end: int


NOTHING = Found("", 0, 0)


class _Written(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    pattern: str


class _File(msgspec.Struct, forbid_unknown_fields=True):
    scope: list[_Written]


@cache
def _named() -> tuple[tuple[str, re.Pattern[str]], ...]:
    scopes = table("times.toml", _File).scope
    unknown = [scope.name for scope in scopes if scope.name not in SCOPES]
    if unknown:
        raise ValueError(f"times.toml names unknown scopes: {', '.join(unknown)}")
    return tuple((scope.name, re.compile(scope.pattern)) for scope in scopes)


def time_scope(text: str, now: datetime) -> Found:
    """What a text in lower case says of the time; dates are told by ``now`` and its time zone."""
    for name, pattern in _named():
        found = pattern.search(text)
        if found is not None:
            return Found(name, *found.span())
    return _dated(text, now.date())


def _dated(text: str, today: date) -> Found:
    for pattern, scope in (
        (_AGO, _of_ago),
        (_PAST, _of_ago),
        (_DATE, _of_date),
        (_WEEKDAY, _of_weekday),
        (_WEEKEND, _of_weekend),
        (_MONTH, _of_month),
    ):
        found = pattern.search(text)
        if found is not None:
            return Found(scope(found, today), *found.span())
    return NOTHING


def _of_ago(found: re.Match[str], today: date) -> str:
    told = found["number"] or "one"
    days = _UNIT_DAYS[found["unit"]] * (int(told) if told.isdecimal() else _NUMBERS[told])
    try:
        return scope_of(today - timedelta(days=round(days)), today)
    except OverflowError:
        return "earlier"


def _of_date(found: re.Match[str], today: date) -> str:
    try:
        return scope_of(date.fromisoformat(found["date"]), today)
    except ValueError:  # no such day
        return ""


def _of_weekday(found: re.Match[str], today: date) -> str:
    return scope_of(_last(_DAYS.index(found["day"]), today), today)


def _of_weekend(_: re.Match[str], today: date) -> str:
    return scope_of(_last(_DAYS.index("saturday"), today), today)


def _of_month(found: re.Match[str], today: date) -> str:
    month = _MONTHS.index(found["month"]) + 1
    year = today.year if month <= today.month else today.year - 1
    return scope_of(date(year, month, 1), today, by_month=True)


def _last(weekday: int, today: date) -> date:
    """The last such day before today."""
    return today - timedelta(days=(today.weekday() - weekday) % 7 or 7)


def scope_of(day: date, today: date, *, by_month: bool = False) -> str:
    """The narrowest name for a day; ``by_month`` when the day only stands for its month."""
    months = (today.year - day.year) * 12 + today.month - day.month
    weeks = (today - timedelta(days=today.weekday()) - (day - timedelta(days=day.weekday()))).days // 7
    names = (
        ("today", not by_month and day >= today),
        ("yesterday", not by_month and day == today - timedelta(days=1)),
        ("this_week", not by_month and weeks == 0),
        ("last_week", not by_month and weeks == 1),
        ("this_month", months <= 0),
        ("last_month", months == 1),
        ("this_year", day.year == today.year),
        ("last_year", day.year == today.year - 1),
    )
    return next((name for name, holds in names if holds), "earlier")
