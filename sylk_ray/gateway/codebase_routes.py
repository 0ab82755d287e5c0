"""The route to what is known of codebases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import msgspec
from fastapi import APIRouter, Depends, Request, Response

from actors.knowledge_messages import ask_codebase
from sylk_ray.codebase.requests import AnyAnswer, AnyRequest
from sylk_ray.errors import InputError
from sylk_ray.gateway.answers import answer, documented
from sylk_ray.gateway.front import Front
from sylk_ray.gateway.reach import front_of

Reach = Annotated[Front, Depends(front_of)]

routes = APIRouter(tags=["codebase"])

_request: msgspec.json.Decoder[AnyRequest] = msgspec.json.Decoder(cast("Any", AnyRequest))
_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": msgspec.json.schema_components([AnyRequest], ref_template="#/components/schemas/{name}")[0][0]
            }
        },
    }
}


@routes.post("/codebase", responses=documented(AnyAnswer), openapi_extra=_BODY)
async def ask(request: Request, front: Reach) -> Response:
    """Ask about an indexed codebase, or have one indexed: `{"type": "Search", "query": "…", "root": "/repo"}`. `root`
    is absolute; the paths in answers are relative to it. An answer's `type` says what it is. The first request of a
    runtime takes a few seconds, for the knowledge agent begins with it."""
    return answer(await ask_codebase(front.ask, _request_of(await request.body()), cell=front.host.cell))


def _request_of(body: bytes) -> AnyRequest:
    """Raises InputError."""
    try:
        wanted = _request.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise InputError(f"this is no request about a codebase: {problem}", hint="see /openapi.json") from problem
    root = getattr(wanted, "root", None)
    if root is None:
        return wanted
    if not Path(root).is_absolute():
        raise InputError(
            f"the root {root!r} is relative, and the gateway does not know to what", hint="give its absolute path"
        )
    # Roots are known by what they are without links, as the command line gives them.
    return msgspec.structs.replace(wanted, root=str(Path(root).resolve()))
