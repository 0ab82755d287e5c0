"""The short forms of a job file, and the types that accept them.

An action is written ``rewrite: {...}`` and kept as ``{kind: rewrite, ...}``; ``run: make`` stands for
``run: {command: make}``, ``tools: [ruff]`` for ``tools: [{name: ruff}]``, ``tester: make`` for
``tester: {run: make}``. The long form stays valid, since it is what a job is stored as.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator
from pydantic_core import PydanticCustomError

from sylk_ray.dag import did_you_mean
from sylk_ray.tools.specs import Action, Check, Delete, Edit, Patch, Rewrite, Run, Spec, Testing, Write

ACTIONS: dict[str, type[Spec]] = {
    "rewrite": Rewrite,
    "edit": Edit,
    "write": Write,
    "delete": Delete,
    "patch": Patch,
    "run": Run,
}
KNOWN_TOOLS = ("ruff", "mypy")
FAULT: Final = "sylk_fault"
GRAPH_FAULT: Final = "sylk_graph_fault"
"""What ``Job`` raises for a bad graph; ``load_job`` tells the same problems with their lines."""

_SHORT_FIELD = {"run": "command", "delete": "path"}
_GROUPS = ("file", "line", "message")


def fault(message: str, hint: str = "", *, field: str = "") -> PydanticCustomError:
    """A problem in words for the person; ``field`` says which field of the value it is about."""
    return PydanticCustomError(FAULT, "{message}", {"message": message, "hint": hint, "field": field})


def desugar_action(value: object) -> object:
    """``{run: make}`` and ``{run: {command: make}}`` become ``{kind: run, command: make}``."""
    if isinstance(value, BaseModel):
        return value
    if not isinstance(value, dict):
        raise fault("an action is a mapping with one key, its kind", "for example: - run: make format")
    fields = cast("dict[str, Any]", value)
    if "kind" in fields:
        _check_kind(fields["kind"], "kind")
        return fields
    if len(fields) != 1:
        raise _not_one_kind(list(fields))
    ((kind, body),) = fields.items()
    _check_kind(kind, kind)
    if isinstance(body, dict):
        body_fields = cast("dict[str, Any]", body)
        if "kind" in body_fields:
            raise fault(f'the kind is "{kind}" already', 'remove "kind"', field=kind)
        return {**body_fields, "kind": kind}
    if kind in _SHORT_FIELD and (isinstance(body, str) or (kind == "run" and isinstance(body, list))):
        return {"kind": kind, _SHORT_FIELD[kind]: cast("object", body)}
    required = [name for name, field in ACTIONS[kind].model_fields.items() if field.is_required()]
    short = f" or a {_SHORT_FIELD[kind]}" if kind in _SHORT_FIELD else ""
    hint = f"{kind}: {{{', '.join(f'{name}: ...' for name in required)}}}"
    raise fault(f"expected a mapping of fields{short}", hint, field=kind)


def _check_kind(kind: object, field: str) -> None:
    every = f"the actions: {', '.join(ACTIONS)}"
    if not isinstance(kind, str):
        raise fault("the kind of an action is text", every, field=field)
    if kind not in ACTIONS:
        raise fault(f'there is no action "{kind}"', did_you_mean(kind, ACTIONS) or every, field=field)


def _not_one_kind(keys: list[str]) -> PydanticCustomError:
    kinds = [key for key in keys if key in ACTIONS]
    if not keys:
        return fault("an action has one key, its kind, and this has none", f"the actions: {', '.join(ACTIONS)}")
    if len(kinds) == 1:
        others = ", ".join(f"{key}: ..." for key in keys if key != kinds[0])
        hint = f"indent its fields under it: {kinds[0]}: {{..., {others}}}"
    else:
        hint = 'begin each action with a "- " of its own'
    return fault(f"an action has one key, its kind, and this has {len(keys)}: {', '.join(keys[:10])}", hint)


def desugar_check(value: object) -> object:
    if isinstance(value, str):
        return {"name": value}
    if isinstance(value, dict | BaseModel):
        return cast("object", value)
    raise fault("expected the name of a tool or a mapping of fields", 'for example: ruff, or {name: ..., run: "..."}')


def desugar_testing(value: object) -> object:
    if isinstance(value, str | list):
        return {"run": cast("object", value)}
    if isinstance(value, dict | BaseModel):
        return cast("object", value)
    raise fault("expected a command or a mapping of fields", "for example: tester: pytest -q")


def check_is_runnable(check: Check) -> Check:
    """A tool that is not known by name brings its command; a pattern can be searched with."""
    if check.run is None and check.name not in KNOWN_TOOLS:
        near = did_you_mean(check.name, KNOWN_TOOLS)
        hint = near or f'give it a command: {{name: {check.name}, run: "{check.name} {{files}}"}}'
        raise fault(f'"{check.name}" is not known by name (only {" and ".join(KNOWN_TOOLS)} are)', hint, field="name")
    if check.pattern is not None:
        try:
            groups = re.compile(check.pattern).groupindex
        except (re.error, OverflowError, RecursionError) as error:
            message = f"this is not a regular expression: {error}"
            raise fault(message, "Python's re syntax is used", field="pattern") from None
        missing = [f"(?P<{name}>...)" for name in _GROUPS if name not in groups]
        if missing:
            raise fault(f"the pattern has no {', '.join(missing)}", "name these groups in it", field="pattern")
    return check


class RewriteAction(Spec):
    rewrite: Rewrite


class EditAction(Spec):
    edit: Edit


class WriteAction(Spec):
    write: Write


class DeleteAction(Spec):
    delete: Delete | str


class PatchAction(Spec):
    patch: Patch


class RunAction(Spec):
    run: Run | str | tuple[str, ...]


AuthoredAction = RewriteAction | EditAction | WriteAction | DeleteAction | PatchAction | RunAction
"""How an action is written; only the schema for editors needs these as types."""

TaskAction = Annotated[
    Action,
    BeforeValidator(desugar_action, json_schema_input_type=AuthoredAction | Action),
]
ToolCheck = Annotated[
    Check,
    BeforeValidator(desugar_check, json_schema_input_type=str | Check),
    AfterValidator(check_is_runnable),
]
TaskTesting = Annotated[
    Testing,
    BeforeValidator(desugar_testing, json_schema_input_type=str | tuple[str, ...] | Testing),
]
