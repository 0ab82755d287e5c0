"""Fill variables into the text of a job, in a sandbox: a template computes nothing but text."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from jinja2 import StrictUndefined, TemplateSyntaxError, UndefinedError
from jinja2.exceptions import TemplateError as JinjaError
from jinja2.sandbox import SandboxedEnvironment

from sylk_ray.tools.errors import TemplateError
from sylk_ray.tools.specs import Action

_RENDERED_FIELDS = ("to", "content", "command", "new", "old", "path", "files", "diff")
_UNDEFINED = re.compile(r"'([^']+)' is undefined|has no attribute '([^']+)'")

_environment = SandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)
_environment.filters["shquote"] = lambda value: shlex.quote(str(value))


def render(text: str, variables: Mapping[str, Any]) -> str:
    """The text with ``{{ name }}`` and the rest of Jinja done; TemplateError names what is undefined."""
    if not any(opening in text for opening in ("{{", "{%", "{#")):
        return text
    try:
        return _environment.from_string(text).render(dict(variables))
    except UndefinedError as error:
        raise _undefined(error, variables) from error
    except TemplateSyntaxError as error:
        raise TemplateError(
            f"a template is wrong in its line {error.lineno}: {error.message}",
            hint="To write {{ or {% as such, put the text between {% raw %} and {% endraw %}.",
        ) from error
    except (JinjaError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise TemplateError(
            f"a template cannot be rendered: {error}", hint="Look at its expressions and their values."
        ) from error


def render_action(action: Action, variables: Mapping[str, Any]) -> Action:
    """The action with its text fields rendered; patterns and rules are code and stay as they are."""
    update: dict[str, object] = {}
    for field in _RENDERED_FIELDS:
        value: object = getattr(action, field, None)
        if isinstance(value, str):
            update[field] = render(value, variables)
        elif isinstance(value, tuple):
            update[field] = tuple(render(str(each), variables) for each in value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return action.model_copy(update=update)


def _undefined(error: UndefinedError, variables: Mapping[str, Any]) -> TemplateError:
    found = _UNDEFINED.search(error.message or "")
    name = next((group for group in found.groups() if group), "") if found else ""
    near = get_close_matches(name, list(variables), n=3)
    known = ", ".join(sorted(variables)) or "none"
    return TemplateError(
        f"a template uses what is not defined: {error.message}",
        hint=(f"Did you mean {' or '.join(near)}? " if near else "") + f"Known names: {known}.",
    )
