from __future__ import annotations

import pytest

from sylk_ray.tools import TemplateError, render, render_action
from sylk_ray.tools.specs import Edit, Rewrite, Run


@pytest.mark.parametrize("text", ["$A {x} }}", "", "a\n", "100% {a}"])
def test_a_text_without_templates_is_returned_as_it_is(text: str) -> None:
    assert render(text, {}) == text


def test_variables_are_filled_in_and_the_last_newline_kept() -> None:
    assert render("{{ a }} {% if b %}b{% endif %}\n", {"a": 1, "b": True}) == "1 b\n"
    assert render("echo {{ a | shquote }}", {"a": "it's; rm"}) == "echo 'it'\"'\"'s; rm'"


def test_an_undefined_name_is_an_error_with_the_nearest() -> None:
    with pytest.raises(TemplateError, match="'modul' is undefined") as undefined:
        render("{{ modul }}", {"module": "x", "other": "y"})

    assert "Did you mean module?" in undefined.value.hint
    assert "other" in undefined.value.hint


@pytest.mark.parametrize("text", ["{{ a", "{% nope %}", "{{ 1 / 0 }}", "{{ a.__class__.__mro__ }}", "{{ a.b }}"])
def test_wrong_templates_and_escapes_are_errors(text: str) -> None:
    with pytest.raises(TemplateError):
        render(text, {"a": "x"})


def test_the_texts_of_an_action_are_rendered_but_not_its_pattern() -> None:
    variables = {"name": "f", "folder": "src"}

    rewrite = render_action(
        Rewrite(language="python", files=("{{ folder }}/*.py",), pattern="{{ name }}", to="{{ name }}($A)"),
        variables,
    )
    run = render_action(Run(command=("echo", "{{ name }}")), variables)
    edit = render_action(Edit(path="{{ folder }}/a", old="{{ name }}", new="g"), variables)

    assert (rewrite.files, rewrite.pattern, rewrite.to) == (("src/*.py",), "{{ name }}", "f($A)")
    assert run.command == ("echo", "f")
    assert (edit.path, edit.old, edit.new) == ("src/a", "f", "g")
