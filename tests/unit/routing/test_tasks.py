from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylk_ray.routing import AmbiguousTask, UnknownTask, find_task

TASKS = ("create_dashboard", "create_login", "setup_auth_middleware", "write_unit_tests", "create_dashboard_tests")


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("create_dashboard", "create_dashboard"),
        ("Create-Login", "create_login"),
        ("setup", "setup_auth_middleware"),
        ("WRITE-unit", "write_unit_tests"),
    ],
)
def test_a_task_is_found_by_its_name_or_the_beginning_of_it(name: str, task: str):
    assert find_task(name, TASKS) == task


def test_a_beginning_of_several_names_is_ambiguous():
    with pytest.raises(AmbiguousTask) as caught:
        find_task("create", TASKS)
    assert caught.value.candidates == ("create_dashboard", "create_dashboard_tests", "create_login")
    assert '"create_login"' in caught.value.hint


def test_names_that_differ_in_case_alone_are_ambiguous_for_a_third_spelling():
    with pytest.raises(AmbiguousTask):
        find_task("BUILD", ("build", "Build"))
    assert find_task("Build", ("build", "Build")) == "Build"


@pytest.mark.parametrize(
    ("name", "candidate"), [("craete_login", "create_login"), ("auth_middleware", "setup_auth_middleware")]
)
def test_a_similar_name_is_asked_about_and_not_acted_upon(name: str, candidate: str):
    with pytest.raises(UnknownTask) as caught:
        find_task(name, TASKS)
    assert caught.value.candidates[0] == candidate
    assert f'did you mean "{candidate}"' in caught.value.hint


def test_an_unlike_name_is_answered_with_what_there_is():
    with pytest.raises(UnknownTask) as caught:
        find_task("zzz", TASKS)
    assert caught.value.hint.startswith("the tasks: ")
    with pytest.raises(UnknownTask, match="there is no task"):
        find_task("zzz", ())


def found_or_refused(name: str, tasks: list[str]) -> str | UnknownTask | AmbiguousTask:
    try:
        return find_task(name, tasks)
    except (UnknownTask, AmbiguousTask) as error:
        return error


@given(st.lists(st.text(max_size=6), max_size=6), st.text(max_size=6))
def test_any_name_is_found_or_refused(tasks: list[str], name: str):
    found = found_or_refused(name, tasks)
    if isinstance(found, str):
        assert found in tasks
    else:
        assert name not in tasks
        assert set(found.candidates) <= set(tasks)
        assert found.hint
