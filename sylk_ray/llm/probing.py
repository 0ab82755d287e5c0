"""Trying a model: three tiny calls, for what it says, whether it calls tools, and whether it keeps to a schema."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from sylk_ray.errors import SylkError
from sylk_ray.llm.errors import ModelError
from sylk_ray.llm.models import Models
from sylk_ray.llm.openai_chat import OpenAIChat
from sylk_ray.llm.reply import Piece, Reply, TextPiece
from sylk_ray.llm.request import ANY_TOOL, Request, Tool, User
from sylk_ray.llm.retrying import Retrying

if TYPE_CHECKING:
    from sylk_ray.config import Model

MOST_TOKENS = 64
_ADD = Tool(
    "add",
    "Add two whole numbers.",
    {
        "type": "object",
        "properties": {"first": {"type": "integer"}, "second": {"type": "integer"}},
        "required": ["first", "second"],
        "additionalProperties": False,
    },
)
_SUM: dict[str, Any] = {
    "type": "object",
    "properties": {"sum": {"type": "integer"}},
    "required": ["sum"],
    "additionalProperties": False,
}
WORDS = Request(messages=(User("Count from one to five, in words."),), max_tokens=MOST_TOKENS)
CALLING = Request(
    messages=(User("What is 17 and 25 together? Use the tool."),),
    tools=(_ADD,),
    tool_choice=ANY_TOOL,
    max_tokens=MOST_TOKENS,
)
DATA = Request(messages=(User("What is 17 + 25?"),), output_schema=_SUM, max_tokens=MOST_TOKENS)


class Probed(Struct, frozen=True):
    """What came of it."""

    model: str
    ok: bool
    """Whether it answered at all."""
    first_s: float = 0.0
    latency_s: float = 0.0
    """Of the answer in words."""
    streams: bool = False
    tools: str = "no"
    """``yes``, ``no``, ``mended (…)`` with what had to be repaired, or why not."""
    schema: str = "no"
    """As ``tools``."""
    conceded: tuple[str, ...] = ()
    """What its server does not take, and is done without."""
    tokens: int = 0
    price: float | None = None
    error: str = ""
    hint: str = ""


async def probe(name: str, model: Model, *, timeout_s: float = 120.0) -> Probed:
    """Try it; what fails is in the result. Nothing is recorded."""
    models = Models({name: model.model_copy(update={"record": None})}, retrying=Retrying(attempts=2))
    pieces: list[Piece] = []
    try:
        words = await models.call(name, WORDS, on_piece=pieces.append, deadline=time.time() + timeout_s)
        calling, tools = await _tried(models, name, CALLING, timeout_s)
        answer, schema = await _tried(models, name, DATA, timeout_s)
        provider = models.provider(name)
    except SylkError as error:
        return Probed(name, False, error=error.message, hint=error.hint)
    finally:
        await models.aclose()
    replies = [reply for reply in (words, calling, answer) if reply is not None]
    prices = [reply.price for reply in replies if reply.price is not None]
    return Probed(
        name,
        True,
        first_s=words.first_s,
        latency_s=words.latency_s,
        streams=sum(isinstance(piece, TextPiece) for piece in pieces) > 1,
        tools=tools,
        schema=schema,
        conceded=tuple(sorted(provider.conceded)) if isinstance(provider, OpenAIChat) else (),
        tokens=sum(reply.usage.input + reply.usage.output for reply in replies),
        price=sum(prices) if prices else None,
    )


async def _tried(models: Models, name: str, request: Request, timeout_s: float) -> tuple[Reply | None, str]:
    """The reply, and how well it does what was asked."""
    try:
        reply = await models.call(name, request, deadline=time.time() + timeout_s)
    except ModelError as error:
        return None, f"no: {error.message}"
    problem = reply.problem or next((call.problem for call in reply.calls if call.problem), "")
    if problem:
        return reply, f"no: {problem.splitlines()[-1].removeprefix('- ')}"
    return reply, f"mended ({', '.join(reply.repairs)})" if reply.repairs else "yes"
