"""What the gateway answers: msgspec structs as JSON, and every error in one form."""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi.responses import Response

from sylk_ray.codebase.errors import NoSuchFile, NotIndexed
from sylk_ray.codebase.requests import AnyAnswer, AnyRequest
from sylk_ray.codebase.serving import CodebaseInUse, OwnerLost
from sylk_ray.errors import InputError, SylkError
from sylk_ray.fairness import Snapshot
from sylk_ray.hooks import Aborted
from sylk_ray.jobs import JobProblems, Problem
from sylk_ray.messaging import DeliveryError, HandlerFailed, NoHandler, NotDecodable, NotEncodable
from sylk_ray.runtime.dead_letters import LetterView
from sylk_ray.runtime.fleet_messages import CellStatus, Census
from sylk_ray.runtime.health import AgentHealth
from sylk_ray.runtime.placement import PlacementFailed
from sylk_ray.runtime.slots import AgentInfo
from sylk_ray.sessions import JobRecord, SessionRecord
from sylk_ray.sessions.admission import TooMany
from sylk_ray.sessions.records import IllegalSessionState
from sylk_ray.speech.errors import AgentNotHere, Busy, NeedsModel, TargetUnwell
from sylk_ray.speech.messages import Said
from sylk_ray.speech.metrics import GlobalRouteMetrics, SessionRouteMetrics


class ErrorDetail(msgspec.Struct, frozen=True, omit_defaults=True):
    """``exit_code`` is what a command ends with: 1 the work failed, 2 the input is wrong, 3 not reachable."""

    code: str
    message: str
    hint: str
    exit_code: int
    problems: list[Problem] = []
    """Of a job file, when that is what is wrong."""


class ErrorAnswer(msgspec.Struct, frozen=True):
    """The body of every answer that is not a success."""

    error: ErrorDetail


class Health(msgspec.Struct, frozen=True):
    """The gateway listens."""

    ok: bool
    version: str


class Status(msgspec.Struct, frozen=True):
    """The runtime at a glance. ``silent`` cells did not answer; ``sessions`` are those not closed."""

    version: str
    density: str
    home: str
    uptime_s: float
    cells: int
    warm_cells: int
    agents: int
    sessions: int
    running_jobs: int
    silent: list[str]
    health: list[AgentHealth] = []
    """The system's own agents, in the order in which they start."""


class ShutDownAnswer(msgspec.Struct, frozen=True):
    """The jobs that can be resumed once the runtime runs again."""

    resumable: list[str]


class NotFound(InputError):
    """What the path names does not exist."""

    code = "not_found"


_TYPES = (
    *(AgentHealth, AgentInfo, CellStatus, Census, Health, LetterView, Snapshot, Status),
    *(JobRecord, SessionRecord, ErrorAnswer, ShutDownAnswer),
    *(Said, SessionRouteMetrics, GlobalRouteMetrics, AnyAnswer, AnyRequest),
)
_UNAVAILABLE = (DeliveryError, PlacementFailed, OwnerLost)
_BROKEN = (HandlerFailed, NoHandler, NotDecodable, NotEncodable)


def answer(value: object, status: int = 200) -> Response:
    """A struct, or a list of them, as JSON."""
    return Response(msgspec.json.encode(value), status, media_type="application/json")


def refusal(error: SylkError, status: int | None = None) -> Response:
    """An error as JSON, with the HTTP status that fits its class."""
    problems = list(error.problems) if isinstance(error, JobProblems) else []
    detail = ErrorDetail(error.code, error.message, error.hint, error.exit_code, problems)
    return answer(ErrorAnswer(detail), status or status_of(error))


def status_of(error: SylkError) -> int:
    """404 unknown, 422 wrong input, 409 not now, 503 the agents cannot be reached, 500 a fault of ours."""
    if isinstance(error, NotFound | NotIndexed | NoSuchFile):
        return 404
    if isinstance(error, InputError) or error.exit_code == InputError.exit_code:
        return 422
    if isinstance(
        error, IllegalSessionState | TooMany | AgentNotHere | NeedsModel | TargetUnwell | Busy | Aborted | CodebaseInUse
    ):
        return 409
    if isinstance(error, _UNAVAILABLE) and not isinstance(error, _BROKEN):
        return 503
    return 500


def documented(of: Any, status: int = 200) -> dict[int | str, dict[str, Any]]:
    """The ``responses`` of a route that answers a struct, or ``list[Struct]``, for /openapi.json."""
    (schema,), _ = msgspec.json.schema_components([of], ref_template="#/components/schemas/{name}")
    error = {"$ref": "#/components/schemas/ErrorAnswer"}
    return {
        status: {"description": "As asked.", "content": {"application/json": {"schema": schema}}},
        "default": {"description": "Not as asked.", "content": {"application/json": {"schema": error}}},
    }


def documented_as(media_type: str, what: str) -> dict[int | str, dict[str, Any]]:
    """The ``responses`` of a route that answers a text."""
    text = {"description": what, "content": {media_type: {"schema": {"type": "string"}}}}
    return {**documented(ErrorAnswer), 200: text}


def components() -> dict[str, Any]:
    """The schemas that the routes refer to."""
    _, found = msgspec.json.schema_components(_TYPES, ref_template="#/components/schemas/{name}")
    return found
