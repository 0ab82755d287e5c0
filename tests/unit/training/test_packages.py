"""What the embedder may learn from."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.search_quality.questions import BY_HAND
from training.embedder.harvest import says_taken
from training.embedder.packages import (
    PERMISSIVE,
    Forbidden,
    Package,
    forbidden,
    forbidden_path,
    line_of,
    never,
    packages,
)


def test_every_listed_package_may_be_learned_from_and_is_pinned() -> None:
    listed = packages()
    assert len({(each.registry, each.name) for each in listed}) == len(listed)
    assert all(each.licence in PERMISSIVE and len(each.sha256) == 64 and each.version for each in listed)
    assert {each.part for each in listed} == {"train", "dev"}


def test_no_package_is_both_learned_from_and_measured_with() -> None:
    listed = packages()
    parts = {part: {each.name for each in listed if each.part == part} for part in ("train", "dev")}
    assert not parts["train"] & parts["dev"]


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("golang-github-gin-gonic-gin", "gin"),
        ("librust-serde-json-dev", "serde"),
        ("libjackson2-core-java", "jackson"),
        ("Flask-Login", "flask"),
        ("lazy-nvim", "lazy.nvim"),
        ("leveldb-sharp", "leveldb"),
        ("librust-hyper-dev", "hyper-rs"),
        ("golang-github-labstack-echo", "echo-framework"),
        ("numpy", ""),
    ],
)
def test_a_forbidden_project_is_known_in_any_packaging(name: str, word: str) -> None:
    assert forbidden(name, never()) == word


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("pip/_vendor/requests/api.py", "requests"),
        ("lib/lodash.js", "lodash"),
        ("deps/leveldb-1.20/db.cc", "leveldb"),
        ("okhttp3/Call.java", "okhttp"),
        ("org/apache/commons/lang3/StringUtils.java", "commons-lang"),
        ("log4j/core/lookup/StrSubstitutor.java", "strsubstitutor"),
        ("include/fmt/format.h", "fmt"),
        ("lib/network.js", ""),
    ],
)
def test_copies_of_forbidden_projects_within_others_are_left_out(path: str, name: str) -> None:
    assert forbidden_path(path.split("/"), never()) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("// A stripped down version from Commons Lang 2.6.", "commons lang"),
        (" * This is a stripped down version of {@code org.apache.commons.io.input.ReaderInputStream}.", "commons.io"),
        ('# borrowed from <a href="https://github.com/FasterXML/jackson-core">Jackson</a>', "jackson"),
        ("# Copied nearly verbatim\n# from Django", "django"),
        ("# taken from Hyper", "hyper"),
        ("# A copy of the headers. Requests have them, too.", ""),
        ("# copied from requestsmith", ""),
        ("# as fast as Django", ""),
        ("# copied from above\n\n# Django has it, too", ""),
    ],
)
def test_what_says_that_it_was_taken_from_a_forbidden_project_is_known(text: str, name: str) -> None:
    assert says_taken(text, never()) == name


def test_nothing_that_searches_are_measured_with_may_be_learned_from() -> None:
    names = never()
    asked = {line.partition("\t")[0] for line in BY_HAND.read_text("utf-8").splitlines() if line[:1] not in ("#", "")}
    assert len(asked) > 40
    assert all(forbidden(each.replace("/", "-"), names) for each in asked)


def test_a_list_with_a_forbidden_package_is_refused(tmp_path: Path) -> None:
    listed = tmp_path / "packages.tsv"
    listed.write_text(line_of(Package("pypi", "django-extensions", "1", "MIT", "train", ("py",), "0" * 64)), "utf-8")
    with pytest.raises(Forbidden, match="'django'"):
        packages(listed)


def test_a_licence_that_asks_for_something_in_return_is_refused(tmp_path: Path) -> None:
    listed = tmp_path / "packages.tsv"
    listed.write_text(line_of(Package("pypi", "numbers", "1", "GPL-3.0", "train", ("py",), "0" * 64)), "utf-8")
    with pytest.raises(Forbidden, match="GPL"):
        packages(listed)
