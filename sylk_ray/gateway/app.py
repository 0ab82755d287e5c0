"""The HTTP application, and serving it inside a cell."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
import time
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from sylk_ray import __version__
from sylk_ray.errors import InputError, SylkError
from sylk_ray.gateway import (
    codebase_routes,
    inbox_routes,
    job_routes,
    letter_routes,
    plan_routes,
    runtime_routes,
    say_routes,
    session_routes,
    topic_routes,
)
from sylk_ray.gateway.agent import hub
from sylk_ray.gateway.answers import NotFound, components, refusal
from sylk_ray.gateway.body_limit import BodyLimit
from sylk_ray.gateway.door import Door, announce, ensure_token, withdraw
from sylk_ray.gateway.front import Front
from sylk_ray.gateway.guard import Guard
from sylk_ray.gateway.tracing import Tracing
from sylk_ray.runtime import Host

log = logging.getLogger("sylk.gateway")


class PortTaken(SylkError):
    """Something else listens where the gateway should."""

    code = "port_taken"


class BadRequest(InputError):
    """A request that is not of the form that the route wants."""

    code = "bad_request"


def create_app(host: Host, token: str) -> FastAPI:
    """The application for a host's agents, behind its guard."""
    app = FastAPI(title="sylk_ray", version=__version__, docs_url=None, redoc_url=None)
    app.state.front = Front(host, hub)
    every = (
        runtime_routes,
        job_routes,
        inbox_routes,
        session_routes,
        say_routes,
        letter_routes,
        plan_routes,
        topic_routes,
        codebase_routes,
    )
    for each in every:
        app.include_router(each.routes)
    app.add_exception_handler(SylkError, _deliberate)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(HTTPException, _unroutable)
    app.add_exception_handler(Exception, _unforeseen)
    app.add_middleware(BodyLimit)
    app.add_middleware(Guard, token=token)
    app.add_middleware(Tracing)  # the last is the first that a request meets
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        document = generate()
        document.setdefault("components", {}).setdefault("schemas", {}).update(components())
        return document

    app.openapi = openapi
    return app


async def serve(host: Host) -> Callable[[], Awaitable[None]]:
    """Listen beside the host's agents; returns how to stop."""
    home = host.settings.home
    listener = _listen(host.settings.gateway_port)
    app = create_app(host, ensure_token(home))
    config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off", ws="none", server_header=False)
    config.timeout_graceful_shutdown = 2
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]), name="shared/gateway/http")
    while not server.started:
        if serving.done():
            await serving
            raise SylkError("the gateway's HTTP server ended before it listened")
        await asyncio.sleep(0.005)
    host.on_peer_lost.append(lambda cell: hub.look_again())
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    await asyncio.to_thread(announce, home, Door(url, os.getpid(), __version__, time.time()))
    log.info("the gateway listens on %s", url)

    async def stop() -> None:
        hub.close()
        server.should_exit = True
        await serving
        await asyncio.to_thread(withdraw, home, os.getpid())

    return stop


def _listen(port: int) -> socket.socket:
    # asyncio switches Nagle's algorithm off for sockets that are TCP by name: with it, each answer on a kept connection
    # waits 40 ms for the client's delayed acknowledgement.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError as problem:
        listener.close()
        if problem.errno != errno.EADDRINUSE:
            raise
        raise PortTaken(
            f"the gateway cannot listen on 127.0.0.1:{port}: another program does",
            hint="set another gateway_port in the settings, or 0 for a free one",
        ) from problem
    return listener


async def _deliberate(_: Request, error: Exception) -> Response:
    assert isinstance(error, SylkError)
    return refusal(error)


async def _malformed(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    wrong = "; ".join(f"{'.'.join(str(part) for part in each['loc'])}: {each['msg']}" for each in error.errors())
    return refusal(BadRequest(f"the request is wrong: {wrong}", hint="see /openapi.json"))


async def _unroutable(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return refusal(NotFound(str(error.detail), hint="see /openapi.json"), error.status_code)


async def _unforeseen(request: Request, error: Exception) -> Response:
    log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return refusal(SylkError(f"the gateway failed: {error!r}", hint="its log has the traceback"), 500)
