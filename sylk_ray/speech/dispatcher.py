"""From what was said to what came back: hooks, routing, sending, waiting, and the books of all that."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable
from typing import Protocol, cast

import msgspec

from sylk_ray.context_window import OTHERS, Routing
from sylk_ray.errors import SylkError
from sylk_ray.hooks import Hooks, PostDispatch, PostRoute, PreDispatch, PreRoute
from sylk_ray.messaging import Address, DeadlinePassed, Request, current_trace
from sylk_ray.routing import RouteCache, parse
from sylk_ray.runtime import Clock
from sylk_ray.sessions.records import ErrorRecord
from sylk_ray.speech.health import UNWELL, Health
from sylk_ray.speech.messages import Answered, Heard, Said, Say
from sylk_ray.speech.metrics import PendingRequest, RouteCounts, SessionRouteMetrics
from sylk_ray.speech.planning import Delivery, Plan, Planner
from sylk_ray.speech.receivers import MAIN, Receiver, Receivers
from sylk_ray.speech.tasks import TaskMessage

SHOWN = 200
"""Characters of a text in the books."""
PATIENT_S = 30.0
"""Who waits for less, and has no answer, has learnt nothing of the agent's health."""
MOST_TARGETS = 100
"""More than that are counted as OTHERS."""


class Asking(Protocol):
    """Sends, and waits for the answer."""

    async def __call__(self, target: Address, message: Request[Heard], *, timeout: float) -> Heard: ...


class Dispatcher:
    """The routing half of a session's router (and, without a session, of the Guide).

    ``ask`` sends; ``find_task`` gives the whole name of a task that is at work, or raises; ``routed`` is told of every
    routing when it is over.
    """

    def __init__(
        self,
        session: str,
        sender: Address,
        *,
        receivers: Receivers,
        planner: Planner,
        cache: RouteCache,
        hooks: Hooks,
        clock: Clock,
        ask: Asking,
        find_task: Callable[[str], Awaitable[str]],
        routed: Callable[[Routing], None] = lambda routing: None,
    ) -> None:
        self._session = session
        self._sender = sender
        self._receivers = receivers
        self._planner = planner
        self._cache = cache
        self._hooks = hooks
        self._clock = clock
        self._ask = ask
        self._find_task = find_task
        self._routed = routed
        self._health = Health(clock.now)
        self._counts = RouteCounts()
        self._pending: dict[int, PendingRequest] = {}
        self._ids = itertools.count(1)

    async def say(self, message: Say) -> Said:
        """Raises NotUnderstood and what else is wrong with the utterance; what goes wrong with one of those that it
        is for is in their answer."""
        started = time.perf_counter()
        self._counts.said += 1
        try:
            plan = await self._plan(message)
        except SylkError:
            self._counts.refused += 1
            raise
        routed_s = time.perf_counter() - started
        self._counts.routed_s += routed_s
        self._counts.longest_s = max(self._counts.longest_s, routed_s)
        heard = msgspec.structs.replace(message, text=plan.text)
        delivering = (self._deliver(each, heard, plan, routed_s) for each in plan.deliveries)
        answers = await asyncio.gather(*delivering)
        return Said(
            session=self._session,
            kind=plan.kind,
            intent=plan.route.intent.value,
            subject=plan.route.subject,
            time_scope=plan.route.time_scope,
            confidence=plan.route.confidence,
            reasons=plan.route.reasons,
            cached=plan.cached,
            answers=tuple(answers),
            routed_s=routed_s,
            trace=current_trace(),
        )

    async def _plan(self, message: Say) -> Plan:
        text = message.text
        before = await self._hooks.run(PreRoute(session=self._session, sender=self._sender, text=text))
        plan = self._planner.plan(parse(before.text), message.said_by)
        named = [each._replace(receiver=await self._of_task(each.receiver)) for each in plan.deliveries]
        deliveries = [await self._after_routing(each, before.text, plan) for each in named]
        return plan._replace(deliveries=tuple(deliveries), text=before.text)

    async def _of_task(self, receiver: Receiver) -> Receiver:
        """One of a task's agents must be there: to speak to it brings it to life. Raises what ``find_task`` does."""
        if receiver.address.name == MAIN or receiver.label in self._receivers.registered:
            return receiver
        name = await self._find_task(receiver.address.name)
        return Receiver(f"{receiver.address.role}/{name}", receiver.address._replace(name=name))

    async def _after_routing(self, delivery: Delivery, text: str, plan: Plan) -> Delivery:
        """A hook may send it elsewhere."""
        label = delivery.receiver.label
        after = await self._hooks.run(
            PostRoute(
                session=self._session,
                sender=self._sender,
                text=text,
                target=label,
                intent=plan.route.intent.value,
                confidence=plan.route.confidence,
                cached=plan.cached,
            )
        )
        return delivery if after.target == label else delivery._replace(receiver=self._receivers.find(after.target))

    async def _deliver(self, delivery: Delivery, said: Say, plan: Plan, routed_s: float) -> Answered:
        started = time.perf_counter()
        label = delivery.receiver.label
        by_target = self._counts.by_target
        counted = label if label in by_target or len(by_target) < MOST_TARGETS else OTHERS
        by_target[counted] = by_target.get(counted, 0) + 1
        error: SylkError | None = None
        heard = Heard("")
        try:
            heard = await self._send(delivery, said)
            self._counts.answered += 1
        except SylkError as problem:
            error = problem
            if isinstance(problem, UNWELL):
                self._counts.failed += 1
            else:
                self._counts.refused += 1
        self._note(said.text, label, plan, routed_s, error="" if error is None else error.message)
        return Answered(
            agent=label,
            text=heard.text,
            data=heard.data,
            done_by=heard.done_by,
            error=None if error is None else ErrorRecord.of(error),
            seconds=round(time.perf_counter() - started, 6),
        )

    async def _send(self, delivery: Delivery, said: Say) -> Heard:
        ready = await self._hooks.run(
            PreDispatch(
                session=self._session,
                sender=self._sender,
                target=delivery.receiver.address,
                message=delivery.message,
            )
        )
        target, message = ready.target, cast("Request[Heard]", ready.message)
        if not isinstance(message, TaskMessage):
            self._health.check(target)
        now, number = self._clock.now(), next(self._ids)
        text = said.text[:SHOWN]
        self._pending[number] = PendingRequest(number, str(target), text, now, now + said.timeout_s)
        after = PostDispatch(session=self._session, sender=self._sender, target=target, message=message)
        try:
            heard = await self._ask(target, message, timeout=said.timeout_s)
        except SylkError as problem:
            impatient = isinstance(problem, DeadlinePassed) and said.timeout_s < PATIENT_S
            if isinstance(problem, UNWELL) and not impatient:
                self._health.failed(target, problem)
            elif not impatient:
                self._health.answered(target, self._clock.now() - now)
            await self._hooks.run(msgspec.structs.replace(after, error=str(problem)))
            raise
        finally:
            del self._pending[number]
        self._health.answered(target, self._clock.now() - now)
        result = (await self._hooks.run(msgspec.structs.replace(after, result=heard))).result
        return result if isinstance(result, Heard) else heard

    def _note(self, text: str, agent: str, plan: Plan | None = None, seconds: float = 0.0, *, error: str = "") -> None:
        kind = "" if plan is None else " ".join(filter(None, (plan.route.intent.value, plan.route.subject)))
        self._routed(
            Routing(
                pattern=" ".join(text.split())[:SHOWN],
                agent=agent,
                kind=kind,
                confidence=1.0 if plan is None else plan.route.confidence,
                cached=plan is not None and plan.cached,
                seconds=seconds,
                failure=error,
                at=self._clock.now(),
            )
        )

    def metrics(self) -> SessionRouteMetrics:
        """As of now."""
        return SessionRouteMetrics(
            session=self._session,
            counts=self._counts,
            cache=self._cache.statistics(),
            pending=list(self._pending.values()),
            health=self._health.all(),
            hooks=self._hooks.statistics(),
        )
