"""The models of the settings: who asks which, again and elsewhere after failures, and what it costs."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

import msgspec

from sylk_ray.llm.admission import Admit, Meter, admit_all
from sylk_ray.llm.assembling import Assembly
from sylk_ray.llm.breaker import Breaker
from sylk_ray.llm.configured import provider_of
from sylk_ray.llm.errors import (
    HOW_TO_SET_ONE,
    ContextTooLong,
    KeyMissing,
    ModelError,
    ModelTooSlow,
    ModelUnavailable,
    NoModel,
    UnknownRequest,
)
from sylk_ray.llm.in_words import held_to_calls
from sylk_ray.llm.provider import Provider
from sylk_ray.llm.reply import Piece, Reply, RestartPiece, Usage
from sylk_ray.llm.request import ANY_TOOL, AUTO, Request
from sylk_ray.llm.retrying import Retrying
from sylk_ray.llm.tokens import count_tokens
from sylk_ray.llm.tolerant.calls import IN_THE_TEXT
from sylk_ray.llm.understanding import understand

if TYPE_CHECKING:
    from sylk_ray.config import Model

DEFAULT = "default"
AT_ONCE = 10_000
"""Characters of an answer that are read without a thread, in a millisecond or two."""
OnPiece = Callable[[Piece], object]


class Models:
    """All models that there are. One for a process and its event loop; calls may be made at the same time."""

    def __init__(
        self,
        models: Mapping[str, Model],
        model_for: Mapping[str, Sequence[str]] | None = None,
        *,
        providers: Mapping[str, Provider] | None = None,
        retrying: Retrying | None = None,
        now: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """``models`` and ``model_for`` are those of the settings; ``providers`` take the place of the models' own."""
        self._models = dict(models)
        self._model_for = dict(model_for or {})
        self._providers = dict(providers or {})
        self._breakers: dict[str, Breaker] = {}
        self._retrying = retrying or Retrying()
        self._now = now
        self._sleep = sleep
        self._chance = chance

    def chain(self, who: str) -> tuple[str, ...]:
        """The models that a role or category uses, the first that answers; or the one model of that name.

        Raises NoModel.
        """
        if who in self._model_for:
            return tuple(self._model_for[who])
        if who in self._models:
            return (who,)
        chain = tuple(self._model_for.get(DEFAULT, self._models))
        if not chain:
            raise NoModel(f"no model is configured, and {who} needs one", hint=HOW_TO_SET_ONE)
        return chain

    def window(self, who: str) -> int | None:
        """The tokens that fit whichever model answers; None when the settings do not say. Raises NoModel."""
        known = [window for name in self.chain(who) if (window := self._models[name].context_window) is not None]
        return min(known, default=None)

    def provider(self, name: str) -> Provider:
        """Who serves a model."""
        if name not in self._providers:
            self._providers[name] = provider_of(self._models[name])
        return self._providers[name]

    def breaker(self, name: str) -> Breaker:
        """How a model's provider has been of late; all models at one address share it."""
        return self._breakers.setdefault(self.provider(name).name, Breaker())

    async def call(
        self,
        who: str,
        request: Request,
        *,
        on_piece: OnPiece | None = None,
        deadline: float | None = None,
        admit: Admit = admit_all,
    ) -> Reply:
        """Ask for a role, for a category, or a model by its name.

        Pieces are shown as they come, and a ``RestartPiece`` when they count no more. ``deadline`` is Unix time. What
        the model wrote is understood as far as it can be (``ToolCall.problem``, ``Reply.problem``). Cancelling it
        closes the connection, and so ends the work at the other side.

        Raises NoModel, ModelTooSlow, UnknownRequest, what ``admit`` raises, and ModelError when no model of the chain
        answers.
        """
        asking = _Asking(request, on_piece, admit, deadline)
        limit = asyncio.timeout(None if deadline is None else max(0.0, deadline - self._now()))
        try:
            async with limit:
                return await self._ask_in_turn(self.chain(who), asking)
        except TimeoutError:
            if not limit.expired():
                raise
            why = f" ({'; '.join(asking.failures)})" if asking.failures else ""
            raise ModelTooSlow(f"no model answered {who} in time{why}") from None

    async def aclose(self) -> None:
        """Close all connections."""
        for provider in self._providers.values():
            await provider.aclose()

    async def _ask_in_turn(self, chain: tuple[str, ...], asking: _Asking) -> Reply:
        errors: list[ModelError] = []
        for name in chain:
            try:
                reply = await self._ask(name, asking, last=name == chain[-1])
            except UnknownRequest:
                raise
            except ModelError as error:
                errors.append(error)
                asking.failures.append(f"{name}: {error.message}")
                asking.begin_anew(error.message)
            else:
                return msgspec.structs.replace(reply, passed_over=tuple(asking.failures))
        if len(errors) == 1:
            raise errors[0]
        kind = ContextTooLong if all(isinstance(error, ContextTooLong) for error in errors) else ModelUnavailable
        raise kind(f"none of the models answered: {'; '.join(asking.failures)}", hint="see `sylk models test`")

    async def _ask(self, name: str, asking: _Asking, *, last: bool) -> Reply:
        """One model, as often as it is worth it. When its breaker is open, the last of a chain is waited for."""
        attempt = 0
        while True:
            attempt += 1
            asking.attempts += 1
            try:
                return await self._attempt(name, asking)
            except ModelError as error:
                pause = self._retrying.pause(error, attempt, self._chance())
                open_s = self.breaker(name).opens_in(self._now())
                if pause is None or (open_s and not last):
                    raise
                pause = max(pause, open_s)
                if asking.deadline is not None and self._now() + pause >= asking.deadline:
                    raise
                why = error.message
            await self._sleep(pause)
            asking.begin_anew(why)

    async def _attempt(self, name: str, asking: _Asking) -> Reply:
        model, provider, breaker = self._models[name], self.provider(name), self.breaker(name)
        async with asking.admit(model.limits_of or name, await asking.estimate()) as meter:
            if not breaker.admit(self._now()):
                wait_s = breaker.opens_in(self._now())
                error = ModelUnavailable(f"{provider.name} has failed too often, and is left alone for {wait_s:.0f} s")
                error.after_s = wait_s
                raise error
            try:
                reply = await self._stream(name, model, provider, asking, meter)
            except ModelError as error:
                if error.ill:
                    breaker.failed(self._now())
                elif isinstance(error, KeyMissing):
                    breaker.abandoned()  # nobody was asked
                else:
                    breaker.succeeded()
                raise
            except BaseException:
                breaker.abandoned()
                raise
            breaker.succeeded()
            return reply

    async def _stream(self, name: str, model: Model, provider: Provider, asking: _Asking, meter: Meter) -> Reply:
        request = asking.for_model(model)
        held = _is_held(model, request)
        assembly = Assembly()
        began, first = self._now(), None
        async with aclosing(provider.stream(held_to_calls(request) if held else request)) as pieces:
            async for piece in pieces:
                first = self._now() if first is None else first
                assembly.add(piece)
                used = assembly.usage or Usage()
                meter.charge(input=used.input, output=max(used.output, assembly.pieces))
                asking.show(piece)
        ended = self._now()
        if assembly.characters < AT_ONCE:
            understood = understand(request, assembly)
        else:
            understood = await asyncio.to_thread(understand, request, assembly)
        usage = assembly.usage or await asking.counted(assembly)
        meter.charge(input=usage.input, output=usage.output)
        return Reply(
            text=understood.text,
            thoughts=understood.thoughts,
            calls=understood.calls,
            value=understood.value,
            problem=understood.problem,
            repairs=tuple(each for each in understood.repairs if not (held and each == IN_THE_TEXT)),
            stop="calls" if understood.calls and assembly.stop in ("end", None) else assembly.stop or "end",
            usage=usage,
            price=price_of(model, usage),
            model=name,
            provider=provider.name,
            first_s=(ended if first is None else first) - began,
            latency_s=ended - began,
            attempts=asking.attempts,
        )


def price_of(model: Model, usage: Usage) -> float | None:
    """What a call cost, in the settings' currency; None when they have no price."""
    if model.price_in is None or model.price_out is None:
        return None
    cached_price = model.price_in if model.price_cached is None else model.price_cached
    fresh = max(0, usage.input - usage.cached)
    return (fresh * model.price_in + usage.cached * cached_price + usage.output * model.price_out) / 1e6


def _is_held(model: Model, request: Request) -> bool:
    """Whether the answer is to be a call, and nothing else."""
    return model.always_calls and bool(request.offered) and request.output_schema is None


class _Asking:
    """One call on its way through attempts and models."""

    def __init__(self, request: Request, on_piece: OnPiece | None, admit: Admit, deadline: float | None) -> None:
        self.admit = admit
        self.deadline = deadline
        self.attempts = 0
        self.failures: list[str] = []
        self._request = request
        self._on_piece = on_piece
        self._shown = False
        self._estimate: int | None = None

    def for_model(self, model: Model) -> Request:
        """The request, with what the settings say where it says nothing."""
        request = self._request
        must_call = _is_held(model, request) and request.tool_choice == AUTO
        return msgspec.structs.replace(
            request,
            max_tokens=request.max_tokens or model.max_tokens,
            temperature=model.temperature if request.temperature is None else request.temperature,
            tool_choice=ANY_TOOL if must_call else request.tool_choice,
        )

    def show(self, piece: Piece) -> None:
        if self._on_piece is not None:
            self._shown = True
            self._on_piece(piece)

    def begin_anew(self, why: str) -> None:
        """What was shown of the attempt before counts no more."""
        if self._shown and self._on_piece is not None:
            self._shown = False
            self._on_piece(RestartPiece(why))

    async def estimate(self) -> int:
        """About the tokens of the input, when anybody wants to know before the call."""
        if self.admit is admit_all:
            return 0
        return await self._count()

    async def counted(self, assembly: Assembly) -> Usage:
        """What a provider that does not tell has used."""
        said = [assembly.thoughts, assembly.text, *(call.name + call.arguments for call in assembly.calls)]
        return Usage(await self._count(), await asyncio.to_thread(count_tokens, "".join(said)), estimated=True)

    async def _count(self) -> int:
        if self._estimate is None:
            request = self._request
            told = msgspec.json.encode([request.system, request.messages, request.tools]).decode()
            self._estimate = await asyncio.to_thread(count_tokens, told)
        return self._estimate
